"""Recall: the records that answer a query, whole, within a budget of tokens (SPEC section 14).

:func:`retrieve` works over any store and any search indexes.  Indexes only find; state, scope and everything a score is
made of are read from the store, so an index that lags behind shows nothing that is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from math import isfinite
from typing import Final

from agent_memory.clock import now_utc, truncate
from agent_memory.errors import ArgumentError, ArgumentTypeError
from agent_memory.extension import Scope
from agent_memory.ports import RecordStore, SearchIndex
from agent_memory.records import MemoryRecord, RecordState

from .retrieved import Reason, RetrievedBlock, RetrievedRecord, ScoreFactors, TouchCounts, approx_tokens
from .scoring import score_factors
from .visibility import Visibility

__all__ = [
    "Reason",
    "RetrievedBlock",
    "RetrievedRecord",
    "ScoreFactors",
    "TouchCounts",
    "approx_tokens",
    "retrieve",
]

_NO_TOUCHES: Final = TouchCounts()


def retrieve(
    query: str,
    *,
    store: RecordStore,
    indexes: Sequence[SearchIndex],
    budget_tokens: int,
    now: datetime | None = None,
    include_archived: bool = False,
    include_history: bool = False,
    touches: TouchCounts | None = None,
    candidates_per_index: int = 32,
    scope: Scope | None = None,
    holders: Callable[[str], Iterable[MemoryRecord]] | None = None,
) -> RetrievedBlock:
    """Find what is relevant to ``query``, best first, as many whole records as the budget holds.

    Both sides of a dispute come together or not at all.  With ``include_history`` what a record replaced follows it,
    newest first, while it fits.  Equal scores are ordered by id.

    Args:
        query: text.
        store: has the records.
        indexes: find candidates; each one's best score counts as 1, and a record has the best of its scores.
        budget_tokens: about four characters each; 0 or less holds nothing.
        now: the moment recency is measured to; default the present.
        include_archived: also archived records, never redacted ones.
        include_history: also superseded records.
        touches: reinforces a score, and is touched once for every record returned.
        candidates_per_index: how many records that may be shown are taken from each index, 1 or more.
        scope: whose memory is asked for; a record is shown when each field of its scope is unset or equal to the one
            asked for.  None asks for everybody's.
        holders: answers the live records that hold a key, in whatever scope; without it the store is read through for
            them when a record with a key may be shown.

    Raises:
        ArgumentError: an argument of the wrong type, or ``candidates_per_index`` below 1.
        StoreError: the store or an index failed.
    """
    _check(query, budget_tokens, candidates_per_index)
    moment = now_utc() if now is None else truncate(now, "now")
    counts = _NO_TOUCHES if touches is None else touches
    visibility = Visibility(store, scope=scope, archived=include_archived, history=include_history, holders=holders)
    relevance: dict[str, float] = {}
    for index in indexes:
        found = _candidates(index, query, candidates_per_index, visibility)
        best = max(found.values(), default=0.0)
        for record_id, raw in found.items():
            relevance[record_id] = max(relevance.get(record_id, 0.0), raw / best)
    packing = _Packing(visibility, moment, counts, budget_tokens)
    ranked = [
        packing.scored(visibility.record(record_id), share, Reason.match(share))
        for record_id, share in relevance.items()
    ]
    for item in sorted(ranked, key=lambda item: (-item.score, item.record.id)):
        packing.take(item, relevance)
    if touches is not None:
        for item in packing.packed:
            touches.touch(item.record.id)
    return RetrievedBlock(
        query=query, records=tuple(packing.packed), budget_tokens=budget_tokens, total_tokens=packing.total
    )


def _check(query: object, budget_tokens: object, candidates_per_index: object) -> None:
    if not isinstance(query, str):
        raise ArgumentTypeError(f"query must be a str, not {type(query).__name__}")
    for name, value in (("budget_tokens", budget_tokens), ("candidates_per_index", candidates_per_index)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise ArgumentTypeError(f"{name} must be a whole number, not {type(value).__name__}")
    if isinstance(candidates_per_index, int) and candidates_per_index < 1:
        raise ArgumentError("candidates_per_index must be 1 or more")


def _candidates(index: SearchIndex, query: str, wanted: int, visibility: Visibility) -> dict[str, float]:
    """The best ``wanted`` records of an index that may be shown, with its scores.

    An index cannot filter by state or scope, so it is asked for twice as many until enough are left or it has no more.
    """
    asked = wanted
    before = -1
    while True:
        answered = index.candidates(query, asked)
        scores: dict[str, float] = {}
        for record_id, raw in answered:
            if isfinite(raw) and raw > 0:
                scores[record_id] = max(scores.get(record_id, 0.0), float(raw))
        shown = visibility.shown(scores)
        if len(shown) >= wanted or len(answered) < asked or len(answered) <= before:
            best = sorted(shown, key=lambda record_id: (-scores[record_id], record_id))[:wanted]
            return {record_id: scores[record_id] for record_id in best}
        before = len(answered)
        asked *= 2


class _Packing:
    """Fills the budget, a record or a whole dispute at a time."""

    def __init__(self, visibility: Visibility, now: datetime, counts: TouchCounts, budget: int) -> None:
        self._visibility = visibility
        self._now = now
        self._counts = counts
        self._left = budget
        self.packed: list[RetrievedRecord] = []
        self.total = 0
        self._ids: set[str] = set()

    def scored(self, record: MemoryRecord, relevance: float, *reasons: Reason) -> RetrievedRecord:
        factors = score_factors(record, relevance=relevance, touches=self._counts.count(record.id), now=self._now)
        return RetrievedRecord(
            record=record,
            score=factors.product(),
            tokens=approx_tokens(record),
            reasons=reasons,
            factors=factors,
        )

    def take(self, item: RetrievedRecord, relevance: dict[str, float]) -> None:
        """Pack a candidate with what must come with it, if all of that fits; then its history, while it fits."""
        if item.record.id in self._ids:
            return
        group = [item]
        partner = self._visibility.partner(item.record)
        if partner is not None:
            if not self._visibility.may_accompany(partner):
                return
            share = relevance.get(partner.id, item.relevance)
            group.append(self.scored(partner, share, Reason.partner(item.record.id)))
        if sum(member.tokens for member in group) > self._left:
            return
        places = range(len(self.packed), len(self.packed) + len(group))
        for member in group:
            self._add(member)
        for place in places:
            self._follow(place)

    def _follow(self, place: int) -> None:
        """Pack what the record at ``place`` replaced, newest first; say on it how many did not fit."""
        current = self.packed[place]
        if current.record.state in (RecordState.SUPERSEDED, RecordState.ARCHIVED):
            return
        trail = [
            (old, successor)
            for old, successor in self._visibility.predecessors(current.record)
            if old.id not in self._ids
        ]
        for done, (old, successor) in enumerate(trail):
            item = self.scored(old, current.relevance, Reason.predecessor(successor))
            if item.tokens > self._left:
                cut = Reason.cut(len(trail) - done, current.record.id)
                self.packed[place] = current.with_reason(cut)
                return
            self._add(item)

    def _add(self, item: RetrievedRecord) -> None:
        self.packed.append(item)
        self._ids.add(item.record.id)
        self.total += item.tokens
        self._left -= item.tokens

"""Scores, and what fits a budget (spec/recall.md sections 6.2 and 6.3; SPEC sections 14.1 and 14.3)."""

from __future__ import annotations

from collections.abc import Mapping
from math import log
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from .entry import Entry
from .visibility import Visibility

if TYPE_CHECKING:
    from .index import Index

__all__ = ["Packing", "Row"]

_STATE: Final = {"active": 1.0, "transitional": 0.8, "superseded": 0.3, "archived": 0.1}
_HALF_LIFE_DAYS: Final = 30.0
_SECONDS_A_DAY: Final = 86_400.0
_LEAST_RECENCY: Final = 0.1
_TOUCHES_FOR_HALF: Final = 5


class Row(NamedTuple):
    """One record of an answer.

    Attributes:
        score: the product of the seven factors that follow it.
        tokens: what it costs.
        kind: why it is here.
        of: the id the reason refers to: the other side found, or the record that replaced it; None for a match.
        cut: how many of its predecessors were left out.
    """

    id: str
    score: float
    relevance: float
    state: float
    recency: float
    salience: float
    confidence: float
    importance: float
    standing: float
    tokens: int
    kind: Literal["match", "partner", "predecessor"]
    of: str | None
    cut: int


class Packing:
    """Fills a budget of tokens and of rows, a record or a whole dispute at a time.

    Args:
        now: milliseconds since 1970.
        budget, limit: tokens and rows there is room for.
        min_score: what a record must reach to be taken for itself.
    """

    def __init__(
        self, index: Index, visibility: Visibility, *, now: int, budget: int, limit: int, min_score: float
    ) -> None:
        self._index = index
        self._visibility = visibility
        self._now = now
        self._tokens_left = budget
        self._rows_left = limit
        self._min_score = min_score
        self._rows: list[Row] = []
        self._ids: set[str] = set()

    def pack(self, relevance: Mapping[str, float]) -> list[Row]:
        """The rows for these candidates."""
        ranked = [self._row(self._index.entry(record_id), share, "match") for record_id, share in relevance.items()]
        for row in sorted(ranked, key=lambda row: (-row.score, row.id)):
            if row.score >= self._min_score:
                self._take(row, relevance)
        return self._rows

    def _row(
        self, entry: Entry, relevance: float, kind: Literal["match", "partner", "predecessor"], of: str | None = None
    ) -> Row:
        days = max(0.0, (self._now - entry.updated_at) / 1000.0 / _SECONDS_A_DAY)
        touches = self._index.touches(entry.id)
        standing = 1.0
        if entry.standing is not None:
            good, bad = entry.standing
            standing = 0.5 + (good + 1) / (good + bad + 2)
        factors = (
            relevance,
            _STATE[entry.state],
            max(_LEAST_RECENCY, 0.5 ** (days / _HALF_LIFE_DAYS)),
            1.0 + touches / (touches + _TOUCHES_FOR_HALF),
            entry.confidence,
            1.0 + log(entry.value),
            standing,
        )
        score = 1.0
        for factor in factors:
            score *= factor
        return Row(entry.id, score, *factors, entry.tokens, kind, of, 0)

    def _take(self, row: Row, relevance: Mapping[str, float]) -> None:
        """Pack a candidate with what must come with it, if all of that fits; then its history, while it fits."""
        if row.id in self._ids:
            return
        group = [row]
        partner = self._visibility.partner(self._index.entry(row.id))
        if partner is not None:
            if not self._visibility.may_accompany(partner):
                return
            share = relevance.get(partner.id, row.relevance)
            group.append(self._row(partner, share, "partner", row.id))
        if not self._fits(group):
            return
        places = range(len(self._rows), len(self._rows) + len(group))
        for member in group:
            self._add(member)
        for place in places:
            self._follow(place)

    def _follow(self, place: int) -> None:
        """Pack what the record at ``place`` replaced, newest first; say on it how many did not fit."""
        current = self._rows[place]
        entry = self._index.entry(current.id)
        if not entry.live:
            return
        trail = [item for item in self._visibility.predecessors(entry) if item[0].id not in self._ids]
        for done, (old, successor) in enumerate(trail):
            row = self._row(old, current.relevance, "predecessor", successor)
            if not self._fits([row]):
                self._rows[place] = current._replace(cut=len(trail) - done)
                return
            self._add(row)

    def _fits(self, group: list[Row]) -> bool:
        return sum(row.tokens for row in group) <= self._tokens_left and len(group) <= self._rows_left

    def _add(self, row: Row) -> None:
        self._rows.append(row)
        self._ids.add(row.id)
        self._tokens_left -= row.tokens
        self._rows_left -= 1

"""Recall through the native index: one call finds, scores and packs, and then just those records are read.

The outcome is that of :func:`agent_memory.pipeline.recall.retrieve` for the same relevances (spec/recall.md section 6).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Protocol

from agent_memory.clock import milliseconds
from agent_memory.extension import SCOPE_FIELDS, Scope
from agent_memory.records import MemoryRecord, RecordType

from .retrieved import Reason, RetrievedBlock, RetrievedRecord, ScoreFactors

if TYPE_CHECKING:
    from agent_memory.kernel.reference.search.packing import Row
    from agent_memory.ports import RecordStore

__all__ = ["answer"]

_TRIES: Final = 3
"""How often the index is asked again because a record changed between finding and reading it."""


class Finds(Protocol):
    """What finds: the native index, in step with a store."""

    def recall(self, query: str, **asked: Any) -> Sequence[Row]:
        """Rows as spec/recall.md section 6.4."""


def answer(
    query: str,
    *,
    index: Finds,
    store: RecordStore,
    refresh: Callable[[], None],
    budget_tokens: int,
    now: datetime,
    include_archived: bool = False,
    include_history: bool = False,
    scope: Scope | None = None,
    types: Collection[RecordType] | None = None,
    tags: Collection[str] = (),
    min_score: float = 0.0,
    limit: int | None = None,
) -> RetrievedBlock:
    """What ``query`` finds, best first, as many whole records as the budget holds.

    Args:
        index: finds them.
        store: has them.
        refresh: brings the index in step with the store, when a record turns out to have changed.
        budget_tokens: about four characters each.
        now: the moment recency is measured to.
        include_archived, include_history: also archived; also superseded records.
        scope: whose memory is asked for; None for everybody's.
        types: only records of these types are found.
        tags: only records with all of these tags are found.
        min_score: records of a lower score are not found.
        limit: most records returned.

    Raises:
        StoreError: the store failed.
    """
    asked = {
        "now": milliseconds(now),
        "budget": budget_tokens,
        "scope": None if scope is None else tuple(getattr(scope, name) for name in SCOPE_FIELDS),
        "include_archived": include_archived,
        "include_history": include_history,
        "types": None if types is None else sorted(kind.value for kind in types),
        "tags": sorted(set(tags)),
        "min_score": min_score,
        "limit": limit,
    }
    rows = index.recall(query, **asked)
    for _ in range(_TRIES):
        held = store.get_many([row[0] for row in rows])
        if all(_is_as_found(row, held.get(row[0])) for row in rows):
            break
        refresh()  # somebody wrote in between
        rows = index.recall(query, **asked)
    gone = {row[0] for row in rows if not _is_as_found(row, held.get(row[0]))}
    gone.update(row[11] for row in rows if row[0] in gone and row[11] is not None and row[10] == "partner")
    records = [_retrieved(row, held[row[0]]) for row in rows if row[0] not in gone and row[11] not in gone]
    return RetrievedBlock(
        query=query,
        records=tuple(records),
        budget_tokens=budget_tokens,
        total_tokens=sum(item.tokens for item in records),
    )


_STATE: Final = {"active": 1.0, "transitional": 0.8, "superseded": 0.3, "archived": 0.1}


def _is_as_found(row: Row, record: MemoryRecord | None) -> bool:
    """Whether a record is still there, and in the state it was found in."""
    return record is not None and not record.redacted and _STATE[record.state.value] == row[3]


def _retrieved(row: Row, record: MemoryRecord) -> RetrievedRecord:
    _, score, *factors, tokens, kind, of, cut = row
    reason = Reason.match(row[2])
    if of is not None:
        reason = Reason.partner(of) if kind == "partner" else Reason.predecessor(of)
    names = ("relevance", "state", "recency", "salience", "confidence", "importance", "standing")
    return RetrievedRecord(
        record=record,
        score=score,
        tokens=tokens,
        reasons=(reason, Reason.cut(cut, record.id)) if cut else (reason,),
        factors=ScoreFactors(**dict(zip(names, factors, strict=True))),
    )

"""What a recall returns: the records with their scores and reasons, and the block of text for a prompt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final

from .pipeline.recall import RetrievedBlock, RetrievedRecord
from .records import MemoryRecord, RecordState

__all__ = ["NOTHING_FOUND", "RecallResult"]

NOTHING_FOUND: Final = "(no relevant memories)"
_LINE_BREAKS: Final = re.compile("\r\n|[\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallResult:
    """The records a recall found, best first, within its token budget.

    Attributes:
        block: the same with what was asked and what it cost.
        as_of: the moment that was asked about, or None for the present.
        erased_since: how many records of that moment are not told of because they were erased since.
        dense_error: why the embedder's part is missing, in whole or for some records; None when nothing failed, or
            there is no embedder.
    """

    block: RetrievedBlock
    as_of: datetime | None = None
    erased_since: int = 0
    dense_error: str | None = None

    @property
    def records(self) -> tuple[RetrievedRecord, ...]:
        return self.block.records

    @property
    def ids(self) -> tuple[str, ...]:
        return self.block.ids

    def __len__(self) -> int:
        return len(self.block.records)

    def __iter__(self) -> Iterator[RetrievedRecord]:
        return iter(self.block.records)

    def explain(self) -> str:
        """How each record came to its score, for people: a line of factors and one for each reason."""
        return "\n".join(line for item in self.block.records for line in _explained(item))

    def as_prompt_block(self) -> str:
        """The records as text for a model: a line each, in order.

        A line is ``- [type date] body``; before the bracket with the type stands what limits the record, such as
        ``[disputed: …]``.  A body cannot forge any of it: nothing of a body comes before its bracket, and a line break
        in it is shown as ``⏎``, so it never starts a line of its own.
        """
        if not self.block.records:
            return NOTHING_FOUND
        return "\n".join(_line(item.record) for item in self.block.records)


def _explained(item: RetrievedRecord) -> Iterator[str]:
    factors = item.factors
    product = "" if factors is None else " × ".join(f"{name} {value:.3f}" for name, value in asdict(factors).items())
    yield f"{item.record.id}: {item.score:.4f}" + (f" = {product}" if product else "") + f"; {item.tokens} tokens"
    yield from (f"  {reason}" for reason in item.reasons)


def _line(record: MemoryRecord) -> str:
    body = _LINE_BREAKS.sub(" ⏎ ", record.body)
    return f"- {_limits(record)}[{record.type} {record.event_time:%Y-%m-%d}] {body}"


def _limits(record: MemoryRecord) -> str:
    if record.transition is not None:
        return f"[disputed: {record.transition.other(record.id)} says otherwise] "
    if record.state is RecordState.SUPERSEDED:
        return "[superseded — kept for history] "
    if record.state is RecordState.ARCHIVED:
        return "[archived] "
    if record.flagged:
        return "[flagged: its evidence no longer holds] "
    return ""

"""Outcomes: how what was remembered turned out, credited to the record it came from (SPEC section 3.4).

``credit`` moves one record's standing, ``slash`` forfeits that of a source and of everything drawn from it.  Neither
touches the state, the text or the age of a record: a version is appended that says who credited what, when and why.
Recall weighs standing (SPEC section 14.1); nothing else does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .errors import ArgumentError, ArgumentTypeError, RecordError
from .extension import MAX_COUNT, Outcome, Standing
from .lineage import drawn_from, is_from
from .ports import RecordStore, unknown_id
from .records import MemoryRecord
from .wire import check_reason

__all__ = ["SlashReport", "credit", "slash"]

_NONE = Standing()


@dataclass(frozen=True, slots=True, kw_only=True)
class SlashReport:
    """What forfeiting the standing of a source did.

    Attributes:
        matched: ids of the records that came from the source or from below it, sorted.
        derived: ids of the records drawn from those, however far, sorted.
        outside: how many further ones there were that the memory may not see; they are slashed and not named.
    """

    matched: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()
    outside: int = 0


def credit(
    store: RecordStore,
    record_id: str,
    *,
    good: bool,
    weight: int,
    reason: str | None,
    by: str | None,
    now: datetime,
    within: Callable[[MemoryRecord], bool],
) -> MemoryRecord:
    """Add ``weight`` outcomes to a record's good ones, or its bad ones, and append the version.

    Args:
        store: where the record is.
        weight: 1 or more; how many outcomes this one counts for.
        reason, by: why, and who says so; without a reason what is credited is said.
        within: whether a record exists for the caller.

    Returns:
        The record as it is now.

    Raises:
        ArgumentError: an argument of the wrong type or outside its range, or a count that would grow beyond 2^53 - 1.
        RecordError: the record is redacted.
        StoreError: an unknown id, or the store failed.
    """
    if not isinstance(good, bool):
        raise ArgumentTypeError(f"good must be True or False, not {type(good).__name__}")
    if isinstance(weight, bool) or not isinstance(weight, int):
        raise ArgumentTypeError(f"weight must be a whole number, not {type(weight).__name__}")
    if not 1 <= weight <= MAX_COUNT:
        raise ArgumentError(f"weight must lie between 1 and {MAX_COUNT}")
    given = f"credited as {'good' if good else 'bad'}, {weight}"
    outcome = _outcome(given if reason is None else reason, "a credit", by, now)
    with store.transaction():
        record = store.get(record_id)
        if not within(record):
            raise unknown_id(record_id)
        if record.redacted:
            raise RecordError(f"record {record_id} is redacted; nothing can be credited to a tombstone")
        held = record.standing or _NONE
        total = weight + (held.good if good else held.bad)
        if total > MAX_COUNT:
            raise ArgumentError(f"weight is too great: the record would have more than {MAX_COUNT} outcomes")
        standing = Standing(total, held.bad) if good else Standing(held.good, total)
        store.put(_credited(record, standing, outcome))
        return store.get(record_id)


def slash(
    store: RecordStore,
    source: str,
    reason: str,
    *,
    by: str | None,
    now: datetime,
    within: Callable[[MemoryRecord], bool],
) -> SlashReport:
    """Forfeit the standing of what came from ``source`` or from below it, and of everything drawn from that.

    The good outcomes of each become bad ones, at least one: good is 0 then, and bad greater by max(1, good).  What is
    superseded or archived is slashed too, for it may come to weigh again; tombstones have nothing to lose.

    Args:
        store: where the records are.
        source: in normal form.
        within: whether a record exists for the caller.  What is drawn from those that do is slashed wherever it lies.

    Raises:
        ArgumentError: no reason, or a ``by`` that is no text.
        StoreError: the store failed; nothing was written.
    """
    outcome = _outcome(reason, "a slash", by, now)
    with store.transaction():
        newest = {record.id: record for record in store.list()}
        matched = sorted(record.id for record in newest.values() if is_from(record, source) and within(record))
        reached = [newest[record_id] for record_id in drawn_from(newest, matched) if not newest[record_id].redacted]
        store.put_many(_forfeited(record, outcome) for record in reached)
    named = {record.id for record in reached if within(record)}
    return SlashReport(
        matched=tuple(matched),
        derived=tuple(sorted(named.difference(matched))),
        outside=len(reached) - len(named),
    )


def _forfeited(record: MemoryRecord, outcome: Outcome) -> MemoryRecord:
    held = record.standing or _NONE
    return _credited(record, Standing(0, min(MAX_COUNT, held.bad + max(1, held.good))), outcome)


def _credited(record: MemoryRecord, standing: Standing, outcome: Outcome) -> MemoryRecord:
    """The next version.  Its ``updated_at`` is that of the last: a bad outcome makes nothing young again."""
    return record.evolve({"standing": standing, "outcome": outcome})


def _outcome(reason: str, what: str, by: Any, now: datetime) -> Outcome:
    text = check_reason(reason, what, ArgumentError)
    try:
        return Outcome(at=now, reason=text, by=by)
    except RecordError as error:
        kind = ArgumentTypeError if isinstance(error, TypeError) else ArgumentError
        raise kind(str(error)) from None

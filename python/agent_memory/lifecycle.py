"""The lifecycle of a record: the legality table, and the only functions that move a record through it (SPEC section 5).

Pure functions from records to records: each returns new versions and writes nothing.  What is not in the table cannot
be reached by any caller, operator or model.  Every move needs a reason, which is kept in ``state_reason`` unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from .clock import now_utc
from .errors import LifecycleError
from .records import MemoryRecord, RecordState, RecordType, Transition

__all__ = [
    "LEGAL_TRANSITIONS",
    "archive",
    "assert_transition",
    "begin_transition",
    "is_legal",
    "refresh_rule_flag",
    "reopen",
    "resolve_transition",
    "supersede",
]

LEGAL_TRANSITIONS: Final[frozenset[tuple[RecordState, RecordState]]] = frozenset(
    {
        (RecordState.ACTIVE, RecordState.TRANSITIONAL),
        (RecordState.ACTIVE, RecordState.SUPERSEDED),
        (RecordState.ACTIVE, RecordState.ARCHIVED),
        (RecordState.TRANSITIONAL, RecordState.ACTIVE),
        (RecordState.TRANSITIONAL, RecordState.SUPERSEDED),
        (RecordState.TRANSITIONAL, RecordState.ARCHIVED),
        (RecordState.SUPERSEDED, RecordState.ARCHIVED),
    }
)
"""Every move there is; archived is terminal."""


def is_legal(current: RecordState, target: RecordState) -> bool:
    """Whether a record may go from ``current`` to ``target``."""
    return (current, target) in LEGAL_TRANSITIONS


def assert_transition(current: RecordState, target: RecordState) -> None:
    """Raise LifecycleError unless the move is legal."""
    if not is_legal(current, target):
        raise LifecycleError(f"illegal transition: a record cannot go from {current} to {target}")


def supersede(old: MemoryRecord, successor: MemoryRecord, *, reason: str, now: datetime | None = None) -> MemoryRecord:
    """The superseded version of ``old``; ``successor`` must be active and name it in supersedes or supersedes_also.

    Raises:
        LifecycleError: an illegal move, no reason, a successor that does not reference it or is not active.
    """
    assert_transition(old.state, RecordState.SUPERSEDED)
    _check_reason(reason, "a supersession")
    if old.id == successor.id:
        raise LifecycleError(f"{old.id} cannot supersede itself")
    if old.id not in successor.replaces:
        raise LifecycleError(
            f"the successor {successor.id} does not reference {old.id} in supersedes or supersedes_also"
        )
    if successor.state is not RecordState.ACTIVE:
        raise LifecycleError(f"a successor must be active, but {successor.id} is {successor.state}")
    return _moved(old, RecordState.SUPERSEDED, reason, now, superseded_by=successor.id)


def begin_transition(
    a: MemoryRecord, b: MemoryRecord, *, reason: str, now: datetime | None = None
) -> tuple[MemoryRecord, MemoryRecord]:
    """Open a dispute: both versions transitional, each carrying the same transition block.

    Raises:
        LifecycleError: an illegal move, no reason, or a record against itself.
    """
    if a.id == b.id:
        raise LifecycleError(f"{a.id} cannot contradict itself")
    assert_transition(a.state, RecordState.TRANSITIONAL)
    assert_transition(b.state, RecordState.TRANSITIONAL)
    _check_reason(reason, "a transition")
    moment = now_utc() if now is None else now
    block = Transition(sides=(a.id, b.id), reason=reason)
    return (
        _moved(a, RecordState.TRANSITIONAL, reason, moment, transition=block),
        _moved(b, RecordState.TRANSITIONAL, reason, moment, transition=block),
    )


def resolve_transition(
    winner: MemoryRecord, loser: MemoryRecord, *, reason: str, now: datetime | None = None
) -> tuple[MemoryRecord, MemoryRecord]:
    """Settle a dispute: the winner active again, the loser superseded by it.

    Raises:
        LifecycleError: one of them is not in dispute, they are not the two sides of the same transition, or no reason.
    """
    for record in (winner, loser):
        if record.state is not RecordState.TRANSITIONAL:
            raise LifecycleError(f"illegal resolution: {record.id} is {record.state}, not in dispute")
    _check_reason(reason, "a resolution")
    if (
        winner.transition is None
        or loser.transition is None
        or {winner.id, loser.id} != set(winner.transition.sides)
        or set(winner.transition.sides) != set(loser.transition.sides)
    ):
        raise LifecycleError(f"{winner.id} and {loser.id} are not the two sides of the same transition")
    moment = now_utc() if now is None else now
    return (
        _moved(winner, RecordState.ACTIVE, reason, moment),
        _moved(loser, RecordState.SUPERSEDED, reason, moment, superseded_by=winner.id),
    )


def reopen(record: MemoryRecord, *, reason: str, now: datetime | None = None) -> MemoryRecord:
    """The side of a dispute that has lost its other side, active again: a dispute never hangs (SPEC section 5.4).

    Raises:
        LifecycleError: the record is not in dispute, or no reason.
    """
    if record.state is not RecordState.TRANSITIONAL:
        raise LifecycleError(f"illegal: {record.id} is {record.state}, not in dispute, so it cannot be reopened")
    _check_reason(reason, "reopening a record")
    return _moved(record, RecordState.ACTIVE, reason, now)


def archive(record: MemoryRecord, *, reason: str, now: datetime | None = None) -> MemoryRecord:
    """The archived version: out of default recall, content kept, and final.

    Raises:
        LifecycleError: archived already, or no reason.
    """
    assert_transition(record.state, RecordState.ARCHIVED)
    _check_reason(reason, "archiving")
    return _moved(record, RecordState.ARCHIVED, reason, now, superseded_by=record.superseded_by)


def refresh_rule_flag(
    rule: MemoryRecord, evidence_records: Mapping[str, MemoryRecord], *, now: datetime | None = None
) -> MemoryRecord:
    """Flag a rule when all its evidence is archived or superseded, clear the flag when some is live again.

    Returns ``rule`` itself when nothing changes, and for a tombstone, which never changes.

    Raises:
        LifecycleError: not a rule, or an evidence record is not supplied.
    """
    if rule.type is not RecordType.RULE:
        raise LifecycleError(f"only a rule carries a flag; {rule.id} is a {rule.type}")
    if rule.redacted:
        return rule
    missing = [record_id for record_id in rule.evidence if record_id not in evidence_records]
    if missing:
        raise LifecycleError(f"evidence of {rule.id} was not supplied: {', '.join(missing)}")
    live = (RecordState.ACTIVE, RecordState.TRANSITIONAL)
    dead = all(evidence_records[record_id].state not in live for record_id in rule.evidence)
    if dead == rule.flagged:
        return rule
    reason = "all evidence is archived or superseded" if dead else None
    return rule.evolve({"flagged": dead, "flag_reason": reason, "updated_at": now_utc() if now is None else now})


def _check_reason(reason: object, what: str) -> None:
    if not isinstance(reason, str) or not reason.strip():
        raise LifecycleError(f"{what} needs a reason: non-empty text")


def _moved(
    record: MemoryRecord,
    state: RecordState,
    reason: str,
    now: datetime | None,
    *,
    superseded_by: str | None = None,
    transition: Transition | None = None,
) -> MemoryRecord:
    return record.evolve(
        {
            "state": state,
            "state_reason": reason,
            "superseded_by": superseded_by,
            "transition": transition,
            "updated_at": now_utc() if now is None else now,
        }
    )

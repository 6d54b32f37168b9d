"""The lifecycle of a record: the legality table, and the only functions that move a record through it (SPEC section 5).

What two sides of a dispute are to each other is said here too.

Pure functions from records to records: each returns new versions and writes nothing.  What is not in the table cannot
be reached by any caller, operator or model.  Every move needs a reason, which is kept in ``state_reason`` unchanged.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

from .clock import now_utc
from .errors import LifecycleError
from .records import MemoryRecord, RecordState, RecordType, Transition
from .wire import check_reason

__all__ = [
    "LEGAL_TRANSITIONS",
    "archive",
    "assert_transition",
    "begin_transition",
    "born_archived",
    "is_legal",
    "join_dispute",
    "partner_of",
    "refresh_rule_flag",
    "reopen",
    "reopen_alone",
    "resolve_transition",
    "retire_under_dispute",
    "same_dispute",
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
    _check_succession(old, successor, reason)
    if successor.state is not RecordState.ACTIVE:
        raise LifecycleError(f"a successor must be active, but {successor.id} is {successor.state}")
    return _moved(old, RecordState.SUPERSEDED, reason, now, superseded_by=successor.id)


def retire_under_dispute(
    record: MemoryRecord, standing: MemoryRecord, *, reason: str, now: datetime | None = None
) -> MemoryRecord:
    """The superseded version of a loaded record whose key is in dispute; ``standing`` names it as replaced.

    For loading alone: the one case in which a successor need not be active but may be in dispute (SPEC section 7.2).

    Raises:
        LifecycleError: as :func:`supersede`; ``standing`` may be active or in dispute.
    """
    _check_succession(record, standing, reason)
    if not standing.state.is_live:
        raise LifecycleError(f"the standing record must be active or in dispute, but {standing.id} is {standing.state}")
    return _moved(record, RecordState.SUPERSEDED, reason, now, superseded_by=standing.id)


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
    check_reason(reason, "a transition", LifecycleError)
    moment = now_utc() if now is None else now
    block = Transition(sides=(a.id, b.id), reason=reason)
    return (
        _moved(a, RecordState.TRANSITIONAL, reason, moment, transition=block),
        _moved(b, RecordState.TRANSITIONAL, reason, moment, transition=block),
    )


def join_dispute(record: MemoryRecord, block: Transition, *, now: datetime | None = None) -> MemoryRecord:
    """The version of ``record`` that enters a dispute its other side is in already, with the block of that side.

    Raises:
        LifecycleError: an illegal move, or a dispute between others.
    """
    assert_transition(record.state, RecordState.TRANSITIONAL)
    if record.id not in block.sides:
        raise LifecycleError(f"illegal: {record.id} is no side of the dispute between {' and '.join(block.sides)}")
    return _moved(record, RecordState.TRANSITIONAL, block.reason, now, transition=block)


def same_dispute(a: MemoryRecord, b: MemoryRecord) -> bool:
    """Whether two records are the two sides of one dispute, as both of them say."""
    if a.transition is None or b.transition is None or a.id == b.id:
        return False
    return set(a.transition.sides) == set(b.transition.sides)


def partner_of(record: MemoryRecord, find: Callable[[str], MemoryRecord | None]) -> MemoryRecord | None:
    """The other side of a record's dispute; None when there is no dispute, or the other side is not in it.

    ``find`` answers the newest version of an id, or None.
    """
    if record.transition is None:
        return None
    partner = find(record.transition.other(record.id))
    return partner if partner is not None and same_dispute(record, partner) else None


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
    check_reason(reason, "a resolution", LifecycleError)
    if not same_dispute(winner, loser):
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
    check_reason(reason, "reopening a record", LifecycleError)
    return _moved(record, RecordState.ACTIVE, reason, now)


def reopen_alone(record: MemoryRecord, *, now: datetime | None = None) -> MemoryRecord:
    """As :func:`reopen`, with the reason for it: the other side is in the dispute no more, however it left.

    Raises:
        LifecycleError: the record is not in dispute.
    """
    other = "" if record.transition is None else f", {record.transition.other(record.id)},"
    return reopen(record, reason=f"the other side of its dispute{other} is in it no more", now=now)


def born_archived(record: MemoryRecord, *, reason: str, superseded_by: str | None) -> MemoryRecord:
    """A new record as history from its birth: what it says was refused when it was said (spec/corrections.md).

    Args:
        superseded_by: id of the record that stands instead, if any does.
    """
    return record.evolve({"state": RecordState.ARCHIVED, "state_reason": reason, "superseded_by": superseded_by})


def archive(record: MemoryRecord, *, reason: str, now: datetime | None = None) -> MemoryRecord:
    """The archived version: out of default recall, content kept, and final.

    Raises:
        LifecycleError: archived already, or no reason.
    """
    assert_transition(record.state, RecordState.ARCHIVED)
    check_reason(reason, "archiving", LifecycleError)
    return _moved(record, RecordState.ARCHIVED, reason, now, superseded_by=record.superseded_by)


def refresh_rule_flag(
    rule: MemoryRecord,
    evidence_records: Mapping[str, MemoryRecord],
    *,
    missing_is_dead: bool = False,
    now: datetime | None = None,
) -> MemoryRecord:
    """Flag a rule when all its evidence is archived or superseded, clear the flag when some is live again.

    Returns ``rule`` itself when nothing changes, and for a tombstone, which never changes.

    Args:
        rule: the rule.
        evidence_records: the newest version of each record in its evidence.
        missing_is_dead: take evidence that is not among them for evidence that holds no more, instead of refusing.
        now: the time of the version; default the present.

    Raises:
        LifecycleError: not a rule, or an evidence record is not supplied and ``missing_is_dead`` is not set.
    """
    if rule.type is not RecordType.RULE:
        raise LifecycleError(f"only a rule carries a flag; {rule.id} is a {rule.type}")
    if rule.redacted:
        return rule
    missing = [record_id for record_id in rule.evidence if record_id not in evidence_records]
    if missing and not missing_is_dead:
        raise LifecycleError(f"evidence of {rule.id} was not supplied: {', '.join(missing)}")
    known = [evidence_records[record_id] for record_id in rule.evidence if record_id in evidence_records]
    dead = not any(record.state.is_live for record in known)
    if dead == rule.flagged:
        return rule
    reason = None
    if dead:
        reason = "all evidence is archived or superseded"
    if dead and missing:
        reason = f"no live evidence: {len(missing)} records are not in this store, the others archived or superseded"
    return rule.evolve({"flagged": dead, "flag_reason": reason, "updated_at": now_utc() if now is None else now})


def _check_succession(old: MemoryRecord, successor: MemoryRecord, reason: str) -> None:
    assert_transition(old.state, RecordState.SUPERSEDED)
    check_reason(reason, "a supersession", LifecycleError)
    if old.id == successor.id:
        raise LifecycleError(f"{old.id} cannot supersede itself")
    # Not through ``replaces``, which lists them all: of n copies, each asks whether it is among n.
    also = successor.supersedes_also
    place = bisect_left(also, old.id)
    if successor.supersedes != old.id and also[place : place + 1] != (old.id,):
        raise LifecycleError(
            f"the successor {successor.id} does not reference {old.id} in supersedes or supersedes_also"
        )


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

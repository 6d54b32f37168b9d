"""Proposals: the only form in which an operator may ask for a change, and the gate they all pass (SPEC section 9).

An operator, be it a heuristic or a model, returns proposals; nothing it returns is written as it stands.
:func:`apply_proposal` checks one against the store and the lifecycle, and only then writes.  What is invalid is
refused, never repaired, and no kind of proposal can destroy content.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from .errors import ProposalError, StoreError
from .lifecycle import archive, begin_transition, partner_of, reopen_alone, supersede
from .ports import RecordStore
from .records import MemoryRecord, RecordState

__all__ = ["Proposal", "ProposalKind", "apply_proposal", "apply_proposals", "healed_partner", "plan_proposal"]


class ProposalKind(StrEnum):
    """What an operator may ask for."""

    CREATE = "create"
    SUPERSEDE = "supersede"
    TRANSITION = "transition"
    ARCHIVE = "archive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One change an operator asks for.  A malformed one can be built; it is refused when it is applied.

    Attributes:
        kind: what is asked for.
        record: the new record, for create and supersede.
        target_id: the record to archive, or one side of a transition.
        other_id: the other side of a transition.
        reason: why; required for everything but create.
    """

    kind: ProposalKind
    record: MemoryRecord | None = None
    target_id: str | None = None
    other_id: str | None = None
    reason: str = ""


def plan_proposal(store: RecordStore, proposal: Proposal, *, now: datetime | None = None) -> tuple[MemoryRecord, ...]:
    """The versions that applying ``proposal`` would write, in order; writes nothing.

    Raises:
        ProposalError: it is malformed, names records the store does not hold, or creates one it does.
        LifecycleError: it asks for an illegal move, or gives no reason.
    """
    if not isinstance(proposal, Proposal):
        raise ProposalError(f"an operator must return proposals, not {type(proposal).__name__}")
    if proposal.record is not None and not isinstance(proposal.record, MemoryRecord):
        raise ProposalError(f"a proposal's record must be a MemoryRecord, not {type(proposal.record).__name__}")
    if proposal.kind == ProposalKind.CREATE:
        return (_new_record(store, proposal),)
    if proposal.kind == ProposalKind.SUPERSEDE:
        return _supersession(store, proposal, now)
    if proposal.kind == ProposalKind.TRANSITION:
        if not proposal.target_id or not proposal.other_id:
            raise ProposalError("a transition proposal must name both sides, in target_id and other_id")
        a, b = _held(store, proposal.target_id), _held(store, proposal.other_id)
        return begin_transition(a, b, reason=proposal.reason, now=now)
    if proposal.kind == ProposalKind.ARCHIVE:
        if not proposal.target_id:
            raise ProposalError("an archive proposal must name its record in target_id")
        target = _held(store, proposal.target_id)
        return (archive(target, reason=proposal.reason, now=now), *healed_partner(store, target, now=now))
    raise ProposalError(f"unknown kind of proposal; it must be one of {', '.join(ProposalKind)}")


def apply_proposal(store: RecordStore, proposal: Proposal, *, now: datetime | None = None) -> tuple[MemoryRecord, ...]:
    """Check a proposal against ``store`` and write what it asks for, all of it or nothing.

    Returns the versions written: one for create and archive, two for a transition, the successor and what it retired
    for a supersession, and the other side of a dispute that would otherwise hang.

    Raises:
        ProposalError, LifecycleError: as :func:`plan_proposal`; nothing was written.
        StoreError: the store refused.
    """
    with store.transaction():
        written = plan_proposal(store, proposal, now=now)
        store.put_many(written)
    return written


def apply_proposals(
    store: RecordStore, proposals: Iterable[Proposal], *, now: datetime | None = None
) -> tuple[MemoryRecord, ...]:
    """Apply proposals one after the other; the first refusal stops, and what came before it stands."""
    written: list[MemoryRecord] = []
    for proposal in proposals:
        written.extend(apply_proposal(store, proposal, now=now))
    return tuple(written)


def healed_partner(
    store: RecordStore, leaving: MemoryRecord, *, now: datetime | None = None
) -> tuple[MemoryRecord, ...]:
    """The other side of ``leaving``'s dispute, active again, when it stands in the same dispute; else empty.

    Whoever takes one side out of a dispute other than by resolving it writes this too: a dispute never hangs.
    """
    partner = partner_of(leaving, lambda record_id: store.get_many([record_id]).get(record_id))
    return () if partner is None else (reopen_alone(partner, now=now),)


def _new_record(store: RecordStore, proposal: Proposal) -> MemoryRecord:
    record = proposal.record
    if record is None:
        raise ProposalError(f"a {proposal.kind} proposal must carry a record, and this one has no record")
    if record.state is not RecordState.ACTIVE:
        raise ProposalError(f"a proposed record must be active, but {record.id} is {record.state}")
    if record.id in store.get_many([record.id]):
        raise ProposalError(f"record {record.id} exists already; a proposal can only create a new one")
    return record


def _supersession(store: RecordStore, proposal: Proposal, now: datetime | None) -> tuple[MemoryRecord, ...]:
    if proposal.record is None:
        raise ProposalError("a supersede proposal must carry the successor, and this one has no record")
    if not proposal.record.replaces:
        raise ProposalError("the successor names nothing in supersedes or supersedes_also, so it retires nothing")
    successor = _new_record(store, proposal)
    replaced = [_held(store, record_id) for record_id in successor.replaces]
    retired = [supersede(old, successor, reason=proposal.reason, now=now) for old in replaced]
    leaving = {old.id for old in replaced}
    healed = [
        partner for old in replaced for partner in healed_partner(store, old, now=now) if partner.id not in leaving
    ]
    return (successor, *retired, *healed)


def _held(store: RecordStore, record_id: str) -> MemoryRecord:
    try:
        return store.get(record_id)
    except StoreError as error:
        raise ProposalError(f"a record the proposal names is not in store: {error}") from None

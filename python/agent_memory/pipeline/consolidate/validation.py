"""What the engine accepts from an operator (SPEC sections 12.2 to 12.4).

Each check raises a ProposalError that says what the operator may do.  Nothing is repaired: a proposal that oversteps is
refused whole.
"""

from __future__ import annotations

from typing import Final

from agent_memory.errors import ProposalError
from agent_memory.extension import UNSCOPED, ConsolidationScope
from agent_memory.fields import CONSOLIDATION
from agent_memory.proposals import Proposal, ProposalKind
from agent_memory.records import MemoryRecord, RecordState
from agent_memory.wire import check_reason

__all__ = ["check_dispute", "check_merge", "check_winner"]

_LONGEST_REASON: Final = 2_000
"""Characters of a reason, which stays in the record for ever."""


def check_merge(proposal: object, a: MemoryRecord, b: MemoryRecord, scope: ConsolidationScope) -> MemoryRecord:
    """The record of a proposal that merges exactly ``a`` and ``b``, in ``scope``; else ProposalError."""
    merge = _proposal(proposal)
    if merge.kind != ProposalKind.SUPERSEDE:
        raise ProposalError(f"a near-duplicate operator may only propose supersede, not {merge.kind}")
    record = merge.record
    if not isinstance(record, MemoryRecord):
        raise ProposalError("a merge must carry the merged record, and this one has no record")
    _reason(merge.reason)
    pair = {a.id, b.id}
    if not record.replaces or not pair.issuperset(record.replaces):
        raise ProposalError("a merge must name one or both sides of the pair in supersedes, and nothing else")
    if not pair.issubset(record.evidence):
        raise ProposalError("a merge must cite BOTH sides of the pair as evidence")
    if not pair.union(a.evidence, b.evidence).issuperset(record.evidence):
        raise ProposalError("a merge may cite the pair and what the pair cites as evidence, and nothing else")
    if record.state is not RecordState.ACTIVE:
        raise ProposalError(f"a merged record must be active, not {record.state}")
    if record.type is not a.type:
        raise ProposalError(f"a merged record must have the type of its sides, {a.type}, not {record.type}")
    if record.provenance.kind != CONSOLIDATION:
        raise ProposalError(f"a merged record must have the provenance kind {CONSOLIDATION!r}")
    if record.scope.consolidation not in (UNSCOPED.consolidation, scope):
        raise ProposalError("a merged record must be in the scope of its sides; leave its scope out")
    for name in ("key", "object"):
        if getattr(record, name) not in (None, getattr(a, name), getattr(b, name)):
            raise ProposalError(f"a merged record may not bring in a new {name}")
    for side in (a, b):
        if side.key is not None and (side.body, side.slots) != (record.body, record.slots):
            raise ProposalError(f"record {side.id} has a key and stays in its own words; propose its body, or nothing")
    if a.key is not None and b.key is not None and a.key != b.key:
        raise ProposalError("two records with different keys cannot be merged")
    return record


def check_dispute(proposal: object, a: MemoryRecord, b: MemoryRecord) -> str:
    """The reason of a proposal that disputes exactly ``a`` and ``b``; ProposalError for anything else."""
    dispute = _proposal(proposal)
    if dispute.kind != ProposalKind.TRANSITION:
        raise ProposalError(f"a contradiction operator may only propose transition, not {dispute.kind}")
    if {dispute.target_id, dispute.other_id} != {a.id, b.id}:
        raise ProposalError("a transition must name exactly the candidate pair in target_id and other_id")
    return _reason(dispute.reason)


def check_winner(verdict: object, a: MemoryRecord, b: MemoryRecord) -> tuple[MemoryRecord, MemoryRecord, str]:
    """(winner, loser, reason) of a verdict about the dispute of ``a`` and ``b``; ProposalError for anything else."""
    if not isinstance(verdict, tuple) or len(verdict) != 2:
        raise ProposalError("a resolver must return (id of the winner, reason), or None")
    winner_id, reason = verdict
    if winner_id not in (a.id, b.id):
        raise ProposalError("a resolver may not name a winner outside the pair")
    winner, loser = (a, b) if winner_id == a.id else (b, a)
    return winner, loser, _reason(reason)


def _proposal(proposal: object) -> Proposal:
    if not isinstance(proposal, Proposal):
        raise ProposalError(f"an operator must return a Proposal or None, not {type(proposal).__name__}")
    return proposal


def _reason(reason: object) -> str:
    given = check_reason(reason, "a proposal", ProposalError)
    if len(given) > _LONGEST_REASON:
        raise ProposalError(f"a reason has at most {_LONGEST_REASON:,} characters; this one has {len(given):,}")
    return given

"""Contradictions: two claims that cannot both hold become a dispute, visible from both sides (SPEC section 12.3).

A record is in one dispute at a time.  A further pair is deferred: reported, and looked at again by a later pass.
"""

from __future__ import annotations

from typing import Final

from agent_memory.errors import AgentMemoryError
from agent_memory.lifecycle import begin_transition
from agent_memory.records import MemoryRecord, RecordState, RecordType

from .candidates import candidate_pairs
from .operators import ContradictionOperator, candidates_of, disputes_all
from .validation import check_dispute
from .workspace import Workspace, told

__all__ = ["LISTED", "open_disputes"]

_NAME = "contradiction"
LISTED: Final = 100
"""Deferred pairs that are named one by one; the rest is counted."""
_CERTAIN: Final = "they disagree"
_LATER: Final = "deferred: a side is in another dispute since this pass; it is looked at again once that is resolved"


def open_disputes(workspace: Workspace, operator: ContradictionOperator) -> None:
    """Offer the operator its candidate pairs of facts and of procedures, and open the disputes it proposes."""
    kind = candidates_of(operator)
    certain = disputes_all(operator)
    deferred = left_out = 0
    for _, _, records in workspace.groups(RecordType.FACT, RecordType.PROCEDURE):
        pairs = candidate_pairs(kind, records, threshold=workspace.config.near_dup_threshold)
        left_out += pairs.left_out
        reached = -1
        for first, second in pairs:
            if first != reached:
                reached = first
                workspace.progress(_NAME, first, len(records))
            # A record that joined a dispute in this pass is still offered as it was: what it also clashes with is told.
            a, b = records[first], records[second]
            engaged = any(workspace.records[side.id].state is not RecordState.ACTIVE for side in (a, b))
            reason = _CERTAIN if certain and engaged else _proposed(workspace, operator, a, b)
            if reason is None:
                continue
            if engaged:
                deferred += 1
                if deferred <= LISTED:
                    workspace.refuse(_NAME, f"pair {a.id} {b.id}", _LATER)
                continue
            try:
                sides = begin_transition(a, b, reason=reason, now=workspace.now)
            except AgentMemoryError as error:
                workspace.refuse(_NAME, f"pair {a.id} {b.id}", told(error))
                continue
            workspace.stage(*sides)
            workspace.act(
                _NAME,
                "transition",
                [a.id, b.id],
                before=[RecordState.ACTIVE] * 2,
                after=[RecordState.TRANSITIONAL] * 2,
                reason=reason,
            )
    if deferred > LISTED:
        workspace.refuse(_NAME, f"{deferred - LISTED} further pairs", _LATER)
    if left_out:
        workspace.refuse(
            _NAME, "candidate pairs", f"up to {left_out} pairs that share only very common terms were left out"
        )


def _proposed(workspace: Workspace, operator: ContradictionOperator, a: MemoryRecord, b: MemoryRecord) -> str | None:
    """The reason of a valid proposal about the pair; None when there is none, or it was refused."""
    try:
        proposal = operator.propose_contradiction(a, b)
        return None if proposal is None else check_dispute(proposal, a, b)
    except Exception as error:  # noqa: BLE001, RUF100 - whatever an operator does is its own affair, and reported
        workspace.refuse(_NAME, f"pair {a.id} {b.id}", told(error))
        return None

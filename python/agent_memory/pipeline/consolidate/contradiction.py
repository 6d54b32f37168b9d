"""Contradictions: two claims that cannot both hold become a dispute, visible from both sides (SPEC section 12.3).

A record is in one dispute at a time.  A further pair is deferred: reported, and looked at again by a later pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agent_memory.errors import AgentMemoryError
from agent_memory.lifecycle import begin_transition
from agent_memory.records import MemoryRecord, RecordState, RecordType

from .operators import ContradictionOperator, candidates_of, disputes_all
from .validation import check_dispute
from .workspace import Workspace

__all__ = ["LISTED", "open_disputes"]

_NAME = "contradiction"
LISTED: Final = 100
"""Deferred pairs that are named one by one; the rest is counted."""
_CLAIMS: Final = (RecordType.FACT.value, RecordType.PROCEDURE.value)
_LATER: Final = "deferred: a side is in another dispute since this pass; it is looked at again once that is resolved"


def open_disputes(workspace: Workspace, operator: ContradictionOperator) -> None:
    """Offer the operator its candidate pairs of facts and of procedures, and open the disputes it proposes."""
    pairs = workspace.columns.pairs(
        candidates_of(operator).value,
        types=_CLAIMS,
        threshold=workspace.config.near_dup_threshold,
        about=workspace.about,
        once=disputes_all(operator),
    )
    deferred: list[tuple[str, str]] = []
    count = 0
    for first, second in workspace.reading(pairs):
        workspace.progress(_NAME, pairs.done, pairs.total)
        # A record that joined a dispute in this pass is still offered as it was: what it also clashes with is told.
        a, b = workspace.before(first), workspace.before(second)
        if a is None or b is None:
            continue
        if not (workspace.is_changed(first) or workspace.is_changed(second) or workspace.wants((first,), (second,))):
            continue
        reason = _proposed(workspace, operator, a, b)
        if reason is None:
            continue
        if workspace.get(first) is not a or workspace.get(second) is not b:
            count += 1
            if len(deferred) < LISTED:
                deferred.append((first, second))
            continue
        try:
            sides = begin_transition(a, b, reason=reason, now=workspace.now)
        except AgentMemoryError as error:
            workspace.failed(_NAME, a, b, error)
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
    _report_deferred(workspace, (*deferred, *pairs.deferred)[:LISTED], count + pairs.waiting)
    if pairs.left_out and workspace.about is None:
        workspace.refuse(
            _NAME, "candidate pairs", f"up to {pairs.left_out} pairs that share only very common terms were left out"
        )


def _report_deferred(workspace: Workspace, listed: Sequence[tuple[str, str]], count: int) -> None:
    for first, second in listed:
        workspace.refuse(_NAME, f"pair {first} {second}", _LATER)
    if count > len(listed):
        workspace.refuse(_NAME, f"{count - len(listed)} further pairs", _LATER)


def _proposed(workspace: Workspace, operator: ContradictionOperator, a: MemoryRecord, b: MemoryRecord) -> str | None:
    """The reason of a valid proposal about the pair; None when there is none, or it was refused."""
    if disputes_all(operator):
        proposal = operator.propose_contradiction(a, b)
    else:
        proposal = workspace.asks(_NAME, a, b, operator.propose_contradiction)
    try:
        return None if proposal is None else check_dispute(proposal, a, b)
    except Exception as error:  # noqa: BLE001, RUF100 - whatever an operator does is its own affair, and reported
        workspace.failed(_NAME, a, b, error)
        return None

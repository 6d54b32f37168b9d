"""First of all: a dispute whose other side is gone does not hang (SPEC section 12.0).

Nothing of ours leaves one behind; a crash of another program, or a foreign store, may have.
"""

from __future__ import annotations

from agent_memory.lifecycle import reopen
from agent_memory.records import MemoryRecord, RecordState

from .workspace import Workspace

__all__ = ["heal", "open_dispute"]

_NAME = "heal"


def heal(workspace: Workspace) -> None:
    """Return every side of a dispute to active whose other side is not in the same dispute."""
    for record in sorted(workspace.records.values(), key=lambda record: record.id):
        if record.transition is None or open_dispute(workspace, record) is not None:
            continue
        other = record.transition.other(record.id)
        reason = f"the other side of its dispute, {other}, is in it no more"
        workspace.stage(reopen(record, reason=reason, now=workspace.now))
        workspace.act(
            _NAME, "reopen", [record.id], before=[RecordState.TRANSITIONAL], after=[RecordState.ACTIVE], reason=reason
        )


def open_dispute(workspace: Workspace, record: MemoryRecord) -> MemoryRecord | None:
    """The other side of a record's dispute when both are in it, else None."""
    if record.transition is None:
        return None
    partner = workspace.records.get(record.transition.other(record.id))
    if partner is None or partner.transition is None or set(partner.transition.sides) != set(record.transition.sides):
        return None
    return partner

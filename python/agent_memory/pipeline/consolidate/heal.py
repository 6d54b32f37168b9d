"""First of all: a dispute whose other side is gone does not hang (SPEC section 12.0).

Nothing of ours leaves one behind; a crash of another program, or a foreign store, may have.
"""

from __future__ import annotations

from agent_memory.lifecycle import partner_of, reopen_alone
from agent_memory.records import RecordState

from .workspace import Workspace

__all__ = ["heal"]

_NAME = "heal"


def heal(workspace: Workspace) -> None:
    """Return every side of a dispute to active whose other side is not in the same dispute."""
    for (record_id,) in workspace.reading(
        [(record_id,) for record_id in filter(workspace.is_within, workspace.columns.hanging())]
    ):
        record = workspace.get(record_id)
        if record is None or record.transition is None or partner_of(record, workspace.before) is not None:
            continue
        healed = reopen_alone(record, now=workspace.now)
        workspace.stage(healed)
        workspace.act(
            _NAME,
            "reopen",
            [record.id],
            before=[RecordState.TRANSITIONAL],
            after=[RecordState.ACTIVE],
            reason=healed.state_reason or "",
        )

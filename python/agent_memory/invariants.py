"""The rules that couple one field of a record to another (SPEC section 4).

Called by the constructor of :class:`agent_memory.records.MemoryRecord`, and by nothing else: a record that breaks one
of them cannot exist.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .errors import RecordError
from .extension import Extension, Scope
from .fields import Provenance, RecordState, RecordType

if TYPE_CHECKING:
    from .records import MemoryRecord

__all__ = ["REDACTED_BODY", "REDACTION", "check_invariants", "tombstone_extension"]

REDACTED_BODY: Final = "[redacted]"
"""What a tombstone says."""
REDACTION: Final = Provenance(kind="redaction")
"""Where a tombstone comes from."""


def tombstone_extension(extension: Extension) -> Extension:
    """What a tombstone keeps of an extension: the links, the project, and that its evidence was declared."""
    return Extension(
        scope=Scope(project=extension.scope.project),
        supersedes_also=extension.supersedes_also,
        declared=extension.declared,
    )


def check_invariants(record: MemoryRecord) -> None:
    """The rules that couple one field to another (SPEC section 4)."""
    state = record.state
    transition = record.transition
    if record.type is RecordType.RULE:
        if not record.evidence:
            raise RecordError("a rule needs evidence: the ids of the records it was drawn from")
    elif record.flagged or record.flag_reason is not None:
        raise RecordError("only a rule can be flagged or carry a flag_reason")
    if (state is RecordState.TRANSITIONAL) != (transition is not None):
        raise RecordError("state 'transitional' and a transition block go together; one is here without the other")
    if transition is not None and record.id not in transition.sides:
        raise RecordError("the transition's sides do not include the record itself")
    if state is RecordState.SUPERSEDED and record.superseded_by is None:
        raise RecordError("a superseded record must name its successor in superseded_by")
    if record.superseded_by is not None:
        if state is not RecordState.SUPERSEDED and state is not RecordState.ARCHIVED:
            raise RecordError(f"superseded_by is set on a record that is {state.value}")
        if record.superseded_by == record.id:
            raise RecordError("superseded_by names the record itself")
    if record.redacted:
        _check_tombstone(record)
    elif record.birth_digest is not None or record.redaction_reason is not None:
        raise RecordError("birth_digest and redaction_reason belong to redacted records only")


def _check_tombstone(record: MemoryRecord) -> None:
    if record.birth_digest is None or not record.redaction_reason:
        raise RecordError("a redacted record must carry its birth_digest and redaction_reason")
    emptied = {
        "body": record.body == REDACTED_BODY,
        "slots": not record.slots,
        "state": record.state is RecordState.ARCHIVED,
        "confidence": record.confidence == 0.0,
        "occurred_at": record.occurred_at is None,
        "provenance": record.provenance == REDACTION,
        "state_reason": record.state_reason is None,
        "tags": not record.tags,
        "flagged": not record.flagged and record.flag_reason is None,
        "signature": record.signed_by is None and not record.signature,
        "agent_memory": record.extension == tombstone_extension(record.extension),
        "extra": not record.extra,
    }
    for field, is_empty in emptied.items():
        if not is_empty:
            raise RecordError(f"a redacted record must hold nothing of the original, but its {field} does")

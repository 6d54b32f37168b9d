"""The sweep over rules: evidence that was folded into another record is followed there, then each rule is flagged when
nothing it was drawn from holds any more (SPEC section 12.6)."""

from __future__ import annotations

from agent_memory.lifecycle import refresh_rule_flag
from agent_memory.pipeline.scoping import CONSOLIDATION
from agent_memory.records import MemoryRecord, RecordState, RecordType
from agent_memory.text import analyse, same_statement

from .workspace import Workspace

__all__ = ["sweep_rule_flags"]

_NAME = "rule-flags"
_LIVE = (RecordState.ACTIVE, RecordState.TRANSITIONAL)


def sweep_rule_flags(workspace: Workspace) -> None:
    """Bring the evidence and the flag of every live rule up to date; a rule gets one version at most."""
    rules = [
        record for record in workspace.records.values() if record.type is RecordType.RULE and record.state in _LIVE
    ]
    for rule in sorted(rules, key=lambda record: record.id):
        followed = _with_live_evidence(workspace, rule)
        swept = _with_flag(workspace, followed)
        if swept is rule:
            continue
        workspace.stage(swept)
        if followed is not rule:
            _act(workspace, rule, "follow-evidence", "evidence that was folded into another record is followed there")
        if swept.flagged != rule.flagged:
            action, reason = (
                ("flag", swept.flag_reason) if swept.flagged else ("unflag", "some of its evidence is live")
            )
            _act(workspace, rule, action, reason or "")


def _act(workspace: Workspace, rule: MemoryRecord, action: str, reason: str) -> None:
    workspace.act(_NAME, action, [rule.id], before=[rule.state], after=[rule.state], reason=reason)


def _with_live_evidence(workspace: Workspace, rule: MemoryRecord) -> MemoryRecord:
    evidence = tuple(dict.fromkeys(_live_holder(workspace, rule, record_id) for record_id in rule.evidence))
    if evidence == rule.evidence:
        return rule
    return rule.evolve({"evidence": evidence, "updated_at": workspace.now})


def _live_holder(workspace: Workspace, rule: MemoryRecord, record_id: str) -> str:
    """The live record that the evidence ``record_id`` was folded into, however far; itself when there is none."""
    seen = {record_id, rule.id}
    record = workspace.records.get(record_id)
    while record is not None and record.state is RecordState.SUPERSEDED:
        successor = workspace.records.get(record.superseded_by or "")
        if successor is None or successor.id in seen or not _carries(successor, record):
            return record_id
        seen.add(successor.id)
        record = successor
    return record.id if record is not None and record.state in _LIVE else record_id


def _carries(successor: MemoryRecord, record: MemoryRecord) -> bool:
    """Whether a successor says what the record said: a copy of it, or a merge; not a correction."""
    if successor.type is not record.type or record.id not in successor.replaces:
        return False
    if successor.provenance.kind == CONSOLIDATION and record.id in successor.evidence:
        return True
    return successor.slots == record.slots and same_statement(analyse(successor.body), analyse(record.body))


def _with_flag(workspace: Workspace, rule: MemoryRecord) -> MemoryRecord:
    held = workspace.find(rule.evidence)
    missing = sum(record_id not in held for record_id in rule.evidence)
    if not missing:
        return refresh_rule_flag(rule, held, now=workspace.now)
    if any(record.state in _LIVE for record in held.values()):
        if not rule.flagged:
            return rule
        return rule.evolve({"flagged": False, "flag_reason": None, "updated_at": workspace.now})
    if rule.flagged:
        return rule
    reason = f"no live evidence: {missing} records are not in this store, the others archived or superseded"
    return rule.evolve({"flagged": True, "flag_reason": reason, "updated_at": workspace.now})

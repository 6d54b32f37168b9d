"""The sweep over rules: evidence that was folded into another record is followed there, then each rule is flagged when
nothing it was drawn from holds any more (SPEC section 12.6)."""

from __future__ import annotations

from agent_memory.lifecycle import refresh_rule_flag
from agent_memory.lineage import carries
from agent_memory.records import MemoryRecord, RecordState

from .workspace import Workspace

__all__ = ["sweep_rule_flags"]

_NAME = "rule-flags"


def sweep_rule_flags(workspace: Workspace) -> None:
    """Bring the evidence and the flag of every live rule up to date; a rule gets one version at most."""
    rules = [(record_id,) for record_id in filter(workspace.is_within, workspace.columns.rules(workspace.about))]
    for done, (record_id,) in enumerate(workspace.reading(rules)):
        workspace.progress(_NAME, done, len(rules))
        rule = workspace.get(record_id)
        if rule is None:
            continue
        followed = _with_live_evidence(workspace, rule)
        evidence = workspace.find(followed.evidence)
        swept = refresh_rule_flag(followed, evidence, missing_is_dead=True, now=workspace.now)
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
    workspace.find(rule.evidence)
    evidence = tuple(dict.fromkeys(_live_holder(workspace, rule, record_id) for record_id in rule.evidence))
    if evidence == rule.evidence:
        return rule
    return rule.evolve({"evidence": evidence, "updated_at": workspace.now})


def _live_holder(workspace: Workspace, rule: MemoryRecord, record_id: str) -> str:
    """The live record that the evidence ``record_id`` was folded into, however far; itself when there is none."""
    seen = {record_id, rule.id}
    record = workspace.get(record_id)
    while record is not None and record.state is RecordState.SUPERSEDED:
        successor = workspace.get(record.superseded_by or "")
        if successor is None or successor.id in seen or not carries(successor, record):
            return record_id
        seen.add(successor.id)
        record = successor
    return record.id if record is not None and record.state.is_live else record_id

"""Promotion: what keeps happening becomes a rule, with the episodes as its evidence (SPEC section 12.5)."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime

from agent_memory.extension import ConsolidationScope, Extension, Scope
from agent_memory.fields import CONSOLIDATION
from agent_memory.records import MemoryRecord, Provenance, RecordState, RecordType

from .workspace import Workspace

__all__ = ["promote_episodes", "promoted"]

_NAME = "promotion"


def promote_episodes(workspace: Workspace) -> None:
    """Make a rule of enough episodes of one signature, or add later ones to the rule that stands for it."""
    # Whether an erased rule had been retired is not known any more.  One that had not was drawn anew by the erasure.
    erased = frozenset(workspace.columns.erased_evidence())
    recurring = workspace.columns.recurring(workspace.config.promotion_threshold, workspace.about)
    for done, (scope, signature, episodes, rules) in enumerate(recurring):
        workspace.progress(_NAME, done, len(recurring))
        known = list(workspace.find(rules).values())
        standing = [rule for rule in known if rule.state.is_live]
        if standing:
            _extend(workspace, min(standing, key=lambda rule: (rule.created_at, rule.id)), episodes)
        else:
            _promote(workspace, scope, signature, episodes, retired=known, erased=erased)


def _extend(workspace: Workspace, rule: MemoryRecord, episodes: Sequence[str]) -> None:
    held = frozenset(rule.evidence)
    later = [record_id for record_id in episodes if record_id not in held]
    if not later:
        return
    workspace.stage(rule.evolve({"evidence": (*rule.evidence, *later), "updated_at": workspace.now}))
    workspace.act(
        _NAME,
        "extend-rule",
        [rule.id],
        before=[rule.state],
        after=[rule.state],
        reason=f"{len(later)} later episodes of its signature joined its evidence",
        related=later,
    )


def _promote(
    workspace: Workspace,
    scope: ConsolidationScope,
    signature: Sequence[str],
    episodes: Sequence[str],
    *,
    retired: Sequence[MemoryRecord],
    erased: AbstractSet[str],
) -> None:
    """A new rule, when enough episodes are not what a retired or erased rule was drawn from."""
    spent = erased | {record_id for rule in retired for record_id in rule.evidence}
    threshold = workspace.config.promotion_threshold
    unspent = [record_id for record_id in episodes if record_id not in spent]
    fresh = list(workspace.find(unspent).values()) if len(unspent) >= threshold else []
    if len(fresh) < threshold:
        return
    rule = workspace.at_free_id(promoted(scope, signature, fresh, workspace.now))
    workspace.stage(rule)
    workspace.act(
        _NAME,
        "create-rule",
        [rule.id],
        before=[],
        after=[RecordState.ACTIVE],
        reason=f"{len(fresh)} episodes share one signature; {threshold} make a rule",
        related=[episode.id for episode in fresh],
    )


def promoted(
    scope: ConsolidationScope, signature: Sequence[str], episodes: Sequence[MemoryRecord], now: datetime
) -> MemoryRecord:
    """The rule that ``episodes`` of one scope and signature make, with all of them as evidence."""
    project, user_id, agent_id = scope
    return MemoryRecord.create(
        RecordType.RULE,
        _body(signature, by_tags=bool(episodes[0].tags)),
        Provenance(kind=CONSOLIDATION),
        confidence=min(episode.confidence for episode in episodes),
        evidence=[episode.id for episode in episodes],
        tags=signature,
        created_at=now,
        extension=Extension(scope=Scope(project=project, user_id=user_id, agent_id=agent_id)),
    )


def _body(signature: Sequence[str], *, by_tags: bool) -> str:
    """What the rule says: that it keeps happening.  It names the signature and quotes no episode."""
    names = ", ".join(signature)
    return f"Episodes tagged {names} keep recurring." if by_tags else f"Episodes about {names} keep recurring."

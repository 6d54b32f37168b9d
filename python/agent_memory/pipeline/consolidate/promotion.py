"""Promotion: what keeps happening becomes a rule, with the episodes as its evidence (SPEC section 12.5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime

from agent_memory.extension import ConsolidationScope, Extension, Scope
from agent_memory.fields import CONSOLIDATION
from agent_memory.records import MemoryRecord, Provenance, RecordState, RecordType

from .workspace import Workspace

__all__ = ["promote_episodes", "promoted"]

_NAME = "promotion"

_Signature = tuple[str, ...]
_Rules = Mapping[tuple[ConsolidationScope, _Signature], Sequence[MemoryRecord]]


def promote_episodes(workspace: Workspace) -> None:
    """Make a rule of enough episodes of one signature, or add later ones to the rule that stands for it."""
    rules = _rules(workspace)
    # Whether an erased rule had been retired is not known any more.  One that had not was drawn anew by the erasure.
    erased = {record_id for rule in workspace.rule_tombstones for record_id in rule.evidence}
    for scope, _, records in workspace.groups(RecordType.EPISODE):
        episodes: defaultdict[_Signature, list[MemoryRecord]] = defaultdict(list)
        for record in records:
            signature = _signature(record)
            if signature:
                episodes[signature].append(record)
        for signature in sorted(episodes):
            known = rules.get((scope, signature), ())
            standing = [rule for rule in known if rule.state.is_live]
            if standing:
                _extend(workspace, min(standing, key=lambda rule: (rule.created_at, rule.id)), episodes[signature])
            else:
                _promote(workspace, scope, signature, episodes[signature], retired=known, erased=erased)


def _signature(record: MemoryRecord) -> _Signature:
    """What makes episodes alike: their tags, else the keys of their slots; sorted, each once."""
    return tuple(sorted(set(record.tags or record.slots)))


def _rules(workspace: Workspace) -> _Rules:
    """The promoted rules, by scope and signature; a redacted one has lost both and counts by its evidence alone."""
    rules: defaultdict[tuple[ConsolidationScope, _Signature], list[MemoryRecord]] = defaultdict(list)
    for record in workspace.records.values():
        if record.type is RecordType.RULE and record.provenance.kind == CONSOLIDATION:
            scope = workspace.scope_of(record)
            if scope is not None:
                rules[scope, tuple(sorted(set(record.tags)))].append(record)
    return rules


def _extend(workspace: Workspace, rule: MemoryRecord, episodes: Sequence[MemoryRecord]) -> None:
    later = [episode.id for episode in episodes if episode.id not in rule.evidence]
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
    )


def _promote(
    workspace: Workspace,
    scope: ConsolidationScope,
    signature: _Signature,
    episodes: Sequence[MemoryRecord],
    *,
    retired: Sequence[MemoryRecord],
    erased: AbstractSet[str],
) -> None:
    """A new rule, when enough episodes are not what a retired or erased rule was drawn from."""
    spent = erased | {record_id for rule in retired for record_id in rule.evidence}
    fresh = [episode for episode in episodes if episode.id not in spent]
    threshold = workspace.config.promotion_threshold
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

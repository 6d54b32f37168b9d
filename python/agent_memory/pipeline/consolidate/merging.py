"""What several records become when they are merged (SPEC section 12.2).  Pure functions over records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from agent_memory.extension import ConsolidationScope, Extension, Scope
from agent_memory.fields import CONSOLIDATION
from agent_memory.records import MemoryRecord, Provenance, RecordType

from .values import common, strength, summed_standing, united

__all__ = ["absorbed", "merged", "stand_in"]


def merged(
    records: Sequence[MemoryRecord],
    proposed: MemoryRecord | None,
    scope: ConsolidationScope,
    now: datetime,
) -> MemoryRecord:
    """A new record for all of ``records``, which are sorted by id and have no key.

    Its words are those of ``proposed``, or the strongest record's when that is None.  It has the union of tags, the
    earliest event time, the greatest value and confidence, the added standing, the author and session all agree on,
    and everything else they agree on.
    """
    strongest = max(records, key=strength)
    words = strongest if proposed is None else proposed
    replaced = [record.id for record in records]
    evidence = united([replaced, *(record.evidence for record in records if record.type is RecordType.RULE)])
    extension = Extension(
        object=common(record.object for record in records if record.object is not None),
        value=max(record.value for record in records),
        scope=_shared_scope(records, scope),
        standing=summed_standing(records),
        author=common(record.author for record in records),
        typed=any(record.typed for record in records),
        supersedes_also=tuple(record_id for record_id in replaced if record_id != strongest.id),
        extra=_agreed([record.extension.extra for record in records]),
    )
    return MemoryRecord.create(
        strongest.type,
        words.body,
        Provenance(kind=CONSOLIDATION),
        slots=words.slots,
        confidence=max(record.confidence for record in records),
        evidence=evidence,
        supersedes=strongest.id,
        tags=united(record.tags for record in records),
        created_at=now,
        occurred_at=min((record.occurred_at for record in records if record.occurred_at is not None), default=None),
        extra=_agreed([record.extra for record in records]),
        extension=extension,
    )


def stand_in(strongest: MemoryRecord, records: Sequence[MemoryRecord]) -> MemoryRecord:
    """What a merge of ``records`` in the words of ``strongest`` is compared as, without the cost of building it."""
    object_ = strongest.object or common(record.object for record in records if record.object is not None)
    extra = {**_agreed([record.extra for record in records]), **strongest.extra}
    members = {**_agreed([record.extension.extra for record in records]), **strongest.extension.extra}
    if (object_, extra, members) == (strongest.object, strongest.extra, strongest.extension.extra):
        return strongest
    return strongest.evolve({"extra": extra, "extension": strongest.extension.evolve(object=object_, extra=members)})


def absorbed(merge: MemoryRecord, copies: Sequence[MemoryRecord], now: datetime) -> MemoryRecord:
    """The next version of an earlier merge, which takes in later copies of what it says."""
    everyone = [merge, *copies]
    added = [copy.id for copy in copies]
    also = {*merge.supersedes_also, *added} - {merge.supersedes}
    session = common(record.scope.session_id for record in everyone)
    members = {**_agreed([copy.extension.extra for copy in copies]), **merge.extension.extra}
    return merge.evolve(
        {
            "extra": {**_agreed([copy.extra for copy in copies]), **merge.extra},
            "extension": merge.extension.evolve(extra=members),
            "evidence": tuple(dict.fromkeys((*merge.evidence, *added))),
            "supersedes_also": tuple(sorted(also)),
            "object": merge.object or common(copy.object for copy in copies if copy.object is not None),
            "tags": united(record.tags for record in everyone),
            "confidence": max(record.confidence for record in everyone),
            "value": max(record.value for record in everyone),
            "standing": summed_standing(everyone),
            "author": common(record.author for record in everyone),
            "typed": any(record.typed for record in everyone),
            "scope": merge.scope if session == merge.scope.session_id else merge.scope.without_session(),
            "updated_at": now,
        }
    )


def _shared_scope(records: Sequence[MemoryRecord], scope: ConsolidationScope) -> Scope:
    """The scope of a merge: what its parts share; unknown members only when all have the same whole scope."""
    first = records[0].scope
    if first.consolidation == scope and all(record.scope == first for record in records):
        return first
    project, user_id, agent_id = scope
    session = common(record.scope.session_id for record in records)
    return Scope(project=project, user_id=user_id, agent_id=agent_id, session_id=session)


def _agreed(mappings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The members of all mappings, without those they differ over."""
    result: dict[str, Any] = {}
    differing: set[str] = set()
    for mapping in mappings:
        for name, value in mapping.items():
            if name in result and result[name] != value:
                differing.add(name)
            result.setdefault(name, value)
    return {name: value for name, value in result.items() if name not in differing}

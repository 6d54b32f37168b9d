"""What an erasure reaches, and what must not die with it (SPEC section 15.1).

Pure planning over the newest versions of all records: from ids to tombstones and to the records that are made anew.
A record drawn from an erased one is erased with it, for it may repeat what was said; a record that was merely *folded*
into one, and came from somebody else, is made anew, for its content would otherwise be lost with another's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from .fields import CONSOLIDATION
from .lifecycle import partner_of, reopen_alone
from .lineage import at_free_id, carries, drawn_from, same_source
from .pipeline.consolidate.operators import ConsolidationConfig
from .pipeline.consolidate.promotion import promoted
from .records import MemoryRecord, RecordState, RecordType

__all__ = ["ErasurePlan", "plan_erasure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasurePlan:
    """What to write.

    Attributes:
        erased: ids to replace by tombstones, those asked for first.
        reached: those, and what the erasure reaches that is a tombstone already.
        reopened: versions that return the other sides of their disputes to active.
        recreated: new records that carry on what would have died with another's erasure.
    """

    erased: tuple[str, ...]
    reached: frozenset[str] = frozenset()
    reopened: tuple[MemoryRecord, ...] = ()
    recreated: tuple[MemoryRecord, ...] = ()


def plan_erasure(
    newest: Mapping[str, MemoryRecord],
    record_ids: Iterable[str],
    *,
    cascade: bool,
    now: datetime,
    promotion_threshold: int = ConsolidationConfig().promotion_threshold,
) -> ErasurePlan:
    """Plan the erasure of ``record_ids``, all of them keys of ``newest``.

    With ``cascade`` also of what was folded into them, of what shares their source and user among the records folded
    together with them, and of everything whose evidence leads to any of these.
    """
    asked = tuple(dict.fromkeys(record_ids))
    matched = _folded_with(newest, asked) if cascade else asked
    reached = drawn_from(newest, matched) if cascade else asked
    erased = tuple(record_id for record_id in reached if not newest[record_id].redacted)
    gone = frozenset(reached)
    spared = frozenset(matched)
    recreated = _recreate(newest, gone, spared, now) if cascade else ()
    if cascade:
        recreated += _promote_again(newest, gone, promotion_threshold, now)
    return ErasurePlan(erased=erased, reached=gone, reopened=tuple(_reopen(newest, gone, now)), recreated=recreated)


def _parts(newest: Mapping[str, MemoryRecord], whole: MemoryRecord) -> list[str]:
    """Records folded into ``whole``, which says what they said: parts of a merge and copies; no old value."""
    return [
        part_id
        for part_id in whole.replaces
        if (part := newest.get(part_id)) is not None and part.superseded_by == whole.id and carries(whole, part)
    ]


def _folded_with(newest: Mapping[str, MemoryRecord], asked: Iterable[str]) -> tuple[str, ...]:
    """``asked``, what was folded into them, and what was folded together with them from the same source and user."""
    matched = dict.fromkeys(asked)
    waiting = list(matched)
    while waiting:
        record = newest[waiting.pop()]
        found = _parts(newest, record)
        whole = newest.get(record.superseded_by) if record.superseded_by is not None else None
        if whole is not None:
            siblings = _parts(newest, whole)
            if record.id in siblings:
                found.extend(part_id for part_id in (*siblings, whole.id) if same_source(newest[part_id], record))
        for part_id in found:
            if part_id not in matched:
                matched[part_id] = None
                waiting.append(part_id)
    return tuple(matched)


def _reopen(newest: Mapping[str, MemoryRecord], gone: frozenset[str], now: datetime) -> Iterable[MemoryRecord]:
    """Every side of a dispute that has no other side once the others are gone, active again."""
    left = {record_id: record for record_id, record in newest.items() if record_id not in gone}
    for record in left.values():
        if record.transition is not None and partner_of(record, left.get) is None:
            yield reopen_alone(record, now=now)


def _recreate(
    newest: Mapping[str, MemoryRecord], gone: frozenset[str], spared: frozenset[str], now: datetime
) -> tuple[MemoryRecord, ...]:
    """New active records for the surviving superseded ones all of whose successors are tombstones now."""
    orphans = [
        record
        for record in newest.values()
        if record.state is RecordState.SUPERSEDED
        and record.id not in gone
        and record.id not in spared
        and _all_successors_gone(newest, record, gone)
    ]
    standing = {
        (record.key, record.scope.consolidation)
        for record in newest.values()
        if record.key is not None and record.id not in gone and record.state.is_live
    }
    latest: dict[object, MemoryRecord] = {}
    for record in orphans:
        held = (record.key, record.scope.consolidation)
        if record.key is None:
            latest[record.id] = record
        elif held not in standing:
            other = latest.get(held)
            if other is None or (other.event_time, other.id) < (record.event_time, record.id):
                latest[held] = record
    made: dict[str, MemoryRecord] = {}
    for record in sorted(latest.values(), key=lambda record: record.id):
        anew = at_free_id(_anew(record, now), lambda record_id: record_id in newest or record_id in made)
        made[anew.id] = anew
    return tuple(made.values())


def _promote_again(
    newest: Mapping[str, MemoryRecord], gone: frozenset[str], threshold: int, now: datetime
) -> tuple[MemoryRecord, ...]:
    """Rules drawn anew from the episodes that survive a rule which stood; one that had been retired stays retired."""
    made: dict[str, MemoryRecord] = {}
    for rule in newest.values():
        if rule.id not in gone or rule.type is not RecordType.RULE or not rule.state.is_live:
            continue
        episodes = [
            newest[record_id]
            for record_id in rule.evidence
            if record_id in newest and record_id not in gone and newest[record_id].state is RecordState.ACTIVE
        ]
        if rule.provenance.kind == CONSOLIDATION and rule.tags and len(episodes) >= threshold:
            drawn = promoted(rule.scope.consolidation, rule.tags, episodes, now)
            drawn = at_free_id(drawn, lambda record_id: record_id in newest or record_id in made)
            made[drawn.id] = drawn
    return tuple(made.values())


def _all_successors_gone(newest: Mapping[str, MemoryRecord], record: MemoryRecord, gone: frozenset[str]) -> bool:
    """Whether the way through ``superseded_by`` ends in erased records only, and meets at least one."""
    seen = {record.id}
    successor = record.superseded_by
    met = False
    while successor is not None and successor not in seen:
        seen.add(successor)
        following = newest.get(successor)
        if following is None:
            return met
        if successor not in gone and not following.redacted:
            return False
        met = True
        successor = following.superseded_by
    return met


def _anew(record: MemoryRecord, born: datetime) -> MemoryRecord:
    return MemoryRecord.create(
        record.type,
        record.body,
        record.provenance,
        slots=record.slots,
        confidence=record.confidence,
        evidence=(record.id,),
        tags=record.tags,
        created_at=born,
        occurred_at=record.event_time,
        extra=record.extra,
        extension=record.extension.evolve(supersedes_also=()),
    )

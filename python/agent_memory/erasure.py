"""What an erasure reaches, and what must not die with it (SPEC section 15).

Pure planning over the newest versions of all records: from ids to tombstones and to the records that are made anew.
A record drawn from an erased one is erased with it, for it may repeat what was said; a record that was merely *folded*
into one, and came from somebody else, is made anew, for its content would otherwise be lost with another's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from .clock import MILLISECOND
from .lifecycle import reopen
from .records import MemoryRecord, RecordState, RecordType

__all__ = ["ErasurePlan", "plan_erasure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasurePlan:
    """What to write.

    Attributes:
        erased: ids to replace by tombstones, those asked for first.
        reopened: versions that return the other sides of their disputes to active.
        recreated: new records that carry on what would have died with another's erasure.
    """

    erased: tuple[str, ...]
    reopened: tuple[MemoryRecord, ...] = ()
    recreated: tuple[MemoryRecord, ...] = ()


def plan_erasure(
    newest: Mapping[str, MemoryRecord], record_ids: Iterable[str], *, cascade: bool, now: datetime
) -> ErasurePlan:
    """Plan the erasure of ``record_ids``, all of them keys of ``newest``.

    With ``cascade`` also of what was folded into them, of what shares their source and user among the records folded
    together with them, and of everything whose evidence leads to any of these.
    """
    asked = tuple(dict.fromkeys(record_ids))
    matched = _folded_with(newest, asked) if cascade else asked
    reached = _drawn_from(newest, matched) if cascade else asked
    erased = tuple(record_id for record_id in reached if not newest[record_id].redacted)
    gone = frozenset(reached)
    spared = frozenset(matched)
    recreated = _recreate(newest, gone, spared, now) if cascade else ()
    return ErasurePlan(erased=erased, reopened=tuple(_reopen(newest, gone, now)), recreated=recreated)


def _parts(newest: Mapping[str, MemoryRecord], whole: MemoryRecord) -> list[str]:
    """Records folded into ``whole``: the parts of a merge and exact copies; not values it corrected."""
    merged = whole.provenance.kind == "consolidation" and whole.type is not RecordType.RULE
    parts = []
    for part_id in whole.replaces:
        part = newest.get(part_id)
        if part is None or part.superseded_by != whole.id:
            continue
        copied = part.type is whole.type and part.body == whole.body and part.slots == whole.slots
        if copied or (merged and part_id in whole.evidence):
            parts.append(part_id)
    return parts


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
                found.extend(part_id for part_id in (*siblings, whole.id) if _same_source(newest[part_id], record))
        for part_id in found:
            if part_id not in matched:
                matched[part_id] = None
                waiting.append(part_id)
    return tuple(matched)


def _same_source(a: MemoryRecord, b: MemoryRecord) -> bool:
    if a.provenance.kind == "consolidation" or b.provenance.kind == "consolidation":
        return False
    return (a.provenance.ref, a.scope.user_id) == (b.provenance.ref, b.scope.user_id)


def _drawn_from(newest: Mapping[str, MemoryRecord], matched: Iterable[str]) -> tuple[str, ...]:
    """``matched`` and every record whose evidence leads there, however far."""
    drawn: defaultdict[str, list[str]] = defaultdict(list)
    for record in newest.values():
        for source_id in record.evidence:
            drawn[source_id].append(record.id)
    reached = dict.fromkeys(matched)
    waiting = list(reached)
    while waiting:
        for record_id in sorted(drawn[waiting.pop()]):
            if record_id not in reached:
                reached[record_id] = None
                waiting.append(record_id)
    return tuple(reached)


def _reopen(newest: Mapping[str, MemoryRecord], gone: frozenset[str], now: datetime) -> Iterable[MemoryRecord]:
    for record in newest.values():
        if record.id in gone or record.transition is None:
            continue
        other = record.transition.other(record.id)
        if other in gone:
            yield reopen(record, reason=f"the other side of its dispute, {other}, was redacted", now=now)


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
        if record.key is not None
        and record.id not in gone
        and record.state in (RecordState.ACTIVE, RecordState.TRANSITIONAL)
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
        anew = _anew(record, now)
        while anew.id in newest or anew.id in made:
            anew = _anew(record, anew.created_at + MILLISECOND)
        made[anew.id] = anew
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

"""What one record is to another: its copy, its merge, a mate of its source, its rebirth (SPEC sections 12 and 15.1).

Pure functions over records.  By them consolidation knows what may stand for what, and erasure what goes together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime

from .clock import MILLISECOND
from .fields import CONSOLIDATION
from .records import MemoryRecord, RecordType
from .text import analyse, same_statement

__all__ = ["at_free_id", "carries", "drawn_from", "event_day", "is_from", "is_merge", "reborn", "same_source"]


def is_merge(record: MemoryRecord) -> bool:
    """Whether a record was made by merging others."""
    return record.provenance.kind == CONSOLIDATION and record.type is not RecordType.RULE and bool(record.replaces)


def carries(whole: MemoryRecord, part: MemoryRecord) -> bool:
    """Whether ``whole`` replaces ``part`` and says what it said: as a copy of it or a merge, not as a correction."""
    if whole.type is not part.type or part.id not in whole.replaces:
        return False
    if whole.provenance.kind == CONSOLIDATION and part.id in whole.evidence:
        return True
    return whole.slots == part.slots and same_statement(analyse(whole.body), analyse(part.body))


def same_source(a: MemoryRecord, b: MemoryRecord) -> bool:
    """Whether both are erased together: one source and one user.  What was merged from several has no source."""
    if CONSOLIDATION in (a.provenance.kind, b.provenance.kind):
        return False
    return (a.provenance.ref, a.scope.user_id) == (b.provenance.ref, b.scope.user_id)


def is_from(record: MemoryRecord, source: str) -> bool:
    """Whether a record's source is ``source`` or lies below it: ``crm/alice/notes`` below ``crm/alice``, and
    ``crm/alicea`` not."""
    ref = record.provenance.ref
    return ref is not None and (ref == source or ref.startswith(source if source.endswith("/") else source + "/"))


def drawn_from(newest: Mapping[str, MemoryRecord], record_ids: Iterable[str]) -> tuple[str, ...]:
    """``record_ids`` and every record whose evidence leads there, however far and in whatever scope."""
    drawn: defaultdict[str, list[str]] = defaultdict(list)
    for record in newest.values():
        for source_id in record.evidence:
            drawn[source_id].append(record.id)
    reached = dict.fromkeys(record_ids)
    waiting = list(reached)
    while waiting:
        for record_id in sorted(drawn[waiting.pop()]):
            if record_id not in reached:
                reached[record_id] = None
                waiting.append(record_id)
    return tuple(reached)


def event_day(record: MemoryRecord) -> date | None:
    """The UTC day an episode happened, None for what is no episode: an event of another day is another event."""
    return record.event_time.date() if record.type is RecordType.EPISODE else None


def reborn(record: MemoryRecord, born: datetime) -> MemoryRecord:
    """``record`` as if created at ``born``: the same in everything but its times and so its id, and not signed."""
    return record.evolve({"id": "", "created_at": born, "updated_at": born})


def at_free_id(record: MemoryRecord, is_taken: Callable[[str], bool]) -> MemoryRecord:
    """``record``, born as many milliseconds later as it takes for its id not to be taken."""
    while is_taken(record.id):
        record = reborn(record, record.created_at + MILLISECOND)
    return record

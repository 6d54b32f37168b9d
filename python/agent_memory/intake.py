"""One entry on its way in: proposed by the extractor, admitted or recognised, and what recognition reinforces.

Called by :class:`agent_memory.memory.Memory`; writes through its door.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from .clock import now_utc
from .door import Door
from .entry import Entry
from .pinned import Pinned
from .pipeline import ConsolidationReport, IngestReport, admit
from .ports import Operator
from .records import Provenance
from .touches import Touches

__all__ = ["Intake", "RememberResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberResult:
    """What a ``remember`` did.

    Attributes:
        record_id: the record that holds the text now; None when the extractor found nothing worth keeping.
        deduped: a live record said it already and was reinforced; nothing new was created.
        ingest: what the write stage accepted, found again and refused.
        consolidation: the report of the pass this call set off, or None.
        consolidation_error: why that pass failed, or None; what was remembered stands, and a later pass tries again.
    """

    record_id: str | None
    deduped: bool
    ingest: IngestReport
    consolidation: ConsolidationReport | None = None
    consolidation_error: str | None = None


class Intake:
    """Takes entries into a memory.

    Args:
        door: what writes.
        touches: where a repetition is counted.
        extractor: turns text into proposals.
        source_kind, agent: the provenance of what comes in.
        pinned: what the memory is pinned to.
    """

    def __init__(
        self,
        *,
        door: Door,
        touches: Touches,
        extractor: Operator,
        source_kind: str,
        agent: str | None,
        pinned: Pinned,
    ) -> None:
        self._door = door
        self._touches = touches
        self._extractor = extractor
        self._source_kind = source_kind
        self._agent = agent
        self._pinned = pinned

    def take(self, entry: Entry) -> RememberResult:
        """Remember one entry, in a transaction of its own or within the one that is open."""
        stamp = self._pinned.stamp(user_id=entry.user_id, agent_id=entry.agent_id, session_id=entry.session_id)
        provenance = Provenance(kind=self._source_kind, ref=entry.source, agent=self._agent)
        now = now_utc()
        with self._door.transaction():
            report = admit(
                self._extractor.propose(entry.text, provenance),
                store=self._door,
                now=now,
                touch=self._touch_after_commit,
                prepare=lambda record: entry.mark(record, self._pinned.over(record.scope, stamp)),
                duplicate_of=self._door.holder,
            )
            for record_id in report.deduped:
                self._reinforce(record_id, entry, now)
        ids = (*report.accepted, *report.deduped)
        return RememberResult(
            record_id=ids[0] if ids else None, deduped=bool(ids) and not report.accepted, ingest=report
        )

    def _touch_after_commit(self, record_id: str, moment: datetime) -> None:
        self._door.after_commit(lambda: self._touches.touch(record_id, now=moment))

    def _reinforce(self, record_id: str, entry: Entry, now: datetime) -> None:
        """Give a record the tags and the greater value its repetition came with; no version when nothing changes."""
        held = self._door.get(record_id)
        tags = tuple(dict.fromkeys((*held.tags, *entry.tags)))
        value = max(held.value, entry.value or 1.0)
        if (tags, value) != (held.tags, held.value):
            self._door.put(held.evolve({"tags": tags, "value": value, "updated_at": now}))

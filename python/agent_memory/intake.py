"""One entry on its way in: proposed by the extractor, admitted or recognised, and what recognition reinforces.

Called by :class:`agent_memory.memory.Memory`; writes through its door.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from .clock import now_utc
from .corrections.keeping import Corrections
from .corrections.wording import left_out_note
from .door import Door
from .entry import Entry
from .errors import ArgumentError
from .extension import Scope
from .pinned import Pinned
from .pipeline import Rejection, VerbatimExtractor, admit
from .pipeline.scoping import effective_scope, visible
from .ports import Operator
from .records import MemoryRecord, Provenance
from .touches import Touches
from .verdict import RememberResult

__all__ = ["Intake", "RememberResult"]

_VERBATIM: Final = VerbatimExtractor()


class Intake:
    """Takes entries into a memory.

    Args:
        door: what writes.
        touches: where a repetition is counted.
        extractor: turns text into proposals.
        source_kind, agent: the provenance of what comes in.
        pinned: what the memory is pinned to.
        corrections: decides what is said under keys.
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
        corrections: Corrections,
    ) -> None:
        self._door = door
        self._touches = touches
        self._extractor = extractor
        self._source_kind = source_kind
        self._agent = agent
        self._pinned = pinned
        self._corrections = corrections

    def take(self, entry: Entry) -> RememberResult:
        """Remember one entry, in a transaction of its own or within the one that is open.

        Raises:
            ArgumentError: it is to be derived from a redacted record.
            StoreError: the store failed; nothing was written.
        """
        stamp = self._pinned.stamp(user_id=entry.user_id, agent_id=entry.agent_id, session_id=entry.session_id)
        provenance = Provenance(kind=self._source_kind, ref=entry.source, agent=self._agent)
        now = now_utc()
        with self._door.transaction():
            lineage, left_out = self._lineage(entry.derived_from, stamp)
            entry = replace(entry, derived_from=lineage)
            take = self._take_plain if entry.key is None else self._take_keyed
            result = take(entry, stamp, provenance, now)
        if left_out and result.record_id is not None:
            note = "; ".join(part for part in (result.note, left_out_note(left_out)) if part)
            return replace(result, note=note)
        return result

    def _take_plain(self, entry: Entry, stamp: Scope, provenance: Provenance, now: datetime) -> RememberResult:
        blocked: list[RememberResult] = []

        def refuse(record: MemoryRecord) -> Rejection | None:
            echo = None if entry.reaffirm else self._corrections.echo(record)
            if echo is None:
                return None
            blocked.append(echo)
            return echo.ingest.rejected[0]

        report = admit(
            self._extractor.propose(entry.text, provenance),
            store=self._door,
            now=now,
            touch=self._touch_after_commit,
            prepare=lambda record: entry.mark(record, self._pinned.over(record.scope, stamp)),
            duplicate_of=self._door.holder,
            refuse=refuse,
        )
        for record_id in report.deduped:
            self._reinforce(record_id, entry, now)
        ids = (*report.accepted, *report.deduped)
        if blocked and not ids:
            return replace(blocked[0], ingest=report)
        return RememberResult(
            record_id=ids[0] if ids else None,
            deduped=bool(ids) and not report.accepted,
            ingest=report,
            note=blocked[0].note if blocked else None,
            project=stamp.project,
        )

    def _take_keyed(self, entry: Entry, stamp: Scope, provenance: Provenance, now: datetime) -> RememberResult:
        """What is said under a key is one value, so it is one record, word for word, whatever the extractor."""
        (proposal,) = _VERBATIM.propose(entry.text, provenance)
        assert proposal.record is not None
        write = entry.mark(proposal.record, stamp)
        result, held = self._corrections.keep(write, reaffirm=entry.reaffirm, now=now)
        if held is not None:
            self._touch_after_commit(held, now)
            self._reinforce(held, entry, now)
        return result

    def _lineage(self, derived_from: Sequence[str], stamp: Scope) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The ids a write may be derived from, and those that are left out: unknown here, or of another scope."""
        found = self._door.get_many(derived_from)
        kept: list[str] = []
        left_out: list[str] = []
        for record_id in derived_from:
            record = found.get(record_id)
            if record is None or not self._may_derive_from(record, stamp):
                left_out.append(record_id)
            elif record.redacted:
                raise ArgumentError(
                    f"derived_from names {record_id}, which is redacted: what was drawn from it is to go with it; "
                    "leave the text unremembered, or that id out when the text does not rest on it"
                )
            else:
                kept.append(record_id)
        return tuple(kept), tuple(left_out)

    def _may_derive_from(self, record: MemoryRecord, stamp: Scope) -> bool:
        if not self._pinned.sees(record, self._door.get_many):
            return False
        return visible(effective_scope(record, self._door.get_many), stamp.without_session())

    def _touch_after_commit(self, record_id: str, moment: datetime) -> None:
        self._door.after_commit(lambda: self._touches.touch(record_id, now=moment))

    def _reinforce(self, record_id: str, entry: Entry, now: datetime) -> None:
        """Give a record the tags, evidence, greater value and type it was repeated with; no version if none changes."""
        held = self._door.get(record_id)
        tags = tuple(dict.fromkeys((*held.tags, *entry.tags)))
        evidence = tuple(dict.fromkeys((*held.evidence, *(i for i in entry.derived_from if i != record_id))))
        value = max(held.value, entry.value or 1.0)
        declared = held.declared or evidence != held.evidence
        typed = held.typed or entry.says_fact
        if (tags, evidence, value, typed) != (held.tags, held.evidence, held.value, held.typed):
            changes = {"tags": tags, "evidence": evidence, "value": value, "declared": declared, "typed": typed}
            self._door.put(held.evolve({**changes, "updated_at": now}))

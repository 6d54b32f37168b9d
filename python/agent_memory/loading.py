"""Taking a memory file into a memory that may hold something already (SPEC section 7.3).

Pure planning: from the records here and the records of a file to the versions to append.  An id that is here is
skipped, never overwritten.  Whatever the file says, the memory ends in a legal state: what a loaded record replaces is
retired, a dispute has both its sides or none, a key has one standing record or an open dispute.  All of it is reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from .lifecycle import begin_transition, reopen, supersede
from .memory_file import MemoryFile
from .records import MemoryRecord, RecordState

__all__ = ["LoadPlan", "LoadReport", "plan_load"]

_LIVE = (RecordState.ACTIVE, RecordState.TRANSITIONAL)
_KeyHeld = tuple[str, tuple[str | None, str | None, str | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadReport:
    """What loading a file did.

    Attributes:
        loaded: ids taken in.
        skipped: ids that were here already, left as they were.
        collisions: skipped ids whose record here has another scope or key than the one in the file.
        changed: (id, what) for every record that got a further version so that the memory is in a legal state.
    """

    loaded: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    collisions: tuple[str, ...] = ()
    changed: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class LoadPlan:
    """Versions to append, in order: ``births`` exactly as they stand in the file, then ``moves`` made here."""

    births: list[MemoryRecord] = field(default_factory=list)
    moves: list[MemoryRecord] = field(default_factory=list)
    report: LoadReport = LoadReport()


def plan_load(here: Mapping[str, MemoryRecord], file: MemoryFile, *, now: datetime) -> LoadPlan:
    """Plan taking ``file`` into a memory whose newest versions are ``here``; nothing is written."""
    return _Loading(here, file, now).plan()


class _Loading:
    def __init__(self, here: Mapping[str, MemoryRecord], file: MemoryFile, now: datetime) -> None:
        self._now = now
        self._here = here
        self._newest = dict(here)
        self._births = sorted(
            (record for record in file.records if record.id not in here), key=lambda record: record.id
        )
        self._skipped = sorted((record for record in file.records if record.id in here), key=lambda record: record.id)
        self._newest.update((record.id, record) for record in self._births)
        self._moves: list[MemoryRecord] = []
        self._changed: list[tuple[str, str]] = []

    def plan(self) -> LoadPlan:
        for born in self._births:
            self._retire_what_it_replaces(born.id)
        for born in self._births:
            self._settle_dispute(born.id)
        unsettled = {born.id for born in self._births if born.key is not None}
        for born in sorted(self._births, key=lambda record: (record.event_time, record.id)):
            self._settle_key(born.id, unsettled)
            unsettled.discard(born.id)
        return LoadPlan(
            births=self._births,
            moves=self._moves,
            report=LoadReport(
                loaded=tuple(record.id for record in self._births),
                skipped=tuple(record.id for record in self._skipped),
                collisions=tuple(record.id for record in self._skipped if not self._same_place(record)),
                changed=tuple(self._changed),
            ),
        )

    def _same_place(self, record: MemoryRecord) -> bool:
        here = self._here[record.id]
        return here.redacted or record.redacted or (here.scope, here.key) == (record.scope, record.key)

    def _move(self, record: MemoryRecord, what: str) -> None:
        self._newest[record.id] = record
        self._moves.append(record)
        self._changed.append((record.id, what))

    def _retire_what_it_replaces(self, born_id: str) -> None:
        born = self._newest[born_id]
        if born.state is not RecordState.ACTIVE:
            return
        for old_id in born.replaces:
            old = self._newest.get(old_id)
            if old is None or old.state not in _LIVE:
                continue
            reason = f"replaced by {born.id}, which was loaded from a memory file"
            self._move(supersede(old, born, reason=reason, now=self._now), f"superseded by {born.id}")
            self._reopen_partner(old)

    def _reopen_partner(self, leaving: MemoryRecord) -> None:
        if leaving.transition is None:
            return
        partner = self._newest.get(leaving.transition.other(leaving.id))
        if partner is not None and _disputes(partner, leaving):
            reason = f"the other side of its dispute, {leaving.id}, was superseded"
            self._move(reopen(partner, reason=reason, now=self._now), "returned to active: its dispute ended")

    def _settle_dispute(self, born_id: str) -> None:
        born = self._newest[born_id]
        if born.transition is None:
            return
        partner = self._newest.get(born.transition.other(born.id))
        if partner is not None and _disputes(partner, born):
            return
        if partner is not None and partner.state is RecordState.ACTIVE and born.id not in partner.replaces:
            opened = partner.evolve(
                {
                    "state": RecordState.TRANSITIONAL,
                    "transition": born.transition,
                    "state_reason": born.transition.reason,
                    "updated_at": self._now,
                }
            )
            self._move(opened, f"disputed: {born.id} was loaded in dispute with it")
            return
        reason = "the other side of its dispute is not here or is in dispute no more"
        self._move(reopen(born, reason=reason, now=self._now), "returned to active: half a dispute was loaded")

    def _settle_key(self, born_id: str, unsettled: set[str]) -> None:
        born = self._newest[born_id]
        if born.key is None or born.state is not RecordState.ACTIVE:
            return
        others = [
            record
            for record in self._newest.values()
            if record.id != born.id
            and record.id not in unsettled
            and record.state in _LIVE
            and _held(record) == _held(born)
        ]
        if not others:
            return
        standing = max(others, key=lambda record: (record.event_time, record.id))
        if len(others) == 1 and standing.state is RecordState.ACTIVE:
            sides = begin_transition(standing, born, reason="two records hold one key since a load", now=self._now)
            for side in sides:
                self._move(side, "disputed: two loaded records hold one key")
            return
        # A dispute is open under the key: the newcomer is kept as history of the side that stands.
        also = sorted({*standing.supersedes_also, born.id})
        self._move(
            standing.evolve({"supersedes_also": tuple(also), "updated_at": self._now}), f"names {born.id} as replaced"
        )
        reason = f"a dispute under its key was open when it was loaded; {standing.id} stands"
        retired = born.evolve(
            {
                "state": RecordState.SUPERSEDED,
                "superseded_by": standing.id,
                "state_reason": reason,
                "updated_at": self._now,
            }
        )
        self._move(retired, f"superseded by {standing.id}: its key was in dispute")


def _held(record: MemoryRecord) -> _KeyHeld | None:
    return None if record.key is None else (record.key, record.scope.consolidation)


def _disputes(a: MemoryRecord, b: MemoryRecord) -> bool:
    return a.transition is not None and b.transition is not None and set(a.transition.sides) == set(b.transition.sides)

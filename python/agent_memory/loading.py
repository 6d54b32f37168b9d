"""Taking a memory file into a memory that may hold something already (SPEC section 7.2).

Pure planning: from the records here and the records of a file to the versions to append.  An id that is here is
skipped, never overwritten.  Whatever the file says, the memory ends in a legal state: what a loaded record replaces is
retired, a dispute has both its sides or none, a key has one standing record or an open dispute.  All of it is reported.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from .extension import ConsolidationScope
from .lifecycle import (
    begin_transition,
    join_dispute,
    partner_of,
    reopen_alone,
    retire_under_dispute,
    supersede,
)
from .memory_file import MemoryFile
from .pinned import EVERYTHING, Pinned
from .records import MemoryRecord, RecordState

__all__ = ["LoadPlan", "LoadReport", "plan_load"]

_Key = tuple[str, ConsolidationScope]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadReport:
    """What loading a file did.

    Attributes:
        loaded: ids taken in.
        skipped: ids that were here already, left as they were.
        collisions: skipped ids whose record here has another scope or key than the one in the file.
        changed: (id, what) for every record that got a further version so that the memory is in a legal state.
        ignored: (id, what) for every link that was not followed, because it leads into another scope.
        outside: how many records of the file were left out, because the memory is pinned to another scope than theirs.
    """

    loaded: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    collisions: tuple[str, ...] = ()
    changed: tuple[tuple[str, str], ...] = ()
    ignored: tuple[tuple[str, str], ...] = ()
    outside: int = 0


@dataclass(slots=True)
class LoadPlan:
    """Versions to append, in order: ``births`` exactly as they stand in the file, then ``moves`` made here."""

    births: list[MemoryRecord] = field(default_factory=list)
    moves: list[MemoryRecord] = field(default_factory=list)
    report: LoadReport = LoadReport()


def plan_load(
    here: Mapping[str, MemoryRecord], file: MemoryFile, *, now: datetime, pinned: Pinned = EVERYTHING
) -> LoadPlan:
    """Plan taking ``file`` into a memory whose newest versions are ``here``; nothing is written.

    Of the file, a memory pinned to a scope takes the records of that scope alone.
    """

    def found(record_ids: Iterable[str]) -> dict[str, MemoryRecord]:
        return {record_id: here[record_id] for record_id in record_ids if record_id in here}

    taken = [
        record
        for record in file.records
        if pinned.takes(record.scope) and all(pinned.sees(held, found) for held in found([record.id]).values())
    ]
    plan = _Loading(here, taken, now).plan()
    plan.report = replace(plan.report, outside=len(file.records) - len(taken))
    return plan


class _Loading:
    def __init__(self, here: Mapping[str, MemoryRecord], records: Iterable[MemoryRecord], now: datetime) -> None:
        self._now = now
        self._here = here
        self._newest = dict(here)
        ordered = sorted(records, key=lambda record: record.id)
        self._births = [record for record in ordered if record.id not in here]
        self._skipped = [record for record in ordered if record.id in here]
        self._newest.update((record.id, record) for record in self._births)
        self._moves: list[MemoryRecord] = []
        self._changed: list[tuple[str, str]] = []
        self._ignored: list[tuple[str, str]] = []
        self._unsettled = {record.id for record in self._births if record.key is not None}
        self._successors: defaultdict[str, list[str]] = defaultdict(list)
        for record in sorted(here.values(), key=lambda record: record.id):
            for old_id in record.replaces:
                self._successors[old_id].append(record.id)
        # The live records that hold a key, without those of the file whose turn is still to come.
        self._holders: defaultdict[_Key, set[str]] = defaultdict(set)
        for record in here.values():
            self._note(record)

    def plan(self) -> LoadPlan:
        for born in self._births:
            self._retire_what_it_replaces(born.id)
        for born in self._births:
            self._retire_what_was_replaced(born.id)
        for born in self._births:
            self._settle_dispute(born.id)
        for born in sorted(self._births, key=lambda record: (record.event_time, record.id)):
            self._settle_key(born.id)
            self._unsettled.discard(born.id)
            self._note(self._newest[born.id])
        return LoadPlan(
            births=self._births,
            moves=self._moves,
            report=LoadReport(
                loaded=tuple(record.id for record in self._births),
                skipped=tuple(record.id for record in self._skipped),
                collisions=tuple(record.id for record in self._skipped if not self._same_place(record)),
                changed=tuple(self._changed),
                ignored=tuple(self._ignored),
            ),
        )

    def _same_place(self, record: MemoryRecord) -> bool:
        here = self._here[record.id]
        return here.redacted or record.redacted or (here.scope, here.key) == (record.scope, record.key)

    def _move(self, record: MemoryRecord, what: str) -> None:
        self._newest[record.id] = record
        self._note(record)
        self._moves.append(record)
        self._changed.append((record.id, what))

    def _note(self, record: MemoryRecord) -> None:
        if record.key is None or record.id in self._unsettled:
            return
        holders = self._holders[record.key, record.scope.consolidation]
        if record.state.is_live:
            holders.add(record.id)
        else:
            holders.discard(record.id)

    def _retire_what_it_replaces(self, born_id: str) -> None:
        born = self._newest[born_id]
        if born.state is not RecordState.ACTIVE:
            return
        for old_id in born.replaces:
            old = self._newest.get(old_id)
            if old is None or not old.state.is_live or old.id == born.id:
                continue
            if old.scope.consolidation != born.scope.consolidation:
                self._ignored.append((born.id, f"replaces {old.id}, which belongs to another scope"))
                continue
            reason = f"replaced by {born.id}, which was loaded from a memory file"
            self._move(supersede(old, born, reason=reason, now=self._now), f"superseded by {born.id}")
            self._reopen_partner(old)

    def _retire_what_was_replaced(self, born_id: str) -> None:
        """Retire a record that came later than what replaced it, which is here and active."""
        born = self._newest[born_id]
        if not born.state.is_live or not (successors := self._successors.get(born_id)):
            return
        for successor_id in successors:
            successor = self._newest[successor_id]
            if (
                successor.state is RecordState.ACTIVE
                and successor.scope.consolidation == born.scope.consolidation
                and born_id in successor.replaces
            ):
                reason = f"replaced by {successor.id}, which was here when it was loaded"
                self._move(supersede(born, successor, reason=reason, now=self._now), f"superseded by {successor.id}")
                self._reopen_partner(born)
                return

    def _reopen_partner(self, leaving: MemoryRecord) -> None:
        partner = partner_of(leaving, self._newest.get)
        if partner is not None:
            self._move(reopen_alone(partner, now=self._now), "returned to active: its dispute ended")

    def _settle_dispute(self, born_id: str) -> None:
        born = self._newest[born_id]
        if born.transition is None or partner_of(born, self._newest.get) is not None:
            return
        other = self._newest.get(born.transition.other(born.id))
        if (
            other is not None
            and other.state is RecordState.ACTIVE
            and other.scope.consolidation == born.scope.consolidation
            and born.id not in other.replaces
        ):
            joined = join_dispute(other, born.transition, now=self._now)
            self._move(joined, f"disputed: {born.id} was loaded in dispute with it")
            return
        self._return_to_active(born, "returned to active: half a dispute was loaded")

    def _return_to_active(self, side: MemoryRecord, what: str) -> None:
        """What is active again retires what it replaces, as anything active that is loaded does."""
        self._move(reopen_alone(side, now=self._now), what)
        self._retire_what_it_replaces(side.id)
        self._retire_what_was_replaced(side.id)

    def _settle_key(self, born_id: str) -> None:
        born = self._newest[born_id]
        if born.key is None or not born.state.is_live:
            return
        holders = self._holders[born.key, born.scope.consolidation]
        partner = partner_of(born, self._newest.get)
        if partner is not None:
            if not holders - {partner.id}:
                return
            # The key is held already: its two loaded sides join one after the other, as any further holder does.
            for side in (born, partner):
                self._return_to_active(side, "returned to active: the key of its dispute is held already")
            born = self._newest[born_id]
            if not born.state.is_live:
                return
        others = [self._newest[record_id] for record_id in holders]
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
        naming = standing.evolve({"supersedes_also": tuple(also), "updated_at": self._now})
        self._move(naming, f"names {born.id} as replaced")
        reason = f"a dispute under its key was open when it was loaded; {standing.id} stands"
        retired = retire_under_dispute(born, naming, reason=reason, now=self._now)
        self._move(retired, f"superseded by {standing.id}: its key was in dispute")

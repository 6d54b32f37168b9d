"""What one recall may see of a store (SPEC sections 14.2 and 14.3).

Records are read once per recall and kept for its duration; a scan over the whole store happens only for history, and,
where nobody says who holds a key, for values under one, which a narrower scope may hide.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cached_property

from agent_memory.extension import Scope
from agent_memory.lifecycle import partner_of
from agent_memory.ports import RecordStore
from agent_memory.records import MemoryRecord, RecordState

from .scoping import effective_scope, hides, visible

__all__ = ["Visibility"]


class Visibility:
    """The records a recall may show.

    Args:
        store: where they are.
        scope: whose memory is asked for; None for everybody's.
        archived, history: whether archived and superseded records may be shown.
        holders: the live records that hold a key, in whatever scope.
    """

    def __init__(
        self,
        store: RecordStore,
        *,
        scope: Scope | None,
        archived: bool,
        history: bool,
        holders: Callable[[str], Iterable[MemoryRecord]] | None = None,
    ) -> None:
        self._store = store
        self._holders_of = holders or (lambda key: self._holders[key])
        self._keys: dict[str, tuple[MemoryRecord, ...]] = {}
        self._scope = scope
        self._history = history
        self._archived = archived
        self._records: dict[str, MemoryRecord | None] = {}

    def find(self, record_ids: Iterable[str]) -> dict[str, MemoryRecord]:
        """The records of those ids that the store has."""
        wanted = tuple(dict.fromkeys(record_ids))
        unread = [record_id for record_id in wanted if record_id not in self._records]
        if unread:
            found = self._store.get_many(unread)
            self._records.update((record_id, found.get(record_id)) for record_id in unread)
        return {record_id: record for record_id in wanted if (record := self._records[record_id]) is not None}

    def record(self, record_id: str) -> MemoryRecord:
        """A record known to be there."""
        return self.find([record_id])[record_id]

    def shown(self, record_ids: Iterable[str]) -> list[str]:
        """Those ids whose record may be shown for itself; ids the store does not have are left out."""
        return [
            record_id
            for record_id, record in self.find(record_ids).items()
            if self._state_allows(record)
            and visible(effective_scope(record, self.find), self._scope)
            and not self._is_hidden(record)
        ]

    def may_accompany(self, record: MemoryRecord) -> bool:
        """Whether a record may be shown with one that is shown: sessions do not keep the two apart."""
        asked = None if self._scope is None else self._scope.without_session()
        return visible(effective_scope(record, self.find), asked)

    def partner(self, record: MemoryRecord) -> MemoryRecord | None:
        """The other side of a record's dispute, when the store has it in the same dispute."""
        return partner_of(record, lambda record_id: self.find([record_id]).get(record_id))

    def predecessors(self, record: MemoryRecord) -> list[tuple[MemoryRecord, str]]:
        """What a record replaced, however far back and however linked, newest first, each with its successor's id."""
        if not self._history:
            return []
        found: list[tuple[MemoryRecord, str]] = []
        seen = {record.id}
        waiting = [record]
        while waiting:
            successor = waiting.pop()
            for old in self._replaced_by(successor):
                if old.id not in seen:
                    seen.add(old.id)
                    waiting.append(old)
                    if not old.state.is_live and self._state_allows(old) and self.may_accompany(old):
                        found.append((old, successor.id))
        return sorted(found, key=lambda item: (item[0].created_at, item[0].id), reverse=True)

    # ------------------------------------------------------------------ how it is found out

    def _state_allows(self, record: MemoryRecord) -> bool:
        if record.redacted:
            return False
        if record.state is RecordState.SUPERSEDED:
            return self._history
        return record.state is not RecordState.ARCHIVED or self._archived

    def _is_hidden(self, record: MemoryRecord) -> bool:
        """Whether a value under the same key, in a narrower scope that may be shown, stands for this one."""
        if record.key is None or not record.state.is_live:
            return False
        if record.key not in self._keys:
            self._keys[record.key] = tuple(self._holders_of(record.key))
        return any(
            holder.state.is_live and hides(holder.scope, record.scope) and visible(holder.scope, self._scope)
            for holder in self._keys[record.key]
        )

    def _replaced_by(self, record: MemoryRecord) -> list[MemoryRecord]:
        named = self.find(record.replaces).values()
        return list({old.id: old for old in (*named, *self._retired[record.id])}.values())

    @cached_property
    def _all(self) -> tuple[MemoryRecord, ...]:
        records = self._store.list()
        self._records.update((record.id, record) for record in records)
        return records

    @cached_property
    def _retired(self) -> defaultdict[str, list[MemoryRecord]]:
        """Records by the one that retired them: a dispute's winner does not name its loser."""
        retired: defaultdict[str, list[MemoryRecord]] = defaultdict(list)
        for record in self._all:
            if record.superseded_by is not None:
                retired[record.superseded_by].append(record)
        return retired

    @cached_property
    def _holders(self) -> defaultdict[str, list[MemoryRecord]]:
        holders: defaultdict[str, list[MemoryRecord]] = defaultdict(list)
        for record in self._all:
            if record.key is not None and record.state.is_live:
                holders[record.key].append(record)
        return holders

"""A store to rehearse on: it shows what was written to it over what the real one holds, and writes nothing."""

from __future__ import annotations

from collections.abc import Iterable

from agent_memory.errors import StoreError
from agent_memory.ports import RecordStore, matches
from agent_memory.records import MemoryRecord, RecordState, RecordType

__all__ = ["Rehearsal"]


class Rehearsal(RecordStore):
    """What ``store`` would hold after the writes that are made here.

    Attributes:
        written: the newest version of each record that would be written, by id.
    """

    def __init__(self, store: RecordStore) -> None:
        self._store = store
        self._added: dict[str, list[MemoryRecord]] = {}

    @property
    def written(self) -> dict[str, MemoryRecord]:
        return {record_id: versions[-1] for record_id, versions in self._added.items()}

    def put(self, record: MemoryRecord) -> None:
        self._added.setdefault(record.id, []).append(record)

    def put_many(self, records: Iterable[MemoryRecord]) -> None:
        for record in records:
            self.put(record)

    def get(self, record_id: str) -> MemoryRecord:
        added = self._added.get(record_id)
        return added[-1] if added else self._store.get(record_id)

    def get_many(self, record_ids: Iterable[str]) -> dict[str, MemoryRecord]:
        wanted = list(record_ids)
        found = self._store.get_many(record_id for record_id in wanted if record_id not in self._added)
        found.update((record_id, self._added[record_id][-1]) for record_id in wanted if record_id in self._added)
        return found

    def history(self, record_id: str) -> tuple[MemoryRecord, ...]:
        added = tuple(self._added.get(record_id, ()))
        try:
            return (*self._store.history(record_id), *added)
        except StoreError:
            if added:
                return added
            raise

    def list(
        self, *, state: RecordState | None = None, type: RecordType | None = None, tag: str | None = None
    ) -> tuple[MemoryRecord, ...]:
        newest = {record.id: record for record in self._store.list()}
        newest.update(self.written)
        found = [record for record in newest.values() if matches(record, state, type, tag)]
        return tuple(sorted(found, key=lambda record: (record.created_at, record.id)))

"""The part of a store that a pinned memory may see, itself a store (SPEC section 3.3).

What is outside is not listed, and its ids are unknown here.  Whatever reads through a view respects the scope without
knowing of it: listing, history, counts, exports, comparisons.  Writing through it cannot touch what is outside either.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager

from .errors import StoreError
from .pinned import Pinned
from .ports import RecordStore
from .records import MemoryRecord, RecordState, RecordType

__all__ = ["View", "view_of"]


class View(RecordStore):
    """What ``pinned`` sees of ``store``.

    Args:
        store: the whole store; closing the view closes it.
        pinned: what is inside.
    """

    def __init__(self, store: RecordStore, pinned: Pinned) -> None:
        self._store = store
        self._pinned = pinned

    # ------------------------------------------------------------------ reading

    def get(self, record_id: str) -> MemoryRecord:
        return self._pinned.seen(self._store.get(record_id), self._store.get_many)

    def history(self, record_id: str) -> tuple[MemoryRecord, ...]:
        versions = self._store.history(record_id)
        self._pinned.seen(versions[-1], self._store.get_many)
        return versions

    def list(
        self, *, state: RecordState | None = None, type: RecordType | None = None, tag: str | None = None
    ) -> tuple[MemoryRecord, ...]:
        return self._inside(self._store.list(state=state, type=type, tag=tag))

    def get_many(self, record_ids: Iterable[str]) -> dict[str, MemoryRecord]:
        return {record.id: record for record in self._inside(self._store.get_many(record_ids).values())}

    def changes(self, since: str | None = None) -> tuple[str, tuple[str, ...] | None]:
        cursor, ids = self._store.changes(since)
        return cursor, None if ids is None else tuple(self.get_many(ids))

    def damaged(self) -> tuple[tuple[str, str], ...]:
        """What cannot be read, which is nobody's until it can, as (where, what)."""
        damaged = getattr(self._store, "damaged", None)
        return tuple(damaged()) if callable(damaged) else ()

    def _inside(self, records: Iterable[MemoryRecord]) -> tuple[MemoryRecord, ...]:
        return tuple(record for record in records if self._pinned.sees(record, self._store.get_many))

    # ------------------------------------------------------------------ writing

    def put(self, record: MemoryRecord) -> None:
        """Append a version.

        Raises:
            StoreError: as the store, or the record, or the one that has its id, is outside.
        """
        held = self._store.get_many([record.id]).values()
        if not self._pinned.takes(record.scope) or len(self._inside(held)) < len(held):
            raise StoreError("the record belongs to another scope than this memory is pinned to; nothing was written")
        self._store.put(record)

    def transaction(self) -> AbstractContextManager[None]:
        return self._store.transaction()

    def close(self) -> None:
        self._store.close()


def view_of(store: RecordStore, pinned: Pinned) -> RecordStore:
    """What ``pinned`` sees of ``store``: the store itself when nothing can be outside."""
    return View(store, pinned) if pinned.isolates else store

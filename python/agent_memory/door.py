"""The one door that writes: every version a Memory stores passes here, whoever asked for it.

The door is a record store around the memory's own.  It signs what is the memory's to sign and appends it.  The map of
who says what hears of it at once, for the next text of the same transaction may be the same; the search indexes hear of
it when the outermost transaction has been committed.  The pipeline is handed the door and knows nothing of all this.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .holders import Holders
from .ports import RecordStore, SearchIndex
from .records import MemoryRecord, RecordState, RecordType

if TYPE_CHECKING:
    from fg_agent_id import KeyPair

__all__ = ["Door"]


class Door(RecordStore):
    """A store that signs and keeps what follows it in step.

    Args:
        store: where the versions go.
        keys, address: the identity to sign with, or None.
        holders: who says what.
        indexes: where the text is found.
    """

    def __init__(
        self,
        store: RecordStore,
        *,
        keys: KeyPair | None,
        address: str | None,
        holders: Holders,
        indexes: Sequence[SearchIndex],
    ) -> None:
        self._store = store
        self._keys = keys
        self._address = address
        self._holders = holders
        self._indexes = tuple(indexes)
        self._lock = threading.RLock()
        self._depth = 0
        self._written: dict[str, None] = {}

    # ------------------------------------------------------------------ reading: the store's own

    def get(self, record_id: str) -> MemoryRecord:
        return self._store.get(record_id)

    def history(self, record_id: str) -> tuple[MemoryRecord, ...]:
        return self._store.history(record_id)

    def list(
        self, *, state: RecordState | None = None, type: RecordType | None = None, tag: str | None = None
    ) -> tuple[MemoryRecord, ...]:
        return self._store.list(state=state, type=type, tag=tag)

    def get_many(self, record_ids: Iterable[str]) -> dict[str, MemoryRecord]:
        return self._store.get_many(record_ids)

    def payloads(self) -> Iterator[bytes]:
        return self._store.payloads()

    # ------------------------------------------------------------------ writing

    def put(self, record: MemoryRecord) -> None:
        self.put_many((record,))

    def put_many(self, records: Iterable[MemoryRecord]) -> None:
        """Sign what is ours and append it, all or nothing."""
        with self.transaction():
            self._append(self._signed(tuple(records)))

    def put_as_is(self, records: Iterable[MemoryRecord]) -> None:
        """Append records as they are, unsigned or signed by another: what ``load`` takes in."""
        with self.transaction():
            self._append(tuple(records))

    def redact(self, redact: Callable[[str], MemoryRecord], record_ids: Iterable[str]) -> tuple[MemoryRecord, ...]:
        """Replace records by tombstones through the store's own ``redact``, and bring the followers in step."""
        with self.transaction():
            tombstones = []
            for record_id in record_ids:
                self._written[record_id] = None
                tombstones.append(redact(record_id))
                self._holders.note(tombstones[-1])
            return tuple(tombstones)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """The store's transaction.  When the outermost one fails, the map of who says what goes back with the store."""
        with self._lock:
            self._depth += 1
            try:
                with self._store.transaction():
                    yield
            except BaseException:
                if self._depth == 1:
                    self._undo()
                raise
            finally:
                self._depth -= 1
            if self._depth == 0 and self._written:
                newest = self._store.get_many(self._written)
                self._written.clear()
                for index in self._indexes:
                    index.index_many(newest.values())

    def _append(self, batch: Sequence[MemoryRecord]) -> None:
        for record in batch:
            self._written[record.id] = None
        self._store.put_many(batch)
        for record in batch:
            self._holders.note(record)

    def _undo(self) -> None:
        stored = self._store.get_many(self._written)
        for record_id in self._written:
            self._holders.forget(record_id)
            if record_id in stored:
                self._holders.note(stored[record_id])
        self._written.clear()

    def _signed(self, batch: Sequence[MemoryRecord]) -> tuple[MemoryRecord, ...]:
        """The batch with our signature on new records and on new versions of records whose last one we had signed.

        A version of a record that another signed, or nobody, stays unsigned: we never claim another's record.
        """
        if self._keys is None or self._address is None:
            return tuple(batch)
        ours: dict[str, bool] = {
            record_id: record.signed_by == self._address
            for record_id, record in self._store.get_many({record.id for record in batch}).items()
        }
        signed = []
        for record in batch:
            if record.redacted or record.signed_by is not None or not ours.get(record.id, True):
                signed.append(record)
            else:
                signed.append(record.sign(self._keys, self._address))
            ours[record.id] = signed[-1].signed_by == self._address
        return tuple(signed)

"""Records in this process only: for tests, for scratch work, and the port in its plainest form (SPEC section 8)."""

from __future__ import annotations

import secrets
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeAlias

from agent_memory.ports import RecordStore, check_append, check_id, matches, unknown_id
from agent_memory.records import MemoryRecord, RecordState, RecordType

from .payload import check_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

__all__ = ["InMemoryRecordStore"]

_REMEMBERED: Final = 100_000
"""Changes at least that are remembered; a cursor older than what is remembered is answered as too old."""

_Undo: TypeAlias = "list[tuple[str, tuple[MemoryRecord, ...] | None]]"
"""What a transaction changed, oldest first: the id, and its versions before; None for an id that was new."""


class InMemoryRecordStore(RecordStore):
    """The versions of each id, in the order in which ids were first put.  Usable from many threads."""

    def __init__(self) -> None:
        self._versions: dict[str, tuple[MemoryRecord, ...]] = {}
        self._lock = threading.RLock()
        self._undo: _Undo | None = None
        self._generation = secrets.token_hex(8)
        self._changed: list[str] = []
        self._forgotten = 0
        self._told = False

    def put(self, record: MemoryRecord) -> None:
        with self._lock:
            held = self._versions.get(check_record(record).id)
            check_append(held[-1] if held else None, record)
            self._set(record.id, (*(held or ()), record))

    def get(self, record_id: str) -> MemoryRecord:
        return self._held(record_id)[-1]

    def history(self, record_id: str) -> tuple[MemoryRecord, ...]:
        held = self._held(record_id)
        if held[-1].redacted:  # nothing older is ever served beside a tombstone
            return (held[-1],) * len(held)
        return held

    def list(
        self,
        *,
        state: RecordState | None = None,
        type: RecordType | None = None,
        tag: str | None = None,
    ) -> tuple[MemoryRecord, ...]:
        with self._lock:
            newest = [held[-1] for held in self._versions.values()]
        return tuple(record for record in newest if matches(record, state, type, tag))

    def get_many(self, record_ids: Iterable[str]) -> dict[str, MemoryRecord]:
        wanted = list(record_ids)
        with self._lock:
            return {record_id: held[-1] for record_id in wanted if (held := self._versions.get(record_id))}

    def changes(self, since: str | None = None) -> tuple[str, tuple[str, ...] | None]:
        with self._lock:
            self._told = self._told or self._undo is not None
            cursor = f"{self._generation} {self._end()}"
            generation, _, number = (since or "").partition(" ")
            if generation != self._generation or not number.isdecimal() or len(number) > 18:
                return cursor, None
            start = int(number) - self._forgotten
            if not 0 <= start <= len(self._changed):
                return cursor, None
            return cursor, tuple(dict.fromkeys(self._changed[start:]))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Keeps other threads out; when the block raises, what it wrote is taken back."""
        with self._lock:
            outermost = self._undo is None
            if self._undo is None:
                self._undo = []
            undo, mark, end = self._undo, len(self._undo), self._end()
            try:
                yield
            except BaseException:
                while len(undo) > mark:
                    record_id, before = undo.pop()
                    if before is None:
                        del self._versions[record_id]
                    else:
                        self._versions[record_id] = before
                self._forget_since(end)
                raise
            finally:
                if outermost:
                    self._undo, self._told = None, False

    def redact(self, record_id: str, reason: str, *, now: datetime | None = None) -> MemoryRecord:
        """Replace every version of a record by one tombstone, which is returned; the number of versions stays.

        Raises:
            StoreError: an unknown or malformed id.
            RecordError: no reason, or it is redacted already.
        """
        with self._lock:
            held = self._held(record_id)
            tombstone = held[-1]
            if not tombstone.redacted or all(version == tombstone for version in held):
                tombstone = MemoryRecord.tombstone(tombstone, reason=reason, now=now)
            self._set(record_id, (tombstone,) * len(held))
            return tombstone

    def damaged(self) -> tuple[tuple[str, str], ...]:
        """What cannot be read, as (where, what): never anything here."""
        return ()

    def _held(self, record_id: str) -> tuple[MemoryRecord, ...]:
        with self._lock:
            held = self._versions.get(check_id(record_id))
        if held is None:
            raise unknown_id(record_id)
        return held

    def _set(self, record_id: str, versions: tuple[MemoryRecord, ...]) -> None:
        if self._undo is not None:
            self._undo.append((record_id, self._versions.get(record_id)))
        self._versions[record_id] = versions
        self._note(record_id)

    def _end(self) -> int:
        return self._forgotten + len(self._changed)

    def _forget_since(self, end: int) -> None:
        """Take changes back.  A cursor that was told of them must not be mistaken for one of later changes."""
        del self._changed[max(0, end - self._forgotten) :]
        self._forgotten = min(self._forgotten, end)
        if self._told:
            self._generation = secrets.token_hex(8)

    def _note(self, record_id: str) -> None:
        self._changed.append(record_id)
        if len(self._changed) >= 2 * _REMEMBERED:
            del self._changed[:_REMEMBERED]
            self._forgotten += _REMEMBERED

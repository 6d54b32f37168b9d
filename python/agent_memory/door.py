"""The one door that writes: every version a Memory stores passes here, whoever asked for it.

The door is a record store around the memory's own.  It signs what is the memory's to sign and appends it.  It knows who
says what, what was written in the open transaction included, for the next text of the same transaction may be the same;
the catalogue and the search indexes hear of it when the outermost transaction has been committed, and of what other
processes wrote before the next one begins.  The pipeline is handed the door and knows nothing of all this.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

from .corrections.ledger import Line, line_of
from .errors import StoreError
from .ports import RecordStore, SearchIndex
from .records import MemoryRecord, RecordState, RecordType
from .sayings import saying

if TYPE_CHECKING:
    from fg_agent_id import KeyPair

    from .catalogue import Catalogue, LineColumn
    from .search.lexical import LexicalIndex

__all__ = ["Door"]

_PATIENCE: Final = 0.5
"""Seconds a reader waits for a writer of its own process."""
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_MISSING: Final = object()


class Door(RecordStore):
    """A store that signs and keeps what follows it in step.

    Args:
        store: where the versions go.
        keys, address: the identity to sign with, or None.
        catalogue: of that store.
        finder: the native search index of that store, where the memory has one.
        indexes: further search indexes that are to hear of what is written.

    What is to happen once a transaction has been committed, and not at all when it is not, is given to
    :meth:`after_commit`.
    """

    def __init__(
        self,
        store: RecordStore,
        *,
        keys: KeyPair | None,
        address: str | None,
        catalogue: Catalogue,
        finder: LexicalIndex | None = None,
        indexes: Sequence[SearchIndex] = (),
    ) -> None:
        self._store = store
        self._keys = keys
        self._address = address
        self._catalogue = catalogue
        self._finder = finder
        self._followers = tuple(_Follower(index, store) for index in indexes)
        self._lock = threading.RLock()
        self._depth = 0
        self._written: dict[str, MemoryRecord] = {}
        self._said: dict[bytes, str] = {}
        self._lines: dict[str, Line | None] = {}
        self._undo: list[Callable[[], None]] = []
        self._after: list[Callable[[], None]] = []

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

    def holder(self, record: MemoryRecord) -> MemoryRecord | None:
        """The live record that is the same memory as ``record``, or None; call it inside :meth:`transaction`."""
        wanted = saying(record)
        written = self._said.get(wanted)
        for record_id in (*(() if written is None else (written,)), *self._catalogue.holders(record)):
            held = self._store.get_many([record_id]).get(record_id)
            if held is not None and held.state.is_live and saying(held) == wanted:
                return held
        return None

    def lines(self, column: LineColumn, values: Iterable[bytes | str]) -> tuple[Line, ...]:
        """The lines (:mod:`agent_memory.corrections.ledger`) that have one of ``values`` in ``column``.

        Inside :meth:`transaction` what it wrote is among them; outside, all that was written before :meth:`refresh`.
        """
        wanted = frozenset(values)
        found = self._catalogue.lines(column, wanted)
        for record_id, line in self._lines.items():
            found.pop(record_id, None)
            if line is not None and getattr(line, column) in wanted and (column != "about" or line.fate.blocked):
                found[record_id] = line
        return tuple(found.values())

    def refresh(self) -> None:
        """Take in what other processes wrote.

        Raises:
            StoreError: the store or the catalogue cannot be read or written.
        """
        if not self._lock.acquire(timeout=_PATIENCE):
            return  # one of us is writing, or waits for another process to end writing: it takes in what there is
        try:
            self._catalogue.follow()
            if self._finder is not None:
                self._finder.follow()
            for follower in self._followers:
                follower.follow({})
        finally:
            self._lock.release()

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

    def redact(self, redact: Callable[[str], MemoryRecord], record_ids: Iterable[str]) -> None:
        """Replace records by tombstones through the store's own ``redact``."""
        with self.transaction():
            for record_id in record_ids:
                self._note(redact(record_id))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """The store's transaction, begun on the newest state and followed by whoever keeps in step."""
        with self._lock:
            self._depth += 1
            undo, after = len(self._undo), len(self._after)
            erasing = contextlib.ExitStack()
            try:
                with erasing, self._store.transaction():
                    if self._depth == 1:
                        self._catalogue.follow()
                    yield
                    if self._depth == 1:
                        tombstones = [record for record in self._written.values() if record.redacted]
                        if tombstones:
                            erasing.enter_context(self._catalogue.taking_out(tombstones))
                            if self._finder is not None:
                                erasing.enter_context(self._finder.taking_out())
            except BaseException:  # the store has gone back to where this block began, and so do we
                while len(self._undo) > undo:
                    self._undo.pop()()
                del self._after[after:]
                raise
            finally:
                self._depth -= 1
            if self._depth == 0:
                self._committed()

    def after_commit(self, action: Callable[[], None]) -> None:
        """Have ``action`` called when the open transaction has been committed; it must not raise."""
        self._after.append(action)

    def _committed(self) -> None:
        written, actions = dict(self._written), tuple(self._after)
        self._written.clear()
        self._said.clear()
        self._lines.clear()
        self._undo.clear()
        self._after.clear()
        for action in actions:
            action()
        # What was written is committed, so a failure to take note of it is no failure of the write: the next call takes
        # it in before it answers, and raises if it still cannot.
        with contextlib.suppress(StoreError):
            self._catalogue.follow(written)
        if self._finder is not None:
            with contextlib.suppress(StoreError):
                self._finder.follow(written)
        for follower in self._followers:
            with contextlib.suppress(Exception):
                follower.follow(written)

    def _append(self, batch: Sequence[MemoryRecord]) -> None:
        self._store.put_many(batch)
        for record in batch:
            self._note(record)

    def _note(self, record: MemoryRecord) -> None:
        self._undo.append(_restoring(self._written, record.id))
        self._written[record.id] = record
        self._undo.append(_restoring(self._lines, record.id))
        self._lines[record.id] = line_of(record)
        if record.state.is_live:
            said = saying(record)
            self._undo.append(_restoring(self._said, said))
            self._said[said] = record.id

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


class _Follower:
    """A search index and how far it has come.  What it could not take in is offered again until it can."""

    def __init__(self, index: SearchIndex, store: RecordStore) -> None:
        self._index = index
        self._store = store
        self._seen = store.changes()[0]
        self._pending: dict[str, None] = {}

    def follow(self, written: dict[str, MemoryRecord]) -> None:
        cursor, ids = self._store.changes(self._seen)
        if ids is None:  # the store has forgotten where we stood
            ids = tuple(record.id for record in self._store.list())
        self._seen = cursor
        self._pending.update(dict.fromkeys((*ids, *written)))
        if self._pending:
            newest = self._store.get_many(self._pending)  # what we wrote may have been followed by another process
            self._index.index_many(newest.values())
            self._pending.clear()


def _restoring(held: dict[_Key, _Value], key: _Key) -> Callable[[], None]:
    """What puts ``held[key]`` back to what it is now."""
    before = held.get(key, _MISSING)

    def restore() -> None:
        if before is _MISSING:
            held.pop(key, None)
        else:
            held[key] = before  # type: ignore[assignment]  # it was a value of theirs

    return restore

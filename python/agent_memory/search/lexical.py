"""The default search index of a memory: the kernel's, in step with a store, with a snapshot beside it (SPEC section 8).

The index is in memory.  It keeps in step through the store's change cursor, and now and then leaves a snapshot in a
file, so that the next process need not read every record.  A snapshot that is damaged, foreign, of other constants or
of a store that has forgotten its cursor is not used.  One is written under the store's lock, after everything has been
taken in: none is ever newer than an erasure and holds what it erased.

Of the two locks here, nobody waits for that of following while holding the store's, which following may ask for.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agent_memory import kernel
from agent_memory.errors import ArgumentTypeError, StoreError
from agent_memory.kernel.reference.search.config import Config
from agent_memory.ports import RecordStore, SearchIndex
from agent_memory.stores import durable

if TYPE_CHECKING:
    from agent_memory.kernel.reference.search.packing import Row
    from agent_memory.records import MemoryRecord

__all__ = ["SNAPSHOT", "LexicalIndex"]

SNAPSHOT: Final = "recall.index"
"""Name of the snapshot in a memory's folder of sidecars."""
_BATCH: Final = 4096
"""Records whose bytes are handed to the kernel together."""
_SAVE_AFTER: Final = 256
_SAVE_SHARE: Final = 20
"""A snapshot is written again when that many records changed, or one in so many, whichever is more."""


class LexicalIndex(SearchIndex):
    """Finds, scores and packs the records of one store.  Usable from several threads.

    Args:
        store: whose records it finds; read when the index is made, as far as the snapshot does not tell.
        snapshot: the file of the snapshot, in a folder that exists; None keeps the index in memory only.
        config: the language and the constants of ranking; default those of spec/recall.md section 5.4.

    Raises:
        StoreError: the store cannot be read.
    """

    def __init__(self, store: RecordStore, snapshot: Path | None = None, *, config: Config | None = None) -> None:
        self._store = store
        self._path = snapshot
        self._config = Config() if config is None else config
        self._following = threading.Lock()
        self._saving = threading.Lock()
        self._changed = 0
        self._index, self._seen = self._restored()
        self.follow()

    # ------------------------------------------------------------------ asking

    def candidates(self, query: str, k: int) -> tuple[tuple[str, float], ...]:
        """At most ``k`` (id, raw score) pairs of records in any state but redacted, best first, then by id."""
        if not isinstance(query, str):
            raise ArgumentTypeError(f"a query must be text, not {type(query).__name__}")
        return tuple(self._index.candidates(query, max(0, k)))

    def recall(self, query: str, **asked: Any) -> Sequence[Row]:
        """The rows of the whole read stage; the arguments are those of the kernel (spec/recall.md section 6)."""
        return self._index.recall(query, **asked)

    def __len__(self) -> int:
        """How many records it holds; tombstones do not count."""
        return len(self._index)

    # ------------------------------------------------------------------ keeping in step

    def index(self, record: MemoryRecord) -> None:
        self.index_many((record,))

    def index_many(self, records: Iterable[MemoryRecord]) -> None:
        payloads = [record.canonical_bytes() for record in records]
        self._index.update(payloads)

    def set_touches(self, counts: Mapping[str, int]) -> None:
        """Tell how often records were recalled; others keep their counts."""
        if counts:
            self._index.set_touches(counts)

    def follow(self, written: Mapping[str, MemoryRecord] | None = None) -> None:
        """Take in what was written to the store since the last time, by this process or any other.

        ``written`` are versions this process has just committed, for a store that cannot tell changes.

        Raises StoreError when the store cannot be read.
        """
        with self._following:
            self._follow(written or {})

    def _follow(self, written: Mapping[str, MemoryRecord]) -> None:
        cursor, ids = self._store.changes(self._seen)
        if self._seen is None or ids is None:
            index = kernel.Index(self._config)
            for payloads in _batches(self._store.payloads()):
                index.update(payloads)
            self._index, self._changed = index, len(index)
        elif changed := dict.fromkeys((*ids, *written)):
            newest = self._store.get_many(changed)  # not what we wrote: another process may have followed it since
            self.index_many(newest.values())
            self._index.remove([record_id for record_id in changed if record_id not in newest])
            self._changed += len(changed)
        self._seen = cursor

    # ------------------------------------------------------------------ the snapshot

    @contextlib.contextmanager
    def taking_out(self) -> Iterator[None]:
        """Remove the snapshot, which may hold what is about to be redacted, and keep any from being written meanwhile.

        Entered just before the store commits and left just after.

        Raises StoreError when it is there and cannot be removed; then nothing is redacted.
        """
        with self._saving:
            self._remove()
            yield
            self._changed = max(self._changed, _SAVE_AFTER, len(self._index))

    def save_if_due(self) -> None:
        """Write the snapshot when enough has changed since it was written.  A failure is none: it can be lost."""
        if self._path is not None and self._changed >= max(_SAVE_AFTER, len(self._index) // _SAVE_SHARE):
            with contextlib.suppress(StoreError, OSError):
                self.save()

    def save(self) -> None:
        """Write the snapshot, unless another thread is taking something in.

        Raises:
            StoreError, OSError: the store or the file cannot be written.
        """
        if self._path is None:
            return
        with self._store.transaction():
            if not self._following.acquire(blocking=False):
                return
            try:
                self._follow({})
                with self._saving:
                    durable.replace(self._path, self._index.snapshot(self._seen or "", 0))
                    self._changed = 0
            finally:
                self._following.release()

    def close(self) -> None:
        self.save_if_due()

    def _restored(self) -> tuple[kernel.Index, str | None]:
        """What the snapshot holds, and the cursor it reflects; an empty index and None without one."""
        if self._path is not None:
            with contextlib.suppress(OSError):
                restored = kernel.Index.restore(self._path.read_bytes(), self._config)
                if restored is not None:
                    index, cursor, _ = restored
                    return index, cursor
        return kernel.Index(self._config), None

    def _remove(self) -> None:
        if self._path is None:
            return
        try:
            durable.remove(self._path)
            durable.sync_dir(self._path.parent)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise durable.failure(error, f"cannot remove {self._path}, which may hold redacted words") from error


def _batches(payloads: Iterable[bytes]) -> Iterator[list[bytes]]:
    waiting = iter(payloads)
    while batch := list(islice(waiting, _BATCH)):
        yield batch

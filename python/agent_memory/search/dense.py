"""Vectors of the records of a store, kept in step with it and in a file beside it (spec/recall.md section 8).

The file holds no text, but what points where tells much about what was said: so it never outlives an erasure.  It is
removed before the store commits one, and written under the store's lock, after everything has been taken in.  One that
is damaged or made by another embedder is not used; one that lags is caught up with, and what changed is embedded.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agent_memory import kernel
from agent_memory.errors import ArgumentTypeError, StoreError
from agent_memory.ports import RecordStore, SearchIndex
from agent_memory.stores import durable

from .embedded import Note, Said
from .embedding import AnyEmbedder, CheckedEmbedder, EmbeddingFailed, Learner, check_embedder
from .fusion import AROUND

if TYPE_CHECKING:
    from agent_memory.records import MemoryRecord

__all__ = ["VECTORS", "DenseIndex", "remove_vectors"]

VECTORS: Final = "vectors.bin"
"""Name of the file in a memory's folder of sidecars."""
_BATCH: Final = 256
"""Texts given to an embedder at a time, at most."""
_SAVE_AFTER: Final = 256
_SAVE_SHARE: Final = 20
"""The file is written again when that many records changed, or one in so many, whichever is more."""
_LONGEST_PAUSE: Final = 60.0
"""Seconds at most before an embedder that failed is asked again to embed records."""


class DenseIndex(SearchIndex):
    """The vectors of one store's records, and how they lie to that of a query.  Usable from several threads.

    An embedder that fails does no harm: records wait for their vectors, :attr:`error` says why, and it is asked again
    with growing pauses.  A batch it fails on is halved, so that one text it cannot take does not hold up the others.

    Args:
        store: whose records; read by :meth:`follow`, which has to be called before the first query.
        embedder: what turns texts into vectors.
        path: the file, in a folder that exists; None keeps the vectors in memory only.

    Raises:
        ArgumentTypeError: ``embedder`` is none.
    """

    def __init__(self, store: RecordStore, embedder: AnyEmbedder, path: Path | None = None) -> None:
        self._store = store
        self._given = check_embedder(embedder)
        self._path = path
        self._lock = threading.RLock()
        self._embedder: CheckedEmbedder | None = None
        self._vectors: kernel.Vectors | None = None
        self._note = Note()
        self._marks: dict[str, bytes] = {}
        self._waiting: dict[str, None] = {}
        self._seen: str | None = None
        self._erased = False
        self._changed = 0
        self._failure: str | None = None
        self._size = _BATCH
        self._pause = 0.0
        self._ask_again_at = 0.0

    # ------------------------------------------------------------------ asking

    @property
    def error(self) -> str | None:
        """What the embedder failed with and how many records have no vector for it; None when all have one."""
        with self._lock:
            if self._failure is None:
                return None
            count = len(self._waiting)
            return (
                f"{self._failure}; {count} records have no vector yet" if self._vectors is not None else self._failure
            )

    @property
    def identity(self) -> str | None:
        """The identity of the embedder whose vectors are held; None before it was ever asked."""
        return None if self._vectors is None else self._vectors.identity

    def __len__(self) -> int:
        """How many records have a vector."""
        return 0 if self._vectors is None else len(self._vectors)

    def scores(self, query: str) -> kernel.Scores | None:
        """The dense scores of all records; None when the query says nothing to the embedder.

        Raises:
            EmbeddingFailed: the embedder failed.
        """
        if not isinstance(query, str):
            raise ArgumentTypeError(f"a query must be text, not {type(query).__name__}")
        with self._lock:
            embedder, vectors = self._embedder, self._vectors
        if embedder is None or vectors is None:
            raise EmbeddingFailed(self._failure or "nothing has been embedded yet")
        wanted = embedder.packed([query])
        if not any(wanted):
            return None
        return vectors.scores(wanted, around=AROUND)

    def candidates(self, query: str, k: int) -> tuple[tuple[str, float], ...]:
        """At most ``k`` (id, dense score) pairs with a score above 0, best first, then by id.

        Raises:
            EmbeddingFailed: the embedder failed.
        """
        scores = self.scores(query)
        return () if scores is None else tuple(item for item in scores.best(k) if item[1] > 0.0)

    # ------------------------------------------------------------------ keeping in step

    def index(self, record: MemoryRecord) -> None:
        self.index_many((record,))

    def index_many(self, records: Iterable[MemoryRecord]) -> None:
        with self._lock:
            if self._begun():
                self._take({record.id: Said.of_record(record) for record in records})

    def remove(self, record_id: str) -> None:
        """Forget a record's vector.  An id that has none is no error."""
        with self._lock:
            self._drop((record_id,))

    def follow(self, written: Mapping[str, MemoryRecord] | None = None) -> None:
        """Take in what was written to the store since the last time, by this process or any other, and embed it.

        ``written`` are versions this process has just committed, for a store that cannot tell changes.

        Raises StoreError when the store cannot be read; never for what the embedder does.
        """
        self._follow(written or {}, embed=True)

    def _follow(self, known: Mapping[str, MemoryRecord], *, embed: bool) -> None:
        with self._lock:
            if not self._begun():
                return
            cursor, ids = self._store.changes(self._seen)
            if self._seen is None or ids is None:
                said = self._everything()
                self._drop([record_id for record_id in (*self._marks, *self._waiting) if record_id not in said])
            else:
                changed = dict.fromkeys((*ids, *known))
                newest = self._store.get_many(changed)  # what we wrote may have been followed by another process
                said = {record_id: Said.of_record(newest[record_id]) for record_id in changed if record_id in newest}
                self._drop([record_id for record_id in changed if record_id not in said])
            self._seen = cursor
            self._take(said, embed=embed)

    def reindex(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Embed everything again, with what the embedder is now.

        ``progress`` is told how many of how many records are done.

        Raises:
            EmbeddingFailed: the embedder failed; :meth:`follow` goes on with what is left.
            StoreError: the store cannot be read.
        """
        with self._lock:
            self._embedder = self._vectors = None
            self._pause = self._ask_again_at = 0.0
            if self._begun(fresh=True):
                self._seen = self._store.changes(self._seen)[0]
                self._anew(self._everything(), progress)
            if self._failure is not None:
                raise EmbeddingFailed(self._failure)

    def _begun(self, *, fresh: bool = False) -> bool:
        """Whether the embedder is known; the first time, what the file holds of its vectors is taken."""
        if self._vectors is None and time.monotonic() >= self._ask_again_at:
            try:
                self._embedder = CheckedEmbedder(self._given)
            except EmbeddingFailed as failure:
                self._failed(failure)
                return False
            self._note, self._marks, self._waiting, self._seen = Note(), {}, {}, None
            self._vectors = kernel.Vectors(self._embedder.identity, self._embedder.dimensions)
            self._failure = None
            if not fresh:
                self._restore()
        return self._vectors is not None

    def _take(self, said: Mapping[str, Said], *, embed: bool = True) -> None:
        """Note what records say now, and embed what is new, or leave it waiting."""
        vectors = self._held()
        self._drop([record_id for record_id, item in said.items() if item.redacted])
        if isinstance(self._given, Learner) and any(item.redacted for item in said.values()):
            self._erased = True
        kept = [item for item in said.values() if not item.redacted]
        same = [item for item in kept if self._marks.get(item.id) == item.mark]
        vectors.place([item.id for item in same], [item.place for item in same])
        self._waiting.update((item.id, None) for item in kept if self._marks.get(item.id) != item.mark)
        self._changed += len(said)
        if not embed:
            return
        if self._must_learn():
            self._anew(self._everything())
        else:
            self._embed(said)

    def _must_learn(self) -> bool:
        """Whether what the embedder learnt of these texts is too old, or knows words of erased ones."""
        texts = len(self._held()) + len(self._waiting)
        doubled = texts >= max(1, 2 * self._note.texts)
        return isinstance(self._given, Learner) and (self._erased or doubled)

    def _anew(self, said: Mapping[str, Said], progress: Callable[[int, int], None] | None = None) -> None:
        """Embed everything, learning from it first where the embedder does that."""
        kept = {record_id: item for record_id, item in said.items() if not item.redacted}
        try:
            embedder = self._learnt([item.text for item in kept.values()])
        except EmbeddingFailed as failure:
            self._failed(failure)
            if self._erased:  # rather no vectors than some that know erased words
                self._drop(list(self._marks))
            return
        self._embedder, self._erased = embedder, False
        self._vectors = kernel.Vectors(embedder.identity, embedder.dimensions)
        self._marks, self._waiting = {}, dict.fromkeys(kept)
        self._changed = max(self._changed, _SAVE_AFTER, len(kept))
        self._embed(kept, progress)

    def _learnt(self, texts: list[str]) -> CheckedEmbedder:
        if not isinstance(self._given, Learner):
            self._note = Note()
            return CheckedEmbedder(self._given)
        try:
            embedder = self._given.learn(texts)
        except Exception as error:
            raise EmbeddingFailed(f"the embedder raised {type(error).__name__}") from error
        self._note = Note(len(texts), bytes(getattr(embedder, "learnt", b"")))
        return CheckedEmbedder(embedder)

    def _embed(self, said: Mapping[str, Said], progress: Callable[[int, int], None] | None = None) -> None:
        """Embed what waits, as long as the embedder answers."""
        ids, done = list(self._waiting), 0
        while done < len(ids) and time.monotonic() >= self._ask_again_at:
            batch = self._read(ids[done : done + self._size], said)
            done += self._size
            try:
                self._embed_batch(batch)
            except EmbeddingFailed as failure:
                self._failed(failure)
                if len(batch) == 1:  # the others first
                    del self._waiting[batch[0].id]
                    self._waiting[batch[0].id] = None
                self._size = max(1, len(batch) // 2)
                return
            self._size, self._pause = min(_BATCH, 2 * self._size), 0.0
            if progress is not None:
                progress(min(done, len(ids)), len(ids))
        if not self._waiting:
            self._failure = None

    def _read(self, ids: list[str], said: Mapping[str, Said]) -> list[Said]:
        """What those that wait say, as far as they are still there."""
        unread = [record_id for record_id in ids if record_id not in said]
        read = self._store.get_many(unread) if unread else {}
        found = [
            said.get(record_id) or Said.of_record(read[record_id])
            for record_id in ids
            if record_id in said or record_id in read
        ]
        kept = [item for item in found if not item.redacted]
        for record_id in frozenset(ids).difference(item.id for item in kept):  # the cursor will tell of it
            del self._waiting[record_id]
        return kept

    def _embed_batch(self, batch: list[Said]) -> None:
        if not batch or self._embedder is None:
            return
        vectors, ids = self._held(), [item.id for item in batch]
        vectors.set(ids, self._embedder.packed([item.text for item in batch]))
        vectors.place(ids, [item.place for item in batch])
        for item in batch:
            self._marks[item.id] = item.mark
            del self._waiting[item.id]

    def _failed(self, failure: Exception) -> None:
        self._failure = str(failure)
        self._pause = min(_LONGEST_PAUSE, 2 * self._pause or 1.0)
        self._ask_again_at = time.monotonic() + self._pause

    def _drop(self, record_ids: Iterable[str]) -> None:
        gone = list(record_ids)
        for record_id in gone:
            self._marks.pop(record_id, None)
            self._waiting.pop(record_id, None)
        if self._vectors is not None:
            self._vectors.remove(gone)

    def _held(self) -> kernel.Vectors:
        assert self._vectors is not None
        return self._vectors

    def _everything(self) -> dict[str, Said]:
        return {item.id: item for item in map(Said.of_payload, self._store.payloads())}

    # ------------------------------------------------------------------ the file

    @contextlib.contextmanager
    def taking_out(self) -> Iterator[None]:
        """Remove the file, which tells of what is about to be redacted, and keep any from being written meanwhile.

        Entered just before the store commits and left just after.

        Raises StoreError when it is there and cannot be removed; then nothing is redacted.
        """
        with self._lock:
            if self._path is not None:
                remove_vectors(self._path.parent)
            yield
            self._changed = max(self._changed, _SAVE_AFTER)

    def save_if_due(self) -> None:
        """Write the file when enough has changed since it was written.  A failure is none: it can be lost."""
        if self._path is not None and self._changed >= max(_SAVE_AFTER, len(self) // _SAVE_SHARE):
            with contextlib.suppress(StoreError, OSError):
                self.save()

    def save(self) -> None:
        """Write the file.

        Raises:
            StoreError, OSError: the store or the file cannot be written.
        """
        self.follow()
        with self._lock, self._store.transaction():
            self._follow({}, embed=False)  # an embedder may take long, and others wait for the store
            if self._path is None or self._vectors is None or self._seen is None or self._erased:
                return
            cursor = "" if self._waiting else self._seen  # whoever reads it looks for what still waits
            note = self._note.to_bytes([self._marks[record_id] for record_id in self._vectors.ids()])
            durable.replace(self._path, self._vectors.to_bytes(cursor, note))
            self._changed = 0

    def close(self) -> None:
        """Write what has changed.  A failure is none: the vectors can be made again."""
        if self._path is not None and self._changed:
            with contextlib.suppress(StoreError, OSError):
                self.save()

    def _restore(self) -> None:
        """Take what the file holds, when this embedder made it."""
        if self._path is None:
            return
        try:
            found = kernel.Vectors.from_bytes(self._path.read_bytes())
        except OSError:
            return
        if found is None:
            return
        vectors, cursor, data = found
        ids = vectors.ids()
        note = Note.from_bytes(data, len(ids))
        embedder = None if note is None else self._knowing(note[0])
        if note is None or embedder is None or _told(embedder) != (vectors.identity, vectors.dimension):
            return
        self._embedder, self._vectors, self._note = embedder, vectors, note[0]
        self._marks = dict(zip(ids, note[1], strict=True))
        self._seen = cursor or None

    def _knowing(self, note: Note) -> CheckedEmbedder | None:
        if not isinstance(self._given, Learner):
            return self._embedder
        try:
            embedder: Any = self._given.knowing(note.learnt)
            return None if embedder is None else CheckedEmbedder(embedder)
        except Exception:  # whatever it makes of an old file: then everything is embedded anew
            return None


def remove_vectors(folder: Path) -> None:
    """Remove the file of vectors in a memory's folder of sidecars: what redacts does so, with an embedder or without.

    Raises:
        StoreError: it is there and cannot be removed.
    """
    path = folder / VECTORS
    try:
        durable.remove(path)
        durable.sync_dir(folder)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise durable.failure(error, f"cannot remove {path}, which tells of what is redacted") from error


def _told(embedder: CheckedEmbedder) -> tuple[str, int]:
    return embedder.identity, embedder.dimensions

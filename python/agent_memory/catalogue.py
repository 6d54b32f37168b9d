"""What a memory knows of its records without reading them: where words are found, and who says what.

A catalogue lies beside the store in one SQLite file, shared by all processes that use the memory, and holds nothing
that cannot be rebuilt.  It keeps in step through the store's change cursor: :meth:`Catalogue.follow` takes in whatever
anybody wrote since the cursor it stands at.  A catalogue that is missing, damaged, of another version or of another
store is rebuilt, never trusted.  What the store has redacted leaves the bytes of the catalogue with the same step.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

from .errors import StoreError
from .ports import RecordStore, SearchIndex
from .records import MemoryRecord
from .sayings import saying
from .search.fts import SQLiteSearchIndex
from .stores import durable
from .stores.database import DamagedDatabase, Database

__all__ = ["CATALOGUE", "Catalogue", "open_catalogue"]

CATALOGUE: Final = "catalogue.db"
"""Name of the file in the memory's folder of sidecars."""
_VERSION: Final = "1"
"""Raised whenever the tables, or how text becomes words, change: an older catalogue is then rebuilt."""
_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS catalogue_state (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS catalogue_holders (record_id TEXT PRIMARY KEY, saying BLOB NOT NULL) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS catalogue_sayings ON catalogue_holders (saying)",
)
_OTHER_TABLES: Final = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH})
"""What SQLite says of our statements where a table lacks, or is another program's."""
_Answer = TypeVar("_Answer")
_ATTEMPTS: Final = 20
"""How often a step is tried again because another process took the same one first."""


class Catalogue(SearchIndex):
    """The default search index of a memory, and its map of who says what.  Usable from many threads and processes.

    A file that turns out to be damaged, now or later, is made anew.

    Args:
        path: the file, or None for a catalogue in memory.
        store: whose records it catalogues.

    Raises:
        StoreError: the file cannot be opened.
    """

    def __init__(self, path: Path | None, store: RecordStore) -> None:
        self._path = path
        self._store = store
        self._seen: str | None = None
        try:
            self._words = self._opened()
        except StoreError as error:
            if path is None or not _is_useless(error):
                raise
            _drop(path)
            self._words = self._opened()

    def _opened(self) -> SQLiteSearchIndex:
        if self._path is not None and os.path.lexists(self._path) and not self._path.is_file():
            raise DamagedDatabase(f"{self._path} is no file")  # and opening a pipe would wait for its other end
        return SQLiteSearchIndex(":memory:" if self._path is None else self._path, prepare=_prepare)

    @property
    def _database(self) -> Database:
        return self._words.database

    def _sound(self, ask: Callable[[], _Answer]) -> _Answer:
        """What ``ask`` answers; when the file turns out to be damaged, what it answers of one made anew."""
        try:
            return ask()
        except StoreError as error:
            if self._path is None or self._database.in_transaction or not _is_useless(error):
                raise
            self._words.close()
            _drop(self._path)
            self._words, self._seen = self._opened(), None
            self._follow({})
            return ask()

    # ------------------------------------------------------------------ asking

    def candidates(self, query: str, k: int) -> tuple[tuple[str, float], ...]:
        return self._sound(lambda: self._words.candidates(query, k))

    def holders(self, record: MemoryRecord) -> tuple[str, ...]:
        """Ids of the live records that were the same memory as ``record`` when the catalogue was last in step."""
        sql = "SELECT record_id FROM catalogue_holders WHERE saying = ? ORDER BY record_id"
        rows = self._sound(lambda: self._database.read(sql, [saying(record)]))
        return tuple(record_id.decode() for (record_id,) in rows)

    # ------------------------------------------------------------------ keeping in step

    def index(self, record: MemoryRecord) -> None:
        self._take_in((record,))

    def index_many(self, records: Iterable[MemoryRecord]) -> None:
        self._take_in(records)

    def follow(self, written: Mapping[str, MemoryRecord] | None = None) -> None:
        """Take in what was written to the store since the last time, by this process or any other.

        ``written`` are versions this process has just committed, which need not be read again.  No lock of the store
        is asked for while one of the catalogue is held: two processes that follow at once cannot wait for each other.

        Raises:
            StoreError: the store or the catalogue cannot be read or written.
        """
        self._sound(lambda: self._follow(written or {}))

    def _follow(self, written: Mapping[str, MemoryRecord]) -> None:
        if self._seen is not None:
            cursor, ids = self._store.changes(self._seen)
            if ids == () and not written:
                self._seen = cursor
                return
        for _ in range(_ATTEMPTS):
            stood_at = self._cursor()
            cursor, ids = self._store.changes(stood_at)
            rebuild = ids is None
            if ids is not None:  # a store that cannot tell changes says there are none
                ids = tuple(dict.fromkeys((*ids, *written)))
            if not ids and not rebuild and cursor == stood_at:
                self._seen = cursor
                return
            newest = self._newest(ids, written)
            with self._database.transaction():
                if self._cursor() != stood_at:
                    continue  # another process took this step; look again from where it stands now
                if rebuild:
                    self._clear()
                else:
                    self._forget(record_id for record_id in ids or () if record_id not in newest)
                self._take_in(newest.values())
                self._database.execute("INSERT OR REPLACE INTO catalogue_state VALUES ('cursor', ?)", [cursor])
            self._seen = cursor
            return
        raise StoreError("the catalogue of this memory is written by too many processes at once; try again")

    @contextmanager
    def taking_out(self, tombstones: Iterable[MemoryRecord]) -> Iterator[None]:
        """Take records out that are about to be redacted, and hold the catalogue until that is done or has failed.

        Entered just before the store commits and left just after: words of a redacted record are never left behind
        because somebody else was writing the catalogue.

        Raises:
            StoreError: another process writes the catalogue for longer than its timeout; then nothing is redacted.
        """
        with self._database.transaction():
            self._take_in(tombstones)
            yield

    @property
    def erasure_pending(self) -> bool:
        """Whether words of redacted records may still be in the bytes of the file, because it is in use elsewhere."""
        return self._words.erasure_pending

    def close(self) -> None:
        self._words.close()

    def _cursor(self) -> str | None:
        rows = self._database.read("SELECT value FROM catalogue_state WHERE name = 'cursor'")
        return rows[0][0].decode(errors="replace") if rows else None

    def _newest(self, ids: tuple[str, ...] | None, written: Mapping[str, MemoryRecord]) -> dict[str, MemoryRecord]:
        if ids is None:
            return {record.id: record for record in self._store.list()}
        if len(ids) == len(written) and written.keys() == set(ids):
            return dict(written)
        return self._store.get_many(ids)

    def _take_in(self, records: Iterable[MemoryRecord]) -> None:
        held = tuple(records)
        with self._database.transaction():
            self._words.index_many(held)
            self._database.execute_many(
                "DELETE FROM catalogue_holders WHERE record_id = ?", ((record.id,) for record in held)
            )
            self._database.execute_many(
                "INSERT INTO catalogue_holders VALUES (?, ?)",
                ((record.id, saying(record)) for record in held if record.state.is_live),
            )

    def _forget(self, record_ids: Iterable[str]) -> None:
        for record_id in record_ids:
            self._words.remove(record_id)
            self._database.execute("DELETE FROM catalogue_holders WHERE record_id = ?", [record_id])

    def _clear(self) -> None:
        self._words.clear()
        self._database.execute("DELETE FROM catalogue_holders")


def open_catalogue(folder: Path | None, store: RecordStore) -> Catalogue:
    """The catalogue of a memory, in step with its store.

    ``folder`` is the memory's folder of sidecars, which exists; None keeps the catalogue in memory.

    Raises:
        StoreError: the store or the catalogue cannot be read.
    """
    catalogue = Catalogue(None if folder is None else folder / CATALOGUE, store)
    catalogue.follow()
    return catalogue


def _is_useless(error: StoreError) -> bool:
    """Whether the file is what failed: it is damaged, or its tables are not those of a catalogue."""
    cause = error.__cause__
    return isinstance(error, DamagedDatabase) or (
        isinstance(cause, sqlite3.Error) and (getattr(cause, "sqlite_errorcode", 0) & 0xFF) in _OTHER_TABLES
    )


def _drop(path: Path) -> None:
    """Remove what is no catalogue; a folder only when nothing is in it."""
    for suffix in ("", "-wal", "-shm"):
        damaged = path.with_name(path.name + suffix)
        try:
            if damaged.is_dir() and not damaged.is_symlink():
                durable.remove_dir(damaged)
            elif os.path.lexists(damaged):
                durable.remove(damaged)
        except OSError as error:
            raise durable.failure(error, f"cannot replace the damaged {damaged}") from error


def _prepare(database: Database) -> None:
    for table in _TABLES:
        database.execute(table)
    rows = database.read("SELECT value FROM catalogue_state WHERE name = 'version'")
    if rows and rows[0][0].decode() == _VERSION:
        return
    database.execute("DELETE FROM catalogue_state")
    database.execute("DELETE FROM catalogue_holders")
    database.execute("INSERT INTO catalogue_state VALUES ('version', ?)", [_VERSION])

"""What a memory knows of its records without reading them: where words are found, who says what, what a key held.

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
from typing import Any, Final, Literal, TypeVar

from .corrections.ledger import Fate, Line, line_of
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
_VERSION: Final = "2"
"""Raised whenever the tables, or how text becomes words, change: an older catalogue is then rebuilt."""
_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS catalogue_state (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS catalogue_holders (record_id TEXT PRIMARY KEY, saying BLOB NOT NULL) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS catalogue_sayings ON catalogue_holders (saying)",
    """CREATE TABLE IF NOT EXISTS catalogue_lines (record_id TEXT PRIMARY KEY, place BLOB, key BLOB, said BLOB NOT NULL,
    object BLOB, fate INTEGER NOT NULL, about TEXT, also TEXT NOT NULL, born INTEGER NOT NULL) WITHOUT ROWID""",
    "CREATE INDEX IF NOT EXISTS catalogue_places ON catalogue_lines (place) WHERE place IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS catalogue_keys ON catalogue_lines (key) WHERE key IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS catalogue_said ON catalogue_lines (said)",
    f"CREATE INDEX IF NOT EXISTS catalogue_blocked ON catalogue_lines (about) WHERE fate >= {int(Fate.ECHO)}",
)
_OTHER_TABLES: Final = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH})
"""What SQLite says of our statements where a table lacks, or is another program's."""
_CONTENT: Final = ("catalogue_holders", "catalogue_lines")
LineColumn = Literal["place", "key", "said", "about"]
"""What lines are asked for by; ``about`` finds blocked ones alone."""
_BATCH: Final = 500
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

    def lines(self, column: LineColumn, values: Iterable[bytes | str]) -> dict[str, Line]:
        """The lines that had one of ``values`` in a column when the catalogue was last in step, by id."""
        wanted = list(dict.fromkeys(values))
        blocked = f" AND fate >= {int(Fate.ECHO)}" if column == "about" else ""
        found: dict[str, Line] = {}
        for start in range(0, len(wanted), _BATCH):
            some = wanted[start : start + _BATCH]
            marks = ", ".join("?" * len(some))
            # the column is one of four constants, the rest question marks
            sql = f"SELECT * FROM catalogue_lines WHERE {column} IN ({marks}){blocked}"  # noqa: S608
            for row in self._sound(lambda sql=sql, some=some: self._database.read(sql, some)):  # type: ignore[misc]
                line = _line_from(row)
                found[line.record_id] = line
        return found

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
            self._remove(record.id for record in held)
            self._database.execute_many(
                "INSERT INTO catalogue_holders VALUES (?, ?)",
                ((record.id, saying(record)) for record in held if record.state.is_live),
            )
            self._database.execute_many(
                "INSERT INTO catalogue_lines VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (_row_of(line) for record in held if (line := line_of(record)) is not None),
            )

    def _forget(self, record_ids: Iterable[str]) -> None:
        gone = tuple(record_ids)
        for record_id in gone:
            self._words.remove(record_id)
        self._remove(gone)

    def _remove(self, record_ids: Iterable[str]) -> None:
        gone = [(record_id,) for record_id in record_ids]
        for table in _CONTENT:
            self._database.execute_many(f"DELETE FROM {table} WHERE record_id = ?", gone)  # noqa: S608 - a constant

    def _clear(self) -> None:
        self._words.clear()
        for table in _CONTENT:
            self._database.execute(f"DELETE FROM {table}")  # noqa: S608 - a constant


def _row_of(line: Line) -> tuple[Any, ...]:
    also = " ".join(line.also)
    return (line.record_id, line.place, line.key, line.said, line.object, int(line.fate), line.about, also, line.born)


def _line_from(row: tuple[Any, ...]) -> Line:
    record_id, place, key, said, object_, fate, about, also, born = row
    return Line(
        record_id=record_id.decode(),
        place=place,
        key=key,
        said=said,
        object=object_,
        fate=Fate(fate),
        about=None if about is None else about.decode(),
        also=tuple(also.decode().split()),
        born=born,
    )


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
    for table in ("catalogue_state", *_CONTENT):
        database.execute(f"DELETE FROM {table}")  # noqa: S608 - a constant
    database.execute("INSERT INTO catalogue_state VALUES ('version', ?)", [_VERSION])

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
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from .corrections.ledger import Fate, Line, line_of, text_digest
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
_VERSION: Final = "3"
"""Raised whenever the tables, or how text becomes words, change: an older catalogue is then rebuilt."""
_TABLES: Final = (
    """CREATE TABLE IF NOT EXISTS catalogue_lines (record_id TEXT PRIMARY KEY, place BLOB, said BLOB NOT NULL,
    object BLOB, fate INTEGER NOT NULL, about TEXT, also TEXT NOT NULL, born INTEGER NOT NULL, saying BLOB)
    WITHOUT ROWID""",
    "CREATE INDEX IF NOT EXISTS catalogue_places ON catalogue_lines (place) WHERE place IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS catalogue_said ON catalogue_lines (said)",
    f"CREATE INDEX IF NOT EXISTS catalogue_blocked ON catalogue_lines (about) WHERE fate >= {int(Fate.ECHO)}",
)
_OTHER_TABLES: Final = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH})
"""What SQLite says of our statements where a table lacks, or is another program's."""
_COLUMNS: Final = "record_id, place, said, object, fate, about, also, born"
_SET: Final = """INSERT INTO catalogue_lines (record_id, place, said, object, fate, about, also, born, saying)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (record_id) DO UPDATE SET object = excluded.object,
fate = excluded.fate, about = excluded.about, also = excluded.also, saying = excluded.saying"""
"""The other columns never change, so the indexes over them are left alone."""
_FORGET: Final = "DELETE FROM catalogue_lines WHERE record_id = ?"
LineColumn = Literal["place", "key", "said", "about"]
"""What lines are asked for by; ``about`` finds blocked ones alone."""
_BATCH: Final = 200
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
        sql = "SELECT record_id FROM catalogue_lines WHERE said = ? AND saying = ? ORDER BY record_id"
        said = text_digest(record.body, record.scope.consolidation)
        rows = self._sound(lambda: self._database.read(sql, [said, saying(record)]))
        return tuple(record_id.decode() for (record_id,) in rows)

    def lines(self, column: LineColumn, values: Iterable[bytes | str]) -> dict[str, Line]:
        """The lines that had one of ``values`` in a column when the catalogue was last in step, by id."""
        wanted = list(dict.fromkeys(values))
        found: dict[str, Line] = {}
        for start in range(0, len(wanted), _BATCH):
            condition, some = _condition(column, wanted[start : start + _BATCH])
            sql = f"SELECT {_COLUMNS} FROM catalogue_lines WHERE {condition}"  # noqa: S608 - constants, question marks
            for row in self._sound(partial(self._database.read, sql, some)):
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

        ``written`` are versions this process has just committed, for a store that cannot tell changes.  No lock of the
        store is asked for while one of the catalogue is held: two that follow at once cannot wait for each other.

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
            newest = self._newest(ids)
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

    def _newest(self, ids: tuple[str, ...] | None) -> dict[str, MemoryRecord]:
        """The versions to take in, always read anew: what this process wrote may have been followed by another's."""
        if ids is None:
            return {record.id: record for record in self._store.list()}
        return self._store.get_many(ids)

    def _take_in(self, records: Iterable[MemoryRecord]) -> None:
        held = tuple(records)
        with self._database.transaction():
            self._words.index_many(held)
            lines = [(record, line_of(record)) for record in held]
            self._database.execute_many(_SET, (_row_of(line, record) for record, line in lines if line is not None))
            self._database.execute_many(_FORGET, ((record.id,) for record, line in lines if line is None))

    def _forget(self, record_ids: Iterable[str]) -> None:
        for record_id in record_ids:
            self._words.remove(record_id)
            self._database.execute(_FORGET, [record_id])

    def _clear(self) -> None:
        self._words.clear()
        self._database.execute("DELETE FROM catalogue_lines")


def _condition(column: LineColumn, values: list[bytes | str]) -> tuple[str, list[bytes | str]]:
    """What finds the lines that have one of ``values`` in a column, and the values to ask with."""
    if column == "key":  # the beginning of a place; what follows it is shorter than what is added here
        bounds: list[bytes | str] = []
        for value in values:
            assert isinstance(value, bytes)
            bounds += [value, value + b"\xff" * 17]
        return " OR ".join(["place BETWEEN ? AND ?"] * len(values)), bounds
    marks = ", ".join("?" * len(values))
    blocked = f" AND fate >= {int(Fate.ECHO)}" if column == "about" else ""
    return f"{column} IN ({marks}){blocked}", values


def _row_of(line: Line, record: MemoryRecord) -> tuple[Any, ...]:
    also = " ".join(line.also)
    said_by = saying(record) if line.fate is Fate.LIVE else None
    fate = int(line.fate)
    return (line.record_id, line.place, line.said, line.object, fate, line.about, also, line.born, said_by)


def _line_from(row: tuple[Any, ...]) -> Line:
    record_id, place, said, object_, fate, about, also, born = row
    return Line(
        record_id=record_id.decode(),
        place=place,
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
    database.execute("CREATE TABLE IF NOT EXISTS catalogue_state (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
    rows = database.read("SELECT value FROM catalogue_state WHERE name = 'version'")
    if not rows or rows[0][0].decode() != _VERSION:
        database.execute("DELETE FROM catalogue_state")
        for table in ("catalogue_lines", "catalogue_holders"):
            database.execute(f"DROP TABLE IF EXISTS {table}")
        database.execute("INSERT INTO catalogue_state VALUES ('version', ?)", [_VERSION])
    for table in _TABLES:
        database.execute(table)

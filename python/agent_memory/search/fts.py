"""A search index in SQLite's full-text engine, FTS5 (SPEC section 8).

What is stored is not the text but its words as :mod:`agent_memory.search.words` takes them apart; FTS5 adds English
stemming and ranks by bm25.  A query is reduced to such words before it reaches FTS5, so no text is ever read as syntax.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Final

from agent_memory.errors import ArgumentTypeError, StoreError
from agent_memory.ports import SearchIndex
from agent_memory.stores.database import Database

from .words import STOP_WORDS, split_words

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable

    from agent_memory.records import MemoryRecord

__all__ = ["SQLiteSearchIndex"]

_TABLE: Final = (
    "CREATE VIRTUAL TABLE record_fts USING fts5(record_id UNINDEXED, body, tags, "
    "tokenize = \"porter unicode61 remove_diacritics 2 categories 'L* M* N* Co'\")"
)
_ROWS: Final = "CREATE TABLE agent_memory_rows (record_id TEXT PRIMARY KEY, row INTEGER NOT NULL)"
_LEAST_SCORE: Final = 1e-9
"""The score of a match whose words are in nearly every record, for which bm25 leaves nothing."""
_MOST_WORDS: Final = 200
"""Words of one query that are looked up; the rest is left out, since FTS5 limits how large an expression may be."""
_MOST_RESULTS: Final = 2**31 - 1


class SQLiteSearchIndex(SearchIndex):
    """Finds records by words of body and tags, in a file or in memory.  Usable from many threads and processes.

    A record is found in any state except redacted: indexing a tombstone removes what was held of the record, and its
    words leave the bytes of the file.  Another program's index in ``path`` (a table ``record_fts``) is taken over.

    Args:
        path: the file, made when it is missing; ``":memory:"`` for none.
        timeout: seconds to wait for another writer before a StoreError, 0 or more.
        prepare: called in the transaction that opens the file, to make further tables in it.

    Raises:
        StoreError: a folder, no SQLite file, one that cannot be opened, or an SQLite without FTS5.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] = ":memory:",
        *,
        timeout: float = 30.0,
        prepare: Callable[[Database], None] | None = None,
    ) -> None:
        def tables(database: Database) -> None:
            _prepare(database)
            if prepare is not None:
                prepare(database)

        self._database = Database(path, timeout=timeout, synchronous="NORMAL", prepare=tables)

    @property
    def database(self) -> Database:
        """The file it lies in, for whoever keeps tables of its own there and writes both in one transaction."""
        return self._database

    def index(self, record: MemoryRecord) -> None:
        self.index_many((record,))

    def index_many(self, records: Iterable[MemoryRecord]) -> None:
        """Add or replace several records, all of them or none."""
        with self._database.transaction():
            emptied = False
            for record in records:
                if record.redacted:
                    emptied = self._remove(record.id) or emptied
                else:
                    _store(self._database, record.id, record.body, " ".join(record.tags))
            if emptied:
                self._purge()

    def remove(self, record_id: str) -> None:
        """Forget a record; its words leave the bytes of the file.  An id the index does not hold is no error."""
        with self._database.transaction():
            if self._remove(record_id):
                self._purge()

    def clear(self) -> None:
        """Forget every record; their words leave the bytes of the file."""
        with self._database.transaction():
            self._database.execute("DELETE FROM record_fts")
            self._database.execute("DELETE FROM agent_memory_rows")
            self._purge()

    def candidates(self, query: str, k: int) -> tuple[tuple[str, float], ...]:
        """At most ``k`` (id, score) pairs of records that share a word with ``query``, best first, then by id.

        English stop words count only in a query that holds nothing else.
        """
        if not isinstance(query, str):
            raise ArgumentTypeError(f"a query must be text, not {type(query).__name__}")
        words = list(dict.fromkeys(split_words(query, query=True)))
        words = [word for word in words if word not in STOP_WORDS] or words
        if k <= 0 or not words:
            return ()
        expression = " OR ".join(_term(word) for word in words[:_MOST_WORDS])
        rows = self._database.read(
            "SELECT record_id, rank FROM record_fts WHERE record_fts MATCH ? ORDER BY rank LIMIT ?",
            [expression, min(k, _MOST_RESULTS)],
        )
        found = [(record_id.decode(), max(-rank, _LEAST_SCORE)) for record_id, rank in rows]
        found.sort(key=lambda match: (-match[1], match[0]))
        return tuple(found)

    @property
    def erasure_pending(self) -> bool:
        """Whether words of removed records may still be in the bytes of the file, because it is in use elsewhere."""
        return self._database.scrub_pending

    def close(self) -> None:
        self._database.close()

    def _remove(self, record_id: str) -> bool:
        """Delete the row of a record; whether there was one."""
        held = self._database.read("SELECT row FROM agent_memory_rows WHERE record_id = ?", [record_id])
        if held:
            self._database.execute("DELETE FROM record_fts WHERE rowid = ?", held[0])
            self._database.execute("DELETE FROM agent_memory_rows WHERE record_id = ?", [record_id])
        return bool(held)

    def _purge(self) -> None:
        """Merge the index into one segment: until then FTS5 keeps the words of deleted rows."""
        self._database.execute("INSERT INTO record_fts(record_fts) VALUES ('optimize')")
        self._database.scrub_later()


def _store(database: Database, record_id: str, body: str, tags: str) -> None:
    """Write the row of a record; one that says the same already is left as it is."""
    words = (" ".join(split_words(body)), " ".join(split_words(tags)))
    held = database.read("SELECT row FROM agent_memory_rows WHERE record_id = ?", [record_id])
    if held:
        stored = database.read("SELECT body, tags FROM record_fts WHERE rowid = ?", held[0])
        if [tuple(text.decode() for text in row) for row in stored] == [words]:
            return
        database.execute("DELETE FROM record_fts WHERE rowid = ?", held[0])
        row = held[0][0]
    else:
        row = 1 + (database.read("SELECT MAX(rowid) FROM record_fts")[0][0] or 0)
        database.execute("INSERT INTO agent_memory_rows VALUES (?, ?)", [record_id, row])
    database.execute(
        "INSERT INTO record_fts(rowid, record_id, body, tags) VALUES (?, ?, ?, ?)", [row, record_id, *words]
    )


def _term(word: str) -> str:
    """A word as an FTS5 string; a lone letter of a script without spaces finds every word it begins."""
    alone = len(word) == 1 and not word.isascii()
    return f'"{word}"' + ("*" if alone else "")


def _prepare(database: Database) -> None:
    held = {name for (name,) in database.read("SELECT name FROM sqlite_master")}
    if b"agent_memory_rows" in held:
        return
    foreign: list[tuple[bytes, bytes, bytes]] = []
    if b"record_fts" in held:
        foreign = [
            (record_id, body, tags)
            for record_id, body, tags in database.read("SELECT record_id, body, tags FROM record_fts ORDER BY rowid")
        ]
        database.execute("DROP TABLE record_fts")
    try:
        database.execute(_TABLE)
    except StoreError as error:
        if isinstance(error.__cause__, sqlite3.OperationalError) and "fts5" in str(error.__cause__):
            raise StoreError("this Python's SQLite has no FTS5; use another index, or a Python built with it") from None
        raise
    database.execute(_ROWS)
    for record_id, body, tags in foreign:
        _store(database, *(text.decode("utf-8", "replace") for text in (record_id, body, tags)))

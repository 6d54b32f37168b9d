"""Records in one SQLite file (SPEC section 16.2).

Three tables hold all there is: ``records`` the newest version of each record, ``record_tags`` its tags, ``history``
every version.  They are those of ``fg-agent-memory`` 0.2, whose programs read and write the same file.  A payload is
the record's canonical JSON, and the truth: columns and tags only serve to find it.
"""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from agent_memory.errors import StoreError
from agent_memory.ports import RecordStore, check_append, check_id, matches, unknown_id
from agent_memory.records import MemoryRecord, RecordState, RecordType
from agent_memory.stores.database import Database
from agent_memory.stores.payload import check_payload, check_record, read_record
from agent_memory.wire import is_record_id

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator
    from datetime import datetime

__all__ = ["SQLiteRecordStore"]

_TABLES: Final = {
    "records": "record_id TEXT PRIMARY KEY, seq INTEGER NOT NULL, state TEXT NOT NULL, type TEXT NOT NULL, "
    "payload TEXT NOT NULL",
    "record_tags": "record_id TEXT NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (record_id, tag)",
    "history": "record_id TEXT NOT NULL, version INTEGER NOT NULL, payload TEXT NOT NULL, "
    "PRIMARY KEY (record_id, version)",
}
_INDEXES: Final = {
    "idx_records_state": "records(state)",
    "idx_records_type": "records(type)",
    "agent_memory_records_seq": "records(seq)",
    "agent_memory_record_tags_tag": "record_tags(tag)",
}
_BATCH: Final = 500
"""Rows asked for at a time; below the least number of parameters any SQLite takes."""

_Rows: TypeAlias = "list[tuple[Any, ...]]"  # inside the class, ``list`` is a method
_Ids: TypeAlias = "list[str]"


class SQLiteRecordStore(RecordStore):
    """A store in one file, or in memory.  Usable from many threads and processes; it lists in order of first put.

    Args:
        path: the file, made when it is missing; ``":memory:"`` for none.
        timeout: seconds to wait for another writer before a StoreError, 0 or more.

    Raises:
        StoreError: a folder, a file that is no such database, or one that cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str] = ":memory:", *, timeout: float = 30.0) -> None:
        self._database = Database(path, timeout=timeout, synchronous="FULL", prepare=_prepare)

    # ------------------------------------------------------------------------------------------------------- reading

    def get(self, record_id: str) -> MemoryRecord:
        rows = self._read("SELECT payload FROM records WHERE record_id = ?", [check_id(record_id)])
        if not rows:
            raise unknown_id(record_id)
        return self._record(rows[0][0], record_id)

    def history(self, record_id: str) -> tuple[MemoryRecord, ...]:
        rows = self._read(
            "SELECT version, payload FROM history WHERE record_id = ? ORDER BY version", [check_id(record_id)]
        )
        if not rows:
            raise unknown_id(record_id)
        for expected, (number, _) in enumerate(rows, start=1):
            if number != expected:
                raise StoreError(f"{self._place(record_id)} lacks version {expected} of its history; restore a backup")
        newest = self._record(rows[-1][1], record_id, len(rows))
        if newest.redacted:  # nothing older is ever served beside a tombstone
            return (newest,) * len(rows)
        return (*(self._record(payload, record_id, number) for number, payload in rows[:-1]), newest)

    def list(
        self,
        *,
        state: RecordState | None = None,
        type: RecordType | None = None,
        tag: str | None = None,
    ) -> tuple[MemoryRecord, ...]:
        wanted = {
            "state = ?": state,
            "type = ?": type,
            "record_id IN (SELECT record_id FROM record_tags WHERE tag = ?)": _storable(tag),
        }
        given = {condition: str(value) for condition, value in wanted.items() if value is not None}
        rows = self._read(
            # the conditions are the constants above, never text of a caller
            f"SELECT record_id, payload FROM records WHERE {' AND '.join(given) or '1'} ORDER BY seq, rowid",  # noqa: S608
            given.values(),
        )
        found: list[MemoryRecord] = []
        for identifier, payload in rows:
            record = self._readable(identifier, payload)
            if record is not None and matches(record, state, type, tag):
                found.append(record)
        return tuple(found)

    def get_many(self, record_ids: Iterable[str]) -> dict[str, MemoryRecord]:
        wanted = dict.fromkeys(record_id for record_id in record_ids if is_record_id(record_id))
        found: dict[str, MemoryRecord] = {}
        for some in _batches(wanted):
            marks = ", ".join("?" * len(some))
            for identifier, payload in self._read(
                f"SELECT record_id, payload FROM records WHERE record_id IN ({marks})",  # noqa: S608 - question marks
                some,
            ):
                if (record := self._readable(identifier, payload)) is not None:
                    found[record.id] = record
        return {record_id: found[record_id] for record_id in wanted if record_id in found}

    def payloads(self) -> Iterator[bytes]:
        """Canonical bytes of the newest version of every record, in the order of :meth:`list`, without building any.

        Read a few hundred at a time, so that nothing else waits; a version put meanwhile may or may not be among them.
        """
        last = (-1, -1)
        while rows := self._read(
            "SELECT record_id, payload, seq, rowid FROM records WHERE (seq, rowid) > (?, ?) "
            "ORDER BY seq, rowid LIMIT ?",
            [*last, _BATCH],
        ):
            for identifier, payload, _, _ in rows:
                try:
                    record_id = check_id(_text(identifier))
                    yield check_payload(_bytes(payload), record_id, self._place(record_id))[1]
                except StoreError:
                    continue
            last = rows[-1][2:]

    def damaged(self) -> tuple[tuple[str, str], ...]:
        """What cannot be read, as (where in the file, what it is), sorted.  Reads every version."""
        found: list[tuple[str, str]] = []
        numbers: dict[str, int] = {}
        for table, version in (("records", "0"), ("history", "version")):
            last = -1
            while rows := self._read(
                f"SELECT rowid, record_id, {version}, payload FROM {table} "  # noqa: S608 - constants
                "WHERE rowid > ? ORDER BY rowid LIMIT ?",
                [last, _BATCH],
            ):
                last = rows[-1][0]
                for _, identifier, number, payload in rows:
                    record_id = _text(identifier)
                    place = self._place(record_id, number)
                    if table == "history":
                        numbers[record_id] = numbers.get(record_id, 0) + 1
                    try:
                        read_record(_bytes(payload), check_id(record_id), "it")
                    except StoreError as error:
                        found.append((place, str(error)))
        for identifier, highest in self._read("SELECT record_id, MAX(version) FROM history GROUP BY record_id"):
            record_id = _text(identifier)
            if numbers.get(record_id) != highest:
                found.append((self._place(record_id), "its history has a gap; restore a backup"))
        return tuple(sorted(found))

    # ------------------------------------------------------------------------------------------------------- writing

    def put(self, record: MemoryRecord) -> None:
        self.put_many((record,))

    def put_many(self, records: Iterable[MemoryRecord]) -> None:
        with self._database.transaction():
            for record in records:
                self._append(record)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All writes of the block or none, and no other writer in between, in this and other processes; re-entrant.

        Raises:
            StoreError: another writer holds the file longer than the timeout, or the disk failed.
        """
        with self._database.transaction():
            yield

    def redact(self, record_id: str, reason: str, *, now: datetime | None = None) -> MemoryRecord:
        """Replace every version of a record by one tombstone, which is returned; the number of versions stays.

        After the commit the file is written anew and its log emptied, so that no byte of the content is left; when
        somebody reading the file prevents that, :attr:`erasure_pending` says so.

        Raises:
            StoreError: an unknown or malformed id, or no version that can be read.
            RecordError: no reason, or it is redacted already.
        """
        with self._database.transaction():
            rows = self._read(
                "SELECT version, payload FROM history WHERE record_id = ? ORDER BY version DESC", [check_id(record_id)]
            )
            newest = self._read("SELECT 0, payload FROM records WHERE record_id = ?", [record_id])
            if not newest:
                raise unknown_id(record_id)
            tombstone = self._tombstone(record_id, [*newest, *rows], reason, now)
            payload = tombstone.canonical_bytes().decode()
            self._database.execute("UPDATE history SET payload = ? WHERE record_id = ?", [payload, record_id])
            self._set_newest(tombstone, payload)
            self._database.scrub_later()
        return tombstone

    @property
    def erasure_pending(self) -> bool:
        """Whether redacted content may still be in the bytes of the file or its log, because it is in use elsewhere."""
        return self._database.scrub_pending

    def scrub(self) -> bool:
        """Try again to empty the bytes of redacted content; True when nothing is pending any more."""
        return self._database.scrub()

    def close(self) -> None:
        self._database.close()

    def _append(self, record: MemoryRecord) -> None:
        payload = check_record(record).canonical_bytes().decode()
        held = self._read("SELECT payload FROM records WHERE record_id = ?", [record.id])
        check_append(self._record(held[0][0], record.id) if held else None, record)
        self._database.execute(
            "INSERT INTO history SELECT ?1, COALESCE(MAX(version), 0) + 1, ?2 FROM history WHERE record_id = ?1",
            [record.id, payload],
        )
        self._set_newest(record, payload)

    def _set_newest(self, record: MemoryRecord, payload: str) -> None:
        self._database.execute(
            "INSERT INTO records VALUES (?, (SELECT COALESCE(MAX(seq), 0) + 1 FROM records), ?, ?, ?) "
            "ON CONFLICT (record_id) DO UPDATE SET state = excluded.state, type = excluded.type, "
            "payload = excluded.payload",
            [record.id, record.state.value, record.type.value, payload],
        )
        self._database.execute("DELETE FROM record_tags WHERE record_id = ?", [record.id])
        self._database.execute_many(
            "INSERT OR IGNORE INTO record_tags VALUES (?, ?)", [(record.id, tag) for tag in record.tags]
        )

    def _tombstone(self, record_id: str, rows: _Rows, reason: str, now: datetime | None) -> MemoryRecord:
        """The tombstone to write: that of the newest version that can be read, or one that stands over content."""
        versions = [
            record for _, payload in rows if (record := self._readable(record_id.encode(), payload)) is not None
        ]
        if not versions:
            raise StoreError(
                f"no version of {self._place(record_id)} can be read, so nothing is known that a tombstone keeps; "
                "delete its rows to destroy its content"
            )
        newest = versions[0]
        finished = len(versions) == len(rows) and all(version == newest for version in versions)
        if newest.redacted and not finished:
            return newest
        return MemoryRecord.tombstone(newest, reason=reason, now=now)

    # ------------------------------------------------------------------------------------------------------------ rows

    def _read(self, sql: str, values: Iterable[Any] = ()) -> _Rows:
        return self._database.read(sql, values)

    def _record(self, payload: object, record_id: str, number: int = 0) -> MemoryRecord:
        return read_record(_bytes(payload), record_id, self._place(record_id, number))

    def _readable(self, identifier: object, payload: object) -> MemoryRecord | None:
        """The record of a row, or None when it is damaged."""
        try:
            return self._record(payload, check_id(_text(identifier)))
        except StoreError:
            return None

    def _place(self, record_id: str, number: int = 0) -> str:
        return f"{self._database.path}#{record_id}" + (f" version {number}" if number else "")


def _prepare(database: Database) -> None:
    held = {_text(row[0]) for row in database.read("SELECT name FROM sqlite_master")}
    for table, columns in _TABLES.items():
        if table not in held:
            database.execute(f"CREATE TABLE {table} ({columns})")
        names = [_text(row[1]) for row in database.read(f"PRAGMA table_info({table})")]
        wanted = [column.split()[0] for column in columns.split(", PRIMARY KEY")[0].split(", ")]
        if names != wanted:
            raise StoreError(f"{database.path} has a table {table} that is not a memory's; give another path")
    for index, columns in _INDEXES.items():
        if index not in held:
            database.execute(f"CREATE INDEX {index} ON {columns}")


def _storable(tag: str | None) -> str | None:
    """``tag``, or a text no record has where SQLite would refuse it (a lone surrogate, which no tag holds either)."""
    if tag is None:
        return None
    try:
        tag.encode()
    except UnicodeEncodeError:
        return ""
    return tag


def _bytes(value: object) -> bytes:
    """A payload as it lies in the file, whether it was stored as text or as a blob."""
    return value if isinstance(value, bytes) else str(value).encode()


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _batches(record_ids: Iterable[str]) -> Iterator[_Ids]:
    remaining = iter(record_ids)
    while some := list(itertools.islice(remaining, _BATCH)):
        yield some

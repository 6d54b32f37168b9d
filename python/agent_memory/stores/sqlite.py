"""Records in one SQLite file (SPEC section 16.2).

Three tables hold all there is: ``records`` the newest version of each record, ``record_tags`` its tags, ``history``
every version.  They are those of ``fg-agent-memory`` 0.2, whose programs read and write the same file.  A payload is
the record's canonical JSON, and the truth: columns and tags only serve to find it.  Beside them lie tables of our own
(:mod:`agent_memory.stores.schema`): what changed, by whatever program, and keys, scopes and sources to find records by.
"""

from __future__ import annotations

import itertools
import unicodedata
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

from agent_memory import kernel
from agent_memory.errors import ArgumentError, StoreError
from agent_memory.ports import RecordStore, check_append, check_id, matches, unknown_id
from agent_memory.records import MemoryRecord, RecordState, RecordType
from agent_memory.wire import is_record_id

from . import schema, sqlite_changes, sqlite_keys
from .database import Database
from .payload import check_payload, check_record, read_record

if TYPE_CHECKING:
    import os
    import sqlite3
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

__all__ = ["SQLiteRecordStore"]

_BATCH: Final = 500
"""Rows asked for at a time; below the least number of parameters any SQLite takes."""

_NEWEST: Final = "SELECT payload FROM records WHERE record_id = ?"
_ADD_VERSION: Final = (
    "INSERT INTO history VALUES (?1, (SELECT COALESCE(MAX(version), 0) + 1 FROM history WHERE record_id = ?1), ?2)"
)
_SET_NEWEST: Final = (
    "INSERT INTO records VALUES (?, (SELECT COALESCE(MAX(seq), 0) + 1 FROM records), ?, ?, ?) "
    "ON CONFLICT (record_id) DO UPDATE SET state = excluded.state, type = excluded.type, payload = excluded.payload"
)
_DROP_TAGS: Final = "DELETE FROM record_tags WHERE record_id = ?"
_ADD_TAG: Final = "INSERT OR IGNORE INTO record_tags VALUES (?, ?)"

_Rows: TypeAlias = "list[tuple[Any, ...]]"  # inside the class, ``list`` is a method
_Records: TypeAlias = "Sequence[MemoryRecord]"
_Item = TypeVar("_Item")


class SQLiteRecordStore(RecordStore):
    """A store in one file, or in memory.  Usable from many threads and processes; it lists in order of first put.

    Args:
        path: the file, made when it is missing; ``":memory:"`` for none.
        timeout: seconds to wait for another process that writes before a StoreError, 0 or more.  Threads that share
            this store wait for each other as long as it takes.
        durability: ``"full"``: what was written when a call returns survives a power cut.  ``"normal"``: the last
            writes may be lost to one, never half of a transaction, and a put is many times faster; what a process had
            written when it was killed survives, and an erasure is as durable as with ``"full"``.

    Raises:
        StoreError: a folder, a file that is no such database, one of a newer version, or one that cannot be opened.
        ArgumentError: another durability.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] = ":memory:",
        *,
        timeout: float = 30.0,
        durability: Literal["full", "normal"] = "full",
    ) -> None:
        if durability not in {"full", "normal"}:
            raise ArgumentError(f"durability must be 'full' or 'normal', not {durability!r}")
        self._database = Database(
            path, timeout=timeout, synchronous=durability.upper(), prepare=schema.prepare, ready=schema.is_ready
        )
        self._unpruned = 0
        self._prune(whole=True)

    # ------------------------------------------------------------------------------------------------------- reading

    def get(self, record_id: str) -> MemoryRecord:
        rows = self._read(_NEWEST, [check_id(record_id)])
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
            "record_id IN (SELECT record_id FROM record_tags WHERE tag = ?)": None if tag is None else _storable(tag),
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
            for record_id, payload in self._newest_payloads(some).items():
                if (record := self._readable(record_id, payload)) is not None:
                    found[record_id] = record
        return {record_id: found[record_id] for record_id in wanted if record_id in found}

    def find(self, **values: str | None) -> tuple[MemoryRecord, ...]:
        """The newest versions of the records with all the given values, in the order of :meth:`list`.

        Args:
            values: any of ``key``, ``source`` (``provenance.ref``), ``project``, ``user_id``, ``agent_id`` and
                ``session_id``, compared after NFC; None does not filter.

        The index is brought in step first, which writes: work for each record changed since the last find, whoever
        changed it, and for every record the first time.

        Raises:
            StoreError: it was out of step and another writer holds the file longer than the timeout.
        """
        given = {name: unicodedata.normalize("NFC", value) for name, value in values.items() if value is not None}
        if unknown := values.keys() - schema.KEY_COLUMNS:
            raise ArgumentError(f"records are not found by {sorted(unknown)}; use {', '.join(schema.KEY_COLUMNS)}")
        if not given:
            return self.list()
        rows = sqlite_keys.find_rows(self._database, {name: _storable(value) for name, value in given.items()})
        records = [self._readable(record_id, payload) for record_id, payload in rows]
        return tuple(record for record in records if record is not None and _has(record, given))

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

    def changes(self, since: str | None = None) -> tuple[str, tuple[str, ...] | None]:
        """As the port says; writes of other programs too.  In a transaction it tells what that has written as well."""
        return sqlite_changes.changes(self._database, since)

    # ------------------------------------------------------------------------------------------------------- writing

    def put(self, record: MemoryRecord) -> None:
        payload = check_record(record).canonical_bytes().decode()
        database, record_id = self._database, record.id
        statements = [
            (_ADD_VERSION, (record_id, payload)),
            (_SET_NEWEST, (record_id, record.state.value, record.type.value, payload)),
            *((_ADD_TAG, (record_id, tag)) for tag in record.tags),
        ]
        with database.transaction():
            held = database.read(_NEWEST, (record_id,))
            if held:
                self._check_held(held[0][0], record, payload)
                statements.insert(0, (_DROP_TAGS, (record_id,)))
            database.execute_all(statements)
        self._wrote(1)

    def put_many(self, records: Iterable[MemoryRecord]) -> None:
        count = 0
        with self._database.transaction():
            for some in _batches(records):
                self._append(some)
                count += len(some)
        self._wrote(count)

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
            self._set_newest([(tombstone, payload)], [record_id])
            self._database.scrub_later()
        return tombstone

    @property
    def erasure_pending(self) -> bool:
        """Whether redacted content may still be in the bytes of the file or its log, because it is in use elsewhere."""
        return self._database.scrub_pending

    def scrub(self) -> bool:
        """Try again to empty the bytes of redacted content; True when nothing is pending any more."""
        return self._database.scrub()

    def backup(self, destination: str | os.PathLike[str]) -> None:
        """Write all of it, every version, to a new file, as it is committed at this moment, while others go on writing.

        The copy appears under its name when it is whole and on the disk.  It holds nothing that was erased, and its
        cursors are its own: where it is put in the place of this file, what follows :meth:`changes` reads everything.

        Raises:
            StoreError: ``destination`` exists, its folder does not, or the disk failed; nothing is left there then.
        """

        def make_its_own(copy: sqlite3.Connection) -> None:
            copy.execute("UPDATE agent_memory_meta SET value = ? WHERE name = 'generation'", [schema.generation()])
            copy.execute("DELETE FROM agent_memory_scrub")  # VACUUM has left nothing to remove

        self._database.copy_to(Path(destination), make_its_own)

    def close(self) -> None:
        self._database.close()

    def _append(self, records: _Records) -> None:
        """Append versions: each statement once for all of them, and for an id that comes twice its last one listed."""
        for record in records:
            check_record(record)
        held = self._newest_payloads({record.id for record in records})
        newest: dict[str, tuple[MemoryRecord, str]] = {}
        versions: _Rows = []
        for record in records:
            payload = record.canonical_bytes().decode()
            if record.id in newest:
                check_append(newest[record.id][0], record)
            elif record.id in held:
                self._check_held(held[record.id], record, payload)
            newest[record.id] = record, payload
            versions.append((record.id, payload))
        self._database.execute_many(_ADD_VERSION, versions)
        self._set_newest(newest.values(), held)

    def _check_held(self, held: object, record: MemoryRecord, payload: str) -> None:
        """Raise StoreError when the newest version, which is ``held``, cannot be read or must not be followed."""
        if held == payload.encode() or (isinstance(held, bytes) and kernel.plain_record(held, record.id) is not None):
            return
        check_append(self._record(held, record.id), record)

    def _newest_payloads(self, record_ids: Collection[str]) -> dict[str, object]:
        """What lies in ``records`` for at most ``_BATCH`` ids."""
        marks = ", ".join("?" * len(record_ids))
        rows = self._read(
            f"SELECT record_id, payload FROM records WHERE record_id IN ({marks})",  # noqa: S608 - question marks
            record_ids,
        )
        return {_text(record_id): payload for record_id, payload in rows}

    def _set_newest(self, newest: Iterable[tuple[MemoryRecord, str]], held: Collection[str]) -> None:
        rows = [(record.id, record.state.value, record.type.value, payload) for record, payload in newest]
        self._database.execute_many(_SET_NEWEST, rows)
        if held:
            self._database.execute_many(_DROP_TAGS, [(name,) for name in held])
        tags = [(record.id, tag) for record, _ in newest for tag in record.tags]
        if tags:
            self._database.execute_many(_ADD_TAG, tags)

    def _wrote(self, count: int) -> None:
        self._unpruned += count
        if self._unpruned > sqlite_changes.KEPT:
            self._prune()

    def _prune(self, *, whole: bool = False) -> None:
        if not self._database.in_transaction:
            self._unpruned = 0
            with suppress(StoreError):  # what was written is written; it is tried again
                sqlite_changes.prune(self._database, whole=whole)

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


def _storable(text: str) -> str:
    """``text``, or one no record has where SQLite would refuse it (a lone surrogate, which no record holds either)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return ""
    return text


def _has(record: MemoryRecord, values: Mapping[str, str]) -> bool:
    """Whether a record has all the values of :meth:`SQLiteRecordStore.find`."""
    held = {"key": record.key, "source": record.provenance.ref}
    return all((held[name] if name in held else getattr(record.scope, name)) == values[name] for name in values)


def _bytes(value: object) -> bytes:
    """A payload as it lies in the file, whether it was stored as text or as a blob."""
    return value if isinstance(value, bytes) else str(value).encode()


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _batches(items: Iterable[_Item]) -> Iterator[Sequence[_Item]]:
    remaining = iter(items)
    while some := list(itertools.islice(remaining, _BATCH)):
        yield some

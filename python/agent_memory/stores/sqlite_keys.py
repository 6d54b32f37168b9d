"""Finding records in an SQLite file by key, source and scope (SPEC section 16.2).

These lie inside the payload, which every program may write, so the table with them follows the log of changes: it is
brought in step when something is looked for, never while something is written.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from . import sqlite_changes
from .schema import KEY_COLUMNS, meta, set_meta

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from .database import Database

__all__ = ["find_rows"]

_BATCH: Final = 500
_SET: Final = "INSERT OR REPLACE INTO agent_memory_keys VALUES (?, ?, ?, ?, ?, ?, ?)"


def find_rows(database: Database, values: Mapping[str, str]) -> list[tuple[Any, ...]]:
    """(id, payload) of the records that may have all the values, columns of the table, in order of first put.

    Work for each record changed since the last time, whoever changed it, and for every record the first time.
    """
    _bring_in_step(database)
    conditions = " AND ".join(f"agent_memory_keys.{name} = ?" for name in KEY_COLUMNS if name in values)
    return database.read(
        # the conditions are constants, never text of a caller
        "SELECT records.record_id, payload FROM agent_memory_keys JOIN records USING (record_id) "  # noqa: S608
        f"WHERE {conditions} ORDER BY seq, records.rowid",
        [values[name] for name in KEY_COLUMNS if name in values],
    )


def _bring_in_step(database: Database) -> None:
    if sqlite_changes.changes(database, meta(database, "keys"))[1] == ():
        return
    with database.transaction():
        cursor, ids = sqlite_changes.changes(database, meta(database, "keys"))
        if ids is None:
            database.execute("DELETE FROM agent_memory_keys")
        for payloads in _all(database) if ids is None else _some(database, ids):
            rows = (keys_of(record_id, payload) for record_id, payload in payloads)
            database.execute_many(_SET, (row for row in rows if row is not None))
        set_meta(database, "keys", cursor)


def _all(database: Database) -> Iterator[list[tuple[Any, ...]]]:
    last = -1
    while rows := database.read(
        "SELECT record_id, payload, rowid FROM records WHERE rowid > ? ORDER BY rowid LIMIT ?", [last, _BATCH]
    ):
        yield [row[:2] for row in rows]
        last = rows[-1][2]


def _some(database: Database, ids: Iterable[str]) -> Iterator[list[tuple[Any, ...]]]:
    remaining = iter(ids)
    while some := list(islice(remaining, _BATCH)):
        marks = ", ".join("?" * len(some))
        yield database.read(
            f"SELECT record_id, payload FROM records WHERE record_id IN ({marks})",  # noqa: S608 - question marks
            some,
        )


def keys_of(record_id: object, payload: object) -> tuple[str | None, ...] | None:
    """The row of a record as it lies in the file, or None when it has nothing to be found by.

    Reads no more than it needs: the row only serves to find a record, which is read and compared after that.
    """
    if not isinstance(record_id, bytes) or not isinstance(payload, bytes):
        return None
    try:
        wire = json.loads(payload)
    except (ValueError, RecursionError):
        return None
    extension = _member(wire, "agent_memory")
    scope = _member(extension, "scope")
    found = {"key": _member(extension, "key"), "source": _member(_member(wire, "provenance"), "ref")}
    row = [_text(found[name] if name in found else _member(scope, name)) for name in KEY_COLUMNS]
    return (record_id.decode("utf-8", "replace"), *row) if any(value is not None for value in row) else None


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _text(value: object) -> str | None:
    """``value`` when it is text that SQLite takes."""
    if not isinstance(value, str):
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        return None
    return value

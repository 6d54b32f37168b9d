"""The tables of a memory in SQLite: the peer's three, and those of our own beside them (SPEC section 16.2).

``records``, ``record_tags`` and ``history`` are those of ``fg-agent-memory`` 0.2, whose programs read and write the
same file and expect ``user_version`` 0.  What this package adds has names that begin with ``agent_memory_``, and a
schema version in a table of its own.

Other programs know nothing of these tables, so triggers fill them.  A trigger runs in the connection of whoever writes,
and one that failed would fail that write.  So triggers do only what cannot fail: they note ids and forget what may have
become wrong.  Payloads are taken apart later, by this package (:mod:`agent_memory.stores.sqlite_keys`).
"""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING, Final

from agent_memory.errors import StoreError

from .database import PENDING

if TYPE_CHECKING:
    from collections.abc import Callable

    from .database import Database

__all__ = ["KEY_COLUMNS", "generation", "is_ready", "meta", "prepare", "set_meta"]

KEY_COLUMNS: Final = ("key", "source", "project", "user_id", "agent_id", "session_id")
"""By what records are found besides id, state, type and tag."""

_SHARED: Final = {
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
_TABLES: Final = (
    "CREATE TABLE agent_memory_meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID",
    # the mark tells an entry from another that has its number in an older or a newer copy of the file
    "CREATE TABLE agent_memory_changes (change INTEGER PRIMARY KEY, record_id, mark)",
    f"CREATE TABLE agent_memory_keys (record_id PRIMARY KEY, {', '.join(KEY_COLUMNS)}) WITHOUT ROWID",
    *(
        f"CREATE INDEX agent_memory_keys_{name} ON agent_memory_keys({name}) WHERE {name} IS NOT NULL"
        for name in KEY_COLUMNS
    ),
)
_OWN: Final = frozenset({"agent_memory_meta", "agent_memory_changes", "agent_memory_keys"})
_GENERATION: Final = re.compile(rb"[0-9a-f]{16}")
_NOTE: Final = "INSERT INTO agent_memory_changes (record_id, mark) VALUES ({0}.record_id, random());"
_FORGET: Final = " DELETE FROM agent_memory_keys WHERE record_id = {0}.record_id;"
_RENAMED: Final = (
    "INSERT INTO agent_memory_changes (record_id, mark) "
    "SELECT OLD.record_id, random() WHERE OLD.record_id IS NOT NEW.record_id;"
)
_NEW, _OLD = (_NOTE + _FORGET).format("NEW"), (_NOTE + _FORGET).format("OLD")
_TRIGGERS: Final = {
    # a row replaced by INSERT OR REPLACE, as the peer does, is an insertion only
    "records_insert": f"AFTER INSERT ON records BEGIN {_NEW} END",
    "records_update": f"AFTER UPDATE ON records BEGIN {_RENAMED} {_NEW}{_FORGET.format('OLD')} END",
    "records_delete": f"AFTER DELETE ON records BEGIN {_OLD} END",
    "history_insert": f"AFTER INSERT ON history BEGIN {_NOTE.format('NEW')} END",
    "history_update": f"AFTER UPDATE ON history BEGIN {_RENAMED} {_NOTE.format('NEW')} END",
    "history_delete": f"AFTER DELETE ON history BEGIN {_NOTE.format('OLD')} END",
}
_CREATED: Final = {
    f"agent_memory_{name}": f"CREATE TRIGGER agent_memory_{name} {does}" for name, does in _TRIGGERS.items()
}


def is_ready(database: Database) -> bool:
    """Whether the file needs no :func:`prepare`.

    Raises:
        StoreError: a newer version of this package wrote it.
    """
    held = _held(database)
    return (
        "agent_memory_scrub" in held
        and held.keys() >= _SHARED.keys() | _INDEXES.keys()
        and _version(database, held) == len(_MIGRATIONS)
        and _has_generation(database)
        and all(held.get(name) == sql for name, sql in _CREATED.items())
    )


def prepare(database: Database) -> None:
    """Make or bring up to date what is missing, in the transaction the caller has begun.

    Raises:
        StoreError: a table of that name that is another program's, or a newer version of this package wrote the file.
    """
    held = _held(database)
    database.execute(PENDING)
    version = _version(database, held)
    if not version:  # none yet, or what somebody left of them; all they hold can be made again
        for table in _OWN:
            database.execute(f"DROP TABLE IF EXISTS {table}")
    for table, columns in _SHARED.items():
        if table not in held:
            database.execute(f"CREATE TABLE {table} ({columns})")
        names = [row[1].decode() for row in database.read(f"PRAGMA table_info({table})")]
        if names != [column.split()[0] for column in columns.split(", PRIMARY KEY")[0].split(", ")]:
            raise StoreError(f"{database.path} has a table {table} that is not a memory's; give another path")
    for index, columns in _INDEXES.items():
        if index not in held:
            database.execute(f"CREATE INDEX {index} ON {columns}")
    for migrate in _MIGRATIONS[version:]:
        migrate(database)
    if version != len(_MIGRATIONS):
        set_meta(database, "schema", len(_MIGRATIONS))
    held = _held(database)
    if not _has_generation(database) or any(held.get(name) != sql for name, sql in _CREATED.items()):
        for name, sql in _CREATED.items():
            database.execute(f"DROP TRIGGER IF EXISTS {name}")
            database.execute(sql)
        # what was written without them is not known, so no cursor may go on from there
        set_meta(database, "generation", generation())


def generation() -> str:
    """A name for a file that none had before."""
    return secrets.token_hex(8)


def meta(database: Database, name: str) -> str | None:
    """A value this package keeps about the file."""
    rows = database.read("SELECT CAST(value AS TEXT) FROM agent_memory_meta WHERE name = ?", [name])
    return rows[0][0].decode("utf-8", "replace") if rows and rows[0][0] is not None else None


def set_meta(database: Database, name: str, value: str | int) -> None:
    database.execute("INSERT OR REPLACE INTO agent_memory_meta VALUES (?, ?)", [name, value])


def _first(database: Database) -> None:
    for sql in _TABLES:
        database.execute(sql)


_MIGRATIONS: Final[tuple[Callable[[Database], None], ...]] = (_first,)
"""What leads from each schema version to the next; none is ever changed or removed."""


def _held(database: Database) -> dict[str, str]:
    """Names in the file, each with the statement that made it."""
    return {
        name.decode("utf-8", "replace"): (sql or b"").decode("utf-8", "replace")
        for name, sql in database.read("SELECT name, sql FROM sqlite_master")
    }


def _has_generation(database: Database) -> bool:
    rows = database.read("SELECT value FROM agent_memory_meta WHERE name = 'generation' AND typeof(value) = 'text'")
    return bool(rows) and _GENERATION.fullmatch(rows[0][0]) is not None


def _version(database: Database, held: dict[str, str]) -> int:
    text = meta(database, "schema") if "agent_memory_meta" in held else None
    version = int(text) if text is not None and text.isascii() and text.isdecimal() else 0
    if version > len(_MIGRATIONS):
        raise StoreError(
            f"{database.path} has version {version} of the tables of agent-memory, and this one knows "
            f"{len(_MIGRATIONS)}; update the package"
        )
    return version if held.keys() >= _OWN else 0

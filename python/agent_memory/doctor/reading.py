"""Every version of a memory as it lies on the disk, read without opening a store.

A store finishes what a crash interrupted, makes tables and takes locks when it is opened.  An examination must leave
everything as it is, so it reads by itself.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import count, islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from agent_memory.errors import RecordError, StoreError
from agent_memory.stores import durable, layout
from agent_memory.wire import is_record_id, parse_json

from .finding import Finding

__all__ = ["Version", "check_path", "leftover", "open_read_only", "versions"]

_TABLES: Final = {
    "records": ["record_id", "seq", "state", "type", "payload"],
    "record_tags": ["record_id", "tag"],
    "history": ["record_id", "version", "payload"],
}
_INDEXED: Final = "its state, type or tags are indexed otherwise than its newest version has them; migrate it"


class Version(NamedTuple):
    """The bytes of one version, and where they lie."""

    where: str
    record_id: str
    number: int
    data: bytes


def versions(path: Path) -> Iterator[Version | Finding]:
    """The versions in the memory at ``path``, those of a record one after the other, oldest first; and what is none."""
    return _read_folder(path / "records") if path.is_dir() else _read_database(path)


# ------------------------------------------------------------------ a folder of files


def _read_folder(root: Path) -> Iterator[Version | Finding]:
    """The versions below ``root``, those of a record one after the other, oldest first; and what is no version."""
    for path in _entries(root):
        if path.name.startswith(durable.TEMP_PREFIX):
            yield leftover(path)
        elif path.name.startswith("."):
            continue
        elif path.is_symlink():
            yield Finding("foreign", str(path), "is a symbolic link, which a store does not follow; remove it")
        elif not layout.is_folder_name(path.name) or not path.is_dir():
            yield Finding("foreign", str(path), "is no record folder; move it out of here")
        else:
            yield from _read_record_folder(path)


def _read_record_folder(folder: Path) -> Iterator[Version | Finding]:
    record_id = f"mem:{folder.name}"
    numbers: list[int] = []
    for path in _entries(folder):
        if path.name.startswith(durable.TEMP_PREFIX):
            yield leftover(path)
        elif not layout.is_version(path.name):
            if not path.name.startswith("."):
                yield Finding("foreign", str(path), "is no version of a record; move it out of here")
        else:
            number = int(path.stem)
            numbers.append(number)
            if path.is_symlink() or not path.is_file():
                yield Finding("foreign", str(path), "stands where a version should, but is no plain file; restore it")
                continue
            try:
                data = layout.read(path)
            except FileNotFoundError:
                continue  # a failed write that was taken back meanwhile
            except OSError as error:
                yield Finding("torn", str(path), str(durable.failure(error, "cannot be read")))
                continue
            yield Version(str(path), record_id, number, data)
    yield from _gaps(str(folder), numbers)


def _gaps(where: str, numbers: list[int]) -> Iterator[Finding]:
    present = {number for number in numbers if number > 0}
    missing = max(present, default=0) - len(present)
    if missing:
        first = islice((number for number in count(1) if number not in present), min(missing, 5))
        named = ", ".join(map(str, first)) + (f" and {missing - 5} more" if missing > 5 else "")
        yield Finding("gap", where, f"lacks version {named} while later ones are there; restore a backup")


def leftover(path: Path) -> Finding:
    """The finding for a file whose name says that it is not finished."""
    folder = path.is_dir() and not path.is_symlink()
    return Finding("leftover", str(path), "was never finished; it can be removed", repairable=not folder)


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(layout.entries(folder), key=lambda path: (len(path.name), path.name))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise durable.failure(error, f"cannot read {folder}") from error


# ------------------------------------------------------------------ a database


@contextmanager
def open_read_only(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that writes nothing and makes no file.

    Where a program has the database open, or was killed while it had, SQLite takes locks in the ``-shm`` file that lies
    beside it, as every reader does; what that file holds is no part of the memory.

    Raises:
        sqlite3.Error: it is no database, or is damaged.
    """
    with ExitStack() as stack:
        source, options = path, "mode=ro"
        log, shared, journal = (path.with_name(path.name + suffix) for suffix in ("-wal", "-shm", "-journal"))
        if (_size(log) or _size(journal)) and not (shared.exists() and _size(log)):
            # What a crash left can only be read by finishing it, which is done in a copy.
            place = stack.enter_context(tempfile.TemporaryDirectory(prefix="agent-memory-doctor-"))
            source, options = Path(place) / "copy.db", "mode=rw"
            for suffix in ("", "-wal", "-journal"):
                if path.with_name(path.name + suffix).exists():
                    shutil.copyfile(path.with_name(path.name + suffix), source.with_name(source.name + suffix))
        elif not (shared.exists() and log.exists()):
            options = "mode=ro&immutable=1"
        uri = f"{source.resolve().as_uri()}?{options}"
        connection = stack.enter_context(closing(sqlite3.connect(uri, uri=True)))
        connection.text_factory = bytes
        connection.execute("PRAGMA busy_timeout=30000")
        yield connection


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise durable.failure(error, f"cannot read {path}") from error


def _read_database(path: Path) -> Iterator[Version | Finding]:
    """The versions in the file, those of a record one after the other, oldest first; and what disagrees with them.

    All of it is read at one moment, whoever writes meanwhile.
    """
    try:
        with open_read_only(path) as connection:
            connection.execute("BEGIN")
            yield from _read_tables(path, connection)
    except sqlite3.Error as error:
        yield Finding("torn", str(path), f"is no database, or is damaged; restore a backup (SQLite says: {error})")
    except OSError as error:
        raise durable.failure(error, f"cannot read {path}") from error


def _read_tables(path: Path, connection: sqlite3.Connection) -> Iterator[Version | Finding]:
    held = {_text(name) for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table, columns in _TABLES.items():
        named = [_text(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")]
        if named[: len(columns)] != columns:
            yield Finding("torn", f"{path}#{table}", "is not the table of a memory; give another path")
            return
    for (said,) in connection.execute("PRAGMA quick_check(20)").fetchall():
        if _text(said) != "ok":
            yield Finding("torn", str(path), f"is damaged; restore a backup (SQLite says: {_text(said)})")
    if "agent_memory_scrub" in held and connection.execute("SELECT 1 FROM agent_memory_scrub").fetchone():
        yield Finding(
            "interrupted",
            str(path),
            "redacted content may still be in its bytes; close every program that uses it, then open it once",
        )
    tags: dict[str, set[str]] = {}
    for identifier, tag in connection.execute("SELECT record_id, tag FROM record_tags"):
        tags.setdefault(_text(identifier), set()).add(_text(tag))
    rows = {
        _text(identifier): (_text(state), _text(kind), _data(payload))
        for identifier, state, kind, payload in connection.execute(
            "SELECT record_id, state, type, payload FROM records"
        )
    }
    last: Version | None = None
    numbers: list[int] = []
    for identifier, number, payload in connection.execute(
        "SELECT record_id, version, payload FROM history ORDER BY record_id, version"
    ):
        record_id = _text(identifier)
        if last is not None and last.record_id != record_id:
            yield from _end(path, last, numbers, rows, tags)
            numbers = []
        where = f"{path}#{record_id} version {number}"
        if not is_record_id(record_id):
            yield Finding("foreign", where, "is a row with something that is no record id; delete it")
        if isinstance(number, int):
            numbers.append(number)
        else:
            yield Finding("foreign", where, "is a row with something that is no number of a version; delete it")
        last = Version(where, record_id, number if isinstance(number, int) else 0, _data(payload))
        if is_record_id(record_id):
            yield last
    if last is not None:
        yield from _end(path, last, numbers, rows, tags)
    for record_id in sorted(rows):
        yield Finding("gap", f"{path}#{record_id}", "has a newest version but no history; restore a backup")
    for record_id in sorted(tags):
        yield Finding("index", f"{path}#{record_id}", "has tags but no versions; delete its rows in record_tags")


def _end(
    path: Path,
    last: Version,
    numbers: list[int],
    rows: dict[str, tuple[str, str, bytes]],
    tags: dict[str, set[str]],
) -> Iterator[Finding]:
    """What is to be said when all versions of a record have been seen; takes it out of ``rows`` and ``tags``."""
    where = f"{path}#{last.record_id}"
    yield from _gaps(where, numbers)
    row = rows.pop(last.record_id, None)
    tagged = tags.pop(last.record_id, set())
    if row is None:
        yield Finding("gap", where, "has a history but no newest version; restore a backup")
        return
    state, kind, payload = row
    if payload != last.data:
        yield Finding("gap", where, "its newest version is not the last of its history; restore a backup")
        return
    wire = _wire(payload)
    if wire is not None and (
        state != wire.get("state") or kind != wire.get("type") or tagged != set(map(str, wire.get("tags", ())))
    ):
        yield Finding("index", where, _INDEXED)


def _wire(payload: bytes) -> dict[str, Any] | None:
    try:
        wire = parse_json(payload, "it")
    except RecordError:
        return None
    return wire if isinstance(wire, dict) and isinstance(wire.get("tags", []), list) else None


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _data(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def check_path(path: Path) -> None:
    """Raise StoreError unless a memory is at ``path``."""
    if not (path.is_file() or (path / "records").is_dir()):
        raise StoreError(f"there is no memory at {path}; give the path of a folder with records, or of a database")

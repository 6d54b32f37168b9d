"""The stores: in memory, a folder of files, one SQLite file (SPEC section 16).

Each implements :class:`agent_memory.ports.RecordStore` and can redact.  The classes load when they are first asked for,
so that importing this package does not import ``sqlite3``.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agent_memory.errors import StoreError

if TYPE_CHECKING:
    from agent_memory.ports import RecordStore
    from agent_memory.search.fts import SQLiteSearchIndex

    from .files import FileRecordStore
    from .memory import InMemoryRecordStore
    from .sqlite import SQLiteRecordStore

__all__ = ["FileRecordStore", "InMemoryRecordStore", "SQLiteRecordStore", "SQLiteSearchIndex", "open_store"]

_HOMES: Final = {
    "FileRecordStore": "agent_memory.stores.files",
    "InMemoryRecordStore": "agent_memory.stores.memory",
    "SQLiteRecordStore": "agent_memory.stores.sqlite",
    "SQLiteSearchIndex": "agent_memory.search.fts",
}
_SUFFIXES: Final = frozenset({".db", ".sqlite", ".sqlite3"})


def open_store(path: str | os.PathLike[str] | None) -> RecordStore:
    """The store of the memory at ``path``.

    None is a store in memory.  An existing path decides by what it is: a folder holds its records as files in
    ``records/``, a file is an SQLite database.  Of a path that does not exist, the suffix decides: ``.db``, ``.sqlite``
    and ``.sqlite3`` make a database, all others a folder.

    Raises:
        StoreError: an existing file that is no database, or a store that cannot be opened.
    """
    if path is None:
        from .memory import InMemoryRecordStore

        return InMemoryRecordStore()
    place = Path(path)
    try:
        place.stat()
    except FileNotFoundError:
        pass
    except OSError as error:
        from . import durable

        raise durable.failure(error, "cannot open a memory at this path") from error
    if place.is_dir() or (not place.exists() and place.suffix.lower() not in _SUFFIXES):
        from .files import FileRecordStore

        return FileRecordStore(place / "records")
    if place.exists() and not _is_database(place):
        raise StoreError(f"{place} is a file, not a memory; give the path of a folder or of an SQLite file")
    from .sqlite import SQLiteRecordStore

    return SQLiteRecordStore(place)


def _is_database(path: Path) -> bool:
    """Whether a file is an SQLite database, or an empty one that is named like it."""
    from . import durable

    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError as error:
        raise durable.failure(error, f"cannot open {path}") from error
    return start == b"SQLite format 3\0" or (not start and path.suffix.lower() in _SUFFIXES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])

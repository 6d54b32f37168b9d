"""A second connection to an SQLite file that only reads, beside one that is in a transaction (SPEC section 16).

It shows what is committed, so that the threads of a process need not wait while one of them writes for long.  It is
made when it is first needed.  Used by :mod:`agent_memory.stores.database` alone.
"""

from __future__ import annotations

import sqlite3
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Aside"]


class Aside:
    """Reads ``path``, which another connection of this process has open in WAL mode.

    A query is the whole of a read transaction: between two of them nothing keeps the log from being emptied.
    """

    def __init__(self, path: str, *, timeout: float) -> None:
        self._path = Path(path).absolute()  # where it is now, whatever folder the process works in later
        self._timeout = timeout
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None

    def opened(self) -> None:
        """Take note of the file, which is there now: one that takes its place later is not read."""
        self._file = _identity(self._path)

    def read(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]] | None:
        """All rows of one query; None when the file cannot be opened a second time.  Raises sqlite3.Error."""
        with self._lock:
            connection = self._connection or self._connect()
            return None if connection is None else connection.execute(sql, values).fetchall()

    @contextmanager
    def silent(self) -> Iterator[None]:
        """While nothing is read here."""
        with self._lock:
            yield

    def close(self) -> None:
        """Close the connection, if there is one."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def _connect(self) -> sqlite3.Connection | None:
        if self._file is None or _identity(self._path) != self._file:
            return None
        try:
            connection = sqlite3.connect(
                f"{self._path.as_uri()}?mode=ro",
                uri=True,
                timeout=self._timeout,
                isolation_level=None,
                check_same_thread=False,
            )
        except sqlite3.Error:
            return None
        connection.text_factory = bytes
        self._connection = connection
        return connection


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino

"""One SQLite file, opened the way a memory needs it (SPEC section 16).

Used by the record store and by the full-text index, so that both wait, fail, commit and erase alike.  One connection
stands behind a re-entrant lock: a transaction belongs to one thread.  What other threads read meanwhile is what was
committed before, through a connection aside; a database in memory has none, and they wait rather than read half of it.
Other processes see whole transactions (WAL).  A Database must not be used in a forked child; open another there.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agent_memory.errors import StoreError

from . import durable
from .aside import Aside
from .lock import check_timeout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["HEADER", "PENDING", "DamagedDatabase", "Database"]

HEADER: Final = b"SQLite format 3\0"
"""How every SQLite file begins."""
_SCHEMA: Final = 0
"""The user_version this package reads and writes, which is the peer's."""
PENDING: Final = "CREATE TABLE IF NOT EXISTS agent_memory_scrub (pending INTEGER PRIMARY KEY)"
"""Makes the table whose rows say that content is to be removed from the bytes of the file, one per erasure."""
_CACHE: Final = 32_768
"""KiB of pages kept in memory at most: ids are random, so a put touches pages all over the indexes."""
_LOG: Final = 4_000
"""Pages (16 MiB) the log may hold before it goes into the file, where a page changed often is then written once."""
_MOMENT: Final = 0.001
"""Seconds after which it is looked again whether another thread still reads."""
_SCRUB_WAIT: Final = 2.0
"""Longest wait, in seconds, for readers to let go of the log when content is to be erased."""
_ADVICE: Final = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space and try again",
    sqlite3.SQLITE_READONLY: "it cannot be written; check the owner and the mode of the file and its folder",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; check the path and the mode of its folder",
    sqlite3.SQLITE_NOTADB: "it is not an SQLite database, or it is damaged; give another path or restore a backup",
    sqlite3.SQLITE_CORRUPT: "the database is damaged; restore a backup",
    sqlite3.SQLITE_IOERR: "the disk failed, or a limit on the size of files was reached; check both, then try again",
}


class DamagedDatabase(StoreError):
    """The file itself is damaged or no database: not busy, full or out of reach."""


class Database:
    """A connection to ``path``, or to a database in memory for ``":memory:"``.

    Args:
        path: the file; it and its folder are made when missing.
        timeout: seconds to wait for another writer before a StoreError, 0 to 86,400.
        synchronous: ``FULL`` when a committed write must survive a power cut; ``NORMAL`` when the last ones may be lost
            to one, for what can be rebuilt.  What a killed process had committed survives with either.
        prepare: called once in a transaction with this database, to make its tables.
        ready: whether that is not needed; it reads only, so that a file is opened while somebody else writes it.

    Raises:
        StoreError: a folder, no database, one of an unknown version, or one that cannot be opened.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        timeout: float,
        synchronous: str,
        prepare: Callable[[Database], None],
        ready: Callable[[Database], bool] | None = None,
    ) -> None:
        self.path = os.fspath(path)
        self._timeout = timeout = check_timeout(timeout)
        self._lock = threading.RLock()
        self._depth = 0
        self._process = os.getpid()
        self._scrub = False
        self._in_memory = self.path == ":memory:"
        self._aside = None if self._in_memory else Aside(self.path, timeout=timeout)
        if not self._in_memory:
            _check_path(Path(self.path) if self.path else None)
        self._connection: sqlite3.Connection | None = None
        with self._translated():
            self._connection = sqlite3.connect(
                self.path, timeout=timeout, isolation_level=None, check_same_thread=False
            )
        try:
            self._configure(synchronous)
            if self._aside is not None:
                self._aside.opened()
            if ready is None or not ready(self):
                with self.transaction():
                    self.execute(PENDING)
                    prepare(self)
            self._scrub = bool(self.read("SELECT 1 FROM agent_memory_scrub"))
            self.scrub()
        except BaseException:
            self.close()
            raise

    def _configure(self, synchronous: str) -> None:
        with self._translated():
            connection = self._open()
            connection.text_factory = bytes  # text that is no UTF-8 must not make a whole query fail
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version != _SCHEMA:
                raise DamagedDatabase(
                    f"{self.path} has schema version {version}, which this agent-memory does not know; "
                    "update the package, or give the path of a memory"
                )
            connection.execute("PRAGMA secure_delete=ON")
            connection.execute(f"PRAGMA synchronous={synchronous}")
            connection.execute(f"PRAGMA cache_size=-{_CACHE}")
            connection.execute(f"PRAGMA wal_autocheckpoint={_LOG}")
            deadline = time.monotonic() + self._timeout
            while not self._in_memory and connection.execute("PRAGMA journal_mode").fetchone()[0] != b"wal":
                try:
                    connection.execute("PRAGMA journal_mode=WAL")
                except sqlite3.OperationalError as error:  # the change of mode does not wait by itself
                    if _code(error) not in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED} or time.monotonic() > deadline:
                        raise
                    time.sleep(0.01)

    # ------------------------------------------------------------------------------------------------------------ use

    def read(self, sql: str, values: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of one query; text comes as bytes.

        While another thread is inside :meth:`transaction`, what was committed before that.
        """
        given = tuple(values)
        try:
            if self._aside is not None and self._must_wait():
                self._check_open()
                rows = self._aside.read(sql, given)
                if rows is not None:
                    return rows
            with self._lock:
                return self._open().execute(sql, given).fetchall()
        except sqlite3.Error as error:
            raise self._failure(error) from error

    def _must_wait(self) -> bool:
        """Whether another thread is inside a transaction.  One that only reads is waited for."""
        while not self._lock.acquire(blocking=False):
            if self._depth:
                return True
            time.sleep(_MOMENT)
        self._lock.release()
        return False

    def execute(self, sql: str, values: Iterable[Any] = ()) -> None:
        """One statement; call it inside :meth:`transaction`."""
        with self._lock:
            try:
                self._open().execute(sql, tuple(values))
            except sqlite3.Error as error:
                raise self._failure(error) from error

    def execute_all(self, statements: Iterable[tuple[str, tuple[Any, ...]]]) -> None:
        """Several statements, each with its values; call it inside :meth:`transaction`."""
        with self._lock:
            try:
                execute = self._open().execute
                for sql, values in statements:
                    execute(sql, values)
            except sqlite3.Error as error:
                raise self._failure(error) from error

    def execute_many(self, sql: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """One statement for many rows; call it inside :meth:`transaction`."""
        with self._lock:
            try:
                self._open().executemany(sql, rows)
            except sqlite3.Error as error:
                raise self._failure(error) from error

    @property
    def in_transaction(self) -> bool:
        """Whether the thread that asks, holding the lock, or another one is inside :meth:`transaction`."""
        return self._depth > 0

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of the block or nothing, alone among writers; re-entrant in its thread.

        An inner block that raises is undone by itself, also when the outer one goes on.

        Raises:
            StoreError: another process writes for longer than the timeout, or the disk failed.
        """
        with self._lock:
            name = f"inner_{self._depth}"
            self.execute(f"SAVEPOINT {name}" if self._depth else "BEGIN IMMEDIATE")
            self._depth += 1
            scrub = self._scrub
            try:
                yield
                if self._depth == 1:
                    self.execute("COMMIT")
                else:
                    self.execute(f"RELEASE {name}")
            except BaseException:
                self._scrub = scrub
                self._undo(name)
                raise
            finally:
                self._depth -= 1
            if self._scrub and not self._depth:
                self.scrub()

    def _undo(self, name: str) -> None:
        connection = None if self._is_forked else self._connection
        if connection is not None and connection.in_transaction:  # a full disk may have ended it already
            with self._translated():
                if self._depth == 1:
                    connection.execute("ROLLBACK")
                else:
                    connection.execute(f"ROLLBACK TO {name}")
                    connection.execute(f"RELEASE {name}")

    # ---------------------------------------------------------------------------------------------------------- a copy

    def copy_to(self, destination: Path, finish: Callable[[sqlite3.Connection], None]) -> None:
        """Write what is committed at this moment to a new file, while others go on reading and writing.

        The copy holds no free pages, so nothing of what was deleted.  It is durable and whole when it appears under its
        name; ``finish`` may change it before that.

        Raises:
            StoreError: ``destination`` exists, its folder does not, or the copy could not be written; nothing is left.
        """
        if os.path.lexists(destination):
            raise StoreError(f"{destination} exists; give the copy a name that is free")
        if not destination.parent.is_dir():
            raise StoreError(f"the folder {destination.parent} does not exist; create it first")
        temp = destination.parent / f"{durable.TEMP_PREFIX}{secrets.token_hex(8)}"
        try:
            self._copy(temp)
            with contextlib.closing(sqlite3.connect(temp, isolation_level=None)) as connection:
                connection.execute("BEGIN")
                finish(connection)
                connection.execute("COMMIT")
            _sync_file(temp)
            destination.hardlink_to(temp)  # unlike a rename it never takes the place of a file made meanwhile
            temp.unlink()
            durable.sync_dir(destination.parent)
        except sqlite3.Error as error:
            raise self._failure(error, f"copy {self.path} to {destination}") from error
        except OSError as error:
            raise durable.failure(error, f"cannot write the copy {destination}") from error
        finally:
            for leftover in (temp, temp.with_name(f"{temp.name}-journal")):
                with contextlib.suppress(OSError):
                    leftover.unlink(missing_ok=True)

    def _copy(self, temp: Path) -> None:
        connection = self._open()  # a closed one says so
        if self._in_memory:
            with self._lock:
                connection.execute("VACUUM INTO ?", [str(temp)])
            return
        # a connection of its own, so that the threads of this one need not wait for the copy
        with contextlib.closing(sqlite3.connect(self.path, timeout=self._timeout, isolation_level=None)) as reader:
            reader.execute("VACUUM INTO ?", [str(temp)])

    # -------------------------------------------------------------------------------------------------------- erasure

    def scrub_later(self) -> None:
        """Say, inside a transaction, that it destroys content: the file is scrubbed after the commit.

        The wish is part of the transaction, so that the next one to open the file scrubs it if this process dies first.
        """
        if not self._in_memory:
            self.execute("INSERT INTO agent_memory_scrub VALUES (random())")  # one of its own: see scrub
            self._scrub = True

    def scrub(self) -> bool:
        """Remove what was deleted from the bytes of the file and its log; True when nothing is left to do.

        SQLite zeroes deleted rows, yet pages that were split earlier keep copies of rows that moved away, and the log
        keeps all of it; so the file is written anew and the log cut to nothing.  False, and to be called again, when a
        reader or writer elsewhere prevents it.
        """
        with self._lock, contextlib.nullcontext() if self._aside is None else self._aside.silent():
            if self._connection is None or not self._scrub or self._depth:
                return not self._scrub
            try:
                connection = self._connection
                connection.execute(f"PRAGMA busy_timeout={int(min(_SCRUB_WAIT, self._timeout) * 1000)}")
                wishes = connection.execute("SELECT pending FROM agent_memory_scrub").fetchall()
                connection.execute("VACUUM")
                if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                    return False
                # a wish that another process made meanwhile stays
                connection.executemany("DELETE FROM agent_memory_scrub WHERE pending = ?", wishes)
                self._scrub = False
            except sqlite3.Error:
                return False
            finally:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute(f"PRAGMA busy_timeout={int(self._timeout * 1000)}")
            return True

    @property
    def scrub_pending(self) -> bool:
        """Whether content that was destroyed may still be found in the bytes of the file or its log."""
        return self._scrub

    def close(self) -> None:
        """Scrub if that is pending, and close.  Closing twice is allowed; in a forked child nothing is done."""
        if self._is_forked:
            return
        with self._lock:
            if self._connection is not None:
                self.scrub()
                if self._aside is not None:
                    self._aside.close()  # the last one to go tidies up, and this one cannot write
                self._connection.close()
                self._connection = None

    # ---------------------------------------------------------------------------------------------------------- errors

    def _check_open(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StoreError(f"{self.path} is closed; open it again")
        if self._is_forked:
            raise StoreError(f"{self.path} was opened before this process was forked; open it again here")
        return self._connection

    def _open(self) -> sqlite3.Connection:
        connection = self._check_open()
        if self._depth and not connection.in_transaction:
            # a full or failing disk makes SQLite undo all of it; what came after would be committed by itself
            raise StoreError(f"the transaction on {self.path} was undone when a write failed; begin it again")
        return connection

    @property
    def _is_forked(self) -> bool:
        """Whether this process has the connection from its parent, whose locks it does not hold: it must not use it."""
        return not self._in_memory and self._process != os.getpid()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._failure(error) from error

    def _failure(self, error: sqlite3.Error, doing: str = "") -> StoreError:
        code = _code(error)
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            reason = (
                f"another process has been writing to it for {self._timeout:g} s; nothing was written: "
                "try again, or end the one that hangs"
            )
        else:
            reason = _ADVICE.get(code, f"SQLite says: {error}")
        damaged = code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
        return (DamagedDatabase if damaged else StoreError)(f"cannot {doing or f'use {self.path}'}: {reason}")


def _code(error: sqlite3.Error) -> int:
    """The primary result code, or 0 for what Python itself refused."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _sync_file(path: Path) -> None:
    with path.open("r+b") as file:
        os.fsync(file.fileno())


def _check_path(path: Path | None) -> None:
    if path is None:
        raise StoreError("the path of the database is empty; give one, or ':memory:'")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise StoreError(f"{path} is a folder, not a database; give the path of a file in it")
        if path.exists():
            with path.open("rb") as file:
                start = file.read(len(HEADER))
            if start and start != HEADER:
                raise DamagedDatabase(f"{path} is not an SQLite database; give another path")
    except OSError as error:
        raise durable.failure(error, f"cannot open {path}") from error

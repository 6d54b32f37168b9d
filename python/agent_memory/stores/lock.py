"""One writer at a time, over threads and processes (SPEC section 16).

A lock file is locked, never removed: removing it would let two processes hold locks on two files of one name.  The
operating system frees the lock of a process that dies.  Beside it lies one more, ``lock.next``, which whoever wants the
lock holds while waiting for it, so that a writer that comes back at once queues behind those who waited.

Both files stay open between two locks, since opening one costs as much as everything else here.
"""

from __future__ import annotations

import errno
import math
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Final

from agent_memory.errors import ArgumentError, ArgumentTypeError, StoreError

from . import durable

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ProcessLock", "check_timeout"]

_FIRST_WAIT: Final = 0.0005
_LONGEST_WAIT: Final = 0.005
_LONGEST_TIMEOUT: Final = 86_400
_HELD: Final = frozenset({errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK})


class ProcessLock:
    """A lock on a file, re-entrant in the thread that holds it.

    Args:
        path: the lock file; it and its folder are made when the lock is first taken.
        timeout: seconds to wait for another holder, 0 to 86,400.

    Raises:
        ArgumentError: a timeout outside that range, or of another type.
    """

    def __init__(self, path: Path, timeout: float) -> None:
        self._path = path
        self._timeout = check_timeout(timeout)
        self._file = durable.KeptFile(path, self._open)
        self._turn = durable.KeptFile(path.with_name(f"{path.name}.next"), self._open)
        self._thread = threading.Lock()
        self._process = os.getpid()
        self._owner: int | None = None
        self._depth = 0
        self._descriptor = -1

    @property
    def mine(self) -> bool:
        """Whether the calling thread holds the lock.  A forked child never holds what its parent held."""
        return self._owner == threading.get_ident() and self._process == os.getpid()

    def acquire(self, *, wait: bool = True) -> bool:
        """Take the lock; True when this thread did not hold it before.  Without ``wait`` it is had at once or not.

        Raises:
            StoreError: another thread or process holds it for longer than the timeout, or the file cannot be opened.
        """
        if self._process != os.getpid():
            self._begin_anew()
        elif self._owner == threading.get_ident():
            self._depth += 1
            return False
        timeout = self._timeout if wait else 0
        deadline = time.monotonic() + timeout
        if not self._thread.acquire(timeout=timeout):
            raise self._busy("another thread")
        try:
            self._descriptor = self._lock_file(deadline)
        except BaseException:
            self._thread.release()
            raise
        self._owner, self._depth = threading.get_ident(), 1
        return True

    def release(self) -> None:
        """Give it back once; the last of nested releases lets others in.  In a forked child the parent keeps it."""
        if self._process != os.getpid():
            return
        self._depth -= 1
        if self._depth:
            return
        self._owner = None
        try:
            _unlock(self._descriptor)
        finally:
            self._thread.release()

    def _lock_file(self, deadline: float) -> int:
        try:
            turn = self._take(self._turn, deadline)
            try:
                return self._take(self._file, deadline)
            finally:
                _unlock(turn)
        except OSError as error:
            raise durable.failure(error, f"cannot write to {self._path.parent.parent}") from error

    def close(self, *others: durable.KeptFile) -> None:
        """Close its files, and ``others`` that are used under it.  All can be used again all the same."""
        if self._process != os.getpid():
            self._begin_anew()
        if not self.mine:
            with self._thread:
                for file in (self._file, self._turn, *others):
                    file.close()

    def _begin_anew(self) -> None:
        """In a forked child: the thread that held the lock, if one did, is not here."""
        self._thread, self._process, self._owner, self._depth = threading.Lock(), os.getpid(), None, 0

    def _open(self, path: str) -> int:
        try:
            return durable.open_lock(path)
        except FileNotFoundError:  # the first writer
            if durable.make_dir(self._path.parent):
                durable.sync_dir(self._path.parent.parent)
            return durable.open_lock(path)

    def _take(self, file: durable.KeptFile, deadline: float) -> int:
        """Lock a file, trying until the time is over, and at least once; its descriptor."""
        wait = _FIRST_WAIT
        while True:
            descriptor = file.descriptor()
            locked = _try_lock(descriptor)
            if file.is_there() < 0:
                file.close()  # it was removed, or moved away with its folder: a lock on it keeps nobody out
                continue
            if locked:
                return descriptor
            if time.monotonic() >= deadline:
                raise self._busy("another process")
            time.sleep(wait)
            wait = min(wait * 2, _LONGEST_WAIT)

    def _busy(self, holder: str) -> StoreError:
        return StoreError(
            f"{holder} has been writing to {self._path.parent.parent} for {self._timeout:g} s; "
            "nothing was written: try again, or end the one that hangs"
        )


def check_timeout(timeout: object) -> float:
    """``timeout`` when it is a number of seconds a writer may wait, 0 to 86,400; else an ArgumentError."""
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise ArgumentTypeError(f"timeout must be a number of seconds, not {type(timeout).__name__}")
    if not (math.isfinite(timeout) and 0 <= timeout <= _LONGEST_TIMEOUT):
        raise ArgumentError(f"timeout must be 0 to {_LONGEST_TIMEOUT:,} seconds, not {timeout}")
    return timeout


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        os.lseek(descriptor, 0, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in _HELD:
                return False
            raise
        return True

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    _EXCLUSIVE: Final = fcntl.LOCK_EX | fcntl.LOCK_NB

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, _EXCLUSIVE)
        except OSError as error:
            if error.errno in _HELD:
                return False
            raise
        return True

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)

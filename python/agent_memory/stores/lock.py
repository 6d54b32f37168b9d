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
        self._turn = path.with_name(f"{path.name}.next")
        self._files = {name: durable.KeptFile(name) for name in (path, self._turn)}
        self._thread = threading.RLock()
        self._owner: int | None = None
        self._depth = 0
        self._descriptor = -1

    @property
    def mine(self) -> bool:
        """Whether the calling thread holds the lock."""
        return self._owner == threading.get_ident()

    def acquire(self, *, wait: bool = True) -> bool:
        """Take the lock; True when this thread did not hold it before.  Without ``wait`` it is had at once or not.

        Raises:
            StoreError: another thread or process holds it for longer than the timeout, or the file cannot be opened.
        """
        timeout = self._timeout if wait else 0
        deadline = time.monotonic() + timeout
        if not self._thread.acquire(timeout=timeout):
            raise self._busy("another thread")
        try:
            if self._depth == 0:
                self._descriptor = self._lock_file(deadline)
                self._owner = threading.get_ident()
            self._depth += 1
        except BaseException:
            self._thread.release()
            raise
        return self._depth == 1

    def release(self) -> None:
        """Give it back once; the last of nested releases lets others in."""
        self._depth -= 1
        try:
            if self._depth == 0:
                self._owner = None
                descriptor, self._descriptor = self._descriptor, -1
                _unlock(descriptor)
        finally:
            self._thread.release()

    def _lock_file(self, deadline: float) -> int:
        try:
            turn = self._take(self._turn, deadline)
            try:
                return self._take(self._path, deadline)
            finally:
                _unlock(turn)
        except OSError as error:
            raise durable.failure(error, f"cannot write to {self._path.parent.parent}") from error

    def close(self, *others: durable.KeptFile) -> None:
        """Close its files, and ``others`` that are used under it.  All can be used again all the same."""
        with self._thread:
            if self._depth == 0:
                for file in (*self._files.values(), *others):
                    file.close()

    def _open(self, path: Path) -> int:
        try:
            return durable.open_lock(path)
        except FileNotFoundError:  # the first writer
            if durable.make_dir(self._path.parent):
                durable.sync_dir(self._path.parent.parent)
            return durable.open_lock(path)

    def _take(self, path: Path, deadline: float) -> int:
        """Lock a file, trying until the time is over, and at least once; its descriptor."""
        file, wait = self._files[path], _FIRST_WAIT
        while True:
            descriptor = file.descriptor(self._open)
            if _try_lock(descriptor):
                if os.fstat(descriptor).st_nlink:
                    return descriptor
                file.close()  # somebody removed the file: a lock on it keeps nobody out
                continue
            if not os.fstat(descriptor).st_nlink:
                file.close()
                continue
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

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _HELD:
                return False
            raise
        return True

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)

"""One writer at a time, over threads and processes (SPEC section 16).

A lock file is locked, never removed: removing it would let two processes hold locks on two files of one name.  The
operating system frees the lock of a process that dies.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Final

from agent_memory.errors import StoreError
from agent_memory.stores import durable

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ProcessLock"]

_FIRST_WAIT: Final = 0.0005
_LONGEST_WAIT: Final = 0.02
_HELD: Final = frozenset({errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK})


class ProcessLock:
    """A lock on a file, re-entrant in the thread that holds it.

    Args:
        path: the lock file; it and its folder are made when the lock is first taken.
        timeout: seconds to wait for another holder, 0 or more.
    """

    def __init__(self, path: Path, timeout: float) -> None:
        self._path = path
        self._timeout = timeout
        self._thread = threading.RLock()
        self._depth = 0
        self._descriptor = -1

    def acquire(self) -> bool:
        """Take the lock; True when this thread did not hold it before.

        Raises:
            StoreError: another thread or process holds it for longer than the timeout, or the file cannot be opened.
        """
        if not self._thread.acquire(timeout=self._timeout):
            raise self._busy("another thread")
        try:
            if self._depth == 0:
                self._descriptor = self._lock_file()
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
                descriptor, self._descriptor = self._descriptor, -1
                try:
                    _unlock(descriptor)  # closing alone would leave it locked by a child forked meanwhile
                finally:
                    os.close(descriptor)
        finally:
            self._thread.release()

    def _lock_file(self) -> int:
        try:
            durable.make_dir(self._path.parent)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise durable.failure(error, f"cannot write to {self._path.parent.parent}") from error
        deadline = time.monotonic() + self._timeout
        wait = _FIRST_WAIT
        try:
            while not (locked := _try_lock(descriptor)) and time.monotonic() < deadline:
                time.sleep(wait)
                wait = min(wait * 2, _LONGEST_WAIT)
        except OSError as error:
            os.close(descriptor)
            raise durable.failure(error, f"cannot lock {self._path}") from error
        except BaseException:
            os.close(descriptor)
            raise
        if not locked:
            os.close(descriptor)
            raise self._busy("another process")
        return descriptor

    def _busy(self, holder: str) -> StoreError:
        return StoreError(
            f"{holder} has been writing to {self._path.parent.parent} for {self._timeout:g} s; "
            "nothing was written: try again, or end the one that hangs"
        )


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

"""Keeping writers of a folder out while the doctor looks, with the lock files that are there: it makes none."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from enum import Enum, auto
from pathlib import Path
from typing import Final

from agent_memory.stores import layout

__all__ = ["Others", "writers_waiting"]

_PATIENCE: Final = 10.0
"""Seconds to wait for another writer before saying nothing of files that may be his."""
_PAUSE: Final = 0.002
_READ: Final = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""Reading a lock file is enough to lock it."""


class Others(Enum):
    """What other writers can do meanwhile."""

    WAIT = auto()
    WRITE = auto()
    """One of them does not let go."""
    UNKNOWN = auto()
    """The lock cannot be had by this user, so that nobody can be kept out."""


@contextmanager
def writers_waiting(path: Path) -> Iterator[Others]:
    """Keep writers of the memory at ``path`` out where it is a folder that anybody of ours has ever written to."""
    lock = path / "records" / layout.STAGING / "lock"
    if not path.is_dir() or not lock.is_file():
        yield Others.WAIT
        return
    with ExitStack() as held:
        yield _take(lock, held)


def _take(lock: Path, held: ExitStack) -> Others:
    """Lock as a writer does, who stands in the queue of ``lock.next`` where there is one; ``held`` lets go."""
    deadline = time.monotonic() + _PATIENCE
    try:
        with ExitStack() as turn:
            with suppress(FileNotFoundError):
                if not _lock(lock.with_name(f"{lock.name}.next"), deadline, turn):
                    return Others.WRITE
            return Others.WAIT if _lock(lock, deadline, held) else Others.WRITE
    except OSError:
        return Others.UNKNOWN


def _lock(path: Path, deadline: float, held: ExitStack) -> bool:
    """Lock a file until ``held`` closes it; False when somebody else has it all the time."""
    descriptor = os.open(path, _READ)
    held.callback(os.close, descriptor)
    while not _try_lock(descriptor):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_PAUSE)
    return True


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

"""Disks that fail and disks that die, to stand in for :data:`agent_memory.stores.durable.disk`."""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path
from typing import Any

from agent_memory.stores.durable import Disk, StrPath


class CountingDisk(Disk):
    """Calls :meth:`before` ahead of every system call, and so nothing of that call is done when it raises.

    Syncs are left out: the page cache survives all that a test can do to a process.
    """

    def __init__(self) -> None:
        self.calls: list[str] = []

    def before(self, name: str) -> None:
        """What a subclass does at the call just added to ``calls``."""

    def _call(self, name: str, *arguments: Any) -> Any:
        self.calls.append(name)
        self.before(name)
        return getattr(Disk, name)(self, *arguments)

    def open(self, path: Path, flags: int) -> int:
        return int(self._call("open", path, flags))

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        return int(self._call("write", descriptor, data))

    def truncate(self, descriptor: int, size: int) -> None:
        self._call("truncate", descriptor, size)

    def fsync(self, descriptor: int) -> None:
        self.calls.append("fsync")
        self.before("fsync")

    def link(self, source: Path, target: Path) -> None:
        self._call("link", source, target)

    def open_nameless(self, folder: Path) -> int:
        return int(self._call("open_nameless", folder))

    def link_nameless(self, descriptor: int, target: Path) -> None:
        self._call("link_nameless", descriptor, target)

    def rename(self, source: Path, target: Path) -> None:
        self._call("rename", source, target)

    def unlink(self, path: Path) -> None:
        self._call("unlink", path)

    def mkdir(self, path: Path) -> None:
        self._call("mkdir", path)

    def rmdir(self, path: Path) -> None:
        self._call("rmdir", path)


class FailingDisk(CountingDisk):
    """The call number ``at`` fails with ``code``, and with ``lasting`` every one after it too; a write is cut short."""

    def __init__(self, at: int, code: int, *, lasting: bool = False) -> None:
        super().__init__()
        self._at = at
        self._code = code
        self._lasting = lasting

    @property
    def failed(self) -> bool:
        return len(self.calls) >= self._at

    def before(self, name: str) -> None:
        if len(self.calls) == self._at or (self._lasting and self.failed):
            raise OSError(self._code, os.strerror(self._code))

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        if len(self.calls) + 1 == self._at:
            os.write(descriptor, bytes(data)[: len(data) // 2])
        return super().write(descriptor, data)


class OldDisk(Disk):
    """A file system, or a system without ``/proc``, on which a file has a name from the start."""

    def __init__(self, *, opens: bool) -> None:
        self.opens = opens
        self.asked = 0

    def open_nameless(self, folder: StrPath) -> int:
        self.asked += 1
        if not self.opens:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        return super().open_nameless(folder)

    def link_nameless(self, descriptor: int, target: StrPath) -> None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "/proc/self/fd")


class DyingDisk(CountingDisk):
    """The process is killed at the call number ``at``, which is not made; 0 for never."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self._at = at

    def before(self, name: str) -> None:
        if len(self.calls) == self._at:
            os.kill(os.getpid(), signal.SIGKILL)

"""The one place that writes files: whole, durable, or not at all (SPEC section 16).

Everything a store or a sidecar puts on disk goes through these few functions, so that what is promised about a crash is
argued, and tested by injected faults, in one file.  They raise ``OSError``; :func:`failure` turns one into a StoreError
that says what to do.  Called as ``durable.write_new(...)``, never imported by name.  Below them lies :class:`Disk`, the
system calls themselves: a test puts a failing one into :data:`disk`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from agent_memory.errors import StoreError

__all__ = [
    "NAMELESS",
    "TEMP_PREFIX",
    "Disk",
    "KeptFile",
    "Staging",
    "append",
    "create",
    "disk",
    "failure",
    "make_dir",
    "make_dirs",
    "open_folder",
    "open_lock",
    "open_to_append",
    "remove",
    "remove_dir",
    "remove_tree",
    "rename",
    "replace",
    "stage",
    "sweep",
    "sync_dir",
    "sync_file",
    "sync_kept",
    "write_new",
]

StrPath: TypeAlias = str | Path
"""A path; a string where a put would otherwise spend its time in ``pathlib``."""

TEMP_PREFIX: Final = ".tmp-"
"""How the name of every file that is not finished begins."""

_BINARY: Final = getattr(os, "O_BINARY", 0)
NAMELESS: Final = getattr(os, "O_TMPFILE", 0)
"""The flag that makes a file without a name, or 0 where there is none."""
_REFUSED: Final = frozenset(
    {errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL, errno.ENOSYS, errno.EPERM, errno.EACCES, errno.EXDEV}
)
"""How a system says that it makes no file without a name, or gives it none later: where ``/proc`` is missing, say."""

_ADVICE: Final = {
    errno.ENOENT: "a folder of the path does not exist; create it first",
    errno.ENOSPC: "the disk is full; free some space and try again",
    errno.EDQUOT: "the disk quota is used up; free some space and try again",
    errno.EIO: "the disk reports an input/output error; check it before trying again",
    errno.EROFS: "the file system is read-only; keep the memory on one that can be written",
    errno.EACCES: "permission denied; check the owner and the mode of the folder",
    errno.EPERM: "not permitted; check the owner of the folder, and that its file system has hard links",
    errno.EOPNOTSUPP: "the file system has no hard links; keep the memory elsewhere, or in one .db file",
    errno.ENOTDIR: "a part of the path is a file where a folder is needed; choose another path",
    errno.ENOTEMPTY: "a folder with something in it is in the way; move it elsewhere",
    errno.EEXIST: "a file is in the way where a folder is needed; choose another path",
    errno.ELOOP: "it is a symbolic link, which a store does not follow; put the real file in its place",
    errno.EMFILE: "too many files are open in this process; close some or raise the limit (ulimit -n)",
    errno.ENFILE: "too many files are open on this machine; close some",
}


class Disk:
    """The system calls that change a disk, one method each, and nothing else.  A path is a :data:`StrPath`."""

    def open(self, path: StrPath, flags: int) -> int:
        return os.open(path, flags, 0o666)

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        return os.write(descriptor, data)

    def truncate(self, descriptor: int, size: int) -> None:
        os.ftruncate(descriptor, size)

    def fsync(self, descriptor: int) -> None:
        os.fsync(descriptor)

    def link(self, source: StrPath, target: StrPath) -> None:
        os.link(source, target)

    def open_nameless(self, folder: StrPath) -> int:
        return os.open(folder, os.O_WRONLY | NAMELESS, 0o666)

    def link_nameless(self, descriptor: int, target: StrPath) -> None:
        # The path is absolute, so ``src_dir_fd`` is not looked at; without one Python does not follow the link.
        os.link(f"/proc/self/fd/{descriptor}", target, src_dir_fd=descriptor, follow_symlinks=True)

    def rename(self, source: StrPath, target: StrPath) -> None:
        os.replace(source, target)  # noqa: PTH105 - strings, as everywhere here

    def unlink(self, path: StrPath) -> None:
        os.unlink(path)  # noqa: PTH108

    def mkdir(self, path: StrPath) -> None:
        os.mkdir(path)  # noqa: PTH102

    def rmdir(self, path: StrPath) -> None:
        os.rmdir(path)  # noqa: PTH106


disk: Disk = Disk()
"""The disk that is written to."""


class Staging:
    """A folder on the file system of a store, for files that are not finished.

    Attributes:
        path: the folder.
        nameless: whether a file may be without a name until it is finished, as far as is known.
    """

    def __init__(self, path: StrPath) -> None:
        self.path = path
        self.nameless = NAMELESS != 0


class KeptFile:
    """A file, or folder, that stays open between two uses: opening one costs as much as all else around a write.

    It is for one thread at a time; its users hold a lock.

    Args:
        path: where it is.
        open_: what opens it, when :meth:`descriptor` is asked for the first time.
    """

    def __init__(self, path: StrPath, open_: Callable[[str], int]) -> None:
        self.path = str(path)
        self._open = open_
        self._opened: list[tuple[int, int]] = []
        self._identity: tuple[int, int] | None = None
        weakref.finalize(self, _close_kept, self._opened)

    def descriptor(self) -> int:
        """That of the last time, if it is this process's; else a new one.

        A forked child has its parent's descriptors, and with them its parent's locks: it opens its own.  Whether the
        file is still the one there, or somebody put another in its place, is for :meth:`there` to say.
        """
        for process, descriptor in self._opened:
            if process == os.getpid():
                return descriptor
            self.close()
        opened = self._open(self.path)
        self._opened.append((os.getpid(), opened))
        about = os.fstat(opened)
        self._identity = about.st_ino, about.st_dev
        if self.is_there() < 0 and os.path.lexists(self.path):
            self._identity = None  # a few network file systems number a file anew each time it is asked for
        return opened

    def is_the_one(self, about: os.stat_result | None) -> bool:
        """Whether the file that looks so is the open one; False where that is not known."""
        return about is not None and self._identity == (about.st_ino, about.st_dev)

    def is_there(self) -> int:
        """The size of the file when it is the one that has the path now, else -1: it was removed, or moved away.

        Where files have no lasting number, only a removed one is noticed.
        """
        if self._identity is None:
            about = os.fstat(self.descriptor())
            return about.st_size if about.st_nlink else -1
        try:
            about = os.stat(self.path)  # noqa: PTH116 - a string
        except FileNotFoundError:
            return -1
        return about.st_size if self.is_the_one(about) else -1

    def there(self) -> tuple[int, int]:
        """The descriptor of the file that is there now, and its size."""
        while True:
            descriptor = self.descriptor()
            size = self.is_there()
            if size >= 0:
                return descriptor, size
            self.close()

    def close(self) -> None:
        """Close it.  It can be used again all the same."""
        _close_kept(self._opened)


def _close_kept(opened: list[tuple[int, int]]) -> None:
    for process, descriptor in opened:
        if process == os.getpid():
            os.close(descriptor)
    opened.clear()


def write_new(folder: str, path: str, data: bytes, staging: Staging) -> None:
    """Create ``path``, in ``folder``, with exactly ``data``; nobody ever sees it unfinished.

    Until it is finished it has no name, so that a crash leaves nothing of it; where a system cannot do that, it lies in
    the folder of ``staging``.  The new name is durable after :func:`sync_dir` on its folder.

    Raises:
        FileExistsError: ``path`` is taken; it was not touched.
        OSError: nothing was created.
    """
    if staging.nameless:
        try:
            _write_nameless(folder, path, data)
        except OSError as error:
            if error.errno not in _REFUSED:
                raise
        else:
            return
    temp = stage(data, staging.path)
    try:
        disk.link(temp, path)
    finally:
        _drop(temp)
    staging.nameless = False


def replace(path: StrPath, data: bytes, staging: StrPath | None = None) -> None:
    """Put ``data`` in the place of ``path`` in one step, whether or not it exists.

    ``staging`` is a folder on the same file system, where the unfinished file lies; None for that of ``path``.

    Raises:
        OSError: nothing changed.
    """
    temp = stage(data, staging or Path(path).parent)
    try:
        disk.rename(temp, path)
    except BaseException:
        _drop(temp)
        raise


def stage(data: bytes, staging: StrPath) -> str:
    """A new unfinished file in ``staging`` whose bytes are on the disk; what :func:`rename` then gives a name."""
    temp = f"{staging}{os.sep}{TEMP_PREFIX}{secrets.token_hex(8)}"
    try:
        _create(temp, data, sync=True)
    except BaseException:
        _drop(temp)
        raise
    return temp


def rename(source: StrPath, target: StrPath) -> None:
    """Give a file or folder another name, in the place of what had it."""
    disk.rename(source, target)


def append(file: KeptFile, data: bytes, size: int = -1) -> int:
    """Add ``data`` to the end of a file that is opened for that, not durably; it keeps its length when that fails.

    The caller holds the lock all writers of the file take, and may know its length, from the last time under it.

    Returns:
        the length the file has then.

    Raises:
        FileNotFoundError: there is no such file.
    """
    if size < 0:
        descriptor, size = file.there()
    else:
        descriptor = file.descriptor()
    try:
        written = disk.write(descriptor, data)
        if written < len(data):
            _write_all(descriptor, data[written:])
    except BaseException:
        with contextlib.suppress(OSError):  # whoever reads the file finds the torn end
            disk.truncate(descriptor, size)
        raise
    return size + len(data)


def create(path: Path, data: bytes) -> None:
    """Write a new file in place, in a folder nobody reads yet; durable after :func:`sync_file` on it."""
    _create(path, data, sync=False)


def sync_file(path: Path) -> None:
    """Make the bytes of a file durable."""
    _sync(path, os.O_RDWR | _BINARY)


def sync_dir(path: StrPath) -> None:
    """Make the names in a folder durable.  Does nothing where folders cannot be synced (Windows)."""
    if os.name != "nt":
        _sync(path, os.O_RDONLY)


def sync_kept(folder: KeptFile, seen: os.stat_result | None = None) -> None:
    """As :func:`sync_dir`, for a folder that stays open; ``seen`` is how the folder at its path looked just now."""
    if os.name != "nt":
        disk.fsync(folder.descriptor() if folder.is_the_one(seen) else folder.there()[0])


def make_dir(path: StrPath) -> bool:
    """Create one folder; False when it is there already."""
    try:
        disk.mkdir(path)
    except FileExistsError:
        if os.path.isdir(path):  # noqa: PTH112 - a string
            return False
        raise
    return True


def make_dirs(path: Path) -> None:
    """Create a folder, durably, and those above it that are missing; fine when it is there."""
    if not path.is_dir():
        if path.parent != path:
            make_dirs(path.parent)
        if make_dir(path):
            sync_dir(path.parent)


def remove(path: StrPath) -> None:
    """Remove a file."""
    disk.unlink(path)


def remove_dir(path: Path) -> None:
    """Remove an empty folder."""
    disk.rmdir(path)


def remove_tree(path: Path) -> None:
    """Remove a folder and all that is in it."""
    for entry in path.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            remove_tree(entry)
        else:
            remove(entry)
    remove_dir(path)


def sweep(staging: StrPath) -> None:
    """Remove unfinished files that a crash left in ``staging``.  The caller holds the lock all writers there take."""
    for name in os.listdir(staging):  # noqa: PTH208 - no paths are needed
        leftover = f"{staging}{os.sep}{name}"
        if name.startswith(TEMP_PREFIX) and not os.path.isdir(leftover):  # noqa: PTH112
            remove(leftover)


def open_lock(path: StrPath) -> int:
    """A descriptor of the lock file at ``path``, which is made when it is missing."""
    return disk.open(path, os.O_RDWR | os.O_CREAT)


def open_to_append(path: StrPath) -> int:
    """A descriptor of the file at ``path`` for :func:`append`; an OSError when it is missing."""
    return disk.open(path, os.O_WRONLY | os.O_APPEND | _BINARY)


def open_folder(path: StrPath) -> int:
    """A descriptor of a folder for :func:`sync_kept`."""
    return disk.open(path, os.O_RDONLY)


def failure(error: OSError, doing: str) -> StoreError:
    """The StoreError for ``error``: what was being done (a path, never a text of the memory), why not, what to do."""
    reason = _ADVICE.get(error.errno or 0) or error.strerror or type(error).__name__
    return StoreError(f"{doing}: {reason}")


def _write_nameless(folder: str, path: str, data: bytes) -> None:
    descriptor = disk.open_nameless(folder)
    try:
        _write_all(descriptor, data)
        disk.fsync(descriptor)
        disk.link_nameless(descriptor, path)
    finally:
        os.close(descriptor)


def _create(path: StrPath, data: bytes, *, sync: bool) -> None:
    descriptor = disk.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY)
    try:
        _write_all(descriptor, data)
        if sync:
            disk.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    written = disk.write(descriptor, data)
    while written < len(data):
        written += disk.write(descriptor, memoryview(data)[written:])


def _sync(path: StrPath, flags: int) -> None:
    descriptor = disk.open(path, flags)
    try:
        disk.fsync(descriptor)
    finally:
        os.close(descriptor)


def _drop(temp: StrPath) -> None:
    with contextlib.suppress(OSError):  # what is left of it here is removed by the next sweep
        disk.unlink(temp)

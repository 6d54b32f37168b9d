"""The one place that writes files: whole, durable, or not at all (SPEC section 16).

Everything a store or a sidecar puts on disk goes through these few functions, so that what is promised about a crash is
argued, and tested by injected faults, in one file.  They raise ``OSError``; :func:`failure` turns one into a StoreError
that says what to do.  Called as ``durable.write_new(...)``, never imported by name, so that a test can replace them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from typing import TYPE_CHECKING, Final

from agent_memory.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "TEMP_PREFIX",
    "failure",
    "make_dir",
    "remove",
    "remove_dir",
    "replace",
    "sweep",
    "sync_dir",
    "write_new",
]

TEMP_PREFIX: Final = ".tmp-"
"""How the name of every file that is not finished begins."""

_ADVICE: Final = {
    errno.ENOENT: "a folder of the path does not exist; create it first",
    errno.ENOSPC: "the disk is full; free some space and try again",
    errno.EDQUOT: "the disk quota is used up; free some space and try again",
    errno.EROFS: "the file system is read-only; keep the memory on one that can be written",
    errno.EACCES: "permission denied; check the owner and the mode of the folder",
    errno.EPERM: "not permitted; check the owner of the folder, and that its file system has hard links",
    errno.EOPNOTSUPP: "the file system has no hard links; keep the memory elsewhere, or in one .db file",
    errno.ENOTDIR: "a part of the path is a file where a folder is needed; choose another path",
    errno.EEXIST: "a file is in the way where a folder is needed; choose another path",
    errno.ELOOP: "it is a symbolic link, which a store does not follow; put the real file in its place",
    errno.EMFILE: "too many files are open in this process; close some or raise the limit (ulimit -n)",
    errno.ENFILE: "too many files are open on this machine; close some",
}


def write_new(path: Path, data: bytes, staging: Path | None = None) -> None:
    """Create ``path`` with exactly ``data``; nobody ever sees it unfinished.

    ``staging`` is a folder on the same file system, where the unfinished file lies; None for that of ``path``.  The new
    name is durable after :func:`sync_dir` on its folder.

    Raises:
        FileExistsError: ``path`` is taken; it was not touched.
        OSError: nothing was created.
    """
    temp = _stage(data, staging or path.parent)
    try:
        path.hardlink_to(temp)
    finally:
        with contextlib.suppress(OSError):  # what is left of it here is removed by the next sweep
            temp.unlink()


def replace(path: Path, data: bytes, staging: Path | None = None) -> None:
    """Put ``data`` in the place of ``path`` in one step, whether or not it exists; ``staging`` as in :func:`write_new`.

    Raises:
        OSError: nothing changed.
    """
    temp = _stage(data, staging or path.parent)
    try:
        temp.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temp.unlink()
        raise


def make_dir(path: Path) -> bool:
    """Create one folder; False when it is there already."""
    try:
        path.mkdir()
    except FileExistsError:
        if path.is_dir():
            return False
        raise
    return True


def remove(path: Path) -> None:
    """Remove a file."""
    path.unlink()


def remove_dir(path: Path) -> None:
    """Remove an empty folder."""
    path.rmdir()


def sweep(staging: Path) -> None:
    """Remove unfinished files that a crash left in ``staging``.  The caller holds the lock all writers there take."""
    for leftover in staging.glob(f"{TEMP_PREFIX}*"):
        remove(leftover)


def sync_dir(path: Path) -> None:
    """Make the names in a folder durable.  Does nothing where folders cannot be synced (Windows)."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def failure(error: OSError, doing: str) -> StoreError:
    """The StoreError for ``error``: what was being done (a path, never a text of the memory), why not, what to do."""
    reason = _ADVICE.get(error.errno or 0) or error.strerror or type(error).__name__
    return StoreError(f"{doing}: {reason}")


def _stage(data: bytes, staging: Path) -> Path:
    """A new file in ``staging`` whose bytes are on the disk."""
    temp = staging / f"{TEMP_PREFIX}{secrets.token_hex(8)}"
    try:
        with temp.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        with contextlib.suppress(OSError):
            temp.unlink(missing_ok=True)
        raise
    return temp

"""Where a folder of records keeps what, and reading it (SPEC section 16.1): names, numbers, bytes.  Writes nothing."""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_memory.errors import StoreError

from . import durable

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "STAGING",
    "entries",
    "exists",
    "gapless",
    "is_folder_name",
    "is_version",
    "numbers_in",
    "read",
    "record_ids",
    "stands",
    "version_name",
]

STAGING: Final = ".staging"
"""Name of the folder, inside the root, for the lock, the journal, the change log and files that are not finished."""

_READ_FLAGS: Final = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)
"""How a version is opened: never through a symbolic link, and a pipe in its place hangs nobody."""

_EFFECTIVE: Final = os.access in os.supports_effective_ids

_VERSION: Final = re.compile(r"[0-9]{6,9}\.json", re.ASCII)
"""A longer number is that of no version: nobody has a thousand million of one record."""
_FOLDER: Final = re.compile(r"[0-9a-f]{32}", re.ASCII)


def version_name(number: int) -> str:
    """Name of the file with version ``number``, 1 or more."""
    return f"{number:06d}.json"


def is_version(name: str) -> bool:
    """Whether a file name is that of a version."""
    return _VERSION.fullmatch(name) is not None and name == version_name(int(name[:-5])) and name != version_name(0)


def is_folder_name(name: str) -> bool:
    """Whether a name is that of a record's folder."""
    return _FOLDER.fullmatch(name) is not None


def entries(folder: Path) -> list[Path]:
    """What lies in a folder, in no order."""
    return list(folder.iterdir())


def record_ids(root: Path) -> Iterator[str]:
    """The ids of the records whose folders lie in ``root``, in no order."""
    return (f"mem:{name}" for name in os.listdir(root) if is_folder_name(name))  # noqa: PTH208 - no paths are needed


def numbers_in(folder: Path | str) -> list[int]:
    """The numbers of the versions in ``folder``, ascending, gaps and all; empty when it is not there.

    Raises:
        StoreError: it is a symbolic link, no folder, or cannot be read.
    """
    try:
        linked = stat.S_ISLNK(os.lstat(folder).st_mode)
        names = [] if linked else os.listdir(folder)  # noqa: PTH208 - no paths are needed
    except FileNotFoundError:
        return []
    except OSError as error:
        raise durable.failure(error, f"cannot read {folder}") from error
    if linked:
        raise durable.failure(OSError(errno.ELOOP, ""), f"cannot read {folder}")
    return sorted(int(name[:-5]) for name in names if is_version(name))


def gapless(folder: Path | str, numbers: list[int]) -> list[int]:
    """``numbers`` when they go from 1 to n, else a StoreError that names the first that is missing."""
    if numbers and numbers[-1] != len(numbers):
        missing = next(number for number in range(1, numbers[-1]) if number not in numbers)
        raise StoreError(
            f"{folder}{os.sep}{version_name(missing)} is missing while later versions are there; restore it"
        )
    return numbers


def exists(path: Path | str) -> bool:
    """Whether anything has this name, a broken link too."""
    try:  # what os.path.lexists does, without its call: this is asked several times a put
        os.lstat(path)
    except OSError:
        return False
    return True


def stands(path: str) -> bool:
    """Whether there is a file of this name; quicker than :func:`exists` where there mostly is none."""
    return os.access(path, os.F_OK, effective_ids=_EFFECTIVE)


def read(path: Path | str) -> bytes:
    """The bytes of a file, which may not be a symbolic link."""
    with os.fdopen(os.open(path, _READ_FLAGS), "rb") as file:
        return file.read()

"""A copy of a folder of records in another folder: whole, durable, or not there (SPEC section 16.1)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agent_memory.errors import StoreError

from . import durable
from .layout import entries, is_folder_name, numbers_in, read, version_name

__all__ = ["copy_records", "new_folder"]


@contextmanager
def new_folder(destination: Path) -> Iterator[Path]:
    """A folder to fill, which gets the name ``destination`` when the block ends well and all in it is on the disk.

    Raises:
        StoreError: there is something at ``destination`` already, an empty folder aside; or the disk failed.
    """
    _check_free(destination)
    unfinished = destination.with_name(f"{durable.TEMP_PREFIX}{destination.name}")
    try:
        durable.make_dirs(destination.parent)
        if not durable.make_dir(unfinished):
            raise StoreError(
                f"{unfinished} is in the way: another backup is running, or one was cut short; remove it if none runs"
            )
        try:
            yield unfinished
            for folder in (*entries(unfinished), unfinished):
                for path in entries(folder) if folder != unfinished else ():
                    durable.sync_file(path)
                durable.sync_dir(folder)
            _check_free(destination)
            if destination.exists():
                durable.remove_dir(destination)
            durable.rename(unfinished, destination)
            try:
                durable.sync_dir(destination.parent)
            except OSError:
                durable.rename(destination, unfinished)
                raise
        finally:
            with contextlib.suppress(OSError):
                if unfinished.exists():
                    durable.remove_tree(unfinished)
    except OSError as error:
        raise durable.failure(error, f"cannot write the backup {destination}") from error


def copy_records(root: Path, target: Path) -> None:
    """Copy every version below ``root`` to ``target``, as it is, damaged or not.  Under the lock of ``root``.

    Raises:
        StoreError: a version that cannot be read.
        OSError: ``target`` cannot be written.
    """
    for folder in entries(root):
        if not is_folder_name(folder.name):
            continue
        numbers = numbers_in(folder)
        if numbers:
            durable.make_dir(target / folder.name)
        for name in map(version_name, numbers):
            try:
                data = read(folder / name)
            except OSError as error:
                raise durable.failure(error, f"cannot back up {folder / name}") from error
            durable.create(target / folder.name / name, data)


def _check_free(destination: Path) -> None:
    if destination.is_symlink() or (
        destination.exists() and not (destination.is_dir() and not any(entries(destination)))
    ):
        raise StoreError(f"{destination} is there already; name a new folder for the backup")

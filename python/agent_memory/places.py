"""Where things lie: the paths callers give, and the folder beside a memory for what may be lost (SPEC section 16)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from .errors import ArgumentError, ArgumentTypeError, StoreError
from .stores import durable
from .stores.gitignore import write_gitignore

__all__ = ["SIDECARS", "as_path", "make_sidecar_folder", "remove_foreign_index", "sidecar_folder"]

SIDECARS: Final = (
    "catalogue.db",
    "catalogue.db-wal",
    "catalogue.db-shm",
    "consolidated.json",
    "recall.index",
    "salience.json",
    "salience.lock",
    "salience.lock.next",
    "vectors.bin",
    "records/.staging/",
)
"""What lies beside the records and can be rebuilt: the names the memory's ``.gitignore`` lists."""


def as_path(path: object) -> Path:
    """A path a caller gave.

    Raises:
        ArgumentTypeError: neither a str nor a Path.
        ArgumentError: empty, or with a NUL character in it.
    """
    if not isinstance(path, str | os.PathLike):
        raise ArgumentTypeError(f"a path must be a str or a Path, not {type(path).__name__}")
    found = os.fspath(path)
    if not isinstance(found, str):
        raise ArgumentTypeError("a path must be text, not bytes")
    if not found or "\0" in found:
        raise ArgumentError("a path must not be empty or hold a NUL character")
    return Path(found)


def sidecar_folder(memory: Path) -> Path:
    """The folder for the sidecars of the memory at ``memory``: itself for a folder, ``x.db.d`` for a file ``x.db``.

    Of a memory reached through a symbolic link it is that of the real one, or there would be two.
    """
    real = memory.resolve()
    return memory if real.is_dir() else real.with_name(real.name + ".d")


def make_sidecar_folder(folder: Path) -> bool:
    """Make the folder of the sidecars, with a ``.gitignore`` that names them; False where it cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_gitignore(folder, SIDECARS)
    except (OSError, StoreError):
        return False
    return os.access(folder, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def remove_foreign_index(memory: Path) -> None:
    """Remove ``index.sqlite``, where another program keeps the words of this memory's records.

    We have no say in what it holds of a redacted record; its owner makes it anew.

    Raises:
        StoreError: it is there and cannot be removed.
    """
    for suffix in ("", "-wal", "-shm", "-journal"):
        path = memory / f"index.sqlite{suffix}"
        try:
            if path.is_file():
                durable.remove(path)
        except OSError as error:
            raise durable.failure(error, f"cannot remove {path}, which may hold redacted words") from error

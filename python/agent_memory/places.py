"""Where things lie: the paths callers give, and the folder beside a memory for what may be lost (SPEC section 16)."""

from __future__ import annotations

import os
from pathlib import Path

from .errors import ArgumentError, ArgumentTypeError

__all__ = ["as_path", "sidecar_folder"]


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
    """The folder for the sidecars of the memory at ``memory``: itself for a folder, ``x.db.d`` for a file ``x.db``."""
    return memory if memory.is_dir() else memory.with_name(memory.name + ".d")

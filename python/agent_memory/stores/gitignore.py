"""The ``.gitignore`` of a memory's folder: what lies there can be rebuilt, and may hold copies of what was erased."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from . import durable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["write_gitignore"]

_REASON: Final = "# Written by agent-memory: these can be rebuilt, or belong to this machine alone."


def write_gitignore(folder: Path, names: Iterable[str]) -> bool:
    """Write ``folder/.gitignore`` with one line for each of ``names``; False, and nothing done, when there is one.

    Args:
        folder: where; it must exist.
        names: paths below ``folder`` with ``/`` between their parts, such as ``"records/.staging/"``; no patterns.

    Raises:
        StoreError: it cannot be written.
    """
    path = folder / ".gitignore"
    lines = [_REASON, *(f"/{name}" for name in names)]
    try:
        if not path.exists():
            durable.write_new(str(folder), str(path), ("\n".join(lines) + "\n").encode(), durable.Staging(folder))
            durable.sync_dir(folder)
            return True
    except FileExistsError:
        pass
    except OSError as error:
        raise durable.failure(error, f"cannot write {path}") from error
    return False

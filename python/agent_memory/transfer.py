"""Memory files on disk: written whole or not at all, read strictly, verified before anything is done with them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from . import kernel
from .errors import RecordError
from .memory_file import MemoryFile
from .places import as_path
from .records import MemoryRecord
from .stores import durable
from .wire import parse_json

if TYPE_CHECKING:
    from fg_agent_id import KeyPair

__all__ = ["export_records", "read_memory_file", "write_memory_file"]


def export_records(
    path: str | os.PathLike[str], records: Iterable[MemoryRecord], *, keys: KeyPair | None, agent: str | None
) -> MemoryFile:
    """Write records to a file at ``path``, oldest first, signed when there are keys.  Raises as its parts do."""
    ordered = sorted(records, key=lambda record: (record.created_at, record.id))
    file = MemoryFile.create(ordered, agent=agent)
    if keys is not None:
        file = file.sign(keys)
    write_memory_file(path, file)
    return file


def write_memory_file(path: str | os.PathLike[str], file: MemoryFile) -> None:
    """Put ``file`` at ``path`` as canonical JSON, in one step.

    Raises:
        ArgumentError: ``path`` is none.
        StoreError: it could not be written; what stood there before still does.
    """
    target = as_path(path)
    try:
        durable.replace(target, kernel.canonical_json(file.model_dump()))
        durable.sync_dir(target.parent)
    except OSError as error:
        raise durable.failure(error, f"cannot write the memory file {target}") from error


def read_memory_file(path: str | os.PathLike[str], *, verify: bool, expected_agent: str | None) -> MemoryFile:
    """Read the file at ``path``, in any spelling of its JSON, and with ``verify`` check every signature in it.

    Raises:
        ArgumentError: ``path`` is none.
        RecordError: not a memory file, damaged, unsigned while ``verify``, or not the file of ``expected_agent``.
        SignatureMismatch: a signature does not match; also a ``fg_agent_id.SignatureError``.
        StoreError: it cannot be read.
    """
    source = as_path(path)
    try:
        data = source.read_bytes()
    except OSError as error:
        raise durable.failure(error, f"memory file {source} cannot be read") from error
    file = MemoryFile.model_validate(parse_json(data, f"memory file {source}"))
    if expected_agent is not None and file.agent != expected_agent:
        raise RecordError(f"memory file {source} is not the file of the expected agent; it names another or none")
    if verify:
        file.verify()
        file.verify_records()
    return file

"""What is wrong in a folder of records: read every version, name what cannot be read or does not belong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from agent_memory.errors import StoreError
from agent_memory.records import MemoryRecord

from . import durable
from .layout import entries, gapless, is_folder_name, is_version, numbers_in, read
from .payload import read_record

__all__ = ["find_damage"]


def find_damage(root: Path) -> tuple[tuple[str, str], ...]:
    """What is wrong below ``root``, as (path, what it is and what to do), sorted; no content is quoted."""
    found: list[tuple[str, str]] = []
    for path in entries(root):
        if path.name.startswith("."):
            continue
        if not is_folder_name(path.name) or path.is_symlink() or not path.is_dir():
            found.append((str(path), "is no record folder; move it out of here"))
        else:
            found.extend(_damage_in(path))
    return tuple(sorted(found))


def _damage_in(folder: Path) -> Iterator[tuple[str, str]]:
    record_id = f"mem:{folder.name}"
    newest: MemoryRecord | None = None
    for path in sorted(entries(folder), reverse=True):
        if not is_version(path.name):
            if not path.name.startswith(".") or path.name.startswith(durable.TEMP_PREFIX):
                yield str(path), "is no version of a record; remove it"
            continue
        try:
            record = read_record(read(path), record_id, "the file")
        except OSError as error:
            yield str(path), str(durable.failure(error, "cannot be read"))
        except StoreError as error:
            yield str(path), str(error)
        else:
            newest = newest or record
            if newest.redacted and not record.redacted:
                yield str(path), "holds content of a redacted record; redact it again to finish"
    try:
        gapless(folder, numbers_in(folder))
    except StoreError as error:
        yield str(folder), str(error)

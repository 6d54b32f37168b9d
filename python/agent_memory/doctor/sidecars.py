"""What lies beside the records and can be lost: touch counts, catalogue, unfinished files; and what a crash left."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from agent_memory.clock import time_from_wire
from agent_memory.errors import RecordError
from agent_memory.places import sidecar_folder
from agent_memory.records import MemoryRecord
from agent_memory.stores import durable, layout
from agent_memory.wire import is_record_id, parse_json

from .finding import Finding
from .reading import leftover
from .words import CATALOGUE, FOREIGN_INDEX, indexes

__all__ = ["beside", "remove"]

_UNFINISHED: Final = {
    "journal": "is a write of several records that was cut short; opening the memory finishes it",
    "undo": "is a write that failed and was not wholly taken back; opening the memory does it",
}
_HEAD: Final = re.compile(rb"[0-9a-f]{32} [0-9]{1,20}")
_LINE: Final = re.compile(rb"[0-9a-f]{32} [0-9]{1,12} [0-9]{1,20}")


def beside(path: Path, newest: dict[str, MemoryRecord], present: str | None, *, sound: bool) -> Iterator[Finding]:
    """What is wrong beside the records of the memory at ``path``; the arguments as :func:`.words.indexes` has them."""
    folder, staging = sidecar_folder(path), path / "records" / layout.STAGING
    log = list(_change_log(staging / "changes"))
    yield from log
    if folder.is_dir():
        for entry in layout.entries(folder):
            if entry.name.startswith(durable.TEMP_PREFIX):
                yield leftover(entry)
        yield from _touch_counts(folder / "salience.json")
    yield from indexes(path, newest, present, sound=sound, log_is_torn=bool(log))
    if path.is_dir() and staging.is_dir():
        for entry in sorted(layout.entries(staging)):
            if entry.name.startswith(durable.TEMP_PREFIX):
                yield leftover(entry)
            elif entry.name in _UNFINISHED:
                yield Finding("interrupted", str(entry), _UNFINISHED[entry.name])


def remove(finding: Finding) -> None:
    """Remove the file of a finding that is repairable.

    Raises:
        StoreError: it could not be removed.
    """
    path = Path(finding.where)
    try:
        path.unlink(missing_ok=True)
        if path.name in {CATALOGUE, FOREIGN_INDEX}:
            for suffix in ("-wal", "-shm", "-journal"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
        durable.sync_dir(path.parent)
    except OSError as error:
        raise durable.failure(error, f"cannot remove {path}") from error


def _touch_counts(path: Path) -> Iterator[Finding]:
    if not layout.exists(path):
        return
    try:
        _check_counts(parse_json(path.read_bytes() if path.is_file() else b"", "it"))
    except (OSError, RecordError) as error:
        why = (error.strerror or "unreadable") if isinstance(error, OSError) else str(error)
        what = f"holds no touch counts that can be read ({why}); without it recall only forgets how often it was used"
        yield Finding("sidecar", str(path), what, repairable=not path.is_dir())


def _check_counts(wire: Any) -> None:
    scores = wire.get("scores") if isinstance(wire, dict) else None
    if not isinstance(scores, dict):
        raise RecordError("it has no object 'scores'")
    for record_id, item in scores.items():
        count = item.get("touches") if isinstance(item, dict) else None
        if not is_record_id(record_id) or isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise RecordError("an entry is not that of a record with a number of touches")
        time_from_wire(item.get("last_touched"), "last_touched")


def _change_log(path: Path) -> Iterator[Finding]:
    """Whether the log behind the change cursor of a folder is torn; one that is not there is none."""
    if not layout.exists(path):
        return
    try:
        head, *lines = layout.read(path).split(b"\n")
        sound = _HEAD.fullmatch(head) and not lines.pop() and all(map(_LINE.fullmatch, lines))
    except (OSError, IndexError):
        sound = None
    if not sound:
        what = "is no list of changes that can be read; it is begun again when it is needed"
        yield Finding("sidecar", str(path), what, repairable=not path.is_dir())

"""What indexes of words hold of a memory's records: our catalogue, and another program's ``index.sqlite``."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from agent_memory.catalogue import CATALOGUE
from agent_memory.corrections.ledger import line_of
from agent_memory.errors import StoreError
from agent_memory.places import sidecar_folder
from agent_memory.records import MemoryRecord
from agent_memory.stores import layout

from .finding import Finding
from .reading import open_read_only

__all__ = ["CATALOGUE", "FOREIGN_INDEX", "indexes", "present_cursor"]

FOREIGN_INDEX: Final = "index.sqlite"
_LINE: Final = re.compile(r"([0-9a-f]{32}) [0-9]{1,12} [0-9]{1,20}", re.ASCII)
_AGAIN: Final = "it is made again when the memory is opened"


def indexes(
    path: Path, newest: dict[str, MemoryRecord], present: str | None, *, sound: bool, log_is_torn: bool
) -> Iterator[Finding]:
    """What is wrong with the indexes of the memory at ``path``, whose newest versions are ``newest``.

    ``present`` is the change cursor from before the records were read; a catalogue is compared with them only when it
    stands there, and nothing was written since.  ``sound`` is whether every record can be served.
    """
    gone = {record_id for record_id, record in newest.items() if record.redacted}
    catalogue = sidecar_folder(path) / CATALOGUE
    if layout.exists(catalogue):
        yield from _catalogue(path, catalogue, newest, gone, present, sound=sound, log_is_torn=log_is_torn)
    foreign = path / FOREIGN_INDEX
    if path.is_dir() and gone and foreign.is_file():
        held = gone & _foreign_ids(foreign)
        if held:
            what = f"another program's index holds words of {len(held)} redacted records; its owner makes it again"
            yield Finding("sidecar", str(foreign), what, repairable=True)


def present_cursor(path: Path) -> str | None:
    """The change cursor of the memory as it stands on the disk; None when it has none yet."""
    try:
        if path.is_dir():
            data = layout.read(_log(path))
            generation = data.split(b" ")[0].decode("ascii", "replace")
            return f"{generation}-{len(data)}-"  # a checksum of its end follows
        with open_read_only(path) as connection:
            row = connection.execute("SELECT value FROM agent_memory_meta WHERE name = 'generation'").fetchone()
            last = connection.execute(
                "SELECT change, mark FROM agent_memory_changes ORDER BY change DESC LIMIT 1"
            ).fetchone() or (0, 0)
            return f"{row[0].decode('ascii', 'replace')} {last[0]} {last[1]}" if row else None
    except (OSError, StoreError, sqlite3.Error, AttributeError):
        return None


def _catalogue(
    path: Path,
    catalogue: Path,
    newest: dict[str, MemoryRecord],
    gone: set[str],
    present: str | None,
    *,
    sound: bool,
    log_is_torn: bool,
) -> Iterator[Finding]:
    try:
        with open_read_only(catalogue) as connection:
            connection.execute("BEGIN")
            if connection.execute("PRAGMA quick_check(1)").fetchone()[0] != b"ok":
                raise sqlite3.DatabaseError("its pages do not fit together")
            state = dict(connection.execute("SELECT name, value FROM catalogue_state").fetchall())
            rows = _ids(connection, "SELECT record_id FROM agent_memory_rows")
            words = _ids(connection, "SELECT record_id FROM record_fts")
            lines = _ids(connection, "SELECT record_id FROM catalogue_lines")
    except (sqlite3.Error, OSError, StoreError) as error:
        what = f"is no catalogue that can be read ({error}); {_AGAIN}"
        yield Finding("sidecar", str(catalogue), what, repairable=not catalogue.is_dir())
        return
    cursor = _text(state.get(b"cursor", b""))
    if log_is_torn or not present or not cursor:
        return
    if re.split("[ -]", cursor)[0] != re.split("[ -]", present)[0]:
        what = f"is the catalogue of another state of the records; {_AGAIN}"
        yield Finding("sidecar", str(catalogue), what, repairable=True)
        return
    if not cursor.startswith(present) or present_cursor(path) != present:
        return  # it is brought in step when the memory is opened, or is being brought there now
    if held := gone & (rows | words | lines):
        what = f"holds words of {len(held)} redacted records; {_AGAIN}"
        yield Finding("sidecar", str(catalogue), what, repairable=True)
        return
    told = newest.keys() - gone - _untold(path, newest) if sound else set()
    kept = {record_id for record_id in told if line_of(newest[record_id]) is not None}
    lacking = (told - (rows & words)) | (kept - lines)
    strange = (rows | words | lines) - newest.keys() if sound else set()
    if lacking or strange:
        what = f"lacks {len(lacking)} records and holds {len(strange)} that are not in this memory; {_AGAIN}"
        yield Finding("sidecar", str(catalogue), what, repairable=True)


def _untold(path: Path, newest: dict[str, MemoryRecord]) -> set[str]:
    """Records of a folder that its change log may not tell of: the catalogue learns of them at the next opening."""
    if not path.is_dir():
        return set()
    try:
        head, *lines = layout.read(_log(path)).decode("ascii", "replace").splitlines()
        begun = int(head.split(" ")[1])
        told = {f"mem:{line[1]}" for line in map(_LINE.fullmatch, lines) if line is not None}
        untold = set()
        for record_id in newest.keys() - told:
            about = (path / "records" / record_id.removeprefix("mem:")).stat()
            if max(about.st_mtime_ns, about.st_ctime_ns) > begun:
                untold.add(record_id)
    except (OSError, ValueError, IndexError):
        return set(newest)
    return untold


def _foreign_ids(index: Path) -> set[str]:
    """Ids of the records whose words another program's index holds; none when it is no such index."""
    try:
        with open_read_only(index) as connection:
            return _ids(connection, "SELECT record_id FROM record_fts")
    except (sqlite3.Error, OSError, StoreError):
        return set()


def _ids(connection: sqlite3.Connection, sql: str) -> set[str]:
    return {_text(record_id) for (record_id,) in connection.execute(sql)}


def _log(path: Path) -> Path:
    return path / "records" / layout.STAGING / "changes"


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)

"""What the tests of the doctor share: memories with something wrong in them, and looking at them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from agent_memory import MemoryRecord
from agent_memory.doctor import KINDS, Finding, examine
from agent_memory.stores import open_store
from contracts import SECRET


def fill(place: Path, *records: MemoryRecord) -> None:
    with closing(open_store(place)) as store:
        store.put_many(records)


def versions_of(place: Path, record: MemoryRecord) -> Path:
    return place / "records" / record.id.removeprefix("mem:")


def change(file: Path, sql: str, *values: Any) -> None:
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute(sql, values).rowcount
        connection.commit()


def everything(folder: Path) -> dict[str, bytes]:
    """Every file and folder with its content; of SQLite's scratch files that they are there."""
    paths = sorted(folder.rglob("*"))
    return {str(path): path.read_bytes() if path.is_file() and path.suffix != ".db-shm" else b"" for path in paths}


def look(place: Path) -> list[Finding]:
    """What the doctor finds, having made sure that it left everything as it was and quotes nothing."""
    before = everything(place.parent)
    found = examine(place)
    assert everything(place.parent) == before
    assert all(finding.kind in KINDS for finding in found)
    assert SECRET not in repr(found)
    assert list(found) == sorted(found)
    return list(found)


def the_one(place: Path) -> Finding:
    (found,) = look(place)
    return found

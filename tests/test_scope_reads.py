"""A thousand reads change no record, and no file but the counts of use."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from agent_memory import Memory

SIDECAR = {"salience.json", "salience.lock"}


def picture(folder: Path) -> dict[str, str]:
    """A digest of every file below a folder, by its path."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in SIDECAR
    }


@pytest.mark.parametrize("name", ["memory", "memory.db"])
def test_a_thousand_reads_change_no_file_but_the_sidecar_and_no_record(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    ids = []
    with Memory(path, user_id="alice", auto_consolidate=False) as memory:
        for number in range(20):
            result = memory.remember(f"The locker {number} is blue.", key=f"locker::{number % 5}", object=str(number))
            ids.append(result.record_id or "")
        memory.credit(ids[-1])
        memory.recall("locker")
    with Memory(path) as memory:  # what opening leaves behind is there before the picture is taken
        memory.recall("locker", user_id="alice")
    before = picture(tmp_path)
    with Memory(path, user_id="alice") as memory:
        records = {record.id: memory.history(record.id) for record in memory.list()}
        for number in range(250):
            memory.recall(f"locker {number % 20}", include_history=number % 2 == 0)
            memory.history(key=f"locker::{number % 5}")
            memory.get(ids[number % 20])
            memory.list()
        memory.similar(0.1)
        memory.status()
        assert {record.id: memory.history(record.id) for record in memory.list()} == records
    assert picture(tmp_path) == before
    assert any(path.name == "salience.json" for path in tmp_path.rglob("*"))

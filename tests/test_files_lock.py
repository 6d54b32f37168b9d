"""The lock over a folder: whatever happens to its files and whoever was forked, one writer at a time."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from agent_memory.errors import StoreError
from agent_memory.stores import FileRecordStore
from agent_memory.stores.layout import STAGING
from contracts import make

A, B = make("One fact."), make("Another fact.")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "records"


def test_a_lock_file_that_somebody_removed_locks_nobody_out_or_in(root: Path) -> None:
    one, two = FileRecordStore(root, timeout=0.1), FileRecordStore(root, timeout=0.1)
    one.put(A)
    two.put(B)
    for path in (root / STAGING).glob("lock*"):
        path.unlink()
    with one.transaction(), pytest.raises(StoreError, match="another process"):
        two.put(make("Not while the other writes."))
    two.put(make("But afterwards."))


def test_a_forked_child_takes_the_lock_for_itself(root: Path) -> None:
    store = FileRecordStore(root, timeout=0.2)
    store.put(A)
    child = os.fork() if hasattr(os, "fork") else None
    if child == 0:
        try:
            with store.transaction():
                time.sleep(1.0)
        finally:
            os._exit(0)
    if child is not None:
        time.sleep(0.3)
        with pytest.raises(StoreError, match="another process"):
            store.put(B)
        os.waitpid(child, 0)
        store.put(B)

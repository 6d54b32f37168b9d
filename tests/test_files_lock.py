"""The lock over a folder: whatever happens to its files and whoever was forked, one writer at a time."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agent_memory import Memory
from agent_memory.errors import StoreError
from agent_memory.stores import FileRecordStore
from agent_memory.stores.layout import STAGING
from contracts import make

A, B = make("One fact."), make("Another fact.", minute=1)
FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked there")


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


def test_a_folder_that_was_put_in_the_place_of_another_has_a_lock_of_its_own(root: Path) -> None:
    store = FileRecordStore(root, timeout=0.1)
    store.put(A)
    cursor, _ = store.changes()
    root.rename(root.with_name("moved away"))
    other = FileRecordStore(root, timeout=0.1)
    other.changes()
    with other.transaction():
        other.put(B)
        with pytest.raises(StoreError, match="another process"):
            store.put(A)
    store.put(A)
    assert store.changes(cursor)[1] is None
    after, _ = other.changes()
    store.put(B)
    assert other.changes(after)[1] == (B.id,)
    assert {record.id for record in other.list()} == {A.id, B.id}


def in_a_forked_child(act: Callable[[], object]) -> str:
    """What ``act`` raises in a forked child; empty for nothing."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            act()
        except BaseException as error:
            os.write(write, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as told:
        said = told.read()
    os.waitpid(child, 0)
    return said


@FORKS
@pytest.mark.parametrize("error", [None, ValueError("the child gives up")])
def test_a_child_forked_in_a_transaction_neither_ends_it_nor_frees_its_lock(
    root: Path, error: Exception | None
) -> None:
    store, other = FileRecordStore(root, timeout=0.1), FileRecordStore(root, timeout=0.1)
    block = store.transaction()
    block.__enter__()
    store.put(A)
    said = in_a_forked_child(lambda: block.__exit__(error and type(error), error, None))
    assert said == "" if error else "only the parent process can end it" in said
    assert "another process" in in_a_forked_child(lambda: store.put(B))
    with pytest.raises(StoreError, match="another process"):
        other.put(B)
    block.__exit__(None, None, None)
    assert store.history(A.id) == (A,)
    assert in_a_forked_child(lambda: store.put(B)) == ""
    assert store.list() == (A, B)


@FORKS
def test_a_child_forked_while_another_thread_writes_can_write_after_it(root: Path) -> None:
    store = FileRecordStore(root, timeout=5)
    inside, go_on = threading.Event(), threading.Event()

    def write() -> None:
        with store.transaction():
            store.put(A)
            inside.set()
            go_on.wait(20)

    thread = threading.Thread(target=write)
    thread.start()
    inside.wait(20)
    threading.Timer(0.3, go_on.set).start()
    assert in_a_forked_child(lambda: store.put(B)) == ""
    thread.join(20)
    assert store.list() == (A, B)


@FORKS
@pytest.mark.parametrize("name", ["memory", "memory.db"])
def test_a_memory_is_not_used_in_a_forked_child(tmp_path: Path, name: str) -> None:
    with Memory(tmp_path / name) as memory:
        memory.remember("The staging database is Postgres.")
        for act in (lambda: memory.recall("staging"), lambda: memory.remember("No."), memory.list):
            assert "open it again here" in in_a_forked_child(act)
        assert in_a_forked_child(memory.close) == ""
        memory.remember("The parent goes on.")
        assert memory.status()["records"] == 2


def test_a_file_system_that_numbers_files_anew_each_time_can_be_written(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = itertools.count(1)
    real = os.stat

    def numbered(path: Any, **how: Any) -> SimpleNamespace:
        about = real(path, **how)
        values = {name: getattr(about, name) for name in dir(about) if name.startswith("st_")}
        return SimpleNamespace(**values | {"st_ino": next(numbers)})

    monkeypatch.setattr(os, "stat", numbered)
    store = FileRecordStore(root, timeout=0.1)
    store.changes()
    store.put(A)
    store.put(B)
    assert store.list() == (A, B)

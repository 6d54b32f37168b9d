"""Threads of one process that read while another is in a transaction: they see what is committed, and do not wait."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from agent_memory import Memory, SQLiteRecordStore, StoreError
from plain_store import said

_Result = TypeVar("_Result")
PATIENCE = 20.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a #1?.db"


@pytest.fixture
def store(path: Path) -> Iterator[SQLiteRecordStore]:
    opened = SQLiteRecordStore(path)
    yield opened
    opened.close()


def elsewhere(call: Callable[[], _Result]) -> _Result:
    """What a call gives in another thread, which must not wait for this one."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append((call(), None))
        except BaseException as error:  # raised again here
            found.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert found, "it waits"
    result, error = found[0]
    if error is not None:
        raise error
    return result  # type: ignore[no-any-return]


@contextmanager
def writing(store: SQLiteRecordStore) -> Iterator[None]:
    with store.transaction():
        store.put(said("Not there yet."))
        yield


def test_a_reader_sees_what_was_committed_and_does_not_wait(store: SQLiteRecordStore) -> None:
    there = said("There already.")
    store.put(there)
    with writing(store):
        assert elsewhere(store.list) == (there,)
        assert elsewhere(lambda: store.get(there.id)) == there
        assert elsewhere(lambda: store.history(there.id)) == (there,)
        assert len(store.list()) == 2
    assert len(elsewhere(store.list)) == 2


def test_what_was_put_before_by_the_same_thread_is_seen(store: SQLiteRecordStore) -> None:
    for number in range(5):
        record = said(f"Note {number}.")
        elsewhere(lambda record=record: store.put(record))  # type: ignore[misc]
        with writing(store) if number == 0 else store.transaction():
            assert elsewhere(lambda record=record: store.get(record.id)) == record  # type: ignore[misc]


def test_an_erasure_leaves_nothing_though_somebody_reads_aside(store: SQLiteRecordStore, path: Path) -> None:
    secret = said("The word is xyzzy-plugh.")
    store.put(secret)
    with writing(store):
        elsewhere(store.list)
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            store.list()

    threads = [threading.Thread(target=read, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    store.redact(secret.id, "asked for")
    stop.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert not store.erasure_pending
    assert all(b"plugh" not in file.read_bytes() for file in path.parent.iterdir() if file.is_file())


def test_closing_leaves_one_file(path: Path) -> None:
    store = SQLiteRecordStore(path)
    with writing(store):
        elsewhere(store.list)
    store.close()
    assert [file.name for file in path.parent.iterdir() if file.is_file()] == [path.name]
    with pytest.raises(StoreError, match="closed"):
        store.list()


def test_it_is_the_file_that_was_opened(store: SQLiteRecordStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder the process works in may change; a file put in its place is not read."""
    there = said("There already.")
    store.put(there)
    monkeypatch.chdir(path.parent)
    relative = SQLiteRecordStore(path.name)
    try:
        monkeypatch.chdir("/")
        with relative.transaction():
            assert elsewhere(relative.list) == (there,)
    finally:
        relative.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_does_not_use_it(store: SQLiteRecordStore) -> None:
    with writing(store):
        elsewhere(store.list)
        child = os.fork()
        if child == 0:
            try:
                store.list()
            except StoreError:
                os._exit(0)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(store.list()) == 1


def test_a_memory_is_read_while_it_is_consolidated(path: Path) -> None:
    with Memory(path, auto_consolidate=False) as memory:
        first = memory.remember("The staging database is Postgres").record_id
        assert first is not None
        inside, done = threading.Event(), threading.Event()

        def progress(name: str, *_: int) -> None:
            if name == "contradiction":
                inside.set()
                done.wait(PATIENCE)

        thread = threading.Thread(target=lambda: memory.consolidate(full=True, progress=progress), daemon=True)
        thread.start()
        assert inside.wait(PATIENCE)
        started = time.monotonic()
        assert elsewhere(lambda: memory.get(first)).body == "The staging database is Postgres"
        assert len(elsewhere(memory.list)) == 1
        assert len(elsewhere(lambda: memory.recall("staging database").records)) == 1
        assert time.monotonic() - started < PATIENCE / 2
        done.set()
        thread.join(PATIENCE)

"""What others do to a folder of records is noticed, and who only reads waits for nobody and needs to write nothing."""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import fg_agent_memory as peer
import pytest

from agent_memory import Memory
from agent_memory.doctor import examine
from agent_memory.errors import ArgumentError, ArgumentTypeError, StoreError
from agent_memory.lifecycle import archive
from agent_memory.stores import FileRecordStore, durable
from contracts import NOON, SECRET, make
from crash.disks import CountingDisk

A, B, C = make("a"), make("b", minute=1), make("c", minute=2)
THEIRS = peer.MemoryRecord.create(
    peer.RecordType.FACT, "theirs", peer.Provenance(kind="conversation", ref="r"), created_at=NOON
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "records"


@pytest.fixture
def store(root: Path) -> FileRecordStore:
    return FileRecordStore(root)


class NoDisk(CountingDisk):
    """A disk that takes nothing."""

    def before(self, name: str) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))


@pytest.fixture
def read_only() -> Iterator[NoDisk]:
    disk = NoDisk()
    yield disk
    durable.disk = durable.Disk()


# ------------------------------------------------------------------------------------------------ changes of others


@pytest.mark.parametrize("clock", [0, -3600, 3600])
@pytest.mark.parametrize("again", [1, 2])
def test_a_redaction_by_a_stranger_right_after_our_write_is_told(
    store: FileRecordStore, root: Path, monkeypatch: pytest.MonkeyPatch, clock: int, again: int
) -> None:
    store.put(B)
    store.changes()
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() + clock * 1_000_000_000)
    for _ in range(again):
        store.put(A)
    cursor, _ = store.changes()
    for record in (A, B):  # B was there before the first question
        folder = root / record.id.removeprefix("mem:")
        times = folder.stat()
        peer.FileRecordStore(root).redact(record.id, "leaked")
        os.utime(folder, ns=(times.st_atime_ns, times.st_mtime_ns))  # as a clock that is too coarse has it
    cursor, told = FileRecordStore(root).changes(cursor)
    assert set(told or ()) == {A.id, B.id}
    assert FileRecordStore(root).changes(cursor) == (cursor, ())


def test_our_own_writes_are_told_once_and_not_again_when_the_folder_is_opened(
    store: FileRecordStore, root: Path
) -> None:
    store.put(A)
    cursor, _ = store.changes()
    store.put_many([B, B, archive(A, reason="decay", now=NOON)])
    store.redact(B.id, "leaked", now=NOON)
    store.put(C)
    assert FileRecordStore(root).changes(cursor)[1] == (B.id, A.id, C.id)
    cursor, _ = store.changes()
    assert FileRecordStore(root).changes(cursor) == (cursor, ())


def test_a_record_of_a_stranger_is_told_though_we_added_one_too(store: FileRecordStore, root: Path) -> None:
    cursor, _ = store.changes()
    ours = FileRecordStore(root)
    for number in range(3):
        first, last = make(f"first {number}"), make(f"last {number}")
        theirs = peer.MemoryRecord.create(
            peer.RecordType.FACT, f"their {number}", peer.Provenance(kind="conversation", ref="r"), created_at=NOON
        )
        ours.put(first)
        peer.FileRecordStore(root).put(theirs)
        ours.put(last)
        cursor, told = store.changes(cursor)
        assert set(told or ()) == {first.id, theirs.id, last.id}
        shutil.rmtree(root / first.id.removeprefix("mem:"))
        ours.put(make(f"and another {number}"))
        cursor, told = store.changes(cursor)
        assert first.id in (told or ())


def test_records_we_add_are_told_without_looking_at_every_folder(
    store: FileRecordStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cursor, _ = store.changes()
    FileRecordStore(root).put_many([A, B, A])
    store.put(C)

    def refuse(_: object) -> list[str]:
        raise AssertionError

    monkeypatch.setattr(os, "listdir", refuse)
    assert store.changes(cursor)[1] == (A.id, B.id, C.id)


# ------------------------------------------------------------------------------------------------- readers wait not


def test_asking_for_changes_waits_for_no_writer(store: FileRecordStore, root: Path) -> None:
    cursor, _ = store.changes()
    holder, late = FileRecordStore(root), FileRecordStore(root)
    holder.put(A)
    started = time.monotonic()
    with holder.transaction():
        holder.put(B)
        peer.FileRecordStore(root).put(THEIRS)
        for asked in (store, late):
            _, told = asked.changes(cursor)
            assert set(told or ()) == {A.id, THEIRS.id}
    assert time.monotonic() - started < 5
    assert set(store.changes(cursor)[1] or ()) == {A.id, B.id, THEIRS.id}


def test_a_write_of_ours_is_told_without_the_lock(store: FileRecordStore, root: Path) -> None:
    cursor, _ = store.changes()
    durable.disk = disk = CountingDisk()
    try:
        FileRecordStore(root).put(A)
        disk.calls.clear()
        assert store.changes(cursor)[1] == (A.id,)
        assert disk.calls == []
    finally:
        durable.disk = durable.Disk()


def test_what_is_not_visible_yet_is_told_when_it_is(
    store: FileRecordStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cursor, _ = store.changes()
    writer, disk = FileRecordStore(root), durable.Disk()
    early: list[tuple[str, tuple[str, ...] | None]] = []

    def watched(link: Callable[[Any, str], None], source: Any, target: str) -> None:
        early.extend(asked.changes(cursor) for asked in (store, FileRecordStore(root)))
        link(source, target)

    for name in ("link", "link_nameless"):
        monkeypatch.setattr(disk, name, partial(watched, getattr(disk, name)))
    monkeypatch.setattr(durable, "disk", disk)
    writer.put(A)
    monkeypatch.undo()
    assert len(early) == 2
    for at, told in early:
        assert told == ()
        assert store.changes(at)[1] == FileRecordStore(root).changes(at)[1] == (A.id,)


@pytest.mark.parametrize("logged", [False, True])
def test_a_folder_that_cannot_be_written_is_read(
    store: FileRecordStore, root: Path, logged: bool, read_only: NoDisk
) -> None:
    store.put_many([A, B])
    cursor = store.changes()[0] if logged else None
    store.put(C)
    peer.FileRecordStore(root).redact(B.id, "leaked")
    if not logged:
        shutil.rmtree(root / ".staging")
    durable.disk = read_only
    reader = FileRecordStore(root)
    assert reader.get(A.id) == A
    assert len(reader.list()) == 3
    after, told = reader.changes(cursor)
    assert told is None if cursor is None else set(told or ()) == {B.id, C.id}
    assert reader.changes(after)[1] == (None if cursor is None else (B.id,))  # it could not be written down
    with pytest.raises(StoreError, match="read-only"):
        reader.put(A)
    durable.disk = durable.Disk()
    assert B.id in (FileRecordStore(root).changes(after)[1] or (B.id,))


# -------------------------------------------------------------------------------------------------------- the rest


@pytest.mark.parametrize("timeout", [-1, -0.001, float("inf"), float("nan"), 1e12, 86_401])
def test_a_timeout_outside_its_range_is_refused(root: Path, timeout: float) -> None:
    with pytest.raises(ArgumentError, match="0 to 86,400"):
        FileRecordStore(root, timeout=timeout)
    assert not root.exists()


@pytest.mark.parametrize("timeout", ["x", None, True, [1]])
def test_a_timeout_that_is_no_number_is_refused(root: Path, timeout: float) -> None:
    with pytest.raises(ArgumentTypeError, match="number of seconds"):
        FileRecordStore(root, timeout=timeout)


@pytest.mark.parametrize("timeout", [0, 0.5, 86_400])
def test_a_timeout_within_its_range_is_taken(root: Path, timeout: float) -> None:
    FileRecordStore(root, timeout=timeout).put(A)


def test_what_a_killed_put_left_is_gone_with_the_next_write(store: FileRecordStore, root: Path) -> None:
    store.put(A)
    left = root / ".staging" / f"{durable.TEMP_PREFIX}0123456789abcdef"
    left.write_bytes(make(f"The key is {SECRET}.").canonical_bytes())
    (root / ".staging" / f"{durable.TEMP_PREFIX}folder").mkdir()
    again = FileRecordStore(root)
    assert left.exists()
    again.put(B)
    assert not left.exists()
    assert again.list() == (A, B)


# ---------------------------------------------------------------------------------------- numbers that nobody counts to


@pytest.mark.parametrize("name", ["20240131.json", "1700000000000.json", f"{'9' * 200}.json"])
def test_a_file_with_a_huge_number_harms_its_own_record_at_most(tmp_path: Path, name: str) -> None:
    place = tmp_path / "memory"
    with Memory(place) as memory:
        record_id = str(memory.remember("The staging database is Postgres.").record_id)
    folder = place / "records" / record_id.removeprefix("mem:")
    stray = folder / name
    stray.write_bytes((folder / "000001.json").read_bytes())
    named = [finding.where for finding in examine(place)]
    assert str(stray) in named or str(folder) in named
    with Memory(place) as memory:
        memory.remember("Something else.")
        assert "Something else." in {record.body for record in memory.list()}
    store = FileRecordStore(place / "records")
    if "0240131" in name:
        with pytest.raises(StoreError, match="move it away"):
            store.redact(record_id, "leaked")
        stray.unlink()
    store.redact(record_id, "leaked")
    assert store.get(record_id).redacted
    assert not stray.exists()

"""Every call to the disk fails once, at each place of each kind of transaction: the caller is told the truth.

A StoreError means that nothing was written, now or after the folder is opened again; no error means that all was.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from agent_memory.errors import StoreError
from agent_memory.lifecycle import archive
from agent_memory.stores import FileRecordStore, durable
from contracts import NOON, SECRET, make
from crash.disks import FailingDisk, OldDisk

LONG = os.environ.get("AGENT_MEMORY_TEST_PROFILE") == "long"
CODES = {errno.ENOSPC: "disk is full", errno.EIO: "input/output error", errno.EMFILE: "too many files"}
KEPT, DOOMED, LATER = make("kept"), make(f"The key is {SECRET}."), make("the next write")
IN_DOUBT = ("take back", "has begun and is not done")
"""What a message says when the disk fails so long that a write can neither be finished nor undone."""

Held = dict[str, list[bytes]]


def said_by(act: Callable[[], object]) -> str:
    """The message of the StoreError that ``act`` raises; empty for none."""
    try:
        act()
    except StoreError as error:
        return str(error)
    return ""


def one_new(store: FileRecordStore) -> None:
    store.put(make("new"))


def one_more(store: FileRecordStore) -> None:
    store.put(archive(KEPT, reason="decay", now=NOON))


def several(store: FileRecordStore) -> None:
    store.put_many([make("new"), archive(KEPT, reason="decay", now=NOON), make("newer"), make("newer")])


def redaction(store: FileRecordStore) -> None:
    store.redact(DOOMED.id, "leaked", now=NOON + timedelta(hours=1))


def erasure(store: FileRecordStore) -> None:
    with store.transaction():
        store.put(make("made anew"))
        redaction(store)
        store.redact(KEPT.id, "leaked", now=NOON + timedelta(hours=1))
        store.put(archive(make("made anew"), reason="decay", now=NOON))


TRANSACTIONS = pytest.mark.parametrize("transaction", [one_new, one_more, several, redaction, erasure])
WITH_LOG = pytest.mark.parametrize("logged", [False, True])


def held_in(root: Path) -> Held:
    store = FileRecordStore(root)
    assert store.damaged() == ()
    return {record.id: [version.canonical_bytes() for version in store.history(record.id)] for record in store.list()}


def template(folder: Path, *, logged: bool) -> Path:
    store = FileRecordStore(folder)
    if logged:
        store.changes()
    store.put_many([KEPT, DOOMED, DOOMED, archive(DOOMED, reason="decay", now=NOON)])
    return folder


def check_every_call(
    tmp_path: Path, transaction: Callable[[FileRecordStore], None], code: int, *, lasting: bool, logged: bool
) -> None:
    """Do ``transaction`` again and again, and let one more call succeed each time, until it does not fail any more."""
    origin = template(tmp_path / "origin", logged=logged)
    before = held_in(origin)
    wanted = shutil.copytree(origin, tmp_path / "wanted")
    transaction(FileRecordStore(wanted))
    after = held_in(wanted)
    at, refused = 0, 0
    while True:
        at += 1
        root = shutil.copytree(origin, tmp_path / "tried")
        store = FileRecordStore(root)
        durable.disk = disk = FailingDisk(at, code, lasting=lasting)
        message = said_by(partial(transaction, store))
        durable.disk = durable.Disk()
        told = before if message else after
        if message:
            refused += 1
            assert CODES[code] in message or "disk is failing" in message
            assert SECRET not in message
        held = held_in(root)
        if lasting and any(part in message for part in IN_DOUBT):
            assert held in (before, after)
            told = held
        assert held == told, f"call {at} of {disk.calls}: {message}"
        store.put(LATER)
        assert held_in(root) == {**told, LATER.id: [LATER.canonical_bytes()]}
        if told == after and transaction in (redaction, erasure):
            assert not [path for path in root.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
        shutil.rmtree(root)
        if not disk.failed:
            break
    assert refused >= 3


@TRANSACTIONS
@WITH_LOG
@pytest.mark.parametrize("code", CODES)
def test_a_call_that_fails_once_leaves_all_or_nothing(
    tmp_path: Path, transaction: Callable[[FileRecordStore], None], code: int, logged: bool
) -> None:
    check_every_call(tmp_path, transaction, code, lasting=False, logged=logged)


@pytest.mark.parametrize("transaction", [one_new, one_more, several])
@pytest.mark.parametrize("code", CODES)
def test_the_same_where_every_file_has_a_name_from_the_start(
    tmp_path: Path, transaction: Callable[[FileRecordStore], None], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durable, "NAMELESS", 0)
    check_every_call(tmp_path, transaction, code, lasting=False, logged=True)


@pytest.mark.skipif(not durable.NAMELESS, reason="this system has no files without a name")
@pytest.mark.parametrize("opens", [False, True])
def test_a_file_system_without_nameless_files_is_asked_once(
    tmp_path: Path, opens: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FileRecordStore(tmp_path)
    monkeypatch.setattr(durable, "disk", disk := OldDisk(opens=opens))
    for transaction in (one_new, several):
        transaction(store)
    assert disk.asked == 1
    assert len(store.list()) == 3
    assert not list(tmp_path.rglob(f"{durable.TEMP_PREFIX}*"))


@TRANSACTIONS
def test_a_disk_that_goes_on_failing_leaves_all_or_nothing_or_says_so(
    tmp_path: Path, transaction: Callable[[FileRecordStore], None]
) -> None:
    check_every_call(tmp_path, transaction, errno.EIO, lasting=True, logged=True)


def test_a_write_cut_short_in_the_change_log_is_taken_out_again(tmp_path: Path) -> None:
    store = FileRecordStore(tmp_path)
    cursor, _ = store.changes()
    log = tmp_path / ".staging" / "changes"
    size = log.stat().st_size
    for at in range(1, 14):
        durable.disk = FailingDisk(at, errno.ENOSPC)
        said_by(lambda: store.put(make()))
        durable.disk = durable.Disk()
    assert log.stat().st_size > size
    assert log.read_bytes().endswith(b"\n")
    store.put(make("other"))
    assert make("other").id in (store.changes(cursor)[1] or ())


def test_a_backup_that_fails_leaves_none(tmp_path: Path) -> None:
    store = FileRecordStore(template(tmp_path / "origin", logged=False))
    at, refused = 0, 0
    while True:
        at += 1
        durable.disk = disk = FailingDisk(at, errno.ENOSPC)
        message = said_by(lambda: store.backup(tmp_path / "copy"))
        durable.disk = durable.Disk()
        names = {path.name for path in tmp_path.iterdir()}
        if not disk.failed:
            break
        refused += 1
        assert CODES[errno.ENOSPC] in message
        assert names == {"origin"}
    assert refused > 10
    assert not message
    assert names == {"origin", "copy"}
    assert held_in(tmp_path / "copy") == held_in(tmp_path / "origin")

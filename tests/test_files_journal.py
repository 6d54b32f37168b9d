"""What a transaction of the store in a folder shows, to whom, and what it leaves behind; cursor, backup and lock."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import fg_agent_memory as peer
import pytest

from agent_memory.errors import StoreError
from agent_memory.lifecycle import archive
from agent_memory.records import MemoryRecord, RecordState
from agent_memory.stores import FileRecordStore, durable
from agent_memory.stores.buffer import Write
from agent_memory.stores.gitignore import write_gitignore
from agent_memory.stores.journal import decode, encode
from contracts import NOON, SECRET, hammer, in_processes, make, taken_back
from crash.disks import CountingDisk

A, B, C = make("a"), make("b", minute=1), make("c", minute=2)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "records"


@pytest.fixture
def store(root: Path) -> FileRecordStore:
    return FileRecordStore(root)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> CountingDisk:
    counting = CountingDisk()
    monkeypatch.setattr(durable, "disk", counting)
    return counting


def version(root: Path, record: MemoryRecord, number: int) -> Path:
    return root / record.id.removeprefix("mem:") / f"{number:06d}.json"


def put(record: MemoryRecord, number: int) -> Write:
    return Write(record.id, number, record.canonical_bytes())


def tombstone(record: MemoryRecord) -> MemoryRecord:
    return MemoryRecord.tombstone(record, reason="leaked", now=NOON)


def leave(root: Path, *writes: Write, name: str = "journal") -> Path:
    """A journal as a crash leaves it behind."""
    path = root / ".staging" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(encode(writes))
    return path


def elsewhere(act: Any) -> Any:
    """What ``act`` answers in another thread."""
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(act()))
    thread.start()
    thread.join(20)
    return answers[0]


# ------------------------------------------------------------------------------------------------- inside and out


def test_a_transaction_sees_its_own_writes_and_nobody_else_does(store: FileRecordStore, root: Path) -> None:
    store.put_many([A, B])
    retired = archive(A, reason="decay", now=NOON)
    other = FileRecordStore(root)
    with store.transaction():
        store.put_many([retired, C])
        gone = store.redact(B.id, "leaked", now=NOON)
        store.put(gone)
        assert store.get(A.id) == retired
        assert store.history(A.id) == (A, retired)
        assert store.history(B.id) == (gone, gone)
        assert store.list() == (retired, gone, C)
        assert store.list(state=RecordState.ACTIVE) == (C,)
        assert list(store.payloads()) == [record.canonical_bytes() for record in (retired, gone, C)]
        assert store.get_many([C.id, A.id]) == {C.id: C, A.id: retired}
        with pytest.raises(StoreError, match="redacted"):
            store.put(B)
        for outside in (other.list(), elsewhere(store.list), elsewhere(lambda: FileRecordStore(root).list())):
            assert outside == (A, B)
        assert elsewhere(lambda: store.history(A.id)) == (A,)
    assert other.list() == elsewhere(store.list) == (retired, gone, C)
    assert other.history(B.id) == (gone, gone)


def test_a_redaction_in_a_block_that_raises_is_taken_back_too(store: FileRecordStore) -> None:
    store.put_many([A, A])
    with store.transaction():
        store.put(B)
        with taken_back(store):
            store.redact(A.id, "leaked")
            store.redact(B.id, "leaked")
            assert store.get(A.id).redacted
        assert store.history(A.id) == (A, A)
        assert store.get(B.id) == B
    assert store.list() == (A, B)


def test_what_a_transaction_writes_and_redacts_reaches_no_disk(store: FileRecordStore, disk: CountingDisk) -> None:
    written: list[bytes] = []
    write = disk.write

    def spying(descriptor: int, data: bytes | memoryview) -> int:
        written.append(bytes(data))
        return write(descriptor, data)

    disk.write = spying  # type: ignore[method-assign]
    secret = make(f"The key is {SECRET}.")
    with store.transaction():
        store.put_many([secret, A])
        store.redact(secret.id, "leaked")
    assert SECRET.encode() not in b"".join(written)
    assert store.get(secret.id).redacted


def test_one_version_needs_no_journal(store: FileRecordStore, root: Path, disk: CountingDisk) -> None:
    store.put(A)
    disk.calls.clear()
    store.put(archive(A, reason="decay"))
    no_log = ["open"]  # and the files of the lock are open already
    named, nameless = ["open", "write", "fsync", "link", "unlink"], ["open_nameless", "write", "fsync", "link_nameless"]
    version = nameless if durable.NAMELESS else named
    assert disk.calls == [*no_log, *version, "open", "fsync"]
    disk.calls.clear()
    with store.transaction():
        store.get(A.id)
    assert disk.calls == []
    store.changes()
    store.put(B)  # the files that stay open are opened
    disk.calls.clear()
    store.put(C)
    told, told_again = ["write"], ["write"]
    assert disk.calls == [*told, "mkdir", *version, "open", "fsync", "fsync", *told_again]


# ----------------------------------------------------------------------------------------- journals left behind


def test_a_journal_left_behind_is_finished_by_whoever_reads_next(store: FileRecordStore, root: Path) -> None:
    store.put_many([A, B])
    for look in (FileRecordStore, lambda _: store, lambda _: FileRecordStore(root)):
        count = len(store.history(A.id))
        left = leave(root, put(A, count + 1), Write(B.id, 0, tombstone(B).canonical_bytes()), put(C, 1))
        found = look(root)
        assert found.list() == (A, tombstone(B), C)
        assert len(found.history(A.id)) == count + 1
        assert not left.exists()
        assert len(found.history(C.id)) == 1


@pytest.mark.parametrize("done", range(4))
def test_finishing_does_nothing_twice(store: FileRecordStore, root: Path, done: int) -> None:
    writes = [put(A, 1), put(A, 2), put(archive(A, reason="decay", now=NOON), 3)]
    for write, path in zip(writes[:done], (version(root, A, number) for number in (1, 2, 3)), strict=False):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(write.payload)
    leave(root, *writes)
    assert [record.state for record in store.history(A.id)] == ["active", "active", "archived"]


def test_a_number_taken_by_a_foreign_writer_is_passed_over(store: FileRecordStore, root: Path) -> None:
    store.put(A)
    foreign = A.evolve({"tags": ("foreign",)})
    version(root, A, 2).write_bytes(foreign.canonical_bytes())
    version(root, A, 3).write_bytes(A.canonical_bytes())
    leave(root, put(A, 2), put(A, 3))
    assert store.history(A.id) == (A, foreign, A, A)


def test_finishing_writes_nothing_over_a_tombstone_and_leaves_no_gap(store: FileRecordStore, root: Path) -> None:
    store.put_many([A, A])
    for number in (1, 2):
        version(root, A, number).write_bytes(tombstone(A).canonical_bytes())
    leave(root, put(A, 2), put(B, 4))
    assert store.list() == (tombstone(A), B)
    assert len(store.history(A.id)) == 2
    assert store.damaged() == ()


def test_what_was_being_taken_back_is_gone(store: FileRecordStore, root: Path) -> None:
    store.put(A)
    for record, number in ((A, 2), (B, 1)):
        version(root, record, number).parent.mkdir(exist_ok=True)
        version(root, record, number).write_bytes(record.canonical_bytes())
    left = leave(root, put(A, 2), put(B, 1), put(C, 1), name="undo")
    assert store.list() == (A,)
    assert store.history(A.id) == (A,)
    assert not left.exists()
    assert not version(root, B, 1).parent.exists()


@pytest.mark.parametrize("cut", [0, 1, 40, 120, -40, -1])
def test_a_torn_journal_describes_nothing(store: FileRecordStore, root: Path, cut: int) -> None:
    store.put(A)
    left = leave(root, put(B, 1), put(C, 1))
    left.write_bytes(left.read_bytes()[:cut])
    assert store.list() == FileRecordStore(root).list() == (A,)
    assert not left.exists()


def test_a_journal_from_a_later_version_is_refused_not_lost(store: FileRecordStore, root: Path) -> None:
    left = leave(root, put(A, 1))
    left.write_bytes(left.read_bytes().replace(b"journal/1", b"journal/2"))
    for ask in (store.list, lambda: FileRecordStore(root)):
        with pytest.raises(StoreError, match="open the memory with the version that wrote it"):
            ask()
    assert left.exists()


def test_a_journal_comes_back_to_the_byte() -> None:
    deep: Any = []
    for _ in range(245):
        deep = [deep]
    writes = [put(make("\n\u0303 x", extra={"deep": deep}), 1), Write(A.id, 0, tombstone(A).canonical_bytes())]
    assert decode(encode(writes), "here") == writes


# ------------------------------------------------------------------------------------------------------ reading


def test_a_filtered_listing_builds_only_what_it_returns(
    store: FileRecordStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put_many([A, B, make("tagged", minute=3, tags=("t",)), archive(B, reason="decay")])
    built: list[object] = []
    real = MemoryRecord.model_validate
    monkeypatch.setattr(MemoryRecord, "model_validate", lambda wire: built.append(wire) or real(wire))
    assert [record.id for record in store.list(state=RecordState.ARCHIVED)] == [B.id]
    assert len(built) == 1
    assert len(store.list(tag="t")) == 1
    assert len(built) == 2
    assert len(list(store.payloads())) == 3
    assert len(built) == 2


@pytest.mark.parametrize("spoiled", [b"", b"{", b"[]"])
def test_nothing_is_appended_over_damage(store: FileRecordStore, root: Path, spoiled: bytes) -> None:
    store.put_many([A, B])
    path = version(root, A, 1)
    path.write_bytes(spoiled)
    assert store.get_many([A.id, B.id]) == {B.id: B}
    with pytest.raises(StoreError, match=path.name) as caught:
        store.put_many([C, A])
    assert str(path) in str(caught.value)
    assert store.list() == (B,)


def test_damage_of_every_kind_is_named_and_harms_no_other(store: FileRecordStore, root: Path) -> None:
    sound = [make(f"sound {number}", minute=9) for number in range(5)]
    torn, gap, moved = A, B, C
    store.put_many([*sound, torn, gap, gap, gap, moved])
    version(root, torn, 1).write_bytes(torn.canonical_bytes()[:50])
    version(root, gap, 2).unlink()
    version(root, moved, 1).write_bytes(sound[0].canonical_bytes())
    assert set(store.list()) == set(sound)
    expected = {str(version(root, torn, 1)), str(version(root, gap, 1).parent), str(version(root, moved, 1))}
    assert {where for where, _ in store.damaged()} == expected
    store.put(archive(sound[0], reason="decay"))


# ------------------------------------------------------------------------------------------------------- cursor


def test_the_cursor_tells_what_this_and_other_processes_wrote(store: FileRecordStore, root: Path) -> None:
    store.put(A)
    start, told = store.changes()
    assert told is None
    assert store.changes(start) == (start, ())
    other = FileRecordStore(root)
    other.put_many([B, A, B])
    store.redact(A.id, "leaked")
    after, told = store.changes(start)
    assert told == (B.id, A.id)
    assert other.changes(start) == (after, (B.id, A.id))
    assert other.changes(after) == store.changes(after) == FileRecordStore(root).changes(after) == (after, ())
    with taken_back(store):
        store.put(C)
    assert store.changes(after) == (after, ())


@pytest.mark.parametrize("bad", ["", "x", "0" * 32 + "-33-00000000", "\ud800"])
def test_a_foreign_cursor_is_worth_nothing(store: FileRecordStore, bad: str) -> None:
    assert store.changes(bad)[1] is None


def test_asking_again_costs_no_reading(store: FileRecordStore, disk: CountingDisk) -> None:
    cursor, _ = store.changes()
    disk.calls.clear()
    assert store.changes(cursor) == (cursor, ())
    assert disk.calls == []


def test_a_peer_that_knows_no_cursor_is_seen(store: FileRecordStore, root: Path) -> None:
    store.put_many([A, B])
    cursor, _ = store.changes()
    stranger = peer.FileRecordStore(root)
    assert len(stranger.list()) == 2
    source = peer.Provenance(kind="conversation", ref="r")
    new = peer.MemoryRecord.create(peer.RecordType.FACT, "theirs", source, created_at=NOON)
    stranger.put(new)
    cursor, told = store.changes(cursor)
    assert told == (new.id,)
    stranger.put(peer.archive(stranger.get(A.id), reason="theirs", now=NOON))
    time.sleep(1.1)  # within a second of our own write it could be our own
    stranger.redact(B.id, "leaked")
    cursor, told = FileRecordStore(root).changes(cursor)
    assert set(told or ()) == {A.id, B.id}
    assert FileRecordStore(root).changes(cursor)[1] == ()


def test_a_version_that_follows_ours_at_once_is_seen(store: FileRecordStore, root: Path) -> None:
    store.changes()
    store.put(A)
    cursor, _ = store.changes()
    version(root, A, 2).write_bytes(A.canonical_bytes())
    assert FileRecordStore(root).changes(cursor)[1] == (A.id,)


def test_a_record_folder_that_was_removed_by_hand_is_seen(store: FileRecordStore, root: Path) -> None:
    store.changes()
    store.put(A)
    cursor, _ = store.changes()
    version(root, A, 1).unlink()
    version(root, A, 1).parent.rmdir()
    cursor, told = FileRecordStore(root).changes(cursor)
    assert told == (A.id,)
    assert FileRecordStore(root).changes(cursor)[1] == ()


def test_a_log_that_lost_its_end_misleads_nobody(store: FileRecordStore, root: Path) -> None:
    store.changes()
    store.put(A)
    log = root / ".staging" / "changes"
    short = log.read_bytes()
    early, _ = store.changes()
    store.put(B)
    late, _ = store.changes(early)
    log.write_bytes(short)
    again = FileRecordStore(root)
    _, told = again.changes(early)
    assert told == (B.id,)
    assert again.changes(late)[1] is None
    assert store.changes(late)[1] is None


@pytest.mark.parametrize("spoiled", [b"", b"nonsense", b"nonsense\n", None])
def test_a_torn_log_begins_anew(store: FileRecordStore, root: Path, spoiled: bytes | None) -> None:
    cursor, _ = store.changes()
    log = root / ".staging" / "changes"
    if spoiled is None:
        log.write_bytes(log.read_bytes() + b"torn")
    else:
        log.write_bytes(spoiled)
    fresh, told = store.changes(cursor)
    assert told is None
    store.put(A)
    assert store.changes(fresh)[1] == (A.id,)


def test_a_log_out_of_proportion_begins_anew(store: FileRecordStore, root: Path) -> None:
    store.put(A)
    cursor, _ = store.changes()
    log = root / ".staging" / "changes"
    line = b"%s 1 %d\n" % (A.id.removeprefix("mem:").encode(), time.time_ns())
    log.write_bytes(log.read_bytes() + line * 20_000)
    assert len(store.changes(cursor)[1] or ()) == 1
    assert FileRecordStore(root).changes(cursor)[1] is None
    assert log.stat().st_size < 200


def test_threads_that_follow_the_cursor_miss_nothing(store: FileRecordStore, root: Path) -> None:
    cursor, _ = store.changes()
    follower = FileRecordStore(root)
    seen: set[str] = set()
    stop = threading.Event()

    def follow() -> None:
        at = cursor
        while True:
            ending = stop.is_set()
            at, told = follower.changes(at)
            assert told is not None
            assert set(told) == set(follower.get_many(told))
            seen.update(told)
            if ending:
                return

    thread = threading.Thread(target=follow)
    thread.start()
    records = [make(f"number {number}") for number in range(40)]
    waiting = iter(records)
    assert hammer(lambda: store.put(next(waiting)), threads=4, times=10) == []
    stop.set()
    thread.join(20)
    assert seen == {record.id for record in records}


# ------------------------------------------------------------------------------------------------------- backup


def test_a_backup_is_one_moment_while_others_write(store: FileRecordStore, root: Path, tmp_path: Path) -> None:
    store.put_many([A, B])
    stop = threading.Event()
    pairs = 0

    def write() -> None:
        nonlocal pairs
        while not stop.is_set():
            FileRecordStore(root).put_many([A, B])
            pairs += 1

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for number in range(5):
            store.backup(tmp_path / "copies" / str(number))
    finally:
        stop.set()
        thread.join(20)
    counts = []
    for number in range(5):
        copy = FileRecordStore(tmp_path / "copies" / str(number))
        assert copy.damaged() == ()
        assert len(copy.history(A.id)) == len(copy.history(B.id))
        counts.append(len(copy.history(A.id)))
    assert counts == sorted(counts)
    assert pairs > 0


def test_a_backup_keeps_its_content_and_is_not_written_over(store: FileRecordStore, root: Path, tmp_path: Path) -> None:
    store.put_many([A, archive(A, reason="decay")])
    (tmp_path / "copy").mkdir()
    store.backup(tmp_path / "copy")
    before = store.history(A.id)
    store.redact(A.id, "leaked")
    assert FileRecordStore(tmp_path / "copy").history(A.id) == before
    for taken in ("copy", "records"):
        with pytest.raises(StoreError, match="name a new folder"):
            store.backup(tmp_path / taken)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "records"]


# ---------------------------------------------------------------------------------------------- threads, processes

HOLD = (
    "import sys, time; from agent_memory.stores import FileRecordStore\n"
    "with FileRecordStore(sys.argv[1]).transaction():\n"
    "    print('held', flush=True); time.sleep(float(sys.argv[2]))\n"
)


def test_a_lock_held_for_a_while_delays_and_one_held_long_is_an_error(store: FileRecordStore, root: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, str(root), "2"], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        impatient = FileRecordStore(root, timeout=0.3)
        errors = hammer(lambda: impatient.put(A), threads=4, times=1)
        assert [type(error) for error in errors] == [StoreError] * 4
        started = time.monotonic()
        with pytest.raises(StoreError, match="nothing was written"):
            impatient.put_many([A, B])
        assert 0.3 <= time.monotonic() - started < 1
        assert store.list() == ()
        store.put(A)
        assert store.list() == (A,)


def test_threads_share_a_store_without_an_error(store: FileRecordStore) -> None:
    store.changes()

    def work() -> None:
        with store.transaction():
            store.put_many([A, B])
        store.list()
        list(store.payloads())
        assert len(store.history(A.id)) > 0
        store.changes()

    assert hammer(work, threads=8, times=5) == []
    assert len(store.history(A.id)) == len(store.history(B.id)) == 40


def test_four_processes_lose_nothing(store: FileRecordStore, root: Path) -> None:
    cursor, _ = store.changes()
    code = (
        "from contracts import make; from agent_memory.stores import FileRecordStore\n"
        "store, shared = FileRecordStore(sys.argv[1]), make('shared')\n"
        "for number in range(25):\n"
        "    store.put_many([make(f'{sys.argv[2]} {number}'), shared])\n"
        "    store.list(); store.changes()\n"
    )
    in_processes(code, str(root), count=4)
    assert len(store.list()) == 101
    assert len(store.history(make("shared").id)) == 100
    assert len(store.changes(cursor)[1] or ()) == 101
    assert store.damaged() == ()


# ---------------------------------------------------------------------------------------------------- gitignore


def test_a_gitignore_is_written_once_and_never_over_another(tmp_path: Path) -> None:
    assert write_gitignore(tmp_path, ["salience.json", "records/.staging/"])
    lines = (tmp_path / ".gitignore").read_text().splitlines()
    assert lines[1:] == ["/salience.json", "/records/.staging/"]
    (tmp_path / ".gitignore").write_text("mine\n")
    assert not write_gitignore(tmp_path, ["salience.json"])
    assert (tmp_path / ".gitignore").read_text() == "mine\n"
    with pytest.raises(StoreError, match="create it first"):
        write_gitignore(tmp_path / "missing", ["x"])


def test_a_store_writes_no_gitignore_of_its_own(store: FileRecordStore, root: Path) -> None:
    store.put(A)
    assert sorted(path.name for path in root.iterdir()) == sorted([".staging", A.id.removeprefix("mem:")])

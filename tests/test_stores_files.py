"""The store in a folder: its layout, what it does with damage, and what a failing disk leaves behind."""

from __future__ import annotations

import errno
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from agent_memory.errors import RecordError, StoreError
from agent_memory.lifecycle import archive
from agent_memory.records import MemoryRecord
from agent_memory.stores import FileRecordStore, durable
from contracts import SECRET, StoreContract, check_against_model, in_processes, make, random_writes


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "records"


@pytest.fixture
def store(root: Path) -> FileRecordStore:
    return FileRecordStore(root)


class TestFiles(StoreContract):
    @pytest.fixture
    def store(self, root: Path) -> FileRecordStore:
        return FileRecordStore(root)


@given(random_writes)
@settings(max_examples=40)
def test_random_writes_end_as_in_the_model(steps: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check_against_model(FileRecordStore(folder), steps)


def folder_of(root: Path, record: MemoryRecord) -> Path:
    return root / record.id.removeprefix("mem:")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def everything(root: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file())


# -------------------------------------------------------------------------------------------------------- layout


def test_one_canonical_file_per_version_and_nothing_else(store: FileRecordStore, root: Path) -> None:
    record = make()
    store.put(record)
    first = (folder_of(root, record) / "000001.json").read_bytes()
    assert first == record.canonical_bytes()
    store.put(archive(record, reason="decay"))
    assert names(folder_of(root, record)) == ["000001.json", "000002.json"]
    assert (folder_of(root, record) / "000001.json").read_bytes() == first
    assert not [path for path in root.rglob("*") if path.name.startswith(durable.TEMP_PREFIX)]


def test_listing_goes_by_time_of_birth_then_id(store: FileRecordStore) -> None:
    records = [make(f"number {number}", minute=minute) for number, minute in enumerate([3, 1, 2, 1])]
    store.put_many(records)
    assert list(store.list()) == sorted(records, key=lambda record: (record.created_at, record.id))


def test_another_process_is_seen_at_once(store: FileRecordStore, root: Path) -> None:
    record = make()
    other = FileRecordStore(root)
    other.put(record)
    assert store.get(record.id) == record
    other.put(archive(record, reason="decay"))
    assert len(store.history(record.id)) == 2


def test_put_many_syncs_each_folder_once(store: FileRecordStore, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put(make("the first makes .staging"))
    synced: list[str] = []
    monkeypatch.setattr(durable, "sync_dir", lambda folder: synced.append(str(folder)))
    monkeypatch.setattr(durable, "sync_kept", lambda folder: synced.append(folder.path))
    a, b = make("a"), make("b")
    store.put_many([a, b, archive(a, reason="decay"), a.evolve({"tags": ("t",)})])
    staging = root / ".staging"  # the journal comes and goes
    assert sorted(synced) == sorted(map(str, [staging, root, folder_of(root, a), folder_of(root, b), staging]))


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    for path in (tmp_path / "file", tmp_path / "file" / "records"):
        with pytest.raises(StoreError, match="choose another path"):
            FileRecordStore(path)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs permissions that hold")
def test_a_folder_without_permission_says_so(store: FileRecordStore, root: Path) -> None:
    root.chmod(0o500)
    try:
        with pytest.raises(StoreError, match="permission"):
            store.put(make())
    finally:
        root.chmod(0o700)


# -------------------------------------------------------------------------------------------------------- damage


def spoil_torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:40])


def spoil_text(path: Path) -> None:
    path.write_bytes(b"\xff not json")


def spoil_stranger(path: Path) -> None:
    path.write_bytes(make("a stranger").canonical_bytes())


def spoil_content(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"damaged", b"altered"))


def spoil_shape(path: Path) -> None:
    path.write_bytes(b"[]")


SPOILERS = [spoil_torn, spoil_text, spoil_stranger, spoil_content, spoil_shape]


@pytest.mark.parametrize("spoil", SPOILERS)
def test_a_damaged_record_is_not_served_and_harms_no_other(store: FileRecordStore, root: Path, spoil: Any) -> None:
    damaged, sound = make(f"damaged {SECRET}"), make("sound")
    store.put_many([damaged, sound, damaged])
    path = folder_of(root, damaged) / "000002.json"
    spoil(path)
    for ask in (store.get, store.history):
        with pytest.raises(StoreError) as caught:
            ask(damaged.id)
        assert str(path) in str(caught.value)
        assert SECRET not in str(caught.value)
    assert store.list() == tuple(store) == (sound,)
    assert list(store.payloads()) == [sound.canonical_bytes()]
    assert store.get_many([damaged.id, sound.id]) == {sound.id: sound}
    with pytest.raises(StoreError):
        store.put(damaged)
    assert [where for where, _ in store.damaged()] == [str(path)]
    assert SECRET not in repr(store.damaged())


def test_an_older_damaged_version_breaks_the_history_only(store: FileRecordStore, root: Path) -> None:
    record = make()
    store.put_many([record, record])
    spoil_torn(folder_of(root, record) / "000001.json")
    assert store.get(record.id) == record
    with pytest.raises(StoreError, match=r"000001\.json"):
        store.history(record.id)
    assert len(store.damaged()) == 1


def test_a_gap_is_damage_and_is_not_filled_by_a_put(store: FileRecordStore, root: Path) -> None:
    record, sound = make(), make("sound")
    store.put_many([record, record, record, sound])
    (folder_of(root, record) / "000002.json").unlink()
    for ask in (store.get, store.history, lambda _: store.put(record)):
        with pytest.raises(StoreError, match=r"000002\.json is missing"):
            ask(record.id)
    assert store.list() == (sound,)
    assert names(folder_of(root, record)) == ["000001.json", "000003.json"]
    ((where, what),) = store.damaged()
    assert where == str(folder_of(root, record))
    assert "000002.json is missing" in what


def test_what_does_not_belong_is_named_and_not_read(store: FileRecordStore, root: Path) -> None:
    record = make()
    store.put(record)
    (root / "notes").mkdir()
    (root / "file.json").write_bytes(b"{}")
    (root / ".hidden").write_bytes(b"")
    (folder_of(root, record) / "0000002.json").write_bytes(b"{}")
    (root / ("f" * 32)).mkdir()
    assert store.list() == (record,)
    assert store.history(record.id) == (record,)
    assert {Path(where).name for where, _ in store.damaged()} == {"0000002.json", "file.json", "notes"}


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_symbolic_links_are_not_followed(store: FileRecordStore, root: Path, tmp_path: Path) -> None:
    linked, inside = make("linked"), make("inside")
    store.put(inside)
    outside = FileRecordStore(tmp_path / "outside")
    outside.put_many([linked, inside])
    folder_of(root, linked).symlink_to(folder_of(tmp_path / "outside", linked))
    path = folder_of(root, inside) / "000001.json"
    path.unlink()
    path.symlink_to(folder_of(tmp_path / "outside", inside) / "000001.json")
    for record in (linked, inside):
        with pytest.raises(StoreError, match="symbolic link"):
            store.get(record.id)
    assert store.list() == ()
    assert len(store.damaged()) == 2


def test_a_process_out_of_files_is_not_an_empty_store(store: FileRecordStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put(make())

    def refuse(path: Any, flags: int) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(StoreError, match="too many files"):
        store.list()


# --------------------------------------------------------------------------------------------- a disk that fails


@pytest.mark.parametrize("function", ["write_new", "sync_dir", "make_dir"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EACCES])
def test_a_failed_write_leaves_nothing_at_all(
    store: FileRecordStore, root: Path, monkeypatch: pytest.MonkeyPatch, function: str, code: int
) -> None:
    kept = make("kept")
    store.put(kept)
    before = sorted(root.rglob("*"))
    real = getattr(durable, function)
    calls = 0

    def failing(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise OSError(code, os.strerror(code))
        return real(*arguments)

    monkeypatch.setattr(durable, function, failing)
    advice = {errno.ENOSPC: "disk is full", errno.EACCES: "permission denied", errno.EIO: "error"}[code]
    with pytest.raises(StoreError, match=advice):
        store.put_many([archive(kept, reason="decay"), make("new"), make("newer")])
    monkeypatch.undo()
    assert sorted(root.rglob("*")) == before
    assert store.history(kept.id) == (kept,)


def test_a_file_cut_short_by_a_full_disk_is_removed(
    store: FileRecordStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="disk is full"):
        store.put(make())
    with pytest.raises(StoreError, match="disk is full"):
        store.put_many([make(), make()])
    assert names(root) == [".staging"]
    assert names(root / ".staging") == ["lock", "lock.next"]


def test_a_number_taken_by_a_writer_without_the_lock_is_tried_again(
    store: FileRecordStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = make()
    store.put(record)
    real = durable.write_new

    def raced(folder: str, path: str, data: bytes, *others: Any) -> None:
        if not Path(path).exists() and path.endswith("000002.json"):
            Path(path).write_bytes(data)
        real(folder, path, data, *others)

    monkeypatch.setattr(durable, "write_new", raced)
    store.put(record)
    assert names(folder_of(root, record)) == ["000001.json", "000002.json", "000003.json"]


def test_what_another_writer_built_on_is_not_taken_back(
    store: FileRecordStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put(make("the first makes .staging"))
    record = make()

    def fail_after_another_went_on(folder: Path) -> None:
        (folder_of(root, record) / "000002.json").write_bytes(record.canonical_bytes())
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(durable, "sync_dir", fail_after_another_went_on)
    with pytest.raises(StoreError):
        store.put(record)
    monkeypatch.undo()
    assert len(store.history(record.id)) == 2


# ----------------------------------------------------------------------------------------------------- redaction


def test_redaction_leaves_no_byte_of_the_content(store: FileRecordStore, root: Path) -> None:
    record = make(f"The key is {SECRET}.")
    store.put_many([record, archive(record, reason="decay")])
    (folder_of(root, record) / ".tmp-left").write_bytes(record.canonical_bytes())
    (root / ".staging" / ".tmp-left").write_bytes(record.canonical_bytes())
    store.redact(record.id, "leaked")
    assert SECRET.encode() not in everything(root)
    assert names(folder_of(root, record)) == ["000001.json", "000002.json"]
    assert names(root / ".staging") == ["lock", "lock.next"]


@pytest.mark.parametrize("survives", [0, 1, 2])
def test_a_redaction_cut_short_serves_nothing_and_is_finished_by_the_next_who_looks(
    store: FileRecordStore, root: Path, monkeypatch: pytest.MonkeyPatch, survives: int
) -> None:
    record, other = make(f"The key is {SECRET}."), make("other")
    store.put_many([*[record] * 3, other])
    real = durable.rename
    calls = 0

    def failing(source: str, target: Path | str) -> None:
        nonlocal calls
        calls += str(target).endswith(".json")
        if str(target).endswith(".json") and calls > survives:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(source, target)

    monkeypatch.setattr(durable, "rename", failing)
    with pytest.raises(StoreError, match="has begun and is not done" if survives else "cannot write"):
        store.redact(record.id, "leaked")
    if not survives:  # nothing was destroyed, so nothing was done
        assert store.history(record.id) == (record,) * 3
        return
    asks: list[Any] = [lambda: store.get(other.id), store.list, lambda: list(store.payloads()), store.damaged]
    for ask in (*asks, lambda: FileRecordStore(root)):
        with pytest.raises(StoreError, match="cannot finish") as caught:
            ask()
        assert SECRET not in str(caught.value)
    monkeypatch.undo()
    tombstone = FileRecordStore(root).get(record.id)
    assert tombstone.redaction_reason == "leaked"
    assert store.history(record.id) == (tombstone,) * 3
    assert SECRET.encode() not in everything(root)
    assert store.damaged() == ()
    with pytest.raises(RecordError):
        store.redact(record.id, "again")


def test_a_redaction_the_peer_left_half_done_serves_nothing_and_can_be_finished(
    store: FileRecordStore, root: Path
) -> None:
    record = make(f"The key is {SECRET}.")
    store.put_many([record] * 3)
    begun = MemoryRecord.tombstone(record, reason="leaked")
    (folder_of(root, record) / "000003.json").write_bytes(begun.canonical_bytes())
    assert store.history(record.id) == (begun,) * 3
    assert len(store.damaged()) == 2
    assert SECRET not in repr((store.list(), list(store.payloads()), store.damaged()))
    assert store.redact(record.id, "leaked, finished") == begun
    assert SECRET.encode() not in everything(root)
    assert store.damaged() == ()


def test_a_folder_among_the_versions_is_refused_before_anything_is_destroyed(
    store: FileRecordStore, root: Path
) -> None:
    record = make()
    store.put(record)
    (folder_of(root, record) / "notes").mkdir()
    with pytest.raises(StoreError, match="notes is a folder"):
        store.redact(record.id, "leaked")
    assert store.get(record.id) == record


def test_damaged_records_can_still_be_erased(store: FileRecordStore, root: Path) -> None:
    record = make(f"The key is {SECRET}.")
    store.put_many([record] * 4)
    (folder_of(root, record) / "000002.json").unlink()
    spoil_torn(folder_of(root, record) / "000004.json")
    tombstone = store.redact(record.id, "leaked")
    assert store.history(record.id) == (tombstone,) * 4
    assert SECRET.encode() not in everything(root)


def test_a_record_of_which_nothing_is_readable_says_what_to_do(store: FileRecordStore, root: Path) -> None:
    record = make()
    store.put(record)
    spoil_text(folder_of(root, record) / "000001.json")
    with pytest.raises(StoreError, match="delete the folder"):
        store.redact(record.id, "leaked")


# ----------------------------------------------------------------------------------------------------- processes


def test_a_writer_that_hangs_is_waited_for_so_long_only(root: Path) -> None:
    holder, waiter = FileRecordStore(root), FileRecordStore(root, timeout=0.1)
    with holder.transaction():
        started = time.monotonic()
        with pytest.raises(StoreError, match="another process has been writing"):
            waiter.put(make())
        assert 0.1 <= time.monotonic() - started < 5
        assert waiter.list() == ()
    waiter.put(make())
    assert len(waiter.list()) == 1


def test_two_processes_lose_no_version(store: FileRecordStore, root: Path) -> None:
    code = (
        "from contracts import make; from agent_memory.stores import FileRecordStore\n"
        "store, record = FileRecordStore(sys.argv[1]), make()\n"
        "for number in range(20):\n"
        "    with store.transaction():\n"
        "        seen = 0 if record.id not in store.get_many([record.id]) else int(store.get(record.id).state_reason)\n"
        "        store.put(record.evolve({'state_reason': str(seen + 1)}))\n"
        "    store.put(make(f'{sys.argv[2]} {number}'))\n"
    )
    in_processes(code, str(root))
    assert store.get(make().id).state_reason == "40"
    assert len(store.history(make().id)) == 40
    assert len(store.list()) == 41
    assert store.damaged() == ()


def test_a_version_is_plain_json_for_any_reader(store: FileRecordStore, root: Path) -> None:
    record = make()
    store.put(record)
    assert json.loads((folder_of(root, record) / "000001.json").read_bytes()) == record.model_dump()

"""Copying a whole memory: between kinds of stores, and as a backup while others write; never half, never lossy."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agent_memory import Memory, MemoryRecord, StoreError, archive, stores
from agent_memory.doctor import examine, versions
from agent_memory.doctor.reading import Version
from agent_memory.migration import Copied, back_up, migrate
from agent_memory.ports import RecordStore
from agent_memory.stores import FileRecordStore, InMemoryRecordStore, SQLiteRecordStore, durable, open_store
from agent_memory.testing.checks import trouble
from contracts import SECRET, make
from doctor_memories import change

KINDS = ("memory", "memory.db")


def fill(place: Path) -> list[MemoryRecord]:
    """Records of every kind, in several versions, a tombstone among them; and a touch count."""
    with Memory(place, auto_consolidate=False) as memory:
        memory.remember("The sky over Austin is clear.")
        memory.recall("sky")
        store: Any = memory.store
        records = [*trouble(), make(SECRET, minute=50)]
        store.put_many(records)
        store.put_many([archive(records[0], reason="decay"), records[-1], records[-1]])
        store.redact(records[-1].id, "leaked")
        return [*records]


def everything(place: Path) -> dict[str, list[bytes]]:
    with closing(open_store(place)) as store:
        return {r.id: [version.canonical_bytes() for version in store.history(r.id)] for r in store.list()}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    place = tmp_path / str(request.param)
    fill(place)
    return place


# ------------------------------------------------------------------ migrate


@pytest.mark.parametrize("target", ["copied", "copied.db"])
@pytest.mark.parametrize("source", KINDS, indirect=True)
def test_every_version_of_every_record_arrives_to_the_byte(source: Path, target: str, tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    copied = migrate(source, tmp_path / target, progress=lambda done, total: steps.append((done, total)))
    held = everything(source)
    assert everything(tmp_path / target) == held
    assert copied == Copied(records=len(held), versions=sum(map(len, held.values())))
    assert steps[-1] == (len(held), len(held))
    assert max(map(len, held.values())) == 3
    with closing(open_store(source)) as one, closing(open_store(tmp_path / target)) as other:
        assert sorted(record.id for record in one.list()) == sorted(record.id for record in other.list())
    with Memory(tmp_path / target) as memory:
        assert memory.recall("sky austin", touch=False).records[0].factors.salience > 1.0  # type: ignore[union-attr]
    assert SECRET.encode() not in b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
    assert [finding for finding in examine(tmp_path / target) if finding.kind != "peer"] == []
    assert not [name for name in names(tmp_path) if name.startswith(".tmp-")]


def spell_otherwise(place: Path, record: MemoryRecord) -> bytes:
    """Indent the first version of a record; its bytes then."""
    data = json.dumps(json.loads(record.canonical_bytes()), indent=1).encode()
    if place.is_dir():
        (place / "records" / record.id[4:] / "000001.json").write_bytes(data)
    else:
        change(place, "UPDATE history SET payload = ? WHERE record_id = ? AND version = 1", data.decode(), record.id)
    return data


@pytest.mark.parametrize("target", ["copied", "copied.db"])
@pytest.mark.parametrize("name", KINDS)
def test_a_version_in_another_spelling_is_named_and_not_respelled(name: str, target: str, tmp_path: Path) -> None:
    record = fill(tmp_path / name)[0]
    spell_otherwise(tmp_path / name, record)
    before = names(tmp_path)
    with pytest.raises(StoreError, match=rf"{record.id[4:]}.* not in canonical spelling"):
        migrate(tmp_path / name, tmp_path / target)
    assert names(tmp_path) == before


@pytest.mark.parametrize("name", KINDS)
def test_a_version_is_compared_with_the_bytes_of_its_original(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = fill(tmp_path / name)[0]
    spell_otherwise(tmp_path / name, record)
    monkeypatch.setattr("agent_memory.migration.examine", lambda _: ())  # as if it came after the look
    with pytest.raises(StoreError, match="not in canonical spelling"):
        migrate(tmp_path / name, tmp_path / "copied.db")
    assert not (tmp_path / "copied.db").exists()


@pytest.mark.parametrize("name", KINDS)
def test_a_backup_has_the_bytes_as_they_are(name: str, tmp_path: Path) -> None:
    record = fill(tmp_path / name)[0]
    data = spell_otherwise(tmp_path / name, record)
    back_up(tmp_path / name, tmp_path / "kept")
    assert data in {item.data for item in versions(tmp_path / "kept") if isinstance(item, Version)}
    assert {finding.kind for finding in examine(tmp_path / "kept")} >= {"non-canonical"}


@pytest.mark.parametrize("target", ["copied", "copied.db"])
@pytest.mark.parametrize("name", KINDS)
def test_content_below_a_tombstone_is_not_copied(name: str, target: str, tmp_path: Path) -> None:
    record = make(SECRET)
    with closing(open_store(tmp_path / name)) as store:
        store.put_many([record, MemoryRecord.tombstone(record, reason="leaked")])
    assert migrate(tmp_path / name, tmp_path / target) == Copied(records=1, versions=2)
    with closing(open_store(tmp_path / target)) as store:
        assert [version.redacted for version in store.history(record.id)] == [True, True]
    assert not [f for f in tmp_path.rglob(f"{target}*/**/*") if f.is_file() and SECRET.encode() in f.read_bytes()]
    assert examine(tmp_path / target) == ()


@pytest.mark.parametrize("source", ["memory"], indirect=True)
def test_there_and_back_again_is_the_same_folder(source: Path, tmp_path: Path) -> None:
    migrate(source, tmp_path / "there.db")
    migrate(tmp_path / "there.db", tmp_path / "back")
    files = [
        {path.relative_to(root): path.read_bytes() for path in root.rglob("*.json")}
        for root in (source / "records", tmp_path / "back" / "records")
    ]
    assert files[0] == files[1]


@pytest.mark.parametrize("source", KINDS, indirect=True)
def test_a_destination_that_is_taken_is_refused_and_left_alone(source: Path, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "file").write_bytes(b"mine")
    fill(tmp_path / "other.db")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "empty.db").write_bytes(b"")
    before = {str(path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for path in (taken, taken / "file", tmp_path / "other.db", tmp_path / "link", tmp_path / "empty.db", source):
        for act in (migrate, back_up):
            with pytest.raises(StoreError, match=r"exists|inside"):
                act(source, path)
    after = {str(path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {path: data for path, data in after.items() if "-shm" not in path and "-wal" not in path} == {
        path: data for path, data in before.items() if "-shm" not in path and "-wal" not in path
    }


@pytest.mark.parametrize("source", ["memory"], indirect=True)
def test_a_destination_inside_the_memory_is_refused(source: Path) -> None:
    for path in (source / "copy.db", source / "records" / "copy", source / ".." / source.name / "x"):
        with pytest.raises(StoreError, match="inside"):
            migrate(source, path)
        with pytest.raises(StoreError, match="inside"):
            back_up(source, path)


@pytest.mark.parametrize("source", KINDS, indirect=True)
def test_sidecars_of_an_earlier_memory_are_not_taken_over(source: Path, tmp_path: Path) -> None:
    (tmp_path / "copied.db.d").mkdir()
    (tmp_path / "copied.db.d" / "salience.json").write_bytes(b"{}")
    with pytest.raises(StoreError, match="left from another memory"):
        migrate(source, tmp_path / "copied.db")
    assert not (tmp_path / "copied.db").exists()
    (tmp_path / "copied.d").mkdir()
    (tmp_path / "copied.d" / "file").write_bytes(b"")
    migrate(source, tmp_path / "copied")
    assert everything(tmp_path / "copied") == everything(source)


@pytest.mark.parametrize("source", ["memory"], indirect=True)
def test_an_empty_folder_may_be_the_destination(source: Path, tmp_path: Path) -> None:
    for name in ("new", "folder.db"):
        (tmp_path / name).mkdir()
        migrate(source, tmp_path / name)
        assert (tmp_path / name / "records").is_dir()
        assert everything(tmp_path / name) == everything(source)


def test_no_source_no_destination(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("hello")
    for act in (migrate, back_up):
        for source in ("nothing", "nothing.db", "."):
            with pytest.raises(StoreError, match="no memory"):
                act(tmp_path / source, tmp_path / "copied")
        with pytest.raises(StoreError):
            act(tmp_path / "text.db", tmp_path / "copied")
    fill(tmp_path / "memory")
    for act in (migrate, back_up):
        with pytest.raises(StoreError, match="create it first"):
            act(tmp_path / "memory", tmp_path / "no" / "such" / "folder.db")
    assert names(tmp_path) == {"text.db", "memory"}


def test_what_cannot_be_read_is_not_left_out_silently(tmp_path: Path) -> None:
    records = fill(tmp_path / "memory")
    version = tmp_path / "memory" / "records" / records[1].id[4:] / "000001.json"
    version.write_bytes(version.read_bytes()[:30])
    with pytest.raises(StoreError, match="doctor"):
        migrate(tmp_path / "memory", tmp_path / "copied.db")
    assert names(tmp_path) == {"memory"}


@pytest.mark.parametrize("target", ["copied", "copied.db"])
@pytest.mark.parametrize("broken", ["put_many", "history", "list", "close"])
@pytest.mark.parametrize("source", KINDS, indirect=True)
def test_a_copy_that_fails_leaves_nothing(
    source: Path, target: str, broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = names(tmp_path)
    real = stores.open_store

    def opened(place: Any) -> RecordStore:
        store = real(place)
        if Path(place).parent.name.startswith(durable.TEMP_PREFIX):
            right = getattr(store, broken)

            def wrong(*arguments: Any, **named: Any) -> Any:
                answer = right(*arguments, **named)
                if broken == "history":
                    return answer[:-1]
                if broken == "list":
                    return answer[1:]
                raise StoreError("the disk is full")

            setattr(store, broken, wrong)
        return store

    monkeypatch.setattr("agent_memory.migration.open_store", opened)
    with pytest.raises(StoreError, match=r"not what was copied|does not list|disk is full"):
        migrate(source, tmp_path / target)
    assert names(tmp_path) == before


@pytest.mark.parametrize("source", KINDS, indirect=True)
def test_a_copy_that_cannot_be_put_in_place_leaves_nothing(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = names(tmp_path)
    real = durable.rename

    def refuse(old: Path, new: Path) -> None:
        if new.name == "copied.db":
            raise OSError(28, os.strerror(28))
        real(old, new)

    monkeypatch.setattr(durable, "rename", refuse)
    with pytest.raises(StoreError, match="disk is full"):
        migrate(source, tmp_path / "copied.db")
    assert names(tmp_path) == before


@pytest.mark.parametrize("source", ["memory.db"], indirect=True)
def test_what_could_not_be_removed_is_named(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_memory.migration._copy", lambda *_: 1 / 0)
    monkeypatch.setattr("shutil.rmtree", lambda *_, **__: None)
    with pytest.raises(StoreError, match=r"is still at .*\.tmp-"):
        migrate(source, tmp_path / "copied")
    assert not (tmp_path / "copied").exists()


# ------------------------------------------------------------------ backup


@pytest.mark.parametrize("source", KINDS, indirect=True)
def test_a_backup_is_the_same_memory_of_the_same_kind(source: Path, tmp_path: Path) -> None:
    back_up(source, tmp_path / "kept")
    assert everything(tmp_path / "kept") == everything(source)
    assert (tmp_path / "kept").is_dir() == source.is_dir()
    with Memory(tmp_path / "kept") as memory:
        assert memory.recall("sky austin", touch=False).records[0].factors.salience > 1.0  # type: ignore[union-attr]
        memory.remember("The copy goes on by itself.")
    assert len(everything(tmp_path / "kept")) == len(everything(source)) + 1
    assert [finding for finding in examine(tmp_path / "kept") if finding.kind != "peer"] == []
    with pytest.raises(StoreError, match="exists"):
        back_up(source, tmp_path / "kept")


@pytest.mark.parametrize("name", KINDS)
def test_a_backup_is_consistent_while_others_write(name: str, tmp_path: Path) -> None:
    place = tmp_path / name
    Memory(place).close()
    code = (
        "import sys\n"
        "from agent_memory.stores import open_store\n"
        "from contracts import make\n"
        "store = open_store(sys.argv[1])\n"
        "print('ready', flush=True)\n"
        "for number in range(100_000):\n"
        "    store.put_many([make(f'left {number}'), make(f'right {number}')])\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    with subprocess.Popen(
        [sys.executable, "-c", code, str(place)], stdout=subprocess.PIPE, text=True, env=environment
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        try:
            sizes = []
            for number in range(4):
                time.sleep(0.05)
                back_up(place, tmp_path / f"kept-{number}")
                bodies = {record.body for record in _records(tmp_path / f"kept-{number}")}
                assert {body.replace("left", "right") for body in bodies} == {b for b in bodies if "right" in b}
                assert examine(tmp_path / f"kept-{number}") == ()
                sizes.append(len(bodies))
        finally:
            writer.kill()
    assert sizes == sorted(sizes)
    assert sizes[-1] > sizes[0]


def _records(place: Path) -> tuple[MemoryRecord, ...]:
    with closing(open_store(place)) as store:
        return store.list()


@pytest.mark.parametrize("source", KINDS, indirect=True)
def test_a_store_without_the_capability_is_copied_in_a_transaction(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in (FileRecordStore, SQLiteRecordStore):
        monkeypatch.setattr(kind, "backup", None, raising=False)
    back_up(source, tmp_path / "kept")
    assert everything(tmp_path / "kept") == everything(source)


@pytest.mark.parametrize("source", KINDS, indirect=True)
def test_a_backup_that_fails_leaves_nothing(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = names(tmp_path)

    def half(self: RecordStore, destination: Path) -> None:
        Path(destination).write_bytes(b"half")
        raise OSError(28, os.strerror(28))

    for kind in (FileRecordStore, SQLiteRecordStore):
        monkeypatch.setattr(kind, "backup", half, raising=False)
    with pytest.raises(StoreError, match="disk is full"):
        back_up(source, tmp_path / "kept")
    assert names(tmp_path) == before


def test_the_memory_in_memory_has_nothing_to_do_with_it() -> None:
    assert not hasattr(InMemoryRecordStore(), "backup")


def test_a_row_that_is_indexed_wrongly_is_mended_by_migrating(tmp_path: Path) -> None:
    fill(tmp_path / "memory.db")
    with closing(sqlite3.connect(tmp_path / "memory.db")) as connection:
        connection.execute("UPDATE records SET state = 'archived'")
        connection.commit()
    assert "index" in {finding.kind for finding in examine(tmp_path / "memory.db")}
    migrate(tmp_path / "memory.db", tmp_path / "mended.db")
    assert {finding.kind for finding in examine(tmp_path / "mended.db")} <= {"peer"}


@pytest.mark.parametrize("copy", [migrate, back_up])
def test_a_destination_without_a_name_is_refused(tmp_path: Path, copy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path / "memory")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    for target in (".", "..", "./"):
        with pytest.raises(StoreError, match="name"):
            copy(tmp_path / "memory", target)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "memory"]

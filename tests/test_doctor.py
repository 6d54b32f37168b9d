"""The doctor: every kind of finding is named where it is, a clean memory has none, and looking changes nothing."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import fg_agent_memory as peer
import pytest

from agent_memory import (
    Memory,
    MemoryRecord,
    StoreError,
    archive,
)
from agent_memory.doctor import UNREADABLE, Finding, examine, repair
from agent_memory.stores import FileRecordStore
from contracts import NOON, SECRET, make
from doctor_memories import change, everything, fill, look, the_one, versions_of

BOTH = pytest.mark.parametrize("name", ["memory", "memory.db"])


@pytest.fixture(params=["memory", "memory.db"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / str(request.param)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "memory"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


# ------------------------------------------------------------------ nothing is wrong


def test_a_memory_that_was_used_in_every_way_is_clean(place: Path) -> None:
    with Memory(place, identity=place.parent / "agent.key") as memory:
        for number in range(12):
            memory.remember(f"The value of setting {number} is V{number}.", tags=["t"], source="wiki", user_id="u")
        memory.remember("The staging database is Postgres 15.", source="wiki")
        memory.remember("The staging database is MySQL 8.", source="chat")
        memory.remember("The backup goes to Dublin. 東京 é")
        memory.consolidate()
        memory.recall("setting")
        memory.decay()
        memory.redact(memory.list()[0].id, "asked for")
        assert memory.status()["open_contradictions"] == 1
    assert look(place) == []


def test_an_empty_memory_is_clean(place: Path) -> None:
    Memory(place).close()
    assert look(place) == []


def test_a_memory_in_use_is_clean(place: Path) -> None:
    with Memory(place) as memory:
        memory.remember("Something is being written.")
        with memory.store.transaction():
            memory.store.put(make("Not committed yet."))
            assert [finding for finding in examine(place) if finding.kind != "interrupted"] == []
    assert look(place) == []


@BOTH
def test_what_the_peer_wrote_is_clean(tmp_path: Path, name: str) -> None:
    place = tmp_path / name
    with suppress(AttributeError):
        theirs = peer.Memory(place)
        for number in range(9):
            theirs.remember(f"Something the peer remembers, {number % 3}.", tags=["t"], source="s")
        theirs.consolidate()
        theirs.recall("something")
        theirs.close()
    assert look(place) == []


def test_after_a_crash_and_the_next_opening_a_memory_is_clean(place: Path) -> None:
    code = (
        "import os, sys, threading, time\n"
        "from agent_memory import Memory\n"
        "memory = Memory(sys.argv[1])\n"
        "threading.Thread(target=lambda: (time.sleep(0.25), os.kill(os.getpid(), 9)), daemon=True).start()\n"
        "number = 0\n"
        "while True:\n"
        "    number += 1\n"
        "    memory.remember_many([f'Note {number} of {n} says {n}.' for n in range(5)])\n"
        "    memory.redact(memory.list()[-1].id, 'asked for')\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(place)], check=False, capture_output=True)
    assert killed.returncode == -9, killed.stderr
    assert {finding.kind for finding in look(place)} <= {"interrupted", "leftover", "sidecar"}
    with Memory(place) as memory:
        memory.remember("After the crash.")
    assert [finding for finding in look(place) if not finding.repairable] == []
    repair(place, examine(place))
    assert look(place) == []


def test_where_there_is_no_memory_the_doctor_says_so_and_makes_none(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path / "none.db", tmp_path):
        with pytest.raises(StoreError, match="no memory"):
            examine(path)
        with pytest.raises(StoreError, match="no memory"):
            repair(path, [Finding("leftover", str(path), "x", repairable=True)])
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------ versions


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff\xfe", b'{"id": 1}', b"\x00" * 4096, b"[" * 100_000, b"1e9"])
def test_torn_versions(folder: Path, data: bytes) -> None:
    torn, sound = make(SECRET), make("sound")
    fill(folder, torn, torn, sound)
    path = versions_of(folder, torn) / "000001.json"
    path.write_bytes(data)
    found = the_one(folder)
    assert (found.kind, found.where, found.repairable) == ("torn", str(path), False)
    path.rename(path.with_name("000002.json"))
    path.write_bytes(torn.canonical_bytes())
    assert [finding.kind for finding in look(folder)] == ["torn", "torn"]
    assert "not served" in "".join(finding.what for finding in look(folder))


def test_altered_content_is_torn(folder: Path) -> None:
    record = make(f"damaged {SECRET}")
    fill(folder, record)
    path = versions_of(folder, record) / "000001.json"
    path.write_bytes(path.read_bytes().replace(b"damaged", b"altered"))
    assert {finding.kind for finding in look(folder)} == {"torn"}


def test_torn_rows(file: Path) -> None:
    torn, sound = make(SECRET), make("sound")
    fill(file, torn, archive(torn, reason="decay"), sound)
    change(file, "UPDATE history SET payload = '{' WHERE record_id = ? AND version = 1", torn.id)
    found = the_one(file)
    assert (found.kind, found.where) == ("torn", f"{file}#{torn.id} version 1")


def test_gaps(folder: Path, file: Path) -> None:
    record = make()
    for place in (folder, file):
        fill(place, record, record, record, record)
    (versions_of(folder, record) / "000002.json").unlink()
    (versions_of(folder, record) / "000001.json").unlink()
    found = the_one(folder)
    assert (found.kind, found.where) == ("gap", str(versions_of(folder, record)))
    assert "1, 2" in found.what
    change(file, "DELETE FROM history WHERE version = 2")
    assert (the_one(file).kind, the_one(file).where) == ("gap", f"{file}#{record.id}")


def test_a_record_without_history_or_without_newest_version(file: Path) -> None:
    first, second = make("first"), make("second")
    fill(file, first, second)
    change(file, "DELETE FROM history WHERE record_id = ?", first.id)
    change(file, "DELETE FROM records WHERE record_id = ?", second.id)
    assert {(finding.kind, finding.where) for finding in look(file)} == {
        ("gap", f"{file}#{first.id}"),
        ("gap", f"{file}#{second.id}"),
    }


def test_misplaced_versions(folder: Path, file: Path) -> None:
    record, stranger = make(), make(f"a stranger {SECRET}")
    for place in (folder, file):
        fill(place, record, record)
    path = versions_of(folder, record) / "000001.json"
    path.write_bytes(stranger.canonical_bytes())
    found = the_one(folder)
    assert (found.kind, found.where) == ("misplaced", str(path))
    assert stranger.id in found.what
    change(file, "UPDATE history SET payload = ? WHERE version = 1", stranger.canonical_bytes().decode())
    assert the_one(file).kind == "misplaced"


def test_foreign_files(folder: Path) -> None:
    record = make()
    fill(folder, record)
    root = folder / "records"
    strangers = [root / "notes", root / "file.json", root / ("F" * 32), versions_of(folder, record) / "0000002.json"]
    strangers[0].mkdir()
    for stranger in strangers[1:]:
        stranger.write_bytes(b"{}")
    (root / ("e" * 32)).symlink_to(folder)
    found = look(folder)
    assert {finding.kind for finding in found} == {"foreign"}
    assert {finding.where for finding in found} == {*map(str, strangers), str(root / ("e" * 32))}
    (versions_of(folder, record) / "000002.json").mkdir()
    assert any(finding.where.endswith("000002.json") and finding.kind == "foreign" for finding in look(folder))


def test_rows_that_do_not_agree(file: Path) -> None:
    wrong, tagged = make("wrong"), make("tagged", tags=("a", "b"))
    fill(file, wrong, tagged)
    change(file, "UPDATE records SET state = 'archived' WHERE record_id = ?", wrong.id)
    change(file, "DELETE FROM record_tags WHERE record_id = ? AND tag = 'b'", tagged.id)
    change(file, "INSERT INTO record_tags VALUES ('mem:none', 'x')")
    found = look(file)
    assert {finding.kind for finding in found} == {"index"}
    assert {finding.where for finding in found} == {f"{file}#{i}" for i in (wrong.id, tagged.id, "mem:none")}


def test_a_newest_version_that_is_not_the_last(file: Path) -> None:
    stale = make("stale", tags=("a",))
    fill(file, stale, archive(stale, reason="decay"))
    change(file, "UPDATE records SET payload = ? WHERE record_id = ?", stale.canonical_bytes().decode(), stale.id)
    assert (the_one(file).kind, the_one(file).where) == ("gap", f"{file}#{stale.id}")


def test_hostile_rows(file: Path) -> None:
    fill(file, make())
    change(file, "INSERT INTO history VALUES (x'ff00', 'one', x'00ff')")
    assert {finding.kind for finding in look(file)} >= {"foreign"}


@pytest.mark.parametrize("damage", ["header", "page", "text", "tables", "empty"])
def test_a_file_that_is_no_memory_or_a_damaged_one(file: Path, damage: str) -> None:
    fill(file, *(make(f"number {number} " + "x" * 500) for number in range(50)))
    if damage == "tables":
        file.unlink()
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("CREATE TABLE records (something TEXT)")
    else:
        data = bytearray(file.read_bytes())
        data[:] = {
            "header": b"\x00" * 100 + data[100:],
            "page": data[:8192] + b"\xa5" * 8192 + data[16384:],
            "text": b"hello",
            "empty": b"",
        }[damage]
        file.write_bytes(data)
    found = look(file)
    assert found
    assert {finding.kind for finding in found} <= UNREADABLE | {"foreign"}


@pytest.mark.parametrize("left", ["-shm", "-wal", "-journal"])
def test_scratch_files_without_the_others_are_no_obstacle(file: Path, left: str) -> None:
    fill(file, make())
    file.with_name(file.name + left).write_bytes(b"" if left == "-shm" else b"not what SQLite writes")
    assert look(file) == []


# ------------------------------------------------------------------ what was cut short


def test_an_unfinished_redaction(folder: Path, file: Path) -> None:
    record = make(SECRET)
    tombstone = MemoryRecord.tombstone(record, reason="leaked", now=NOON)
    for place in (folder, file):
        fill(place, record, tombstone)
        found = the_one(place)
        assert found.kind == "interrupted"
        assert "redact it again" in found.what
        with Memory(place) as memory:
            memory.store.redact(record.id, "leaked")  # type: ignore[attr-defined]
        assert look(place) == []


def test_a_version_over_a_tombstone(folder: Path) -> None:
    record = make(SECRET)
    fill(folder, MemoryRecord.tombstone(record, reason="leaked", now=NOON))
    (versions_of(folder, record) / "000002.json").write_bytes(record.canonical_bytes())
    assert the_one(folder).kind == "interrupted"


def test_a_scrub_that_is_still_to_be_done(file: Path) -> None:
    fill(file, make())
    change(file, "INSERT INTO agent_memory_scrub VALUES (1)")
    assert the_one(file).kind == "interrupted"
    Memory(file).close()
    assert look(file) == []


@pytest.mark.parametrize("name", ["journal", "undo"])
def test_a_journal_that_a_crash_left(folder: Path, name: str) -> None:
    fill(folder, make())
    (folder / "records" / ".staging" / name).write_bytes(b"torn")
    found = the_one(folder)
    assert (found.kind, Path(found.where).name, found.repairable) == ("interrupted", name, False)
    Memory(folder).close()
    assert look(folder) == []


def test_unfinished_files(folder: Path, file: Path) -> None:
    record = make()
    fill(folder, record)
    places = [folder, folder / "records", folder / "records" / ".staging", versions_of(folder, record)]
    for place in places:
        (place / ".tmp-0123").write_bytes(SECRET.encode())
    found = look(folder)
    assert [finding.kind for finding in found] == ["leftover"] * 4
    assert set(repair(folder, found)) == set(found)
    assert look(folder) == []
    fill(file, record)
    beside = file.with_name("memory.db.d")
    beside.mkdir()
    (beside / ".tmp-0123").write_bytes(b"{")
    (only,) = look(file)
    assert repair(file, [only]) == (only,)
    assert look(file) == []


def test_the_unfinished_file_of_a_writer_at_work_is_none(folder: Path) -> None:
    store = FileRecordStore(folder / "records")
    store.put(make())
    code = (
        "import sys, time, pathlib\n"
        "from agent_memory.stores import FileRecordStore\n"
        "root = pathlib.Path(sys.argv[1])\n"
        "with FileRecordStore(root).transaction():\n"
        "    temp = root / '.staging' / '.tmp-at-work'\n"
        "    temp.write_bytes(b'')\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(0.5)\n"
        "    temp.unlink()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(folder / "records")], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        assert examine(folder) == ()


# ------------------------------------------------------------------ sidecars


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"scores": []}',
        b'{"scores": {"mem:x": {}}}',
        b'{"scores": {"mem:00000000000000000000000000000000": {"touches": 0, "last_touched": "2026-01-01T00:00:00Z"}}}',
        b'{"scores": {"mem:00000000000000000000000000000000": {"touches": 1, "last_touched": "yesterday"}}}',
        b'{"scores": {"mem:00000000000000000000000000000000": 7}}',
    ],
)
def test_touch_counts_that_cannot_be_read(place: Path, content: bytes) -> None:
    with Memory(place) as memory:
        memory.remember("The sky is blue today.")
        memory.recall("sky")
    counts = (place if place.is_dir() else place.with_name(place.name + ".d")) / "salience.json"
    assert counts.is_file()
    counts.write_bytes(content)
    found = the_one(place)
    assert (found.kind, found.where, found.repairable) == ("sidecar", str(counts), True)
    assert repair(place, [found]) == (found,)
    assert not counts.exists()
    assert look(place) == []


def catalogue_of(place: Path) -> Path:
    path = (place if place.is_dir() else place.with_name(place.name + ".d")) / "catalogue.db"
    assert path.is_file()
    return path


def test_a_catalogue_that_cannot_be_read(place: Path) -> None:
    with Memory(place) as memory:
        memory.remember("The sky is blue today.")
    path = catalogue_of(place)
    path.write_bytes(b"no catalogue")
    found = the_one(place)
    assert (found.kind, found.where, found.repairable) == ("sidecar", str(path), True)
    assert repair(place, [found]) == (found,)
    with Memory(place) as memory:
        assert len(memory.recall("sky").records) == 1
    assert look(place) == []


def test_a_catalogue_of_another_generation(place: Path) -> None:
    with Memory(place) as memory:
        memory.remember("The sky is blue today.")
    path = catalogue_of(place)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE catalogue_state SET value = 'f' || value WHERE name = 'cursor'")
        connection.commit()
    found = the_one(place)
    assert (found.kind, found.where, found.repairable) == ("sidecar", str(path), True)
    repair(place, [found])
    assert look(place) == []


@pytest.mark.parametrize("content", [b"", b"torn", b"\xff\x00", b"0" * 32 + b" 1\n" + b"0" * 32 + b" 1"])
def test_a_change_log_that_is_torn(folder: Path, content: bytes) -> None:
    with Memory(folder) as memory:
        memory.remember("The sky is blue today.")
    path = folder / "records" / ".staging" / "changes"
    path.write_bytes(content)
    found = the_one(folder)
    assert (found.kind, found.where, found.repairable) == ("sidecar", str(path), True)
    repair(folder, [found])
    assert look(folder) == []


def test_repair_touches_nothing_but_what_it_finds_itself(folder: Path) -> None:
    record = make()
    fill(folder, record)
    version = versions_of(folder, record) / "000001.json"
    outside = folder.parent / "precious"
    outside.write_bytes(b"x")
    forged = [
        Finding(kind, str(path), "remove me", repairable=True)
        for kind in ("leftover", "sidecar")
        for path in (version, outside, folder)
    ]
    before = everything(folder.parent)
    assert repair(folder, forged) == ()
    assert everything(folder.parent) == before

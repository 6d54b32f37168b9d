"""Sidecars that are busy, damaged or left behind: nothing that was erased stays in one, and no reader waits for one."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from agent_memory import Memory, RecordError, StoreError, touches
from agent_memory.doctor import examine
from agent_memory.search import SQLiteSearchIndex
from agent_memory.stores import durable
from agent_memory.stores.lock import ProcessLock

WORD = b"zebra77"


@pytest.fixture(params=["memory", "memory.db"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / str(request.param)


def catalogue_of(place: Path) -> Path:
    return (place if place.is_dir() else place.with_name(f"{place.name}.d")) / "catalogue.db"


def holding(place: Path) -> list[Path]:
    return [path for path in place.parent.rglob("*") if path.is_file() and WORD in path.read_bytes()]


@contextmanager
def write_lock(database: Path) -> Iterator[None]:
    """Another program that writes a database and does not end."""
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()


def test_nothing_is_redacted_while_the_catalogue_cannot_be_cleaned(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory(place) as memory:
        record_id = str(memory.remember("zebra77 is the word.").record_id)
        memory._catalogue._database._connection.execute("PRAGMA busy_timeout=100")  # type: ignore[union-attr]
        with write_lock(catalogue_of(place)), pytest.raises(StoreError, match="another process"):
            memory.redact(record_id, "secret")
        assert not memory.get(record_id).redacted
        memory.redact(record_id, "secret")
    assert holding(place) == []


def test_a_foreign_index_is_gone_before_anything_is_redacted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "memory"
    with Memory(place) as memory:
        record_id = str(memory.remember("zebra77 is the word.").record_id)
        foreign = SQLiteSearchIndex(place / "index.sqlite")
        foreign.index(memory.get(record_id))
        foreign.close()
        code = (
            "import os, sys; from agent_memory import Memory; from agent_memory.door import Door\n"
            "Door._committed = lambda self: os._exit(9)\n"
            "Memory(sys.argv[1]).redact(sys.argv[2], 'secret')\n"
        )
        assert subprocess.run([sys.executable, "-c", code, str(place), record_id], check=False).returncode == 9
    with Memory(place) as memory:
        assert memory.get(record_id).redacted
    assert holding(place) == []


def test_redacting_again_finishes_what_failed_after_the_redaction(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory(place) as memory:
        record_id = str(memory.remember("zebra77 is the word.").record_id)
        memory.recall("zebra77")
        memory._touches.flush()
        replace = durable.replace

        def full(path: Path, data: bytes, staging: Path | None = None) -> None:
            if path.name == "salience.json":
                raise OSError(28, "No space left on device")
            replace(path, data, staging)

        monkeypatch.setattr(durable, "replace", full)
        with pytest.raises(StoreError, match=r"is redacted, but.*disk is full"):
            memory.redact(record_id, "secret")
        monkeypatch.undo()
        with pytest.raises(RecordError, match="already"):
            memory.redact(record_id, "secret")
    sidecar = catalogue_of(place).with_name("salience.json")
    assert record_id not in sidecar.read_text()


def test_a_redaction_that_waits_in_vain_for_the_touch_counts_says_what_is_done(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(touches, "_LONGEST_WAIT", 0.1)
    with Memory(place) as memory:
        record_id = str(memory.remember("zebra77 is the word.").record_id)
        memory.recall("zebra77")
        memory._touches.flush()
        other = ProcessLock(catalogue_of(place).with_name("salience.lock"), 0)
        other.acquire()
        with pytest.raises(StoreError, match="is redacted, but") as told:
            memory.redact(record_id, "secret")
        other.release()
        other.close()
        assert "nothing was written" not in str(told.value)
        assert memory.get(record_id).redacted
        with pytest.raises(RecordError, match="already"):
            memory.redact(record_id, "secret")
    assert record_id not in catalogue_of(place).with_name("salience.json").read_text()


@pytest.mark.parametrize("seed", range(6))
def test_a_catalogue_damaged_in_use_is_made_anew(place: Path, seed: int) -> None:
    chance = random.Random(seed)
    with Memory(place, auto_consolidate=False) as memory:
        memory.remember_many([f"Fact {number} about the zebra77 herd." for number in range(300)])
    path = catalogue_of(place)
    data = bytearray(path.read_bytes())
    for _ in range(12):
        page = chance.randrange(1, max(2, len(data) // 4096)) * 4096
        data[page : page + 2000] = chance.randbytes(2000)
    path.write_bytes(data)
    with Memory(place, auto_consolidate=False) as memory:
        assert len(memory.recall("zebra77 herd", budget_tokens=100_000)) > 20
        assert memory.remember("Fact 7 about the zebra77 herd.").deduped


def test_a_cursor_that_is_no_text_is_no_cursor(place: Path) -> None:
    with Memory(place) as memory:
        record_id = memory.remember("Still to be found.").record_id
    connection = sqlite3.connect(catalogue_of(place))
    connection.execute("UPDATE catalogue_state SET value = CAST(x'ff00fe' AS TEXT) WHERE name = 'cursor'")
    connection.commit()
    connection.close()
    with Memory(place) as memory:
        assert memory.recall("found").ids == (record_id,)


def a_folder(path: Path) -> None:
    path.mkdir()


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_link_to_nothing(path: Path) -> None:
    path.symlink_to(path.parent / "nothing")


def a_link_to_itself(path: Path) -> None:
    path.symlink_to(path.name)


def a_later_version(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 7")


def tables_of_others(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE record_fts (other)")
        connection.execute("CREATE TABLE agent_memory_rows (other)")


def a_view(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE VIEW catalogue_lines AS SELECT 1")


@pytest.mark.skipif(os.name == "nt", reason="needs pipes and links")
@pytest.mark.parametrize(
    "put", [a_folder, a_pipe, a_link_to_nothing, a_link_to_itself, a_later_version, tables_of_others, a_view]
)
def test_what_is_no_catalogue_is_replaced_by_one(place: Path, put: Callable[[Path], None]) -> None:
    with Memory(place) as memory:
        record_id = memory.remember("Still to be found.").record_id
    catalogue_of(place).unlink()
    put(catalogue_of(place))
    with Memory(place) as memory:
        assert memory.recall("found").ids == (record_id,)
        assert memory.remember("Still to be found.").deduped
    assert examine(place) == ()


def test_a_catalogue_that_loses_its_tables_in_use_is_made_anew(place: Path) -> None:
    with Memory(place) as memory:
        record_id = memory.remember("Still to be found.").record_id
        with closing(sqlite3.connect(catalogue_of(place), isolation_level=None)) as connection:
            connection.execute("DROP TABLE catalogue_lines")
            connection.execute("DROP TABLE record_fts")
        assert memory.recall("found").ids == (record_id,)
        assert memory.remember("Still to be found.").deduped


def test_a_folder_in_the_place_of_the_catalogue_is_not_emptied(place: Path) -> None:
    Memory(place).close()
    catalogue_of(place).unlink()
    catalogue_of(place).mkdir()
    (catalogue_of(place) / "note").write_text("mine")
    with pytest.raises(StoreError, match=r"catalogue\.db.*move it elsewhere"):
        Memory(place)
    assert (catalogue_of(place) / "note").read_text() == "mine"


@pytest.mark.skipif(os.name == "nt", reason="needs pipes")
def test_a_pipe_in_the_place_of_the_touch_counts_hangs_nobody(place: Path) -> None:
    Memory(place).close()
    sidecar = catalogue_of(place).with_name("salience.json")
    os.mkfifo(sidecar)
    with Memory(place) as memory:
        memory.remember("Anything.")
        assert memory.recall("anything").ids
    assert sidecar.is_file()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs another user")
def test_a_folder_with_sidecars_is_read_by_who_may_not_write_it() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "memory"
        with Memory(place) as memory:
            record_id = memory.remember("Still to be found.").record_id
            assert memory.recall("found").ids
        for path in (*place.rglob("*"), place, place.parent):
            path.chmod(0o555 if path.is_dir() else 0o444)
        child = os.fork()
        if child == 0:
            found = False
            try:
                if os.geteuid() == 0:  # whom no mode stops
                    os.setuid(65534)
                with Memory(place) as memory:
                    found = memory.recall("found").ids == (record_id,) and memory.status()["records"] == 1
            finally:
                os._exit(0 if found else 1)
        assert os.waitpid(child, 0)[1] == 0
        for path in (place.parent, place, *place.rglob("*")):
            path.chmod(0o755)


def test_a_busy_catalogue_is_not_thrown_away(place: Path) -> None:
    with Memory(place) as memory:
        memory.remember("Anything.")
        before = catalogue_of(place).stat().st_ino
        memory._catalogue._database._connection.execute("PRAGMA busy_timeout=100")  # type: ignore[union-attr]
        with write_lock(catalogue_of(place)):
            memory.remember("Something else.")
        assert memory.recall("something else").ids
        assert catalogue_of(place).stat().st_ino == before


def test_a_recall_waits_for_no_writer(place: Path) -> None:
    with Memory(place) as memory:
        record_id = memory.remember("Grafana runs on port 3000.").record_id
        memory.recall("grafana")
        code = (
            "import sys, time; from agent_memory import stores\n"
            "store = stores.open_store(sys.argv[1])\n"
            "with store.transaction():\n"
            "    print('held', flush=True); time.sleep(8)\n"
        )
        child = subprocess.Popen([sys.executable, "-c", code, str(place)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        time.sleep(1.1)  # a flush of the touch counts is due
        start = time.monotonic()
        assert memory.recall("grafana").ids == (record_id,)
        assert memory.get(str(record_id)).body
        assert len(memory.list()) == 1
        assert time.monotonic() - start < 3
        child.kill()
        child.wait()


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs symbolic links")
def test_a_memory_reached_through_a_link_has_one_catalogue(tmp_path: Path) -> None:
    with Memory(tmp_path / "real.db") as memory:
        record_id = str(memory.remember("zebra77 is the word.").record_id)
    (tmp_path / "link.db").symlink_to(tmp_path / "real.db")
    with Memory(tmp_path / "link.db") as memory:
        assert memory.recall("zebra77").ids == (record_id,)
    with Memory(tmp_path / "real.db") as memory:
        memory.redact(record_id, "secret")
    assert not (tmp_path / "link.db.d").exists()
    assert holding(tmp_path / "real.db") == []

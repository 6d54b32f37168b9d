"""Disks that are full or cannot be written, and files that others hold: an error that says what to do, and no half."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent_memory.errors import StoreError
from agent_memory.lifecycle import archive
from agent_memory.stores import SQLiteRecordStore
from contracts import SECRET, make

if TYPE_CHECKING:
    from collections.abc import Iterator

BIG = "a long text " * 2_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def store(path: Path) -> Iterator[SQLiteRecordStore]:
    with closing(SQLiteRecordStore(path)) as opened:
        yield opened


@contextmanager
def full_after(store: SQLiteRecordStore, pages: int) -> Iterator[None]:
    """The file may grow by ``pages`` only: SQLite then answers what it answers on a full disk."""
    database = store._database
    held = database.read("PRAGMA page_count")[0][0]
    database.execute(f"PRAGMA max_page_count={held + pages}")
    yield
    database.execute("PRAGMA max_page_count=1000000")


def child(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    start = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\nfrom contracts import make\n"
    start += "from agent_memory.stores import SQLiteRecordStore; from agent_memory.errors import StoreError\n"
    return subprocess.run(
        [sys.executable, "-c", start + code, *arguments], capture_output=True, text=True, timeout=120, check=False
    )


# ----------------------------------------------------------------------------------------------------------- full disks


@pytest.mark.parametrize("pages", range(0, 40, 3))
def test_a_full_disk_is_said_and_nothing_half_is_left(store: SQLiteRecordStore, path: Path, pages: int) -> None:
    kept = make("kept", tags=("t",))
    store.put(kept)
    cursor = store.changes()[0]
    many = [archive(kept, reason="decay"), *(make(f"{number} {BIG}", tags=("n",)) for number in range(8))]
    with full_after(store, pages):
        with pytest.raises(StoreError, match="the disk is full; free some space"):
            store.put_many(many)
        assert store.list() == store.history(kept.id) == (kept,)
        assert store.changes(cursor)[1] == ()
        with closing(SQLiteRecordStore(path)) as other:
            assert other.list() == (kept,)
    store.put_many(many)
    assert len(store.list()) == 9
    assert store.list(tag="t") == (many[0],)
    assert store.damaged() == ()


def test_an_outer_transaction_does_not_go_on_after_the_disk_was_full(store: SQLiteRecordStore) -> None:
    with full_after(store, 10):
        with suppress(StoreError), store.transaction():
            store.put(make("before"))
            with suppress(StoreError):
                store.put_many(make(f"{number} {BIG}") for number in range(50))
            store.put(make("after"))
        assert {record.body for record in store.list()} in (set(), {"before", "after"})
    store.put(make("next"))
    assert "next" in {record.body for record in store.list()}


def test_a_transaction_that_sqlite_undid_is_not_continued(store: SQLiteRecordStore) -> None:
    def write() -> None:
        with store.transaction():
            store.put(make("before"))
            store._database._connection.execute("ROLLBACK")  # type: ignore[union-attr]
            store.put(make("after"))

    with pytest.raises(StoreError, match="begin it again"):
        write()
    assert store.list() == ()
    store.put(make("next"))
    assert len(store.list()) == 1


def test_an_erasure_on_a_full_disk_is_pending_and_finished_later(store: SQLiteRecordStore, path: Path) -> None:
    record = make(SECRET + BIG)
    store.put(record)
    real = store._database._connection
    assert real is not None

    class Full:
        """The connection, on a disk that has no room for the file written anew."""

        def execute(self, sql: str, *values: object) -> object:
            if sql == "VACUUM":
                error = sqlite3.OperationalError("database or disk is full")
                error.sqlite_errorcode = sqlite3.SQLITE_FULL
                raise error
            return real.execute(sql, *values)  # type: ignore[arg-type]

        def __getattr__(self, name: str) -> object:
            return getattr(real, name)

    store._database._connection = Full()  # type: ignore[assignment]
    assert store.redact(record.id, "leaked").redacted
    assert store.erasure_pending
    store._database._connection = real
    assert store.scrub()
    assert SECRET.encode() not in b"".join(part.read_bytes() for part in path.parent.iterdir())


def test_a_backup_that_fails_leaves_nothing(
    store: SQLiteRecordStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put(make())

    def fail(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StoreError, match="the disk is full"):
        store.backup(path.parent / "copy.db")
    assert {entry.name for entry in path.parent.iterdir()} <= {path.name, f"{path.name}-wal", f"{path.name}-shm"}


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on the size of files")
def test_a_limit_on_the_size_of_files_is_said(path: Path) -> None:
    with closing(SQLiteRecordStore(path)) as store:
        store.put(make("kept"))
    code = (
        "import resource\n"
        "store = SQLiteRecordStore(sys.argv[1])\n"
        "store.put(make('small'))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))\n"
        "try:\n"
        f"    store.put_many(make(f'{{n}} ' + {BIG!r}) for n in range(100))\n"
        "except StoreError as error:\n"
        "    print(error)\n"
        "assert len(store.list()) == 2, len(store.list())\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n"
        "store.put(make('next'))\n"
        "assert len(store.list()) == 3\n"
        "store.close()\n"
    )
    done = child(code, str(path))
    assert done.returncode == 0, done.stderr
    assert "limit on the size of files" in done.stdout or "disk is full" in done.stdout
    with closing(SQLiteRecordStore(path)) as store:
        assert {record.body for record in store.list()} == {"kept", "small", "next"}
        assert store.damaged() == ()


# ---------------------------------------------------------------------------------------------------------- read only

NOBODY = (
    "import os\n"
    "if os.geteuid() == 0:\n"  # nothing is forbidden to root
    "    os.setgid(65534); os.setuid(65534)\n"
)


@pytest.mark.skipif(sys.platform == "win32", reason="no modes of files")
@pytest.mark.parametrize("what", ["folder", "file", "log"])
def test_what_cannot_be_written_is_said(path: Path, what: str) -> None:
    open_elsewhere = SQLiteRecordStore(path)
    open_elsewhere.put(make("kept"))
    for parent in path.parents:
        if str(parent).startswith("/tmp/") and parent.stat().st_uid == os.geteuid():
            parent.chmod(0o755)
    if what == "folder":
        open_elsewhere.close()
        path.chmod(0o666)
        path.parent.chmod(0o555)
    else:
        for entry in path.parent.iterdir():
            entry.chmod(0o444 if what == "file" or entry.name.endswith("-wal") else 0o666)
    code = NOBODY + (
        "try:\n"
        "    store = SQLiteRecordStore(sys.argv[1], timeout=0.5)\n"
        "    print(len(store.list()))\n"
        "    store.put(make('new'))\n"
        "except StoreError as error:\n"
        "    print(error)\n"
    )
    done = child(code, str(path))
    assert done.returncode == 0, done.stderr
    assert "check the" in done.stdout, done.stdout
    assert "mode" in done.stdout, done.stdout
    path.parent.chmod(0o755)
    for entry in path.parent.iterdir():
        entry.chmod(0o644)
    open_elsewhere.close()
    with closing(SQLiteRecordStore(path)) as store:
        store.put(make("next"))
        assert {record.body for record in store.list()} == {"kept", "next"}


# ------------------------------------------------------------------------------------------------------------- held


@contextmanager
def held(path: Path, seconds: float) -> Iterator[None]:
    """Another process holds the write lock for so long."""
    code = (
        "import sqlite3, sys, time\n"
        "connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "connection.execute('BEGIN IMMEDIATE'); print(flush=True)\n"
        "time.sleep(float(sys.argv[2])); connection.execute('COMMIT')\n"
    )
    command = [sys.executable, "-c", code, str(path), str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield
        process.kill()


def test_a_writer_that_ends_within_the_bound_only_delays(store: SQLiteRecordStore, path: Path) -> None:
    store.put(make("kept"))
    with held(path, 3):
        started = time.monotonic()
        assert len(store.list()) == 1
        assert time.monotonic() - started < 1  # nobody who reads waits
        store.put(make("delayed"))
        assert 1 < time.monotonic() - started < 20
    assert len(store.list()) == 2


def test_a_writer_that_does_not_is_an_error_within_the_bound(path: Path) -> None:
    with closing(SQLiteRecordStore(path, timeout=1)) as store:
        store.put(make("kept"))
        with held(path, 60):
            for write in (
                lambda: store.put(make("late")),
                lambda: store.redact(make("kept").id, "leaked"),
                lambda: store.find(key="k"),
            ):
                started = time.monotonic()
                with pytest.raises(StoreError, match=r"has been writing to it for 1 s; nothing was written: try again"):
                    write()
                assert 0.5 < time.monotonic() - started < 10
            assert store.list() == (make("kept"),)
            store.backup(path.parent / "copy.db")
        store.put(make("late"))
        assert len(store.list()) == 2

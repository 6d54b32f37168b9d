"""The tables of our own in an SQLite file: the change cursor, keys to find records by, and versions of the schema."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fg_agent_memory as peer
import pytest

from agent_memory.lifecycle import archive
from agent_memory.stores import InMemoryRecordStore, SQLiteRecordStore, sqlite_changes
from contracts import NOON, hammer, make, taken_back

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def store(path: Path) -> Iterator[SQLiteRecordStore]:
    with closing(SQLiteRecordStore(path)) as opened:
        yield opened


def shell(path: Path, sql: str, *values: Any) -> None:
    """What any other program does to the file."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(sql, values)


def rows(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def a_payload(body: str) -> tuple[str, str]:
    record = make(body)
    return record.id, record.canonical_bytes().decode()


# ------------------------------------------------------------------------------------------------- cursors, both stores


@pytest.fixture(params=["sqlite", "memory"])
def either(request: pytest.FixtureRequest) -> Iterator[Any]:
    with closing(SQLiteRecordStore() if request.param == "sqlite" else InMemoryRecordStore()) as opened:
        yield opened


def test_a_cursor_tells_each_changed_id_once_in_order_of_its_first_change(either: Any) -> None:
    first, second = make("first"), make("second")
    cursor, ids = either.changes()
    assert ids is None
    either.put_many([second, first, archive(second, reason="decay")])
    either.put(first)
    after, ids = either.changes(cursor)
    assert ids == (second.id, first.id)
    assert either.changes(after) == (after, ())
    either.redact(first.id, "leaked")
    assert either.changes(after)[1] == (first.id,)
    assert either.changes(cursor)[1] == (second.id, first.id)


@pytest.mark.parametrize("foreign", ["", "x", "0 0 0", "0" * 16 + " 0 0", "9" * 5000, "0" * 16 + " " + "9" * 5000, "é"])
def test_a_foreign_cursor_is_answered_by_none(either: Any, foreign: str) -> None:
    either.put(make())
    cursor, ids = either.changes(foreign)
    assert ids is None
    assert either.changes(cursor)[1] == ()
    generation = cursor.split()[0]
    assert either.changes(f"{generation} 99 0")[1] is None
    assert either.changes(f"{generation} x 0")[1] is None


def test_what_was_taken_back_is_no_change(either: Any) -> None:
    cursor = either.changes()[0]
    with taken_back(either):
        either.put(make("lost"))
        assert either.changes(cursor)[1] == (make("lost").id,)
    assert either.changes(cursor)[1] in {(), None}
    with taken_back(either):
        either.put(make("lost"))
    cursor = either.changes()[0]
    assert either.changes(cursor)[1] == ()


def test_a_cursor_from_within_a_transaction_that_was_taken_back_misses_nothing(either: Any) -> None:
    with taken_back(either):
        either.put(make("lost"))
        cursor = either.changes()[0]
    either.put(make("written in its place"))
    assert either.changes(cursor)[1] is None


def test_the_log_in_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_memory.stores.memory._REMEMBERED", 4)
    store, record = InMemoryRecordStore(), make()
    start = store.changes()[0]
    for number in range(50):
        cursor = store.changes()[0]
        store.put(record)
        assert store.changes(cursor)[1] == (record.id,), number
    assert store.changes(start)[1] is None
    assert len(store._changed) < 8
    cursor = store.changes()[0]
    with taken_back(store):
        for _ in range(20):
            store.put(record)
    assert store.changes(cursor)[1] == ()
    store.put(record)
    assert store.changes(cursor)[1] == (record.id,)


# -------------------------------------------------------------------------------------------------------- other writers


@pytest.mark.parametrize(
    ("sql", "values"),
    [
        ("INSERT INTO records VALUES (?, 9, 'active', 'fact', ?)", a_payload("inserted")),
        ("INSERT OR REPLACE INTO records VALUES (?, 9, 'active', 'fact', ?)", a_payload("there")),
        ("INSERT OR IGNORE INTO history VALUES (?, 7, ?)", a_payload("there")),
        ("UPDATE records SET payload = ?2 WHERE record_id = ?1", a_payload("there")),
        ("UPDATE records SET state = 'archived' WHERE record_id = ?1 AND payload = ?2", a_payload("there")),
        ("UPDATE history SET payload = ?2 WHERE record_id = ?1", a_payload("there")),
        ("UPDATE records SET payload = 'torn {' WHERE record_id = ?1 AND payload = ?2", a_payload("there")),
        ("UPDATE records SET payload = x'ff00' WHERE record_id = ?1 AND payload = ?2", a_payload("there")),
        ("DELETE FROM records WHERE record_id = ?1 AND payload = ?2", a_payload("there")),
        ("DELETE FROM history WHERE record_id = ?1 AND payload = ?2", a_payload("there")),
        ("UPDATE records SET record_id = 'mem:' || ?2 WHERE record_id = ?1", (make("there").id, "0" * 32)),
    ],
)
def test_what_another_program_writes_is_a_change(store: Any, path: Path, sql: str, values: tuple[str, str]) -> None:
    store.put_many([make("there"), make("another")])
    store.find(source="session-42")
    cursor = store.changes()[0]
    shell(path, sql, *values)
    changed = store.changes(cursor)[1]
    assert changed is not None
    assert values[0] in changed
    assert make("another").id not in changed
    store.find(source="session-42")  # goes on whatever it was


def test_rows_that_are_no_records_hinder_nobody(store: SQLiteRecordStore, path: Path) -> None:
    cursor = store.changes()[0]
    shell(path, "INSERT INTO records VALUES (NULL, 1, 'active', 'fact', '{}')")
    shell(path, "INSERT INTO records VALUES (x'ff', 1, 'active', 'fact', '{}')")
    shell(path, "INSERT INTO records VALUES ('no id', 1, 'active', 'fact', '{\"provenance\": {\"ref\": 7}}')")
    shell(path, "DELETE FROM records")
    assert store.changes(cursor)[1] == ()
    assert store.find(source="session-42") == ()


def test_the_peer_writes_through_the_triggers_and_is_seen(store: SQLiteRecordStore, path: Path) -> None:
    cursor = store.changes()[0]
    with closing(peer.SQLiteRecordStore(path)) as theirs:
        record = peer.MemoryRecord.create(
            peer.RecordType.FACT, "theirs", peer.Provenance(kind="c", ref="theirs/1"), created_at=NOON, tags=("t",)
        )
        theirs.put(record)
        assert store.changes(cursor)[1] == (record.id,)
        assert [found.id for found in store.find(source="theirs/1")] == [record.id]
        cursor = store.changes()[0]
        theirs.put(peer.archive(record, reason="old"))
        assert store.changes(cursor)[1] == (record.id,)
        assert len(store.find(source="theirs/1")) == 1
        theirs.redact(record.id, "leaked")
        assert b"theirs/1" not in b"".join(str(row).encode() for row in rows(path, "SELECT * FROM agent_memory_keys"))
        assert store.find(source="theirs/1") == ()
        assert len(theirs.history(record.id)) == 2


def test_a_file_of_the_peer_gets_our_tables_and_stays_the_peers(path: Path) -> None:
    with closing(peer.SQLiteRecordStore(path)) as theirs:
        for number in range(3):
            theirs.put(
                peer.MemoryRecord.create(peer.RecordType.FACT, f"n {number}", peer.Provenance(kind="c", ref="r"))
            )
        before = rows(path, "PRAGMA user_version")
        with closing(SQLiteRecordStore(path)) as store:
            assert len(store.find(source="r")) == 3
            assert store.changes(store.changes()[0])[1] == ()
        assert rows(path, "PRAGMA user_version") == before
        assert len(theirs.list()) == 3
    with closing(peer.SQLiteRecordStore(path)) as theirs:
        assert len(theirs.list()) == 3


# --------------------------------------------------------------------------------------------------------- many at once


def python(code: str, *arguments: str, **how: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n{code}"]
    return subprocess.Popen([*command, *arguments], text=True, **how)


def test_a_follower_misses_nothing_that_four_processes_write(store: SQLiteRecordStore, path: Path) -> None:
    write = (
        "from contracts import make; from agent_memory.stores import SQLiteRecordStore\n"
        "store = SQLiteRecordStore(sys.argv[1], durability='normal')\n"
        "for number in range(250):\n"
        "    store.put(make(f'{sys.argv[2]} {number}' if number % 5 else f'common {number}'))\n"
    )
    follow = (
        "from agent_memory.stores import SQLiteRecordStore\n"
        "store = SQLiteRecordStore(sys.argv[1])\n"
        "cursor, versions, calls = store.changes()[0], {}, 0\n"
        "print('ready', flush=True)\n"
        "import select\n"
        "while True:\n"
        "    over = bool(select.select([sys.stdin], [], [], 0)[0])\n"
        "    cursor, ids = store.changes(cursor)\n"
        "    assert ids is not None\n"
        "    calls += bool(ids)\n"
        "    versions.update({record_id: len(store.history(record_id)) for record_id in ids})\n"
        "    if over and not ids: break\n"
        "assert calls > 1\n"
        "print(len(versions), sum(versions.values()), flush=True)\n"
    )
    follower = python(follow, str(path), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert follower.stdout is not None
    assert follower.stdout.readline() == "ready\n"
    writers = [python(write, str(path), str(number)) for number in range(4)]
    assert [writer.wait(timeout=120) for writer in writers] == [0] * 4
    told = follower.communicate("over\n", timeout=60)[0].split()
    assert follower.returncode == 0
    assert told == ["850", "1000"]
    assert len(store.list()) == 850
    assert store.damaged() == ()


def test_threads_that_share_a_store_and_one_with_another_connection_lose_nothing(path: Path) -> None:
    with closing(SQLiteRecordStore(path)) as store, closing(SQLiteRecordStore(path)) as other:
        cursor = other.changes()[0]
        numbers = iter(range(10_000))

        def work() -> None:
            side = store if (number := next(numbers)) % 2 else other
            side.put(make(f"record {number}"))
            side.changes(cursor)
            side.find(source="session-42")
            side.list(tag="none")

        assert hammer(work, threads=8, times=10) == []
        changed = other.changes(cursor)[1]
        assert changed is not None
        assert len(changed) == len(set(changed)) == len(store.list()) == 80


# -------------------------------------------------------------------------------------------------------------- pruning


def test_superfluous_entries_are_pruned_and_no_change_is_missed(
    store: SQLiteRecordStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_changes, "KEPT", 20)
    monkeypatch.setattr(sqlite_changes, "SLACK", 100)
    records = [make(f"record {number}") for number in range(10)]
    start = store.changes()[0]
    cursors = []
    for turn in range(60):
        cursors.append((store.changes()[0], turn))
        store.put_many(records[: 5 + turn % 6])
    recent = store.changes()[0]
    store.put(records[0])
    entries = "SELECT record_id FROM agent_memory_changes ORDER BY change"
    assert len(rows(path, entries)) < 600  # of 900
    SQLiteRecordStore(path).close()
    assert len(rows(path, entries)) < 100
    assert {row[0] for row in rows(path, entries)} == {record.id for record in records}
    for cursor, turn in cursors:
        ids = store.changes(cursor)[1]
        assert ids is None or set(ids) == {
            record.id for later in range(turn, 60) for record in records[: 5 + later % 6]
        }
    assert store.changes(recent)[1] == (records[0].id,)
    changed = store.changes(start)[1]
    assert changed is not None
    assert set(changed) == {record.id for record in records}

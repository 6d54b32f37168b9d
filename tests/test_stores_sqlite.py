"""The store in one SQLite file: whole transactions, other processes, damage, and what redaction leaves in the bytes."""

from __future__ import annotations

import random
import sqlite3
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings

from agent_memory.errors import ArgumentError, StoreError
from agent_memory.lifecycle import archive
from agent_memory.stores import SQLiteRecordStore
from contracts import (
    NOON,
    SECRET,
    StoreContract,
    check_against_model,
    hammer,
    in_processes,
    make,
    random_writes,
    taken_back,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class TestInFile(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[SQLiteRecordStore]:
        with closing(SQLiteRecordStore(tmp_path / "memory.db")) as opened:
            yield opened


class TestInMemory(StoreContract):
    @pytest.fixture
    def store(self) -> Iterator[SQLiteRecordStore]:
        with closing(SQLiteRecordStore()) as opened:
            yield opened


@given(random_writes)
@settings(max_examples=40)
def test_random_writes_end_as_in_the_model(steps: list[tuple[str, int]]) -> None:
    check_against_model(SQLiteRecordStore(), steps)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def store(path: Path) -> Iterator[SQLiteRecordStore]:
    with closing(SQLiteRecordStore(path)) as opened:
        yield opened


def everything(path: Path) -> bytes:
    return b"".join(part.read_bytes() for part in sorted(path.parent.glob(f"{path.name}*")))


def tamper(path: Path, sql: str, *values: Any) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(sql, values)


def test_reopening_sees_everything(path: Path) -> None:
    record = make(tags=("alpha",))
    with closing(SQLiteRecordStore(path)) as first:
        first.put_many([record, archive(record, reason="decay")])
    with closing(SQLiteRecordStore(path)) as again:
        assert len(again.history(record.id)) == 2
        assert [found.id for found in again.list(tag="alpha")] == [record.id]


def test_listing_goes_by_first_put(store: SQLiteRecordStore) -> None:
    records = [make(f"number {number}", minute=-number) for number in range(5)]
    store.put_many([*records, archive(records[0], reason="decay")])
    assert [found.id for found in store.list()] == [record.id for record in records]


def test_many_records_come_in_batches(store: SQLiteRecordStore) -> None:
    records = [make(f"number {number}", minute=number) for number in range(1203)]
    store.put_many(records)
    assert list(store.payloads()) == [record.canonical_bytes() for record in records]
    assert list(store.get_many(record.id for record in records).values()) == records


def test_a_second_connection_loses_no_version(store: SQLiteRecordStore, path: Path) -> None:
    record = make()
    with closing(SQLiteRecordStore(path)) as other:
        turns = iter([store, other] * 40)
        assert hammer(lambda: next(turns).put(record)) == []
    assert len(store.history(record.id)) == 40


def test_two_processes_lose_no_version(path: Path) -> None:
    code = (
        "from contracts import make; from agent_memory.stores import SQLiteRecordStore\n"
        "store, record = SQLiteRecordStore(sys.argv[1]), make()\n"
        "for number in range(20):\n"
        "    with store.transaction():\n"
        "        seen = 0 if record.id not in store.get_many([record.id]) else int(store.get(record.id).state_reason)\n"
        "        store.put(record.evolve({'state_reason': str(seen + 1)}))\n"
        "    store.put(make(f'{sys.argv[2]} {number}'))\n"
    )
    in_processes(code, str(path))
    with closing(SQLiteRecordStore(path)) as store:
        assert store.get(make().id).state_reason == "40"
        assert len(store.list()) == 41
        assert store.damaged() == ()


def test_a_writer_that_hangs_is_waited_for_so_long_only(store: SQLiteRecordStore, path: Path) -> None:
    with closing(SQLiteRecordStore(path, timeout=0.1)) as waiter:
        with store.transaction():
            started = time.monotonic()
            with pytest.raises(StoreError, match="another process has been writing"):
                waiter.put(make())
            assert time.monotonic() - started < 5
            assert waiter.list() == ()
        waiter.put(make())


def test_other_threads_never_see_half_a_transaction(store: SQLiteRecordStore) -> None:
    seen: list[int] = []
    reader = threading.Thread(target=lambda: seen.append(len(store.list())))
    with store.transaction():
        store.put(make("a"))
        reader.start()
        time.sleep(0.05)
        store.put(make("b"))
    reader.join()
    assert seen in ([0], [2])


# ------------------------------------------------------------------------------------------------ what is no memory


def test_a_file_that_is_no_database_is_refused(path: Path) -> None:
    path.write_bytes(b"plain text, and a good deal of it")
    with pytest.raises(StoreError, match="not an SQLite database"):
        SQLiteRecordStore(path)
    assert path.read_bytes().startswith(b"plain text")


def test_a_damaged_database_is_refused(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    with pytest.raises(StoreError, match="not an SQLite database"):
        SQLiteRecordStore(path)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder"):
        SQLiteRecordStore(tmp_path)
    with pytest.raises(StoreError, match="empty"):
        SQLiteRecordStore("")


def test_an_unknown_schema_is_refused(path: Path) -> None:
    SQLiteRecordStore(path).close()
    tamper(path, "PRAGMA user_version = 7")
    with pytest.raises(StoreError, match="schema version 7"):
        SQLiteRecordStore(path)


def test_a_table_of_the_same_name_is_not_written_to(path: Path) -> None:
    tamper(path, "CREATE TABLE records (title TEXT, artist TEXT)")
    with pytest.raises(StoreError, match="not a memory's"):
        SQLiteRecordStore(path)


def test_a_closed_store_says_so(store: SQLiteRecordStore) -> None:
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        store.list()


# ---------------------------------------------------------------------------------------------------------- damage


@pytest.mark.parametrize(
    "payload", ["{", "[]", b"\xff\xfe", make("a stranger").canonical_bytes().decode(), 7, make().canonical_bytes()[:50]]
)
def test_a_damaged_row_is_not_served_and_harms_no_other(store: SQLiteRecordStore, path: Path, payload: Any) -> None:
    damaged, sound = make(f"damaged {SECRET}"), make("sound")
    store.put_many([damaged, sound])
    for table in ("records", "history"):
        tamper(path, f"UPDATE {table} SET payload = CAST(? AS TEXT) WHERE record_id = ?", payload, damaged.id)
    for ask in (store.get, store.history):
        with pytest.raises(StoreError) as caught:
            ask(damaged.id)
        assert damaged.id in str(caught.value)
        assert SECRET not in str(caught.value)
    assert store.list() == (sound,)
    assert list(store.payloads()) == [sound.canonical_bytes()]
    assert store.get_many([damaged.id, sound.id]) == {sound.id: sound}
    for put in (store.put, lambda record: store.put_many([make("new"), record])):
        with pytest.raises(StoreError) as caught:
            put(archive(damaged, reason="decay"))
        assert damaged.id in str(caught.value)
    assert store.list() == (sound,)
    assert len(store.damaged()) == 2


def test_a_gap_in_the_history_is_damage(store: SQLiteRecordStore, path: Path) -> None:
    record = make()
    store.put_many([record] * 3)
    tamper(path, "DELETE FROM history WHERE version = 2")
    with pytest.raises(StoreError, match="lacks version 2"):
        store.history(record.id)
    assert len(store.damaged()) == 1


def test_a_payload_stored_as_a_blob_is_read(store: SQLiteRecordStore, path: Path) -> None:
    record = make()
    store.put(record)
    tamper(path, "UPDATE records SET payload = CAST(payload AS BLOB)")
    assert store.list() == (record,)
    assert list(store.payloads()) == [record.canonical_bytes()]


# --------------------------------------------------------------------------------------------------------- erasure


def test_redaction_leaves_no_byte_of_the_content(store: SQLiteRecordStore, path: Path) -> None:
    record = make(f"The key is {SECRET}.", tags=(SECRET,))
    store.put_many([record, archive(record, reason="decay")])
    assert SECRET.encode() in everything(path)
    store.redact(record.id, "leaked")
    assert SECRET.encode() not in everything(path)
    assert not store.erasure_pending
    assert store.scrub()


@pytest.mark.parametrize("seed", range(6))
def test_copies_left_by_page_splits_are_gone_too(store: SQLiteRecordStore, path: Path, seed: int) -> None:
    chance = random.Random(seed)
    records = [
        make(f"secret-{seed}-{number} " * chance.randint(1, 60), tags=(f"tag-{number}",)) for number in range(150)
    ]
    store.put_many(records)
    for record in chance.sample(records, 60):
        store.put(record.evolve({"tags": (f"longer tag {record.body[:400]}",)}))
    with store.transaction():
        for record in records:
            store.redact(record.id, "leaked", now=NOON)
    assert b"secret-" not in everything(path)
    assert b"tag-" not in everything(path)


def test_a_reader_that_holds_the_log_makes_the_erasure_pending(path: Path) -> None:
    record = make(f"The key is {SECRET}.")
    with closing(SQLiteRecordStore(path, timeout=0.2)) as store:
        store.put(record)
        reader = sqlite3.connect(path)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM records").fetchall()
        assert store.redact(record.id, "leaked").redacted
        pending = [store.erasure_pending]
        assert not store.scrub()
        reader.close()
        assert store.scrub()
        pending.append(store.erasure_pending)
        assert pending == [True, False]
        assert SECRET.encode() not in everything(path)


def test_an_erasure_cut_short_is_finished_when_the_file_is_next_opened(path: Path, tmp_path: Path) -> None:
    code = (
        "import os; from contracts import make, SECRET; from agent_memory.stores import SQLiteRecordStore\n"
        "from agent_memory.stores.database import Database\n"
        "store, record = SQLiteRecordStore(sys.argv[1]), make(SECRET)\n"
        "store.put(record)\n"
        "Database.scrub = lambda self: os._exit(0)\n"
        "store.redact(record.id, 'leaked')\n"
    )
    in_processes(code, str(path), count=1)
    assert SECRET.encode() in everything(path)
    with closing(SQLiteRecordStore(path)) as store:
        assert SECRET.encode() not in everything(path)
        assert not store.erasure_pending
        assert [record.redacted for record in store.list()] == [True]


def test_a_redaction_that_is_rolled_back_leaves_the_record(store: SQLiteRecordStore) -> None:
    record = make()
    store.put(record)
    with taken_back(store):
        store.redact(record.id, "leaked")
    assert store.history(record.id) == (record,)
    assert not store.erasure_pending


def test_a_damaged_record_can_still_be_erased(store: SQLiteRecordStore, path: Path) -> None:
    record = make(f"The key is {SECRET}.")
    store.put_many([record, record])
    tamper(path, "UPDATE records SET payload = substr(payload, 1, 90)")
    tombstone = store.redact(record.id, "leaked")
    assert store.history(record.id) == (tombstone, tombstone)
    assert SECRET.encode() not in everything(path)


@pytest.mark.parametrize("timeout", [-1, "x", None, float("inf"), float("nan"), 1e12, True])
def test_a_senseless_timeout_is_refused(timeout: Any, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="timeout"):
        SQLiteRecordStore(tmp_path / "memory.db", timeout=timeout)
    assert list(tmp_path.iterdir()) == []

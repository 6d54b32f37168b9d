"""The stores and the peer's, on the same folder and the same file, down to the byte."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import fg_agent_memory as peer
import pytest

import agent_memory.stores as ours
from agent_memory.lifecycle import archive
from agent_memory.stores import FileRecordStore, SQLiteRecordStore
from contracts import NOON, make


def theirs(body: str, **fields: Any) -> Any:
    provenance = peer.Provenance(kind="conversation", ref="session-42")
    return peer.MemoryRecord.create(peer.RecordType.FACT, body, provenance, created_at=NOON, **fields)


def wire(store: Any) -> dict[str, list[dict[str, Any]]]:
    return {record.id: [version.model_dump() for version in store.history(record.id)] for record in store.list()}


PATHS = pytest.mark.parametrize(
    ("name", "kind"), [("memory/records", "FileRecordStore"), ("m.db", "SQLiteRecordStore")]
)


@PATHS
def test_each_goes_on_where_the_other_stopped(tmp_path: Path, name: str, kind: str) -> None:
    path = tmp_path / name
    first, second = getattr(ours, kind)(path), getattr(peer, kind)(path)
    own, other = make("ours “quoted” é", tags=("b", "a")), theirs("theirs", tags=("t",), confidence=0.5)
    first.put(own)
    second.put(other)
    first.put(archive(first.get(other.id), reason="ours says so", now=NOON))
    second.put(peer.archive(second.get(own.id), reason="theirs says so", now=NOON))
    assert wire(first) == wire(second)
    assert {key: len(value) for key, value in wire(first).items()} == {own.id: 2, other.id: 2}
    assert [record.id for record in second.list(tag="t")] == [record.id for record in first.list(tag="t")] == [other.id]
    first.redact(own.id, "leaked")
    second.redact(other.id, "leaked")
    assert wire(first) == wire(second)
    assert all(version["redacted"] for versions in wire(first).values() for version in versions)


def test_both_write_the_same_files(tmp_path: Path) -> None:
    same: dict[str, Any] = {"body": "The same “words” é.", "tags": ("b", "a")}
    FileRecordStore(tmp_path / "ours").put(make(**same))
    peer.FileRecordStore(tmp_path / "peer").put(theirs(**same))
    files = {
        side: {path.relative_to(tmp_path / side): path.read_bytes() for path in (tmp_path / side).rglob("*.json")}
        for side in ("ours", "peer")
    }
    assert files["ours"] == files["peer"]
    assert len(files["ours"]) == 1


def test_both_write_the_same_rows(tmp_path: Path) -> None:
    same: dict[str, Any] = {"body": "The same “words” é.", "tags": ("b", "a")}
    for side, package, record in (("ours", ours, make(**same)), ("peer", peer, theirs(**same))):
        store = package.SQLiteRecordStore(tmp_path / side)
        store.put(record)
        store.put(record)
        store.close()
    rows = {}
    for side in ("ours", "peer"):
        with closing(sqlite3.connect(tmp_path / side)) as connection:
            rows[side] = [
                (table, *row, *map(type, row))
                for table in ("records", "record_tags", "history")
                for row in sorted(connection.execute(f"SELECT * FROM {table}").fetchall())
            ]
            rows[side].append(connection.execute("PRAGMA user_version").fetchone())
    assert rows["ours"] == rows["peer"]


def test_the_peer_reads_while_our_writer_holds_the_lock(tmp_path: Path) -> None:
    store = FileRecordStore(tmp_path / "records")
    store.put(make())
    with store.transaction():
        assert len(peer.FileRecordStore(tmp_path / "records").list()) == 1
        peer.Memory(tmp_path, auto_consolidate=False).remember("Written meanwhile.")
    assert len(store.list()) == 2


def test_a_database_of_either_survives_the_other_opening_it(tmp_path: Path) -> None:
    store = peer.SQLiteRecordStore(tmp_path / "m.db")
    store.put(theirs("first"))
    store.close()
    with closing(SQLiteRecordStore(tmp_path / "m.db")) as opened:
        opened.put(make("second", minute=1))
    again = peer.SQLiteRecordStore(tmp_path / "m.db")
    again.put(theirs("third"))
    assert [record.body for record in again.list()] == ["first", "second", "third"]
    again.close()

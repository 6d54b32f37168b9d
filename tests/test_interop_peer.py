"""Interoperability with ``fg-agent-memory`` 0.2: each side opens, verifies and continues what the other wrote."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import fg_agent_memory as peer
import pytest
from fg_agent_id import KeyPair

import agent_memory as ours

TEXTS = (
    "Sandro prefers small focused files.",
    "The staging database is Postgres.",
    "The staging database is MySQL.",
    "დამიანე ცხოვრობს თბილისში.",
    "Le café est fermé le lundi ☕.",
    'Quotes " and \\ and tabs\tinside.',
)


@pytest.fixture(scope="module")
def keys() -> KeyPair:
    return KeyPair.generate()


def fill(package: ModuleType, path: Path, keys: KeyPair) -> Any:
    """A memory with a dispute, a resolution, an archived record and a tombstone in it."""
    memory = package.Memory(path, identity=keys, auto_consolidate=False)
    ids = [memory.remember(text, tags=["t"], source="chat-1").record_id for text in TEXTS]
    memory.consolidate()
    memory.resolve(ids[1], ids[2], "the ticket says so")
    memory.redact(ids[0], "asked for it")
    memory.store.put(package.archive(memory.store.get(ids[5]), reason="old"))
    return memory


def wire(store: Any) -> dict[str, list[dict[str, Any]]]:
    return {record.id: [version.model_dump() for version in store.history(record.id)] for record in store.list()}


BOTH = pytest.mark.parametrize(("writer", "reader"), [(peer, ours), (ours, peer)], ids=["peer to ours", "ours to peer"])


@BOTH
def test_a_signed_file_loads_and_verifies_with_the_same_ids(
    tmp_path: Path, keys: KeyPair, writer: ModuleType, reader: ModuleType
) -> None:
    memory = fill(writer, tmp_path / "memory", keys)
    memory.export(tmp_path / "brain.json")
    loaded = reader.Memory.load(tmp_path / "brain.json")
    newest = {record.id: record.model_dump() for record in memory.store.list()}
    assert {record.id: record.model_dump() for record in loaded.store.list()} == newest
    verified = [record.verify() for record in loaded.store.list() if record.signed_by is not None]
    assert verified


@BOTH
def test_a_directory_opens_and_goes_on_in_the_other(
    tmp_path: Path, keys: KeyPair, writer: ModuleType, reader: ModuleType
) -> None:
    written = wire(fill(writer, tmp_path / "memory", keys).store)
    memory = reader.Memory(tmp_path / "memory", auto_consolidate=False)
    assert wire(memory.store) == written
    assert len(memory.recall("staging database")) == 1
    added = memory.remember("The lunch menu changes on Monday.").record_id
    back = writer.Memory(tmp_path / "memory")
    assert back.recall("lunch menu").ids == (added,)


@BOTH
def test_a_sqlite_file_opens_and_goes_on_in_the_other(
    tmp_path: Path, keys: KeyPair, writer: ModuleType, reader: ModuleType
) -> None:
    store = writer.SQLiteRecordStore(tmp_path / "memory.db")
    memory = writer.Memory(store=store, identity=keys, auto_consolidate=False)
    ids = [memory.remember(text, tags=["t"]).record_id for text in TEXTS]
    memory.consolidate()
    written = wire(store)
    store.close()
    other = reader.SQLiteRecordStore(tmp_path / "memory.db")
    assert wire(other) == written
    assert [record.id for record in other.list(tag="t")] == [record.id for record in other.list()]
    other.put(reader.archive(other.get(ids[0]), reason="old"))
    other.close()
    again = writer.SQLiteRecordStore(tmp_path / "memory.db")
    assert again.get(ids[0]).state.value == "archived"
    assert len(again.history(ids[0])) == 2
    again.close()


def test_our_extension_is_carried_through_the_peer_unharmed(tmp_path: Path, keys: KeyPair) -> None:
    memory = ours.Memory(tmp_path / "memory", identity=keys)
    record_id = memory.remember("Prefers tea.", user_id="alice", author="Alice", value=7, session_id="s").record_id
    memory.export(tmp_path / "brain.json")
    passed_on = peer.Memory.load(tmp_path / "brain.json", identity=keys)
    passed_on.export(tmp_path / "again.json")
    record = ours.Memory.load(tmp_path / "again.json").get(str(record_id))
    assert record == memory.get(str(record_id))
    assert (record.scope.user_id, record.author, record.value) == ("alice", "Alice", 7.0)


def test_extensions_do_not_change_an_id() -> None:
    record = ours.MemoryRecord.create(
        "fact", "Prefers tea.", ours.Provenance(kind="c"), extension=ours.Extension(key="a::b", value=4)
    )
    plain = peer.MemoryRecord.create(
        peer.RecordType.FACT, "Prefers tea.", peer.Provenance(kind="c"), created_at=record.created_at
    )
    assert record.id == plain.id

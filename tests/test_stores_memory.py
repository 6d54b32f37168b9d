"""The store in memory, and how a store is chosen."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings

from agent_memory import stores
from agent_memory.errors import StoreError
from agent_memory.stores import FileRecordStore, InMemoryRecordStore, SQLiteRecordStore, open_store
from contracts import StoreContract, check_against_model, make, random_writes, taken_back

if TYPE_CHECKING:
    from pathlib import Path


class TestInMemory(StoreContract):
    @pytest.fixture
    def store(self) -> InMemoryRecordStore:
        return InMemoryRecordStore()


@given(random_writes)
@settings(max_examples=40)
def test_random_writes_end_as_in_the_model(steps: list[tuple[str, int]]) -> None:
    check_against_model(InMemoryRecordStore(), steps)


def test_a_redaction_in_memory_is_undone_with_its_transaction() -> None:
    store = InMemoryRecordStore()
    record = make()
    store.put(record)
    with taken_back(store):
        store.redact(record.id, "leaked")
    assert store.history(record.id) == (record,)


def test_the_path_decides_which_store_it_is(tmp_path: Path) -> None:
    assert isinstance(open_store(None), InMemoryRecordStore)
    for name, kind in {"m": FileRecordStore, "m.db": SQLiteRecordStore, "x.SQLite": SQLiteRecordStore}.items():
        opened = open_store(tmp_path / name)
        opened.put(make())
        opened.close()
        assert type(opened) is kind
    assert (tmp_path / "m" / "records").is_dir()
    assert (tmp_path / "m.db").is_file()


def test_what_exists_decides_before_the_suffix(tmp_path: Path) -> None:
    (tmp_path / "folder.db").mkdir()
    assert type(open_store(tmp_path / "folder.db")) is FileRecordStore
    SQLiteRecordStore(tmp_path / "plain").close()
    opened = open_store(str(tmp_path / "plain"))
    assert type(opened) is SQLiteRecordStore
    opened.close()


@pytest.mark.parametrize(("name", "content"), [("notes.txt", b"hello"), ("notes.db", b"hello there"), ("empty", b"")])
def test_a_file_that_is_no_database_is_no_memory(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(StoreError, match="is a file, not a memory"):
        open_store(path)
    assert path.read_bytes() == content


def test_importing_the_stores_does_not_import_sqlite3() -> None:
    code = (
        "import sys, agent_memory.stores, agent_memory.search.vectors, agent_memory.stores.files\n"
        "sys.exit('sqlite3' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_public_name_is_there() -> None:
    assert {name for name in stores.__all__ if hasattr(stores, name)} == set(stores.__all__)
    assert set(stores.__all__) <= set(dir(stores))
    with pytest.raises(AttributeError):
        stores.NoSuchStore  # noqa: B018

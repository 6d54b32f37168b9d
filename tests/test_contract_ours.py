"""Our stores and indexes keep the public contract of :mod:`agent_memory.testing`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from agent_memory import Memory
from agent_memory.ports import RecordStore, SearchIndex
from agent_memory.search.vectors import InMemorySearchIndex
from agent_memory.stores import FileRecordStore, InMemoryRecordStore, SQLiteRecordStore, SQLiteSearchIndex
from agent_memory.testing import RecordStoreContract, SearchIndexContract


class TestInMemory(RecordStoreContract):
    def make_store(self, tmp_path: Path) -> RecordStore:
        return InMemoryRecordStore()


class TestFiles(RecordStoreContract):
    def make_store(self, tmp_path: Path) -> RecordStore:
        self.root = tmp_path / "records"
        return FileRecordStore(self.root)

    def reopen(self, store: RecordStore) -> RecordStore:
        return FileRecordStore(self.root)


class TestSQLite(RecordStoreContract):
    def make_store(self, tmp_path: Path) -> RecordStore:
        self.file = tmp_path / "memory.db"
        return SQLiteRecordStore(self.file)

    def reopen(self, store: RecordStore) -> RecordStore:
        return SQLiteRecordStore(self.file)


class TestSQLiteInMemory(RecordStoreContract):
    def make_store(self, tmp_path: Path) -> RecordStore:
        return SQLiteRecordStore(":memory:")


class TestVectors(SearchIndexContract):
    def make_index(self, tmp_path: Path) -> SearchIndex:
        return InMemorySearchIndex()


class TestFullText(SearchIndexContract):
    def make_index(self, tmp_path: Path) -> SearchIndex:
        return SQLiteSearchIndex(tmp_path / "search.db")


def test_the_contract_imports_no_test_framework() -> None:
    code = "import agent_memory.testing, sys; print([n for n in ('pytest', 'unittest') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_store_of_ten_lines_in_the_documentation_keeps_the_contract(tmp_path: Path) -> None:
    page = (Path(__file__).parent.parent / "docs" / "stores.md").read_text("utf-8")
    code = "\n".join(re.findall(r"^```python\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL))
    (tmp_path / "test_stores_md.py").write_text(code, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout
    names: dict[str, Any] = {}
    exec(code, names)
    with Memory(store=names["DictStore"]()) as memory:
        memory.remember("The sky over Austin is clear.")
        assert len(memory.recall("sky").records) == 1

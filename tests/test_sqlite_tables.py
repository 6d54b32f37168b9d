"""An SQLite file as a whole: backups, versions of the schema, finding records by what payloads say, and query plans."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent_memory.errors import ArgumentError, StoreError
from agent_memory.extension import Extension, Scope
from agent_memory.lifecycle import archive
from agent_memory.ports import RecordStore
from agent_memory.records import MemoryRecord, Provenance
from agent_memory.stores import SQLiteRecordStore, schema
from contracts import SECRET, make, taken_back

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


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


def python(code: str, *arguments: str, **how: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n{code}"]
    return subprocess.Popen([*command, *arguments], text=True, **how)


# --------------------------------------------------------------------------------------------------- copies and backups


def test_a_cursor_of_another_file_is_foreign(store: SQLiteRecordStore, tmp_path: Path) -> None:
    store.put(make())
    with closing(SQLiteRecordStore(tmp_path / "other.db")) as other:
        other.put(make())
        assert other.changes(store.changes()[0])[1] is None


def test_a_copy_put_back_is_noticed_also_when_it_has_grown_since(path: Path, tmp_path: Path) -> None:
    with closing(SQLiteRecordStore(path)) as store:
        store.put(make("kept"))
        early = store.changes()[0]
    shutil.copy(path, tmp_path / "copy.db")
    with closing(SQLiteRecordStore(path)) as store:
        store.put(make("lost"))
        late = store.changes()[0]
    shutil.copy(tmp_path / "copy.db", path)
    with closing(SQLiteRecordStore(path)) as store:
        assert store.changes(late)[1] is None
        store.put(make("in its place"))
        assert store.changes(late)[1] is None
        assert store.changes(early)[1] == (make("in its place").id,)


def test_a_backup_holds_everything_and_has_cursors_of_its_own(store: SQLiteRecordStore, path: Path) -> None:
    record, gone = make("one", tags=("t",)), make(SECRET, minute=1)
    store.put_many([record, archive(record, reason="decay"), gone])
    store.redact(gone.id, "leaked")
    copy = path.parent / "copy.db"
    store.backup(copy)
    assert sorted(entry.name for entry in path.parent.iterdir() if entry.name.startswith((".", "copy"))) == ["copy.db"]
    with closing(SQLiteRecordStore(copy)) as other:
        assert other.list() == store.list()
        assert other.history(record.id) == store.history(record.id)
        assert other.find(source="session-42") == store.find(source="session-42")
        assert other.changes(store.changes()[0])[1] is None
        assert other.damaged() == ()
        other.put(make("goes on"))
    assert SECRET.encode() not in copy.read_bytes()
    with pytest.raises(StoreError, match="exists"):
        store.backup(copy)
    with pytest.raises(StoreError, match="create it first"):
        store.backup(path.parent / "no" / "copy.db")


def test_a_backup_of_a_store_in_memory(tmp_path: Path) -> None:
    with closing(SQLiteRecordStore()) as store:
        store.put(make())
        store.backup(str(tmp_path / "copy.db"))
        with store.transaction(), pytest.raises(StoreError):
            store.backup(tmp_path / "other.db")
    with closing(SQLiteRecordStore(tmp_path / "copy.db")) as copy:
        assert copy.list() == (make(),)
    assert [entry.name for entry in tmp_path.iterdir()] == ["copy.db"]


def test_a_backup_is_of_one_moment_while_others_write(store: SQLiteRecordStore, path: Path) -> None:
    code = (
        "from contracts import make; from agent_memory.stores import SQLiteRecordStore\n"
        "store = SQLiteRecordStore(sys.argv[1])\n"
        "for number in range(200):\n"
        "    store.put_many([make(f'{number} a'), make(f'{number} b')])\n"
    )
    writer = python(code, str(path))
    sizes = []
    while writer.poll() is None:
        copy = path.parent / f"copy-{len(sizes)}.db"
        store.backup(copy)
        with closing(SQLiteRecordStore(copy)) as opened:
            sizes.append(len(opened.list()))
            assert opened.damaged() == ()
    assert writer.wait() == 0
    assert sizes == sorted(sizes)
    assert all(size % 2 == 0 for size in sizes)


# --------------------------------------------------------------------------------------------------------------- schema


def test_a_newer_schema_is_refused_and_left_alone(path: Path) -> None:
    SQLiteRecordStore(path).close()
    shell(path, "UPDATE agent_memory_meta SET value = 99 WHERE name = 'schema'")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="version 99"):
        SQLiteRecordStore(path)
    assert path.read_bytes() == before


def test_a_migration_happens_once_and_whole(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(SQLiteRecordStore(path)) as store:
        store.put(make())

    def half(database: Any) -> None:
        database.execute("CREATE TABLE agent_memory_more (a)")
        database.execute("INSERT INTO agent_memory_more VALUES (1)")
        if failing:
            database.execute("INSERT INTO nowhere VALUES (1)")

    failing = True
    monkeypatch.setattr(schema, "_MIGRATIONS", (*schema._MIGRATIONS, half))
    with pytest.raises(StoreError, match="nowhere"):
        SQLiteRecordStore(path)
    assert rows(path, "SELECT name FROM sqlite_master WHERE name = 'agent_memory_more'") == []
    failing = False
    for _ in range(2):
        with closing(SQLiteRecordStore(path)) as store:
            assert store.list() == (make(),)
    assert rows(path, "SELECT * FROM agent_memory_more") == [(1,)]
    assert rows(path, "SELECT value FROM agent_memory_meta WHERE name = 'schema'") == [(2,)]


def test_a_trigger_that_was_removed_is_put_back_and_older_cursors_are_worth_nothing(path: Path) -> None:
    with closing(SQLiteRecordStore(path)) as store:
        store.put(make("kept"))
        cursor = store.changes()[0]
    shell(path, "DROP TRIGGER agent_memory_records_insert")
    shell(path, "INSERT INTO records VALUES (?, 9, 'active', 'fact', ?)", *a_payload("unseen"))
    with closing(SQLiteRecordStore(path)) as store:
        assert store.changes(cursor)[1] is None
        assert len(store.find(source="session-42")) == 2
        cursor = store.changes()[0]
        store.put(make("seen"))
        assert store.changes(cursor)[1] == (make("seen").id,)


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM agent_memory_meta",
        "DELETE FROM agent_memory_meta WHERE name = 'generation'",
        "UPDATE agent_memory_meta SET value = NULL WHERE name = 'generation'",
        "UPDATE agent_memory_meta SET value = x'ff' WHERE name = 'generation'",
        "UPDATE agent_memory_meta SET value = 'another' WHERE name = 'generation'",
        "UPDATE agent_memory_meta SET value = 'first' WHERE name = 'schema'",
        "INSERT OR REPLACE INTO agent_memory_meta VALUES ('pruned', 'all')",
        "UPDATE records SET seq = 'first'",
        "DROP TABLE agent_memory_meta",
        "DROP TABLE agent_memory_changes",
        "DROP TABLE agent_memory_keys",
    ],
)
def test_tables_of_our_own_that_somebody_spoiled_are_made_again(path: Path, sql: str) -> None:
    source, other = make("a"), make("b", minute=1)
    with closing(SQLiteRecordStore(path)) as store:
        store.put(source)
        cursor, _ = store.changes()
    shell(path, sql)
    with closing(SQLiteRecordStore(path)) as store:
        assert store.list() == (source,)
        after, told = store.changes(cursor)
        assert told is None or set(told) <= {source.id}
        store.put(other)
        assert store.changes(after)[1] == (other.id,)
        assert set(store.find(source=source.provenance.ref)) == {source, other}


def test_a_file_that_needs_nothing_is_opened_while_another_process_writes(store: Any, path: Path) -> None:
    store.put(make())
    with store.transaction(), closing(SQLiteRecordStore(path, timeout=0.1)) as reader:
        assert reader.list() == (make(),)
        assert reader.find() == (make(),)


# -------------------------------------------------------------------------------------------------------------- finding


def found(store: SQLiteRecordStore, **values: str | None) -> set[str]:
    return {record.body for record in store.find(**values)}


def test_records_are_found_by_key_source_and_scope(store: SQLiteRecordStore) -> None:
    def put(body: str, ref: str | None = None, key: str | None = None, **scope: str) -> None:
        extension = Extension(key=key, scope=Scope(**scope)) if key or scope else Extension()
        store.put(MemoryRecord.create("fact", body, Provenance(kind="c", ref=ref), extension=extension))

    put("plain")
    put("sourced", "crm/alice")
    put("keyed", "crm/alice", "sky::colour", user_id="u1")
    put("other user", "crm/bob", "sky::colour", user_id="u2", project="p", agent_id="a", session_id="s")
    put("odd", "a\x00b", "caf\u00e9\u2028")
    for _ in range(2):
        assert found(store, key="sky::colour") == {"keyed", "other user"}
        assert found(store, key="sky::colour", user_id="u1") == {"keyed"}
        assert found(store, source="crm/alice") == {"sourced", "keyed"}
        assert found(store, source="crm/alice", key=None) == {"sourced", "keyed"}
        for name, value in {"project": "p", "agent_id": "a", "session_id": "s", "user_id": "u2"}.items():
            assert found(store, **{name: value}) == {"other user"}
        assert found(store, source="a\x00b") == found(store, key="cafe\u0301\u2028") == {"odd"}
        assert found(store, source="\ud800") == found(store, key="crm/alice") == set()
        assert len(store.find()) == 5
    with pytest.raises(ArgumentError, match="body"):
        store.find(body="plain")


def test_what_is_found_follows_every_version(store: SQLiteRecordStore, path: Path) -> None:
    record = make("keyed", extension=Extension(key="old::key", scope=Scope(user_id=SECRET)))
    store.put(record)
    assert found(store, key="old::key", user_id=SECRET) == {"keyed"}
    store.put(record.evolve({"extension": Extension(key="new::key", scope=Scope(user_id=SECRET))}))
    assert found(store, key="old::key") == set()
    assert store.find(key="new::key") == (store.get(record.id),)
    with taken_back(store):
        store.put(record)
        assert found(store, key="old::key") == {"keyed"}
    assert found(store, key="old::key") == set()
    assert found(store, key="new::key") == {"keyed"}
    store.redact(record.id, "leaked")
    assert found(store, key="new::key") == found(store, user_id=SECRET) == set()
    assert SECRET.encode() not in b"".join(part.read_bytes() for part in path.parent.iterdir())


# ----------------------------------------------------------------------------------------------------------------- cost


def statements(store: RecordStore, act: Callable[[], object]) -> list[str]:
    """The SQL that ``act`` ran, that of triggers too."""
    seen: list[str] = []
    connection = store._database._connection  # type: ignore[attr-defined]
    connection.set_trace_callback(seen.append)
    act()
    connection.set_trace_callback(None)
    return [sql.removeprefix("-- ") for sql in seen]


def test_no_statement_of_a_put_reads_a_whole_table(store: SQLiteRecordStore, path: Path) -> None:
    record, late = make("one", tags=("a", "b")), make("two", tags=("c",))
    store.put_many([record, late])
    cursor = store.changes()[0]
    ran = [
        *statements(store, lambda: store.put(archive(record, reason="decay"))),
        *statements(store, lambda: store.put(make("new", tags=("n",)))),
        *statements(store, lambda: store.put_many([archive(late, reason="decay"), make("newer", tags=("n",))])),
        *statements(store, lambda: store.changes(cursor)),
        *statements(store, lambda: store.find(key="k", source="s")),
        *statements(store, lambda: store.redact(late.id, "leaked")),
    ]
    ran = [sql.replace("NEW.record_id", "'x'").replace("OLD.record_id", "'x'") for sql in ran]
    wanted = [sql for sql in ran if sql.startswith(("SELECT", "INSERT", "UPDATE", "DELETE"))]
    wanted = [sql for sql in wanted if "agent_memory_scrub" not in sql]  # as many rows as erasures are pending
    assert len(wanted) > 25
    with closing(sqlite3.connect(path)) as connection:
        for sql in wanted:
            plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", [None] * sql.count("?"))]
            for step in plan:  # SQLite says SEARCH of a greatest value also where it has to read all of them
                by_number = step == "SEARCH agent_memory_changes" and "MAX(change)" in sql
                assert by_number or "USING" in step or not step.startswith("SEARCH"), (sql, plan)
                assert not step.startswith("SCAN") or "CONSTANT" in step, (sql, plan)
            assert not [step for step in plan if "TEMP B-TREE" in step and "ORDER BY" not in sql], (sql, plan)


def test_durability_is_one_of_two(tmp_path: Path) -> None:
    for durability, number in (("full", 2), ("normal", 1)):
        with closing(SQLiteRecordStore(tmp_path / durability, durability=durability)) as store:  # type: ignore[arg-type]
            assert store._database.read("PRAGMA synchronous") == [(number,)]
            assert store._database.read("PRAGMA secure_delete") == [(1,)]
            store.put(make())
    with pytest.raises(ArgumentError, match="'full' or 'normal'"):
        SQLiteRecordStore(tmp_path / "x", durability="off")  # type: ignore[arg-type]
    assert not (tmp_path / "x").exists()

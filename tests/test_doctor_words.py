"""The doctor on indexes of words: a catalogue that lost or kept what it should not, and another program's index."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agent_memory import Memory, MemoryRecord, StoreError
from agent_memory.doctor import examine, repair
from agent_memory.places import sidecar_folder
from agent_memory.stores import durable, open_store
from contracts import NOON, SECRET, make
from doctor_memories import look, the_one, versions_of


@pytest.fixture(params=["memory", "memory.db"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / str(request.param)


def used(place: Path) -> tuple[str, str, str]:
    """A memory with two live records and a tombstone; their ids."""
    with Memory(place, auto_consolidate=False) as memory:
        first, second, third = (
            memory.remember(f"{topic} is described in chapter {number}.").record_id
            for number, topic in enumerate(("The harbour", "The orchard", f"The password {SECRET}"))
        )
        assert first is not None
        assert second is not None
        assert third is not None
        memory.redact(third, "leaked")
    assert look(place) == []
    return first, second, third


def in_catalogue(place: Path, *statements: str) -> Path:
    path = sidecar_folder(place) / "catalogue.db"
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


def is_found_and_repaired(place: Path, path: Path, what: str) -> None:
    found = the_one(place)
    assert (found.kind, found.where, found.repairable) == ("sidecar", str(path), True)
    assert what in found.what
    assert repair(place, [found]) == (found,)
    assert not path.exists()
    with Memory(place) as memory:
        assert len(memory.recall("harbour", touch=False).records) == 1
    assert look(place) == []


@pytest.mark.parametrize("tables", [("record_fts", "agent_memory_rows", "catalogue_lines"), ("record_fts",)])
def test_a_catalogue_that_was_emptied(place: Path, tables: tuple[str, ...]) -> None:
    used(place)
    path = in_catalogue(place, *(f"DELETE FROM {table}" for table in tables))
    is_found_and_repaired(place, path, "lacks 2 records")


def test_a_catalogue_without_the_line_of_a_record(place: Path) -> None:
    first, _, _ = used(place)
    path = in_catalogue(place, f"DELETE FROM catalogue_lines WHERE record_id = '{first}'")
    is_found_and_repaired(place, path, "lacks 1 records")


@pytest.mark.parametrize("table", ["agent_memory_rows", "record_fts"])
def test_a_catalogue_that_still_holds_a_redacted_record(place: Path, table: str) -> None:
    _, _, gone = used(place)
    values = {
        "agent_memory_rows": f"(record_id, row) VALUES ('{gone}', 99)",
        "record_fts": f"(rowid, record_id, body, tags) VALUES (99, '{gone}', '{SECRET}', '')",
    }[table]
    path = in_catalogue(place, f"INSERT INTO {table} {values}")
    is_found_and_repaired(place, path, "words of 1 redacted records")


def test_a_catalogue_with_a_record_of_another_memory(place: Path) -> None:
    used(place)
    path = in_catalogue(
        place,
        f"INSERT INTO catalogue_lines (record_id, said, fate, also, born) VALUES ('mem:{'e' * 32}', x'00', 0, '', 0)",
    )
    is_found_and_repaired(place, path, "holds 1 that are not in this memory")


def test_a_catalogue_that_is_only_behind_is_no_finding(place: Path) -> None:
    first, _, _ = used(place)
    with closing(open_store(place)) as store:
        store.put(make("Written past the catalogue."))
        store.redact(first, "asked for")  # type: ignore[attr-defined]
    assert look(place) == []


def test_a_record_the_change_log_does_not_tell_of_is_no_finding(tmp_path: Path) -> None:
    place = tmp_path / "memory"
    used(place)
    record = make("From a program that knows nothing of the log.")
    versions_of(place, record).mkdir()
    (versions_of(place, record) / "000001.json").write_bytes(record.canonical_bytes())
    assert look(place) == []


def test_what_a_store_does_not_serve_may_be_lacking(tmp_path: Path) -> None:
    place = tmp_path / "memory"
    first, _, _ = used(place)
    in_catalogue(place, "DELETE FROM catalogue_lines")
    (place / "records" / first[4:] / "000001.json").write_bytes(b"torn")
    assert {finding.kind for finding in look(place)} == {"torn"}


# ------------------------------------------------------------------ another program's index


def foreign_index(place: Path, *record_ids: str) -> Path:
    path = place / "index.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE VIRTUAL TABLE record_fts USING fts5(record_id UNINDEXED, body, tags)")
        connection.executemany("INSERT INTO record_fts VALUES (?, 'words', '')", [(i,) for i in record_ids])
        connection.commit()
    return path


def test_words_of_a_redacted_record_in_another_programs_index(tmp_path: Path) -> None:
    place = tmp_path / "memory"
    first, _, gone = used(place)
    path = foreign_index(place, first, gone)
    path.with_name("index.sqlite-journal").write_bytes(b"")
    is_found_and_repaired(place, path, "words of 1 redacted records")
    assert not path.with_name("index.sqlite-journal").exists()


def test_another_programs_index_is_else_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "memory"
    first, second, _ = used(place)
    path = foreign_index(place, first, second)
    assert look(place) == []
    path.write_bytes(b"no index")
    assert look(place) == []


# ------------------------------------------------------------------ locks that are not there, or not to be had


def test_looking_makes_no_lock(tmp_path: Path) -> None:
    place = tmp_path / "memory"
    used(place)
    staging = place / "records" / ".staging"
    (staging / ".tmp-0123").write_bytes(b"")
    (staging / "lock.next").unlink()
    found = the_one(place)
    assert found.kind == "leftover"
    assert not (staging / "lock.next").exists()
    assert repair(place, [found]) == (found,)
    assert not (staging / "lock.next").exists()


def test_who_may_not_lock_is_told_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "memory"
    record = make(SECRET)
    with closing(open_store(place)) as store:
        store.put_many([record, MemoryRecord.tombstone(record, reason="leaked", now=NOON)])
    staging = place / "records" / ".staging"
    (staging / ".tmp-0123").write_bytes(b"")
    (staging / "journal").write_bytes(b"torn")
    real_open, real_disk = os.open, durable.disk.open

    def closed(real: object, at: int) -> object:
        def opened(*arguments: object) -> int:
            if Path(str(arguments[at])).name.startswith("lock"):
                raise PermissionError(13, "Permission denied")
            return real(*arguments)  # type: ignore[operator,no-any-return]

        return opened

    monkeypatch.setattr("os.open", closed(real_open, 0))
    monkeypatch.setattr(durable.disk, "open", closed(real_disk, 0))
    found = examine(place)
    assert {(finding.kind, Path(finding.where).name) for finding in found} == {
        ("leftover", ".tmp-0123"),
        ("interrupted", "journal"),
        ("interrupted", "000001.json"),
    }
    with pytest.raises(StoreError, match="no permission"):
        repair(place, found)
    assert (staging / ".tmp-0123").exists()


def test_who_may_only_read_can_keep_writers_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "memory"
    used(place)
    (place / "records" / ".staging" / "journal").write_bytes(b"torn")
    real = os.open

    def reading_only(path: str, flags: int, *more: int) -> int:
        if flags & (os.O_RDWR | os.O_WRONLY | os.O_CREAT):
            raise PermissionError(13, "Permission denied")
        return int(real(path, flags, *more))

    monkeypatch.setattr("os.open", reading_only)
    monkeypatch.setattr("agent_memory.doctor._MOMENT", 1e9)  # it is not needed
    assert the_one(place).kind == "interrupted"

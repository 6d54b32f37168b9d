"""The full-text index: what is found, in which order, and what is left after removal."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.errors import ArgumentTypeError, StoreError
from agent_memory.lifecycle import archive
from agent_memory.records import MemoryRecord
from agent_memory.search import SQLiteSearchIndex
from contracts import NOON, SECRET, hammer, make

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def index(tmp_path: Path) -> Iterator[SQLiteSearchIndex]:
    with closing(SQLiteSearchIndex(tmp_path / "index.db")) as opened:
        yield opened


def ids(index: SQLiteSearchIndex, query: str, k: int = 10) -> list[str]:
    return [record_id for record_id, _ in index.candidates(query, k)]


def test_the_better_match_comes_first(index: SQLiteSearchIndex) -> None:
    weather, deploy = make("Austin weather is hot in July."), make("The deploy pipeline broke in Austin.")
    index.index_many([deploy, weather])
    found = index.candidates("hot weather in Austin", 2)
    assert [record_id for record_id, _ in found] == [weather.id, deploy.id]
    assert found[0][1] > found[1][1] > 0
    assert ids(index, "hot weather in Austin", 1) == [weather.id]
    assert index.candidates("Austin", 0) == index.candidates("Austin", -1) == ()


def test_only_matches_are_returned_and_tags_count(index: SQLiteSearchIndex) -> None:
    tagged, plain = make("Nothing notable.", tags=("deployment", "on-call")), make("Also nothing notable here.")
    index.index_many([tagged, plain])
    assert ids(index, "deployment") == ids(index, "deployments") == ids(index, "call") == [tagged.id]
    assert ids(index, "unrelated") == []


def test_a_word_in_every_record_still_scores_above_zero(index: SQLiteSearchIndex) -> None:
    index.index_many(make(f"common {number}") for number in range(5))
    assert all(score > 0 for _, score in index.candidates("common", 10))
    assert len(index.candidates("common", 10)) == 5


def test_equal_scores_are_ordered_by_id(index: SQLiteSearchIndex) -> None:
    records = [make("equal words", minute=number) for number in range(6)]
    index.index_many(records)
    assert ids(index, "equal") == sorted(record.id for record in records)


def test_indexing_again_replaces(index: SQLiteSearchIndex) -> None:
    record = make("The cat sat.", tags=("old",))
    index.index(record)
    index.index(record)
    index.index(record.evolve({"tags": ("new",)}))
    index.index(archive(record, reason="decay").evolve({"tags": ("new",)}))
    assert ids(index, "cat") == ids(index, "new") == [record.id]
    assert ids(index, "old") == []


def test_stop_words_count_only_when_there_is_nothing_else(index: SQLiteSearchIndex) -> None:
    band, cat = make("The Who played."), make("The cat sat on the mat.", minute=1)
    index.index_many([band, cat])
    assert ids(index, "where is the cat") == [cat.id]
    assert ids(index, "the who")[0] == band.id


@pytest.mark.parametrize(
    ("body", "queries"),
    [
        ("東京の天気は晴れです。", ["東京", "天気", "晴れ", "東", "京", "東京の天気は？"]),
        ("我们在上海部署了数据库。", ["上海", "数据库", "部署", "库"]),
        ("ฉันชอบดื่มกาแฟตอนเช้า", ["กาแฟ", "ตอนเช้า"]),
        ("서울에서 회의가 열렸다.", ["서울", "회의"]),
        ("Сервер базы данных находится в Москве.", ["москве", "БАЗЫ", "данных"]),
        ("قاعدة البيانات في القاهرة.", ["القاهرة", "البيانات", "القَاهِرَة"]),
        ("हिन्दी में लिखा हुआ वाक्य", ["हिन्दी", "वाक्य"]),
        ("בסיס הנתונים בתל אביב", ["הנתונים", "אביב"]),
        ("Die Größe der Straße in Zürich", ["größe", "GRÖSSE", "strasse", "zurich"]),
        ("Le café coûte 3 €, cafe\u0301 compris", ["cafe", "CAFÉ", "coute"]),
        ("ﾃｽﾄ ｄａｔａｂａｓｅ", ["テスト", "database"]),
        ("version 1.5 of node.js and snake_case", ["node", "snake", "1.5"]),
    ],
)
def test_every_script_is_found(index: SQLiteSearchIndex, body: str, queries: list[str]) -> None:
    record, other = make(body), make("Quarterly revenue numbers, 大阪, Токио, 부산.", minute=1)
    index.index_many([record, other])
    for query in queries:
        assert ids(index, query)[:1] == [record.id], query


def test_query_syntax_is_only_text(index: SQLiteSearchIndex) -> None:
    record = make("A perfectly normal fact.")
    index.index(record)
    assert ids(index, 'normal" OR record_id:*') == [record.id]
    for query in ("(((", "", "*", '"', "NEAR(", "body : normal AND", "-normal", "^normal", "AND", "\x00", "\ud800"):
        index.candidates(query, 3)
    assert ids(index, "record_id : mem") == []
    with pytest.raises(ArgumentTypeError, match="text"):
        index.candidates(7, 3)  # type: ignore[arg-type]


_shared = SQLiteSearchIndex()


@given(st.text())
def test_any_text_can_be_asked_and_finds_itself(text: str) -> None:
    found = _shared.candidates(text, 5)
    assert all(score > 0 for _, score in found)
    if text.strip() and any(letter.isalnum() and letter.isascii() for letter in text):
        record = MemoryRecord.create(
            "fact", text.encode("utf-8", "replace").decode(), make().provenance, created_at=NOON
        )
        _shared.index(record)
        try:
            assert record.id in {record_id for record_id, _ in _shared.candidates(text, 5)}
        finally:
            _shared.remove(record.id)


def test_a_very_long_query_is_answered(index: SQLiteSearchIndex) -> None:
    record = make("needle")
    index.index(record)
    assert ids(index, "needle " + " ".join(f"word{number}" for number in range(20_000))) == [record.id]


def test_a_tombstone_removes_what_was_held(index: SQLiteSearchIndex, tmp_path: Path) -> None:
    record, kept = make(f"The key is {SECRET}.", tags=("xyzzytag",)), make("The key is elsewhere.", minute=1)
    index.index_many([record, kept])
    index.index(MemoryRecord.tombstone(record, reason="leaked"))
    assert ids(index, "key xyzzy redacted") == [kept.id]
    assert not index.erasure_pending
    held = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for trace in (b"xyzzy", b"4242", record.id.encode()):
        assert trace not in held


def test_a_removed_record_leaves_the_bytes(index: SQLiteSearchIndex, tmp_path: Path) -> None:
    records = [make(f"filler{number} zebra{number}") for number in range(400)]
    for record in records:
        index.index(record)
    index.remove(records[7].id)
    index.remove(records[7].id)
    assert ids(index, "zebra7") == []
    assert ids(index, "zebra8") == [records[8].id]
    held = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"zebra7 " not in held
    assert records[7].id.encode() not in held


def test_a_failed_batch_leaves_nothing(index: SQLiteSearchIndex) -> None:
    def broken() -> Iterator[MemoryRecord]:
        yield make("first words")
        raise KeyError

    with pytest.raises(KeyError):
        index.index_many(broken())
    assert ids(index, "first") == []


def test_many_threads_may_use_it(index: SQLiteSearchIndex) -> None:
    record = make("A contested memory.")

    def use() -> None:
        index.index(record)
        index.candidates("contested memory", 4)

    assert hammer(use) == []
    assert ids(index, "contested") == [record.id]


def test_two_connections_share_a_file(index: SQLiteSearchIndex, tmp_path: Path) -> None:
    with closing(SQLiteSearchIndex(tmp_path / "index.db")) as other:
        a, b = make("written here"), make("written there", minute=1)
        index.index(a)
        other.index(b)
        assert set(ids(index, "written")) == set(ids(other, "written")) == {a.id, b.id}


def test_the_index_of_the_peer_is_taken_over(tmp_path: Path) -> None:
    import fg_agent_memory as peer

    record = make("東京のサーバー runs nightly", tags=("ops",))
    first = peer.SQLiteSearchIndex(tmp_path / "index.sqlite")
    first.index(peer.MemoryRecord.model_validate(record.model_dump()))
    first.close()
    with closing(SQLiteSearchIndex(tmp_path / "index.sqlite")) as index:
        assert ids(index, "東京") == ids(index, "ops") == ids(index, "running") == [record.id]
        index.index(record)
        assert ids(index, "nightly") == [record.id]


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("plain text, a good deal of it")
    with pytest.raises(StoreError, match="not an SQLite database"):
        SQLiteSearchIndex(tmp_path / "notes")


def test_the_index_keeps_words_and_not_the_text(index: SQLiteSearchIndex, tmp_path: Path) -> None:
    index.index(make("Größe!"))
    with closing(sqlite3.connect(tmp_path / "index.db")) as connection:
        assert connection.execute("SELECT body, tags FROM record_fts").fetchall() == [("grosse", "")]

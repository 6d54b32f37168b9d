"""Vectors in step with a store: nothing is embedded twice, none of another embedder is used, nothing erased stays."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory import (
    Extension,
    FileRecordStore,
    InMemoryRecordStore,
    MemoryRecord,
    Provenance,
    RecordStore,
    RecordType,
    Scope,
    SQLiteRecordStore,
    kernel,
)
from agent_memory.search.dense import VECTORS, DenseIndex, remove_vectors
from agent_memory.search.embedded import Note, Said
from agent_memory.search.embedding import EmbeddingFailed
from embedders import HOSTILE, Counting

T0 = datetime(2026, 1, 1, tzinfo=UTC)


def record(body: str, *, number: int = 0, session: str | None = None, tags: tuple[str, ...] = ()) -> MemoryRecord:
    return MemoryRecord.create(
        RecordType.EPISODE,
        body,
        Provenance(kind="chat"),
        tags=tags,
        created_at=T0 + timedelta(seconds=number),
        extension=Extension(scope=Scope(session_id=session)),
    )


@pytest.fixture
def store() -> InMemoryRecordStore:
    return InMemoryRecordStore()


@pytest.fixture
def embedder() -> Counting:
    return Counting()


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("agent_memory.search.dense._LONGEST_PAUSE", 0.0)
    return


def ids(index: DenseIndex, query: str, k: int = 9) -> list[str]:
    return [record_id for record_id, _ in index.candidates(query, k)]


# ------------------------------------------------------------------ in step


def test_what_is_alike_is_found(store: InMemoryRecordStore, embedder: Counting) -> None:
    near, far = record("abba baba"), record("kilk jjj", tags=("hedge",))
    store.put_many([near, far])
    index = DenseIndex(store, embedder)
    index.follow()
    assert ids(index, "ab") == [near.id]
    assert ids(index, "h") == [far.id]  # by its tag
    assert index.candidates("ab", 0) == ()
    assert index.candidates("zzz", 5) == ()  # says nothing to the embedder
    assert len(index) == 2
    assert index.error is None


def test_only_what_changed_is_embedded(store: InMemoryRecordStore, embedder: Counting) -> None:
    first, second = record("aaa", number=1), record("bbb", number=2)
    store.put_many([first, second])
    index = DenseIndex(store, embedder)
    index.follow()
    assert sorted(embedder.taken()) == ["aaa", "bbb"]
    index.follow()
    store.put(first.evolve({"confidence": 0.5}))  # another version that says the same
    index.follow()
    assert embedder.taken() == []
    store.put(first.evolve({"tags": ("ccc",)}))
    index.follow()
    assert embedder.taken() == ["aaa\nccc"]
    assert ids(index, "c") == [first.id]


def test_texts_are_embedded_in_batches(store: InMemoryRecordStore) -> None:
    sizes = []

    def embed(texts: list[str]) -> list[list[float]]:
        sizes.append(len(texts))
        return [[1.0] for _ in texts]

    store.put_many([record(f"text {number}", number=number) for number in range(600)])
    index = DenseIndex(store, embed)
    index.follow()
    assert (len(index), len(sizes), max(sizes)) == (600, 1 + 3, 256)


def test_what_other_processes_write_is_followed(tmp_path: Path, embedder: Counting) -> None:
    ours, theirs = SQLiteRecordStore(tmp_path / "m.db"), SQLiteRecordStore(tmp_path / "m.db")
    index = DenseIndex(ours, embedder)
    index.follow()
    said = record("abc")
    theirs.put(said)
    index.follow()
    assert ids(index, "a") == [said.id]
    theirs.redact(said.id, "asked for")
    index.follow()
    assert (ids(index, "a"), len(index)) == ([], 0)
    ours.close()
    theirs.close()


def test_neighbours_in_a_session_lend_to_each_other(store: InMemoryRecordStore, embedder: Counting) -> None:
    found, after, elsewhere = (
        record("aaa", number=1, session="s"),
        record("al", number=2, session="s"),
        record("al", number=3, session="t"),
    )
    store.put_many([found, after, elsewhere, record("kkk", number=4)])
    index = DenseIndex(store, embedder)
    index.follow()
    assert ids(index, "a")[:3] == [found.id, after.id, elsewhere.id]
    scores = dict(index.candidates("a", 9))
    assert scores[after.id] > scores[elsewhere.id] > 0


@given(st.data())
def test_a_record_is_read_alike_from_its_bytes(data: st.DataObject) -> None:
    from strategies import records

    made = data.draw(records)
    assert Said.of_payload(made.canonical_bytes()) == Said.of_record(made)


# ------------------------------------------------------------------ embedders that fail


def test_a_failing_embedder_is_told_and_asked_again(store: InMemoryRecordStore, embedder: Counting) -> None:
    store.put(record("Zelda"))
    embedder.failing = lambda texts: True
    index = DenseIndex(store, embedder)
    index.follow()
    assert index.error == "the embedder raised TimeoutError; 1 records have no vector yet"
    with pytest.raises(EmbeddingFailed, match="TimeoutError"):
        index.scores("a")
    embedder.failing = lambda texts: False
    index.follow()
    assert (index.error, len(index)) == (None, 1)


def test_an_embedder_that_is_down_from_the_start_is_no_failure_of_the_memory(store: InMemoryRecordStore) -> None:
    embedder = Counting(identity=None)
    embedder.failing = lambda texts: True
    store.put(record("abc"))
    index = DenseIndex(store, embedder)
    index.follow()
    assert index.error == "the embedder raised TimeoutError"
    with pytest.raises(EmbeddingFailed):
        index.scores("a")
    embedder.failing = lambda texts: False
    index.follow()
    assert (len(index), index.error) == (1, None)


def test_one_text_it_cannot_take_does_not_hold_up_the_others(store: InMemoryRecordStore, embedder: Counting) -> None:
    store.put_many(
        [record(f"text {number} bad" if number == 17 else f"text {number}", number=number) for number in range(40)]
    )
    embedder.failing = lambda texts: any("bad" in text for text in texts)
    index = DenseIndex(store, embedder)
    for _ in range(20):
        index.follow()
    assert len(index) == 39
    assert index.error == "the embedder raised TimeoutError; 1 records have no vector yet"


def test_an_embedder_that_fails_is_not_asked_at_once_again(
    store: InMemoryRecordStore, embedder: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_memory.search.dense._LONGEST_PAUSE", 60.0)
    asked = []
    embedder.failing = lambda texts: bool(asked.append(1)) or True
    store.put(record("abc"))
    index = DenseIndex(store, embedder)
    for _ in range(5):
        index.follow()
    assert len(asked) == 1


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_embedders_leave_the_index_as_it_was(store: InMemoryRecordStore, name: str) -> None:
    class Turning(Counting):
        hostile = False

        def __call__(self, texts: list[str]) -> Any:
            return HOSTILE[name](texts) if self.hostile else super().__call__(texts)

    embedder = Turning()
    said = record("abc")
    store.put(said)
    index = DenseIndex(store, embedder)
    index.follow()
    embedder.hostile = True
    store.put_many([record("def Zelda", number=1), record("fed Zelda", number=2)])
    for _ in range(4):
        index.follow()
    assert index.error is not None
    assert "Zelda" not in index.error
    with pytest.raises(EmbeddingFailed):
        index.scores("a")
    embedder.hostile = False
    for _ in range(4):
        index.follow()
    assert (index.error, len(index), ids(index, "abc")[0]) == (None, 3, said.id)


# ------------------------------------------------------------------ the file


def opened(store: RecordStore, embedder: Any, folder: Path) -> DenseIndex:
    index = DenseIndex(store, embedder, folder / VECTORS)
    index.follow()
    return index


def test_the_next_process_embeds_nothing_again(store: InMemoryRecordStore, embedder: Counting, tmp_path: Path) -> None:
    store.put_many([record("abc", number=1, session="s"), record("bcd", number=2, session="s")])
    index = opened(store, embedder, tmp_path)
    answers = index.candidates("ab", 9)
    index.close()
    store.put(record("cde", number=3, session="s"))
    embedder.taken()
    again = opened(store, embedder, tmp_path)
    assert embedder.taken() == ["cde"]
    again.remove(store.list()[2].id)
    assert again.candidates("ab", 9) == answers


def test_a_cursor_that_is_forgotten_costs_no_embedding(embedder: Counting, tmp_path: Path) -> None:
    said = [record("abc", number=1), record("bcd", number=2), record("cde", number=3)]
    first, second = InMemoryRecordStore(), InMemoryRecordStore()
    first.put_many(said)
    second.put_many(said[1:])
    opened(first, embedder, tmp_path).close()
    embedder.taken()
    index = opened(second, embedder, tmp_path)
    assert embedder.taken() == []
    assert sorted(ids(index, "c")) == sorted(item.id for item in said[1:])


def test_what_waited_when_it_was_written_is_found_again(
    store: InMemoryRecordStore, embedder: Counting, tmp_path: Path
) -> None:
    store.put(record("abc"))
    index = opened(store, embedder, tmp_path)
    embedder.failing = lambda texts: True
    store.put(record("def", number=1))
    index.follow()
    index.save()
    embedder.failing = lambda texts: False
    embedder.taken()
    assert len(opened(store, embedder, tmp_path)) == 2
    assert embedder.taken() == ["def"]


@pytest.mark.parametrize("other", [Counting("another"), Counting("counting", 13), Counting(None)])
def test_vectors_of_another_embedder_are_never_used(
    store: InMemoryRecordStore, embedder: Counting, tmp_path: Path, other: Counting
) -> None:
    store.put(record("abc"))
    opened(store, embedder, tmp_path).close()
    embedder.failing = other.failing = lambda texts: "abc" in texts
    assert len(opened(store, embedder, tmp_path)) == 1
    assert len(opened(store, other, tmp_path)) == 0


@pytest.mark.parametrize("damage", [b"", b"AMVECTOR", b"\0" * 500])
def test_a_damaged_file_is_made_again(
    store: InMemoryRecordStore, embedder: Counting, tmp_path: Path, damage: bytes
) -> None:
    store.put(record("abc"))
    opened(store, embedder, tmp_path).close()
    (tmp_path / VECTORS).write_bytes(damage)
    embedder.taken()
    index = opened(store, embedder, tmp_path)
    assert embedder.taken() == ["abc"]
    index.save()
    assert kernel.Vectors.from_bytes((tmp_path / VECTORS).read_bytes()) is not None


@given(st.binary(max_size=80), st.integers(0, 3))
def test_a_note_from_anywhere_is_read_or_refused(data: bytes, count: int) -> None:
    found = Note.from_bytes(data, count)
    assert found is None or found[0].to_bytes(found[1]) == data


def test_reindex_embeds_everything_again(store: InMemoryRecordStore, embedder: Counting, tmp_path: Path) -> None:
    store.put_many([record("abc", number=1), record("bcd", number=2)])
    index = opened(store, embedder, tmp_path)
    embedder.taken()
    told: list[tuple[int, int]] = []
    index.reindex(lambda done, total: told.append((done, total)))
    assert sorted(embedder.taken()) == ["abc", "bcd"]
    assert told[-1] == (2, 2)
    embedder.identity = "new"
    index.reindex()
    assert index.identity == "new"
    embedder.failing = lambda texts: True
    with pytest.raises(EmbeddingFailed):
        index.reindex()


# ------------------------------------------------------------------ erasure


@pytest.mark.parametrize("kind", ["files", "sqlite"])
def test_a_redaction_leaves_nothing_in_the_file(tmp_path: Path, embedder: Counting, kind: str) -> None:
    where = tmp_path / ("m.db" if kind == "sqlite" else "records")
    store = SQLiteRecordStore(where) if kind == "sqlite" else FileRecordStore(where)
    gone, kept = record("abcdefgh", number=1, session="s"), record("ijkl", number=2, session="s")
    store.put_many([gone, kept])
    index = opened(store, embedder, tmp_path)
    index.save()
    held = (tmp_path / VECTORS).read_bytes()
    traces = [bytes.fromhex(gone.id[4:]), Said.of_record(gone).mark]
    assert all(trace in held for trace in traces)
    with store.transaction():
        store.redact(gone.id, "asked for")
        with index.taking_out():
            assert not (tmp_path / VECTORS).exists()
    index.follow()
    index.save()
    held = (tmp_path / VECTORS).read_bytes()
    fresh = DenseIndex(store, embedder)
    fresh.follow()
    assert not any(trace in held for trace in traces)
    assert len(held) < 400
    assert ids(index, "abc") == []
    assert index.candidates("ijk", 9) == fresh.candidates("ijk", 9)
    store.close()


def test_a_file_from_before_a_redaction_is_caught_up_with(
    store: InMemoryRecordStore, embedder: Counting, tmp_path: Path
) -> None:
    gone = record("abcdefgh")
    store.put(gone)
    opened(store, embedder, tmp_path).close()
    store.redact(gone.id, "asked for")
    index = opened(store, embedder, tmp_path)
    assert len(index) == 0
    index.save()
    assert bytes.fromhex(gone.id[4:]) not in (tmp_path / VECTORS).read_bytes()


def test_the_file_is_removed_without_an_embedder_too(tmp_path: Path) -> None:
    (tmp_path / VECTORS).write_bytes(b"x")
    remove_vectors(tmp_path)
    remove_vectors(tmp_path)
    assert not (tmp_path / VECTORS).exists()

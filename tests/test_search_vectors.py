"""The vector index and the embedder that needs no model."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.errors import ArgumentError, ArgumentTypeError
from agent_memory.ports import Embedder
from agent_memory.records import MemoryRecord
from agent_memory.search import HashEmbedder, InMemorySearchIndex
from contracts import hammer, make

if TYPE_CHECKING:
    from collections.abc import Sequence


@given(st.text(), st.integers(1, 64))
def test_vectors_have_unit_length_or_say_nothing(text: str, dimensions: int) -> None:
    vector = HashEmbedder(dimensions).embed(text)
    assert len(vector) == dimensions
    length = sum(number * number for number in vector)
    assert abs(length - 1.0) < 1e-9 or (not text.split() and vector == (0.0,) * dimensions)


def test_words_that_cancel_still_say_something() -> None:
    for text in ("a b", "a b c d", "one two", "🎉 🎊"):
        assert abs(HashEmbedder(1).embed(text)[0]) == 1.0


def test_the_empty_text_is_all_zeros() -> None:
    assert HashEmbedder(64).embed("") == HashEmbedder(64).embed(" \n") == (0.0,) * 64


def test_vectors_are_the_same_in_every_process() -> None:
    code = "from agent_memory.search import HashEmbedder; print(HashEmbedder(16).embed('the deploy failed at noon'))"
    runs = [
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
        for _ in range(2)
    ]
    assert runs == [f"{HashEmbedder(16).embed('the deploy failed at noon')}\n"] * 2
    assert HashEmbedder(4).embed("noon") == (0.0, 0.0, 0.0, -1.0)


def test_dimensions_are_one_or_more() -> None:
    assert HashEmbedder().dimensions == 256
    for bad in (0, -1):
        with pytest.raises(ArgumentError):
            HashEmbedder(dimensions=bad)
    for wrong in (True, 2.0, "3"):
        with pytest.raises(ArgumentTypeError):
            HashEmbedder(dimensions=wrong)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError):
        HashEmbedder().embed(b"bytes")  # type: ignore[arg-type]


def test_the_better_match_comes_first() -> None:
    index = InMemorySearchIndex()
    weather, deploy = make("Austin weather is hot in July."), make("The deploy pipeline broke in Austin.")
    index.index_many([deploy, weather])
    found = index.candidates("hot weather in Austin", 2)
    assert [record_id for record_id, _ in found] == [weather.id, deploy.id]
    assert 1.0 >= found[0][1] > found[1][1] > 0
    assert len(index.candidates("hot weather in Austin", 1)) == 1
    assert index.candidates("Austin", 0) == index.candidates("Austin", -3) == index.candidates("", 5) == ()


def test_tags_count_and_indexing_again_replaces() -> None:
    index = InMemorySearchIndex()
    record = make("Nothing notable.", tags=("deployment",))
    index.index(record)
    assert [record_id for record_id, _ in index.candidates("deployment", 5)] == [record.id]
    index.index(record.evolve({"tags": ()}))
    assert index.candidates("deployment", 5) == ()
    assert len(index.candidates("nothing", 5)) == 1


def test_equal_scores_are_ordered_by_id() -> None:
    index = InMemorySearchIndex()
    records = [make("equal words", minute=number) for number in range(6)]
    index.index_many(records)
    expected = sorted(record.id for record in records)
    assert [record_id for record_id, _ in index.candidates("equal words", 6)] == expected
    assert [record_id for record_id, _ in index.candidates("equal words", 3)] == expected[:3]


def test_tombstones_and_removed_records_are_not_held() -> None:
    index = InMemorySearchIndex()
    a, b = make("first words"), make("second words")
    index.index_many([a, b, MemoryRecord.tombstone(a, reason="leaked")])
    assert [record_id for record_id, _ in index.candidates("words", 5)] == [b.id]
    index.remove(b.id)
    index.remove(b.id)
    assert index.candidates("words redacted", 5) == ()


class Given(Embedder):
    """Answers with the vectors it was given."""

    def __init__(self, *vectors: Sequence[float]) -> None:
        self.vectors = [tuple(vector) for vector in vectors]
        self.asked: list[int] = []

    @property
    def dimensions(self) -> int:
        return 2

    def embed(self, text: str) -> tuple[float, ...]:
        return self.vectors.pop(0)

    def embed_many(self, texts: Sequence[str]) -> tuple[tuple[float, ...], ...]:
        self.asked.append(len(texts))
        return tuple(self.vectors.pop(0) for _ in texts)


def test_another_embedder_takes_its_place_whatever_its_lengths() -> None:
    index = InMemorySearchIndex(Given((3.0, 4.0), (-1.0, 0.0), (0.0, 0.0), (30.0, 40.0)))
    a = make("a")
    index.index_many([a, make("opposite"), make("nothing")])
    ((found, score),) = index.candidates("q", 5)
    assert found == a.id
    assert score == pytest.approx(1.0)


@pytest.mark.parametrize("vector", [(1.0,), (1.0, 2.0, 3.0), (float("nan"), 1.0), (float("inf"), 1.0)])
def test_an_embedder_that_breaks_its_promise_is_named(vector: tuple[float, ...]) -> None:
    with pytest.raises(ArgumentError, match="embedder"):
        InMemorySearchIndex(Given(vector)).index(make("a"))
    with pytest.raises(ArgumentError, match="embedder"):
        InMemorySearchIndex(Given(vector)).candidates("q", 1)


def test_texts_are_embedded_many_at_a_time() -> None:
    embedder = Given(*[(1.0, 0.0)] * 300)
    InMemorySearchIndex(embedder).index_many(make(f"number {number}") for number in range(300))
    assert embedder.asked == [256, 44]


def test_many_threads_may_use_it() -> None:
    index, record = InMemorySearchIndex(), make("A contested memory.")

    def use() -> None:
        index.index(record)
        index.candidates("contested memory", 4)
        index.remove(record.id)

    assert hammer(use) == []

"""StaticEmbedder: token vectors averaged, weighed by a memory's texts; nothing downloaded, nothing erased kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory import InMemoryRecordStore, MemoryRecord, Provenance, RecordType
from agent_memory.errors import ArgumentError
from agent_memory.search import DenseIndex, StaticEmbedder
from agent_memory.search.dense import VECTORS

numpy = pytest.importorskip("numpy")
safetensors = pytest.importorskip("safetensors.numpy")
pytest.importorskip("tokenizers")

WORDS = ["[UNK]", "the", "cat", "sat", "dog", "ran", "zelda"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("static")
    table = numpy.eye(len(WORDS), 8, dtype=numpy.float16)
    safetensors.save_file({"embedding": table}, str(folder / "table.safetensors"))
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    (folder / "tokenizer.json").write_text(
        json.dumps(
            {
                "version": "1.0",
                "pre_tokenizer": {"type": "Whitespace"},
                "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
            }
        )
    )
    return folder / "table.safetensors", folder / "tokenizer.json"


@pytest.fixture(scope="module")
def embedder(files: tuple[Path, Path]) -> StaticEmbedder:
    return StaticEmbedder(*files)


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    return float(numpy.dot(a, b))


def test_a_vector_has_length_1_and_is_the_same_every_time(embedder: StaticEmbedder, files: tuple[Path, Path]) -> None:
    vector = embedder.embed("the cat sat")
    assert len(vector) == embedder.dimensions == 8
    assert cosine(vector, vector) == pytest.approx(1)
    assert StaticEmbedder(*files).embed("the cat sat") == vector
    assert StaticEmbedder(*files).identity == embedder.identity
    assert embedder.embed("") == (0.0,) * 8


def test_what_every_text_says_counts_for_little(embedder: StaticEmbedder) -> None:
    learnt = embedder.learn([f"zelda {word}" for word in ("cat", "dog", "sat", "ran")] * 500)
    before = cosine(embedder.embed("zelda cat"), embedder.embed("zelda dog"))
    after = cosine(learnt.embed("zelda cat"), learnt.embed("zelda dog"))
    assert after < before
    assert cosine(learnt.embed("zelda cat"), learnt.embed("cat")) > 0.9
    assert embedder.learnt == b""


def test_what_was_learnt_is_told_by_the_identity_and_read_again(embedder: StaticEmbedder) -> None:
    learnt, other = embedder.learn(["the cat"]), embedder.learn(["the dog"])
    assert len({embedder.identity, learnt.identity, other.identity}) == 3
    again = embedder.knowing(learnt.learnt)
    assert again is not None
    assert again.identity == learnt.identity
    assert again.embed("the cat sat") == learnt.embed("the cat sat")
    assert learnt.learn(["the dog"]).identity == other.identity  # nothing of the first is left
    assert embedder.learn([]).embed("cat") is not None


@given(data=st.data())
def test_bytes_that_were_not_learnt_are_refused(embedder: StaticEmbedder, data: st.DataObject) -> None:
    learnt = bytearray(embedder.learn(["the cat", "zelda"]).learnt)
    at = data.draw(st.integers(0, len(learnt) - 1))
    assert embedder.knowing(bytes(learnt[:at])) is None
    assert embedder.knowing(data.draw(st.binary(max_size=200))) is None
    learnt[at] = data.draw(st.integers(0, 255))
    found = embedder.knowing(bytes(learnt))
    assert found is None or all(map(numpy.isfinite, found.embed("the cat sat")))


@pytest.mark.parametrize("text", ["\ud800", "\0", "é" * 10_000, "the " * 100_000, "日本語", " "])
def test_any_text_has_a_vector(embedder: StaticEmbedder, text: str) -> None:
    assert all(map(numpy.isfinite, embedder.learn([text, "cat"]).embed(text)))


def test_nothing_erased_is_known_any_more(embedder: StaticEmbedder, tmp_path: Path) -> None:
    store = InMemoryRecordStore()
    said = [MemoryRecord.create(RecordType.FACT, body, Provenance(kind="chat")) for body in ("the cat", "zelda ran")]
    store.put_many(said)
    index = DenseIndex(store, embedder, tmp_path / VECTORS)
    index.follow()
    index.save()
    known = embedder.learn(["the cat", "zelda ran"]).learnt
    assert known in (tmp_path / VECTORS).read_bytes()
    store.redact(said[1].id, "asked for")
    index.follow()
    index.save()
    fresh = DenseIndex(store, embedder)
    fresh.follow()
    assert index.identity == fresh.identity
    assert index.candidates("the cat", 5) == fresh.candidates("the cat", 5)
    assert known not in (tmp_path / VECTORS).read_bytes()
    assert embedder.learn(["the cat"]).learnt in (tmp_path / VECTORS).read_bytes()
    asked: list[Any] = []
    again = DenseIndex(store, Spying(embedder, asked), tmp_path / VECTORS)
    again.follow()
    assert (again.identity, asked) == (index.identity, [])


class Spying:
    """A learner that notes what it learns from."""

    def __init__(self, embedder: StaticEmbedder, asked: list[Any]) -> None:
        self._embedder = embedder
        self.identity, self.dimensions, self.asked = embedder.identity, embedder.dimensions, asked

    def __call__(self, texts: list[str]) -> Any:
        return self._embedder(texts)

    def learn(self, texts: Any) -> Any:
        self.asked.append(texts)
        return self._embedder.learn(texts)

    def knowing(self, learnt: bytes) -> Any:
        return self._embedder.knowing(learnt)


def test_it_learns_again_when_the_texts_have_doubled(embedder: StaticEmbedder) -> None:
    store, asked = InMemoryRecordStore(), []
    index = DenseIndex(store, Spying(embedder, asked))
    for number in range(40):
        store.put(MemoryRecord.create(RecordType.FACT, f"cat {number}", Provenance(kind="chat")))
        index.follow()
    assert [len(texts) for texts in asked] == [1, 2, 4, 8, 16, 32]
    assert len(index) == 40


# ------------------------------------------------------------------ what is missing or wrong


def test_an_error_says_what_to_install(files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    for missing in ("numpy", "safetensors", "tokenizers", "wordllama"):
        with monkeypatch.context() as patch:
            patch.setattr("agent_memory.search.static.find_spec", lambda name, missing=missing: _found(name, missing))
            with pytest.raises(ArgumentError, match=rf"{missing}.*pip install 'agent-memory\[semantic\]'"):
                StaticEmbedder()
            if missing == "wordllama":
                StaticEmbedder(*files)


def _found(name: str, missing: str) -> Any:
    from importlib.util import find_spec

    return None if name == missing else find_spec(name)


def test_files_that_are_not_what_they_should_be_are_refused(files: tuple[Path, Path], tmp_path: Path) -> None:
    table, words = files
    (tmp_path / "two").write_bytes(safetensors.save({"a": numpy.zeros((2, 2), "f4"), "b": numpy.zeros((2, 2), "f4")}))
    (tmp_path / "nan").write_bytes(safetensors.save({"a": numpy.full((2, 2), numpy.nan, "f4")}))
    (tmp_path / "flat").write_bytes(safetensors.save({"a": numpy.zeros(4, "f4")}))
    (tmp_path / "whole").write_bytes(safetensors.save({"a": numpy.zeros((2, 2), "i4")}))
    for wrong in ("two", "nan", "flat", "whole", "missing"):
        with pytest.raises(ArgumentError, match=wrong):
            StaticEmbedder(tmp_path / wrong, words)
    with pytest.raises(ArgumentError, match="tokenizer"):
        StaticEmbedder(table, table)
    with pytest.raises(ArgumentError, match="both"):
        StaticEmbedder(table)


def test_meaning_is_found_with_the_vectors_that_are_installed() -> None:
    pytest.importorskip("wordllama")
    store = InMemoryRecordStore()
    bodies = ["My sister plays the violin.", "The server needs more memory.", "We ate pasta in Rome."]
    store.put_many([MemoryRecord.create(RecordType.FACT, body, Provenance(kind="chat")) for body in bodies])
    index = DenseIndex(store, StaticEmbedder())
    index.follow()
    for query, body in zip(("musical instrument", "computer hardware", "Italian food"), bodies, strict=True):
        best, _ = index.candidates(query, 1)[0]
        assert store.get(best).body == body

"""Embedders of all kinds: what counts as vectors, what is refused, and that no text gets into a message."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable
from typing import Any

import pytest

from agent_memory import HashEmbedder
from agent_memory.errors import ArgumentTypeError
from agent_memory.search.embedding import CheckedEmbedder, EmbeddingFailed
from embedders import DIMENSIONS, HOSTILE, Counting, letters

SECRET = "a secret about Zelda"


def floats(packed: bytes) -> list[float]:
    return list(array("f", packed))


@pytest.mark.parametrize("shape", [list, tuple, iter, lambda rows: [array("d", row) for row in rows]])
def test_any_rows_of_numbers_are_vectors(shape: Callable[[Any], Any]) -> None:
    embedder = CheckedEmbedder(lambda texts: shape(letters(texts)))
    assert embedder.dimensions == DIMENSIONS
    assert floats(embedder.packed(["abba", "c"])) == [2, 2, *[0] * 10, 0, 0, 1, *[0] * 9]


def test_arrays_of_numpy_are_vectors() -> None:
    numpy = pytest.importorskip("numpy")
    for kind in ("float32", "float64", "int64", ">f4"):
        embedder = CheckedEmbedder(lambda texts, kind=kind: numpy.array(letters(texts), dtype=kind))
        assert floats(embedder.packed(["abba"]))[:3] == [2, 2, 0]
        turned = CheckedEmbedder(lambda texts, kind=kind: numpy.asfortranarray(numpy.array(letters(texts), kind)))
        assert turned.packed(["ab", "cd", "a"]) == embedder.packed(["ab", "cd", "a"])


def test_the_port_is_an_embedder() -> None:
    embedder = CheckedEmbedder(HashEmbedder(16))
    assert embedder.packed(["x"]) == struct.pack("<16f", *HashEmbedder(16).embed("x"))
    assert embedder.identity.startswith("agent_memory.search.vectors.HashEmbedder/16/")


@pytest.mark.parametrize("wrong", [None, 7, "abc", HashEmbedder, object()])
def test_what_cannot_be_asked_is_no_embedder(wrong: Any) -> None:
    with pytest.raises(ArgumentTypeError):
        CheckedEmbedder(wrong)


@pytest.mark.parametrize("name", HOSTILE)
def test_what_are_no_vectors_is_refused_without_a_word_of_the_text(name: str) -> None:
    class Hostile(Counting):
        def __call__(self, texts: list[str]) -> Any:
            return HOSTILE[name](texts)

    embedder = CheckedEmbedder(Hostile())
    for texts in ([SECRET], [SECRET, SECRET]):
        with pytest.raises(EmbeddingFailed) as caught:
            embedder.packed(texts)
        assert "Zelda" not in str(caught.value)


@pytest.mark.parametrize("name", [name for name in HOSTILE if name not in ("shorter", "longer")])
def test_what_gives_no_vectors_when_it_is_first_asked_is_refused(name: str) -> None:
    with pytest.raises(EmbeddingFailed):
        CheckedEmbedder(HOSTILE[name]).packed(["a", "b"])


def test_embedders_are_told_apart() -> None:
    def doubled(texts: list[str]) -> list[list[float]]:
        return [[row[1], row[0], *row[2:]] for row in letters(texts)]

    told = [CheckedEmbedder(embedder).identity for embedder in (letters, doubled, HashEmbedder(8), HashEmbedder(16))]
    assert len(set(told)) == 4
    assert told == [CheckedEmbedder(e).identity for e in (letters, doubled, HashEmbedder(8), HashEmbedder(16))]
    assert CheckedEmbedder(Counting("mine")).identity == "mine"


def test_noise_in_the_last_digits_is_the_same_embedder() -> None:
    def noisy(scale: float) -> Callable[[list[str]], Any]:
        def embed(texts: list[str]) -> list[list[float]]:
            return [[number * (1 + scale * at) for at, number in enumerate(row)] for row in letters(texts)]

        embed.__qualname__ = "embed"
        return embed

    assert CheckedEmbedder(noisy(1e-7)).identity == CheckedEmbedder(noisy(0)).identity

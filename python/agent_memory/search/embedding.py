"""Embedders as an index uses them: whatever a caller gave, called with many texts, and its answer checked.

An embedder is an :class:`agent_memory.ports.Embedder`, or any callable that takes a list of texts and returns one
vector for each.  It may raise, and may answer anything; what goes wrong becomes one :class:`EmbeddingFailed`, whose
message never holds a text of the memory.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from math import isfinite
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from agent_memory.errors import AgentMemoryError, ArgumentError, ArgumentTypeError
from agent_memory.ports import Embedder

__all__ = ["AnyEmbedder", "CheckedEmbedder", "EmbeddingFailed", "Learner", "check_embedder"]

AnyEmbedder: TypeAlias = Embedder | Callable[[list[str]], Any]
"""What turns texts into vectors: the port, or ``list[str] -> vectors``."""

_PROBE: Final = "The quick brown fox jumps over the lazy dog."
"""What every embedder is asked first, when it does not say who it is."""
_STEPS: Final = 3
"""Steps in which a fingerprint takes the numbers of a vector: noise in the last digits does not show."""
_MAX_DIMENSIONS: Final = 65_536


class EmbeddingFailed(AgentMemoryError):
    """The embedder raised, or what it answered are not the vectors of what it was asked.  Words are still found."""


@runtime_checkable
class Learner(Protocol):
    """An embedder that is better for knowing what is common in the texts of a memory."""

    def learn(self, texts: Iterable[str]) -> Embedder:
        """The same, knowing these texts: an embedder of another identity, with what it learnt in ``learnt``."""

    def knowing(self, learnt: bytes) -> Embedder | None:
        """The same, knowing what was learnt earlier; None for bytes that are not that."""


class CheckedEmbedder:
    """An embedder of a known identity and dimension, whose answers are checked.

    Args:
        embedder: a port, or a callable.

    Raises:
        ArgumentTypeError: it is neither.
        EmbeddingFailed: it does not say who it is and failed when it was asked for a vector.
    """

    def __init__(self, embedder: AnyEmbedder) -> None:
        self._ask = _asking(check_embedder(embedder))
        self.dimensions: int
        self.identity: str
        declared = getattr(embedder, "identity", None)
        dimensions = getattr(embedder, "dimensions", None)
        known = isinstance(dimensions, int) and not isinstance(dimensions, bool)
        self.dimensions = dimensions if known and dimensions is not None else 0
        if isinstance(declared, str) and declared and known:
            self.identity = declared
        else:
            probe = self._probed()
            self.identity = declared if isinstance(declared, str) and declared else _fingerprint(embedder, probe)
        if not 1 <= self.dimensions <= _MAX_DIMENSIONS:
            raise EmbeddingFailed(f"an embedder needs 1 to {_MAX_DIMENSIONS:,} dimensions; this one has another number")

    def packed(self, texts: Sequence[str]) -> bytes:
        """A vector for each text, as little-endian 32-bit floats.

        Raises:
            EmbeddingFailed: it raised, or answered another number of vectors, or vectors of another length, or one with
                a number that is not finite.
        """
        return self._checked(_called(self._ask, list(texts)), len(texts))

    def _checked(self, rows: Any, count: int) -> bytes:
        packed = self._read(rows, count)
        if not isfinite(sum(struct.unpack(f"<{len(packed) // 4}f", packed))):
            raise EmbeddingFailed("the embedder gave a vector with a number that is not finite")
        return packed

    def _read(self, rows: Any, count: int) -> bytes:
        whole = _as_one(rows)
        if whole is not None and whole.shape == (count, self.dimensions):
            return whole.tobytes()
        try:
            found = [tuple(row) for row in rows]
            if len(found) != count:
                raise EmbeddingFailed(f"the embedder gave {len(found)} vectors for {count} texts")
            return b"".join(self._packed_row(row) for row in found)
        except (TypeError, ValueError, OverflowError, struct.error) as error:
            raise EmbeddingFailed("the embedder gave something else than a list of vectors of numbers") from error

    def _packed_row(self, row: tuple[Any, ...]) -> bytes:
        if len(row) != self.dimensions:
            raise EmbeddingFailed(f"the embedder gave a vector of {len(row)} numbers, not of {self.dimensions}")
        if any(isinstance(number, str | bytes) for number in row[:1]):
            raise TypeError("text")
        return struct.pack(f"<{self.dimensions}f", *row)

    def _probed(self) -> bytes:
        """The vector of a fixed text, whose length are the dimensions where they are not known."""
        rows = _called(self._ask, [_PROBE])
        try:
            found = [tuple(row) for row in rows]
            self.dimensions = self.dimensions or len(found[0])
        except (TypeError, IndexError) as error:
            raise EmbeddingFailed("the embedder gave something else than a list of vectors of numbers") from error
        return self._checked(found, 1)


def check_embedder(embedder: object) -> AnyEmbedder:
    """``embedder`` when it can be one, else an ArgumentTypeError."""
    if isinstance(embedder, type) or not (isinstance(embedder, Embedder) or callable(embedder)):
        found = embedder.__name__ if isinstance(embedder, type) else type(embedder).__name__
        raise ArgumentTypeError(f"an embedder is an Embedder or takes a list of texts and returns vectors; not {found}")
    return embedder


def _asking(embedder: AnyEmbedder) -> Callable[[list[str]], Any]:
    return embedder if callable(embedder) else embedder.embed_many


def _called(ask: Callable[[list[str]], Any], texts: list[str]) -> Any:
    try:
        return ask(texts)
    except ArgumentError as error:
        raise EmbeddingFailed(str(error)) from error
    except Exception as error:
        raise EmbeddingFailed(f"the embedder raised {type(error).__name__}") from error


def _as_one(rows: Any) -> memoryview | None:
    """The rows as one block of 32-bit floats, when they are that already, as an array of numpy is."""
    try:
        block = memoryview(rows)
    except TypeError:
        return None
    return block if block.format == "f" and sys.byteorder == "little" and block.ndim == 2 else None


def _fingerprint(embedder: object, probe: bytes) -> str:
    numbers = [number for (number,) in struct.iter_unpack("<f", probe)]
    largest = max(map(abs, numbers), default=0.0)
    steps = bytes(round(_STEPS * number / largest) + _STEPS for number in numbers) if largest else b""
    named = embedder if hasattr(embedder, "__qualname__") else type(embedder)
    name = f"{getattr(named, '__module__', '')}.{getattr(named, '__qualname__', '')}"
    return f"{name}/{len(numbers)}/{sha256(steps).hexdigest()[:16]}"

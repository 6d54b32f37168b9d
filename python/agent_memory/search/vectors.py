"""A search index over vectors, and an embedder that needs no model (SPEC section 8).

:class:`HashEmbedder` knows words, not meaning: it makes the vector port usable and testable with nothing installed.  An
embedder with a model behind it takes its place by implementing :class:`agent_memory.ports.Embedder`.
"""

from __future__ import annotations

import hashlib
import heapq
import math
import operator
import threading
from typing import TYPE_CHECKING, Final

from agent_memory.errors import ArgumentError, ArgumentTypeError
from agent_memory.ports import Embedder, SearchIndex

from .words import split_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_memory.records import MemoryRecord

__all__ = ["HashEmbedder", "InMemorySearchIndex"]

_BATCH: Final = 256
"""Texts given to an embedder at a time."""


class HashEmbedder(Embedder):
    """Counts words into hashed places: texts that share words get similar vectors.

    The same text has the same vector in every process and on every platform.

    Args:
        dimensions: length of the vectors, 1 or more.

    Raises:
        ArgumentError: ``dimensions`` below 1.
    """

    def __init__(self, dimensions: int = 256) -> None:
        if type(dimensions) is not int:
            raise ArgumentTypeError(f"dimensions must be a whole number, not {type(dimensions).__name__}")
        if dimensions < 1:
            raise ArgumentError("dimensions must be 1 or more")
        self._dimensions = dimensions

    @property
    def dimensions(self) -> int:
        return self._dimensions

    def embed(self, text: str) -> tuple[float, ...]:
        """A vector of length 1 to within 1e-9; all zeros for text without a visible character."""
        if not isinstance(text, str):
            raise ArgumentTypeError(f"only text can be embedded, not {type(text).__name__}")
        words = split_words(text) or text.split()
        counts = [0] * self._dimensions
        for place, sign in map(self._place, words):
            counts[place] += sign
        if not any(counts):  # words that cancel each other out: count them all upwards
            for place, _ in map(self._place, words):
                counts[place] += 1
        length = math.sqrt(sum(count * count for count in counts))
        return tuple(count / length for count in counts) if length else (0.0,) * self._dimensions

    def _place(self, word: str) -> tuple[int, int]:
        """Where a word counts, and whether up or down, so that words that meet by chance do not look alike."""
        digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=9).digest()
        return int.from_bytes(digest[:8], "big") % self._dimensions, 1 if digest[8] & 1 else -1


class InMemorySearchIndex(SearchIndex):
    """Finds records whose vector points the same way as the query's.  Usable from many threads.

    Compares with every vector it holds; scores are cosines, above 0 and up to 1.  A redacted record is not held.

    Args:
        embedder: what turns text into vectors; a :class:`HashEmbedder` when None.
    """

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = HashEmbedder() if embedder is None else embedder
        self._vectors: dict[str, tuple[float, ...]] = {}
        self._lock = threading.Lock()

    def index(self, record: MemoryRecord) -> None:
        self.index_many((record,))

    def index_many(self, records: Iterable[MemoryRecord]) -> None:
        """Add or replace several records, embedding many texts at a time.

        Raises:
            ArgumentError: the embedder returned something other than its vectors; nothing more is added.
        """
        waiting: dict[str, str] = {}
        for record in records:
            if record.redacted:
                waiting.pop(record.id, None)
                self.remove(record.id)
            else:
                waiting[record.id] = "\n".join((record.body, *record.tags))
            if len(waiting) >= _BATCH:
                self._add(waiting)
                waiting = {}
        self._add(waiting)

    def remove(self, record_id: str) -> None:
        """Forget a record.  An id the index does not hold is no error."""
        with self._lock:
            self._vectors.pop(record_id, None)

    def candidates(self, query: str, k: int) -> tuple[tuple[str, float], ...]:
        """At most ``k`` (id, cosine) pairs with a cosine above 0, best first, then by id."""
        if k <= 0:
            return ()
        wanted = self._unit(self._embedder.embed(query))
        with self._lock:
            held = list(self._vectors.items())
        scored = ((record_id, sum(map(operator.mul, wanted, vector))) for record_id, vector in held)
        matches = ((record_id, min(score, 1.0)) for record_id, score in scored if score > 0.0)
        return tuple(heapq.nsmallest(k, matches, key=lambda match: (-match[1], match[0])))

    def _add(self, texts: dict[str, str]) -> None:
        if not texts:
            return
        vectors = self._embedder.embed_many(list(texts.values()))
        if len(vectors) != len(texts):
            raise ArgumentError(f"the embedder returned {len(vectors)} vectors for {len(texts)} texts")
        units = [self._unit(vector) for vector in vectors]
        with self._lock:
            self._vectors.update(zip(texts, units, strict=True))

    def _unit(self, vector: Sequence[float]) -> tuple[float, ...]:
        """``vector`` at length 1, or all zeros; an ArgumentError when it is not what the embedder promised."""
        if len(vector) != self._embedder.dimensions:
            raise ArgumentError(
                f"the embedder returned {len(vector)} numbers but says it has {self._embedder.dimensions} dimensions"
            )
        length = math.hypot(*vector)
        if not math.isfinite(length):
            raise ArgumentError("the embedder returned a vector with a number that is not finite")
        return tuple(number / length for number in vector) if length else tuple(vector)

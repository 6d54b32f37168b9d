"""A search index made of two: what words find and what vectors find, fused (spec/recall.md section 8)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from agent_memory.ports import SearchIndex

from .embedding import EmbeddingFailed
from .fusion import DEPTH, fuse

if TYPE_CHECKING:
    from agent_memory import kernel
    from agent_memory.records import MemoryRecord

    from .dense import DenseIndex

__all__ = ["HybridIndex", "HybridQuery", "Shown"]

Shown: TypeAlias = Callable[[Iterable[str]], Collection[str]]
"""Those of some ids that may be shown."""
_READ: int = 8
"""How many times the depth of candidates the raw scores of words are looked up to."""


class HybridIndex(SearchIndex):
    """Finds by words and by meaning.  When the embedder fails, words alone are found.

    Args:
        lexical: scores are greater the better a record matches; how is its own affair.
        dense: the vectors of the same store.
    """

    def __init__(self, lexical: SearchIndex, dense: DenseIndex) -> None:
        self.lexical = lexical
        self.dense = dense

    def ask(self, query: str, *, shown: Shown | None = None) -> HybridQuery:
        """One query, embedded once, however often its candidates are asked for."""
        return HybridQuery(self, query, shown)

    def candidates(self, query: str, k: int) -> tuple[tuple[str, float], ...]:
        """At most ``k`` (id, fused score) pairs, best first, then by id; scores from above 0 to 1."""
        return self.ask(query).candidates(query, k)

    def index(self, record: MemoryRecord) -> None:
        self.index_many((record,))

    def index_many(self, records: Iterable[MemoryRecord]) -> None:
        found = tuple(records)
        self.lexical.index_many(found)
        self.dense.index_many(found)

    def close(self) -> None:
        self.lexical.close()
        self.dense.close()


class HybridQuery(SearchIndex):
    """One query of a hybrid index: an index for :func:`agent_memory.pipeline.recall.retrieve` that knows no other.

    Attributes:
        dense_error: why meaning counted for nothing, or not for all records; None when nothing failed.
    """

    def __init__(self, index: HybridIndex, query: str, shown: Shown | None = None) -> None:
        self._index = index
        self._query = query
        self._shown = shown
        self.dense_error: str | None = None
        self._scores: kernel.Scores | None = None
        try:
            self._scores = index.dense.scores(query)
            self.dense_error = index.dense.error
        except EmbeddingFailed as failure:
            self.dense_error = f"{failure}; found by words alone"

    def index(self, record: MemoryRecord) -> None:
        self._index.index(record)

    def candidates(self, query: str, k: int) -> tuple[tuple[str, float], ...]:
        """As :meth:`HybridIndex.candidates`; ``query`` is the one that was asked."""
        if k <= 0:
            return ()
        if query != self._query:
            return self._index.candidates(query, k)
        return tuple(fuse(*self.considered(max(k, DEPTH))).items())[:k]

    def considered(self, depth: int) -> tuple[dict[str, float], dict[str, float]]:
        """What is fused: raw and dense scores of the ``depth`` best of either side that may be shown."""
        lexical, scores = self._index.lexical, self._scores
        if scores is None:
            return dict(self._best(lambda k: lexical.candidates(self._query, k), depth)), {}
        found = dict(self._best(lambda k: lexical.candidates(self._query, k), depth, ahead=_READ))
        near = self._best(scores.best, depth)
        ids = [*dict.fromkeys((*list(found)[:depth], *(record_id for record_id, score in near if score > 0.0)))]
        dense = {record_id: score for record_id, score in zip(ids, scores.of(ids), strict=True) if score is not None}
        return {record_id: found[record_id] for record_id in ids if record_id in found}, dense

    def _best(
        self, ask: Callable[[int], Sequence[tuple[str, float]]], wanted: int, *, ahead: int = 1
    ) -> list[tuple[str, float]]:
        """The best ``wanted`` (times ``ahead``, where there are so many) that may be shown."""
        asked = wanted * ahead
        while True:
            answered = ask(asked)
            if self._shown is None:
                return list(answered)
            allowed = frozenset(self._shown([record_id for record_id, _ in answered]))
            kept = [item for item in answered if item[0] in allowed]
            if len(kept) >= wanted or len(answered) < asked:
                return kept[: wanted * ahead]
            asked *= 2

"""What every search index promises, as tests."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from agent_memory.ports import SearchIndex
from agent_memory.records import MemoryRecord

from .checks import UNKNOWN, demand, equal, make, together, undisturbed

__all__ = ["SearchIndexContract"]

_HOSTILE: Final = (
    "",
    " ",
    "\x00",
    '"',
    "'",
    '"unclosed harbor',
    "harbor AND (",
    "NEAR(harbor, 2",
    "harbor OR",
    "NOT",
    "-harbor",
    "*",
    "harbor*",
    "body:harbor",
    "^harbor",
    "%",
    "_",
    "[harbor",
    "(?P<harbor",
    "'; DROP TABLE records; --",
    "\\",
    "\ud800",
    "\u202eharbor",
    "…",
    "harbor " * 2000,
)


class SearchIndexContract:
    """Subclass it as ``Test…`` and define :meth:`make_index`."""

    def make_index(self, tmp_path: Path) -> SearchIndex:
        """A fresh, empty index.  ``tmp_path`` is an empty folder of the test's own."""
        raise NotImplementedError("define make_index(self, tmp_path): it returns a fresh, empty search index")

    def _filled(self, tmp_path: Path) -> tuple[SearchIndex, tuple[MemoryRecord, ...]]:
        index = self.make_index(tmp_path)
        records = (
            make("The harbor master keeps the lighthouse keys."),
            make("The harbor is closed on Sunday.", minute=1),
            make("Bread needs flour, water and salt.", minute=2),
        )
        index.index_many(records)
        return index, records

    def test_an_empty_index_finds_nothing(self, tmp_path: Path) -> None:
        equal(self.make_index(tmp_path).candidates("harbor", 10), (), "an empty index answers an empty tuple")

    def test_text_that_overlaps_more_ranks_first(self, tmp_path: Path) -> None:
        index, (keys, closed, _) = self._filled(tmp_path)
        found = _ids(index, "harbor master lighthouse keys")
        demand(found, "a record whose words are asked for is found")
        equal(found[0], keys.id, "the record that shares most of the query's words comes first")
        equal(
            _ids(index, "harbor closed sunday")[:1],
            [closed.id],
            "the record that shares most of the query's words comes first",
        )

    def test_scores_are_positive_and_descend(self, tmp_path: Path) -> None:
        index, records = self._filled(tmp_path)
        found = index.candidates("harbor lighthouse", 10)
        demand(isinstance(found, tuple), "candidates() answers a tuple")
        scores = [score for _, score in found]
        demand(all(math.isfinite(score) and score > 0 for score in scores), f"scores are above 0, not {scores}")
        equal(scores, sorted(scores, reverse=True), "candidates come best first")
        ids = [record_id for record_id, _ in found]
        equal(len(ids), len(set(ids)), "a record is among the candidates once")
        demand(set(ids) <= {record.id for record in records}, "only ids that were indexed are answered")

    def test_at_most_k_are_answered(self, tmp_path: Path) -> None:
        index, _ = self._filled(tmp_path)
        for k in (0, -1, -(10**6)):
            equal(index.candidates("harbor", k), (), f"k = {k} answers nothing")
        equal(len(index.candidates("harbor", 1)), 1, "k = 1 answers the best alone")
        equal(
            index.candidates("harbor master", 1),
            index.candidates("harbor master", 10)[:1],
            "a smaller k cuts the same answer shorter",
        )
        demand(len(index.candidates("harbor", 10**12)) <= 3, "a k beyond what is there is no error")

    def test_a_record_indexed_again_is_replaced(self, tmp_path: Path) -> None:
        index, (keys, *others) = self._filled(tmp_path)
        newest = keys.evolve({"tags": ("quetzal",)})
        index.index_many([keys.evolve({"tags": ("zanzibar",)}), newest])
        index.index(newest)
        (tmp_path / "fresh").mkdir()
        fresh = self.make_index(tmp_path / "fresh")
        fresh.index_many([newest, *others])
        for query in ("harbor master lighthouse keys", "quetzal"):
            found = _ids(index, query)
            equal(found.count(keys.id), 1, "a record that is indexed again replaces what the index held of it")
        equal(
            sorted(_ids(index, "zanzibar")),
            sorted(_ids(fresh, "zanzibar")),
            "a record is not found by what an earlier version of it said",
        )

    def test_a_tombstone_removes_the_record(self, tmp_path: Path) -> None:
        index, (keys, closed, _) = self._filled(tmp_path)
        tombstone = MemoryRecord.tombstone(keys, reason="asked for")
        index.index(tombstone)
        for query in ("harbor master lighthouse keys", "redacted", MemoryRecord.REDACTED_BODY):
            demand(
                keys.id not in _ids(index, query), f"a redacted record is not found any more, but {query!r} finds it"
            )
        demand(closed.id in _ids(index, "harbor"), "a tombstone removes its own record and no other")
        index.index_many([make("Of one batch.", minute=9), MemoryRecord.tombstone(closed, reason="asked for")])
        demand(closed.id not in _ids(index, "harbor closed"), "index_many() takes tombstones as index() does")

    def test_query_syntax_is_only_text(self, tmp_path: Path) -> None:
        index, records = self._filled(tmp_path)
        for query in _HOSTILE:
            found = undisturbed(
                partial(index.candidates, query, 10),
                f"a query is text, never syntax: {query[:40]!r} must be answered",
            )
            demand(
                all(record_id in {record.id for record in records} and score > 0 for record_id, score in found),
                f"the query {query[:40]!r} finds records that were indexed, with scores above 0",
            )
        found = index.candidates("NOT harbor", 10)
        demand(found, "words that are operators elsewhere do not change what is found")
        equal(_ids(index, "flour")[:1], [records[2].id], "after hostile queries the index still answers")

    def test_hostile_text_can_be_indexed(self, tmp_path: Path) -> None:
        index, held = self._filled(tmp_path)
        records = [make(f"{text}…", minute=20 + n) for n, text in enumerate(_HOSTILE) if "\ud800" not in text]
        undisturbed(lambda: index.index_many(records), "any text a record may hold can be indexed")
        demand(held[2].id in _ids(index, "flour", 50), "what was there before hostile text was indexed is still found")

    def test_threads_may_index_and_search_at_once(self, tmp_path: Path) -> None:
        index, _ = self._filled(tmp_path)
        batches = [[make(f"harbor {part} {n}", minute=part * 10 + n) for n in range(5)] for part in range(1, 5)]
        acts: list[Callable[[], object]] = [partial(index.index_many, batch) for batch in batches]
        acts += [partial(index.candidates, "harbor", 50)] * 8
        together(acts, "an index may be used by several threads at once")
        wanted = {record.id for batch in batches for record in batch}
        demand(wanted <= set(_ids(index, "harbor", 50)), "nothing that threads indexed at once is lost")

    def test_closing_twice_is_allowed(self, tmp_path: Path) -> None:
        index, _ = self._filled(tmp_path)
        index.close()
        undisturbed(index.close, "close() may be called twice")

    def test_ids_are_never_invented(self, tmp_path: Path) -> None:
        index, _ = self._filled(tmp_path)
        demand(
            all(record_id != UNKNOWN for record_id, _ in index.candidates(UNKNOWN, 10)),
            "an id that was never indexed is never answered",
        )


def _ids(index: SearchIndex, query: str, k: int = 10) -> list[str]:
    return [record_id for record_id, _ in index.candidates(query, k)]

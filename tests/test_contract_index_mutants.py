"""The public contract of search indexes catches those that break it, each in one way."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_memory.ports import SearchIndex
from agent_memory.records import MemoryRecord
from agent_memory.search.vectors import InMemorySearchIndex
from agent_memory.testing import SearchIndexContract
from contract_verdicts import caught


class WordCount(SearchIndex):
    """A right one, to be broken: how many words are shared."""

    def __init__(self) -> None:
        self.held: list[tuple[str, frozenset[str]]] = []

    def index(self, record: MemoryRecord) -> None:
        self.held = [pair for pair in self.held if pair[0] != record.id]
        if not record.redacted:
            self.held.append((record.id, self.words(" ".join((record.body, *record.tags)))))

    def words(self, text: str) -> frozenset[str]:
        return frozenset("".join(c if c.isalnum() else " " for c in text.lower()).split())

    def candidates(self, query: str, k: int) -> tuple[tuple[str, float], ...]:
        asked = self.words(query)
        scored = [(record_id, float(len(asked & words))) for record_id, words in self.held if asked & words]
        return tuple(sorted(scored, key=lambda pair: -pair[1])[: max(k, 0)])


class KeepsDuplicates(WordCount):
    def index(self, record: MemoryRecord) -> None:
        if record.redacted:
            super().index(record)
        else:
            self.held.append((record.id, self.words(record.body)))


class AddsToWhatItHolds(WordCount):
    def index(self, record: MemoryRecord) -> None:
        before = dict(self.held).get(record.id, frozenset())
        super().index(record)
        self.held = [(i, words | before if i == record.id and not record.redacted else words) for i, words in self.held]


class KeepsTombstones(WordCount):
    def index(self, record: MemoryRecord) -> None:
        if not record.redacted:
            super().index(record)


class IndexesTombstones(WordCount):
    def index(self, record: MemoryRecord) -> None:
        self.held = [pair for pair in self.held if pair[0] != record.id]
        self.held.append((record.id, self.words(record.body)))


class WorstFirst(WordCount):
    def candidates(self, query: str, k: int) -> tuple[tuple[str, float], ...]:
        return super().candidates(query, k)[::-1]


class ZeroScores(WordCount):
    def candidates(self, query: str, k: int) -> tuple[tuple[str, float], ...]:
        asked = self.words(query)
        return tuple((i, float(len(asked & words))) for i, words in self.held)[: max(k, 0)]


class IgnoresK(WordCount):
    def candidates(self, query: str, k: int) -> tuple[tuple[str, float], ...]:
        return super().candidates(query, 1000)


class NegativeK(WordCount):
    def candidates(self, query: str, k: int) -> tuple[tuple[str, float], ...]:
        return super().candidates(query, 1000)[:k]


class ReadsSyntax(WordCount):
    def candidates(self, query: str, k: int) -> tuple[tuple[str, float], ...]:
        if query.count('"') % 2:
            raise ValueError("unbalanced quotes")
        return super().candidates(query, k)


class UnderstandsNot(WordCount):
    def candidates(self, query: str, k: int) -> tuple[tuple[str, float], ...]:
        return () if "NOT" in query else super().candidates(query, k)


INDEXES: dict[type[SearchIndex], str] = {
    KeepsDuplicates: "test_a_record_indexed_again_is_replaced",
    AddsToWhatItHolds: "test_a_record_indexed_again_is_replaced",
    KeepsTombstones: "test_a_tombstone_removes_the_record",
    IndexesTombstones: "test_a_tombstone_removes_the_record",
    WorstFirst: "test_text_that_overlaps_more_ranks_first",
    ZeroScores: "test_scores_are_positive_and_descend",
    IgnoresK: "test_at_most_k_are_answered",
    NegativeK: "test_at_most_k_are_answered",
    ReadsSyntax: "test_query_syntax_is_only_text",
    UnderstandsNot: "test_query_syntax_is_only_text",
}


@pytest.mark.parametrize(("broken", "by"), INDEXES.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_a_broken_index_is_caught(broken: type[SearchIndex], by: str, tmp_path: Path) -> None:
    assert by in caught(SearchIndexContract, lambda _: broken(), tmp_path)


@pytest.mark.parametrize("sound", [InMemorySearchIndex])
def test_a_sound_index_is_not(sound: type[SearchIndex], tmp_path: Path) -> None:
    assert caught(SearchIndexContract, lambda _: sound(), tmp_path) == set()

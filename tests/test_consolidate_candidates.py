"""Candidates: what is exact misses nothing, whatever the blocking does."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from agent_memory import MemoryRecord, kernel
from agent_memory.pipeline import Candidates
from agent_memory.pipeline.consolidate.values import disagreement
from agent_memory.text import analyse, reaches, trigram_overlap
from plain_store import said

_words = st.lists(
    st.sampled_from(["port", "ports", "not", "the", "open", "8443", "is", "needs", "日本", "!"]), min_size=1, max_size=6
)
_slots = st.dictionaries(st.sampled_from("ab"), st.sampled_from(["on", "off", "on now"]), max_size=2)
_records = st.lists(
    st.builds(
        lambda words, slots, key: said(" ".join(words), slots=slots, key=key),
        _words,
        _slots,
        st.sampled_from([None, None, "k::k"]),
    ),
    max_size=10,
).map(lambda records: sorted({record.id: record for record in records}.values(), key=lambda record: record.id))


def _found(kind: Candidates, records: list[MemoryRecord], threshold: float = 0.6) -> list[tuple[int, int]]:
    """The pairs as positions among the records, which are sorted by id."""
    columns = kernel.Columns()
    columns.update(record.canonical_bytes() for record in records)
    place = {record.id: position for position, record in enumerate(records)}
    if kind is Candidates.SAME_TERMS:
        return sorted(pair for block in columns.same_terms() for pair in combinations(map(place.__getitem__, block), 2))
    return [(place[first], place[second]) for first, second in columns.pairs(kind.value, threshold=threshold)]


def _all(records: list[MemoryRecord]) -> list[tuple[int, int]]:
    return list(combinations(range(len(records)), 2))


@given(_records, st.sampled_from([-1.0, 0.0, 0.1, 0.3, 0.5, 0.6, 2 / 3, 0.9, 1.0, 1.01]))
def test_similar_is_every_pair_that_reaches_the_threshold(records: list[MemoryRecord], threshold: float) -> None:
    expected = [
        (i, j)
        for i, j in _all(records)
        if threshold <= 0 or reaches(*trigram_overlap(records[i].body, records[j].body), threshold)
    ]
    assert _found(Candidates.SIMILAR, records, threshold) == expected


@given(_records)
def test_opposed_is_every_pair_that_disagrees(records: list[MemoryRecord]) -> None:
    expected = [(i, j) for i, j in _all(records) if disagreement(records[i], records[j]) is not None]
    assert _found(Candidates.OPPOSED, records) == expected


@given(_records)
def test_same_terms_is_every_pair_with_equal_content_terms(records: list[MemoryRecord]) -> None:
    said_by = [(analyse(record.body).terms, analyse(record.body).bare) for record in records]
    assert _found(Candidates.SAME_TERMS, records) == [(i, j) for i, j in _all(records) if said_by[i] == said_by[j]]


@given(_records)
def test_related_is_every_pair_with_a_term_or_slot_key_in_common(records: list[MemoryRecord]) -> None:
    labels = [{*analyse(record.body).terms} | {(name,) for name in record.slots} for record in records]
    assert _found(Candidates.RELATED, records) == [(i, j) for i, j in _all(records) if labels[i] & labels[j]]

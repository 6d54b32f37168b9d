"""The sweep of near duplicates over one statement said by many: as if every pair were asked, at the cost of the few."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory import ConsolidationOperators, MemoryRecord, Proposal, TrigramNearDupOperator, consolidate
from agent_memory.pipeline.consolidate import near
from agent_memory.pipeline.consolidate.partners import Partners
from plain_store import NOW, T0, PlainStore, picture, said, source

MANY = 4_000
BODIES = (
    "The staging database is Postgres.",
    "the staging database is Postgres",
    "A staging database is Postgres!!",
    "staging databases are Postgres",
)


class Everybody(Partners):
    """Fits nobody out: the plain sweep over all pairs."""

    def __init__(self, block: Iterator[MemoryRecord]) -> None:
        self._size = sum(1 for _ in block)

    def after(self, place: int, form: MemoryRecord) -> int | None:
        return place + 1 if place + 1 < self._size else None

    def grown(self, *_: Any) -> None:
        pass


@st.composite
def some(draw: st.DrawFn) -> list[MemoryRecord]:
    def choice(*values: Any) -> Any:
        return draw(st.sampled_from(values))

    records = [
        said(
            choice(*BODIES), days=number, by=source(f"s{number}"), confidence=choice(0.5, 0.9),
            slots=choice({}, {}, {"p": "v"}), key=choice(None, None, "k", "l"), object=choice(None, None, "o", "q"),
            extra=choice({}, {}, {"n": 1}, {"n": 2}),
        )
        for number in range(draw(st.integers(2, 9)))
    ]  # fmt: skip
    return sorted(records, key=lambda record: record.id)


@given(some(), st.sampled_from([0.0, 0.6, 0.8]))
def test_it_ends_as_if_every_pair_had_been_asked(records: list[MemoryRecord], threshold: float) -> None:
    def run() -> tuple[Any, ...]:
        store = PlainStore(*records)
        operators = ConsolidationOperators(near_dup=TrigramNearDupOperator(threshold=threshold))
        report = consolidate(store, operators=operators, now=NOW)
        return report.actions, report.rejections, picture(store)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near, "Partners", Everybody)
        expected = run()
    assert run() == expected


def alike(number: int, **fields: Any) -> MemoryRecord:
    return said(BODIES[number % 2], created_at=T0 + timedelta(milliseconds=number), **fields)


@pytest.mark.parametrize(
    ("differs", "left"),
    [
        (lambda n: alike(n, object=f"o{n}"), MANY),
        (lambda n: alike(n, slots={"p": f"v{n}"}), MANY),
        (lambda n: alike(n, key=f"k{n}" if n else None), MANY - 1),
    ],
    ids=["in object", "in slots", "in key, and one has none"],
)
def test_one_statement_under_many_terms_asks_about_few_pairs(
    differs: Callable[[int], MemoryRecord], left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were each pair asked, or only kept in mind, this would be eight million."""
    asked = 0
    plain = TrigramNearDupOperator.propose_merge

    def counting(self: TrigramNearDupOperator, a: MemoryRecord, b: MemoryRecord, *, now: datetime) -> Proposal | None:
        nonlocal asked
        asked += 1
        return plain(self, a, b, now=now)

    monkeypatch.setattr(TrigramNearDupOperator, "propose_merge", counting)
    store = PlainStore(*map(differs, range(MANY)))
    operators = ConsolidationOperators(near_dup=TrigramNearDupOperator())
    tracemalloc.start()
    try:
        consolidate(store, operators=operators, now=NOW)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert asked < 2 * MANY
    assert most < 100_000_000
    active_or_disputed = [held[-1] for held in store.versions.values() if held[-1].state.is_live]
    assert len(active_or_disputed) == left

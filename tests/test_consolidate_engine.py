"""Consolidation as a whole: nothing is lost, one pass is enough, and the same in gives the same out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory import (
    ArgumentError,
    ConsolidationConfig,
    ConsolidationOperators,
    MemoryRecord,
    RecordState,
    RecordType,
    StoreError,
    TrigramNearDupOperator,
    begin_transition,
    consolidate,
    default_operators,
)
from agent_memory.text import analyse, same_statement
from plain_store import NOW, BrokenStore, PlainStore, picture, said, source

LIVE = (RecordState.ACTIVE, RecordState.TRANSITIONAL)
UNRESOLVED = ConsolidationOperators.without_resolver()

_PARTS = (
    ["The staging port", "The port", "Sandro"],
    [" is ", " was ", " is not ", " needs ", " does not need "],
    ["8443", "9443", "a restart", "restarts", "Alice"],
    [".", "!", "", " ."],
)
_bodies = st.tuples(*map(st.sampled_from, _PARTS)).map("".join)


_MARKS: list[dict[str, Any]] = [
    {},
    {},
    {"slots": {"port": "8443"}},
    {"slots": {"port": "9443"}},
    {"slots": {"port": "8443"}, "user_id": "ann"},
    {"user_id": "ann"},
    {"user_id": "ann", "session_id": "s1", "confidence": 0.5},
    {"tags": ("a",)},
    {"tags": ("b", "a"), "value": 3.0},
    {"confidence": 0.5, "tags": ("b",)},
    {"key": "api::port"},
    {"key": "api::port", "object": "8443"},
    {"key": "db::port", "user_id": "ann"},
    {"object": "8443"},
    {"extra": {"x": 1}},
    {"extra": {"x": 2}, "tags": ("a",)},
]
_KINDS = [RecordType.FACT, RecordType.FACT, RecordType.PROCEDURE, RecordType.EPISODE]
_SOURCES = [source(None), source("crm/ann"), source("crm/ann", "correction")]


@st.composite
def _records(draw: st.DrawFn) -> MemoryRecord:
    kind, by, marks = draw(st.tuples(st.sampled_from(_KINDS), st.sampled_from(_SOURCES), st.sampled_from(_MARKS)))
    return said(draw(_bodies), kind=kind, by=by, days=draw(st.integers(0, 3)), **marks)


_stores = st.lists(_records(), max_size=12)


def _filled(records: list[MemoryRecord]) -> PlainStore:
    """A store of those records, the first of each id."""
    return PlainStore(*{record.id: record for record in reversed(records)}.values())


def _without_near_text(a: str, b: str) -> bool:
    return a == b or same_statement(analyse(a), analyse(b))


def _is_deferred(report: Any) -> bool:
    return any("deferred" in rejection.error for rejection in report.rejections)


@given(_stores)
def test_a_second_pass_changes_nothing(records: list[MemoryRecord]) -> None:
    store = _filled(records)
    report = consolidate(store, operators=UNRESOLVED, now=NOW)
    before = picture(store)
    again = consolidate(store, operators=UNRESOLVED, now=NOW + timedelta(days=1))
    assert again.actions == ()
    assert picture(store) == before
    assert report.touched == tuple(
        sorted({i for i, v in before.items() if len(v) > 1} | (before.keys() - {r.id for r in records}))
    )


@given(_stores)
def test_with_a_resolver_passes_end_in_a_state_that_stays(records: list[MemoryRecord]) -> None:
    store = _filled(records)
    for day in range(len(records) + 2):
        report = consolidate(store, now=NOW + timedelta(days=day))
        if not _is_deferred(report):
            break
    assert consolidate(store, now=NOW + timedelta(days=99)).actions == ()


@given(_stores)
def test_nothing_is_lost(records: list[MemoryRecord]) -> None:
    """Every statement stands in a live record of its own scope and type, with its slots, key and object."""
    store = _filled(records)
    originals = store.list()
    consolidate(store, operators=UNRESOLVED, now=NOW)
    for original in originals:
        record = store.get(original.id)
        while record.state not in LIVE:
            assert record.superseded_by is not None
            successor = store.get(record.superseded_by)
            assert record.id in successor.replaces
            record = successor
        assert record.type is original.type
        assert record.scope.consolidation == original.scope.consolidation
        assert _without_near_text(record.body, original.body)
        assert record.slots == original.slots
        assert original.key in (None, record.key)
        assert original.object in (None, record.object)
        assert store.history(original.id)[0] == original


@given(_stores, st.randoms())
def test_the_same_records_give_the_same_report_and_the_same_bytes_in_any_order(
    records: list[MemoryRecord], shuffled: Any
) -> None:
    first = _filled(records)
    reports = [consolidate(first, now=NOW)]
    held = [first.history(record_id)[0] for record_id in {record.id for record in records}]
    shuffled.shuffle(held)
    second = PlainStore(*held)
    reports.append(consolidate(second, now=NOW))
    assert reports[0] == reports[1]
    assert picture(first) == picture(second)


@given(_stores)
def test_whatever_is_written_is_legal_and_reports_quote_nothing(records: list[MemoryRecord]) -> None:
    store = _filled(records)
    report = consolidate(store, now=NOW)
    for versions in store.versions.values():
        for version in versions:
            assert MemoryRecord.model_validate(version.model_dump()) == version
    for record in store.list(state=RecordState.TRANSITIONAL):
        assert record.transition is not None
        partner = store.get(record.transition.other(record.id))
        assert partner.transition == record.transition
    told = repr(report) + "".join(record.state_reason or "" for record in store.list())
    told = re.sub("mem:[0-9a-f]{32}", "", told)  # whose digits may be those of a port
    for quoted in ("taging", "8443", "Sandro", "crm", "Alice"):
        assert quoted not in told


@given(_stores)
def test_scopes_do_not_touch_each_other(records: list[MemoryRecord]) -> None:
    """Consolidating two users together is consolidating each alone."""
    together = _filled(records)
    held = together.list()
    consolidate(together, operators=UNRESOLVED, now=NOW)
    for user in (None, "ann"):
        alone = PlainStore(*(record for record in held if record.scope.user_id == user))
        consolidate(alone, operators=UNRESOLVED, now=NOW)
        original = {record.id for record in held if record.scope.user_id == user}
        assert {i: together.get(i).state for i in original} == {i: alone.get(i).state for i in original}
        made = [
            [
                (r.body, r.tags, r.evidence, r.supersedes, r.supersedes_also)
                for r in store.list()
                if r.id not in {h.id for h in held} and r.scope.user_id == user
            ]
            for store in (together, alone)
        ]
        assert sorted(made[0]) == sorted(made[1])


def test_a_pass_reads_the_store_once() -> None:
    store = PlainStore(*(said(f"Fact number {i}.") for i in range(20)))
    store.lists = 0
    consolidate(store, now=NOW)
    assert store.lists == 1


def test_everything_happens_in_one_transaction() -> None:
    class Counting(PlainStore):
        inside = False
        wrote_outside = False

        @contextmanager
        def transaction(self) -> Iterator[None]:
            outer, self.inside = self.inside, True
            try:
                yield
            finally:
                self.inside = outer

        def put(self, record: MemoryRecord) -> None:
            self.wrote_outside |= not self.inside
            super().put(record)

    store = Counting()
    for i in range(3):
        PlainStore.put(store, said("Same.", by=source(str(i))))
    assert consolidate(store, now=NOW).actions
    assert not store.wrote_outside


def test_a_store_that_fails_is_an_error() -> None:
    store = BrokenStore()
    for by in (source("a"), source("b")):
        PlainStore.put(store, said("Same.", by=by))
    with pytest.raises(StoreError, match="full"):
        consolidate(store, now=NOW)


def test_an_empty_store_gives_an_empty_report() -> None:
    report = consolidate(PlainStore(), now=NOW)
    assert (report.actions, report.rejections, report.touched) == ((), (), ())


def test_progress_tells_each_pass_from_start_to_end() -> None:
    calls: list[tuple[str, int, int]] = []
    store = PlainStore(said("One is here."), said("Two is there."))
    consolidate(store, now=NOW, progress=lambda *call: calls.append(call))
    names = list(dict.fromkeys(name for name, _, _ in calls))
    assert names == [
        "read",
        "heal",
        "dedup.exact",
        "dedup.near",
        "contradiction",
        "resolution",
        "promotion",
        "rule-flags",
    ]
    for name in names:
        own = [call for call in calls if call[0] == name]
        assert own[0][1] == 0
        assert own[-1][1] == own[-1][2]


def test_a_naive_now_is_an_error() -> None:
    with pytest.raises(ValueError, match="timezone"):
        consolidate(PlainStore(), now=NOW.replace(tzinfo=None))


@pytest.mark.parametrize(
    "wrong",
    [
        {"near_dup_threshold": float("nan")},
        {"near_dup_threshold": "0.6"},
        {"promotion_threshold": 0},
        {"promotion_threshold": 2.5},
        {"promotion_threshold": True},
    ],
)
def test_a_config_outside_its_range_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=next(iter(wrong))):
        ConsolidationConfig(**wrong)


def test_the_threshold_of_the_config_is_that_of_the_default_operator() -> None:
    near_dup = default_operators(ConsolidationConfig(near_dup_threshold=0.9)).near_dup
    assert isinstance(near_dup, TrigramNearDupOperator)
    assert near_dup.threshold == 0.9


class TestHeal:
    def _disputed(self) -> tuple[MemoryRecord, MemoryRecord]:
        return begin_transition(said("Tea is good."), said("Rain is wet."), reason="x", now=NOW)

    def test_a_side_whose_other_side_is_gone_returns_to_active(self) -> None:
        a, _ = self._disputed()
        store = PlainStore(a)
        report = consolidate(store, now=NOW)
        healed = store.get(a.id)
        assert healed.state is RecordState.ACTIVE
        assert healed.transition is None
        assert [(x.action, x.record_ids) for x in report.by_pass("heal")] == [("reopen", (a.id,))]

    def test_a_side_whose_other_side_is_in_another_dispute_returns_to_active(self) -> None:
        a, b = self._disputed()
        third = said("Snow is cold.")
        b_elsewhere, c = begin_transition(said("Rain is wet."), third, reason="y", now=NOW)
        assert b.id == b_elsewhere.id
        store = PlainStore(a, b_elsewhere, c)
        consolidate(store, operators=UNRESOLVED, now=NOW)
        assert store.get(a.id).state is RecordState.ACTIVE
        assert store.get(c.id).state is store.get(b.id).state is RecordState.TRANSITIONAL

    def test_a_dispute_with_both_sides_is_left_alone(self) -> None:
        store = PlainStore(*self._disputed())
        assert consolidate(store, operators=UNRESOLVED, now=NOW).actions == ()

    def test_what_was_healed_takes_part_in_the_same_pass(self) -> None:
        a, _ = self._disputed()
        store = PlainStore(a, said(a.body, by=source("other")))
        report = consolidate(store, now=NOW)
        assert len(report.by_pass("dedup.exact")) == 1

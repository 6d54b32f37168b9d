"""Outcomes: what a credit and a slash write, whom they reach, and that recall alone weighs them."""

from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fg_agent_id import KeyPair
from hypothesis import given
from hypothesis import strategies as st

from agent_memory import (
    ArgumentError,
    InMemoryRecordStore,
    Memory,
    MemoryRecord,
    Outcome,
    RecordError,
    RecordState,
    Standing,
    StoreError,
    supersede,
)
from agent_memory.extension import MAX_COUNT
from agent_memory.lineage import drawn_from, is_from
from plain_store import T0, said, source

LATER = T0 + timedelta(days=3)


def opened(*records: MemoryRecord, **more: Any) -> Memory:
    store = InMemoryRecordStore()
    store.put_many(records)
    return Memory(store=store, auto_consolidate=False, **more)


def standing(memory: Memory, record: MemoryRecord) -> tuple[int, int] | None:
    held = memory.get(record.id).standing
    return None if held is None else (held.good, held.bad)


class TestCredit:
    def test_it_appends_a_version_that_says_who_what_when_and_why_and_changes_nothing_else(self) -> None:
        record = said("The fix works.", tags=["ops"])
        memory = opened(record)
        credited = memory.credit(record.id, weight=2, reason="it held", by="carol")
        assert credited == memory.get(record.id)
        assert credited.standing == Standing(2, 0)
        assert credited.outcome is not None
        assert (credited.outcome.reason, credited.outcome.by) == ("it held", "carol")
        assert credited.outcome.at >= T0
        assert credited.evolve({"standing": None, "outcome": None}) == record
        assert len(memory.history(record.id)) == 2

    def test_good_and_bad_are_counted_apart(self) -> None:
        record = said("The fix works.")
        memory = opened(record)
        memory.credit(record.id)
        memory.credit(record.id, good=False, weight=3)
        memory.credit(record.id, True, 4)
        assert standing(memory, record) == (5, 3)
        assert [version.standing for version in memory.history(record.id)] == [
            None,
            Standing(1, 0),
            Standing(1, 3),
            Standing(5, 3),
        ]

    def test_without_a_reason_it_says_what_was_credited(self) -> None:
        record = said("The fix works.")
        outcome = opened(record).credit(record.id, good=False, weight=2).outcome
        assert outcome is not None
        assert (outcome.reason, outcome.by) == ("credited as bad, 2", None)

    def test_the_agent_of_the_memory_is_who_says_so(self) -> None:
        memory = Memory(None, identity=KeyPair.generate())
        result = memory.remember("The fix works.")
        credited = memory.credit(result.record_id or "")
        assert credited.outcome is not None
        assert credited.outcome.by == memory.agent
        credited.verify()

    def test_it_touches_no_state_and_no_reason_of_it(self) -> None:
        old = said("old")
        new = said("new", supersedes=old.id, days=1)
        memory = opened(new, supersede(old, new, reason="moved on", now=LATER))
        credited = memory.credit(old.id, good=False)
        assert (credited.state, credited.state_reason) == (RecordState.SUPERSEDED, "moved on")

    def test_a_bad_outcome_makes_nothing_young_again(self) -> None:
        record = said("The fix works.")
        assert opened(record).credit(record.id, good=False).updated_at == record.updated_at

    @pytest.mark.parametrize(
        "wrong",
        [
            {"weight": 0},
            {"weight": -1},
            {"weight": 1.5},
            {"weight": True},
            {"weight": "1"},
            {"weight": MAX_COUNT + 1},
            {"weight": 10**400},
            {"good": 1},
            {"good": "yes"},
            {"good": None},
            {"reason": ""},
            {"reason": "  "},
            {"reason": 5},
            {"reason": "\ud800"},
            {"by": ""},
            {"by": 5},
            {"by": "\ud800"},
        ],
    )
    def test_an_argument_outside_its_range_is_refused_and_nothing_written(self, wrong: dict[str, Any]) -> None:
        record = said("The fix works.")
        memory = opened(record)
        with pytest.raises((ArgumentError, RecordError)):
            memory.credit(record.id, **wrong)
        assert memory.history(record.id) == (record,)

    def test_a_count_never_grows_beyond_what_every_reader_holds(self) -> None:
        record = said("The fix works.", standing=Standing(MAX_COUNT - 1, MAX_COUNT))
        memory = opened(record)
        assert memory.credit(record.id).standing == Standing(MAX_COUNT, MAX_COUNT)
        with pytest.raises(ArgumentError, match="weight is too great"):
            memory.credit(record.id)

    def test_an_unknown_id_and_a_tombstone_are_refused(self) -> None:
        record = said("The fix works.")
        memory = opened(record)
        with pytest.raises(StoreError, match="unknown"):
            memory.credit("mem:" + "0" * 32)
        memory.redact(record.id, "asked to")
        with pytest.raises(RecordError, match="redacted"):
            memory.credit(record.id)

    def test_no_credit_of_several_threads_and_processes_is_lost(self, tmp_path: Path) -> None:
        with Memory(tmp_path / "m.db") as first, Memory(tmp_path / "m.db") as second:
            record_id = first.remember("The fix works.").record_id or ""

            def many(memory: Memory) -> None:
                for _ in range(10):
                    memory.credit(record_id)

            threads = [threading.Thread(target=many, args=(memory,)) for memory in (first, second, first)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert second.get(record_id).standing == Standing(30, 0)

    def test_a_value_that_is_restored_begins_without_outcomes(self) -> None:
        memory = opened()
        old = memory.remember("The port is 1.", key="k::port", object="1").record_id or ""
        memory.credit(old)
        memory.remember("The port is 2.", key="k::port", object="2")
        restored = memory.get(memory.revert("k::port").record_id or "")
        assert (restored.body, restored.standing, restored.outcome) == ("The port is 1.", None, None)

    def test_outcomes_of_copies_are_added_up_and_the_keeper_tells_its_last(self) -> None:
        copies = [said("The fix works.", days=day) for day in range(2)]
        memory = opened(*copies)
        memory.credit(copies[0].id, reason="first")
        memory.credit(copies[1].id, weight=2, reason="second")
        memory.consolidate()
        kept = memory.get(copies[1].id)
        assert (kept.state, kept.standing) == (RecordState.ACTIVE, Standing(3, 0))
        assert kept.outcome is not None
        assert kept.outcome.reason == "second"

    def test_an_outcome_survives_export_and_load(self, tmp_path: Path) -> None:
        record = said("The fix works.")
        memory = opened(record)
        credited = memory.credit(record.id, reason="it held", by="carol")
        memory.export(tmp_path / "x.json")
        loaded = Memory.load(tmp_path / "x.json", verify=False)
        assert loaded.get(record.id) == credited


class TestRecall:
    def test_the_factors_show_what_a_standing_and_an_importance_are_worth(self) -> None:
        records = [said(f"The zebra is number {number}.", days=0) for number in range(3)]
        memory = opened(*records)
        memory.credit(records[0].id, weight=9)
        memory.credit(records[1].id, good=False, weight=9)
        found = {item.record.id: item for item in memory.recall("zebra", touch=False)}
        factors = [found[record.id].factors for record in records]
        assert [item and round(item.standing, 4) for item in factors] == [1.4091, 0.5909, 1.0]
        assert [item.record.id for item in memory.recall("zebra")] == [records[0].id, records[2].id, records[1].id]
        dear = memory.remember("The zebra is dear.", value=1000).record_id
        (item,) = [item for item in memory.recall("zebra") if item.record.id == dear]
        assert item.factors is not None
        assert round(item.factors.importance, 3) == 7.908

    def test_importance_has_bounds_and_a_repetition_keeps_the_greater(self) -> None:
        memory = opened()
        for wrong in (0, 0.99, -1, 1_000_000.1, 10**400, float("nan"), float("inf"), "2", True):
            with pytest.raises(ArgumentError, match="value"):
                memory.remember("The zebra is here.", value=wrong)  # type: ignore[arg-type]
        record_id = memory.remember("The zebra is here.", value=5).record_id or ""
        for value, held in ((3, 5.0), (None, 5.0), (7.12345, 7.1234), (1, 7.1234)):
            assert memory.remember("The zebra is here.", value=value).deduped
            assert memory.get(record_id).value == pytest.approx(held, abs=1e-4)
        assert len(memory.history(record_id)) == 2


class TestSlash:
    def test_it_takes_the_good_for_bad_and_at_least_one(self) -> None:
        first = said("a", by=source("crm/alice"), standing=Standing(5, 2))
        second = said("b", by=source("crm/alice/notes"))
        other = said("c", by=source("crm/alicea"), standing=Standing(5, 2))
        memory = opened(first, second, other)
        report = memory.slash("crm/alice", "it was made up", by="carol")
        assert (set(report.matched), report.derived, report.outside) == ({first.id, second.id}, (), 0)
        assert (standing(memory, first), standing(memory, second)) == ((0, 7), (0, 1))
        assert memory.history(other.id) == (other,)
        outcome = memory.get(first.id).outcome
        assert outcome is not None
        assert (outcome.reason, outcome.by) == ("it was made up", "carol")

    def test_it_reaches_what_was_drawn_from_it_however_far_and_not_what_replaced_it(self) -> None:
        origin = said("a", by=source("forum"))
        drawn = said("b", by=source("me"), evidence=[origin.id])
        further = said("c", by=source("me"), evidence=[drawn.id])
        correction = said("d", by=source("me"), supersedes=origin.id, days=1)
        memory = opened(supersede(origin, correction, reason="x", now=LATER), drawn, further, correction)
        report = memory.slash("forum", "wrong")
        assert report.matched == (origin.id,)
        assert set(report.derived) == {drawn.id, further.id}
        assert [standing(memory, record) for record in (origin, drawn, further, correction)] == [
            (0, 1),
            (0, 1),
            (0, 1),
            None,
        ]

    def test_it_goes_through_tombstones_and_leaves_them(self) -> None:
        origin = said("a", by=source("forum"))
        drawn = said("b", by=source("me"), evidence=[origin.id])
        further = said("c", by=source("me"), evidence=[drawn.id])
        memory = opened(origin, drawn, further)
        memory.redact(drawn.id, "asked to", cascade=False)
        report = memory.slash("forum", "wrong")
        assert (report.matched, report.derived) == ((origin.id,), (further.id,))

    def test_outside_a_pin_it_matches_nothing_and_follows_lineage_uncounted_by_name(self) -> None:
        mine = said("a", by=source("forum"), user_id="alice")
        other = said("b", by=source("forum"), user_id="bob")
        drawn = said("c", by=source("me"), user_id="bob", evidence=[mine.id])
        memory = opened(mine, other, drawn, user_id="alice")
        report = memory.slash("forum", "wrong")
        assert (report.matched, report.derived, report.outside) == ((mine.id,), (), 1)
        whole = Memory(store=memory.store._store)  # type: ignore[attr-defined]
        assert [standing(whole, record) for record in (mine, other, drawn)] == [(0, 1), None, (0, 1)]

    def test_a_source_nothing_came_from_slashes_nothing(self) -> None:
        memory = opened(said("a"))
        assert memory.slash("nobody", "x") == memory.slash("talk-1/below", "x")
        assert [len(memory.history(record.id)) for record in memory.list()] == [1]

    @pytest.mark.parametrize("wrong", [("", "x"), (" ", "x"), (5, "x"), (None, "x"), ("s", ""), ("s", " "), ("s", 5)])
    def test_it_needs_a_source_and_a_reason(self, wrong: tuple[Any, Any]) -> None:
        with pytest.raises(ArgumentError):
            opened().slash(*wrong)

    def test_a_source_is_compared_in_its_normal_form(self) -> None:
        record = said("a", by=source("caf\u00e9/menu"))
        assert opened(record).slash("cafe\u0301", "x").matched == (record.id,)

    def test_a_failure_on_the_way_leaves_nothing_written(self) -> None:
        class Failing(InMemoryRecordStore):
            failing = False

            def put_many(self, records: Any) -> None:
                for number, record in enumerate(records):
                    if self.failing and number:
                        raise StoreError("the disk is full")
                    super().put_many([record])

        store = Failing()
        store.put_many([said("a", by=source("forum")), said("b", by=source("forum"))])
        memory = Memory(store=store, auto_consolidate=False)
        store.failing = True
        with pytest.raises(StoreError):
            memory.slash("forum", "x")
        assert [record.standing for record in store.list()] == [None, None]

    @given(
        st.lists(
            st.tuples(st.sampled_from(["s", "s/a", "s/a/b", "sa", "t", None]), st.sets(st.integers(0, 9))), max_size=10
        ),
        st.sampled_from(["s", "s/a", "s/", "t", "u"]),
    )
    def test_it_reaches_what_the_model_says(self, items: list[tuple[str | None, set[int]]], name: str) -> None:
        records: list[MemoryRecord] = []
        for number, (ref, drawn) in enumerate(items):
            evidence = [records[index].id for index in sorted(drawn) if index < number]
            records.append(said(f"Number {number}.", by=source(ref), evidence=evidence))
        reached = set()
        for number, (ref, drawn) in enumerate(items):
            below = ref is not None and (ref == name or ref.startswith(name.rstrip("/") + "/"))
            if below or any(index in reached for index in drawn if index < number):
                reached.add(number)
        newest = {record.id: record for record in records}
        matched = [record.id for record in records if is_from(record, name)]
        assert set(drawn_from(newest, matched)) == {records[number].id for number in reached}
        memory = opened(*records)
        report = memory.slash(name, "x")
        assert {*report.matched, *report.derived} == {records[number].id for number in reached}
        assert len(report.matched) == len(matched)
        assert {record.id for record in memory.list() if record.standing} == {*report.matched, *report.derived}


class TestTheOutcomeItself:
    def test_it_is_nothing_without_a_standing(self) -> None:
        with pytest.raises(RecordError, match="standing"):
            said("x", outcome=Outcome(at=T0, reason="r"))

    @pytest.mark.parametrize("wrong", [{"at": "now"}, {"at": T0.replace(tzinfo=None)}, {"reason": ""}, {"by": ""}])
    def test_it_refuses_what_it_cannot_be(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(RecordError):
            Outcome(**{"at": T0, "reason": "r", **wrong})

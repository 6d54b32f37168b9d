"""Decay: what fades, by how much, and what is kept although it faded."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory import (
    ArgumentError,
    DecayConfig,
    RecordError,
    RecordState,
    RecordType,
    SalienceScores,
    begin_transition,
    decay,
    supersede,
)
from agent_memory.pipeline import salience
from plain_store import NOW, T0, PlainStore, repeat, said

LATE = T0 + timedelta(days=365)
CONFIG = DecayConfig()
ID = "mem:" + "a" * 32


class TestSalience:
    @given(st.floats(0, 1), st.integers(0, 40))
    def test_it_halves_with_every_half_life(self, confidence: float, halves: int) -> None:
        record = said("x", confidence=confidence)
        now = T0 + timedelta(days=30 * halves)
        value = salience(record, touches=0, last_touched=None, now=now, config=CONFIG)
        assert value == pytest.approx(record.confidence * 0.5**halves)

    def test_a_touch_adds_a_quarter_and_makes_it_young_again(self) -> None:
        value = salience(said("x"), touches=2, last_touched=LATE, now=LATE, config=CONFIG)
        assert value == pytest.approx(1.5)

    def test_age_counts_from_the_later_of_change_and_touch(self) -> None:
        value = salience(said("x"), touches=0, last_touched=T0 - timedelta(days=300), now=T0, config=CONFIG)
        assert value == 1.0

    def test_a_clock_set_back_makes_nothing_older_or_stronger(self) -> None:
        assert salience(said("x"), touches=0, last_touched=None, now=T0 - timedelta(days=9), config=CONFIG) == 1.0

    @pytest.mark.parametrize(
        "wrong",
        [
            {"half_life_days": 0},
            {"half_life_days": -1},
            {"half_life_days": float("nan")},
            {"half_life_days": "30"},
            {"half_life_days": True},
            {"reinforcement_bonus": -0.1},
            {"archive_threshold": float("inf")},
        ],
    )
    def test_a_config_outside_its_range_is_refused(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(ArgumentError, match=next(iter(wrong))):
            DecayConfig(**wrong)


class TestDecay:
    def test_what_faded_is_archived_with_the_salience_as_reason_and_nothing_is_deleted(self) -> None:
        record = said("Zebra.")
        store = PlainStore(record)
        report = decay(store, now=LATE)
        kept = store.get(record.id)
        assert kept.state is RecordState.ARCHIVED
        assert kept.body == "Zebra."
        assert kept.updated_at == LATE
        assert "salience" in (kept.state_reason or "")
        assert len(store.history(record.id)) == 2
        assert [(a.action, a.record_ids, a.before, a.after) for a in report.archived] == [
            ("archive", (record.id,), ("active",), ("archived",))
        ]
        assert report.saliences[record.id] < CONFIG.archive_threshold

    def test_at_the_threshold_a_record_stays(self) -> None:
        store = PlainStore(said("x", confidence=0.05))
        assert decay(store, now=T0).archived == ()

    def test_touches_keep_a_record(self) -> None:
        record = said("x")
        scores = SalienceScores()
        scores.touch(record.id, now=LATE)
        assert decay(PlainStore(record), scores=scores, now=LATE).archived == ()

    def test_superseded_records_fade_too_and_keep_naming_their_successor(self) -> None:
        old = said("old")
        new = said("new", supersedes=old.id, days=364)
        store = PlainStore(new, supersede(old, new, reason="x", now=T0))
        decay(store, now=LATE)
        assert store.get(old.id).state is RecordState.ARCHIVED
        assert store.get(old.id).superseded_by == new.id

    def test_the_archived_are_not_looked_at(self) -> None:
        store = PlainStore(said("x"))
        decay(store, now=LATE)
        again = decay(store, now=LATE)
        assert (again.archived, again.protected, dict(again.saliences)) == ((), (), {})

    def test_half_lives_may_differ_by_record(self) -> None:
        event, fact = said("An event.", kind=RecordType.EPISODE), said("A fact.")
        store = PlainStore(event, fact)
        decay(store, now=NOW, half_life=lambda record: 7.0 if record.type is RecordType.EPISODE else 30.0)
        assert store.get(event.id).state is RecordState.ARCHIVED
        assert store.get(fact.id).state is RecordState.ACTIVE

    def test_the_same_store_and_clock_give_the_same_report_in_any_order(self) -> None:
        records = [said(f"fact {i}", days=i) for i in range(5)]
        assert decay(PlainStore(*records), now=LATE) == decay(PlainStore(*reversed(records)), now=LATE)

    def test_no_report_quotes_a_record(self) -> None:
        report = decay(PlainStore(said("Zebra.", tags=["Zebra"], key="Zebra::k", object="Zebra")), now=LATE)
        assert "Zebra" not in repr(report)


class TestProtection:
    def _kept(self, store: PlainStore, record_id: str, why: str) -> None:
        before = store.get(record_id)
        report = decay(store, now=LATE)
        assert store.get(record_id) == before
        (action,) = [a for a in report.protected if a.record_ids == (record_id,)]
        assert action.action == "protect"
        assert action.before == action.after == (before.state.value,)
        assert why in action.reason

    def test_both_sides_of_a_dispute_stay(self) -> None:
        a, b = begin_transition(said("a"), said("b"), reason="x", now=T0)
        for side in (a, b):
            self._kept(PlainStore(a, b), side.id, "both sides")

    def test_an_unflagged_rule_and_its_evidence_stay(self) -> None:
        episode = said("It happened.", kind=RecordType.EPISODE)
        rule = said("Always.", kind=RecordType.RULE, evidence=[episode.id])
        self._kept(PlainStore(episode, rule), rule.id, "unflagged rule")
        self._kept(PlainStore(episode, rule), episode.id, "evidence by an active rule")

    def test_a_flagged_rule_fades(self) -> None:
        rule = said("Always.", kind=RecordType.RULE, evidence=[ID])
        store = PlainStore(rule.evolve({"flagged": True, "flag_reason": "x"}))
        assert len(decay(store, now=LATE).archived) == 1

    def test_the_standing_record_of_a_key_stays(self) -> None:
        record = said("The port is 8443.", key="api::port")
        self._kept(PlainStore(record), record.id, "standing record of its key")

    def test_what_has_not_faded_is_not_reported_as_protected(self) -> None:
        assert decay(PlainStore(said("x", key="a::b")), now=T0).protected == ()


class TestScores:
    def test_they_survive_being_written_and_read(self) -> None:
        scores = SalienceScores()
        scores.touch(ID, now=NOW)
        scores.touch(ID, now=T0)
        data = scores.to_dict()
        assert data == {"scores": {ID: {"touches": 2, "last_touched": "2026-02-01T00:00:00.000Z"}}}
        assert SalienceScores.from_dict(data).to_dict() == data

    def test_an_id_never_touched_has_no_touches(self) -> None:
        assert (SalienceScores().touches(ID), SalienceScores().last_touched(ID)) == (0, None)
        assert SalienceScores.from_dict({}).to_dict() == {"scores": {}}

    @pytest.mark.parametrize(
        ("data", "place"),
        [
            ([], "salience"),
            (None, "salience"),
            ({"scores": []}, "scores"),
            ({"scores": {"Zebra": {}}}, "scores"),
            ({"scores": {ID: 3}}, ID),
            ({"scores": {ID: {"touches": 1}}}, "last_touched"),
            ({"scores": {ID: {"last_touched": "2026-02-01T00:00:00.000Z"}}}, "touches"),
            ({"scores": {ID: {"touches": 0, "last_touched": "2026-02-01T00:00:00.000Z"}}}, "touches"),
            ({"scores": {ID: {"touches": True, "last_touched": "2026-02-01T00:00:00.000Z"}}}, "touches"),
            ({"scores": {ID: {"touches": "1", "last_touched": "2026-02-01T00:00:00.000Z"}}}, "touches"),
            ({"scores": {ID: {"touches": 1, "last_touched": "yesterday"}}}, "last_touched"),
            ({"scores": {ID: {"touches": 1, "last_touched": "2026-02-01T00:00:00"}}}, "last_touched"),
            ({"scores": {ID: {"touches": 1, "last_touched": 5}}}, "last_touched"),
        ],
    )
    def test_rubbish_is_an_error_that_names_the_place(self, data: Any, place: str) -> None:
        with pytest.raises(RecordError) as caught:
            SalienceScores.from_dict(data)
        assert place in str(caught.value)
        assert "Zebra" not in str(caught.value)

    def test_no_touch_of_several_threads_is_lost(self) -> None:
        scores = SalienceScores()
        threads = [threading.Thread(target=repeat, args=(lambda: scores.touch(ID, now=NOW),)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert scores.touches(ID) == 4000

    def test_a_naive_time_is_an_error(self) -> None:
        with pytest.raises(ValueError, match="timezone"):
            SalienceScores().touch(ID, now=NOW.replace(tzinfo=None))

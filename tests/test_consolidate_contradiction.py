"""Contradictions and their resolution: what is disputed, once at a time, and who wins."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory import (
    ConsolidationOperators,
    ConsolidationReport,
    HeuristicContradictionOperator,
    HeuristicResolutionOperator,
    LifecycleError,
    MemoryRecord,
    Proposal,
    ProposalKind,
    RecordState,
    RecordType,
    StoreError,
    TrigramNearDupOperator,
    begin_transition,
    consolidate,
    resolve,
)
from agent_memory.kernel.reference.pairs import BLOCK_LIMIT
from agent_memory.pipeline import CORRECTION_KIND, ContradictionOperator, ResolutionOperator
from plain_store import NOW, T0, PlainStore, picture, said, source, states

NEVER = TrigramNearDupOperator(threshold=1.01)


def detect(store: PlainStore, operator: ContradictionOperator | None = None) -> ConsolidationReport:
    contradiction = operator or HeuristicContradictionOperator()
    return consolidate(store, operators=ConsolidationOperators(near_dup=NEVER, contradiction=contradiction), now=NOW)


def disputed(*records: MemoryRecord) -> bool:
    store = PlainStore(*records)
    found = bool(detect(store).by_pass("contradiction"))
    assert found == any(record.state is RecordState.TRANSITIONAL for record in store.list())
    return found


class TestDetection:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("The staging database is Postgres.", "The staging database is not Postgres."),
            ("The backend requires a restart after edits.", "The backend does not require a restart after edits."),
            (
                "The operator backend hot-reloads; no restart needed.",
                "The operator backend requires a restart after edits.",
            ),
        ],
    )
    def test_one_that_denies_the_other_is_disputed(self, one: str, other: str) -> None:
        assert disputed(said(one), said(other))

    @pytest.mark.parametrize("values", [("on", "off"), ("a", "b"), ("1", "2"), ("us-east-1", "eu-west-1")])
    def test_two_values_of_one_slot_are_disputed(self, values: tuple[str, str]) -> None:
        assert disputed(*(said(f"Mode {n}.", slots={"m": value}) for n, value in enumerate(values)))

    def test_more_detail_is_no_contradiction(self) -> None:
        assert not disputed(said("x one", slots={"db": "Postgres"}), said("y two", slots={"db": "Postgres 14"}))

    def test_two_values_of_one_key_are_disputed(self) -> None:
        a, b = said("Runs in Berlin.", key="api::region"), said("Lives at Frankfurt now.", key="api::region")
        assert disputed(a, b)
        assert not disputed(a, said("Lives at Frankfurt now.", key="db::region"))

    def test_objects_alone_decide_when_both_have_one(self) -> None:
        a = said("Runs in Berlin.", key="api::region", object="berlin")
        assert not disputed(a, said("The region: Berlin, of course.", key="api::region", object="Berlin"))
        assert disputed(a, said("Runs in Berlin, sort of.", key="api::region", object="potsdam"))

    @pytest.mark.parametrize("kind", [RecordType.EPISODE, RecordType.RULE])
    def test_only_facts_and_procedures_are_disputed(self, kind: RecordType) -> None:
        seen = said("Something was seen.", kind=RecordType.EPISODE)
        fields: dict[str, Any] = {"kind": kind, "evidence": [seen.id]}
        assert not disputed(seen, said("The build passed.", **fields), said("The build did not pass.", **fields))
        procedures = [said(text, kind=RecordType.PROCEDURE) for text in ("Restart the api.", "Do not restart the api.")]
        assert disputed(*procedures)

    @pytest.mark.parametrize(
        "apart", [{"user_id": "bob"}, {"project": "p"}, {"agent_id": "a"}, {"kind": RecordType.PROCEDURE}]
    )
    def test_another_scope_or_type_is_no_contradiction(self, apart: dict[str, Any]) -> None:
        assert not disputed(said("The api is up."), said("The api is not up.", **apart))

    @pytest.mark.parametrize(
        ("one", "other"),
        [("Sandro likes coffee.", "Sandro likes tea."), ("The deploy target is big.", "The password is not weekly.")],
    )
    def test_a_mere_difference_is_no_contradiction(self, one: str, other: str) -> None:
        assert not disputed(said(one), said(other))

    def test_a_dispute_shows_on_both_sides(self) -> None:
        a, b = said("The api is up."), said("The api is not up.")
        store = PlainStore(a, b)
        (action,) = detect(store).by_pass("contradiction")
        assert action.reason == "one denies what the other states"
        assert (action.action, set(action.record_ids)) == ("transition", {a.id, b.id})
        assert (action.before, action.after) == (("active",) * 2, ("transitional",) * 2)
        for record_id in (a.id, b.id):
            transition = store.get(record_id).transition
            assert transition is not None
            assert set(transition.sides) == {a.id, b.id}

    @given(st.lists(st.tuples(*map(st.sampled_from, ("ab", "ab", ["", "not "], ["1", "2", None]))), max_size=9))
    def test_no_pair_is_missed(self, claims: list[tuple[str, str, str, str | None]]) -> None:
        """What blocking finds is what asking about every pair finds: one dispute or one deferral each."""
        records = {
            r.id: r
            for n, (x, y, no, slot) in enumerate(claims)
            for r in [said(f"Alpha{x} is {no}beta{y} gamma {n}.", slots={} if slot is None else {"s": slot})]
        }
        operator = HeuristicContradictionOperator()
        ordered = sorted(records.values(), key=lambda record: record.id)
        expected = [
            f"pair {a.id} {b.id}"
            for a, b in combinations(ordered, 2)
            if operator.propose_contradiction(a, b) is not None
        ]
        report = detect(PlainStore(*ordered))
        opened = ["pair " + " ".join(action.record_ids) for action in report.by_pass("contradiction")]
        deferred = [rejection.detail for rejection in report.rejections]
        assert sorted(opened + deferred) == sorted(expected)


class TestOneDisputeAtATime:
    def test_further_pairs_are_deferred_and_seen_again(self) -> None:
        records = [said(f"Region {n}.", slots={"r": str(n)}) for n in range(3)]
        store = PlainStore(*records)
        report = detect(store)
        assert sorted(states(store).values()) == ["active", "transitional", "transitional"]
        assert len(report.rejections) == 2
        assert all("deferred" in rejection.error for rejection in report.rejections)
        (action,) = report.by_pass("contradiction")
        resolve(store, winner_id=action.record_ids[0], loser_id=action.record_ids[1], reason="x", now=NOW)
        (again,) = detect(store).by_pass("contradiction")
        assert action.record_ids[0] in again.record_ids

    def test_the_first_hundred_are_listed_and_the_rest_is_counted(self) -> None:
        store = PlainStore(*(said(f"Region {n}.", slots={"r": str(n)}) for n in range(20)))
        report = detect(store)
        assert len(report.by_pass("contradiction")) == 10
        assert len(report.rejections) == 101
        assert report.rejections[-1].detail == "80 further pairs"
        assert "deferred" in report.rejections[-1].error


class Saying(ContradictionOperator):
    """Answers every pair with what a function makes of it."""

    def __init__(self, answer: Callable[[MemoryRecord, MemoryRecord], Any]) -> None:
        self.answer = answer
        self.pairs: list[tuple[MemoryRecord, MemoryRecord]] = []

    def propose_contradiction(self, a: MemoryRecord, b: MemoryRecord) -> Proposal | None:
        self.pairs.append((a, b))
        return self.answer(a, b)  # type: ignore[no-any-return]


def dispute(a: str | None, b: str | None, reason: str = "they clash") -> Proposal:
    return Proposal(kind=ProposalKind.TRANSITION, target_id=a, other_id=b, reason=reason)


def _boom(a: MemoryRecord, b: MemoryRecord) -> Proposal:
    raise KeyError(a.body)


class TestOperators:
    @pytest.mark.parametrize(
        ("answer", "fragment"),
        [
            (lambda a, b: dispute(a.id, "mem:" + "f" * 32), "exactly the candidate pair"),
            (lambda a, b: dispute(a.id, a.id), "exactly the candidate pair"),
            (lambda a, b: dispute(a.id, None), "exactly the candidate pair"),
            (lambda a, b: dispute(a.id, b.id, " "), "reason"),
            (lambda a, b: Proposal(kind=ProposalKind.ARCHIVE, target_id=a.id, reason="x"), "only propose transition"),
            (lambda a, b: True, "must return a Proposal"),
            (_boom, "KeyError"),
        ],
    )
    def test_one_that_oversteps_is_refused(self, answer: Any, fragment: str) -> None:
        store = PlainStore(said("Zebra eats hay."), said("Zebra eats grass."))
        before = picture(store)
        report = detect(store, Saying(answer))
        assert picture(store) == before
        (rejection,) = report.rejections
        assert rejection.pass_name == "contradiction"
        assert fragment in rejection.error
        assert "Zebra" not in repr(rejection)

    def test_its_reason_is_kept_as_it_was_given(self) -> None:
        store = PlainStore(said("Zebra eats hay."), said("Zebra eats grass."))
        (action,) = detect(store, Saying(lambda a, b: dispute(b.id, a.id, "a model says so"))).by_pass("contradiction")
        assert action.reason == store.get(action.record_ids[0]).state_reason == "a model says so"

    def test_it_is_offered_related_facts_and_procedures_as_they_were_before_the_pass(self) -> None:
        seen = said("Zebra was seen.", kind=RecordType.EPISODE)
        records = [seen, *(said(f"Zebra eats {food}.") for food in ("hay", "grass", "leaves")), said("Rain falls.")]
        operator = Saying(lambda a, b: dispute(a.id, b.id))
        detect(PlainStore(*records), operator)
        assert len(operator.pairs) == 3
        assert {side.state for pair in operator.pairs for side in pair} == {RecordState.ACTIVE}

    def test_what_a_bound_left_out_is_counted(self) -> None:
        more = BLOCK_LIMIT + 2
        store = PlainStore(*(said(f"Zebra n{n}x.", days=n) for n in range(more)))
        operator = Saying(lambda a, b: None)
        (rejection,) = detect(store, operator).rejections
        assert len(operator.pairs) == BLOCK_LIMIT * (BLOCK_LIMIT - 1) // 2
        assert f"up to {more * (more - 1) // 2 - len(operator.pairs)} pairs" in rejection.error
        assert min(min(a.created_at, b.created_at) for a, b in operator.pairs) == T0 + timedelta(days=2)


def winner(a: MemoryRecord, b: MemoryRecord) -> tuple[str, str] | None:
    verdict = HeuristicResolutionOperator().propose_winner(a, b)
    assert verdict == HeuristicResolutionOperator().propose_winner(b, a)
    return verdict


class TestHeuristicResolution:
    def test_a_correction_beats_what_is_none_even_when_older(self) -> None:
        correction = said("x", by=source("a", CORRECTION_KIND))
        verdict = winner(correction, said("y", days=9))
        assert verdict is not None
        assert verdict[0] == correction.id
        assert "correction" in verdict[1]

    def test_the_newer_event_beats_the_newer_record(self) -> None:
        newer_event = said("x", occurred_at=T0 + timedelta(days=20))
        verdict = winner(newer_event, said("y", days=10, occurred_at=T0 + timedelta(days=5)))
        assert verdict is not None
        assert verdict[0] == newer_event.id
        assert "newer event" in verdict[1]

    def test_of_one_event_time_the_record_created_later_holds(self) -> None:
        later = said("y", days=1, occurred_at=T0)
        verdict = winner(said("x", occurred_at=T0), later)
        assert verdict is not None
        assert verdict[0] == later.id

    def test_it_says_nothing_when_it_cannot_tell(self) -> None:
        assert winner(said("x"), said("y")) is None
        assert winner(said("x"), said("y", days=1, by=source("a", "observation"))) is None
        assert winner(said("x", slots={"a": "1"}), said("y", slots={"b": "1"}, days=1)) is None


class Deciding(ResolutionOperator):
    def __init__(self, answer: Callable[[MemoryRecord, MemoryRecord], Any]) -> None:
        self.answer = answer

    def propose_winner(self, a: MemoryRecord, b: MemoryRecord) -> tuple[str, str] | None:
        return self.answer(a, b)  # type: ignore[no-any-return]


class TestResolution:
    def _run(self, store: PlainStore, resolver: ResolutionOperator) -> ConsolidationReport:
        return consolidate(store, operators=ConsolidationOperators(near_dup=NEVER, resolver=resolver), now=NOW)

    def test_the_winner_is_active_and_the_loser_is_history(self) -> None:
        old, new = said("Zebra is in.", slots={"z": "in"}), said("Zebra is out.", slots={"z": "out"}, days=1)
        store = PlainStore(old, new)
        (action,) = consolidate(store, now=NOW).by_pass("resolution")
        assert (action.action, action.record_ids) == ("resolve", (new.id, old.id))
        assert action.after == ("active", "superseded")
        assert store.get(old.id).superseded_by == new.id
        assert store.get(new.id).transition is None
        assert [version.state.value for version in store.history(old.id)] == ["active", "transitional", "superseded"]

    @pytest.mark.parametrize(
        ("answer", "fragment"),
        [
            (lambda a, b: ("mem:" + "0" * 32, "I said so"), "outside the pair"),
            (lambda a, b: (a.id, " "), "reason"),
            (lambda a, b: a.id, "must return"),
            (lambda a, b: (a.id, "x", "y"), "must return"),
            (lambda a, b: ([a.id], "x"), "outside the pair"),
            (_boom, "KeyError"),
        ],
    )
    def test_a_verdict_that_is_none_is_refused_and_the_dispute_stays(self, answer: Any, fragment: str) -> None:
        store = PlainStore(*begin_transition(said("Zebra one."), said("Zebra two."), reason="x", now=T0))
        before = picture(store)
        (rejection,) = self._run(store, Deciding(answer)).rejections
        assert picture(store) == before
        assert rejection.pass_name == "resolution"
        assert fragment in rejection.error
        assert "Zebra" not in repr(rejection)

    def test_without_a_resolver_a_dispute_stays_open(self) -> None:
        store = PlainStore(*begin_transition(said("one."), said("two.", days=1), reason="x", now=T0))
        assert detect(store).actions == ()


class TestResolveByHand:
    def test_it_returns_both_as_they_stand(self) -> None:
        a, b = begin_transition(said("one."), said("two."), reason="x", now=T0)
        store = PlainStore(a, b)
        won, lost = resolve(store, winner_id=b.id, loser_id=a.id, reason="I looked", now=NOW)
        assert (won, lost) == (store.get(b.id), store.get(a.id))
        assert (won.state, lost.state, lost.state_reason) == ("active", "superseded", "I looked")

    def test_what_is_no_dispute_is_an_error(self) -> None:
        a, b = begin_transition(said("one."), said("two."), reason="x", now=T0)
        c = said("three.")
        store = PlainStore(a, b, c)
        before = picture(store)
        for pair in ((a.id, a.id), (a.id, c.id), (c.id, c.id)):
            with pytest.raises(LifecycleError):
                resolve(store, winner_id=pair[0], loser_id=pair[1], reason="x")
        with pytest.raises(LifecycleError, match="reason"):
            resolve(store, winner_id=a.id, loser_id=b.id, reason="")
        with pytest.raises(StoreError, match="unknown"):
            resolve(store, winner_id="mem:" + "0" * 32, loser_id=b.id, reason="x")
        assert picture(store) == before

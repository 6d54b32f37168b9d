"""Recall: what is found, what comes along, what fits, and why each record is there."""

from __future__ import annotations

import itertools
import pickle
import threading
from collections.abc import Mapping
from datetime import timedelta
from math import log
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory import (
    ArgumentError,
    MemoryRecord,
    RetrievedBlock,
    Scope,
    SearchIndex,
    Standing,
    TouchCounts,
    archive,
    begin_transition,
    resolve_transition,
    retrieve,
    supersede,
)
from agent_memory.pipeline.recall import Reason, approx_tokens
from plain_store import NOW, T0, PlainStore, picture, repeat, said, source


class Fixed(SearchIndex):
    """Answers with given scores, and notes how many it was asked for."""

    def __init__(self, scores: Mapping[str, float] | list[MemoryRecord], step: float = 0.0) -> None:
        if isinstance(scores, list):
            scores = {record.id: 1.0 - step * n for n, record in enumerate(scores)}
        self.scores = scores
        self.asked: list[int] = []

    def index(self, record: MemoryRecord) -> None:
        raise NotImplementedError

    def candidates(self, query: str, k: int) -> tuple[tuple[str, float], ...]:
        self.asked.append(k)
        return tuple(sorted(self.scores.items(), key=lambda item: (-item[1], item[0])))[:k]


def ask(store: PlainStore, *indexes: SearchIndex, budget: int = 10_000, **options: Any) -> RetrievedBlock:
    return retrieve("q", store=store, indexes=indexes, budget_tokens=budget, now=NOW, **options)


def find(*records: MemoryRecord, wanted: list[MemoryRecord] | None = None, **options: Any) -> RetrievedBlock:
    """What a recall over these records returns when the index finds ``wanted`` (all of them) equally well."""
    return ask(PlainStore(*records), Fixed(list(records) if wanted is None else wanted), **options)


def chain(count: int) -> list[MemoryRecord]:
    """Records of which each replaced the one before; the last is active."""
    born = [said(f"Limit is {n}00.", days=n) for n in range(count)]
    linked = [born[0]]
    for record in born[1:]:
        linked.append(record.evolve({"supersedes": linked[-1].id}))
    return [supersede(old, new, reason="raised", now=NOW) for old, new in itertools.pairwise(linked)] + linked[-1:]


class TestScore:
    def test_it_is_the_product_of_its_factors(self) -> None:
        record = said("x", confidence=0.8, value=20, standing=Standing(5, 1), created_at=NOW - timedelta(days=30))
        touches = TouchCounts()
        for _ in range(5):
            touches.touch(record.id)
        (item,) = find(record, touches=touches).records
        assert item.factors is not None
        factors = item.factors
        assert (factors.relevance, factors.state, factors.recency) == (1.0, 1.0, 0.5)
        assert (factors.salience, factors.confidence) == (1.5, 0.8)
        assert factors.importance == 1 + log(20)
        assert factors.standing == 0.5 + 6 / 8
        assert item.score == pytest.approx(0.5 * 1.5 * 0.8 * (1 + log(20)) * 1.25)

    def test_what_is_unset_counts_as_one(self) -> None:
        (item,) = find(said("x", created_at=NOW)).records
        assert item.score == 1.0

    def test_recency_has_a_floor_and_no_future(self) -> None:
        old, ahead = said("x", created_at=NOW - timedelta(days=9999)), said("y", created_at=NOW + timedelta(days=9))
        by_body = {item.record.body: item.factors for item in find(old, ahead).records}
        assert by_body["x"] is not None
        assert by_body["x"].recency == 0.1
        assert by_body["y"] is not None
        assert by_body["y"].recency == 1.0

    @pytest.mark.parametrize(("good", "bad", "better"), [(3, 0, True), (0, 3, False)])
    def test_outcomes_lift_or_lower(self, good: int, bad: int, better: bool) -> None:
        judged, plain = said("x", standing=Standing(good, bad)), said("y")
        assert (find(judged, plain).ids[0] == judged.id) is better

    def test_states_weigh(self) -> None:
        history = chain(2)
        gone = archive(said("gone"), reason="x", now=NOW)
        sides = begin_transition(said("one"), said("two"), reason="x", now=NOW)
        block = find(*history, gone, *sides, include_archived=True, include_history=True)
        weights = {item.record.state.value: item.factors.state for item in block.records if item.factors}
        assert weights == {"active": 1.0, "transitional": 0.8, "superseded": 0.3, "archived": 0.1}

    def test_equal_scores_are_ordered_by_id(self) -> None:
        records = [said(f"Fact {n}.") for n in range(6)]
        assert list(find(*records).ids) == sorted(record.id for record in records)

    def test_the_same_recall_gives_the_same_block(self) -> None:
        records = [said(f"Fact {n}.") for n in range(6)]
        assert find(*records) == find(*reversed(records))


class TestIndexes:
    def test_each_index_counts_its_best_as_one_and_the_best_of_all_holds(self) -> None:
        a, b = said("a"), said("b")
        block = ask(PlainStore(a, b), Fixed({a.id: 0.1, b.id: 0.5}), Fixed({a.id: 90.0, b.id: 30.0}))
        assert {item.record.body: item.relevance for item in block.records} == {"a": 1.0, "b": 1.0}

    def test_what_the_store_does_not_have_is_skipped(self) -> None:
        record = said("x")
        block = ask(PlainStore(record), Fixed({record.id: 0.5, "mem:" + "f" * 32: 1.0, "rubbish": 2.0}))
        assert block.ids == (record.id,)
        assert block.records[0].relevance == 1.0

    @pytest.mark.parametrize("raw", [0.0, -1.0, float("nan"), float("inf")])
    def test_a_score_that_is_none_is_no_match(self, raw: float) -> None:
        record = said("x")
        assert ask(PlainStore(record), Fixed({record.id: raw})).ids == ()

    def test_no_number_of_archived_matches_hides_an_active_one(self) -> None:
        gone = [archive(said(f"Gone {n}."), reason="x", now=NOW) for n in range(500)]
        here = said("Here.")
        index = Fixed({**{record.id: 1.0 for record in gone}, here.id: 0.01})
        block = ask(PlainStore(*gone, here), index)
        assert block.ids == (here.id,)
        assert index.asked == [32, 64, 128, 256, 512]

    def test_it_is_not_asked_again_when_enough_are_left_or_it_has_no_more(self) -> None:
        records = [said(f"Fact {n}.") for n in range(40)]
        full, few = Fixed(records), Fixed(records[:3])
        ask(PlainStore(*records), full, few)
        assert (full.asked, few.asked) == ([32], [32])

    def test_an_index_that_ignores_how_many_it_is_asked_for_ends_too(self) -> None:
        class Stubborn(Fixed):
            def candidates(self, query: str, k: int) -> tuple[tuple[str, float], ...]:
                return super().candidates(query, 40)

        gone = [archive(said(f"Gone {n}."), reason="x", now=NOW) for n in range(40)]
        assert ask(PlainStore(*gone), Stubborn(gone)).ids == ()

    def test_no_more_than_asked_for_is_taken_from_an_index(self) -> None:
        records = [said(f"Fact {n}.") for n in range(9)]
        assert find(*records, candidates_per_index=4).ids == tuple(sorted(record.id for record in records)[:4])


class TestBudget:
    @given(st.lists(st.integers(1, 60), max_size=8), st.integers(-5, 60))
    def test_records_come_whole_and_within_it(self, lengths: list[int], budget: int) -> None:
        records = [said(chr(97 + n) * length) for n, length in enumerate(lengths)]
        block = find(*records, budget=budget)
        assert block.total_tokens == sum(item.tokens for item in block.records) <= max(0, budget)
        assert all(item.tokens == approx_tokens(item.record) >= 1 for item in block.records)
        left_out = [record for record in records if record.id not in block.ids]
        assert all(approx_tokens(record) > budget - block.total_tokens for record in left_out)

    def test_what_does_not_fit_leaves_room_for_what_does(self) -> None:
        big, small = said("b" * 400), said("s")
        assert ask(PlainStore(big, small), Fixed({big.id: 1.0, small.id: 0.1}), budget=10).ids == (small.id,)


class TestDisputes:
    def _sides(self, **other: Any) -> tuple[MemoryRecord, MemoryRecord]:
        return begin_transition(
            said("The rollout is safe."), said("The rollout is risky.", **other), reason="x", now=T0
        )

    def test_both_sides_come_when_one_is_found(self) -> None:
        a, b = self._sides()
        block = find(a, b, wanted=[a])
        assert block.ids == (a.id, b.id)
        assert block.records[1].reasons == (f"other side of the transition with {a.id}",)
        assert block.records[1].score == block.records[0].score

    @given(st.integers(0, 20))
    def test_they_come_together_or_not_at_all(self, budget: int) -> None:
        a, b = self._sides()
        assert len(find(a, b, wanted=[a], budget=budget).records) in (0, 2)

    def test_a_side_whose_other_side_is_gone_comes_alone(self) -> None:
        a, b = self._sides()
        assert find(a, wanted=[a]).ids == (a.id,)
        assert find(a, archive(b, reason="x", now=NOW), wanted=[a]).ids == (a.id,)

    def test_a_session_does_not_tear_a_dispute_apart(self) -> None:
        a, b = self._sides(session_id="two")
        assert set(find(a, b, wanted=[a], scope=Scope(session_id="one")).ids) == {a.id, b.id}

    def test_a_side_that_may_not_be_shown_keeps_the_other_back(self) -> None:
        a, b = self._sides(user_id="bob")
        assert find(a, b, scope=Scope(user_id="ann")).ids == ()


class TestHistory:
    def test_superseded_records_are_not_shown_without_it(self) -> None:
        assert find(*chain(2)[:1]).ids == ()
        assert find(*chain(3)).ids == (chain(3)[-1].id,)

    def test_predecessors_follow_newest_first_each_with_its_successor(self) -> None:
        records = chain(4)
        block = find(*records, wanted=records[-1:], include_history=True)
        assert block.ids == tuple(record.id for record in reversed(records))
        for item, successor in zip(block.records[1:], block.ids, strict=False):
            assert item.reasons == (f"superseded predecessor of {successor}",)

    def test_supersedes_also_and_superseded_by_are_followed_too(self) -> None:
        a, b = said("a", days=1), said("b", days=2)
        kept = said("k", days=3, supersedes_also=(a.id, b.id))
        won, lost = resolve_transition(*begin_transition(kept, said("l"), reason="x"), reason="y", now=NOW)
        records = [won, lost, *(supersede(old, kept, reason="x", now=NOW) for old in (a, b))]
        assert find(*records, wanted=[won], include_history=True).ids == (won.id, b.id, a.id, lost.id)

    def test_what_does_not_fit_is_said_on_the_current_record(self) -> None:
        records = chain(4)
        block = find(*records, wanted=records[-1:], include_history=True, budget=2 * approx_tokens(records[0]))
        assert len(block.records) == 2
        current = block.records[0]
        assert [reason.kind for reason in current.reasons if isinstance(reason, Reason)] == ["match", "cut"]
        assert "2 older predecessors" in current.reasons[1]

    def test_the_current_record_packs_on_its_own(self) -> None:
        records = chain(4)
        assert find(*records, wanted=records[-1:], include_history=True, budget=approx_tokens(records[-1])).ids == (
            records[-1].id,
        )

    def test_archived_predecessors_need_both_flags(self) -> None:
        old, new = chain(2)
        records = [archive(old, reason="x", now=NOW), new]
        assert find(*records, wanted=[new], include_history=True).ids == (new.id,)
        assert find(*records, wanted=[new], include_history=True, include_archived=True).ids == (new.id, old.id)

    def test_a_superseded_match_without_its_successor_stands_for_itself(self) -> None:
        records = chain(2)
        assert find(*records, wanted=records[:1], include_history=True).ids == (records[0].id,)

    def test_a_circle_of_links_ends(self) -> None:
        a, b = said("a"), said("b")
        a, b = a.evolve({"supersedes": b.id}), b.evolve({"supersedes_also": (a.id,)})
        old = b.evolve({"state": "superseded", "superseded_by": a.id})
        assert find(a, old, wanted=[a], include_history=True).ids == (a.id, b.id)


def test_archived_records_need_their_flag_and_redacted_ones_are_never_shown() -> None:
    gone = archive(said("gone"), reason="x", now=NOW)
    erased = MemoryRecord.tombstone(said("secret"), reason="x", now=NOW)
    assert find(gone, erased).ids == ()
    assert find(gone, erased, include_archived=True, include_history=True).ids == (gone.id,)


_names = st.sampled_from([None, "a", "b"])
_scopes = st.builds(Scope, project=_names, user_id=_names, agent_id=_names, session_id=_names)


class TestScope:
    @given(_scopes, _scopes)
    def test_each_field_of_a_record_is_unset_or_equal_or_not_asked_about(self, own: Scope, asked: Scope) -> None:
        record = said("x").evolve({"scope": own})
        expected = all(
            getattr(own, name) is None or getattr(asked, name) in (None, getattr(own, name))
            for name in ("project", "user_id", "agent_id", "session_id")
        )
        assert bool(find(record, scope=asked).ids) is expected
        assert find(record).ids == (record.id,)

    def test_another_users_matches_neither_crowd_out_nor_lower_ones_own(self) -> None:
        theirs = [said(f"Theirs {n}.", user_id="bob") for n in range(100)]
        mine = said("Mine.", user_id="ann")
        index = Fixed({**{record.id: 9.0 for record in theirs}, mine.id: 0.1})
        block = ask(PlainStore(*theirs, mine), index, scope=Scope(user_id="ann"))
        assert block.ids == (mine.id,)
        assert block.records[0].relevance == 1.0

    def test_a_narrower_value_of_a_key_hides_the_wider_one_even_when_it_is_not_found(self) -> None:
        wide, narrow = said("Light theme.", key="ui::theme"), said("Dark theme.", key="ui::theme", user_id="ann")
        assert find(wide, narrow, wanted=[wide], scope=Scope(user_id="ann")).ids == ()
        assert find(wide, narrow, scope=Scope(user_id="ann")).ids == (narrow.id,)
        assert find(wide, narrow, scope=Scope(user_id="bob")).ids == (wide.id,)

    def test_neither_of_two_scopes_that_only_overlap_hides_the_other(self) -> None:
        one, other = said("a", key="k", project="p"), said("b", key="k", user_id="ann")
        assert len(find(one, other, scope=Scope(project="p", user_id="ann")).ids) == 2

    def test_a_retired_value_hides_nothing(self) -> None:
        wide, narrow = said("Light.", key="k"), archive(said("Dark.", key="k", user_id="ann"), reason="x", now=NOW)
        assert find(wide, narrow, scope=Scope(user_id="ann")).ids == (wide.id,)

    def test_a_merge_by_the_peer_is_shown_to_whom_its_evidence_is(self) -> None:
        made = source(None, "consolidation")
        ann, bob = said("a", user_id="ann"), said("b", user_id="bob")
        own, mixed = said("own", by=made, evidence=[ann.id]), said("mixed", by=made, evidence=[ann.id, bob.id])
        again = said("again", by=made, evidence=[own.id])
        records = [ann, bob, own, mixed, again]
        wanted = [own, mixed, again]
        assert set(find(*records, wanted=wanted, scope=Scope(user_id="ann")).ids) == {own.id, again.id}
        assert find(*records, wanted=wanted, scope=Scope(user_id="bob")).ids == ()
        assert len(find(*records, wanted=wanted).ids) == 3

    def test_merges_that_cite_each_other_end(self) -> None:
        made = source(None, "consolidation")
        one, other = said("one", by=made), said("other", by=made)
        circle = [one.evolve({"evidence": [other.id]}), other.evolve({"evidence": [one.id]})]
        assert len(find(*circle, scope=Scope(user_id="ann")).ids) == 2


class TestTouches:
    def test_every_record_returned_is_touched_once_and_no_record_changes(self) -> None:
        records = [*chain(2), *begin_transition(said("one"), said("two"), reason="x", now=T0), said("x" * 999)]
        store = PlainStore(*records)
        before = picture(store)
        touches = TouchCounts()
        block = ask(store, Fixed(records), touches=touches, include_history=True, budget=100)
        assert len(block.ids) == len(set(block.ids)) == 4
        assert all(touches.count(record_id) == 1 for record_id in block.ids)
        assert touches.count(records[-1].id) == 0
        assert picture(store) == before

    def test_touched_records_rank_higher(self) -> None:
        quiet, used = said("quiet"), said("used")
        touches = TouchCounts()
        touches.touch(used.id)
        assert find(quiet, used, touches=touches).ids[0] == used.id

    def test_no_touch_of_several_threads_is_lost(self) -> None:
        touches = TouchCounts()
        threads = [threading.Thread(target=repeat, args=(lambda: touches.touch("x"),)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert touches.count("x") == 4000


class TestReasons:
    def test_they_are_text_for_people_and_attributes_for_programs(self) -> None:
        records = chain(2)
        match, predecessor = (
            item.reasons[0] for item in find(*records, wanted=records[-1:], include_history=True).records
        )
        assert isinstance(match, Reason)
        assert "relevance 1.0000" in match
        assert (match.kind, match.of, match.relevance) == ("match", None, 1.0)
        assert isinstance(predecessor, Reason)
        assert (predecessor.kind, predecessor.of, predecessor.relevance) == ("predecessor", records[-1].id, None)

    def test_they_survive_pickling(self) -> None:
        reason = Reason.partner("mem:x")
        copy = pickle.loads(pickle.dumps(reason))
        assert (copy, copy.kind, copy.of, copy.relevance) == (reason, "partner", "mem:x", None)


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"query": 5}, "query"),
        ({"budget_tokens": "9"}, "budget_tokens"),
        ({"budget_tokens": True}, "budget_tokens"),
        ({"candidates_per_index": 0}, "candidates_per_index"),
    ],
)
def test_an_argument_that_makes_no_sense_is_refused(wrong: dict[str, Any], name: str) -> None:
    arguments: dict[str, Any] = {"query": "q", "store": PlainStore(), "indexes": [], "budget_tokens": 9, **wrong}
    with pytest.raises(ArgumentError, match=name):
        retrieve(**arguments)

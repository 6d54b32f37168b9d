"""Exact duplicates: which copy stays, and what passes over to it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory import MemoryRecord, RecordState, RecordType, Standing, consolidate
from plain_store import NOW, T0, PlainStore, said, source, states

A, B = source("a"), source("b")


def folded(*records: MemoryRecord) -> tuple[PlainStore, MemoryRecord]:
    """The store after a pass, and its one active record."""
    store = PlainStore(*records)
    consolidate(store, now=NOW)
    (keeper,) = store.list(state=RecordState.ACTIVE)
    return store, keeper


def untouched(*records: MemoryRecord) -> bool:
    store = PlainStore(*records)
    return consolidate(store, now=NOW).by_pass("dedup.exact") == ()


def test_one_copy_stays_and_names_the_others_and_no_record_is_made() -> None:
    a, b, c = (said("Green.", by=source(ref)) for ref in "abc")
    store, keeper = folded(a, b, c)
    losers = {a.id, b.id, c.id} - {keeper.id}
    assert len(store.versions) == 3
    assert set(keeper.supersedes_also) == losers
    assert keeper.evidence == ()
    assert len(store.history(keeper.id)) == 2
    for loser in losers:
        record = store.get(loser)
        assert (record.state, record.superseded_by) == (RecordState.SUPERSEDED, keeper.id)
        assert record.state_reason == f"exact duplicate of {keeper.id}"
        assert record.updated_at == NOW


def test_there_is_one_action_for_each_record_that_is_retired() -> None:
    store = PlainStore(*(said("Green.", by=source(ref)) for ref in "abcd"))
    actions = consolidate(store, now=NOW).by_pass("dedup.exact")
    assert len(actions) == 3
    for action in actions:
        assert (action.action, action.before, action.after) == ("supersede", ("active",), ("superseded",))
        assert store.get(action.record_ids[0]).state is RecordState.SUPERSEDED


@given(st.lists(st.tuples(st.sampled_from([0.2, 0.9]), st.integers(0, 2)), min_size=2, max_size=6))
def test_the_strongest_stays(copies: list[tuple[float, int]]) -> None:
    records = [said("x y", by=source(str(n)), confidence=c, days=d) for n, (c, d) in enumerate(copies)]
    _, keeper = folded(*records)
    assert keeper.id == max(records, key=lambda record: (record.confidence, record.created_at, record.id)).id


@pytest.mark.parametrize(
    "other",
    [
        {"user_id": "ann"},
        {"project": "p"},
        {"agent_id": "x"},
        {"kind": RecordType.PROCEDURE},
        {"slots": {"a": "b"}},
    ],
)
def test_scope_type_and_slots_keep_copies_apart(other: dict[str, Any]) -> None:
    assert untouched(said("Green.", by=A), said("Green.", by=B, **other))


def test_sessions_do_not_keep_copies_apart() -> None:
    folded(said("Green.", by=A, session_id="1"), said("Green.", by=B, session_id="2"))


def test_events_of_different_days_are_different_events() -> None:
    monday = said("Deployed.", kind=RecordType.EPISODE, by=A)
    assert untouched(monday, said("Deployed.", kind=RecordType.EPISODE, by=B, days=1))
    later_told = said("Deployed.", kind=RecordType.EPISODE, by=B, days=1, occurred_at=T0 + timedelta(hours=23))
    folded(monday, later_told)


class TestKeys:
    def test_a_keyed_copy_is_always_the_keeper(self) -> None:
        keyed = said("Port 8443.", key="api::port", confidence=0.1, by=A)
        _, keeper = folded(keyed, said("Port 8443.", confidence=0.9, by=B, days=3))
        assert keeper.id == keyed.id

    def test_two_different_keys_stay_apart_and_an_unkeyed_copy_goes_to_one_of_them(self) -> None:
        one, two = said("Port 8443.", key="api::port", by=A), said("Port 8443.", key="db::port", by=B)
        store = PlainStore(one, two, said("Port 8443.", by=source("c")))
        consolidate(store, now=NOW)
        assert sorted(states(store).values()) == ["active", "active", "superseded"]
        assert store.get(one.id).state is store.get(two.id).state is RecordState.ACTIVE

    def test_an_object_is_never_lost(self) -> None:
        with_object = said("Port 8443.", key="api::port", object="8443", by=A, confidence=0.1)
        _, keeper = folded(with_object, said("Port 8443.", key="api::port", by=B))
        assert keeper.object == "8443"
        other = said("Port 8443.", key="api::port", object="0x20fb", by=B)
        assert untouched(with_object, other)


class TestWhatPassesOver:
    def test_tags_value_standing_and_evidence_pass_over_from_the_same_source_and_user(self) -> None:
        drawn_from = said("Something else entirely.")
        a = said("Green.", by=A, tags=["t"], value=2, standing=Standing(1, 0), days=1)
        b = said("Green.", by=A, tags=["u"], value=9, standing=Standing(2, 3), evidence=[drawn_from.id], declared=True)
        store = PlainStore(drawn_from, a, b)
        consolidate(store, now=NOW)
        keeper = store.get(a.id)
        assert keeper.state is RecordState.ACTIVE
        assert (keeper.tags, keeper.value, keeper.standing) == (("t", "u"), 9, Standing(3, 3))
        assert (keeper.evidence, keeper.declared) == ((drawn_from.id,), True)

    def test_nothing_passes_over_from_another_source(self) -> None:
        a = said("Green.", by=A, tags=["t"], value=2, days=1)
        b = said("Green.", by=B, tags=["u"], value=9, standing=Standing(2, 3), evidence=[a.id])
        _, keeper = folded(a, b)
        assert (keeper.id, keeper.tags, keeper.value, keeper.standing, keeper.evidence) == (a.id, ("t",), 2, None, ())


def test_a_copy_in_dispute_or_retired_is_left_alone() -> None:
    a = said("Green.", by=A)
    b = said("Green.", by=B).evolve({"state": "archived", "state_reason": "x"})
    assert untouched(a, b)


def test_a_merge_made_by_the_peer_belongs_to_whom_its_evidence_belongs() -> None:
    own = said("Part.", user_id="ann")
    merge = said("Green.", by=source(None, "consolidation"), evidence=[own.id])
    assert untouched(own, merge, said("Green.", by=A))
    store = PlainStore(own, merge, said("Green.", by=A, user_id="ann"))
    consolidate(store, now=NOW)
    assert len(store.list(state=RecordState.SUPERSEDED)) == 1
    foreign = said("Part!!", user_id="bob")
    mixed = said("Green.", by=source(None, "consolidation"), evidence=[own.id, foreign.id])
    for user in (None, "ann", "bob"):
        assert untouched(own, foreign, mixed, said("Green.", by=A, user_id=user))

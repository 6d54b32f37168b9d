"""Near duplicates: what merges, what never does, and what becomes of a cluster."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory import (
    ConsolidationOperators,
    ConsolidationReport,
    MemoryRecord,
    RecordState,
    RecordType,
    Scope,
    Standing,
    TrigramNearDupOperator,
    consolidate,
)
from agent_memory.pipeline import NearDupOperator
from plain_store import NOW, T0, PlainStore, picture, said, source

STATEMENT = "Sandro prefers small focused files"


def copies(count: int, **fields: Any) -> list[MemoryRecord]:
    """The same statement in ``count`` spellings."""
    return [said(STATEMENT + "." * n, days=n, by=source(f"s{n}"), **fields) for n in range(count)]


def run(store: PlainStore, near_dup: NearDupOperator | None = None, days: int = 0) -> ConsolidationReport:
    operators = ConsolidationOperators(near_dup=near_dup or TrigramNearDupOperator())
    return consolidate(store, operators=operators, now=NOW + timedelta(days=days))


def active(store: PlainStore) -> tuple[MemoryRecord, ...]:
    return store.list(state=RecordState.ACTIVE)


class TestClusters:
    @pytest.mark.parametrize("count", [2, 3, 7, 20])
    def test_k_copies_become_one_new_record_in_one_pass(self, count: int) -> None:
        records = copies(count)
        store = PlainStore(*records)
        report = run(store)
        (merged,) = active(store)
        ids = {record.id for record in records}
        assert len(store.versions) == count + 1
        assert len(store.history(merged.id)) == 1
        assert set(merged.evidence) == set(merged.replaces) == ids
        assert merged.provenance.kind == "consolidation"
        assert merged.created_at == NOW
        for record_id in ids:
            assert store.get(record_id).superseded_by == merged.id
        actions = report.by_pass("dedup.near")
        assert sorted(action.record_ids[0] for action in actions) == sorted(ids)
        assert {(action.action, action.before, action.after) for action in actions} == {
            ("supersede", ("active",), ("superseded",))
        }
        assert report.rejections == ()

    def test_a_later_copy_joins_the_merge_and_makes_no_new_one(self) -> None:
        *first, _ = copies(4)
        later = said(STATEMENT + "!", by=source("late"), value=7, confidence=0.3, tags=["late"], extra={"n": 1})
        store = PlainStore(*first)
        run(store)
        (merged,) = active(store)
        store.put(later)
        report = run(store, days=1)
        (grown,) = active(store)
        assert grown.id == merged.id
        assert len(store.versions) == 5
        assert set(grown.evidence) == set(grown.replaces) == {record.id for record in (*first, later)}
        assert store.get(later.id).superseded_by == merged.id
        assert (grown.value, grown.tags, grown.extra, grown.body) == (7, ("late",), {"n": 1}, merged.body)
        assert len(report.by_pass("dedup.near")) == 1
        before = picture(store)
        assert run(store, days=2).actions == ()
        assert picture(store) == before

    def test_a_pass_with_the_clock_of_the_last_one_merges_as_well(self) -> None:
        first = copies(2)
        store = PlainStore(*first)
        run(store)
        store.put(said(STATEMENT + "!", by=source("late"), confidence=0.2))
        assert run(store).rejections == ()
        assert len(active(store)) == 1

    def test_the_merge_has_the_best_of_its_parts(self) -> None:
        a = said(STATEMENT, by=source("a"), tags=["x"], value=2, confidence=0.4, author="ann", session_id="s")
        b = said(
            STATEMENT + "!", by=source("b"), tags=["y"], value=9, confidence=0.9, author="ann", session_id="s",
            standing=Standing(2, 1), occurred_at=T0 + timedelta(days=2), extra={"n": 1},
        )  # fmt: skip
        c = said(
            STATEMENT + "!!", by=source("c"), tags=["x"], confidence=0.6, author="ann", session_id="s",
            standing=Standing(1, 1), occurred_at=T0 - timedelta(days=2), extra={"m": 2}, object="small",
        )  # fmt: skip
        store = PlainStore(a, b, c)
        run(store)
        (merged,) = active(store)
        assert merged.body == b.body
        assert merged.tags == ("x", "y")
        assert (merged.value, merged.confidence, merged.standing) == (9, 0.9, Standing(3, 2))
        assert merged.occurred_at == T0 - timedelta(days=2)
        assert (merged.author, merged.object, merged.extra) == ("ann", "small", {"n": 1, "m": 2})
        assert merged.scope.session_id == "s"

    def test_what_the_parts_do_not_agree_on_is_left_out(self) -> None:
        a = said(STATEMENT, author="ann", user_id="u", session_id="1")
        b = said(STATEMENT + "!", author="bob", user_id="u", session_id="2")
        store = PlainStore(a, b)
        run(store)
        (merged,) = active(store)
        assert merged.author is None
        assert merged.scope == Scope(user_id="u")

    def test_equal_merges_of_two_users_at_one_moment_are_two_records(self) -> None:
        store = PlainStore(*copies(2, user_id="ann"), *copies(2, user_id="bob"))
        assert len(store.versions) == 2  # equal birth content: this store holds one of each
        store = PlainStore(
            *(
                said(STATEMENT + "!" * n, user_id=user, by=source(user), days=n)
                for user in ("ann", "bob")
                for n in range(2)
            )
        )
        run(store)
        merges = active(store)
        assert [merge.body for merge in merges] == [merges[0].body] * 2
        assert {merge.scope.user_id for merge in merges} == {"ann", "bob"}
        assert {merge.created_at - NOW for merge in merges} == {timedelta(0), timedelta(milliseconds=1)}


class TestNothingIsMergedAway:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("The api listens on port 8443.", "The api listens on port 9443."),
            ("The on-call engineer is Alice.", "The on-call engineer is Alicia."),
            ("The endpoint has TLS.", "The endpoint lacks TLS."),
            ("We migrated from Postgres to MySQL.", "We migrated from MySQL to Postgres."),
            ("The service may restart at night.", "The service must restart at night."),
            ("The service restarts before the backup.", "The service restarts after the backup."),
            ("The build is green.", "The build was green."),
            ("The tool is written in C.", "The tool is written in C++."),
        ],
    )
    def test_two_values_stay_two_records(self, one: str, other: str) -> None:
        store = PlainStore(said(one), said(other))
        assert run(store).by_pass("dedup.near") == ()

    def test_sixty_notes_from_one_template_stay_sixty(self) -> None:
        store = PlainStore(*(said(f"Ticket {n} was assigned to team {n % 7} on Monday.") for n in range(60)))
        run(store)
        assert len(active(store)) == 60

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ({"slots": {"m": "on"}}, {"slots": {"m": "off"}}),
            ({"slots": {"m": "on"}}, {}),
            ({"key": "a::b"}, {"key": "a::c"}),
            ({"object": "x"}, {"object": "y"}),
            ({"extra": {"x": 1}}, {"extra": {"x": 2}}),
            ({"kind": RecordType.EPISODE}, {"kind": RecordType.EPISODE}),
            ({"kind": RecordType.FACT}, {"kind": RecordType.PROCEDURE}),
            ({"user_id": "ann"}, {"user_id": "bob"}),
            ({"project": "p"}, {}),
        ],
    )
    def test_what_differs_beside_the_text_keeps_two_apart(self, one: dict[str, Any], other: dict[str, Any]) -> None:
        store = PlainStore(said(STATEMENT, **one), said(STATEMENT + "!", **other))
        assert run(store).by_pass("dedup.near") == ()

    def test_rules_are_not_merged(self) -> None:
        seen = said("It happened.", kind=RecordType.EPISODE)
        rules = [said(STATEMENT + end, kind=RecordType.RULE, evidence=[seen.id]) for end in ("", "!")]
        assert run(PlainStore(seen, *rules)).by_pass("dedup.near") == ()

    def test_without_the_lossless_test_similarity_alone_decides(self) -> None:
        store = PlainStore(said("The api listens on port 8443."), said("The api listens on port 9443."))
        run(store, TrigramNearDupOperator(lossless=False))
        assert len(active(store)) == 1

    @pytest.mark.parametrize("threshold", [1.01, float("inf")])
    def test_a_threshold_above_one_means_never(self, threshold: float) -> None:
        for lossless in (True, False):
            operator = TrigramNearDupOperator(threshold=threshold, lossless=lossless)
            assert run(PlainStore(*copies(2)), operator).actions == ()


class TestKeyedRecords:
    def test_a_keyed_copy_stays_itself_and_the_other_is_folded_into_it(self) -> None:
        keyed = said(STATEMENT, key="sandro::files", confidence=0.1, tags=["t"], by=source("a"))
        loose = said(STATEMENT + "!", tags=["u"], value=5, by=source("b"))
        store = PlainStore(keyed, loose)
        report = run(store)
        (kept,) = active(store)
        assert kept.id == keyed.id
        assert len(store.versions) == 2
        assert (kept.supersedes_also, kept.evidence, kept.tags, kept.value) == ((loose.id,), (), ("t",), 1)
        assert store.get(loose.id).superseded_by == keyed.id
        assert len(report.by_pass("dedup.near")) == 1

    def test_what_reinforced_a_copy_of_the_same_source_passes_over(self) -> None:
        keyed = said(STATEMENT, key="sandro::files", tags=["t"])
        store = PlainStore(keyed, said(STATEMENT + "!", tags=["u"], value=5))
        run(store)
        (kept,) = active(store)
        assert (kept.tags, kept.value) == (("t", "u"), 5)

    def test_an_earlier_merge_folds_into_a_keyed_copy(self) -> None:
        store = PlainStore(*copies(3))
        run(store)
        keyed = said(STATEMENT + "?!".replace("?", ""), key="sandro::files", days=20)
        store.put(keyed)
        run(store, days=1)
        assert [record.id for record in active(store)] == [keyed.id]


@given(
    st.lists(st.sampled_from(["", ".", "!", "!!", " .", "...", ". "]), min_size=1, max_size=7, unique=True), st.data()
)
def test_however_copies_arrive_they_end_in_one_record_that_names_them_all(ends: list[str], data: st.DataObject) -> None:
    store = PlainStore()
    for n, end in enumerate(ends):
        store.put(said(STATEMENT + end, by=source(str(n)), days=n))
        if data.draw(st.booleans()):
            run(store, days=n)
    run(store, days=50)
    (last,) = active(store)
    if len(ends) > 1:
        assert len(store.versions) == len(ends) + 1
        assert set(last.evidence) == store.versions.keys() - {last.id}
    assert run(store, days=51).actions == ()

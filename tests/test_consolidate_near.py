"""Near duplicates: what merges, what never does, and what becomes of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory import (
    ConsolidationConfig,
    ConsolidationOperators,
    ConsolidationReport,
    MemoryRecord,
    Proposal,
    ProposalKind,
    RecordState,
    RecordType,
    Scope,
    Standing,
    TrigramNearDupOperator,
    consolidate,
)
from agent_memory.pipeline import Candidates, NearDupOperator
from plain_store import NOW, T0, PlainStore, picture, said, source, states

MADE = source(None, "consolidation")
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
        *first, later = copies(4)
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


class Proposing(NearDupOperator):
    """Answers every pair with what a function makes of it."""

    def __init__(self, answer: Callable[[MemoryRecord, MemoryRecord, datetime], Any]) -> None:
        self.answer = answer
        self.pairs: list[tuple[str, str]] = []

    def propose_merge(self, a: MemoryRecord, b: MemoryRecord, *, now: datetime) -> Proposal | None:
        self.pairs.append((a.id, b.id))
        return self.answer(a, b, now)  # type: ignore[no-any-return]


def merge(a: MemoryRecord, b: MemoryRecord, now: datetime, **changes: Any) -> Proposal:
    """A valid merge of a pair, with some of it changed."""
    fields: dict[str, Any] = {
        "body": f"{a.body} {b.body}", "by": MADE, "supersedes": a.id, "evidence": [a.id, b.id], "created_at": now,
        "kind": a.type,
    }  # fmt: skip
    reason = changes.pop("reason", "both are about it")
    fields.update(changes)
    return Proposal(kind=ProposalKind.SUPERSEDE, record=said(fields.pop("body"), **fields), reason=reason)


FOREIGN = "mem:" + "f" * 32


def _overstepping() -> dict[str, tuple[Callable[[MemoryRecord, MemoryRecord, datetime], Any], str]]:
    def archived(a: MemoryRecord, b: MemoryRecord, now: datetime) -> Proposal:
        record = merge(a, b, now).record
        assert record is not None
        smuggled = record.evolve({"state": "archived", "state_reason": "x"})
        return Proposal(kind=ProposalKind.SUPERSEDE, record=smuggled, reason="x")

    def itself(a: MemoryRecord, b: MemoryRecord, now: datetime) -> Proposal:
        copy = a.evolve({"evidence": [a.id, b.id], "supersedes": b.id})
        made = said("x", by=MADE)
        assert made.id != copy.id
        return Proposal(kind=ProposalKind.SUPERSEDE, record=copy, reason="x")

    def boom(a: MemoryRecord, b: MemoryRecord, now: datetime) -> Proposal:
        raise RuntimeError(f"cannot judge {a.body}")

    return {
        "archive": (
            lambda a, b, now: Proposal(kind=ProposalKind.ARCHIVE, target_id=a.id, reason="x"),
            "only propose supersede",
        ),
        "create": (
            lambda a, b, now: Proposal(kind=ProposalKind.CREATE, record=merge(a, b, now).record),
            "only propose supersede",
        ),
        "nothing": (lambda a, b, now: Proposal(kind=ProposalKind.SUPERSEDE, reason="x"), "no record"),
        "a text": (lambda a, b, now: "merge them", "must return a Proposal"),
        "one side as evidence": (lambda a, b, now: merge(a, b, now, evidence=[a.id]), "BOTH sides"),
        "no evidence": (lambda a, b, now: merge(a, b, now, evidence=[]), "BOTH sides"),
        "foreign evidence": (lambda a, b, now: merge(a, b, now, evidence=[a.id, b.id, FOREIGN]), "nothing else"),
        "foreign target": (lambda a, b, now: merge(a, b, now, supersedes=FOREIGN), "nothing else"),
        "foreign target too": (lambda a, b, now: merge(a, b, now, supersedes_also=(FOREIGN,)), "nothing else"),
        "no target": (lambda a, b, now: merge(a, b, now, supersedes=None), "nothing else"),
        "other type": (lambda a, b, now: merge(a, b, now, kind=RecordType.EPISODE), "type"),
        "other scope": (lambda a, b, now: merge(a, b, now, user_id="eve"), "scope"),
        "other provenance": (lambda a, b, now: merge(a, b, now, by=source("x", "correction")), "provenance"),
        "new key": (lambda a, b, now: merge(a, b, now, key="stolen::key"), "key"),
        "no reason": (lambda a, b, now: merge(a, b, now, reason=" "), "reason"),
        "archived": (archived, "active"),
        "an existing record": (itself, "provenance"),
        "raising": (boom, "RuntimeError"),
    }


class TestOperators:
    @pytest.mark.parametrize("name", _overstepping())
    def test_one_that_oversteps_is_refused_and_nothing_is_written(self, name: str) -> None:
        answer, fragment = _overstepping()[name]
        store = PlainStore(said("Zebra files are small."), said("Zebra files are striped."))
        before = picture(store)
        report = run(store, Proposing(answer))
        assert picture(store) == before
        assert report.actions == ()
        (rejection,) = report.rejections
        assert rejection.pass_name == "dedup.near"
        assert fragment in rejection.error
        assert "Zebra" not in rejection.error + rejection.detail

    def test_the_id_of_a_record_that_is_there_is_refused(self) -> None:
        there = said("There already.", by=MADE, created_at=NOW)
        store = PlainStore(there, said("Zebra one."), said("Zebra two."))
        report = run(store, Proposing(lambda a, b, now: merge(a, b, now, body="There already.")))
        assert any("exists already" in rejection.error for rejection in report.rejections)
        assert store.get(there.id) == there

    def test_one_that_fails_on_a_pair_does_not_stop_the_pass(self) -> None:
        def answer(a: MemoryRecord, b: MemoryRecord, now: datetime) -> Proposal | None:
            if "apples" in a.body + b.body:
                raise ValueError("no fruit")
            return merge(a, b, now)

        store = PlainStore(
            said("We like apples."), said("We eat apples."), said("Cats purr."), said("Cats purr loudly.")
        )
        report = run(store, Proposing(answer))
        assert len(report.by_pass("dedup.near")) == 2
        assert len(report.rejections) == 1

    def test_its_words_are_taken_and_the_rest_is_the_engines(self) -> None:
        store = PlainStore(
            said("Cats purr.", tags=["a"], value=4, user_id="ann"), said("Cats purr loudly.", tags=["b"], user_id="ann")
        )
        run(store, Proposing(lambda a, b, now: merge(a, b, now, body="Cats purr, and loudly.", value=999)))
        (merged,) = active(store)
        assert (merged.body, merged.tags, merged.value) == ("Cats purr, and loudly.", ("a", "b"), 4)
        assert merged.scope.user_id == "ann"
        assert merged.signature == ""

    def test_a_pair_with_a_merged_side_is_offered_as_what_it_became(self) -> None:
        records = [said(f"Cats purr {word}.") for word in ("loudly", "softly", "often")]
        store = PlainStore(*records)
        operator = Proposing(merge)
        run(store, operator)
        (merged,) = active(store)
        assert len(operator.pairs) == 2
        assert len(store.versions) == 4
        assert set(merged.evidence) == {record.id for record in records}
        assert all(word in merged.body for word in ("loudly", "softly", "often"))

    def test_pairs_are_offered_once_each_in_the_order_of_ids(self) -> None:
        records = [said(f"Cats purr {word}.") for word in ("loudly", "softly", "often", "never")]
        operator = Proposing(lambda a, b, now: None)
        run(PlainStore(*records), operator)
        ids = sorted(record.id for record in records)
        assert operator.pairs == [(a, b) for n, a in enumerate(ids) for b in ids[n + 1 :]]

    def test_a_keyed_record_keeps_its_own_words(self) -> None:
        keyed = said("Cats purr.", key="cats::sound")
        store = PlainStore(keyed, said("Cats purr loudly."))
        report = run(store, Proposing(merge))
        assert "key" in report.rejections[0].error
        assert set(states(store).values()) == {"active"}

    def test_new_words_for_an_earlier_merge_make_a_new_record(self) -> None:
        store = PlainStore(*copies(2))
        run(store)
        (earlier,) = active(store)
        store.put(said("Sandro prefers small focused files in Rust."))
        run(store, Proposing(merge), days=1)
        (merged,) = active(store)
        assert merged.id != earlier.id
        assert earlier.id in merged.evidence

    @pytest.mark.parametrize(
        ("declared", "offered"),
        [(None, 3), (Candidates.RELATED, 3), (Candidates.SIMILAR, 1), (Candidates.SAME_TERMS, 0), ("similar", 1)],
    )
    def test_it_gets_the_candidates_it_declares_and_related_ones_by_default(self, declared: Any, offered: int) -> None:
        operator = Proposing(lambda a, b, now: None)
        if declared is not None:
            operator.candidates = declared
        store = PlainStore(said("Cats purr loudly."), said("Cats purr loud."), said("A cat is an animal that sleeps."))
        run(store, operator)
        assert len(operator.pairs) == offered

    def test_a_subclass_of_a_default_operator_gets_related_pairs(self) -> None:
        class Watching(TrigramNearDupOperator):
            seen = 0

            def propose_merge(self, a: MemoryRecord, b: MemoryRecord, *, now: datetime) -> Proposal | None:
                self.seen += 1
                return None

        class Declaring(Watching):
            candidates = Candidates.SAME_TERMS

        store = PlainStore(said("Cats purr loudly."), said("A cat is an animal that sleeps."))
        watching, declaring = Watching(), Declaring()
        run(store, watching)
        run(store, declaring)
        assert (watching.seen, declaring.seen) == (1, 0)

    def test_candidates_that_do_not_exist_are_an_error(self) -> None:
        operator = Proposing(lambda a, b, now: None)
        operator.candidates = "everything"  # type: ignore[assignment]
        with pytest.raises(ValueError, match="candidates"):
            run(PlainStore(), operator)


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


def test_the_similarity_threshold_of_the_config_is_used_for_similar_candidates() -> None:
    operator = Proposing(lambda a, b, now: None)
    operator.candidates = Candidates.SIMILAR
    store = PlainStore(said("Cats purr loudly."), said("Cats purr loud."))
    config = ConsolidationConfig(near_dup_threshold=0.99)
    consolidate(store, operators=ConsolidationOperators(near_dup=operator), config=config, now=NOW)
    assert operator.pairs == []

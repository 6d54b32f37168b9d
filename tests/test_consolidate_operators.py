"""Operators of near duplicates: what they are shown, and what happens to what they propose."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from agent_memory import (
    ConsolidationConfig,
    ConsolidationOperators,
    ConsolidationReport,
    HeuristicContradictionOperator,
    MemoryRecord,
    Proposal,
    ProposalKind,
    RecordState,
    RecordType,
    TrigramNearDupOperator,
    consolidate,
)
from agent_memory.pipeline import Candidates, NearDupOperator
from agent_memory.pipeline.consolidate.operators import candidates_of, disputes_all, keeps_words
from plain_store import NOW, PlainStore, picture, said, source, states

MADE = source(None, "consolidation")
STATEMENT = "Sandro prefers small focused files"


def copies(count: int) -> list[MemoryRecord]:
    """The same statement in ``count`` spellings."""
    return [said(STATEMENT + "." * n, days=n, by=source(f"s{n}")) for n in range(count)]


def run(store: PlainStore, near_dup: NearDupOperator, days: int = 0) -> ConsolidationReport:
    return consolidate(store, operators=ConsolidationOperators(near_dup=near_dup), now=NOW + timedelta(days=days))


def active(store: PlainStore) -> tuple[MemoryRecord, ...]:
    return store.list(state=RecordState.ACTIVE)


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

    def test_a_merge_that_was_declined_is_not_offered_again_for_each_of_its_parts(self) -> None:
        records = sorted((said(f"Cats purr {word}.") for word in ("loudly", "softly", "often")), key=lambda r: r.id)

        def first_two(a: MemoryRecord, b: MemoryRecord, now: datetime) -> Proposal | None:
            return merge(a, b, now) if {a.id, b.id} == {record.id for record in records[:2]} else None

        operator = Proposing(first_two)
        run(PlainStore(*records), operator)
        assert len(operator.pairs) == 2

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
        run(store, TrigramNearDupOperator())
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

    def test_a_subclass_declares_its_own_candidates_whatever_the_default_has(self) -> None:
        class Bare(TrigramNearDupOperator):
            pass

        class Similar(TrigramNearDupOperator):
            candidates = Candidates.SIMILAR

        class Inheriting(Similar):
            pass

        class Mixin:
            candidates = Candidates.OPPOSED

        class Mixed(Mixin, TrigramNearDupOperator):
            pass

        for lossless in (True, False):
            assert candidates_of(Bare(lossless=lossless)) is Candidates.RELATED
            assert candidates_of(Similar(lossless=lossless)) is Candidates.SIMILAR
            assert candidates_of(Inheriting(lossless=lossless)) is Candidates.SIMILAR
            assert candidates_of(Mixed(lossless=lossless)) is Candidates.OPPOSED
        assert candidates_of(TrigramNearDupOperator()) is Candidates.SAME_TERMS
        assert candidates_of(TrigramNearDupOperator(lossless=False)) is Candidates.SIMILAR
        assert [keeps_words(kind()) for kind in (TrigramNearDupOperator, Bare, Inheriting)] == [True, False, False]

    def test_a_subclass_of_the_default_contradiction_operator_is_asked_about_every_pair(self) -> None:
        class Bare(HeuristicContradictionOperator):
            pass

        class Opposed(Bare):
            candidates = Candidates.OPPOSED

        operators = (HeuristicContradictionOperator(), Bare(), Opposed())
        assert [candidates_of(operator).value for operator in operators] == ["opposed", "related", "opposed"]
        assert [disputes_all(operator) for operator in operators] == [True, False, False]

    def test_candidates_that_do_not_exist_are_an_error(self) -> None:
        operator = Proposing(lambda a, b, now: None)
        operator.candidates = "everything"  # type: ignore[assignment]
        with pytest.raises(ValueError, match="candidates"):
            run(PlainStore(), operator)


def test_the_similarity_threshold_of_the_config_is_used_for_similar_candidates() -> None:
    operator = Proposing(lambda a, b, now: None)
    operator.candidates = Candidates.SIMILAR
    store = PlainStore(said("Cats purr loudly."), said("Cats purr loud."))
    config = ConsolidationConfig(near_dup_threshold=0.99)
    consolidate(store, operators=ConsolidationOperators(near_dup=operator), config=config, now=NOW)
    assert operator.pairs == []

"""The write stage: what an extractor may bring in, and what happens to what is said twice."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory import (
    ArgumentTypeError,
    HeuristicExtractor,
    MemoryRecord,
    Operator,
    Proposal,
    ProposalError,
    ProposalKind,
    Provenance,
    RecordError,
    RecordType,
    SalienceScores,
    Scope,
    StoreError,
    VerbatimExtractor,
    archive,
    begin_transition,
    ingest,
)
from agent_memory.pipeline import admit
from plain_store import NOW, SAID, T0, BrokenStore, PlainStore, create, said


class Canned(Operator):
    """Proposes what it was given."""

    def __init__(self, *proposals: Any) -> None:
        self.proposals = proposals
        self.texts: list[str] = []

    def propose(self, text: str, provenance: Provenance) -> tuple[Proposal, ...]:
        self.texts.append(text)
        return self.proposals


def take(store: PlainStore, *records: MemoryRecord, **options: Any) -> Any:
    return admit([create(record) for record in records], store=store, **options)


def test_new_records_are_accepted_in_order() -> None:
    store = PlainStore()
    first, second = said("One."), said("Two.")
    report = take(store, second, first)
    assert (report.accepted, report.deduped, report.rejected) == ((second.id, first.id), (), ())


def test_what_is_held_is_touched_and_gets_no_version() -> None:
    record = said("Said twice.")
    store = PlainStore(record)
    scores = SalienceScores()
    report = ingest("x", extractor=Canned(create(record)), store=store, provenance=SAID, now=NOW, scores=scores)
    assert (report.accepted, report.deduped) == ((), (record.id,))
    assert len(store.history(record.id)) == 1
    assert (scores.touches(record.id), scores.last_touched(record.id)) == (1, NOW)


def test_a_repetition_within_one_call_is_a_repetition() -> None:
    record = said("Said twice in one breath.")
    report = take(PlainStore(), record, record)
    assert (report.accepted, report.deduped) == ((record.id,), (record.id,))


def test_a_duplicate_may_be_found_by_other_means_than_the_id() -> None:
    held, again = said("The same."), said("The same.", days=1)
    store = PlainStore(held)
    touched: list[str] = []
    report = take(
        store, again, duplicate_of=lambda record: held, touch=lambda record_id, now: touched.append(record_id)
    )
    assert report.deduped == (held.id,)
    assert touched == [held.id]
    assert list(store.versions) == [held.id]


def test_prepare_may_add_to_a_record_and_decides_what_it_is_compared_as() -> None:
    store = PlainStore()
    report = take(
        store, said("Mine."), prepare=lambda record: record.evolve({"scope": Scope(user_id="ann"), "tags": ["t"]})
    )
    kept = store.get(report.accepted[0])
    assert (kept.scope.user_id, kept.tags) == ("ann", ("t",))


@pytest.mark.parametrize(
    ("mine", "yours"),
    [({"user_id": "ann"}, {"user_id": "bob"}), ({"key": "a::b"}, {"key": "a::c"}), ({}, {"project": "p"})],
)
def test_birth_content_taken_by_another_scope_or_key_is_born_in_the_next_free_millisecond(
    mine: dict[str, Any], yours: dict[str, Any]
) -> None:
    first, second = said("Same words, same moment.", **mine), said("Same words, same moment.", **yours)
    assert first.id == second.id
    store = PlainStore(first)
    (born,) = take(store, second).accepted
    kept = store.get(born)
    assert kept.created_at == kept.updated_at == first.created_at + timedelta(milliseconds=1)
    assert kept.extension == second.extension
    assert store.get(first.id) == first
    again = take(store, second)
    assert (again.accepted, again.deduped) == ((), (born,))


def test_sessions_of_one_scope_share_a_record() -> None:
    first = said("Across sessions.", session_id="monday")
    report = take(PlainStore(first), said("Across sessions.", session_id="tuesday"))
    assert report.deduped == (first.id,)


def test_what_was_redacted_is_not_written_again_under_its_id() -> None:
    record = said("A secret.")
    store = PlainStore(MemoryRecord.tombstone(record, reason="asked to"))
    report = take(store, record)
    assert report.accepted == report.deduped == ()
    assert "redacted" in report.rejected[0].error
    assert len(store.versions) == 1


def test_when_the_caller_says_it_is_another_memory_a_taken_id_is_no_duplicate() -> None:
    held = archive(said("Said before."), reason="x", now=T0)
    store = PlainStore(held)
    (born,) = take(store, said("Said before."), duplicate_of=lambda record: None).accepted
    assert store.get(born).created_at == held.created_at + timedelta(milliseconds=1)
    assert store.get(held.id) == held


def _hostile() -> dict[str, tuple[Any, str]]:
    other = said("There already.")
    side, _ = begin_transition(said("Zebra one."), said("Zebra two."), reason="x", now=T0)
    rule = said("Zebra rule.", kind=RecordType.RULE, evidence=[other.id])
    return {
        "archive": (Proposal(kind=ProposalKind.ARCHIVE, target_id=other.id, reason="x"), "only create"),
        "supersede": (Proposal(kind=ProposalKind.SUPERSEDE, record=said("Zebra"), reason="x"), "only create"),
        "transition": (Proposal(kind=ProposalKind.TRANSITION, target_id=other.id, reason="x"), "only create"),
        "no record": (create(None), "no record"),
        "no proposal": ("Zebra text", "must return proposals"),
        "no record at all": (create("Zebra text"), "no record"),  # type: ignore[arg-type]
        "rule": (create(rule), "promotion"),
        "archived": (create(archive(said("Zebra"), reason="x", now=T0)), "born active"),
        "disputed": (create(side), "born active"),
        "supersedes": (create(said("Zebra", supersedes=other.id)), "lifecycle links"),
        "supersedes_also": (create(said("Zebra", supersedes_also=(other.id,))), "lifecycle links"),
        "tombstone": (create(MemoryRecord.tombstone(said("Zebra"), reason="x", now=T0)), "born active"),
    }


@pytest.mark.parametrize("name", _hostile())
def test_an_extractor_that_oversteps_is_refused_and_nothing_it_says_is_quoted(name: str) -> None:
    proposal, fragment = _hostile()[name]
    store = PlainStore(said("There already."))
    before = store.list()
    report = admit([proposal], store=store)
    assert store.list() == before
    assert report.accepted == report.deduped == ()
    (rejection,) = report.rejected
    assert rejection.pass_name == "write"
    assert fragment in rejection.error
    assert "Zebra" not in rejection.error + rejection.detail


def test_a_refused_proposal_does_not_stop_the_others() -> None:
    good = said("Good.")
    report = admit([create(None), create(good)], store=PlainStore())
    assert (report.accepted, len(report.rejected)) == ((good.id,), 1)


def test_a_mapping_is_read_as_lines_with_its_keys_sorted() -> None:
    extractor = Canned()
    ingest({"b": 2, "a": None, "c": "x"}, extractor=extractor, store=PlainStore(), provenance=SAID)
    assert extractor.texts == ["a: None\nb: 2\nc: x"]


@pytest.mark.parametrize("source", [5, b"x", ["a"], None])
def test_a_source_that_is_no_text_and_no_mapping_is_an_error(source: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="source"):
        ingest(source, extractor=Canned(), store=PlainStore(), provenance=SAID)


@pytest.mark.parametrize("answer", [None, "text", {"a": 1}, 3])
def test_an_extractor_that_returns_no_proposals_at_all_is_an_error(answer: Any) -> None:
    with pytest.raises(ProposalError, match="tuple of proposals"):
        admit(answer, store=PlainStore())


def test_a_store_that_fails_is_an_error_and_not_a_rejection() -> None:
    with pytest.raises(StoreError, match="full"):
        take(BrokenStore(), said("Lost."))


def test_a_naive_now_is_an_error() -> None:
    with pytest.raises(ValueError, match="timezone"):
        admit([], store=PlainStore(), now=NOW.replace(tzinfo=None))


class TestVerbatim:
    def test_the_text_becomes_one_fact_word_for_word_with_its_slot(self) -> None:
        (proposal,) = VerbatimExtractor(tags=["t"]).propose("  The staging database is Postgres. ", SAID)
        record = proposal.record
        assert record is not None
        assert (record.body, record.type, record.tags) == ("The staging database is Postgres.", RecordType.FACT, ("t",))
        assert (record.confidence, record.slots) == (0.9, {"stag databas": "postgr"})

    @pytest.mark.parametrize("text", ["", " ", "\n\t"])
    def test_blank_text_says_nothing(self, text: str) -> None:
        assert VerbatimExtractor().propose(text, SAID) == ()

    @given(st.text())
    def test_any_text_is_one_record_or_none(self, text: str) -> None:
        try:
            proposals = VerbatimExtractor().propose(text, SAID)
        except RecordError:  # a lone surrogate has no encoding
            return
        assert len(proposals) <= 1


class TestHeuristic:
    def test_each_stating_sentence_is_a_fact_or_an_episode(self) -> None:
        proposals = HeuristicExtractor().propose(
            "Sandro lives in Austin. We deployed the new build yesterday. Ok.", SAID
        )
        assert [proposal.record.type for proposal in proposals if proposal.record] == ["fact", "episode"]

    @given(st.text(alphabet="abc .!?\n", max_size=60))
    def test_it_never_proposes_a_rule(self, text: str) -> None:
        for proposal in HeuristicExtractor().propose(text, SAID):
            assert proposal.record is not None
            assert proposal.record.type in (RecordType.FACT, RecordType.EPISODE)


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(["ann", "bob"]), st.sampled_from([None, "k::k"])), max_size=12
    )
)
def test_every_scope_and_key_has_each_text_once_and_nothing_is_lost(sayings: list[tuple[str, str, str | None]]) -> None:
    store = PlainStore()
    for text, user, key in sayings:
        report = take(store, said(text, user_id=user, key=key))
        assert len(report.accepted) + len(report.deduped) == 1
    held = [(record.body, record.scope.user_id, record.key) for record in store.list()]
    assert sorted(held, key=str) == sorted(set(sayings), key=str)

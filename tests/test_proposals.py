"""Proposals: the only means an operator has, checked before anything is written; and the ports in their least form."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory import errors
from agent_memory.extension import Extension
from agent_memory.lifecycle import archive, begin_transition
from agent_memory.ports import Embedder, Operator, RecordStore, SearchIndex, check_append, check_id, matches, unknown_id
from agent_memory.proposals import (
    Proposal,
    ProposalKind,
    apply_proposal,
    apply_proposals,
    healed_partner,
    plan_proposal,
)
from agent_memory.records import MemoryRecord, Provenance, RecordState, RecordType

BORN = datetime(2026, 1, 1, tzinfo=UTC)
LATER = datetime(2026, 2, 1, tzinfo=UTC)


class Shelf(RecordStore):
    """The least a store can be: the four abstract members."""

    def __init__(self, *records: MemoryRecord) -> None:
        self.versions: dict[str, list[MemoryRecord]] = {}
        self.puts = 0
        for record in records:
            self.put(record)
        self.puts = 0

    def put(self, record: MemoryRecord) -> None:
        held = self.versions.setdefault(record.id, [])
        check_append(held[-1] if held else None, record)
        held.append(record)
        self.puts += 1

    def get(self, record_id: str) -> MemoryRecord:
        return self.history(record_id)[-1]

    def history(self, record_id: str) -> tuple[MemoryRecord, ...]:
        if check_id(record_id) not in self.versions:
            raise unknown_id(record_id)
        return tuple(self.versions[record_id])

    def list(
        self,
        *,
        state: RecordState | None = None,
        type: RecordType | None = None,
        tag: str | None = None,
    ) -> tuple[MemoryRecord, ...]:
        return tuple(held[-1] for held in self.versions.values() if matches(held[-1], state, type, tag))


def fact(body: str, **fields: Any) -> MemoryRecord:
    return MemoryRecord.create("fact", body, Provenance(kind="conversation"), created_at=BORN, **fields)


A, B, C = fact("a"), fact("b"), fact("c")
DISPUTED_A, DISPUTED_B = begin_transition(A, B, reason="they clash", now=BORN)


def create(record: Any, **fields: Any) -> Proposal:
    return Proposal(kind=ProposalKind.CREATE, record=record, **fields)


def supersede(record: Any, reason: Any = "newer") -> Proposal:
    return Proposal(kind=ProposalKind.SUPERSEDE, record=record, reason=reason)


def refused(store: Shelf, proposal: Any, error: type[Exception], fragment: str) -> None:
    """The proposal ends in the error, and the store is as it was."""
    before = {record_id: tuple(held) for record_id, held in store.versions.items()}
    with pytest.raises(error, match=fragment) as caught:
        apply_proposal(store, proposal)
    assert isinstance(caught.value, errors.AgentMemoryError)
    assert {record_id: tuple(held) for record_id, held in store.versions.items()} == before


def test_a_creation_writes_its_record() -> None:
    store = Shelf()
    assert apply_proposal(store, create(A)) == (A,)
    assert store.history(A.id) == (A,)


def test_a_supersession_writes_the_successor_and_then_what_it_retires() -> None:
    store = Shelf(A)
    successor = fact("newer", supersedes=A.id)
    written = apply_proposal(store, supersede(successor), now=LATER)
    assert [record.id for record in written] == [successor.id, A.id]
    assert written[0] == successor
    assert (written[1].state, written[1].superseded_by) == ("superseded", successor.id)
    assert written[1].updated_at == LATER
    assert store.get(A.id) == written[1]


def test_a_supersession_retires_everything_its_successor_names() -> None:
    store = Shelf(A, B, C)
    successor = fact("newer", supersedes=B.id, extension=Extension(supersedes_also=(A.id, C.id)))
    written = apply_proposal(store, supersede(successor), now=LATER)
    assert len(written) == 4
    assert all(store.get(record.id).superseded_by == successor.id for record in (A, B, C))


def test_a_transition_writes_both_sides() -> None:
    store = Shelf(A, B)
    proposal = Proposal(kind=ProposalKind.TRANSITION, target_id=A.id, other_id=B.id, reason="they clash")
    assert apply_proposal(store, proposal, now=BORN) == (DISPUTED_A, DISPUTED_B)


def test_an_archiving_writes_one_version() -> None:
    store = Shelf(A)
    proposal = Proposal(kind=ProposalKind.ARCHIVE, target_id=A.id, reason="old")
    assert [record.state for record in apply_proposal(store, proposal)] == ["archived"]


def test_proposals_are_applied_in_turn_and_a_refusal_stops() -> None:
    store = Shelf()
    successor = fact("newer", supersedes=A.id)
    assert len(apply_proposals(store, [create(A), supersede(successor)])) == 3
    with pytest.raises(errors.ProposalError):
        apply_proposals(store, [create(B), create(B), create(C)])
    assert store.get(B.id) == B
    assert C.id not in store.versions


def test_planning_writes_nothing() -> None:
    store = Shelf(A)
    planned = plan_proposal(store, supersede(fact("newer", supersedes=A.id)), now=LATER)
    assert len(planned) == 2
    assert store.puts == 0


# --------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize("kind", ProposalKind)
def test_a_malformed_proposal_can_be_built_and_not_applied(kind: ProposalKind) -> None:
    refused(Shelf(A, B), Proposal(kind=kind), errors.ProposalError, "proposal")


def test_a_creation_needs_a_new_active_record() -> None:
    refused(Shelf(), create(None), errors.ProposalError, "no record")
    refused(Shelf(A), create(A), errors.ProposalError, "exists")
    refused(Shelf(A), create(A.evolve({"tags": ["x"]})), errors.ProposalError, "exists")
    for record in (archive(A, reason="r"), DISPUTED_A, MemoryRecord.tombstone(A, reason="r")):
        refused(Shelf(), create(record), errors.ProposalError, "active")


def test_nothing_is_created_over_a_tombstone() -> None:
    refused(Shelf(MemoryRecord.tombstone(A, reason="r")), create(A), errors.ProposalError, "exists")


def test_a_supersession_has_to_say_what_it_supersedes() -> None:
    refused(Shelf(A), supersede(fact("newer")), errors.ProposalError, "supersedes")
    refused(Shelf(A), supersede(None), errors.ProposalError, "no record")


def test_what_is_not_in_store_cannot_be_named() -> None:
    missing = "mem:" + "0" * 32
    for proposal in (
        supersede(fact("newer", supersedes=missing)),
        supersede(fact("newer", supersedes=A.id, extension=Extension(supersedes_also=(missing,)))),
        supersede(fact("newer", supersedes="../escape")),
        Proposal(kind=ProposalKind.TRANSITION, target_id=A.id, other_id=missing, reason="r"),
        Proposal(kind=ProposalKind.TRANSITION, target_id=missing, other_id=A.id, reason="r"),
        Proposal(kind=ProposalKind.ARCHIVE, target_id=missing, reason="r"),
        Proposal(kind=ProposalKind.ARCHIVE, target_id="not-an-id", reason="r"),
    ):
        refused(Shelf(A), proposal, errors.ProposalError, "not in store")


def test_an_illegal_step_is_a_lifecycle_error() -> None:
    archived = archive(A, reason="r")
    refused(Shelf(archived), supersede(fact("newer", supersedes=A.id)), errors.LifecycleError, "illegal")
    refused(
        Shelf(archived),
        Proposal(kind=ProposalKind.ARCHIVE, target_id=A.id, reason="r"),
        errors.LifecycleError,
        "illegal",
    )
    for other in (A, archived, DISPUTED_A):
        proposal = Proposal(kind=ProposalKind.TRANSITION, target_id=B.id, other_id=A.id, reason="r")
        if other is not A:
            refused(Shelf(B, other), proposal, errors.LifecycleError, "illegal")
    same = Proposal(kind=ProposalKind.TRANSITION, target_id=A.id, other_id=A.id, reason="r")
    refused(Shelf(A), same, errors.LifecycleError, "itself")


@pytest.mark.parametrize("reason", ["", "  ", None, 5])
def test_every_change_needs_a_reason(reason: Any) -> None:
    for proposal in (
        supersede(fact("newer", supersedes=A.id), reason),
        Proposal(kind=ProposalKind.TRANSITION, target_id=A.id, other_id=B.id, reason=reason),
        Proposal(kind=ProposalKind.ARCHIVE, target_id=A.id, reason=reason),
    ):
        refused(Shelf(A, B), proposal, errors.LifecycleError, "reason")


@pytest.mark.parametrize("proposal", [None, 5, "create", {"kind": "create"}, A])
def test_what_is_no_proposal_is_refused(proposal: Any) -> None:
    refused(Shelf(A), proposal, errors.ProposalError, "proposal")


@pytest.mark.parametrize("kind", [None, 5, "", "redact", "delete", []])
def test_there_are_four_kinds_and_none_destroys(kind: Any) -> None:
    assert [str(known) for known in ProposalKind] == ["create", "supersede", "transition", "archive"]
    refused(Shelf(A), Proposal(kind=kind, record=B, target_id=A.id, reason="r"), errors.ProposalError, "kind")


def test_a_kind_may_be_given_as_its_text() -> None:
    assert apply_proposal(Shelf(), Proposal(kind="create", record=A)) == (A,)  # type: ignore[arg-type]


@pytest.mark.parametrize("record", [5, "text", {"body": "x"}, []])
def test_a_proposed_record_is_a_record(record: Any) -> None:
    refused(Shelf(), create(record), errors.ProposalError, "record")
    refused(Shelf(), supersede(record), errors.ProposalError, "record")


junk = st.one_of(st.none(), st.integers(), st.text(max_size=5), st.just(A), st.just(A.id), st.just([]))


@given(kind=junk | st.sampled_from(ProposalKind), record=junk, target=junk, other=junk, reason=junk)
def test_no_proposal_ends_in_another_error(kind: Any, record: Any, target: Any, other: Any, reason: Any) -> None:
    store = Shelf(A, B)
    try:
        apply_proposal(store, Proposal(kind=kind, record=record, target_id=target, other_id=other, reason=reason))
    except errors.AgentMemoryError:
        assert store.puts == 0


# --------------------------------------------------------------------------------------------- a dispute never hangs


def test_the_other_side_of_a_dispute_returns_when_one_leaves_it() -> None:
    for leave in (
        Proposal(kind=ProposalKind.ARCHIVE, target_id=A.id, reason="old"),
        supersede(fact("newer", supersedes=A.id)),
    ):
        store = Shelf(DISPUTED_A, DISPUTED_B)
        written = apply_proposal(store, leave, now=LATER)
        partner = store.get(B.id)
        assert partner in written
        assert (partner.state, partner.transition) == ("active", None)
        assert partner.state_reason is not None
        assert A.id in partner.state_reason


def test_two_sides_that_leave_together_are_not_reopened() -> None:
    store = Shelf(DISPUTED_A, DISPUTED_B)
    successor = fact("newer", supersedes=A.id, extension=Extension(supersedes_also=(B.id,)))
    assert len(apply_proposal(store, supersede(successor))) == 3
    assert store.get(A.id).state == store.get(B.id).state == "superseded"


def test_a_partner_in_another_dispute_is_left_in_it() -> None:
    elsewhere, _ = begin_transition(B, C, reason="r")
    assert healed_partner(Shelf(DISPUTED_A, elsewhere), DISPUTED_A) == ()
    assert healed_partner(Shelf(DISPUTED_A, B), DISPUTED_A) == ()
    assert healed_partner(Shelf(DISPUTED_A), DISPUTED_A) == ()
    assert healed_partner(Shelf(A, B), A) == ()


# ------------------------------------------------------------------------------------------------------- the ports


def test_the_ports_ask_for_no_more_than_the_peer_does() -> None:
    assert RecordStore.__abstractmethods__ == {"put", "get", "history", "list"}
    assert SearchIndex.__abstractmethods__ == {"index", "candidates"}
    assert Embedder.__abstractmethods__ == {"dimensions", "embed"}
    assert Operator.__abstractmethods__ == {"propose"}


def test_what_a_store_can_do_besides_works_without_being_written() -> None:
    store = Shelf()
    store.put_many([A, B])
    assert list(store) == [A, B]
    assert store.get_many([B.id, "mem:" + "0" * 32, "not-an-id", A.id]) == {B.id: B, A.id: A}
    assert list(store.payloads()) == [A.canonical_bytes(), B.canonical_bytes()]
    with store.transaction(), store.transaction():
        store.put(A)
    store.close()
    store.close()
    assert len(store.history(A.id)) == 2


def test_what_an_index_and_an_embedder_can_do_besides_works_too() -> None:
    class Index(SearchIndex):
        def __init__(self) -> None:
            self.held: list[str] = []

        def index(self, record: MemoryRecord) -> None:
            self.held.append(record.id)

        def candidates(self, query: str, k: int) -> tuple[tuple[str, float], ...]:
            return tuple((record_id, 1.0) for record_id in self.held if query)[: max(k, 0)]

    class Flat(Embedder):
        @property
        def dimensions(self) -> int:
            return 1

        def embed(self, text: str) -> tuple[float, ...]:
            return (1.0 if text else 0.0,)

    index = Index()
    index.index_many([A, B])
    index.close()
    assert index.candidates("x", 1) == ((A.id, 1.0),)
    assert Flat().embed_many(["a", ""]) == ((1.0,), (0.0,))


@pytest.mark.parametrize(
    "record_id", ["", "mem:", "not-an-id", "mem:../escape", "mem:ABCDEF", None, 5, [], A.id + "\n"]
)
def test_a_malformed_id_is_said_to_be_one(record_id: Any) -> None:
    with pytest.raises(errors.StoreError, match="malformed"):
        Shelf(A).get(record_id)


def test_an_unknown_id_is_said_to_be_one() -> None:
    with pytest.raises(errors.StoreError, match="unknown"):
        Shelf(A).get(B.id)


def test_nothing_but_itself_follows_a_tombstone() -> None:
    stone = MemoryRecord.tombstone(A, reason="r", now=BORN)
    store = Shelf(stone)
    store.put(stone)
    for record in (A, MemoryRecord.tombstone(A, reason="another", now=BORN)):
        with pytest.raises(errors.StoreError, match="redacted"):
            store.put(record)
    assert store.history(A.id) == (stone, stone)


def test_filters_take_all_that_is_given() -> None:
    tagged = fact("d", tags=["x"])
    store = Shelf(A, archive(B, reason="r"), tagged)
    assert store.list(state=RecordState.ACTIVE) == (A, tagged)
    assert store.list(state=RecordState.ACTIVE, tag="x") == (tagged,)
    assert store.list(type=RecordType.RULE) == ()

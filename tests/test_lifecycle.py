"""The lifecycle: what is in the table can be done, with a reason, and nothing else can."""

from __future__ import annotations

import ast
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory import errors, lifecycle
from agent_memory.extension import Extension
from agent_memory.lifecycle import (
    LEGAL_TRANSITIONS,
    archive,
    assert_transition,
    begin_transition,
    is_legal,
    join_dispute,
    partner_of,
    refresh_rule_flag,
    reopen,
    reopen_alone,
    resolve_transition,
    retire_under_dispute,
    same_dispute,
    supersede,
)
from agent_memory.records import MemoryRecord, Provenance, RecordState, Transition

BORN = datetime(2026, 1, 1, tzinfo=UTC)
LATER = datetime(2026, 2, 1, tzinfo=UTC)
HERE = Provenance(kind="conversation")


def fact(body: str, **fields: Any) -> MemoryRecord:
    return MemoryRecord.create("fact", body, HERE, created_at=BORN, **fields)


A, B, C = fact("a"), fact("b"), fact("c")
DISPUTED_A, DISPUTED_B = begin_transition(A, B, reason="they clash", now=LATER)
SUPERSEDED = supersede(A, fact("newer", supersedes=A.id), reason="newer", now=LATER)
ARCHIVED = archive(A, reason="old", now=LATER)
RULE = MemoryRecord.create("rule", "Always.", HERE, evidence=[A.id, B.id], created_at=BORN)
IN_STATE = {
    RecordState.ACTIVE: A,
    RecordState.TRANSITIONAL: DISPUTED_A,
    RecordState.SUPERSEDED: SUPERSEDED,
    RecordState.ARCHIVED: ARCHIVED,
}


def test_there_are_seven_legal_changes() -> None:
    assert len(LEGAL_TRANSITIONS) == 7
    assert set(LEGAL_TRANSITIONS) == {
        ("active", "transitional"), ("active", "superseded"), ("active", "archived"), ("transitional", "active"),
        ("transitional", "superseded"), ("transitional", "archived"), ("superseded", "archived"),
    }  # fmt: skip


@pytest.mark.parametrize("target", RecordState)
@pytest.mark.parametrize("current", RecordState)
def test_what_is_not_in_the_table_is_illegal(current: RecordState, target: RecordState) -> None:
    if is_legal(current, target):
        assert_transition(current, target)
    else:
        with pytest.raises(errors.LifecycleError, match="illegal"):
            assert_transition(current, target)


def move(record: MemoryRecord, target: RecordState) -> MemoryRecord:
    """Brings a record into a state by the one function that can."""
    if target is RecordState.ARCHIVED:
        return archive(record, reason="r", now=LATER)
    if target is RecordState.SUPERSEDED:
        return supersede(record, fact("newer", supersedes=record.id), reason="r", now=LATER)
    if target is RecordState.TRANSITIONAL:
        return begin_transition(record, C, reason="r", now=LATER)[0]
    return resolve_transition(record, DISPUTED_B, reason="r", now=LATER)[0]


@pytest.mark.parametrize("target", RecordState)
@pytest.mark.parametrize("current", RecordState)
def test_the_functions_do_what_the_table_says(current: RecordState, target: RecordState) -> None:
    record = IN_STATE[current]
    if is_legal(current, target):
        assert move(record, target).state is target
    else:
        with pytest.raises(errors.LifecycleError, match="illegal"):
            move(record, target)


@given(st.lists(st.sampled_from(RecordState), max_size=8))
def test_no_sequence_of_moves_leaves_the_table(targets: list[RecordState]) -> None:
    record = A
    for target in targets:
        try:
            moved = move(record, target)
        except errors.LifecycleError:
            continue
        assert is_legal(record.state, moved.state)
        assert moved.id == A.id
        record = moved


# ----------------------------------------------------------------------------------------------------- supersession


def test_a_supersession_names_its_successor_and_its_reason() -> None:
    successor = fact("newer", supersedes=A.id)
    old = supersede(A, successor, reason="a newer one", now=LATER)
    assert (old.state, old.superseded_by, old.state_reason) == ("superseded", successor.id, "a newer one")
    assert old.updated_at == LATER


def test_a_successor_may_name_it_among_others() -> None:
    successor = fact("newer", supersedes=B.id, extension=Extension(supersedes_also=(A.id,)))
    assert supersede(A, successor, reason="r").superseded_by == successor.id
    assert supersede(B, successor, reason="r").superseded_by == successor.id


def test_a_successor_has_to_reference_what_it_replaces() -> None:
    for successor in (fact("newer"), fact("newer", supersedes=B.id)):
        with pytest.raises(errors.LifecycleError, match="reference"):
            supersede(A, successor, reason="r")


def test_a_successor_has_to_be_active() -> None:
    with pytest.raises(errors.LifecycleError, match="active"):
        supersede(A, archive(fact("newer", supersedes=A.id), reason="r"), reason="r")


def test_nothing_supersedes_itself() -> None:
    with pytest.raises(errors.LifecycleError, match="itself"):
        supersede(A, A.evolve({"supersedes": A.id}), reason="r")


# --------------------------------------------------------------------------------------------------------- disputes


def test_both_sides_of_a_dispute_carry_the_same_block() -> None:
    assert DISPUTED_A.transition == DISPUTED_B.transition
    assert DISPUTED_A.transition is not None
    assert DISPUTED_A.transition.sides == (A.id, B.id)
    assert DISPUTED_A.transition.other(A.id) == B.id
    assert DISPUTED_A.state_reason == DISPUTED_B.state_reason == "they clash"
    assert DISPUTED_A.updated_at == DISPUTED_B.updated_at == LATER


def test_a_record_cannot_contradict_itself() -> None:
    with pytest.raises(errors.LifecycleError, match="itself"):
        begin_transition(A, A, reason="r")


def test_a_resolution_restores_the_winner_and_retires_the_loser() -> None:
    for winner, loser in ((DISPUTED_A, DISPUTED_B), (DISPUTED_B, DISPUTED_A)):
        won, lost = resolve_transition(winner, loser, reason="checked", now=LATER)
        assert (won.state, won.transition, won.superseded_by) == ("active", None, None)
        assert (lost.state, lost.transition, lost.superseded_by) == ("superseded", None, winner.id)
        assert won.state_reason == lost.state_reason == "checked"


def test_a_resolution_needs_both_sides_of_one_dispute() -> None:
    other, _ = begin_transition(B, C, reason="r")
    for winner, loser in ((DISPUTED_A, other), (DISPUTED_A, DISPUTED_A)):
        with pytest.raises(errors.LifecycleError, match="same transition"):
            resolve_transition(winner, loser, reason="r")
    with pytest.raises(errors.LifecycleError, match="illegal"):
        resolve_transition(A, B, reason="r")


def test_a_side_left_alone_returns_to_active() -> None:
    alone = reopen(DISPUTED_A, reason="the other side was archived", now=LATER)
    assert (alone.state, alone.transition, alone.state_reason) == ("active", None, "the other side was archived")
    for record in (A, SUPERSEDED, ARCHIVED):
        with pytest.raises(errors.LifecycleError, match="illegal"):
            reopen(record, reason="r")


# ------------------------------------------------------------------------------------------- archiving, every reason


def test_archiving_clears_a_dispute_and_keeps_a_successor() -> None:
    assert archive(DISPUTED_A, reason="r").transition is None
    assert archive(SUPERSEDED, reason="r").superseded_by == SUPERSEDED.superseded_by


@pytest.mark.parametrize("reason", ["", "  \n", None, 5])
def test_every_change_needs_a_reason(reason: Any) -> None:
    for change in (
        lambda: supersede(A, fact("newer", supersedes=A.id), reason=reason),
        lambda: begin_transition(A, B, reason=reason),
        lambda: resolve_transition(DISPUTED_A, DISPUTED_B, reason=reason),
        lambda: reopen(DISPUTED_A, reason=reason),
        lambda: archive(A, reason=reason),
    ):
        with pytest.raises(errors.LifecycleError, match="reason"):
            change()


def test_a_reason_is_kept_as_it_is() -> None:
    reason = "  because Überlauf — \n said so "
    assert archive(A, reason=reason).state_reason == reason


def test_the_time_of_a_change_defaults_to_now() -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    for record in (archive(A, reason="r"), *begin_transition(A, B, reason="r"), reopen(DISPUTED_A, reason="r")):
        assert record.updated_at >= before


def test_a_change_clears_the_signature_and_changes_nothing_it_was_given() -> None:
    signed = A.model_copy({"signed_by": "someone", "signature": "AAAA"})
    before = signed.model_dump()
    changed = archive(signed, reason="r")
    assert (changed.signed_by, changed.signature) == (None, "")
    assert signed.model_dump() == before


# ------------------------------------------------------------------------------------------------- sides of a dispute


def test_two_sides_are_in_the_same_dispute_when_both_say_so() -> None:
    other_a, other_c = begin_transition(A, C, reason="another")
    assert same_dispute(DISPUTED_A, DISPUTED_B)
    assert same_dispute(other_c, other_a)
    for a, b in ((DISPUTED_A, DISPUTED_A), (other_a, DISPUTED_B), (DISPUTED_A, B), (A, DISPUTED_B), (A, B)):
        assert not same_dispute(a, b)


def test_a_partner_is_found_when_it_is_in_the_dispute() -> None:
    assert partner_of(DISPUTED_A, {B.id: DISPUTED_B}.get) is DISPUTED_B
    for shelf in (
        {},
        {B.id: B},
        {B.id: archive(DISPUTED_B, reason="r")},
        {B.id: begin_transition(B, C, reason="r")[0]},
    ):
        assert partner_of(DISPUTED_A, shelf.get) is None
    assert partner_of(A, {B.id: DISPUTED_B}.get) is None


def test_a_side_left_alone_returns_with_a_reason_that_names_the_other() -> None:
    alone = reopen_alone(DISPUTED_A, now=LATER)
    assert (alone.state, alone.transition, alone.updated_at) == ("active", None, LATER)
    assert B.id in str(alone.state_reason)
    with pytest.raises(errors.LifecycleError, match="illegal"):
        reopen_alone(A)


def test_an_active_record_joins_the_dispute_its_other_side_is_in() -> None:
    block = Transition(sides=(A.id, B.id), reason="they clash")
    assert join_dispute(A, block, now=LATER) == DISPUTED_A
    for record in (DISPUTED_A, SUPERSEDED, ARCHIVED, C):
        with pytest.raises(errors.LifecycleError, match="illegal"):
            join_dispute(record, block)


def test_only_under_a_dispute_may_a_successor_be_disputed() -> None:
    standing = DISPUTED_A.evolve({"supersedes_also": [C.id]})
    retired = retire_under_dispute(C, standing, reason="another stands", now=LATER)
    assert (retired.state, retired.superseded_by, retired.state_reason) == ("superseded", A.id, "another stands")
    with pytest.raises(errors.LifecycleError, match="active"):
        supersede(C, standing, reason="another stands")
    for record, other, reason, told in (
        (C, DISPUTED_A, "r", "reference"),
        (C, standing, " ", "reason"),
        (archive(C, reason="r"), standing, "r", "illegal"),
        (C, archive(standing, reason="r"), "r", "active or in dispute"),
    ):
        with pytest.raises(errors.LifecycleError, match=told):
            retire_under_dispute(record, other, reason=reason)


def test_nothing_outside_the_lifecycle_moves_a_record() -> None:
    package = Path(lifecycle.__file__).parent
    moved = {"state", "superseded_by", "transition", "flagged", "flag_reason"}
    for path in package.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(call, ast.Call) and getattr(call.func, "attr", "") in ("evolve", "model_copy"):
                named = {node.value for node in ast.walk(call) if isinstance(node, ast.Constant)}
                assert path.name == "lifecycle.py" or not named & moved, f"{path.name}:{call.lineno}"


# ------------------------------------------------------------------------------------------------------- rule flags


def test_a_rule_is_flagged_when_all_its_evidence_is_gone() -> None:
    flagged = refresh_rule_flag(RULE, {A.id: ARCHIVED, B.id: archive(B, reason="r")}, now=LATER)
    assert flagged.flagged
    assert flagged.flag_reason is not None
    assert "archived or superseded" in flagged.flag_reason
    assert flagged.updated_at == LATER
    cleared = refresh_rule_flag(flagged, {A.id: ARCHIVED, B.id: B}, now=LATER)
    assert (cleared.flagged, cleared.flag_reason) == (False, None)


def test_disputed_evidence_is_alive() -> None:
    assert refresh_rule_flag(RULE, {A.id: SUPERSEDED, B.id: DISPUTED_B}) is RULE


def test_a_rule_whose_flag_is_right_is_returned_as_it_is() -> None:
    assert refresh_rule_flag(RULE, {A.id: A, B.id: ARCHIVED}) is RULE
    flagged = refresh_rule_flag(RULE, {A.id: ARCHIVED, B.id: SUPERSEDED})
    assert refresh_rule_flag(flagged, {A.id: ARCHIVED, B.id: SUPERSEDED}) is flagged


def test_a_flag_needs_a_rule_and_all_its_evidence() -> None:
    with pytest.raises(errors.LifecycleError, match="rule"):
        refresh_rule_flag(A, {})
    with pytest.raises(errors.LifecycleError, match="not supplied"):
        refresh_rule_flag(RULE, {A.id: A})


def test_missing_evidence_may_count_as_gone() -> None:
    flagged = refresh_rule_flag(RULE, {A.id: ARCHIVED}, missing_is_dead=True, now=LATER)
    assert flagged.flagged
    assert str(flagged.flag_reason).startswith("no live evidence: 1 ")
    assert refresh_rule_flag(flagged, {}, missing_is_dead=True) is flagged
    assert refresh_rule_flag(RULE, {A.id: A}, missing_is_dead=True) is RULE
    assert not refresh_rule_flag(flagged, {A.id: A}, missing_is_dead=True).flagged


def test_a_tombstone_is_never_flagged() -> None:
    stone = MemoryRecord.tombstone(RULE, reason="r")
    assert refresh_rule_flag(stone, {A.id: ARCHIVED, B.id: ARCHIVED}) is stone


def test_errors_name_ids_and_no_content() -> None:
    secret = fact("hunter2")
    for change in (
        lambda: supersede(secret, fact("hunter2!"), reason="r"),
        lambda: reopen(secret, reason="r"),
        lambda: archive(archive(secret, reason="r"), reason="r"),
    ):
        with pytest.raises(errors.LifecycleError) as caught:
            change()
        assert "hunter2" not in str(caught.value)


def test_the_module_says_what_it_offers() -> None:
    assert all(hasattr(lifecycle, name) for name in lifecycle.__all__)

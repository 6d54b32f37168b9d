"""What a write under a key does: each rule of spec/corrections.md, once in files and once in SQLite."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agent_memory import ArgumentError, Memory, RecordError, RecordState, RememberResult, StoreError

KEY = "billing-api::region"


@pytest.fixture(params=[None, "memory", "memory.db"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    with Memory(None if request.param is None else tmp_path / request.param, auto_consolidate=False) as opened:
        yield opened


def keep(memory: Memory, text: str, object: str | None = None, **more: Any) -> RememberResult:
    return memory.remember(text, key=more.pop("key", KEY), object=object, **more)


def shown(memory: Memory, query: str = "region office text") -> list[str]:
    return sorted(item.record.body for item in memory.recall(query, budget_tokens=10_000, touch=False))


def live(memory: Memory, key: str = KEY) -> list[str]:
    return [record.id for record in memory.list() if record.key == key and record.state.is_live]


# ---------------------------------------------------------------------- corrections


def test_a_new_value_takes_the_place_of_the_one_that_stood_at_once(memory: Memory) -> None:
    first = keep(memory, "The region is Oslo.", "oslo")
    second = keep(memory, "The region is Bergen.", "bergen")
    assert (first.blocked, first.superseded_id, first.current_id) == (False, None, first.record_id)
    assert (second.blocked, second.superseded_id, second.current_id) == (False, first.record_id, second.record_id)
    assert shown(memory) == ["The region is Bergen."]
    old = memory.get(str(first.record_id))
    assert (old.state, old.superseded_by) == (RecordState.SUPERSEDED, second.record_id)
    assert old.state_reason == f"corrected by {second.record_id}"
    assert memory.get(str(second.record_id)).supersedes == first.record_id
    assert memory.get(str(second.record_id)).evidence == ()


def test_the_same_words_reinforce_what_stands(memory: Memory) -> None:
    first = keep(memory, "The region is Oslo.", "oslo", tags=["a"])
    again = keep(memory, "the  REGION is Oslo", tags=["b"], value=3)
    assert (again.record_id, again.deduped, again.blocked) == (first.record_id, True, False)
    record = memory.get(str(first.record_id))
    assert (record.tags, record.value, record.object) == (("a", "b"), 3.0, "oslo")
    assert len(memory.history(str(first.record_id))) == 2
    keep(memory, "The region is Oslo.")
    assert len(memory.history(str(first.record_id))) == 2


def test_the_same_value_in_other_words_takes_its_place_as_a_restatement(memory: Memory) -> None:
    first = keep(memory, "The region is Oslo.", "oslo")
    again = keep(memory, "We run in Oslo.", "OSLO")
    record = memory.get(str(again.record_id))
    assert (again.superseded_id, record.supersedes, record.evidence) == (
        first.record_id,
        first.record_id,
        (first.record_id,),
    )
    assert memory.get(str(first.record_id)).state_reason == f"restated by {again.record_id}"
    back = keep(memory, "The region is Oslo.", "oslo")
    assert not back.blocked
    assert live(memory) == [back.record_id]


@pytest.mark.parametrize(
    ("one", "other", "linked"), [("crm/a", "crm/b", False), ("crm/a", "crm/a", True), (None, "crm/b", True)]
)
def test_a_restatement_has_what_it_repeats_as_evidence_unless_two_sources_said_it(
    memory: Memory, one: str | None, other: str | None, linked: bool
) -> None:
    first = keep(memory, "The region is Oslo.", "oslo", source=one)
    again = keep(memory, "We run in Oslo.", "oslo", source=other)
    assert memory.get(str(again.record_id)).evidence == ((first.record_id,) if linked else ())


def test_the_same_words_of_another_source_are_a_record_of_their_own(memory: Memory) -> None:
    first = keep(memory, "The region is Oslo.", "oslo", source="crm/a")
    again = keep(memory, "The region is Oslo.", "oslo", source="crm/b")
    assert (again.superseded_id, again.blocked, again.deduped) == (first.record_id, False, False)
    assert keep(memory, "The region is Oslo.").record_id == again.record_id


# ---------------------------------------------------------------------- the echo guard


def test_a_corrected_value_does_not_come_back_by_being_said_again(memory: Memory) -> None:
    first = keep(memory, "The region is Oslo.", "oslo")
    second = keep(memory, "The region is Bergen.", "bergen")
    echo = keep(memory, "the region is  Oslo", "Oslo ")
    reworded = keep(memory, "We still run in Oslo", "oslo")
    for verdict in (echo, reworded):
        assert (verdict.blocked, verdict.policy, verdict.current_id) == (True, "echo_guard", second.record_id)
        record = memory.get(str(verdict.record_id))
        assert (record.state, record.superseded_by) == (RecordState.ARCHIVED, second.record_id)
        assert record.evidence == (first.record_id,)
        assert len(memory.history(record.id)) == 1
        assert verdict.ingest.accepted == ()
    assert shown(memory) == ["The region is Bergen."]
    assert len(memory.history(str(second.record_id))) == 1


def test_without_objects_texts_are_compared_and_a_reworded_one_lands(memory: Memory) -> None:
    keep(memory, "The region is Oslo.")
    keep(memory, "The region is Bergen.")
    assert keep(memory, "THE REGION IS OSLO").blocked
    assert not keep(memory, "We run in Oslo").blocked


def test_an_echo_is_kept_once(memory: Memory) -> None:
    keep(memory, "The region is Oslo.", "oslo")
    keep(memory, "The region is Bergen.", "bergen")
    first = keep(memory, "We run in Oslo.", "oslo")
    count = len(memory.list())
    again = keep(memory, "We run in Oslo.", "oslo")
    assert (again.record_id, again.deduped, again.blocked) == (first.record_id, True, True)
    assert len(memory.list()) == count
    other = keep(memory, "We run in Oslo.", "oslo", source="crm/a")
    assert other.record_id != first.record_id


def test_a_text_said_without_the_key_is_an_echo_too(memory: Memory) -> None:
    first = keep(memory, "The region is Oslo.", "oslo")
    second = keep(memory, "The region is Bergen.", "bergen")
    echo = memory.remember("the region is oslo")
    assert (echo.blocked, echo.policy, echo.current_id) == (True, "echo_guard", second.record_id)
    record = memory.get(str(echo.record_id))
    assert (record.key, record.state, record.evidence) == (None, RecordState.ARCHIVED, (first.record_id,))
    assert memory.remember("the region is oslo").record_id == echo.record_id
    assert echo.record_id in [item.id for item in memory.history(KEY).blocked]
    assert shown(memory) == ["The region is Bergen."]


def test_what_was_said_without_the_key_before_goes_with_the_value_it_repeats(memory: Memory) -> None:
    chatter = memory.remember("The region is Oslo", source="chat/1")
    keep(memory, "The region is Oslo.", "oslo")
    later = memory.remember("The region is OSLO", source="chat/2")
    assert not later.blocked
    second = keep(memory, "The region is Bergen.", "bergen")
    assert shown(memory) == ["The region is Bergen."]
    for verdict in (chatter, later):
        assert memory.get(str(verdict.record_id)).superseded_by == second.record_id


def test_an_episode_tells_what_happened_and_is_no_echo(memory: Memory) -> None:
    keep(memory, "The region is down.", "down")
    before = memory.remember("The region is down.", mtype="episodic", occurred_at="2026-01-01T00:00:00Z")
    keep(memory, "The region is up.", "up")
    after = memory.remember("The region is down.", mtype="episodic", occurred_at="2026-01-02T00:00:00Z")
    assert not after.blocked
    assert memory.get(str(before.record_id)).state is RecordState.ACTIVE
    assert memory.remember("The region is down.").blocked


def test_a_text_that_stands_under_another_key_is_no_echo_without_a_key(memory: Memory) -> None:
    keep(memory, "yes", key="a::open")
    keep(memory, "no", key="a::open")
    keep(memory, "yes", key="b::open")
    assert not memory.remember("yes").blocked
    keep(memory, "no", key="b::open")
    assert memory.remember("yes").blocked


def test_the_guard_can_be_switched_off(tmp_path: Path) -> None:
    with Memory(None, echo_guard=False, auto_consolidate=False) as memory:
        keep(memory, "The region is Oslo.", "oslo")
        keep(memory, "The region is Bergen.", "bergen")
        assert not keep(memory, "The region is Oslo.", "oslo").blocked
        assert not memory.remember("The region is Bergen.").blocked
        assert keep(memory, "old", occurred_at="2001-01-01T00:00:00Z").policy == "backfill"


@pytest.mark.parametrize(
    ("old", "new"),
    [("-5", "5"), ("C++", "C#"), ("$5", "€5"), ("1.5", "1,5"), ("3 > 2", "3 < 2"), ("v1.0", "v10"),
     ("用户甲", "用户乙"), ("a", "b"), ("8080", "808"), ("x=1", "x = 1"), ("no", "not"), ("résumé", "resume"),
     (".net", "net")],
)  # fmt: skip
@pytest.mark.parametrize("as_object", [True, False])
def test_these_are_different_values(old: str, new: str, as_object: bool) -> None:
    with Memory(None, auto_consolidate=False) as memory:
        first = keep(memory, "said one way", old) if as_object else keep(memory, f"text {old}")
        second = keep(memory, "said another way", new) if as_object else keep(memory, f"text {new}")
        assert (second.superseded_id, second.blocked) == (first.record_id, False)
        assert memory.get(str(first.record_id)).state_reason == f"corrected by {second.record_id}"
        assert (keep(memory, "said a third way", old) if as_object else keep(memory, f"text {old}")).blocked


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Oslo", "OSLO"),
        ("  Oslo ", "Oslo"),
        ("New  York", "new york"),
        ("Ame\u0301lie", "Am\u00e9lie"),
        ("STRASSE", "straße"),
    ],
)
@pytest.mark.parametrize("as_object", [True, False])
def test_these_are_the_same_value(old: str, new: str, as_object: bool) -> None:
    with Memory(None, auto_consolidate=False) as memory:
        if as_object:
            keep(memory, "said one way", old)
            again = keep(memory, "said another way", new)
            assert memory.get(str(again.superseded_id)).state_reason == f"restated by {again.record_id}"
        else:
            keep(memory, f"{old} it is")
            assert keep(memory, f"{new} it is.").deduped


def test_a_full_stop_counts_in_an_object_and_not_at_the_end_of_a_text(memory: Memory) -> None:
    keep(memory, "one", "1.")
    assert keep(memory, "two", "1").superseded_id is not None
    keep(memory, "The text.", key="t")
    assert keep(memory, "The text", key="t").deduped
    assert not keep(memory, "The text...", key="t").deduped


# ---------------------------------------------------------------------- what a value is


def test_a_value_that_was_only_ever_blocked_was_never_held_and_can_land(memory: Memory) -> None:
    keep(memory, "The region is Oslo.", "oslo")
    blocked = keep(memory, "The region was Kyiv.", "kyiv", occurred_at="2001-01-01T00:00:00Z")
    assert blocked.policy == "backfill"
    assert not keep(memory, "The region was Kyiv.", "kyiv").blocked


def test_an_object_is_not_retired_by_its_own_restatement_without_object(memory: Memory) -> None:
    keep(memory, "The region is Oslo.", "oslo")
    plain = keep(memory, "We run in Oslo now")
    assert plain.note is not None
    assert "object=" in plain.note
    assert memory.get(str(plain.record_id)).object is None
    again = keep(memory, "Our machines stand in Oslo", "oslo")
    assert (again.blocked, again.superseded_id) == (False, plain.record_id)
    assert not keep(memory, "The region is Oslo.", "oslo").blocked
    keep(memory, "The region is Bergen.", "bergen")
    for text in ("The region is Oslo.", "We run in Oslo now", "Our machines stand in Oslo"):
        assert keep(memory, text).blocked
    assert keep(memory, "in other words", "oslo").blocked


@pytest.mark.parametrize("text", ["We moved from Oslo to Bergen", "It is not Oslo", "Oslo-2 it is", "Port 8443"])
def test_a_text_without_object_that_says_more_than_the_object_corrects_it(memory: Memory, text: str) -> None:
    keep(memory, "The region is Oslo.", "oslo")
    keep(memory, text)
    assert keep(memory, "The region is Oslo.", "oslo").blocked
    assert keep(memory, "in other words", "oslo").blocked


def test_the_object_a_note_asked_for_can_be_given(memory: Memory) -> None:
    keep(memory, "The region is Oslo.", "oslo")
    asked = keep(memory, "We run further west.")
    assert asked.note is not None
    assert "remember it again with object=" in asked.note
    given = keep(memory, "We run further west.", "bergen")
    assert (given.blocked, given.superseded_id) == (False, asked.record_id)
    assert keep(memory, "west", "bergen").superseded_id == given.record_id


def test_one_text_with_two_objects_is_two_values(memory: Memory) -> None:
    keep(memory, "The status changed", "green")
    keep(memory, "The status changed", "red")
    assert keep(memory, "The status changed", "green").blocked
    assert not keep(memory, "The status changed", "amber").blocked


def test_the_words_of_an_echo_are_known_from_then_on(memory: Memory) -> None:
    keep(memory, "The region is Oslo.", "oslo")
    keep(memory, "The region is Bergen.", "bergen")
    assert keep(memory, "Our machines stand there", "oslo").blocked
    assert keep(memory, "Our machines stand there").blocked
    assert memory.remember("our machines stand there").blocked


def test_a_value_that_stands_again_is_known_in_every_wording_it_ever_had(memory: Memory) -> None:
    keep(memory, "The region is Oslo.", "oslo")
    keep(memory, "Our machines stand there", "oslo")
    keep(memory, "The region is Bergen.", "bergen")
    keep(memory, "The region is Oslo.", "oslo", reaffirm=True)
    assert not memory.remember("Our machines stand there").blocked
    assert not keep(memory, "Our machines stand there").blocked
    third = keep(memory, "The region is Rome.", "rome")
    assert shown(memory, "region machines") == ["The region is Rome."]
    assert third.superseded_id is not None
    assert memory.remember("Our machines stand there").blocked


# ---------------------------------------------------------------------- a change of mind


def test_reaffirmed_a_retired_value_holds_again_and_the_other_is_retired(memory: Memory) -> None:
    first = keep(memory, "The region is Oslo.", "oslo")
    second = keep(memory, "The region is Bergen.", "bergen")
    back = keep(memory, "The region is Oslo.", "oslo", reaffirm=True)
    assert (back.blocked, back.superseded_id) == (False, second.record_id)
    assert memory.get(str(back.record_id)).evidence == (first.record_id,)
    assert shown(memory) == ["The region is Oslo."]
    assert keep(memory, "The region is Bergen.", "bergen").blocked
    assert not keep(memory, "The region is Oslo.", "oslo").blocked


def test_a_retired_text_can_be_kept_beside_its_key(memory: Memory) -> None:
    keep(memory, "The region is Oslo.")
    keep(memory, "The region is Bergen.")
    beside = memory.remember("The region is Oslo.", reaffirm=True)
    assert not beside.blocked
    assert shown(memory) == ["The region is Bergen.", "The region is Oslo."]
    assert memory.remember("The region is Oslo.").record_id == beside.record_id


def test_revert_restores_the_previous_value_and_once_more_undoes_it(memory: Memory) -> None:
    first = keep(memory, "The region is Oslo.", "oslo", tags=["geo"], source="crm/a", value=5)
    second = keep(memory, "The region is Bergen.", "bergen")
    back = memory.revert(KEY)
    record = memory.get(str(back.record_id))
    assert back.superseded_id == second.record_id
    assert (record.body, record.object, record.tags, record.value) == ("The region is Oslo.", "oslo", ("geo",), 5.0)
    assert (record.evidence, record.provenance.ref) == ((first.record_id,), "crm/a")
    assert shown(memory) == ["The region is Oslo."]
    assert keep(memory, "The region is Bergen.", "bergen").blocked
    again = memory.revert(KEY)
    assert memory.get(str(again.record_id)).body == "The region is Bergen."
    assert len(live(memory)) == 1


def test_revert_skips_restatements_of_the_standing_value(memory: Memory) -> None:
    keep(memory, "The region is Oslo.", "oslo")
    keep(memory, "The region is Bergen.", "bergen")
    keep(memory, "We run in Bergen.", "bergen")
    assert memory.get(str(memory.revert(KEY).record_id)).object == "oslo"


def test_revert_says_when_there_is_nothing_to_go_back_to(memory: Memory) -> None:
    with pytest.raises(RecordError, match="no value ever stood under this key"):
        memory.revert(KEY)
    first = keep(memory, "The region is Oslo.")
    with pytest.raises(RecordError, match="first one under this key"):
        memory.revert(KEY)
    keep(memory, "The region is Bergen.", source="crm/b")
    memory.redact(str(first.record_id), "asked to")
    with pytest.raises(RecordError, match="redacted and cannot be restored; remember what holds"):
        memory.revert(KEY)


def test_what_was_retired_is_out_of_recall_and_guarded(memory: Memory) -> None:
    chatter = memory.remember("The region is Oslo")
    first = keep(memory, "The region is Oslo.", "oslo")
    verdict = memory.retire(KEY, "the service is gone")
    assert verdict.record_id == first.record_id
    assert verdict.note is not None
    assert "reaffirm=True" in verdict.note
    assert shown(memory) == []
    for record_id in (first.record_id, chatter.record_id):
        record = memory.get(str(record_id))
        assert (record.state, record.state_reason) == (RecordState.ARCHIVED, "the service is gone")
    echo = keep(memory, "We run in Oslo.", "oslo")
    assert (echo.blocked, echo.current_id) == (True, None)
    assert memory.get(str(echo.record_id)).superseded_by is None
    assert memory.remember("the region is oslo").blocked
    assert len(memory.history(KEY).blocked) == 2
    assert memory.get(str(memory.revert(KEY).record_id)).body == "The region is Oslo."


def test_retire_by_id(memory: Memory) -> None:
    plain = memory.remember("The office plant is a fern.")
    kept = keep(memory, "The region is Oslo.", "oslo")
    memory.retire(str(plain.record_id), "watered too much")
    memory.retire(record_id=kept.record_id, reason="gone")
    assert shown(memory) == []
    assert not memory.remember("The office plant is a fern.").blocked
    assert keep(memory, "The region is Oslo.", "oslo").blocked
    with pytest.raises(RecordError, match="archived already"):
        memory.retire(str(kept.record_id), "again")
    with pytest.raises(RecordError, match=r"history\(key\) tells"):
        memory.retire(KEY, "again")
    with pytest.raises(StoreError, match="unknown"):
        memory.retire("mem:" + "0" * 32, "nothing")


# ---------------------------------------------------------------------- when it happened


def test_what_happened_before_the_standing_value_is_kept_as_history(memory: Memory) -> None:
    first = keep(memory, "The region is Oslo.", "oslo", occurred_at="2026-03-01T00:00:00Z")
    before = keep(memory, "The region is Kyiv.", "kyiv", occurred_at="2026-02-01T00:00:00Z")
    assert (before.blocked, before.policy, before.current_id) == (True, "backfill", first.record_id)
    record = memory.get(str(before.record_id))
    assert (record.state, record.superseded_by, record.evidence) == (RecordState.ARCHIVED, first.record_id, ())
    assert keep(memory, "The region is Kyiv.", "kyiv", occurred_at="2026-02-01T00:00:00Z").record_id == record.id
    assert keep(memory, "The region is Kyiv.", "kyiv", occurred_at="2026-02-02T00:00:00Z").record_id != record.id
    same = keep(memory, "The region is Oslo.", "oslo", occurred_at="2026-03-01T00:00:00Z")
    assert (same.blocked, same.record_id) == (False, first.record_id)
    later = keep(memory, "The region is Bergen.", "bergen", occurred_at="2026-03-01T00:00:00.001Z")
    assert not later.blocked


def test_a_backfill_is_tested_before_the_echo_guard(memory: Memory) -> None:
    keep(memory, "The region is Oslo.", "oslo")
    keep(memory, "The region is Bergen.", "bergen")
    assert keep(memory, "The region is Oslo.", "oslo", occurred_at="2001-01-01T00:00:00Z").policy == "backfill"


# ---------------------------------------------------------------------- lineage


def test_derived_from_becomes_evidence_and_is_declared(memory: Memory) -> None:
    a = memory.remember("The first note.").record_id
    b = memory.remember("The second note.").record_id
    drawn = memory.remember("A summary of the notes.", derived_from=[a, b, a])
    record = memory.get(str(drawn.record_id))
    assert (record.evidence, record.declared, drawn.note) == ((a, b), True, None)


def test_what_a_value_was_derived_from_is_counted_when_its_successor_names_nothing(memory: Memory) -> None:
    a = memory.remember("The first note.").record_id
    b = memory.remember("The second note.").record_id
    keep(memory, "The region is Oslo.", "oslo", derived_from=[a, b])
    restated = keep(memory, "We run in Oslo", "oslo")
    assert restated.lineage_dropped == 2
    assert restated.note is not None
    assert "derived_from" in restated.note
    keep(memory, "The region is Bergen.", "bergen", derived_from=[a])
    assert keep(memory, "The region is Rome.", "rome", derived_from=[b]).lineage_dropped == 0
    assert keep(memory, "The region is Bonn.", "bonn").lineage_dropped == 1
    assert keep(memory, "The region is Bern.", "bern").lineage_dropped == 0


def test_a_repetition_adds_to_the_lineage(memory: Memory) -> None:
    a = memory.remember("The first note.").record_id
    first = memory.remember("A summary of the notes.")
    memory.remember("A summary of the notes.", derived_from=[a])
    record = memory.get(str(first.record_id))
    assert (record.evidence, record.declared) == ((a,), True)


def test_ids_that_are_unknown_or_of_another_scope_are_left_out_and_said(memory: Memory) -> None:
    unknown = "mem:" + "1" * 32
    theirs = str(memory.remember("Their note.", user_id="bob").record_id)
    mine = str(memory.remember("My note.", user_id="ann").record_id)
    verdict = memory.remember("A summary.", user_id="ann", derived_from=[unknown, theirs, mine])
    record = memory.get(str(verdict.record_id))
    assert record.evidence == (mine,)
    assert verdict.note is not None
    assert unknown in verdict.note
    assert theirs in verdict.note
    assert "check the ids" in verdict.note


def test_nothing_is_derived_from_what_was_redacted(memory: Memory) -> None:
    gone = str(memory.remember("A note.").record_id)
    memory.redact(gone, "asked to")
    count = len(memory.list())
    with pytest.raises(ArgumentError, match="is redacted"):
        memory.remember("A summary.", derived_from=[gone])
    assert len(memory.list()) == count


# ---------------------------------------------------------------------- disputes


def disputed(memory: Memory, winner_text: str, other_text: str) -> tuple[str, str]:
    """A keyed value in dispute with a plain record that denies it."""
    mine = str(keep(memory, winner_text, "oslo").record_id)
    other = str(memory.remember(other_text).record_id)
    memory.consolidate()
    assert memory.get(mine).transition is not None, "they clash"
    return mine, other


PAIR = ("The region office is Oslo.", "The region office is not Oslo.")


@pytest.mark.parametrize("how", ["correction", "restatement", "reaffirmation", "revert"])
def test_a_write_that_replaces_a_disputed_value_settles_the_dispute_first(memory: Memory, how: str) -> None:
    if how in ("reaffirmation", "revert"):
        keep(memory, "The region office is Bonn.", "bonn")
    mine, other = disputed(memory, *PAIR)
    if how == "correction":
        verdict = keep(memory, "The region office is Bergen.", "bergen")
    elif how == "restatement":
        verdict = keep(memory, "Oslo is where we are.", "oslo")
    elif how == "reaffirmation":
        verdict = keep(memory, "The region office is Bonn.", "bonn", reaffirm=True)
    else:
        verdict = memory.revert(KEY)
    assert verdict.superseded_id == mine
    assert memory.get(mine).superseded_by == verdict.record_id
    assert memory.get(other).superseded_by == mine
    assert live(memory) == [verdict.record_id]
    assert [record for record in memory.list() if record.transition is not None] == []


def test_a_disputed_value_said_again_is_reinforced_and_the_dispute_stays(memory: Memory) -> None:
    mine, other = disputed(memory, *PAIR)
    assert keep(memory, PAIR[0], "oslo").record_id == mine
    assert memory.remember(PAIR[1]).record_id == other
    assert memory.get(mine).transition is not None


def test_retiring_a_side_of_a_dispute_ends_it(memory: Memory) -> None:
    mine, other = disputed(memory, *PAIR)
    memory.retire(KEY, "wrong")
    assert memory.get(mine).state is RecordState.ARCHIVED
    assert memory.get(other).state is RecordState.ACTIVE


# ---------------------------------------------------------------------- scope


def test_users_and_projects_have_keys_of_their_own(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", auto_consolidate=False) as memory:
        ann = keep(memory, "The region is Oslo.", "oslo", user_id="ann")
        bob = keep(memory, "The region is Bergen.", "bergen", user_id="bob")
        assert (bob.superseded_id, bob.blocked) == (None, False)
        keep(memory, "The region is Rome.", "rome", user_id="ann")
        assert not keep(memory, "The region is Oslo.", "oslo", user_id="bob").blocked
        assert keep(memory, "The region is Oslo.", "oslo", user_id="ann").blocked
        assert keep(memory, "The region is Oslo.", "oslo", user_id="ann", session_id="2").blocked
        assert not memory.remember("The region is Oslo.").blocked
        assert memory.remember("The region is Oslo.", user_id="ann").blocked
        assert {record.scope.user_id for record in memory.history(KEY, user_id="bob")} == {"bob"}
        assert memory.get(str(memory.revert(KEY, user_id="ann").record_id)).object == "oslo"
        with pytest.raises(RecordError):
            memory.revert(KEY)
        assert memory.get(str(ann.record_id)).state is RecordState.SUPERSEDED


# ---------------------------------------------------------------------- the story


def test_the_story_of_a_key_is_whole_and_in_order(memory: Memory) -> None:
    a = keep(memory, "The region is Oslo.", "oslo")
    b = keep(memory, "The region is Bergen.", "bergen")
    echo = keep(memory, "The region is Oslo.", "oslo")
    plain = memory.remember("The region is Oslo.")
    past = keep(memory, "The region is Kyiv.", "kyiv", occurred_at="2001-01-01T00:00:00Z")
    story = memory.history(KEY)
    assert {record.id for record in story.records} == {v.record_id for v in (a, b, echo, plain, past)}
    assert story.current_id == b.record_id
    assert {record.id for record in story.blocked} == {v.record_id for v in (echo, plain, past)}
    assert [record.state.value for record in story if record.id == a.record_id] == ["active", "superseded"]
    assert [record.updated_at for record in story] == sorted(record.updated_at for record in story)
    assert memory.history(key=KEY) == story
    assert memory.history("no::such key") == ()


def test_a_redacted_record_leaves_the_story(memory: Memory) -> None:
    a = keep(memory, "The region is Oslo.", "oslo", source="crm/a")
    keep(memory, "The region is Bergen.", "bergen", source="crm/b")
    memory.redact(str(a.record_id), "asked to")
    assert [record.object for record in memory.history(KEY).records] == ["bergen"]
    assert not keep(memory, "The region is Oslo.", "oslo").blocked


def test_a_key_and_an_id_are_told_apart(memory: Memory) -> None:
    record_id = str(keep(memory, "The region is Oslo.").record_id)
    assert memory.history(record_id) == memory.history(record_id=record_id)
    assert memory.history(f" {KEY} ") == memory.history(key=KEY)
    with pytest.raises(ArgumentError, match="form of a record id"):
        keep(memory, "A text", key=record_id)
    assert memory.history(key=record_id) == ()
    for wrong in ({}, {"subject": KEY, "key": KEY}, {"key": KEY, "record_id": record_id}):
        with pytest.raises(ArgumentError, match="one key or one record id"):
            memory.history(**wrong)


# ---------------------------------------------------------------------- many at once


def test_many_are_decided_in_order(memory: Memory) -> None:
    say = [
        ("The region is Oslo.", "oslo"), ("The region is Bergen.", "bergen"), ("We run in Oslo", "oslo"),
        ("The region is Oslo.", "oslo"), ("We run in Bergen", "bergen"), ("The region is Rome.", "rome"),
    ]  # fmt: skip
    results = memory.remember_many({"text": text, "key": KEY, "object": value} for text, value in say)
    verdicts = [result for result in results if isinstance(result, RememberResult)]
    assert [verdict.blocked for verdict in verdicts] == [False, False, True, True, False, False]
    assert shown(memory) == ["The region is Rome."]
    assert verdicts[5].superseded_id == verdicts[4].record_id
    assert memory.remember_many(["The region is Bergen.", "The region is Rome."])[0].blocked  # type: ignore[union-attr]


def test_times_are_those_of_the_events(memory: Memory) -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    keep(memory, "The region is Oslo.", occurred_at=moment)
    assert memory.get(live(memory)[0]).event_time == moment

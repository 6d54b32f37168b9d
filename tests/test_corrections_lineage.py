"""Values under keys meet erasure, export and loading, consolidation and decay: nothing lost, nothing brought back."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_memory import DecayConfig, Memory, MemoryRecord, RecordState, decay
from agent_memory.clock import now_utc

KEY = "billing-api::region"


@pytest.fixture(params=["memory", "memory.db"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Memory:
    return Memory(tmp_path / str(request.param), auto_consolidate=False)


def keep(memory: Memory, text: str, value: str | None = None, source: str | None = None, **more: object) -> str:
    return str(memory.remember(text, key=KEY, object=value, source=source, **more).record_id)  # type: ignore[arg-type]


def standing(memory: Memory) -> list[MemoryRecord]:
    return [record for record in memory.list() if record.key == KEY and record.state.is_live]


def blocked(memory: Memory, text: str, value: str | None = None) -> bool:
    return memory.remember(text, key=KEY, object=value, source="probe").blocked


def fade(memory: Memory) -> None:
    """Decay of everything that may decay."""
    decay(memory._door, now=now_utc() + timedelta(days=4000), config=DecayConfig(half_life_days=1))


# ---------------------------------------------------------------------- erasure


def test_what_repeats_an_erased_value_goes_with_it_and_what_another_source_said_stays(memory: Memory) -> None:
    first = keep(memory, "The region is Oslo.", "oslo", "crm/ann")
    mine = keep(memory, "We run in Oslo.", "oslo", "crm/ann")
    bobs = keep(memory, "Oslo it is.", "oslo", "crm/bob")
    keep(memory, "The region is Bergen.", "bergen", "crm/bob")
    echo = keep(memory, "The region is Oslo.", "oslo", "crm/ann")
    bobs_echo = keep(memory, "The region is Oslo", "oslo", "crm/bob")
    memory.redact(first, "asked to")
    assert [memory.get(record_id).redacted for record_id in (first, mine, bobs, echo)] == [True, True, False, True]
    assert not memory.get(bobs_echo).redacted
    assert [record.object for record in standing(memory)] == ["bergen"]
    assert blocked(memory, "in other words", "oslo"), "bob said it too, and was corrected"


def test_an_erased_value_is_not_guarded_any_more(memory: Memory) -> None:
    first = keep(memory, "The region is Oslo.", "oslo")
    keep(memory, "The region is Bergen.", "bergen")
    memory.redact(first, "asked to")
    assert not blocked(memory, "The region is Oslo.", "oslo")
    assert first not in memory._catalogue.lines("key", [line.key for line in memory._door.lines("place", [])] or [b""])
    rows = memory._catalogue._database.read("SELECT record_id FROM catalogue_lines WHERE record_id = ?", [first])
    assert rows == []


def test_erasing_a_correction_lets_what_it_corrected_stand_again(memory: Memory) -> None:
    chatter = str(memory.remember("The region is Oslo").record_id)
    first = keep(memory, "The region is Oslo.", "oslo", "crm/ann")
    second = keep(memory, "The region is Bergen.", "bergen", "crm/bob")
    memory.redact(second, "asked to")
    (record,) = standing(memory)
    assert (record.object, record.evidence, record.provenance.ref) == ("oslo", (first,), "crm/ann")
    assert memory.get(chatter).state is RecordState.SUPERSEDED
    assert not blocked(memory, "The region is Oslo.", "oslo")
    assert len(standing(memory)) == 1


def test_erasing_a_restatement_of_another_source_keeps_the_value(memory: Memory) -> None:
    first = keep(memory, "The region is Oslo.", "oslo", "crm/ann")
    again = keep(memory, "We run in Oslo.", "oslo", "crm/bob")
    memory.redact(again, "asked to")
    (record,) = standing(memory)
    assert (record.object, record.evidence) == ("oslo", (first,))


def test_erasing_the_middle_of_a_story_brings_nothing_back(memory: Memory) -> None:
    keep(memory, "The region is Oslo.", "oslo", "crm/ann")
    second = keep(memory, "The region is Bergen.", "bergen", "crm/bob")
    keep(memory, "The region is Rome.", "rome", "crm/cai")
    memory.redact(second, "asked to")
    assert [record.object for record in standing(memory)] == ["rome"]
    assert blocked(memory, "The region is Oslo.", "oslo")


def test_what_was_derived_from_an_erased_record_goes_whether_blocked_or_not(memory: Memory) -> None:
    note = str(memory.remember("A note.").record_id)
    keep(memory, "The region is Oslo.", "oslo")
    keep(memory, "The region is Bergen.", "bergen")
    echo = keep(memory, "In Oslo we are", "oslo", derived_from=[note])
    past = keep(memory, "The region is Kyiv.", "kyiv", derived_from=[note], occurred_at="2001-01-01T00:00:00Z")
    memory.redact(note, "asked to")
    assert memory.get(echo).redacted
    assert memory.get(past).redacted


# ---------------------------------------------------------------------- export and load


def told(memory: Memory) -> None:
    """A story with everything in it."""
    keep(memory, "The region is Oslo.", "oslo")
    keep(memory, "We run in Oslo")
    keep(memory, "The region is Bergen.", "bergen")
    keep(memory, "The region is Oslo.", "oslo")
    memory.remember("We run in Oslo")
    keep(memory, "The region is Kyiv.", "kyiv", occurred_at="2001-01-01T00:00:00Z")
    keep(memory, "Still in Bergen")
    keep(memory, "The region is Rome.", "rome")
    keep(memory, "Rome hosts us.", "rome")


@pytest.mark.parametrize("faded", [False, True])
def test_a_loaded_copy_decides_as_the_memory_it_came_from(memory: Memory, tmp_path: Path, faded: bool) -> None:
    told(memory)
    if faded:
        fade(memory)
    memory.export(tmp_path / "brain.json")
    with Memory.load(tmp_path / "brain.json", path=tmp_path / "copy.db", verify=False, auto_consolidate=False) as copy:
        for both in (memory, copy):
            assert [record.object for record in standing(both)] == ["rome"]
            assert blocked(both, "in other words", "oslo")
            assert blocked(both, "We run in Oslo")
            assert blocked(both, "Still in Bergen")
            assert both.remember("the region is bergen").blocked
            assert not blocked(both, "The region is Rome.")
            assert not blocked(both, "The region is Kyiv.", "kyiv")
            assert both.get(str(both.revert(KEY).record_id)).object == "rome"
        assert [record.id for record in copy.history(KEY).blocked][:2] == [
            record.id for record in memory.history(KEY).blocked
        ][:2]


def test_a_write_settles_a_dispute_that_a_load_opened(memory: Memory, tmp_path: Path) -> None:
    with Memory(tmp_path / "other.db", auto_consolidate=False) as other:
        keep(other, "The region is Oslo.", "oslo")
        other.export(tmp_path / "brain.json")
    keep(memory, "The region is Bergen.", "bergen")
    memory.load_file(tmp_path / "brain.json", verify=False)
    assert len(standing(memory)) == 2
    newest = max(standing(memory), key=lambda record: (record.event_time, record.id))
    assert newest.object == "bergen"
    assert memory.history(KEY).current_id == newest.id
    same = memory.remember("The region is Oslo.", key=KEY, object="oslo")
    assert (same.deduped, same.blocked, len(standing(memory))) == (True, False, 2)
    verdict = memory.remember("We run in Oslo.", key=KEY, object="oslo")
    assert (verdict.blocked, verdict.superseded_id) == (False, newest.id)
    assert [record.id for record in standing(memory)] == [verdict.record_id]
    assert blocked(memory, "The region is Bergen.", "bergen")
    assert not blocked(memory, "The region is Oslo.", "oslo")


# ---------------------------------------------------------------------- consolidation and decay


def test_no_pass_and_no_decay_brings_back_what_was_corrected(memory: Memory) -> None:
    told(memory)
    memory.remember("The region is Rome", source="chat/1")
    memory.remember("Rome hosts us", source="chat/2")
    for _ in range(2):
        memory.consolidate(full=True)
        fade(memory)
    assert [record.object for record in standing(memory)] == ["rome"]
    for text in ("The region is Oslo.", "We run in Oslo", "The region is Bergen."):
        assert blocked(memory, text)
    texts = [item.record.body for item in memory.recall("region Oslo Bergen Rome", budget_tokens=9999)]
    assert texts == ["Rome hosts us."]


def test_copies_folded_into_a_value_go_with_it(memory: Memory) -> None:
    copy = str(memory.remember("The region is Oslo.", source="chat/1").record_id)
    first = keep(memory, "The region is Oslo.", "oslo", "crm/ann")
    memory.consolidate()
    assert memory.get(copy).superseded_by == first
    keep(memory, "The region is Bergen.", "bergen")
    memory.consolidate()
    assert blocked(memory, "The region is Oslo.", "oslo")
    assert [item.record.object for item in memory.recall("region")] == ["bergen"]


def test_near_copies_of_a_value_fold_into_it_and_stay_corrected(memory: Memory) -> None:
    near = str(memory.remember("The billing region are Oslo and Bergen.", source="chat/1").record_id)
    first = keep(memory, "The billing regions are Oslo and Bergen.", "oslo", "crm/ann")
    memory.consolidate()
    if memory.get(near).state is RecordState.SUPERSEDED:
        assert memory.get(near).superseded_by == first
    keep(memory, "The billing region is Rome.", "rome")
    memory.consolidate(full=True)
    assert [record.object for record in standing(memory)] == ["rome"]


def test_two_keys_with_one_text_stay_two(memory: Memory) -> None:
    memory.remember("It is on.", key="a::state", object="on")
    memory.remember("It is on.", key="b::state", object="on")
    memory.consolidate(full=True)
    for key in ("a::state", "b::state"):
        assert memory.history(key).current_id is not None
    memory.remember("It is off.", key="a::state", object="off")
    memory.consolidate(full=True)
    (record,) = [record for record in memory.history("b::state").records if record.state.is_live]
    assert record.object == "on"

"""What one record is to another: carried, merged, of one source, born again."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from agent_memory import MemoryRecord, RecordState, RecordType
from agent_memory.fields import CONSOLIDATION
from agent_memory.lineage import at_free_id, carries, event_day, is_merge, reborn, same_source
from plain_store import T0, said, source

PART = said("Sandro prefers small focused files.")


def whole(body: str, **fields: object) -> MemoryRecord:
    return said(body, **{"by": source("elsewhere"), "supersedes": PART.id, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (whole("Sandro prefers small focused files"), True),
        (whole("Sandro prefers small focused files", supersedes=None, supersedes_also=(PART.id,)), True),
        (whole("Files.", by=source(None, CONSOLIDATION), evidence=[PART.id]), True),
        (whole("Files.", by=source(None, CONSOLIDATION)), False),
        (whole("Files.", evidence=[PART.id]), False),
        (whole("Sandro prefers large files."), False),
        (whole("Sandro prefers large files.", key="sandro::files"), False),
        (whole("Sandro prefers small focused files", slots={"files": "small"}), False),
        (whole("Sandro prefers small focused files", kind=RecordType.PROCEDURE), False),
        (whole("Sandro prefers small focused files", supersedes=None), False),
    ],
)
def test_a_record_carries_what_it_replaces_and_still_says(record: MemoryRecord, expected: bool) -> None:
    assert carries(record, PART) is expected


def test_a_merge_is_made_by_consolidation_and_is_no_rule() -> None:
    made = source(None, CONSOLIDATION)
    assert is_merge(said("x", by=made, supersedes=PART.id))
    assert not is_merge(said("x", by=made))
    assert not is_merge(said("x", supersedes=PART.id))
    assert not is_merge(said("x", by=made, supersedes=PART.id, kind=RecordType.RULE, evidence=[PART.id]))


def test_one_source_is_one_reference_and_one_user() -> None:
    bob = said("x", by=source("bob"), user_id="u")
    assert same_source(bob, said("y", by=source("bob"), user_id="u"))
    assert not same_source(bob, said("y", by=source("bob"), user_id="v"))
    assert not same_source(bob, said("y", by=source("ann"), user_id="u"))
    assert not same_source(bob, said("y", by=source("bob", CONSOLIDATION), user_id="u"))


def test_only_an_episode_has_a_day() -> None:
    assert event_day(said("x", kind=RecordType.EPISODE, occurred_at=T0 + timedelta(days=3))) == date(2026, 1, 4)
    assert event_day(said("x", kind=RecordType.EPISODE)) == date(2026, 1, 1)
    assert event_day(said("x")) is None


def test_a_record_is_born_in_the_first_free_millisecond_and_is_the_same_otherwise() -> None:
    record = said("x", tags=["t"], key="k")
    later = [reborn(record, record.created_at + timedelta(milliseconds=n)) for n in range(4)]
    assert later[0] == record
    assert at_free_id(record, lambda _: False) is record
    free = at_free_id(record, {item.id for item in later[:3]}.__contains__)
    assert free == later[3]
    assert (free.body, free.tags, free.key, free.updated_at) == ("x", ("t",), "k", free.created_at)


@pytest.mark.parametrize("state", RecordState)
def test_what_is_active_or_in_dispute_is_live(state: RecordState) -> None:
    assert state.is_live == (state in (RecordState.ACTIVE, RecordState.TRANSITIONAL))

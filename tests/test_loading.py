"""Taking a memory file into a memory that holds something: skipped, never overwritten, legal in the end, reported."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_memory import (
    Extension,
    InMemoryRecordStore,
    LoadReport,
    Memory,
    MemoryFile,
    MemoryRecord,
    Provenance,
    RecordState,
    RecordType,
    Scope,
    archive,
    begin_transition,
    supersede,
)
from agent_memory.loading import plan_load

BORN = datetime(2026, 1, 1, tzinfo=UTC)
LATER = BORN + timedelta(days=1)


def fact(body: str, *, extension: Extension | None = None, **others: Any) -> MemoryRecord:
    return MemoryRecord.create(
        RecordType.FACT,
        body,
        Provenance(kind="conversation"),
        created_at=others.pop("created_at", BORN),
        extension=extension or Extension(),
        **others,
    )


def load(tmp_path: Path, here: Sequence[MemoryRecord], file: Sequence[MemoryRecord]) -> tuple[Memory, LoadReport]:
    store = InMemoryRecordStore()
    store.put_many(here)
    memory = Memory(store=store, auto_consolidate=False)
    path = tmp_path / "file.json"
    path.write_bytes(MemoryFile.create(file).canonical_bytes())
    return memory, memory.load_file(path, verify=False)


def check_legal(memory: Memory) -> None:
    """No dispute with one side, and at most one standing record for a key outside a dispute."""
    records = {record.id: record for record in memory.list()}
    for record in records.values():
        if record.transition is not None:
            other = records[record.transition.other(record.id)]
            assert other.transition is not None
            assert set(other.transition.sides) == set(record.transition.sides)
    for record in records.values():
        if record.state is RecordState.ACTIVE and record.key is not None:
            same = [
                other
                for other in records.values()
                if other.key == record.key
                and other.scope.consolidation == record.scope.consolidation
                and other.state in (RecordState.ACTIVE, RecordState.TRANSITIONAL)
            ]
            assert same == [record]


def test_an_id_that_is_here_is_skipped_and_not_overwritten(tmp_path: Path) -> None:
    record = fact("One fact.")
    memory, report = load(tmp_path, [archive(record, reason="decay", now=LATER)], [record, fact("Another fact.")])
    assert report.skipped == (record.id,)
    assert report.loaded == (fact("Another fact.").id,)
    assert memory.get(record.id).state is RecordState.ARCHIVED
    assert len(memory.history(record.id)) == 1


def test_an_equal_id_of_another_scope_is_reported_as_a_collision(tmp_path: Path) -> None:
    here = fact("Shared words.", extension=Extension(scope=Scope(user_id="alice")))
    there = fact("Shared words.", extension=Extension(scope=Scope(user_id="bob")))
    assert here.id == there.id
    memory, report = load(tmp_path, [here], [there])
    assert report.collisions == report.skipped == (here.id,)
    assert memory.get(here.id).scope.user_id == "alice"


@pytest.mark.parametrize("link", ["supersedes", "supersedes_also"])
def test_what_a_loaded_record_replaces_is_retired_by_a_new_version(tmp_path: Path, link: str) -> None:
    old = fact("The limit is 100.")
    new = (
        fact("The limit is 500.", supersedes=old.id)
        if link == "supersedes"
        else fact("The limit is 500.", extension=Extension(supersedes_also=(old.id,)))
    )
    memory, report = load(tmp_path, [old], [new, supersede(old, new, reason="raised", now=LATER)])
    assert memory.get(old.id).state is RecordState.SUPERSEDED
    assert memory.get(old.id).superseded_by == new.id
    assert [record.state for record in memory.history(old.id)] == [RecordState.ACTIVE, RecordState.SUPERSEDED]
    assert dict(report.changed).keys() == {old.id}
    check_legal(memory)


def test_retiring_one_side_of_a_dispute_reopens_the_other(tmp_path: Path) -> None:
    a, b = begin_transition(fact("It is safe."), fact("It is risky."), reason="clash", now=LATER)
    successor = fact("It is safe since May.", supersedes=a.id)
    memory, _ = load(tmp_path, [a, b], [successor])
    assert memory.get(a.id).state is RecordState.SUPERSEDED
    assert memory.get(b.id).state is RecordState.ACTIVE
    check_legal(memory)


def test_both_sides_of_a_dispute_load_as_they_are(tmp_path: Path) -> None:
    a, b = begin_transition(fact("It is safe."), fact("It is risky."), reason="clash", now=LATER)
    memory, report = load(tmp_path, [], [a, b])
    assert report.changed == ()
    assert memory.list() in {(a, b), (b, a)}


def test_half_a_dispute_opens_on_its_partner(tmp_path: Path) -> None:
    plain = fact("It is safe.")
    a, b = begin_transition(plain, fact("It is risky."), reason="clash", now=LATER)
    memory, report = load(tmp_path, [plain], [a, b])
    assert report.skipped == (a.id,)
    assert memory.get(a.id).transition == memory.get(b.id).transition == b.transition
    check_legal(memory)


@pytest.mark.parametrize("partner", ["absent", "archived", "in another dispute"])
def test_half_a_dispute_without_a_partner_returns_to_active(tmp_path: Path, partner: str) -> None:
    plain = fact("It is safe.")
    _, b = begin_transition(plain, fact("It is risky."), reason="clash", now=LATER)
    here = {
        "absent": [],
        "archived": [archive(plain, reason="decay", now=LATER)],
        "in another dispute": list(begin_transition(plain, fact("It is quiet."), reason="clash", now=LATER)),
    }[partner]
    memory, report = load(tmp_path, here, [b])
    assert memory.get(b.id).state is RecordState.ACTIVE
    assert [record.state for record in memory.history(b.id)] == [RecordState.TRANSITIONAL, RecordState.ACTIVE]
    assert b.id in dict(report.changed)
    check_legal(memory)


def keyed(body: str, day: int, *, user: str | None = None) -> MemoryRecord:
    return fact(
        body,
        created_at=BORN + timedelta(days=day),
        extension=Extension(key="staging::database", object=body, scope=Scope(user_id=user)),
    )


def test_two_unrelated_holders_of_a_key_become_a_dispute(tmp_path: Path) -> None:
    here, there = keyed("Postgres", 0), keyed("MySQL", 1)
    memory, _ = load(tmp_path, [here], [there])
    assert memory.get(here.id).state is memory.get(there.id).state is RecordState.TRANSITIONAL
    check_legal(memory)


def test_a_third_holder_of_a_key_is_loaded_superseded_by_the_standing_one(tmp_path: Path) -> None:
    here, second, third = keyed("Postgres", 0), keyed("MySQL", 2), keyed("Oracle", 3)
    memory, report = load(tmp_path, [here], [second, third])
    states = {record.id: memory.get(record.id).state for record in (here, second, third)}
    assert states == {
        here.id: RecordState.TRANSITIONAL,
        second.id: RecordState.TRANSITIONAL,
        third.id: RecordState.SUPERSEDED,
    }
    assert memory.get(third.id).superseded_by == second.id
    assert third.id in memory.get(second.id).supersedes_also
    assert third.id in dict(report.changed)
    check_legal(memory)


def test_loading_keyed_records_is_linear_in_them(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [0]

    def consolidation(scope: Scope) -> tuple[str | None, str | None, str | None]:
        asked[0] += 1
        return (scope.project, scope.user_id, scope.agent_id)

    monkeypatch.setattr(Scope, "consolidation", property(consolidation))

    def cost(count: int) -> int:
        """How often a scope is asked for when ``count`` keys meet half as many that are here."""
        records = [fact(f"Value {n}.", extension=Extension(key=f"thing::{n}")) for n in range(count)]
        others = [fact(f"Rival {n}.", extension=Extension(key=f"thing::{n}")) for n in range(count // 2)]
        asked[0] = 0
        plan = plan_load({record.id: record for record in others}, MemoryFile.create(records), now=LATER)
        assert (len(plan.births), len(plan.moves)) == (count, count)
        return asked[0]

    assert cost(4000) <= 5 * cost(1000)


def test_the_same_key_of_two_users_is_no_dispute(tmp_path: Path) -> None:
    here, there = keyed("Postgres", 0, user="alice"), keyed("MySQL", 1, user="bob")
    memory, report = load(tmp_path, [here], [there])
    assert report.changed == ()
    assert memory.get(here.id).state is memory.get(there.id).state is RecordState.ACTIVE


def test_what_was_loaded_keeps_its_bytes(tmp_path: Path) -> None:
    record = MemoryRecord.model_validate({**fact("With more.").model_dump(), "x_engine": {"a": [1, {"b": None}]}})
    memory, _ = load(tmp_path, [], [record])
    assert memory.get(record.id).canonical_bytes() == record.canonical_bytes()


def test_a_loaded_dispute_under_a_key_that_is_held_leaves_one_dispute(tmp_path: Path) -> None:
    here = keyed("Postgres", 0)
    a, b = begin_transition(keyed("MySQL", 1), keyed("Oracle", 2), reason="clash", now=LATER)
    memory, report = load(tmp_path, [here], [a, b])
    states = sorted(memory.get(record.id).state for record in (here, a, b))
    assert states == [RecordState.SUPERSEDED, RecordState.TRANSITIONAL, RecordState.TRANSITIONAL]
    assert {a.id, b.id} <= dict(report.changed).keys()
    check_legal(memory)


def test_half_a_dispute_that_returns_to_active_retires_what_it_replaces(tmp_path: Path) -> None:
    old = fact("The limit is 100.")
    new = fact("The limit is 500.", supersedes=old.id)
    disputed, _ = begin_transition(new, fact("The limit is 900."), reason="clash", now=LATER)
    memory, _ = load(tmp_path, [old], [disputed])
    assert (memory.get(new.id).state, memory.get(old.id).state) == (RecordState.ACTIVE, RecordState.SUPERSEDED)
    check_legal(memory)


def test_a_record_that_comes_after_what_replaced_it_is_loaded_superseded(tmp_path: Path) -> None:
    old = fact("The limit is 100.")
    new = fact("The limit is 500.", supersedes=old.id)
    memory, report = load(tmp_path, [new], [old])
    assert memory.get(old.id).superseded_by == new.id
    assert old.id in dict(report.changed)
    check_legal(memory)


def test_a_record_of_one_user_cannot_retire_that_of_another(tmp_path: Path) -> None:
    alice = fact("Alice likes tea.", extension=Extension(scope=Scope(user_id="alice")))
    mallory = fact("Alice hates tea.", supersedes=alice.id, extension=Extension(scope=Scope(user_id="mallory")))
    memory, report = load(tmp_path, [alice], [mallory])
    assert memory.get(alice.id) == alice
    assert [record_id for record_id, _ in report.ignored] == [mallory.id]

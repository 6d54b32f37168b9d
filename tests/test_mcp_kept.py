"""Writes that could not be saved: kept in order, said, tried again, and never dropped without a word."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("mcp", reason="the tool server needs agent-memory[mcp]")

from hypothesis import given
from hypothesis import strategies as st

from agent_memory import InMemoryRecordStore, Memory, MemoryRecord, StoreError
from agent_memory.errors import ArgumentError
from agent_memory.mcp.arguments import (
    CreditArguments,
    RecallArguments,
    RedactArguments,
    RememberArguments,
    StatusArguments,
)
from agent_memory.mcp.face import Face
from agent_memory.mcp.kept import KeptWrites


class FailingStore(InMemoryRecordStore):
    """A store whose disk is full while ``full`` is true."""

    full = False

    def put(self, record: MemoryRecord) -> None:
        if self.full:
            raise StoreError("no space left on the device")
        super().put(record)

    def put_many(self, records: object) -> None:
        if self.full:
            raise StoreError("no space left on the device")
        super().put_many(records)  # type: ignore[arg-type]


def opened() -> tuple[FailingStore, Face]:
    store = FailingStore()
    return store, Face(Memory(store=store, auto_consolidate=False, project="p"), version="1")


def texts(face: Face) -> list[str]:
    return [record.body for record in face._memory.list()]


def say(face: Face, text: str, **more: object) -> object:
    return face.remember(RememberArguments(text=text, **more))  # type: ignore[arg-type]


def test_a_write_that_cannot_be_saved_is_kept_and_lands_with_the_next_one() -> None:
    store, face = opened()
    store.full = True
    first = say(face, "one")
    second = say(face, "two")
    assert (first.persisted, first.kept_as, first.record_id, first.project) == (False, 1, None, "p")
    assert "no space left" in (first.persist_error or "")
    assert "tried again" in (first.note or "")
    assert (second.kept_as, second.pending_writes) == (2, 2)
    status = face.status(StatusArguments())
    assert (status.pending_writes, status.pending_error) == (2, first.persist_error)
    store.full = False
    third = say(face, "three")
    assert (third.persisted, third.pending_writes) == (True, 0)
    assert [landed.kept_as for landed in third.landed] == [1, 2]
    assert all(landed.verdict is not None and landed.verdict.persisted for landed in third.landed)
    assert texts(face) == ["one", "two", "three"]
    assert face.status(StatusArguments()).pending_error is None
    assert say(face, "four").landed == []


def test_a_kept_write_lands_with_any_other_kind_of_write() -> None:
    store, face = opened()
    record_id = say(face, "zero").record_id
    store.full = True
    say(face, "one")
    with pytest.raises(StoreError):
        face.credit(CreditArguments(record_id=record_id))
    store.full = False
    credited = face.credit(CreditArguments(record_id=record_id))
    assert [landed.kept_as for landed in credited.landed] == [1]
    assert credited.good == 1


def test_what_is_kept_is_erased_with_what_it_was_drawn_from() -> None:
    store, face = opened()
    record_id = say(face, "Ada's number is 555-0199.").record_id
    store.full = True
    say(face, "Call 555-0199.", derived_from=[record_id])
    store.full = False
    redacted = face.redact(RedactArguments(record_id=record_id, reason="asked"))
    assert [landed.kept_as for landed in redacted.landed] == [1]
    assert texts(face) == ["[redacted]", "[redacted]"]


def test_a_kept_write_lands_when_the_server_ends() -> None:
    store, face = opened()
    store.full = True
    say(face, "one")
    store.full = False
    face.close()
    assert face.pending == 0
    assert [record.body for record in store.list()] == ["one"]


def test_what_is_lost_at_the_end_is_counted() -> None:
    store, face = opened()
    store.full = True
    say(face, "one")
    face.close()
    assert face.pending == 1


def test_a_reading_call_works_while_writes_wait() -> None:
    store, face = opened()
    say(face, "The lighthouse is white.")
    store.full = True
    say(face, "one")
    assert len(face.recall(RecallArguments(query="lighthouse")).records) == 1


@pytest.mark.parametrize(
    "wrong",
    [{"text": " "}, {"text": "a", "value": 0.5}, {"text": "a", "occurred_at": "now"}, {"text": "a", "mtype": "x"}],
)
def test_what_can_never_be_saved_is_refused_at_once_and_not_kept(wrong: dict[str, object]) -> None:
    store, face = opened()
    store.full = True
    say(face, "one")
    with pytest.raises(ArgumentError):
        face.remember(RememberArguments(**wrong))  # type: ignore[arg-type]
    assert face.pending == 1


def test_a_kept_write_is_dated_when_it_was_said() -> None:
    store, face = opened()
    store.full = True
    say(face, "The region is Dublin.", key="a::region", object="dublin")
    store.full = False
    time.sleep(0.01)
    face._memory.remember("The region is Frankfurt.", key="a::region", object="frankfurt")  # another client, later
    landed = say(face, "x").landed
    assert landed[0].verdict is not None
    assert (landed[0].verdict.blocked, landed[0].verdict.policy) == (True, "backfill")


def test_when_as_many_are_kept_as_may_be_that_is_said() -> None:
    store, face = opened()
    face._kept.limit = 2
    store.full = True
    say(face, "one")
    say(face, "two")
    third = say(face, "three")
    assert (third.kept_as, third.persisted, third.pending_writes) == (None, False, 2)
    assert "NOT KEPT" in (third.note or "")
    assert "say this again" in (third.note or "")
    store.full = False
    assert [landed.kept_as for landed in say(face, "four").landed] == [1, 2]
    assert texts(face) == ["one", "two", "four"]


def test_a_kept_write_that_is_refused_later_is_said_and_is_not_in_the_way() -> None:
    kept: KeptWrites[str] = KeptWrites()
    for write in ("a", "bad", "worse", "b"):
        kept.keep(write, "full")
    saved: list[str] = []

    def save(write: str) -> str:
        if write == "bad":
            raise ArgumentError("refused")
        if write == "worse":
            raise RuntimeError("a fault")
        saved.append(write)
        return write

    outcomes = kept.retry(save)
    assert [outcome.number for outcome in outcomes] == [1, 2, 3, 4]
    assert [isinstance(outcome.verdict, Exception) for outcome in outcomes] == [False, True, True, False]
    assert saved == ["a", "b"]
    assert len(kept) == 0


@given(st.lists(st.one_of(st.just("say"), st.just("retry"), st.booleans()), max_size=60), st.integers(1, 5))
def test_whatever_happens_every_kept_write_lands_once_and_in_order(steps: list[object], limit: int) -> None:
    kept: KeptWrites[int] = KeptWrites(limit)
    full, said, saved, refused = True, 0, [], []

    def save(write: int) -> int:
        if full:
            raise StoreError("full")
        saved.append(write)
        return write

    for step in steps:
        if isinstance(step, bool):
            full = step
        elif step == "retry":
            outcomes = kept.retry(save)
            assert not (full and outcomes)
        else:
            said += 1
            (refused.append(said) if kept.keep(said, "full") is None else None)
    full = False
    kept.retry(save)
    assert saved == [number for number in range(1, said + 1) if number not in refused]
    assert (len(kept), kept.error) == (0, None)

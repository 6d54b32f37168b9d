"""The door for hostile arguments, and the notes and errors that say what to do next."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from agent_memory import ArgumentError, Memory, RecordError

KEY = "billing-api::region"
ID = "mem:" + "0" * 32
BAD: list[tuple[dict[str, Any], str]] = [
    ({"key": ""}, "key is empty"),
    ({"key": " \t"}, "key is empty"),
    ({"key": 7}, "key must be a str"),
    ({"key": ["a"]}, "key must be a str"),
    ({"key": "k" * 501}, "may have 500"),
    ({"key": "k" * 1_000_000}, "may have 500"),
    ({"key": "a\nb"}, "control character"),
    ({"key": "a\x00b"}, "control character"),
    ({"key": "a\ud800"}, "surrogate"),
    ({"key": ID}, "form of a record id"),
    ({"key": f" {ID} "}, "form of a record id"),
    ({"object": "x"}, "give the key too"),
    ({"key": KEY, "object": ""}, "object is empty"),
    ({"key": KEY, "object": 5}, "object must be a str"),
    ({"key": KEY, "object": "x" * 5_001}, "may have 5,000"),
    ({"key": KEY, "object": "a\rb"}, "control character"),
    ({"key": KEY, "object": "\udfff"}, "surrogate"),
    ({"reaffirm": "yes"}, "reaffirm must be True or False"),
    ({"reaffirm": 1}, "reaffirm must be True or False"),
    ({"reaffirm": None}, "reaffirm must be True or False"),
    ({"derived_from": ID}, "derived_from must be a list"),
    ({"derived_from": {"id": ID}}, "derived_from must be a list"),
    ({"derived_from": 5}, "derived_from must be a list"),
    ({"derived_from": [5]}, r"derived_from\[0\] must be text"),
    ({"derived_from": [ID, "mem:1"]}, r"derived_from\[1\] is no record id"),
    ({"derived_from": ["../../etc/passwd"]}, "no record id"),
    ({"value": math.nan}, "value"),
    ({"value": 10**400}, "between 1 and 1000000"),
    ({"value": 0.5}, "between 1 and 1000000"),
    ({"value": True}, "value must be a number"),
    ({"occurred_at": "yesterday"}, "occurred_at"),
    ({"mtype": "rule"}, "mtype must be one of"),
    ({"source": ""}, "source is empty"),
]


@pytest.mark.parametrize(("arguments", "says"), BAD, ids=lambda value: None if isinstance(value, dict) else value)
def test_an_argument_that_may_not_be_is_refused_with_what_may(arguments: dict[str, Any], says: str) -> None:
    with Memory(None) as memory:
        with pytest.raises(ArgumentError, match=says):
            memory.remember("A text.", **arguments)
        (result,) = memory.remember_many([{"text": "A text.", **arguments}])
        assert isinstance(result, ArgumentError)
        assert memory.list() == ()


def test_an_error_does_not_quote_what_was_to_be_remembered() -> None:
    with Memory(None) as memory, pytest.raises(ArgumentError) as caught:
        memory.remember("sk-live-body", key="sk-live-key\n", object="sk-live\nobject")
    assert "sk-live" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda m: m.revert(""), "key is empty"),
        (lambda m: m.revert(7), "must be a str"),
        (lambda m: m.retire(KEY, ""), "needs a reason"),
        (lambda m: m.retire(KEY, 5), "needs a reason"),
        (lambda m: m.retire("", "why"), "key is empty"),
        (lambda m: m.retire(reason="why"), "one key or one record id"),
        (lambda m: m.retire(KEY, f"echo guard: it repeats {ID}, whose value is retired under its key"), "own words"),
        (lambda m: m.history(None), "one key or one record id"),
        (lambda m: m.history(5), "must be a str"),
        (lambda m: m.history("\ud800"), "surrogate"),
        (lambda m: Memory(None, echo_guard="no"), "echo_guard must be True or False"),
    ],
)
def test_the_other_doors_refuse_likewise(call: Any, says: str) -> None:
    with Memory(None) as memory:
        memory.remember("The region is Oslo.", key=KEY)
        with pytest.raises(ArgumentError, match=says):
            call(memory)
        assert len(memory.history(KEY)) == 1


def test_strange_keys_and_values_come_back_as_they_were_said(tmp_path: Path) -> None:
    keys = ["k", "K", "k ::x", "mem:abc", "' OR 1=1 --", "%", "🗝", "a" * 500, "k\u0301", "__class__", "null"]
    with Memory(tmp_path / "m.db", auto_consolidate=False) as memory:
        for key in keys:
            assert memory.remember(f"text of {key}", key=key, object=f"v {key}").superseded_id is None
        for key in keys:
            (record,) = memory.history(key=key).records
            assert record.body.endswith(key) or key == "k\u0301"
        assert memory.history("no such key") == ()


# ---------------------------------------------------------------------- every note says what to do next


def corrected(memory: Memory) -> None:
    memory.remember("The region is Oslo.", key=KEY, object="oslo")
    memory.remember("The region is Bergen.", key=KEY, object="bergen")


def test_the_note_of_an_echo_can_be_followed() -> None:
    with Memory(None, auto_consolidate=False) as memory:
        corrected(memory)
        echo = memory.remember("The region is Oslo.", key=KEY, object="oslo")
        assert echo.note is not None
        assert str(echo.current_id) in echo.note
        assert "remember it with reaffirm=True" in echo.note
        assert echo.ingest.rejected[0].error == echo.note
        assert not memory.remember("The region is Oslo.", key=KEY, object="oslo", reaffirm=True).blocked


def test_the_note_of_an_echo_without_a_key_can_be_followed() -> None:
    with Memory(None, auto_consolidate=False) as memory:
        corrected(memory)
        echo = memory.remember("The region is Oslo.")
        assert echo.note is not None
        assert "with that key and reaffirm=True" in echo.note
        assert "with reaffirm=True alone" in echo.note
        assert not memory.remember("The region is Oslo.", reaffirm=True).blocked


def test_the_note_of_a_backfill_can_be_followed() -> None:
    with Memory(None, auto_consolidate=False) as memory:
        corrected(memory)
        past = memory.remember("The region is Rome.", key=KEY, object="rome", occurred_at="2001-01-01T00:00:00Z")
        assert past.note is not None
        assert "remember it without occurred_at" in past.note
        assert not memory.remember("The region is Rome.", key=KEY, object="rome").blocked


def test_the_note_of_an_echo_under_a_retired_key_names_the_way_back() -> None:
    with Memory(None, auto_consolidate=False) as memory:
        corrected(memory)
        retired = memory.retire(KEY, "gone")
        assert retired.note is not None
        assert "remember it with reaffirm=True" in retired.note
        echo = memory.remember("The region is Bergen.", key=KEY, object="bergen")
        assert echo.note is not None
        assert "nothing stands there now" in echo.note
        assert "remember it with reaffirm=True" in echo.note
        assert not memory.remember("The region is Bergen.", key=KEY, object="bergen", reaffirm=True).blocked


def test_no_note_quotes_what_was_said() -> None:
    with Memory(None, auto_consolidate=False) as memory:
        corrected(memory)
        for verdict in (
            memory.remember("The region is Oslo.", key=KEY, object="oslo"),
            memory.remember("The region is Oslo."),
            memory.remember("Rome", key=KEY, object="rome", occurred_at="2001-01-01T00:00:00Z"),
            memory.remember("Bonn it is", key=KEY),
            memory.revert(KEY),
            memory.retire(KEY, "gone"),
        ):
            assert verdict.note
            for word in ("Oslo", "oslo", "Bergen", "Rome", "Bonn", KEY):
                assert word not in verdict.note
        for record in memory.history(KEY):
            assert record.state_reason is None or not any(
                word in record.state_reason.lower() for word in ("oslo", "bergen", "billing")
            )


def test_the_errors_say_what_to_do() -> None:
    with Memory(None) as memory:
        with pytest.raises(RecordError, match=r"history\(key\)"):
            memory.retire(KEY, "gone")
        with pytest.raises(RecordError, match="none to go back to"):
            memory.revert(KEY)


def test_a_landed_write_with_nothing_to_do_has_no_note() -> None:
    with Memory(None, auto_consolidate=False) as memory:
        verdict = memory.remember("The region is Oslo.", key=KEY, object="oslo")
        assert verdict.note is None
        assert (verdict.persisted, verdict.persist_error, verdict.policy, verdict.lineage_dropped) == (
            True,
            None,
            None,
            0,
        )
    with Memory(None, project="p") as pinned:
        assert pinned.remember("A text.").project == "p"
        assert pinned.remember("The region is Oslo.", key=KEY).project == "p"

"""What is written down when a write is blocked, and what a verdict advises (spec/corrections.md section 17.10).

A reason is kept with the record, so the fate of a record can be read from it: archived for one of these reasons, it
never stood.  A note is for whoever wrote, and says what to do next.  Neither quotes what a record says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from agent_memory.records import MemoryRecord, RecordState

__all__ = [
    "CORRECTED",
    "RESTATED",
    "SETTLED",
    "Policy",
    "backfill_note",
    "blocked_as",
    "blocked_by",
    "blocked_reason",
    "echo_note",
    "left_out_note",
    "lineage_note",
    "missing_object_note",
    "retired_note",
    "reverted_note",
    "unkeyed_echo_note",
]


class Policy(StrEnum):
    """Why a write was blocked."""

    ECHO_GUARD = "echo_guard"
    BACKFILL = "backfill"


_BEFORE: Final = {Policy.ECHO_GUARD: "echo guard: it repeats ", Policy.BACKFILL: "backfill: it is older than "}
_AFTER: Final = {
    Policy.ECHO_GUARD: ", whose value is retired under its key",
    Policy.BACKFILL: ", which stands under its key",
}
_REASONS: Final = {
    policy: re.compile(re.escape(_BEFORE[policy]) + r"(mem:[0-9a-f]{32})" + re.escape(_AFTER[policy]), re.ASCII)
    for policy in Policy
}
CORRECTED: Final = "corrected by {}"
RESTATED: Final = "restated by {}"
SETTLED: Final = "settled by {}, a later write under the key of {}"
_NAMED: Final = 5
"""Ids that a note names."""


def blocked_reason(policy: Policy, about: str) -> str:
    """Why a record was born archived: ``about`` is the record it repeats, or the one it is older than."""
    return f"{_BEFORE[policy]}{about}{_AFTER[policy]}"


def blocked_as(record: MemoryRecord) -> tuple[Policy, str] | None:
    """By which policy a record was blocked and about which other, or None when it was not blocked."""
    if record.state is not RecordState.ARCHIVED or record.redacted or record.state_reason is None:
        return None
    return blocked_by(record.state_reason)


def blocked_by(reason: str) -> tuple[Policy, str] | None:
    """The policy and the record that a reason names, when it is one of these reasons."""
    for policy, pattern in _REASONS.items():
        found = pattern.fullmatch(reason)
        if found is not None:
            return policy, found[1]
    return None


# ---------------------------------------------------------------------- notes


def echo_note(current_id: str | None) -> str:
    stands = "nothing stands there now" if current_id is None else f"{current_id} stands"
    return (
        f"blocked: this value was retired under its key, and {stands}; the echo is kept as history. If the value "
        "holds again, remember it with reaffirm=True"
    )


def unkeyed_echo_note(repeated_id: str, current_id: str | None) -> str:
    stands = "nothing stands there now" if current_id is None else f"{current_id} stands there"
    return (
        f"blocked: this text was retired under a key ({repeated_id} said it; {stands}). If it holds again, "
        "remember it with that key and reaffirm=True; to keep it beside the key, with reaffirm=True alone"
    )


def backfill_note(current_id: str) -> str:
    return (
        f"blocked: it happened before {current_id}, which stands under the key, took effect; it is kept as history. "
        "If it holds now, remember it without occurred_at, or with the time it holds from; with reaffirm=True too "
        "if the value was retired"
    )


def missing_object_note() -> str:
    return (
        "the value it follows has an object and this one none, so it cannot be recognised in other words; remember "
        "it again with object=<the value>"
    )


def lineage_note(dropped: int) -> str:
    return (
        f"the value it replaced was derived from {dropped} records and this one names none; if it rests on them too, "
        "remember it again with derived_from"
    )


def left_out_note(left_out: Sequence[str]) -> str:
    more = "" if len(left_out) <= _NAMED else f" and {len(left_out) - _NAMED} more"
    return (
        f"left out of derived_from, because this memory does not hold them in this scope: "
        f"{', '.join(left_out[:_NAMED])}{more}; check the ids and remember it again"
    )


def retired_note(*, keyed: bool) -> str:
    if keyed:
        return "retired: said again, the value is blocked; remember it with reaffirm=True when it holds again"
    return "retired: it had no key, so said again it is remembered anew; give what gets corrected a key"


def reverted_note() -> str:
    return "the previous value stands again, and the one it displaced is retired; revert once more to undo this"

"""What consolidation knows of one record: the few fields its passes look for, out of canonical bytes (spec/kernel.md).

A row is not a record: what is read is checked for its form, not for what it means; a store has done that already.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from agent_memory.errors import RecordError

from .refusal import MAX_DEPTH
from .text import Analysis, analyse

__all__ = ["ACTIVE", "CONSOLIDATION", "LIVE", "Group", "Row", "Scope", "read_row"]

Scope: TypeAlias = tuple[str | None, str | None, str | None]
"""(project, user_id, agent_id)."""
Group: TypeAlias = tuple[str, Scope]
"""(type, consolidation scope): records of different groups have nothing to do with each other."""

ACTIVE: Final = "active"
LIVE: Final = (ACTIVE, "transitional")
CONSOLIDATION: Final = "consolidation"
TYPES: Final = ("episode", "fact", "procedure", "rule")
STATES: Final = (*LIVE, "superseded", "archived")
SCOPE: Final = ("project", "user_id", "agent_id")

_ID: Final = re.compile(r"mem:[0-9a-f]{32}", re.ASCII)
_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Row:
    """The newest version of a record.

    Attributes:
        id, type, state, body, slots, tags, evidence, superseded_by: as on the wire.
        redacted: whether it is a tombstone; then it has no analysis worth the name and no slots.
        made: whether consolidation made it.
        born, day: wire time of creation; for an episode the day of its event, else "".
        scope: the consolidation scope it names itself.
        borrows: whether it has the scope of its evidence instead.
        sides: those of its open dispute, sorted, or None.
        key, object: those of the ``agent_memory`` field.
        analysis: of the body.
    """

    id: str
    type: str
    state: str
    redacted: bool
    made: bool
    body: str
    slots: dict[str, str]
    tags: tuple[str, ...]
    evidence: tuple[str, ...]
    superseded_by: str | None
    born: str
    day: str
    scope: Scope
    borrows: bool
    sides: tuple[str, str] | None
    key: str | None
    object: str | None
    analysis: Analysis

    @property
    def signature(self) -> tuple[str, ...]:
        """What makes episodes alike, and what a promoted rule stands for."""
        return tuple(sorted(set(self.tags or (self.slots if self.type == "episode" else ()))))


def read_row(payload: bytes) -> Row:
    """The row of a record in canonical bytes.  Raises RecordError for bytes that are no record's."""
    try:
        return _row(_parse(payload))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise RecordError("columns hold records in canonical bytes, and these are not a record's") from None


def _row(wire: object) -> Row:
    members = _object(wire)
    record_id, kind = _id(members["id"]), _one_of(members["type"], TYPES)
    state = _one_of(members.get("state", ACTIVE), STATES)
    made = _text(_object(members["provenance"])["kind"]) == CONSOLIDATION
    superseded_by, transition = members.get("superseded_by"), members.get("transition")
    slots = {name: _text(value) for name, value in _object(members.get("slots", {})).items()}
    evidence, tags = _texts(members.get("evidence", [])), _texts(members.get("tags", []))
    born = _time(members["created_at"])
    day = _time(members.get("occurred_at", born))[:10]
    ours = _object(members.get("agent_memory", {}))
    scope = _object(ours.get("scope", {}))
    project, user_id, agent_id = (_text(scope[name]) if name in scope else None for name in SCOPE)
    body = _text(members["body"])
    return Row(
        id=record_id,
        type=kind,
        state=state,
        redacted="redacted" in members,
        made=made,
        body=body,
        slots=slots,
        tags=tags,
        evidence=evidence,
        superseded_by=None if superseded_by is None else _text(superseded_by),
        born=born,
        day=day if kind == "episode" else "",
        scope=(project, user_id, agent_id),
        borrows=made and not scope and bool(evidence),
        sides=None if transition is None else _sides(_object(transition)["sides"], record_id),
        key=_text(ours["key"]) if "key" in ours else None,
        object=_text(ours["object"]) if "object" in ours else None,
        analysis=analyse(body),
    )


# What follows raises ValueError, KeyError or TypeError for what is not as it has to be.


def _parse(payload: bytes) -> object:
    """JSON in UTF-8 without fractions, keys that are there twice, lone surrogates, and more than 256 containers around
    a value."""
    wire: object = json.loads(
        payload.decode("utf-8"),
        object_pairs_hook=_distinct,
        parse_int=lambda _: 0,  # a number of any length is no more than a number here
        parse_float=_refused,
        parse_constant=_refused,
    )
    _check_depth(wire)
    json.dumps(wire, ensure_ascii=False).encode("utf-8")
    return wire


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError
    return members


def _refused(_: str) -> object:
    raise ValueError


def _check_depth(wire: object) -> None:
    layer = [wire]
    for _ in range(MAX_DEPTH):
        objects = [value.values() for value in layer if isinstance(value, dict)]
        arrays = [value for value in layer if isinstance(value, list)]
        layer = [item for container in (*objects, *arrays) for item in container]
    if any(isinstance(value, dict | list) for value in layer):
        raise ValueError


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError
    return tuple(map(_text, value))


def _one_of(value: object, known: tuple[str, ...]) -> str:
    if _text(value) not in known:
        raise ValueError
    return _text(value)


def _id(value: object) -> str:
    if _ID.fullmatch(_text(value)) is None:
        raise ValueError
    return _text(value)


def _time(value: object) -> str:
    if _TIME.fullmatch(_text(value)) is None:
        raise ValueError
    return _text(value)


def _sides(value: object, record_id: str) -> tuple[str, str]:
    first, second = sorted(map(_id, _texts(value)))
    if first == second or record_id not in {first, second}:
        raise ValueError
    return first, second

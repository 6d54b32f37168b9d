"""The parts a record is made of: its enums, its confidence, where it came from, the dispute it is in (SPEC section 2).

Values only.  The record itself is in :mod:`agent_memory.records`, which re-exports these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any, ClassVar, Final, Self, cast

from . import kernel
from .errors import RecordError, RecordTypeError
from .frozen import EMPTY_DICT, FrozenValue, freeze, thaw
from .wire import (
    check_extra,
    check_mapping,
    check_optional_text,
    check_text,
    check_text_list,
    is_record_id,
    refusal_of,
    unknown_members,
)

__all__ = [
    "CONSOLIDATION",
    "CORRECTION_KIND",
    "RESERVED_KINDS",
    "Provenance",
    "RecordState",
    "RecordType",
    "Transition",
    "check_confidence",
    "confidence_from_wire",
    "confidence_to_wire",
]

CONSOLIDATION: Final = "consolidation"
"""``provenance.kind`` of what the engine makes."""
CORRECTION_KIND: Final = "correction"
"""``provenance.kind`` of what somebody said to put a record right."""
RESERVED_KINDS: Final = (CONSOLIDATION, "redaction")
"""Kinds of provenance that only the memory itself gives: what has one is treated by other rules."""

_CONFIDENCE: Final = re.compile(r"0\.[0-9]{4}|1\.0000", re.ASCII)
_set: Final = object.__setattr__
_TEXT_OR_NONE: Final = (str, type(None))


class RecordType(StrEnum):
    """What kind of memory a record is."""

    FACT = "fact"
    EPISODE = "episode"
    PROCEDURE = "procedure"
    RULE = "rule"


class RecordState(StrEnum):
    """Where a record stands in its life; see :mod:`agent_memory.lifecycle` for the moves."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    TRANSITIONAL = "transitional"
    ARCHIVED = "archived"

    @property
    def is_live(self) -> bool:
        """Whether a record in this state still holds: it is active or in dispute."""
        return self is RecordState.ACTIVE or self is RecordState.TRANSITIONAL


def confidence_to_wire(value: object) -> str:
    """The wire form of a confidence: four decimals, ``"0.5000"``.

    Raises:
        RecordError: not a number from 0 to 1.
    """
    return f"{check_confidence(value):.4f}"


def confidence_from_wire(value: object) -> float:
    """Read a wire confidence, in exactly the wire form.

    Raises:
        RecordError: anything but ``"0.dddd"`` or ``"1.0000"``.
    """
    if value == "1.0000":
        return 1.0
    if not isinstance(value, str):
        raise RecordTypeError(f"confidence must be text with four decimals, not {type(value).__name__}")
    if _CONFIDENCE.fullmatch(value) is None:
        raise RecordError('confidence must be text with four decimals from "0.0000" to "1.0000"')
    return float(value)


def check_confidence(value: object) -> float:
    """``value`` as a record holds it: from 0 to 1, rounded to four decimals; else a RecordError."""
    if value.__class__ is not float and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise RecordTypeError(f"confidence must be a number from 0 to 1, not {type(value).__name__}")
    if not 0.0 <= value <= 1.0:
        raise RecordError("confidence must lie between 0 and 1")
    return round(float(value), 4) + 0.0  # + 0.0 turns -0.0 into 0.0


class Provenance(FrozenValue):
    """Where a record came from; part of its id (SPEC section 2.4).

    Attributes:
        kind: how it was learned: ``conversation``, ``observation``, ``correction``, ``consolidation``, ``redaction`` …
        ref: the source, such as ``crm/alice``: what an erasure by subject matches.
        agent: address of the agent that wrote it.
        extra: unknown members, carried along, signed and part of the id.

    Raises:
        RecordError: an empty kind, a member that is not text, or an ``extra`` that shadows a member.
    """

    __slots__ = ("_wire", "agent", "extra", "kind", "ref")
    _fields = ("kind", "ref", "agent", "extra")
    _KNOWN: ClassVar = frozenset(("kind", "ref", "agent"))
    kind: str
    ref: str | None
    agent: str | None
    extra: Mapping[str, Any]
    _wire: dict[str, Any]

    def __init__(
        self,
        *,
        kind: str,
        ref: str | None = None,
        agent: str | None = None,
        extra: Mapping[str, Any] = EMPTY_DICT,
    ) -> None:
        if kind.__class__ is not str or not kind:
            check_text(kind, "provenance.kind")
        if ref is not None and ref.__class__ is not str:
            check_optional_text(ref, "provenance.ref", empty=True)
        if agent is not None and agent.__class__ is not str:
            check_optional_text(agent, "provenance.agent", empty=True)
        wire: dict[str, Any] = {"kind": kind, "ref": ref, "agent": agent}
        if extra is not EMPTY_DICT and extra != EMPTY_DICT:
            extra = check_extra(extra, self._KNOWN, "provenance")
            wire.update(extra)
            wire = _normal(wire)
            extra = freeze({key: value for key, value in wire.items() if key not in self._KNOWN})
        # All-ASCII text is already normal: only the rest pays for a kernel call here.
        elif not (kind.isascii() and (ref is None or ref.isascii()) and (agent is None or agent.isascii())):
            wire = _normal(wire)
        _set(self, "kind", wire["kind"])
        _set(self, "ref", wire["ref"])
        _set(self, "agent", wire["agent"])
        _set(self, "extra", extra or EMPTY_DICT)
        _set(self, "_wire", wire if not extra else freeze(wire))

    def model_dump(self) -> dict[str, Any]:
        """The wire object, as a new plain dict."""
        return dict(self._wire) if not self.extra else {**self._wire, **thaw(self.extra)}

    @classmethod
    def model_validate(cls, data: object) -> Self:
        """Read a wire object.  Raises RecordError as the constructor does, and for a missing kind."""
        members = data if data.__class__ is dict else check_mapping(data, "provenance")
        if "kind" not in members:
            raise RecordError("provenance lacks the required field 'kind'")
        kind, ref, agent = members["kind"], members.get("ref"), members.get("agent")
        if members.keys() <= cls._KNOWN:
            if kind.__class__ is str and ref.__class__ in _TEXT_OR_NONE and agent.__class__ in _TEXT_OR_NONE:
                return cast("Self", _plain(kind, ref, agent))
            return cls(kind=kind, ref=ref, agent=agent)
        extra = unknown_members(members, cls._KNOWN, ("kind",), "provenance")
        return cls(kind=kind, ref=ref, agent=agent, extra=extra)


@lru_cache(maxsize=4096)
def _plain(kind: str, ref: str | None, agent: str | None) -> Provenance:
    """A provenance as most are; a store reads the same few for thousands of records."""
    return Provenance(kind=kind, ref=ref, agent=agent)


class Transition(FrozenValue):
    """An open dispute: the two records that cannot both hold, and why (SPEC section 5.3).

    Raises:
        RecordError: sides that are not two different ids, or an empty reason.
    """

    __slots__ = ("extra", "reason", "sides")
    _fields = ("sides", "reason", "extra")
    _KNOWN: ClassVar = frozenset(("sides", "reason"))
    sides: tuple[str, ...]
    reason: str
    extra: Mapping[str, Any]

    def __init__(self, *, sides: Iterable[str], reason: str, extra: Mapping[str, Any] = EMPTY_DICT) -> None:
        pair = check_text_list(sides, "transition.sides")
        if len(pair) != 2 or pair[0] == pair[1] or not all(map(is_record_id, pair)):
            raise RecordError("transition.sides must be two different record ids: 'mem:' and 32 lower-case hex digits")
        _set(self, "sides", pair)
        _set(self, "reason", check_text(reason, "transition.reason"))
        _set(self, "extra", freeze(check_extra(extra, self._KNOWN, "transition")))

    def other(self, record_id: str) -> str:
        """The side that is not ``record_id``."""
        return self.sides[1] if self.sides[0] == record_id else self.sides[0]

    def model_dump(self) -> dict[str, Any]:
        """The wire object, as a new plain dict."""
        return {"sides": list(self.sides), "reason": self.reason, **thaw(self.extra)}

    @classmethod
    def model_validate(cls, data: object) -> Self:
        """Read a wire object.  Raises RecordError as the constructor does, and for a missing member."""
        members = check_mapping(data, "transition")
        extra = unknown_members(members, cls._KNOWN, ("sides", "reason"), "transition")
        return cls(sides=members["sides"], reason=members["reason"], extra=extra)


def _normal(wire: dict[str, Any]) -> dict[str, Any]:
    try:
        normal: dict[str, Any] = kernel.seal(wire, ())[1]
    except RecordError as error:
        raise refusal_of("provenance", error) from None
    return normal

"""The one optional wire field of our own, ``agent_memory``: key, object, importance, scope, standing (SPEC section 3).

The field is an object that is present only when something in it is set, so a plain record has the same bytes as one
written without any of this.  It is signed and no part of the id.  Each member has exactly one wire form: what is unset
is left out, never written as a default, or two spellings of one record would carry two signatures.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Final

from .clock import time_from_wire, time_to_wire, truncate
from .errors import RecordError, RecordTypeError, RecordValueError
from .frozen import EMPTY_DICT, freeze, thaw
from .wire import (
    check_extra,
    check_flag,
    check_mapping,
    check_optional_text,
    check_reason,
    check_text_list,
    is_record_id,
    unknown_members,
)

__all__ = [
    "EXTENSION_FIELD",
    "MAX_VALUE",
    "MEMBERS",
    "NO_EXTENSION",
    "SCOPE_FIELDS",
    "UNSCOPED",
    "ConsolidationScope",
    "Extension",
    "ExtensionMembers",
    "Outcome",
    "Scope",
    "Standing",
]

EXTENSION_FIELD: Final = "agent_memory"
"""Name of the wire field."""
MAX_VALUE: Final = 1_000_000.0
"""Greatest importance a record may have; the least is 1."""
MAX_COUNT: Final = 2**53 - 1
"""Greatest count in a standing: the largest integer every JSON reader holds exactly."""
SCOPE_FIELDS: Final = ("project", "user_id", "agent_id", "session_id")
"""Names of the known members of a scope."""
ConsolidationScope = tuple[str | None, str | None, str | None]
"""(project, user_id, agent_id): inside it records may merge, clash or make a rule."""

_VALUE: Final = re.compile(r"[1-9][0-9]{0,6}\.[0-9]{4}", re.ASCII)


def _freeze_extra(owner: Scope | Extension, known: frozenset[str], what: str) -> None:
    if owner.extra is not EMPTY_DICT:
        object.__setattr__(owner, "extra", freeze(check_extra(owner.extra, known, what)))


def _importance(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RecordTypeError(f"value must be a number from 1 to 1000000, not {type(value).__name__}")
    if not 1 <= value <= MAX_VALUE:
        raise RecordValueError("value must lie between 1 and 1000000")
    return round(float(value), 4)


def _importance_from_wire(text: object) -> float:
    if not isinstance(text, str):
        raise RecordTypeError(f"agent_memory.value must be text with four decimals, not {type(text).__name__}")
    if _VALUE.fullmatch(text) is None or not 1.0 < float(text) <= MAX_VALUE:
        raise RecordValueError(
            "agent_memory.value must be text with four decimals, above 1.0000 and up to 1000000.0000; 1 is left out"
        )
    return float(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose memory a record is; every field that is None stands for everybody's (SPEC section 3.2).

    Attributes:
        project, user_id, agent_id: together the *consolidation scope*: keys, merges and rules stay inside one.
        session_id: the conversation; sessions of one consolidation scope share their memory.
        extra: unknown members, carried along and signed.

    Raises:
        RecordError: a field that is not non-empty text.
    """

    project: str | None = None
    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    extra: Mapping[str, Any] = EMPTY_DICT

    def __post_init__(self) -> None:
        for name in SCOPE_FIELDS:
            check_optional_text(getattr(self, name), f"scope.{name}")
        _freeze_extra(self, frozenset(SCOPE_FIELDS), "scope")

    @property
    def consolidation(self) -> ConsolidationScope:
        """The fields inside which records may merge, clash or make a rule: (project, user_id, agent_id)."""
        return (self.project, self.user_id, self.agent_id)

    def without_session(self) -> Scope:
        """The scope all sessions share; unknown members are dropped with the session they may belong to."""
        if self.session_id is None and not self.extra:
            return self
        return Scope(project=self.project, user_id=self.user_id, agent_id=self.agent_id)

    def to_wire(self) -> dict[str, Any]:
        members = {name: value for name in SCOPE_FIELDS if (value := getattr(self, name)) is not None}
        return {**members, **thaw(self.extra)}

    @classmethod
    def from_wire(cls, data: object) -> Scope:
        members = check_mapping(data, "agent_memory.scope")
        if not members:
            raise RecordError("agent_memory.scope is empty; leave it out when no part of it is set")
        for name in SCOPE_FIELDS:
            if name in members and members[name] is None:
                raise RecordTypeError(f"agent_memory.scope.{name} must be text; leave it out when it is not set")
        extra = unknown_members(members, frozenset(SCOPE_FIELDS), (), "agent_memory.scope")
        return cls(**{name: members[name] for name in SCOPE_FIELDS if name in members}, extra=extra)


@dataclass(frozen=True, slots=True)
class Standing:
    """Outcomes credited to a record: how often it served well and how often badly; both 0 or more."""

    good: int = 0
    bad: int = 0

    def __post_init__(self) -> None:
        for name in ("good", "bad"):
            count = getattr(self, name)
            if not isinstance(count, int) or isinstance(count, bool):
                raise RecordTypeError(f"standing.{name} must be a whole number, not {type(count).__name__}")
            if not 0 <= count <= MAX_COUNT:
                raise RecordValueError(f"standing.{name} must lie between 0 and {MAX_COUNT}")

    def to_wire(self) -> dict[str, Any]:
        return {"good": self.good, "bad": self.bad}

    @classmethod
    def from_wire(cls, data: object) -> Standing:
        members = check_mapping(data, "agent_memory.standing")
        if members.keys() != {"good", "bad"}:
            raise RecordError("agent_memory.standing must hold exactly the two counts 'good' and 'bad'")
        return cls(members["good"], members["bad"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Who last moved a record's standing, when and why.  What state the record is in has a reason of its own.

    Attributes:
        at: when, aware, whole milliseconds.
        reason: why: text of more than white space.
        by: who: a name or an agent address; None when that is not known.

    Raises:
        RecordError: anything else.
    """

    at: datetime
    reason: str
    by: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", truncate(self.at, "outcome.at"))
        check_reason(self.reason, "outcome.reason", RecordValueError)
        check_optional_text(self.by, "outcome.by")

    def to_wire(self) -> dict[str, Any]:
        by = {} if self.by is None else {"by": self.by}
        return {"at": time_to_wire(self.at), **by, "reason": self.reason}

    @classmethod
    def from_wire(cls, data: object) -> Outcome:
        members = check_mapping(data, "agent_memory.outcome")
        if not {"at", "reason"} <= members.keys() <= {"at", "by", "reason"}:
            raise RecordError("agent_memory.outcome must hold 'at' and 'reason', and may hold 'by'")
        if "by" in members and members["by"] is None:
            raise RecordTypeError("agent_memory.outcome.by must be text; leave it out when it is not known")
        at = time_from_wire(members["at"], "agent_memory.outcome.at")
        return cls(at=at, reason=members["reason"], by=members.get("by"))


UNSCOPED: Final = Scope()


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """The members of the ``agent_memory`` field; every default means "not set".

    Attributes:
        key: supersession key, ``subject::relation`` by convention.
        object: the value asserted under the key.
        value: importance, 1 to 1,000,000, four decimals.
        scope: whose memory it is.
        standing: outcomes credited to it, or None.
        outcome: the last of them, or None; only with a standing.
        author: who said it: a name, ``user``, ``assistant``.
        supersedes_also: further records this one replaces besides ``supersedes``; sorted, without repeats.
        declared: some of its evidence was given by the caller, not found by the engine.
        typed: the caller said of what type it is, so its words say nothing about how fast it fades.
        extra: unknown members, carried along and signed.

    Raises:
        RecordError: a member of the wrong type or outside its range; the message names it.
    """

    key: str | None = None
    object: str | None = None
    value: float = 1.0
    scope: Scope = UNSCOPED
    standing: Standing | None = None
    outcome: Outcome | None = None
    author: str | None = None
    supersedes_also: tuple[str, ...] = ()
    declared: bool = False
    typed: bool = False
    extra: Mapping[str, Any] = EMPTY_DICT

    def __post_init__(self) -> None:
        for name in ("key", "object", "author"):
            check_optional_text(getattr(self, name), name)
        object.__setattr__(self, "value", _importance(self.value))
        if not isinstance(self.scope, Scope):
            raise RecordTypeError(f"scope must be a Scope, not {type(self.scope).__name__}")
        if self.standing is not None and not isinstance(self.standing, Standing):
            raise RecordTypeError(f"standing must be a Standing or None, not {type(self.standing).__name__}")
        if self.outcome is not None:
            if not isinstance(self.outcome, Outcome):
                raise RecordTypeError(f"outcome must be an Outcome or None, not {type(self.outcome).__name__}")
            if self.standing is None:
                raise RecordError("outcome is set without a standing; it says who moved that, and why")
        also = check_text_list(self.supersedes_also, "supersedes_also")
        for record_id in also:
            if not is_record_id(record_id):
                raise RecordError("supersedes_also must hold record ids: 'mem:' and 32 lower-case hex digits")
        object.__setattr__(self, "supersedes_also", tuple(sorted(set(also))))
        check_flag(self.declared, "declared")
        check_flag(self.typed, "typed")
        _freeze_extra(self, MEMBERS, EXTENSION_FIELD)

    def __bool__(self) -> bool:
        """Whether anything is set, that is, whether the wire field is present."""
        return self != NO_EXTENSION

    def evolve(self, **changes: Any) -> Extension:
        return replace(self, **changes)

    def to_wire(self) -> dict[str, Any]:
        """The wire object; empty when nothing is set."""
        wire: dict[str, Any] = {}
        if self.key is not None:
            wire["key"] = self.key
        if self.object is not None:
            wire["object"] = self.object
        if self.value != 1.0:
            wire["value"] = f"{self.value:.4f}"
        if self.scope != UNSCOPED:
            wire["scope"] = self.scope.to_wire()
        if self.standing is not None:
            wire["standing"] = self.standing.to_wire()
        if self.outcome is not None:
            wire["outcome"] = self.outcome.to_wire()
        if self.author is not None:
            wire["author"] = self.author
        if self.supersedes_also:
            wire["supersedes_also"] = list(self.supersedes_also)
        if self.declared:
            wire["declared"] = True
        if self.typed:
            wire["typed"] = True
        wire.update(thaw(self.extra))
        return wire

    @classmethod
    def from_wire(cls, data: Any) -> Extension:
        """Read the wire object, in exactly the form :meth:`to_wire` writes.

        Raises:
            RecordError: any member of another type, outside its range, or spelled in another form.
        """
        members = check_mapping(data, EXTENSION_FIELD)
        if not members:
            raise RecordError("agent_memory is empty; leave it out when nothing in it is set")
        known: dict[str, Any] = {name: members[name] for name in MEMBERS if name in members}
        for name, value in known.items():
            if value is None:
                raise RecordTypeError(f"agent_memory.{name} is null; leave it out when it is not set")
        if "value" in known:
            known["value"] = _importance_from_wire(known["value"])
        if "scope" in known:
            known["scope"] = Scope.from_wire(known["scope"])
        if "standing" in known:
            known["standing"] = Standing.from_wire(known["standing"])
        if "outcome" in known:
            known["outcome"] = Outcome.from_wire(known["outcome"])
        for flag in ("declared", "typed"):
            if not check_flag(known.get(flag, True), f"agent_memory.{flag}"):
                raise RecordError(f"agent_memory.{flag} must be true; leave it out otherwise")
        also = known.get("supersedes_also")
        if also is not None and not isinstance(also, list | tuple):
            raise RecordTypeError(f"agent_memory.supersedes_also must be a list of ids, not {type(also).__name__}")
        if also is not None and not also:
            raise RecordError("agent_memory.supersedes_also is empty; leave it out when it names nothing")
        extension = cls(**known, extra=unknown_members(members, MEMBERS, (), EXTENSION_FIELD))
        if also is not None and tuple(also) != extension.supersedes_also:
            raise RecordError("agent_memory.supersedes_also must be sorted and without repeats")
        return extension


MEMBERS: Final = frozenset(item.name for item in fields(Extension)) - {"extra"}
"""Names of the known members, which are also attributes of a record."""


class ExtensionMembers:
    """Gives a record the members of its extension as attributes, documented on :class:`Extension`."""

    __slots__ = ()
    extension: Extension

    @property
    def key(self) -> str | None:
        return self.extension.key

    @property
    def object(self) -> str | None:
        return self.extension.object

    @property
    def value(self) -> float:
        return self.extension.value

    @property
    def scope(self) -> Scope:
        return self.extension.scope

    @property
    def standing(self) -> Standing | None:
        return self.extension.standing

    @property
    def author(self) -> str | None:
        return self.extension.author

    @property
    def supersedes_also(self) -> tuple[str, ...]:
        return self.extension.supersedes_also

    @property
    def outcome(self) -> Outcome | None:
        return self.extension.outcome

    @property
    def declared(self) -> bool:
        return self.extension.declared

    @property
    def typed(self) -> bool:
        return self.extension.typed


NO_EXTENSION: Final = Extension()

"""The scope a memory was opened with: what it writes is stamped with it, and nothing outside it can be reached (SPEC
section 3.3).

The one place that says what a pin means.  A call may narrow what the memory is pinned to and never widen it: an
argument that contradicts a pin is an error, not a wish.  What is outside does not exist for the memory, so an id of
another's record is as unknown as one nobody holds.  Pure: it reads no store by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from . import kernel
from .errors import ArgumentError, ArgumentTypeError, ProposalError, RecordError
from .extension import SCOPE_FIELDS, UNSCOPED, ConsolidationScope, Scope
from .pipeline.scoping import effective_scope, visible
from .ports import unknown_id
from .records import MemoryRecord

__all__ = ["EVERYTHING", "Find", "Pinned", "scope_field"]

Find = Callable[[Iterable[str]], Mapping[str, MemoryRecord]]
"""Answers the newest versions of those ids that are known."""

_ISOLATING: Final = ("project", "user_id", "agent_id")
"""The fields that keep memories apart.  Sessions of one such scope share their memory."""
_SHOWN: Final = 60
"""Characters of a caller's argument that an error repeats."""


@dataclass(frozen=True, slots=True)
class Pinned:
    """What a memory is pinned to.

    Attributes:
        scope: the pinned fields; ``session_id`` stamps what is written and hides nothing.
        required: fields that every call must name unless they are pinned.
    """

    scope: Scope = UNSCOPED
    required: tuple[str, ...] = ()

    @classmethod
    def read(
        cls,
        *,
        project: object = None,
        user_id: object = None,
        agent_id: object = None,
        session_id: object = None,
        require_scope: object = (),
    ) -> Self:
        """Check what a memory is opened with.

        Raises:
            ArgumentError: a field that is no text that says something; ``require_scope`` names no isolating field, or
                the project, which no call can name, without a pinned one.
        """
        scope = _scope(project=project, user_id=user_id, agent_id=agent_id, session_id=session_id)
        return cls(scope, _required(require_scope, scope))

    @property
    def isolates(self) -> bool:
        """Whether anything can lie outside: a project, user or agent is pinned."""
        return self.scope.consolidation != UNSCOPED.consolidation

    @property
    def as_facts(self) -> dict[str, str]:
        """The pinned fields by name, those that are not left out, for whoever echoes them."""
        return {name: value for name in SCOPE_FIELDS if (value := getattr(self.scope, name)) is not None}

    # ------------------------------------------------------------------ a call

    def stamp(self, *, user_id: object = None, agent_id: object = None, session_id: object = None) -> Scope:
        """The scope of what a call writes: the pinned fields, and what the call names besides.

        Keys and repetitions are looked for in its ``consolidation`` scope, and in no other.

        Raises:
            ArgumentError: a field that contradicts a pin, is required and left out, or is no text that says something.
        """
        return self._joined(_scope(user_id=user_id, agent_id=agent_id, session_id=session_id))

    def asked(self, *, user_id: object = None, agent_id: object = None, session_id: object = None) -> Scope:
        """What a call that reads may see: the pinned fields, narrowed by those the call names.

        The pinned session is no part of it, for a session stamps and does not hide; one the call names filters.
        Raises as :meth:`stamp`.
        """
        narrowed = _scope(user_id=user_id, agent_id=agent_id)
        session = scope_field("session_id", session_id)
        return replace(self._joined(narrowed), session_id=session)

    def check_required(self) -> None:
        """Refuse a call that cannot name a required field and works on records all the same.

        Raises:
            ArgumentError: a required field is not pinned.
        """
        self._joined(UNSCOPED)

    def over(self, proposed: Scope, stamp: Scope) -> Scope:
        """The scope of a record that an extractor proposes in ``proposed``, for a call with that ``stamp``.

        Raises:
            ProposalError: it belongs to somebody else than the call may write for.
        """
        for name in SCOPE_FIELDS:
            own, given = getattr(proposed, name), getattr(stamp, name)
            if own is not None and given is not None and own != given:
                raise ProposalError(f"the record has another {name} than the call it was extracted for")
        named = {name: value for name in SCOPE_FIELDS if (value := getattr(stamp, name)) is not None}
        return replace(proposed, **named) if named else proposed

    def _joined(self, given: Scope) -> Scope:
        joined: dict[str, Any] = {}
        for name in SCOPE_FIELDS:
            pinned, named = getattr(self.scope, name), getattr(given, name)
            if pinned is not None and named is not None and pinned != named:
                raise ArgumentError(
                    f"this memory is pinned to {name} {_shown(pinned)}, and the call names {_shown(named)}; leave "
                    f"{name} out, or open the memory of the other"
                )
            joined[name] = named if pinned is None else pinned
            if joined[name] is None and name in self.required:
                raise ArgumentError(
                    f"this memory requires {name}; name it in the call, or open the memory with it: "
                    f"Memory(path, {name}=...)"
                )
        return Scope(**joined)

    # ------------------------------------------------------------------ a record

    def sees(self, record: MemoryRecord, find: Find) -> bool:
        """Whether a record is in what the memory is pinned to: each isolating field unset, or equal to the pin.

        A tombstone does not say any more whose it was, so who is pinned to a user or an agent does not see it.
        """
        if not self.isolates:
            return True
        if record.redacted and (self.scope.user_id is not None or self.scope.agent_id is not None):
            return False
        return visible(effective_scope(record, find), self.scope.without_session())

    def sees_scope(self, scope: ConsolidationScope | None) -> bool:
        """The same of the consolidation scope a record is treated as having; None is one that is not known."""
        return visible(None if scope is None else _consolidated(scope), self.scope)

    def seen(self, record: MemoryRecord, find: Find) -> MemoryRecord:
        """``record``, or the error of an unknown id when it is outside.

        Raises:
            StoreError: it is outside.
        """
        if not self.sees(record, find):
            raise unknown_id(record.id)
        return record

    def takes(self, scope: Scope) -> bool:
        """Whether a record of that scope may be brought in as it is: it has every pinned and every required field.

        A record of everybody's is not taken by a memory that is pinned: it would reach those outside.
        """
        return all(
            getattr(scope, name) is not None
            if (pin := getattr(self.scope, name)) is None
            else getattr(scope, name) == pin
            for name in _ISOLATING
            if getattr(self.scope, name) is not None or name in self.required
        )


EVERYTHING: Final = Pinned()
"""What a memory that was opened without a scope is pinned to: nothing."""


def scope_field(name: str, value: object) -> str | None:
    """A field of a scope as a caller gives it, in its normal form.

    Raises:
        ArgumentTypeError: it is neither text nor None.
        ArgumentError: it is empty, or no text there can be.
    """
    if value is None:
        return None
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{name} must be a str or None, not {type(value).__name__}")
    if not value.strip():
        raise ArgumentError(f"{name} is empty; leave it out when it is not known")
    try:
        return kernel.nfc(value)
    except RecordError as error:
        raise ArgumentError(f"{name}: {error}") from None


def _scope(**given: object) -> Scope:
    fields: dict[str, Any] = {name: scope_field(name, value) for name, value in given.items()}
    return Scope(**fields)


def _consolidated(scope: ConsolidationScope) -> Scope:
    project, user_id, agent_id = scope
    return Scope(project=project, user_id=user_id, agent_id=agent_id)


def _required(given: object, scope: Scope) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ArgumentTypeError(f"require_scope must be a list of field names, not {type(given).__name__}")
    names = tuple(given)
    for name in names:
        if name not in _ISOLATING:
            raise ArgumentError(
                f"require_scope may name {', '.join(_ISOLATING)}; a session shares its memory with the others"
            )
    if "project" in names and scope.project is None:
        raise ArgumentError("require_scope names the project, which no call can name; open the memory with project=...")
    return tuple(dict.fromkeys(names))


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")

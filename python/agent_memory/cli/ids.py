"""Ids as people type them: a unique beginning of six hex digits or more, with or without ``mem:``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agent_memory.errors import ArgumentError, StoreError

from .escape import one_line

if TYPE_CHECKING:
    from agent_memory.memory import Memory

__all__ = ["full_id"]

_TYPED: Final = re.compile(r"(?:mem:)?([0-9a-f]{6,32})", re.ASCII)
_NAMED: Final = 5
"""How many candidates an error names."""


def full_id(memory: Memory, typed: str) -> str:
    """The id that ``typed`` stands for.

    Raises:
        ArgumentError: not the beginning of an id, or of more than one record's.
        StoreError: of none.
    """
    match = _TYPED.fullmatch(typed.strip().lower())
    if match is None:
        raise ArgumentError(
            f"{one_line(typed[:40])!r} is no record id; give 'mem:' and 32 hex digits, or the first 6 or more of them"
        )
    digits = match[1]
    if len(digits) == 32:
        return memory.get(f"mem:{digits}").id
    found = sorted(record.id for record in memory.list() if record.id.startswith(f"mem:{digits}"))
    if not found:
        raise StoreError(f"no record's id begins with mem:{digits}; `agent-memory list` shows what there is")
    if len(found) > 1:
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        raise ArgumentError(
            f"mem:{digits} is the beginning of {len(found)} ids: {', '.join(found[:_NAMED])}{more}; give more digits"
        )
    return found[0]

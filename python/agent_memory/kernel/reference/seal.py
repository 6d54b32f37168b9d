"""``seal``: the one call made for each record that is built (spec/kernel.md, Canonical JSON)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from agent_memory.errors import RecordTypeError

from .canonical import canonical_json, digest
from .normal import normalised

__all__ = ["seal"]

_Birth = TypeVar("_Birth", bound=dict[str, Any])
_Rest = TypeVar("_Rest")


def seal(birth: _Birth, rest: _Rest, /) -> tuple[str, _Birth, _Rest]:
    """Checks both values as canonical_json does, and normalises every string and key in them.

    Returns the digest of the first, and both.  Whatever does not change is the very same object; a container in which
    something does is a new plain dict, list or tuple.
    """
    if not isinstance(birth, dict):
        raise RecordTypeError(f"$ is of type '{type(birth).__name__}': the birth content must be a dict")
    name = digest(birth)
    canonical_json(rest)
    return name, rebuilt(birth), rebuilt(rest)


def rebuilt(value: Any) -> Any:
    """A value that has been checked, normalised; the very same object when nothing in it changes."""
    if isinstance(value, str):
        normal = normalised(value)
        return value if normal == str.__str__(value) else normal
    if isinstance(value, list):
        items = [rebuilt(item) for item in list.__iter__(value)]
        return value if same(items, list.__iter__(value)) else items
    if isinstance(value, tuple):
        items = [rebuilt(item) for item in tuple.__iter__(value)]
        return value if same(items, tuple.__iter__(value)) else tuple(items)
    if isinstance(value, dict):
        members = {normalised(key): rebuilt(item) for key, item in dict.items(value)}
        unchanged = all(new == str.__str__(old) for new, old in zip(members, dict.keys(value), strict=True))
        return value if unchanged and same(members.values(), dict.values(value)) else members
    return value


def same(new: Iterable[object], old: Iterable[object]) -> bool:
    """Whether all are the very same objects."""
    return all(left is right for left, right in zip(new, old, strict=True))

"""JSON Lines: an object per line, its fields named as the arguments of ``Memory.remember``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Never

from .entries import BadLine, Entry
from .lines import Line

__all__ = ["read_jsonl"]


class _Refused(Exception):
    """The line is no entry; the message says why."""


def _text(value: object, field: str) -> str:
    if not isinstance(value, str):
        raise _Refused(f"{field} must be text, not {_kind(value)}")
    if not value.strip():
        raise _Refused(f"{field} is empty")
    return value


def _texts(value: object, field: str) -> list[str]:
    if not isinstance(value, list):
        raise _Refused(f"{field} must be a list of texts, not {_kind(value)}")
    return [_text(item, f"{field}[{position}]") for position, item in enumerate(value)]


def _number(value: object, field: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Refused(f"{field} must be a number, not {_kind(value)}")
    return value


_FIELDS: Final[dict[str, tuple[str, Callable[[object, str], object]]]] = {
    "text": ("text", _text),
    "body": ("text", _text),
    "tags": ("tags", _texts),
    "source": ("source", _text),
    "type": ("mtype", _text),
    "mtype": ("mtype", _text),
    "value": ("value", _number),
    "occurred_at": ("occurred_at", _text),
    "author": ("author", _text),
    "user_id": ("user_id", _text),
    "agent_id": ("agent_id", _text),
    "session_id": ("session_id", _text),
}
"""Each field that is read: the argument it becomes, and the check of its JSON type."""


def read_jsonl(lines: Iterable[Line]) -> Iterator[Entry | BadLine]:
    """One entry per line that holds an object with ``text`` or ``body``; blank lines are passed over.

    A field that is null counts as absent.  Fields that no memory takes are named in :attr:`Entry.unused`.
    """
    for line in lines:
        if line.blank:
            continue
        try:
            if line.problem:
                raise _Refused(line.problem)  # noqa: TRY301 - one place turns a refusal into a bad line
            yield _entry(line.number, _parse(line.text))
        except _Refused as refusal:
            yield BadLine(line.number, str(refusal))


def _entry(number: int, members: dict[str, Any]) -> Entry:
    item: dict[str, object] = {}
    given_by: dict[str, str] = {}
    unused: list[str] = []
    for field, value in members.items():
        if field not in _FIELDS:
            unused.append(field)
        elif value is not None:
            argument, check = _FIELDS[field]
            if argument in item:
                raise _Refused(f"has both {given_by[argument]} and {field}; keep one of them")
            item[argument] = check(value, field)
            given_by[argument] = field
    if "text" not in item:
        raise _Refused("has no text: neither a 'text' nor a 'body' field")
    return Entry(number, item, tuple(unused))


def _parse(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text, object_pairs_hook=_members, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise _Refused(f"is not JSON: {error.msg[:1].lower()}{error.msg[1:]}, at column {error.colno}") from None
    except RecursionError:
        raise _Refused("is nested too deeply") from None
    except ValueError:  # int() refuses thousands of digits
        raise _Refused("holds a number with too many digits") from None
    if not isinstance(value, dict):
        raise _Refused(f'must be an object such as {{"text": "..."}}, not {_kind(value)}')
    return value


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Refused("has the same key twice in one object")
    return members


def _refuse_constant(name: str) -> Never:
    raise _Refused(f"holds {name}, which is no JSON")


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "a list" if isinstance(value, list) else "an object"

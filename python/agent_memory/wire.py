"""Reading JSON that somebody else wrote, and the checks every wire field passes (SPEC sections 1.4 and 2.1).

Nothing is coerced: a string where a list belongs is an error that names the field.  A JSON object that has a key twice
is refused, because two readers could take it for two different records.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Never, cast

from .errors import AgentMemoryError, RecordError, RecordTypeError, RecordValueError

__all__ = [
    "check_extra",
    "check_flag",
    "check_mapping",
    "check_optional_text",
    "check_reason",
    "check_text",
    "check_text_list",
    "is_record_id",
    "parse_json",
    "refusal_of",
    "unknown_members",
]

_ID: Final = re.compile(r"mem:[0-9a-f]{32}", re.ASCII)
_FAULT: Final = re.compile(
    r"(?P<key>a key of )?.*"
    r"(?P<fault> (?:is a float|is of type '|holds a lone surrogate|has keys that|is nested deeper).*)",
    re.DOTALL,
)
"""The kernel's refusals: everything up to the last of these beginnings is a path, and may quote keys."""
_DIGITS_AT_ONCE: Final = 4000
"""Longest run of digits int() takes at once, a little below CPython's limit of 4300."""


def is_record_id(value: object) -> bool:
    """Whether ``value`` is text of the form of a record id: ``mem:`` and 32 lower-case hex digits."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def parse_json(data: bytes | str, what: str) -> Any:
    """Parse JSON strictly.  ``what`` names the source in errors, such as ``"memory file brain.json"``.

    Raises:
        RecordError: not UTF-8, not JSON, a key twice in one object, a float, NaN or Infinity, or nested too deeply.
    """
    if isinstance(data, bytes):
        try:
            data = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise RecordError(f"{what} is not UTF-8 text (byte {error.start}); it is damaged or not JSON") from None
    decoder = json.JSONDecoder(
        object_pairs_hook=lambda pairs: _object(pairs, what),
        parse_float=lambda _: _refuse_number(what),
        parse_constant=lambda _: _refuse_number(what),
        parse_int=_integer,
    )
    try:
        return decoder.decode(data)
    except json.JSONDecodeError as error:
        raise RecordError(
            f"{what} is not valid JSON at line {error.lineno}, column {error.colno}; it is damaged or was cut short"
        ) from None
    except RecursionError:
        raise RecordError(f"{what} is nested too deeply to be read; 256 levels is the limit") from None


def _object(pairs: list[tuple[str, Any]], what: str) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise RecordError(f"{what} has an object with the same key twice; which one counts cannot be known")
    return members


def _refuse_number(what: str) -> Never:
    raise RecordValueError(f"{what} holds a number with a fraction or exponent; write such values as text")


def _integer(digits: str) -> int:
    """The exact integer, however long: halves at a time, since int() refuses more than 4300 digits."""
    if len(digits) <= _DIGITS_AT_ONCE:
        return int(digits)
    if digits[0] == "-":
        return -_integer(digits[1:])
    low = len(digits) // 2
    shift: int = 10**low
    return _integer(digits[:-low]) * shift + _integer(digits[-low:])


def check_text(value: object, field: str, *, empty: bool = False) -> str:
    """``value`` when it is text (non-empty unless ``empty``), else a RecordError naming ``field``."""
    if not isinstance(value, str):
        raise RecordTypeError(f"{field} must be text, not {type(value).__name__}")
    if not value and not empty:
        raise RecordError(f"{field} must be non-empty text")
    return value


def check_optional_text(value: object, field: str, *, empty: bool = False) -> str | None:
    """As :func:`check_text`, or None."""
    return None if value is None else check_text(value, field, empty=empty)


def check_reason(value: object, what: str, error_class: type[AgentMemoryError]) -> str:
    """``value`` when it is text of more than white space, else an ``error_class`` that says ``what`` needs a reason."""
    text = str.__str__(value) if isinstance(value, str) else ""  # a subclass could answer for itself
    if not text.strip():
        raise error_class(f"{what} needs a reason: non-empty text")
    return text


def check_text_list(value: object, field: str) -> tuple[str, ...]:
    """A tuple of the non-empty strings in a list or tuple (any iterable but text or a mapping), else an error."""
    if value.__class__ is not list and value.__class__ is not tuple:
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            raise RecordTypeError(f"{field} must be a list of texts, not {type(value).__name__}")
        value = tuple(value)
    items: tuple[object, ...] = tuple(cast("Iterable[object]", value))
    for position, item in enumerate(items):
        if not isinstance(item, str):
            raise RecordTypeError(f"{field}[{position}] must be text, not {type(item).__name__}")
        if not item:
            raise RecordError(f"{field}[{position}] must be non-empty text")
    return cast("tuple[str, ...]", items)


def check_flag(value: object, field: str) -> bool:
    """``value`` when it is True or False, else a RecordTypeError naming ``field``."""
    if value is True or value is False:
        return value
    raise RecordTypeError(f"{field} must be true or false, not {type(value).__name__}")


def check_mapping(value: object, field: str) -> Mapping[str, Any]:
    """``value`` when it is a mapping with text keys, else a RecordTypeError naming ``field``."""
    if value.__class__ is not dict and not isinstance(value, Mapping):
        raise RecordTypeError(f"{field} must be an object (a mapping), not {type(value).__name__}")
    members = cast("Mapping[str, Any]", value)
    for key in members:
        if not isinstance(key, str):
            raise RecordTypeError(f"{field} has a key that is {type(key).__name__}; keys must be text")
    return members


def check_extra(value: object, known: frozenset[str], what: str) -> Mapping[str, Any]:
    """``value`` when it may be the unknown members of a ``what``: a mapping that names no known member."""
    extra = check_mapping(value, f"{what}.extra")
    for name in extra:
        if name in known:
            raise RecordError(f"{what}.extra must not shadow the known field {name!r}; set that field itself")
    return extra


def unknown_members(
    data: Mapping[str, Any], known: frozenset[str], required: Sequence[str], what: str
) -> dict[str, Any]:
    """The members of ``data`` that are not ``known``, which a reader carries along unchanged.

    Raises:
        RecordError: a ``required`` member is missing; the message names it.
    """
    for field in required:
        if field not in data:
            raise RecordError(f"{what} lacks the required field {field!r}")
    if data.keys() <= known:
        return {}
    return {key: value for key, value in data.items() if key not in known}


def refusal_of(field: str, error: RecordError) -> RecordError:
    """The kernel's refusal said of ``field``; its path is left out, because keys quote what a record says."""
    told = _FAULT.fullmatch(str(error))
    if told is None:
        return type(error)(f"{field} has no canonical JSON")
    return type(error)(f"{told['key'] or ''}{field}{told['fault']}")

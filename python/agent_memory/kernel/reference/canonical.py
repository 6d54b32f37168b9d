"""Canonical JSON: one value, one sequence of bytes (spec/kernel.md, Canonical JSON).

Every string and key is normalised first, then the keys of an object are sorted by code point, then text is escaped.
The other order is a trap: normalising escaped text lets a combining mark compose with the ``n`` of an escaped newline.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from . import refusal
from .decimal import decimal
from .escape import quoted
from .normal import has_surrogate, normalised
from .refusal import MAX_DEPTH, Path

__all__ = ["canonical_json", "canonical_json_many", "digest", "digest_many"]


def canonical_json(value: object, /) -> bytes:
    """The canonical bytes of a value.

    Raises RecordValueError for a float, a lone surrogate, keys equal after NFC, or more than 256 nested containers, and
    RecordTypeError for a type that JSON does not have.
    """
    return text_of(value, ()).encode("utf-8")


def canonical_json_many(values: Iterable[object], /) -> list[bytes]:
    """The canonical bytes of each value."""
    return [canonical_json(value) for value in values]


def digest(value: object, /) -> str:
    """The SHA-256 of the canonical bytes: 64 lower-case hexadecimal digits."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def digest_many(values: Iterable[object], /) -> list[str]:
    """The digest of each value."""
    return [digest(value) for value in values]


def text_of(value: object, path: Path) -> str:
    """The canonical text of a value at a path.  Subclasses count as what they derive from, their own methods unused."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return decimal(value)
        case str():
            if has_surrogate(value):
                raise refusal.surrogate(path)
            return quoted(normalised(value))
        case list():
            return array_text(list.__iter__(value), path)
        case tuple():
            return array_text(tuple.__iter__(value), path)
        case dict():
            return object_text(value, path)
        case float():
            raise refusal.float_refused(path)
        case _:
            raise refusal.type_refused(path, value)


def array_text(items: Iterable[object], path: Path) -> str:
    check_depth(path)
    texts = []
    for index, item in enumerate(items):
        texts.append(text_of(item, (*path, index)))
    return "[" + ",".join(texts) + "]"


def object_text(members: dict[object, object], path: Path) -> str:
    check_depth(path)
    keys = []
    values = []
    for key, value in dict.items(members):
        name = key_text(key, path)
        keys.append(name)
        values.append(text_of(value, (*path, name)))
    check_distinct(keys, path)
    # Python compares strings by code point.
    in_order = sorted(zip(keys, values, strict=True))
    return "{" + ",".join([f"{quoted(key)}:{text}" for key, text in in_order]) + "}"


def key_text(key: object, path: Path) -> str:
    """The normalised key of a member of the object at a path."""
    if not isinstance(key, str):
        raise refusal.key_type(path, key)
    if has_surrogate(key):
        raise refusal.key_surrogate(path)
    return normalised(key)


def check_distinct(keys: Sequence[str], path: Path) -> None:
    if len(set(keys)) < len(keys):
        raise refusal.equal_keys(path)


def check_depth(path: Path) -> None:
    """A path has one step for each container around the value."""
    if len(path) >= MAX_DEPTH:
        raise refusal.too_deep(path)

"""Whether bytes are the canonical bytes of a live record, and need no closer look (spec/kernel.md, Plain records)."""

from __future__ import annotations

import json
from typing import Any, Final, Never

from agent_memory.errors import RecordError

from .canonical import canonical_json, digest
from .escape import quoted
from .normal import nfc

__all__ = ["plain_record"]

_BIRTH: Final = ("type", "body", "slots", "provenance", "created_at")
_WRITTEN: Final = frozenset(
    (*_BIRTH, "id", "state", "confidence", "updated_at", "evidence", "supersedes", "superseded_by", "transition")
) | {"state_reason", "tags", "flagged", "flag_reason", "signed_by", "signature"}
"""The fields every record is written with; one that lacks some is valid, but has longer canonical bytes."""
_LONGEST_NUMBER: Final = 18


def plain_record(data: bytes, record_id: str, /) -> str | None:
    """The wire time of birth, when ``data`` is the canonical spelling of a record that is no tombstone, has every field
    a record is written with, and whose birth content has the address ``record_id``; else None.

    Integers of more than 18 digits, names that need an escape, and text that is not normal as it is written, escapes
    included, are left to a closer look too.
    """
    try:
        wire = json.loads(
            data.decode(),
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_refuse,
            parse_constant=_refuse,
        )
        if not isinstance(wire, dict) or canonical_json(wire) != data or not _is_written_plainly(wire):
            return None
    except (ValueError, RecordError, RecursionError):
        return None
    if wire.get("id") != record_id or "redacted" in wire or not wire.keys() >= _WRITTEN:
        return None
    born = wire["created_at"]
    address = "mem:" + digest({name: wire[name] for name in _BIRTH})[:32]
    return born if address == record_id and isinstance(born, str) and len(quoted(born)) == len(born) + 2 else None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if any(len(quoted(name)) != len(name) + 2 for name, _ in pairs):
        raise ValueError
    return dict(pairs)


def _integer(digits: str) -> int:
    if len(digits.removeprefix("-")) > _LONGEST_NUMBER:
        raise ValueError
    return int(digits)


def _refuse(_: str) -> Never:
    raise ValueError


def _is_written_plainly(value: Any) -> bool:
    if isinstance(value, str):
        return nfc(quoted(value)) == quoted(value)
    if isinstance(value, dict):
        return all(map(_is_written_plainly, value)) and all(map(_is_written_plainly, value.values()))
    return not isinstance(value, list) or all(map(_is_written_plainly, value))

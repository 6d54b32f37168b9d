"""Reading what a store holds: bytes that anybody may have written (SPEC section 16).

Stores keep records as canonical JSON.  What is read back is checked as strictly as a file from a stranger, and errors
name the place, never the content.
"""

from __future__ import annotations

from typing import Any, Final

from agent_memory import kernel
from agent_memory.errors import ArgumentTypeError, RecordError, StoreError
from agent_memory.records import MemoryRecord
from agent_memory.wire import parse_json

__all__ = ["check_payload", "check_record", "read_record"]

_BIRTH: Final = ("type", "body", "slots", "provenance", "created_at")
_WRITTEN: Final = frozenset(
    (*_BIRTH, "id", "state", "confidence", "updated_at", "evidence", "supersedes", "superseded_by", "transition")
) | {"state_reason", "tags", "flagged", "flag_reason", "signed_by", "signature"}
"""The fields every record is written with; one that lacks some is valid, but has longer canonical bytes."""


def check_record(record: object) -> MemoryRecord:
    """``record`` when it is one, else an ArgumentTypeError."""
    if not isinstance(record, MemoryRecord):
        raise ArgumentTypeError(f"a store holds MemoryRecords, not {type(record).__name__}; build one with create()")
    return record


def read_record(data: bytes, record_id: str, where: str) -> MemoryRecord:
    """The record in ``data``, which lies at ``where`` and must be a version of ``record_id``.

    Raises:
        StoreError: it is not one: torn, no JSON, another record, or against the format.  The message names ``where``.
    """
    try:
        wire = parse_json(data, where)
    except RecordError as error:
        raise StoreError(str(error)) from None
    try:
        record = MemoryRecord.model_validate(wire)
    except RecordError as error:
        raise StoreError(f"{where} does not hold a valid record: {error}") from None
    if record.id != record_id:
        raise StoreError(f"{where} holds a version of {record.id}, which belongs elsewhere; move it there or remove it")
    return record


def check_payload(data: bytes, record_id: str, where: str) -> tuple[str, bytes]:
    """The wire time of birth and the canonical bytes of the record in ``data``, without building the record.

    Checked are the JSON, that its spelling is canonical, and that its birth content has the address ``record_id``;
    anything unusual is left to :func:`read_record`.

    Raises:
        StoreError: as :func:`read_record`.
    """
    try:
        wire = parse_json(data, where)
        if _is_plain(wire, record_id) and kernel.canonical_json(wire) == data:
            return wire["created_at"], data
    except RecordError:
        pass
    record = read_record(data, record_id, where)
    return record.model_dump()["created_at"], record.canonical_bytes()


def _is_plain(wire: Any, record_id: str) -> bool:
    """Whether ``wire`` is a live record that names ``record_id`` as its id and has that address."""
    if not isinstance(wire, dict) or wire.get("id") != record_id or "redacted" in wire:
        return False
    if not wire.keys() >= _WRITTEN:
        return False
    return "mem:" + kernel.digest({name: wire[name] for name in _BIRTH})[:32] == record_id

"""Reading what a store holds: bytes that anybody may have written (SPEC section 16).

Stores keep records as canonical JSON.  What is read back is checked as strictly as a file from a stranger, and errors
name the place, never the content.
"""

from __future__ import annotations

from agent_memory import kernel
from agent_memory.errors import ArgumentTypeError, RecordError, StoreError
from agent_memory.records import MemoryRecord
from agent_memory.wire import parse_json

__all__ = ["check_payload", "check_record", "read_record"]


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

    What is not plain (spec/kernel.md, Plain records) is left to :func:`read_record`.

    Raises:
        StoreError: as :func:`read_record`.
    """
    born = kernel.plain_record(data, record_id)
    if born is not None:
        return born, data
    record = read_record(data, record_id, where)
    return record.model_dump()["created_at"], record.canonical_bytes()

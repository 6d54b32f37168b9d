"""The intent journal: a transaction written down whole before any of it is done (SPEC section 16.1).

Lines of canonical JSON, which holds no line feed: first ``{"format", "sha256"}``, the digest being that of all that
follows; then for each step ``{"id", "number"}``, without the number for a redaction, and below it the payload.  Of a
redaction the payload is the tombstone, so a journal never holds what is being erased.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Final

from agent_memory import kernel
from agent_memory.errors import StoreError
from agent_memory.wire import is_record_id

from .buffer import Write

__all__ = ["decode", "encode"]

_FORMAT: Final = "agent-memory-journal/1"


def encode(writes: Iterable[Write]) -> bytes:
    """The bytes of the journal of a transaction."""
    lines: list[bytes] = []
    for write in writes:
        step: dict[str, object] = {"id": write.id, "number": write.number} if write.number else {"id": write.id}
        lines += (kernel.canonical_json(step), write.payload)
    body = b"".join(line + b"\n" for line in lines)
    return kernel.canonical_json({"format": _FORMAT, "sha256": hashlib.sha256(body).hexdigest()}) + b"\n" + body


def decode(data: bytes, where: str) -> Sequence[Write] | None:
    """The transaction in a journal; None when it is torn, and so describes nothing.

    Raises:
        StoreError: it is whole, but of a format this version does not know.
    """
    head, _, body = data.partition(b"\n")
    try:
        told = json.loads(head)
        made_as, digest = told["format"], told["sha256"]
    except (ValueError, KeyError, TypeError):
        return None
    if digest != hashlib.sha256(body).hexdigest():
        return None
    lines = body.split(b"\n")
    if made_as != _FORMAT or len(lines) % 2 != 1 or lines[-1]:
        raise _unknown(where)
    try:
        steps = [json.loads(line) for line in lines[0:-1:2]]
        writes = [
            Write(step["id"], step.get("number", 0), payload) for step, payload in zip(steps, lines[1::2], strict=True)
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _unknown(where) from None
    for write in writes:
        if not isinstance(write.id, str) or not is_record_id(write.id):
            raise _unknown(where)
        if not isinstance(write.number, int) or write.number < 0:
            raise _unknown(where)
    return writes


def _unknown(where: str) -> StoreError:
    return StoreError(f"{where} is a journal this version cannot read; open the memory with the version that wrote it")

"""What is embedded of a record, and what is noted beside its vector (spec/recall.md section 8)."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Self

from agent_memory.extension import SCOPE_FIELDS

if TYPE_CHECKING:
    from agent_memory.records import MemoryRecord

__all__ = ["Note", "Said"]

_MARK: Final = 16
"""Bytes of a digest that are kept."""
_HEAD: Final = struct.Struct("<II")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Said:
    """The newest version of a record, as far as it is embedded.

    Attributes:
        text: what is embedded; empty when it is redacted.
        mark: stands for the text.
        place: where it stands in its session: (name of the session, event time, time of birth); None in none.
    """

    id: str
    text: str
    mark: bytes
    place: tuple[str, int, int] | None
    redacted: bool

    @classmethod
    def of_record(cls, record: MemoryRecord) -> Self:
        scope = tuple(getattr(record.scope, name) for name in SCOPE_FIELDS)
        times = (record.event_time, record.created_at)
        return cls._made(record.id, record.body, record.tags, scope, times, redacted=record.redacted)

    @classmethod
    def of_payload(cls, payload: bytes) -> Self:
        """Of the canonical bytes of a record, which are trusted to be that."""
        wire: dict[str, Any] = json.loads(payload)
        members: Mapping[str, Any] = wire.get("agent_memory", {}).get("scope", {})
        scope = tuple(members.get(name) for name in SCOPE_FIELDS)
        born = wire["created_at"]
        times = (datetime.fromisoformat(wire.get("occurred_at") or born), datetime.fromisoformat(born))
        redacted = bool(wire.get("redacted"))
        return cls._made(wire["id"], wire["body"], wire.get("tags", ()), scope, times, redacted=redacted)

    @classmethod
    def _made(
        cls,
        record_id: str,
        body: str,
        tags: Sequence[str],
        scope: tuple[str | None, ...],
        times: tuple[datetime, datetime],
        *,
        redacted: bool,
    ) -> Self:
        if redacted:
            return cls(record_id, "", b"", None, redacted=True)
        text = "\n".join((body, *tags))
        place = None
        if scope[SCOPE_FIELDS.index("session_id")] is not None:
            event_at, born = ((moment - _EPOCH) // timedelta(milliseconds=1) for moment in times)
            place = (_digest(json.dumps(scope)).hex(), event_at, born)
        return cls(record_id, text, _digest(text), place, redacted=False)


@dataclass(frozen=True, slots=True)
class Note:
    """What an embedder learnt of the texts of a memory, and of how many; nothing for one that does not learn."""

    texts: int = 0
    learnt: bytes = b""

    def to_bytes(self, marks: Sequence[bytes]) -> bytes:
        """It, and the marks of the records, in the order of the vectors."""
        return _HEAD.pack(self.texts, len(self.learnt)) + self.learnt + b"".join(marks)

    @classmethod
    def from_bytes(cls, data: bytes, count: int) -> tuple[Self, list[bytes]] | None:
        """A note and the marks of ``count`` records; None for bytes that are not that."""
        if len(data) < _HEAD.size:
            return None
        texts, size = _HEAD.unpack_from(data)
        marks = data[_HEAD.size + size :]
        if len(data) != _HEAD.size + size + count * _MARK:
            return None
        learnt = data[_HEAD.size : _HEAD.size + size]
        return cls(texts, learnt), [marks[at : at + _MARK] for at in range(0, len(marks), _MARK)]


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8")).digest()[:_MARK]

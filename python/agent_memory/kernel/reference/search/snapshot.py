"""An index as bytes, and back (spec/recall.md section 7)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from .entry import STATES, TYPES, Entry, Tombstone

if TYPE_CHECKING:
    from .config import Config

__all__ = ["Parts", "pack", "unpack"]

_MAGIC: Final = b"AMRECALL"
_VERSION: Final = 1
_HEAD: Final = struct.Struct("<8sI32sQ32s")
_COLUMNS: Final = struct.Struct("<16sBBBHQqqqI6I")
_NONE: Final = 0xFFFFFFFF
_QUESTION, _TIMELY, _STANDING = 1, 2, 4

Parts = tuple[list[Entry], list[Tombstone], dict[str, int]]
"""Records, tombstones, and touches by id."""


def pack(parts: Parts, *, config: Config, cursor: str, epoch: int) -> bytes:
    """The snapshot of an index."""
    entries, tombstones, touches = parts
    entries = sorted(entries, key=lambda entry: entry.id)
    places = {entry.id: place for place, entry in enumerate(entries)}
    texts = {text for entry in entries for text in (*entry.tags, *_named(entry)) if text is not None}
    strings = sorted(texts, key=str.encode)
    numbers = {text: number for number, text in enumerate(strings)}
    rest = bytearray(_text(cursor) + struct.pack("<QI", epoch, len(strings)))
    for text in strings:
        rest += _text(text)
    rest += _u32(len(entries))
    for entry in entries:
        rest += _record(entry, numbers)
    rest += _u32(len(tombstones))
    for tombstone in sorted(tombstones, key=lambda item: item.id):
        rest += _id(tombstone.id) + _ids(tombstone.replaces) + _maybe(tombstone.superseded_by)
    postings: dict[str, list[tuple[int, int]]] = {}
    for entry in entries:
        for term, count in entry.terms.items():
            postings.setdefault(term, []).append((places[entry.id], count))
    rest += _u32(len(postings))
    for term in sorted(postings, key=str.encode):
        rest += _text(term) + _u32(len(postings[term]))
        rest += b"".join(struct.pack("<II", *posting) for posting in postings[term])
    rest += _u32(len(touches))
    for record_id in sorted(touches):
        rest += _id(record_id) + struct.pack("<Q", touches[record_id])
    digest = sha256(rest).digest()
    return _HEAD.pack(_MAGIC, _VERSION, config.fingerprint(), len(rest), digest) + bytes(rest)


def unpack(data: bytes, config: Config) -> tuple[Parts, str, int] | None:
    """Parts, cursor and epoch of a snapshot; None for one that is damaged, of another version or configuration."""
    if len(data) < _HEAD.size:
        return None
    magic, version, fingerprint, length, digest = _HEAD.unpack_from(data)
    rest = data[_HEAD.size :]
    if (magic, version, fingerprint, length) != (_MAGIC, _VERSION, config.fingerprint(), len(rest)):
        return None
    if sha256(rest).digest() != digest:
        return None
    try:
        return _read(_Reader(rest))
    except (struct.error, IndexError, ValueError):
        return None


def _read(reader: _Reader) -> tuple[Parts, str, int]:
    cursor = reader.text()
    epoch = reader.number("<Q")
    strings = [reader.text() for _ in range(reader.u32())]
    found = [_Record(reader, strings) for _ in range(reader.u32())]
    tombstones = [
        Tombstone(id=reader.id(), replaces=reader.ids(), superseded_by=reader.maybe()) for _ in range(reader.u32())
    ]
    for _ in range(reader.u32()):
        term = reader.text()
        for _ in range(reader.u32()):
            place = reader.u32()
            found[place].terms[term] = reader.u32()
    touches = {reader.id(): reader.number("<Q") for _ in range(reader.u32())}
    reader.end()
    return ([record.entry() for record in found], tombstones, touches), cursor, epoch


class _Reader:
    """Reads parts one after the other; too few bytes are a struct.error or ValueError."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def unpack(self, form: struct.Struct) -> tuple[int | bytes, ...]:
        values = form.unpack_from(self._data, self._at)
        self._at += form.size
        return values

    def number(self, form: str) -> int:
        (value,) = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return int(value)

    def u32(self) -> int:
        return self.number("<I")

    def take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        if len(taken) != size:
            raise ValueError("too short")
        self._at += size
        return taken

    def text(self) -> str:
        return self.take(self.u32()).decode("utf-8")

    def id(self) -> str:
        return "mem:" + self.take(16).hex()

    def ids(self) -> tuple[str, ...]:
        return tuple(self.id() for _ in range(self.u32()))

    def maybe(self) -> str | None:
        return self.id() if self.number("<B") else None

    def end(self) -> None:
        if self._at != len(self._data):
            raise ValueError("too long")


class _Record:
    """A record while its terms are being collected."""

    def __init__(self, reader: _Reader, strings: Sequence[str]) -> None:
        raw = _COLUMNS.unpack(reader.take(_COLUMNS.size))
        self._id = "mem:" + raw[0].hex()
        self._type, self._state = TYPES[raw[1]], STATES[raw[2]]
        self._flags = raw[3]
        self._confidence, self._value = raw[4] / 10_000, raw[5] / 10_000
        self._times = raw[6:9]
        self._tokens = raw[9]
        self._named = [None if number == _NONE else strings[number] for number in raw[10:16]]
        self._tags = tuple(strings[reader.u32()] for _ in range(reader.u32()))
        self._borrowed, self._replaces = reader.ids(), reader.ids()
        self._superseded_by, self._partner = reader.maybe(), reader.maybe()
        self._standing = (reader.number("<Q"), reader.number("<Q")) if self._flags & _STANDING else None
        self.terms: dict[str, int] = {}

    def entry(self) -> Entry:
        created_at, updated_at, event_at = self._times
        project, user_id, agent_id, session_id, key, author = self._named
        return Entry(
            id=self._id,
            type=self._type,
            state=self._state,
            confidence=self._confidence,
            value=self._value,
            standing=self._standing,
            created_at=created_at,
            updated_at=updated_at,
            event_at=event_at,
            tags=self._tags,
            key=key,
            scope=(project, user_id, agent_id, session_id),
            borrowed=self._borrowed,
            partner=self._partner,
            replaces=self._replaces,
            superseded_by=self._superseded_by,
            tokens=self._tokens,
            author=author or "",
            question=bool(self._flags & _QUESTION),
            timely=bool(self._flags & _TIMELY),
            terms=self.terms,
            length=sum(self.terms.values()),
        )


def _named(entry: Entry) -> tuple[str | None, ...]:
    return (*entry.scope, entry.key, entry.author or None)


def _record(entry: Entry, numbers: dict[str, int]) -> bytes:
    flags = _QUESTION * entry.question | _TIMELY * entry.timely | _STANDING * (entry.standing is not None)
    head = _COLUMNS.pack(
        bytes.fromhex(entry.id[4:]),
        TYPES.index(entry.type),
        STATES.index(entry.state),
        flags,
        round(entry.confidence * 10_000),
        round(entry.value * 10_000),
        entry.created_at,
        entry.updated_at,
        entry.event_at,
        entry.tokens,
        *(_NONE if text is None else numbers[text] for text in _named(entry)),
    )
    tags = _u32(len(entry.tags)) + b"".join(_u32(numbers[tag]) for tag in entry.tags)
    links = _ids(entry.borrowed) + _ids(entry.replaces) + _maybe(entry.superseded_by) + _maybe(entry.partner)
    return head + tags + links + (b"" if entry.standing is None else struct.pack("<QQ", *entry.standing))


def _u32(number: int) -> bytes:
    return struct.pack("<I", number)


def _text(text: str) -> bytes:
    encoded = text.encode("utf-8")
    return _u32(len(encoded)) + encoded


def _id(record_id: str) -> bytes:
    return bytes.fromhex(record_id[4:])


def _ids(record_ids: Iterable[str]) -> bytes:
    raw = [_id(record_id) for record_id in record_ids]
    return _u32(len(raw)) + b"".join(raw)


def _maybe(record_id: str | None) -> bytes:
    return b"\0" if record_id is None else b"\1" + _id(record_id)

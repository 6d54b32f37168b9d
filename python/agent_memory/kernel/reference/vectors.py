"""Where texts point, by record id, for one embedder; exact cosines, smoothed over sessions (spec/recall.md section 8).

Every score is reproducible to the bit: products of two 32-bit floats are exact in 64 bits, and sums are taken in one
order, in eight lanes.
"""

from __future__ import annotations

import math
import struct
from bisect import bisect_left, insort
from collections.abc import Iterable
from hashlib import sha256
from typing import Final, Self

from agent_memory.errors import ArgumentError, ArgumentTypeError
from agent_memory.wire import is_record_id

from .near_dup import checked_text, items

__all__ = ["Scores", "Vectors"]

MAX_DIMENSION: Final = 65_536
_LANES: Final = 8
_UNIT: Final = 4_294_967_296.0
_MAGIC: Final = b"AMVECTOR"
_VERSION: Final = 1
_HEAD: Final = struct.Struct("<8sIQ32s")
_NONE: Final = 0xFFFFFFFF

_Around = tuple[float, float, float]
_Place = tuple[str, int, int]


class Vectors:
    """A vector for each of many records."""

    def __init__(self, identity: str, dimension: int, /) -> None:
        self._identity = checked_text(identity, "identity")
        if not 1 <= _count(dimension, "dimension") <= MAX_DIMENSION:
            raise ArgumentError(f"dimension must be from 1 to {MAX_DIMENSION}")
        self._dimension = dimension
        self._vectors: dict[str, tuple[float, ...]] = {}
        self._places: dict[str, _Place] = {}
        self._sessions: dict[str, list[tuple[int, int, str]]] = {}

    @property
    def identity(self) -> str:
        """The embedder whose vectors they are."""
        return self._identity

    @property
    def dimension(self) -> int:
        """Numbers of a vector."""
        return self._dimension

    def __len__(self) -> int:
        return len(self._vectors)

    def __contains__(self, record_id: object) -> bool:
        return record_id in self._vectors

    def ids(self) -> list[str]:
        """The ids that have a vector, sorted."""
        return sorted(self._vectors)

    # ------------------------------------------------------------------ keeping in step

    def set(self, record_ids: Iterable[str], vectors: bytes, /) -> None:
        """Add vectors or replace them, all or none: little-endian 32-bit floats, one vector after the other."""
        ids = [_checked_id(item, f"record_ids[{at}]") for at, item in enumerate(items(record_ids, "record_ids"))]
        self._vectors.update(zip(ids, self._read(_bytes(vectors, "vectors"), len(ids)), strict=True))

    def place(self, record_ids: Iterable[str], places: Iterable[_Place | None], /) -> None:
        """Say where in which session records stand, as (session, event time, time of birth); None for in none."""
        ids = _texts(record_ids, "record_ids")
        found = [_checked_place(item, f"places[{at}]") for at, item in enumerate(items(places, "places"))]
        if len(ids) != len(found):
            raise ArgumentError(f"{len(ids)} record ids and {len(found)} places: give one for each")
        for record_id, place in zip(ids, found, strict=True):
            if record_id in self._vectors:
                self._leave(record_id)
                if place is not None:
                    self._places[record_id] = place
                    insort(self._sessions.setdefault(place[0], []), (*place[1:], record_id))

    def remove(self, record_ids: Iterable[str], /) -> None:
        """Forget vectors.  Ids that have none are passed over."""
        for record_id in _texts(record_ids, "record_ids"):
            self._leave(record_id)
            self._vectors.pop(record_id, None)

    def _leave(self, record_id: str) -> None:
        place = self._places.pop(record_id, None)
        if place is not None:
            members = self._sessions[place[0]]
            del members[bisect_left(members, (*place[1:], record_id))]
            if not members:
                del self._sessions[place[0]]

    # ------------------------------------------------------------------ what it answers

    def scores(self, query: bytes, /, *, around: _Around | None = None) -> Scores:
        """The cosine of every vector with ``query``; with ``around``, smoothed over sessions."""
        (wanted,) = self._read(_bytes(query, "query"), 1)
        shares = None if around is None else _checked_shares(around)
        length = math.sqrt(_dot(wanted, wanted))
        own = {
            record_id: _cosine(wanted, vector, length * math.sqrt(_dot(vector, vector)))
            for record_id, vector in self._vectors.items()
        }
        return Scores(own if shares is None else self._smoothed(own, shares))

    def best(self, query: bytes, k: int, /, among: Iterable[str] | None = None) -> list[tuple[str, float]]:
        """At most ``k`` (id, cosine) pairs, best first, then by id; only of ids ``among`` those given."""
        return self.scores(query).best(k, among)

    def _smoothed(self, own: dict[str, float], shares: _Around) -> dict[str, float]:
        previous, next_, two_away = shares
        total = sum(math.floor(score * _UNIT + 0.5) for score in own.values())
        mean = total / _UNIT / len(own) if own else 0.0
        smoothed = dict(own)
        for members in self._sessions.values():
            for at, (_, _, record_id) in enumerate(members):
                for share, other in ((previous, at - 1), (next_, at + 1), (two_away, at - 2), (two_away, at + 2)):
                    if 0 <= other < len(members):
                        smoothed[record_id] += share * (own[members[other][2]] - mean)
        return smoothed

    def _read(self, data: bytes, count: int) -> list[tuple[float, ...]]:
        size = 4 * self._dimension
        if len(data) != count * size:
            raise ArgumentError(
                f"{len(data)} bytes are not {count} vectors of {self._dimension} 32-bit floats: give 4 bytes a number"
            )
        found = list(struct.iter_unpack(f"<{self._dimension}f", data))
        for at, vector in enumerate(found):
            if not all(map(math.isfinite, vector)):
                raise ArgumentError(f"vectors[{at}] holds a number that is not finite")
        return found

    # ------------------------------------------------------------------ as bytes

    def to_bytes(self, cursor: str, note: bytes, /) -> bytes:
        """All of it, with the change cursor it reflects and what its owner wants to find beside it."""
        names = sorted({place[0] for place in self._places.values()}, key=str.encode)
        numbers = {name: number for number, name in enumerate(names)}
        rest = bytearray(_text(self._identity) + _u32(self._dimension) + _text(checked_text(cursor, "cursor")))
        rest += _u32(len(_bytes(note, "note"))) + note + _u32(len(names)) + b"".join(map(_text, names))
        rest += _u32(len(self._vectors))
        for record_id in self.ids():
            place = self._places.get(record_id)
            rest += bytes.fromhex(record_id[4:])
            rest += _u32(_NONE) if place is None else struct.pack("<Iqq", numbers[place[0]], *place[1:])
        for record_id in self.ids():
            rest += struct.pack(f"<{self._dimension}f", *self._vectors[record_id])
        return _HEAD.pack(_MAGIC, _VERSION, len(rest), sha256(rest).digest()) + bytes(rest)

    @classmethod
    def from_bytes(cls, data: bytes, /) -> tuple[Self, str, bytes] | None:
        """Vectors, cursor and note of a snapshot; None for one that is damaged or of another version."""
        if len(_bytes(data, "data")) < _HEAD.size:
            return None
        magic, version, length, digest = _HEAD.unpack_from(data)
        rest = data[_HEAD.size :]
        if (magic, version, length) != (_MAGIC, _VERSION, len(rest)) or sha256(rest).digest() != digest:
            return None
        try:
            return cls._unpacked(_Reader(rest))
        except (struct.error, IndexError, ValueError):
            return None

    @classmethod
    def _unpacked(cls, reader: _Reader) -> tuple[Self, str, bytes]:
        made = cls(reader.text(), reader.u32())
        cursor = reader.text()
        note = reader.take(reader.u32())
        names = [reader.text() for _ in range(reader.u32())]
        places: dict[str, _Place | None] = {}
        last = ""
        for _ in range(reader.u32()):
            record_id = "mem:" + reader.take(16).hex()
            if record_id <= last:
                raise ValueError("out of order")
            last = record_id
            number = reader.u32()
            times = (0, 0) if number == _NONE else (reader.time(), reader.time())
            places[record_id] = None if number == _NONE else (names[number], *times)
        made.set(places, reader.rest())
        made.place(places, places.values())
        return made, cursor, note


class Scores:
    """What one query scores, for every vector that was held."""

    def __init__(self, scores: dict[str, float]) -> None:
        self._scores = scores

    def __len__(self) -> int:
        return len(self._scores)

    def best(self, k: int, /, among: Iterable[str] | None = None) -> list[tuple[str, float]]:
        """At most ``k`` (id, score) pairs, best first, then by id; only of ids ``among`` those given."""
        most = _count(k, "k")
        wanted = None if among is None else frozenset(_texts(among, "among"))
        found = [item for item in self._scores.items() if wanted is None or item[0] in wanted]
        return sorted(found, key=lambda item: (-item[1], item[0]))[:most]

    def of(self, record_ids: Iterable[str], /) -> list[float | None]:
        """The scores of some ids, None where there is none."""
        return [self._scores.get(record_id) for record_id in _texts(record_ids, "record_ids")]


def _dot(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    lanes = [0.0] * _LANES
    for at, (x, y) in enumerate(zip(a, b, strict=True)):
        lanes[at % _LANES] += x * y
    pairs = [lanes[at] + lanes[at + 1] for at in range(0, _LANES, 2)]
    return (pairs[0] + pairs[1]) + (pairs[2] + pairs[3])


def _cosine(a: tuple[float, ...], b: tuple[float, ...], lengths: float) -> float:
    return min(1.0, max(-1.0, _dot(a, b) / lengths)) if lengths > 0 else 0.0


class _Reader:
    """Reads parts one after the other; too few bytes are a struct.error or ValueError."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        if len(taken) != size:
            raise ValueError("too short")
        self._at += size
        return taken

    def u32(self) -> int:
        return int.from_bytes(self.take(4), "little")

    def time(self) -> int:
        return int.from_bytes(self.take(8), "little", signed=True)

    def text(self) -> str:
        return self.take(self.u32()).decode("utf-8")

    def rest(self) -> bytes:
        return self._data[self._at :]


def _u32(number: int) -> bytes:
    return struct.pack("<I", number)


def _text(text: str) -> bytes:
    encoded = text.encode("utf-8")
    return _u32(len(encoded)) + encoded


def _bytes(value: object, name: str) -> bytes:
    if not isinstance(value, bytes):
        raise ArgumentTypeError(f"{name} is of type '{type(value).__name__}': it must be bytes")
    return value


def _count(value: object, name: str) -> int:
    """A whole number; one below 0 counts as 0."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentTypeError(f"{name} is of type '{type(value).__name__}': it must be an integer")
    return max(0, value)


def _texts(values: Iterable[str], name: str) -> list[str]:
    return [checked_text(item, f"{name}[{at}]") for at, item in enumerate(items(values, name))]


def _checked_id(value: object, name: str) -> str:
    record_id = checked_text(value, name)
    if not is_record_id(record_id):
        raise ArgumentError(f"{name} is no record id: give 'mem:' and 32 lower-case hex digits")
    return record_id


def _checked_place(value: object, name: str) -> _Place | None:
    match value:
        case None:
            return None
        case (str(session), int(event_at), int(created_at)) if isinstance(value, tuple):
            if all(-(2**63) <= time < 2**63 for time in (event_at, created_at)):
                return session, event_at, created_at
    found = type(value).__name__
    raise ArgumentTypeError(f"{name} is of type '{found}': it must be a (session, event time, time of birth) or None")


def _checked_shares(value: object) -> _Around:
    if not isinstance(value, tuple) or len(value) != 3 or not all(isinstance(item, int | float) for item in value):
        found = type(value).__name__
        raise ArgumentTypeError(f"around is of type '{found}': it must be a tuple of three numbers")
    if not all(0 <= share <= 1 for share in value):
        raise ArgumentError("around must be three numbers from 0 to 1")
    previous, next_, two_away = map(float, value)
    return previous, next_, two_away

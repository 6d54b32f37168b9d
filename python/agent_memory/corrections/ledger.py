"""What was said under a key, in lines: enough to decide a write without reading a record (spec/corrections.md
section 17.4).

The catalogue keeps a line for every record that has a key, for every other one that is live, and for every blocked one.
Texts and objects are in it as digests only.  A :class:`Ledger` is the lines of one key in one scope, gathered into
*values*: a value is the records that say the same thing one after the other, and it stands or is retired as a whole.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property, lru_cache
from typing import Final

from agent_memory.extension import ConsolidationScope
from agent_memory.records import MemoryRecord

from .values import object_form, text_form
from .wording import Policy, blocked_as

__all__ = [
    "Fate",
    "Ledger",
    "Line",
    "Value",
    "drawn_line",
    "key_digest",
    "line_of",
    "object_digest",
    "place_of",
    "same_value",
    "text_digest",
]


class Fate(IntEnum):
    """What became of a record."""

    LIVE = 0
    PAST = 1
    """It stood, and was replaced or archived."""
    ECHO = 2
    """It never stood: it said a retired value again."""
    BACKFILL = 3
    """It never stood: it was about the time before."""

    @property
    def blocked(self) -> bool:
        return self >= Fate.ECHO


@dataclass(frozen=True, slots=True)
class Line:
    """A record, as far as keys are concerned.

    Attributes:
        record_id: whose line it is.
        place: digest of its key, followed by one of its consolidation scope; None without a key.
        said: digest of its scope and its text as it is compared.
        object: digest of its object as it is compared, or None.
        fate: what became of it.
        about: of a blocked one, the record its reason names; else what superseded it, if anything did.
        also: of a keyed one, its ``supersedes_also``.
        born: milliseconds since 1970 of its creation.
    """

    record_id: str
    place: bytes | None
    said: bytes
    object: bytes | None
    fate: Fate
    about: str | None
    also: tuple[str, ...]
    born: int

    @property
    def key(self) -> bytes | None:
        """Digest of its key alone."""
        return None if self.place is None else self.place[:16]


def line_of(record: MemoryRecord) -> Line | None:
    """The line of a record; None for one that no key will ask about: redacted, or unkeyed and gone."""
    if record.redacted:
        return None
    blocked = blocked_as(record)
    if record.key is None and blocked is None and not record.state.is_live:
        return None
    fate, about = Fate.LIVE if record.state.is_live else Fate.PAST, record.superseded_by
    if blocked is not None:
        fate = Fate.ECHO if blocked[0] is Policy.ECHO_GUARD else Fate.BACKFILL
        about = blocked[1]
    scope = record.scope.consolidation
    return Line(
        record_id=record.id,
        place=None if record.key is None else place_of(record.key, scope),
        said=text_digest(record.body, scope),
        object=None if record.object is None else object_digest(record.object),
        fate=fate,
        about=about,
        also=() if record.key is None else record.supersedes_also,
        born=int(record.created_at.timestamp() * 1000),
    )


def drawn_line(record: MemoryRecord) -> Line:
    """The line of a record that is live or about to be."""
    line = line_of(record)
    assert line is not None, "only what is gone has none"
    return line


def same_value(a: Line, b: Line) -> bool:
    """Whether two records say the same value: their objects decide where both have one, else their texts."""
    return a.object == b.object if a.object is not None and b.object is not None else a.said == b.said


def place_of(key: str, scope: ConsolidationScope) -> bytes:
    """Where a key's values stand: the key and the scope it belongs to, as 32 bytes that begin with the key's."""
    return _digest(key) + _digest(*scope)


def key_digest(key: str) -> bytes:
    """A key of any scope, as 16 bytes."""
    return _digest(key)


def text_digest(body: str, scope: ConsolidationScope) -> bytes:
    """A text in a scope, equal for texts that are the same text there, as 16 bytes."""
    if len(body) > _LONGEST_REMEMBERED:
        return _digest(text_form(body), *scope)
    return _remembered_text(body, scope)


def object_digest(value: str) -> bytes:
    """An object, equal for objects that are the same object, as 16 bytes."""
    return _digest(object_form(value))


@lru_cache(maxsize=1024)
def _remembered_text(body: str, scope: ConsolidationScope) -> bytes:
    return _digest(text_form(body), *scope)


@lru_cache(maxsize=1024)
def _digest(*parts: str | None) -> bytes:
    wire = "".join("-" if part is None else f"{len(part)}:{part}" for part in parts)
    return hashlib.blake2b(wire.encode(), digest_size=16).digest()


_LONGEST_REMEMBERED: Final = 2000
"""Characters of a text whose digest is remembered: one write asks for it several times."""


@dataclass(slots=True)
class Value:
    """The records that said one thing under a key, one restating the other.

    Attributes:
        last: the line of the latest of them, whose fate is the fate of the value.
        lines: all of them.
        echoes: what was blocked because it said the value again, in whatever words.
    """

    last: Line
    lines: list[Line] = field(default_factory=list)
    echoes: list[Line] = field(default_factory=list)

    @property
    def stands(self) -> bool:
        return self.last.fate is Fate.LIVE

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(line.record_id for line in self.lines)

    @property
    def objects(self) -> set[bytes]:
        return {line.object for line in self.lines if line.object is not None}

    @property
    def texts(self) -> set[bytes]:
        """Every text that says it, as far as is known."""
        return {line.said for line in (*self.lines, *self.echoes)}

    def is_said_by(self, said: bytes, object_: bytes | None) -> bool:
        """Whether a write says this value: its object decides where both have one, else its text."""
        objects = self.objects
        return object_ in objects if object_ is not None and objects else said in self.texts

    def equals(self, other: Value) -> bool:
        """Whether two values are one that stood at two times: by their objects where both have one, else by texts."""
        mine, theirs = self.objects, other.objects
        return not mine.isdisjoint(theirs) if mine and theirs else not self.texts.isdisjoint(other.texts)


class Ledger:
    """Everything that was said under one key in one scope."""

    def __init__(self, lines: Iterable[Line]) -> None:
        ordered = sorted(lines, key=lambda line: (line.born, line.record_id))
        self._held = {line.record_id: line for line in ordered if not line.fate.blocked}
        self.blocked = tuple(line for line in ordered if line.fate.blocked)

    @property
    def ids(self) -> tuple[str, ...]:
        """Every record, blocked ones too, oldest first."""
        lines = sorted((*self._held.values(), *self.blocked), key=lambda line: (line.born, line.record_id))
        return tuple(line.record_id for line in lines)

    @property
    def live(self) -> tuple[str, ...]:
        """The records that hold the key: one, or the sides of a dispute that loading opened."""
        return tuple(line.record_id for line in self._held.values() if line.fate is Fate.LIVE)

    @cached_property
    def values(self) -> dict[str, Value]:
        """The values, by the id of the last record of each, oldest record first."""
        found: dict[str, Value] = {}
        members: defaultdict[str, list[Line]] = defaultdict(list)
        for line in self._held.values():
            members[self._last(line).record_id].append(line)
        for last_id, lines in members.items():
            found[last_id] = Value(self._held[last_id], lines)
        for line in self.blocked:
            repeated = self._held.get(line.about or "") if line.fate is Fate.ECHO else None
            if repeated is not None:
                found[self._last(repeated).record_id].echoes.append(line)
        return found

    def value_of(self, record_id: str) -> Value:
        """The value a record of this ledger belongs to."""
        return self.values[self._last(self._held[record_id]).record_id]

    def wordings(self, value: Value) -> set[bytes]:
        """Every text that says a value, at whatever time it stood."""
        return {said for other in self.values.values() if other is value or other.equals(value) for said in other.texts}

    def says(self, value: Value, said: bytes, object_: bytes | None) -> bool:
        """Whether a write says a value that stands: in its words, or in those of an earlier time it stood."""
        if value.is_said_by(said, object_):
            return True
        if object_ is not None and value.objects:
            return False
        return said in self.wordings(value)

    def retired(self, said: bytes, object_: bytes | None) -> Line | None:
        """The line of the latest retired value that a write would say again, or None.

        To be asked of what no standing value says (:meth:`says`).
        """
        matching = [value for value in self.values.values() if not value.stands and value.is_said_by(said, object_)]
        if not matching:
            return None
        value = max(matching, key=lambda value: (value.last.born, value.last.record_id))
        saying = (
            [line for line in value.lines if line.said == said]
            or [line for line in value.lines if line.object == object_ and object_ is not None]
            or [value.last]
        )
        return max(saying, key=lambda line: (line.born, line.record_id))

    def displaced_by(self, value: Value) -> tuple[str, ...]:
        """The records, last of their values, that a value took the place of, oldest first."""
        found = [other.last for other in self.values.values() if other is not value and other.last.about in value.ids]
        return tuple(line.record_id for line in sorted(found, key=lambda line: (line.born, line.record_id)))

    def _last(self, line: Line) -> Line:
        """The last record of the line's value."""
        seen = {line.record_id}
        while (following := self._restated(line)) is not None and following.record_id not in seen:
            line = following
            seen.add(line.record_id)
        return line

    def _restated(self, line: Line) -> Line | None:
        """What replaced a line saying the same; None when nothing did, or something that said another thing."""
        following = None if line.about is None else self._held.get(line.about)
        if following is None:
            return None
        if same_value(line, following):
            return following
        disagree = line.object is not None and following.object is not None
        return following if line.record_id in following.also and not disagree else None

"""What the index keeps of a record: its terms, and a column for everything recall asks (spec/recall.md section 4)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from .analyser import Analyser, fold
from .classes14 import class_of
from .english import TIME_WORDS

__all__ = ["STATES", "TYPES", "Entry", "Tombstone", "read"]

STATES: Final = ("active", "transitional", "superseded", "archived")
TYPES: Final = ("fact", "episode", "procedure", "rule")
_EPOCH: Final = datetime.fromisoformat("1970-01-01T00:00:00Z")
_BLANKS: Final = " \t\r\n"
_NAME: Final = re.compile(r"[ \t\r\n]*([^ \t\r\n:：]+(?: [^ \t\r\n:：]+){0,2})(?::(?=[ \t\r\n])|：)")
_LONGEST_NAME: Final = 40
_ROLES: Final = frozenset(("user", "assistant", "system"))
_CLOSING: Final = "\"')]»”’」』）* \t\r\n"
_QUESTION_MARKS: Final = "?？؟;"
_YEAR: Final = re.compile(r"(?<![0-9])(?:19|20)[0-9]{2}(?![0-9])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """What is left of a redacted record: id and links, so that histories and evidence read as they do in the store."""

    id: str
    replaces: tuple[str, ...]
    superseded_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A record as the index knows it.  Times are milliseconds since 1970.

    Attributes:
        scope: (project, user_id, agent_id, session_id) as it stands in the record.
        borrowed: evidence ids of a record made by consolidation that names no scope of its own, else empty.
        partner: the other side of the dispute it is in.
        replaces: what it names in ``supersedes`` and ``supersedes_also``, in that order.
        author: who said it, folded; empty when that is not known.
        question, timely: its text ends as a question; tells a time.
        terms: how often each term occurs.  length: the sum of that.
    """

    id: str
    type: str
    state: str
    confidence: float
    value: float
    standing: tuple[int, int] | None
    created_at: int
    updated_at: int
    event_at: int
    tags: tuple[str, ...]
    key: str | None
    scope: tuple[str | None, str | None, str | None, str | None]
    borrowed: tuple[str, ...]
    partner: str | None
    replaces: tuple[str, ...]
    superseded_by: str | None
    tokens: int
    author: str
    question: bool
    timely: bool
    terms: Mapping[str, int]
    length: int

    @property
    def live(self) -> bool:
        """Whether it is active or in dispute."""
        return self.state in ("active", "transitional")

    @property
    def order(self) -> tuple[int, int, str]:
        """Its place among the records of its session."""
        return (self.event_at, self.created_at, self.id)


def read(payload: bytes, analyser: Analyser) -> Entry | Tombstone:
    """The entry of a record in its canonical bytes, which are trusted to be a record's."""
    wire: dict[str, Any] = json.loads(payload)
    more: dict[str, Any] = wire.get("agent_memory", {})
    supersedes = wire.get("supersedes")
    first = () if supersedes is None else (supersedes,)
    replaces = first + tuple(item for item in more.get("supersedes_also", ()) if item != supersedes)
    if wire.get("redacted"):
        return Tombstone(id=wire["id"], replaces=replaces, superseded_by=wire.get("superseded_by"))
    body: str = wire["body"]
    scope = more.get("scope", {})
    borrows = wire["provenance"]["kind"] == "consolidation" and "scope" not in more
    dispute = wire.get("transition")
    standing = more.get("standing")
    author = author_of(body, more.get("author"))
    terms = _terms(body, more, wire["tags"], analyser)
    created_at = _milliseconds(wire["created_at"])
    happened = wire.get("occurred_at")
    return Entry(
        id=wire["id"],
        type=wire["type"],
        state=wire["state"],
        confidence=float(wire["confidence"]),
        value=float(more.get("value", "1")),
        standing=None if standing is None else (standing["good"], standing["bad"]),
        created_at=created_at,
        updated_at=_milliseconds(wire["updated_at"]),
        event_at=created_at if happened is None else _milliseconds(happened),
        tags=tuple(dict.fromkeys(wire["tags"])),
        key=more.get("key"),
        scope=(scope.get("project"), scope.get("user_id"), scope.get("agent_id"), scope.get("session_id")),
        borrowed=tuple(wire["evidence"]) if borrows else (),
        partner=None if dispute is None else next(side for side in dispute["sides"] if side != wire["id"]),
        replaces=replaces,
        superseded_by=wire.get("superseded_by"),
        tokens=max(1, len(body) // 4),
        author=fold(author),
        question=body.rstrip(_CLOSING).endswith(tuple(_QUESTION_MARKS)),
        timely=_tells_time(body, analyser),
        terms=terms,
        length=sum(terms.values()),
    )


def author_of(body: str, author: str | None) -> str:
    """Who said it: the field, else the name before a leading colon, else nothing."""
    if author is not None:
        return author
    found = _NAME.match(body)
    if found is None:
        return ""
    name = found[1]
    firsts = [word[0] for word in name.split(" ")]
    is_name = all(_begins_a_name(first) for first in firsts)
    return name if len(name) <= _LONGEST_NAME and (is_name or name in _ROLES) else ""


def _begins_a_name(first: str) -> bool:
    """Whether a letter is a capital, or of a script that has none."""
    return class_of(first) in "lu" and (first == first.upper() or "\u10d0" <= first <= "\u10ff")


def _terms(body: str, more: Mapping[str, Any], tags: list[str], analyser: Analyser) -> Counter[str]:
    author = more.get("author")
    text = body if author is None or _begins_with(fold(body), fold(author)) else f"{author}: {body}"
    terms = Counter(analyser.terms(text))
    for tag in dict.fromkeys(tags):
        terms.update(analyser.terms(tag))
    for member in ("key", "object"):
        if member in more:
            for term in analyser.terms(more[member]):
                terms.setdefault(term, 1)
    return terms


def _begins_with(body: str, author: str) -> bool:
    rest = body.lstrip(_BLANKS)
    after = rest[len(author) : len(author) + 1]
    return rest.startswith(author) and (not after or class_of(after) not in "lmnu")


def _tells_time(body: str, analyser: Analyser) -> bool:
    if _YEAR.search(body):
        return True
    return not TIME_WORDS.isdisjoint(analyser.words(body))


def _milliseconds(text: str) -> int:
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(milliseconds=1)

"""How long what is remembered stays present when nobody uses it: half-lives by kind (SPEC section 13.4).

The kind of a record is its type, but for a fact of which the caller did not say that it is one: then the look of its
text tells an event or a preference from a fact.  A wrong guess costs no content: decay only archives.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Final, Literal

from agent_memory import kernel
from agent_memory.records import MemoryRecord, RecordType
from agent_memory.text import classify_sentence, split_sentences

__all__ = ["HALF_LIVES", "Kind", "kind_of"]

Kind = Literal["event", "fact", "preference", "procedure", "rule"]

HALF_LIVES: Final[Mapping[Kind, float]] = MappingProxyType(
    {"event": 7.0, "fact": 30.0, "preference": 365.0, "procedure": 365.0, "rule": 365.0}
)
"""Days in which salience halves, by kind."""

_BY_TYPE: Final[Mapping[RecordType, Kind]] = {
    RecordType.EPISODE: "event",
    RecordType.PROCEDURE: "procedure",
    RecordType.RULE: "rule",
}
_WORDS: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
# fmt: off
_PREFERRING: Final = frozenset((
    "prefers", "favourite", "favourites", "favorite", "favorites",
    "likes", "dislikes", "loves", "hates", "enjoys", "wants",
))
# fmt: on
"""Words that make a preference wherever they stand."""
_PREFERRING_OF: Final = frozenset(("prefer", "like", "dislike", "love", "hate", "enjoy", "want"))
"""Words that make one after a word of :data:`_BEFORE` only: "looks like" is none."""
# fmt: off
_BEFORE: Final = frozenset((
    "i", "we", "you", "they", "i'd", "we'd", "you'd", "they'd", "would",
    "not", "don't", "doesn't", "always", "never", "really",
))
# fmt: on
_HABITS: Final = frozenset(("always", "never"))
"""Words that make one unless an event is told: "it never came back on Monday" is none."""


def kind_of(record: MemoryRecord) -> Kind:
    """What a record is to decay."""
    if record.type is not RecordType.FACT:
        return _BY_TYPE[record.type]
    return "fact" if record.typed else _looks_like(record.body)


def _looks_like(text: str) -> Kind:
    words = _WORDS.findall(kernel.nfc(text).casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))
    if not _PREFERRING.isdisjoint(words):
        return "preference"
    if any(word in _PREFERRING_OF and before in _BEFORE for before, word in pairwise(words)):
        return "preference"
    looks = {classify_sentence(sentence) for sentence in split_sentences(text)}
    if "episode" in looks and "fact" not in looks:
        return "event"
    return "fact" if _HABITS.isdisjoint(words) else "preference"

"""The search analyser: text to terms (spec/recall.md sections 2 and 3).

The same for what is indexed and what is asked, with one difference: a query in a script without spaces is not looked up
character by character.  Pure functions, and caches.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from .classes14 import class_of
from .english import FIRST_PERSON, STOP_WORDS
from .stemming import Stemmer, strip_marks

__all__ = ["Analyser", "fold", "pieces"]

MOST_QUERY_CHARACTERS: Final = 65_536
"""Characters of a query that are read."""
_CACHED_WORDS: Final = 200_000

_APOSTROPHES: Final = "\u2019\u02bc\uff07"
_HYPHENS: Final = "\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d"
_REMOVED: Final = (
    "\u00ad\u034f\u061c\u0640\u180b-\u180f\u200c-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0100-\U000e01ef"
)
_INVISIBLE: Final = re.compile(f"[{_REMOVED}]+")
_GROUPED: Final = re.compile(r"(?<![0-9A-Za-z,.])[0-9]{1,3}(?:,[0-9]{3})+(?![0-9A-Za-z]|,[0-9])")
_HAN: Final = re.compile("[\u3005-\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd]")

_KEPT: Final = "-+_./'@&\\#)]"
"""Characters that are their own class."""
_TOKEN: Final = re.compile(
    r"""
      (?P<run> u[um]* )
    | (?P<sign> (?<![lmnu)\]])[-+](?=n) )?
      (?P<dot> (?<![lmnu\-+_./'@&\\#)\]])\.(?=l) )?
      (?P<word> [lmn]+ (?: [-_./'@&\\] [lmn]+ )* )
      (?P<mark> \+\+ | [+#](?![lmnu+#]) )?
    """,
    re.VERBOSE,
)
_JOINER: Final = re.compile(r"[-_./'@&\\]")
_TAILS: Final = frozenset(("s", "m", "d", "ll", "re", "ve"))


class _Classes(dict[int, str | None]):
    """What ``str.translate`` asks for the class of a code point; ASCII is filled in from the start."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        found = character if character in _KEPT else class_of(character)
        self[code] = found
        return found


_CLASSES: Final = _Classes()


class _Assigned(dict[int, str | None]):
    """Replaces what Unicode 14.0 does not know by a space, and spellings of apostrophe and hyphen by one."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character in _APOSTROPHES:
            found = "'"
        elif character in _HYPHENS:
            found = "-"
        else:
            found = " " if class_of(character) == "x" or 0xD800 <= code <= 0xDFFF else character
        self[code] = found
        return found


_ASSIGNED: Final = _Assigned()


def fold(text: str) -> str:
    """``text`` as it is searched: NFKC, casefolded, without invisible characters and the commas inside numbers."""
    if text.isascii():
        folded = text.lower()
    else:
        known = _INVISIBLE.sub("", text.translate(_ASSIGNED))
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", known).casefold())
    return _GROUPED.sub(lambda number: number[0].replace(",", ""), folded) if "," in folded else folded


def pieces(folded: str, *, query: bool) -> Iterator[tuple[str, bool]]:
    """The words of folded text in order, marks and all, each with whether it may be stemmed."""
    for found in _TOKEN.finditer(folded.translate(_CLASSES)):
        start, end = found.span("run")
        if start >= 0:
            yield from ((piece, False) for piece in _unspaced(folded[start:end], found["run"], query=query))
            continue
        start, end = found.span("word")
        written = folded[start:end]
        parts = _parts(written)
        if not parts:
            continue
        yield from ((part, True) for part in parts)
        whole = parts[0]
        if len(parts) > 1:
            numbers = set(found["word"]) <= set("n-_./'@&\\")
            whole = written if numbers else "".join(parts)
            yield whole, not numbers
        if found["sign"]:
            yield found["sign"] + whole, False
        if found["dot"]:
            yield "." + parts[0], False
        if found["mark"]:
            yield parts[-1] + found["mark"], False


def _parts(written: str) -> list[str]:
    """The words of a compound, without possessive and contracted endings; empty for a negation such as ``don't``."""
    parts = _JOINER.split(written)
    if len(parts) > 1 and written[-len(parts[-1]) - 1] == "'":
        if parts[-1] in _TAILS:
            parts.pop()
        elif parts[-1] == "t" and parts[-2].endswith("n"):
            del parts[-2:]
    return parts


def _unspaced(run: str, classes: str, *, query: bool) -> Iterator[str]:
    """Pairs of neighbours, and single characters: all of them for a text, the Chinese ones and a lone one for a query.

    A character is a letter with the marks that follow it.
    """
    units = [run[found.start() : found.end()] for found in re.finditer("um*", classes)]
    for one, other in pairwise(units):
        yield one + other
    for unit in units:
        if not query or len(units) == 1 or _HAN.match(unit):
            yield unit


class Analyser:
    """Takes text apart in one language.

    Args:
        language: as :class:`~agent_memory.kernel.reference.search.config.Config` has it.
    """

    def __init__(self, language: str) -> None:
        self._stems = Stemmer(language)
        self._stop_words = STOP_WORDS if language in ("english", "porter") else frozenset[str]()
        self._kept = FIRST_PERSON if self._stop_words else frozenset[str]()
        self._terms: dict[str, tuple[str, ...]] = {}

    def terms(self, text: str, *, query: bool = False) -> list[str]:
        """The terms of ``text``, as often as they occur, in order.

        Stop words are left out, except of a text that holds nothing else.
        """
        found = list(pieces(fold(text[:MOST_QUERY_CHARACTERS] if query else text), query=query))
        terms: list[str] = []
        for word, plain in found:
            terms.extend(self._of(word) if plain else (word,))
        return terms or [bare for word, _ in found if (bare := strip_marks(word))]

    def words(self, text: str) -> list[str]:
        """The words of a query, without marks but not stemmed, stop words included."""
        folded = fold(text[:MOST_QUERY_CHARACTERS])
        return [bare for word, _ in pieces(folded, query=True) if (bare := strip_marks(word))]

    def is_stop_word(self, word: str) -> bool:
        """Whether a word as :meth:`words` answers it is a stop word or in the first person."""
        return word in self._stop_words or word in self._kept

    def _of(self, word: str) -> tuple[str, ...]:
        terms = self._terms.get(word)
        if terms is None:
            if len(self._terms) >= _CACHED_WORDS:
                self._terms.clear()
            bare = strip_marks(word)
            if not bare or bare in self._stop_words:
                terms = ()
            elif bare in self._kept:
                terms = (bare,)
            else:
                terms = tuple(term for term in self._stems(word) if term)
            self._terms[word] = terms
        return terms

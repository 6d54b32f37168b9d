"""What a query asks besides its terms: whose words, about when (spec/recall.md section 5.3)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from string import ascii_lowercase, ascii_uppercase
from typing import Final

from .analyser import MOST_QUERY_CHARACTERS, Analyser
from .english import AMBIGUOUS_MONTHS, BEFORE_MONTH, FIRST_PERSON, MONTHS

__all__ = ["Intent", "Span", "intent_of", "span_of"]

_WORD_OR_NUMBER: Final = re.compile("[a-z]+|[0-9]+")
_ISO: Final = re.compile(r"(?<![0-9])(19[0-9]{2}|20[0-9]{2})-(0[1-9]|1[0-2])(?:-([0-2][0-9]|3[01]))?(?![0-9])")
_WHEN: Final = re.compile(
    r"[ \t\r\n]*(?:when|how long|(?:(?:in|on|at|since|until|by|from) )?(?:what|which) "
    r"(?:date|year|month|week|day|time))(?![a-z])"
)
_LOWER: Final = str.maketrans(ascii_uppercase, ascii_lowercase)
_DAY: Final = 86_400_000
_EPOCH: Final = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Span:
    """A month, or a day of it, of one year or of any."""

    month: int
    year: int | None = None
    day: int | None = None

    def holds(self, moment: int, days_after: int) -> bool:
        """Whether a moment in milliseconds since 1970 lies in it, or up to ``days_after`` days behind it.

        Without a year that of the moment counts, and the one before, so that January can follow December.
        """
        if self.year is not None:
            return self._holds(self.year, moment, days_after)
        year = (_EPOCH + timedelta(days=moment // _DAY)).year
        return self._holds(year, moment, days_after) or self._holds(year - 1, moment, days_after)

    def _holds(self, year: int, moment: int, days_after: int) -> bool:
        first = date(year, self.month, 1)
        past = date(year + self.month // 12, self.month % 12 + 1, 1)
        if self.day is not None and first + timedelta(days=self.day) <= past:
            first += timedelta(days=self.day - 1)
            past = first + timedelta(days=1)
        start, end = (first - _EPOCH).days, (past - _EPOCH).days + days_after
        return start * _DAY <= moment < end * _DAY


@dataclass(frozen=True, slots=True)
class Intent:
    """What a query asks.

    Attributes:
        author: the one known author it names, folded, or None.
        own: it speaks in the first person.
        when: it asks for a time.
        span: the month or day it names, or None.
    """

    author: str | None
    own: bool
    when: bool
    span: Span | None


def intent_of(query: str, analyser: Analyser, authors: Iterable[tuple[str, str]]) -> Intent:
    """What ``query`` asks, with the known authors as (folded name, the word that names them)."""
    words = set(analyser.words(query))
    named = [author for author, word in authors if word in words]
    read = query[:MOST_QUERY_CHARACTERS]
    return Intent(
        author=named[0] if len(named) == 1 else None,
        own=not FIRST_PERSON.isdisjoint(words),
        when=_WHEN.match(read.translate(_LOWER)) is not None,
        span=span_of(read),
    )


def span_of(query: str) -> Span | None:
    """The first month a query names, as ``2023-05``, ``2023-05-07`` or by an English name."""
    iso = _ISO.search(query)
    if iso is not None:
        return Span(int(iso[2]), int(iso[1]), int(iso[3]) if iso[3] and iso[3] != "00" else None)
    words = _WORD_OR_NUMBER.findall(query.translate(_LOWER))
    for place, word in enumerate(words):
        if word not in MONTHS:
            continue
        before = words[max(0, place - 2) : place]
        if word in AMBIGUOUS_MONTHS:
            beside = before + words[place + 1 : place + 3]
            if not any(_is_number(other) for other in beside) and not (before and before[-1] in BEFORE_MONTH):
                continue
        numbers = [int(other) for other in before + words[place + 1 : place + 4] if _is_number(other)]
        nearest = [int(other) for other in before[-1:] + words[place + 1 : place + 2] if _is_number(other)]
        year = next((number for number in numbers if 1900 < number < 2100), None)
        day = next((number for number in nearest if 0 < number < 32), None)
        return Span(MONTHS[word], year, day)
    return None


def _is_number(word: str) -> bool:
    return "0" <= word[0] <= "9" and len(word) <= 9

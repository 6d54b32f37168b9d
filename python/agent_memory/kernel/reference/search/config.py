"""The constants of ranking, each with a name and a value that switches it off (spec/recall.md section 5)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from hashlib import sha256
from typing import Final

from agent_memory.errors import ArgumentError

from .stemming import LANGUAGES

__all__ = ["ANALYSER", "DEFAULT", "Config"]

ANALYSER: Final = 1
"""Version of the analyser and of what a record contributes; it grows with every change of either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """How an index takes text apart and ranks.

    Attributes:
        language: whose stems and stop words words in Latin script get, or ``none``.
        k1, b: of BM25; ``k1=0`` ignores how often a term occurs, ``b=0`` how long a record is.
        context: hundredths of its impact that a record lends to those 1, 2, … places away in its session; ``()`` is
            off.
        overlap: hundredths of the lesser of own and lent impact that are added to the greater; 0 is off.
        context_length: distinct terms above which a record is lent less; 0 is off.
        context_share, context_floor: a term lends nothing in more than one record in ``context_share``, once it is in
            more than ``context_floor``; ``context_share=0`` is off.
        author, own, question, when, date: multipliers, above 0; 1 is off.
        date_days: days after a month or day that count to it.
        query_terms: how many terms of a query are looked up.

    Raises:
        ArgumentError: a language that has no stemmer here, or a number out of range.
    """

    language: str = "english"
    k1: float = 0.9
    b: float = 0.75
    context: tuple[int, ...] = (60, 48, 36, 24, 12)
    overlap: int = 40
    context_length: int = 40
    context_share: int = 8
    context_floor: int = 8
    author: float = 1.2
    own: float = 2.0
    question: float = 0.9
    when: float = 1.2
    date: float = 1.5
    date_days: int = 14
    query_terms: int = 1024

    def __post_init__(self) -> None:
        if self.language not in LANGUAGES:
            raise ArgumentError(f"there is no stemmer for {self.language!r}; choose one of {', '.join(LANGUAGES)}")
        shares = (*self.context, self.overlap)
        if not all(0 <= share <= 100 for share in shares) or len(self.context) > 16:
            raise ArgumentError("context and overlap must be hundredths, 0 to 100, at most 16 of them")
        if not (0 <= self.k1 <= 10 and 0 <= self.b <= 1):
            raise ArgumentError("k1 must lie between 0 and 10, b between 0 and 1")
        if not all(0 < factor <= 100 for factor in (self.author, self.own, self.question, self.when, self.date)):
            raise ArgumentError("a multiplier must be above 0 and at most 100")
        counts = (self.context_length, self.context_share, self.context_floor, self.date_days)
        if min(counts) < 0 or not 1 <= self.query_terms <= 1024:
            raise ArgumentError("counts must be 0 or more, and query_terms 1 to 1024")

    def fingerprint(self) -> bytes:
        """32 bytes that differ when the analyser, what a record contributes or a constant does."""
        lines = [f"analyser={ANALYSER}"]
        for item in fields(self):
            value = getattr(self, item.name)
            numbers = value if isinstance(value, tuple) else (value,)
            lines.append(f"{item.name}={','.join(_written(number) for number in numbers)}")
        return sha256("\n".join(lines).encode()).digest()


def _written(value: str | float) -> str:
    return f"{value:.6f}" if isinstance(value, float) else str(value)


DEFAULT: Final = Config()

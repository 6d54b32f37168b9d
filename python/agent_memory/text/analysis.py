"""Analyses: what a text says, ready to be compared (spec/text.md sections 4 and 5)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from agent_memory import kernel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_memory._native import _Told

__all__ = ["Analysis", "Item", "analyse", "analyse_many", "core_overlap", "same_statement", "statements_oppose"]


class Item(NamedTuple):
    """One thing a text says, in order: a word, a stop word's form, a symbol or a mark.

    ``fixed`` items equal only themselves; the others also equal an inflection of theirs with the same ``stem``.
    """

    text: str
    stem: str
    fixed: bool


@dataclass(frozen=True, slots=True)
class Analysis:
    """A text reduced to what two texts are compared by; equal to any other that says the same of its text.

    ``told`` is what the kernel tells; ``items`` and ``core`` are made of it each time they are asked for.
    """

    told: _Told

    @property
    def terms(self) -> tuple[str, ...]:
        """The content terms in order, stop words and negators dropped."""
        return self.told[0]

    @property
    def negated(self) -> bool:
        """Whether a negator occurs that is no part of an idiom."""
        return self.told[1]

    @property
    def bare(self) -> str:
        """The text itself in NFC when it has no terms, else empty."""
        return self.told[2]

    @property
    def items(self) -> tuple[Item, ...]:
        """Everything said, articles and plain punctuation aside; what ``same_statement`` compares."""
        return tuple(map(Item._make, self.told[3]))

    @property
    def core(self) -> frozenset[str]:
        """The set of terms without those that say only that something is needed."""
        return kernel.core_terms(self.told[0])


def analyse(body: str) -> Analysis:
    """The analysis of ``body``; equal for any two spellings of one text that differ in Unicode normal form only.

    Raises ArgumentTypeError for anything but str, ArgumentError for a lone surrogate.
    """
    return _remembered(body) if isinstance(body, str) and len(body) <= _LONGEST_REMEMBERED else _analyse(body)


def _analyse(body: str) -> Analysis:
    return Analysis(kernel.analyse(body))


_LONGEST_REMEMBERED = 2000  # characters
_remembered = lru_cache(maxsize=2048)(_analyse)


def analyse_many(bodies: Iterable[str]) -> list[Analysis]:
    """The analysis of each text; other threads run while they are read."""
    return [Analysis(told) for told in kernel.analyse_many(bodies)]


def same_statement(a: Analysis, b: Analysis) -> bool:
    """Whether a merge of the two texts would lose nothing the texts say.

    Equal item by item: polarity, terms in order, stop words, symbols; articles, plain punctuation and the case of
    words aside.  A word in lower case on both sides may differ in number, person or a regular past; a capitalised
    one, a number, a gerund and a participle after a copula may not.  Texts without terms are the same when equal.
    """
    return a is b or kernel.same_statement(a.told, b.told)


def statements_oppose(a: Analysis, b: Analysis) -> bool:
    """Whether one text denies what the other claims: opposite polarity, and at least half of both cores shared."""
    return kernel.statements_oppose(a.told, b.told)


def core_overlap(a: Analysis, b: Analysis) -> float:
    """Jaccard similarity of the two cores, 0.0 when both are empty."""
    left, right = a.core, b.core
    together = len(left | right)
    return len(left & right) / together if together else 0.0

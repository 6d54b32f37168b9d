"""Whether two analysed texts say the same, and whether they oppose each other (spec/text.md section 5)."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import TYPE_CHECKING

from .analyse import stem
from .tokens import fold, lower

if TYPE_CHECKING:
    from .analyse import Analysis, Item

_SIBILANT = ("s", "x", "z", "ch", "sh", "o")
# One syllable ending consonant, vowel, consonant doubles its last letter ("planned"): an undoubled -ed or -ing form
# belongs to the word with an e ("planed").
_DOUBLES = re.compile("[^aeiouy]*[aeiouy][^aeiouywx]")


def same_statement(a: Analysis, b: Analysis) -> bool:
    """Whether a merge of the two texts would lose nothing the texts say.

    Equal item by item: polarity, terms in order, stop words, symbols; articles, plain punctuation and the case of
    words aside.  A word in lower case on both sides may differ in number, person or a regular past; a capitalised
    one, a number, a gerund and a participle after a copula may not.  Texts without terms are the same when equal.
    """
    if a.negated != b.negated or a.terms != b.terms or a.bare != b.bare or len(a.items) != len(b.items):
        return False
    return all(map(_same_item, a.items, b.items))


def statement_key(analysis: Analysis) -> Hashable:
    """A value that is equal for any two texts that are the same statement; most others differ in it.

    Of an item, what counts is made of its text alone: of one that is not fixed that is its stem, and two items agree
    only when their texts are equal, or their stems and whether they are gerunds.
    """
    items = tuple(
        (stem(fold(lower(item.text))) if item.fixed else item.stem, _is_gerund(item.text)) for item in analysis.items
    )
    return analysis.negated, analysis.terms, analysis.bare, items


def statements_oppose(a: Analysis, b: Analysis) -> bool:
    """Whether one text denies what the other claims: opposite polarity, and at least half of both cores shared."""
    return a.negated != b.negated and 0 < len(a.core | b.core) <= 2 * len(a.core & b.core)


def _same_item(a: Item, b: Item) -> bool:
    if a.text == b.text:
        return True
    if a.fixed or b.fixed or a.stem != b.stem or _is_gerund(a.text) != _is_gerund(b.text):
        return False
    return not _bases(a.text).isdisjoint(_bases(b.text))


def _is_gerund(word: str) -> bool:
    return word.removesuffix("s").endswith("ing")


def _bases(word: str) -> set[str]:
    """The words a regular inflection ending in ``word`` may come from, itself included."""
    bases = {word}
    if word.endswith("s") and not word.endswith("ss"):
        bases.add(word[:-1])
        if word.endswith("es") and word[:-2].endswith(_SIBILANT):
            bases.add(word[:-2])
    for suffix in ("ed", "ing"):
        if word.endswith(suffix):
            root = word[: -len(suffix)]
            bases.add(root + "e")
            if not _DOUBLES.fullmatch(root):
                bases.add(root)
    return bases

"""The comparing analyser: what a text says, reduced to what two texts can be compared by (spec/text.md).

Consolidation, slots and corrections call it; recall has an analyser of its own.  Pure functions over strings: no
I/O, no record, no clock.  ``spec/text.md`` is the rule, this package is its readable implementation.
"""

from __future__ import annotations

from .analyse import Analysis, Item, analyse, core_overlap, stem
from .same import same_statement, statements_oppose
from .sentences import classify_sentence, split_sentences
from .similarity import reaches, trigram_overlap, trigram_similarity, trigrams
from .slots import infer_slots, slot_values_clash

__all__ = [
    "Analysis",
    "Item",
    "analyse",
    "classify_sentence",
    "core_overlap",
    "infer_slots",
    "reaches",
    "same_statement",
    "slot_values_clash",
    "split_sentences",
    "statements_oppose",
    "stem",
    "trigram_overlap",
    "trigram_similarity",
    "trigrams",
]

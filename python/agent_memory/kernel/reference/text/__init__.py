"""The comparing analyser in plain Python: what a text says, reduced to what two texts can be compared by.

``spec/text.md`` is the rule, this package is its readable implementation, room by room the same as the compiled one.
Pure functions over strings: no I/O, no record, no clock.  ``told`` offers them as both kernels do.
"""

from __future__ import annotations

from .analyse import Analysis, Item, analyse, stem
from .same import same_statement, statement_key, statements_oppose
from .sentences import classify_sentence, split_sentences
from .similarity import trigram_overlap, trigrams
from .slots import infer_slots, slot_values_clash

__all__ = [
    "Analysis",
    "Item",
    "analyse",
    "classify_sentence",
    "infer_slots",
    "same_statement",
    "slot_values_clash",
    "split_sentences",
    "statement_key",
    "statements_oppose",
    "stem",
    "trigram_overlap",
    "trigrams",
]

"""The comparing analyser: what a text says, reduced to what two texts can be compared by (spec/text.md).

Consolidation, slots and corrections call it; recall has an analyser of its own.  Pure functions over strings: no I/O,
no record, no clock.  The kernel reads the texts; this package gives what it tells a shape.
"""

from __future__ import annotations

from agent_memory.kernel import (
    classify_sentence,
    infer_slots,
    infer_slots_many,
    slot_values_clash,
    split_sentences,
    stem,
    trigram_overlap,
    trigrams,
)
from agent_memory.kernel.threshold import reaches

from .analysis import Analysis, Item, analyse, analyse_many, core_overlap, same_statement, statements_oppose
from .similarity import trigram_similarity

__all__ = [
    "Analysis",
    "Item",
    "analyse",
    "analyse_many",
    "classify_sentence",
    "core_overlap",
    "infer_slots",
    "infer_slots_many",
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

"""The kernel in plain Python, with the standard library alone: the executable specification (spec/kernel.md).

It is written to be read and to be right.  The compiled kernel is tested against it, byte for byte and message for
message; ``AGENT_MEMORY_KERNEL=python`` runs the whole package on it.
"""

from .build import build_info
from .canonical import canonical_json, canonical_json_many, digest, digest_many
from .columns import Columns
from .ed25519 import verify_signatures
from .near_dup import similar_pairs, trigram_overlap
from .normal import nfc
from .pairs import Pairs
from .plain import plain_record
from .seal import seal
from .search import Index
from .text.told import (
    analyse,
    analyse_many,
    classify_sentence,
    core_terms,
    infer_slots,
    infer_slots_many,
    same_statement,
    slot_values_clash,
    split_sentences,
    statements_oppose,
    stem,
    text_classes,
    text_fold,
    text_lower,
    text_tokens,
    trigrams,
)
from .vectors import Scores, Vectors

__all__ = [
    "Columns",
    "Index",
    "Pairs",
    "Scores",
    "Vectors",
    "analyse",
    "analyse_many",
    "build_info",
    "canonical_json",
    "canonical_json_many",
    "classify_sentence",
    "core_terms",
    "digest",
    "digest_many",
    "infer_slots",
    "infer_slots_many",
    "nfc",
    "plain_record",
    "same_statement",
    "seal",
    "similar_pairs",
    "slot_values_clash",
    "split_sentences",
    "statements_oppose",
    "stem",
    "text_classes",
    "text_fold",
    "text_lower",
    "text_tokens",
    "trigram_overlap",
    "trigrams",
    "verify_signatures",
]

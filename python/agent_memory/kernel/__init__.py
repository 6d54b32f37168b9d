"""One interface, two implementations: the compiled kernel, and the reference in plain Python (spec/kernel.md).

``AGENT_MEMORY_KERNEL`` chooses: ``native`` or nothing takes the compiled one and fails without it; ``python`` takes the
reference, which does everything, slowly.  There is no silent fallback: a program that runs a hundred times slower than
it should is a fault too.

The functions are called by everything above; what they do stands in their stub and in the reference.
"""

from __future__ import annotations

import os

from agent_memory.errors import ArgumentError

_choice = os.environ.get("AGENT_MEMORY_KERNEL", "")

if _choice in {"", "native"}:
    from .native import (
        Columns,
        Index,
        Pairs,
        Scores,
        Vectors,
        analyse,
        analyse_many,
        build_info,
        canonical_json,
        canonical_json_many,
        classify_sentence,
        core_terms,
        digest,
        digest_many,
        infer_slots,
        infer_slots_many,
        nfc,
        plain_record,
        same_statement,
        seal,
        similar_pairs,
        slot_values_clash,
        split_sentences,
        statements_oppose,
        stem,
        text_classes,
        text_fold,
        text_lower,
        text_tokens,
        trigram_overlap,
        trigrams,
        verify_signatures,
    )
elif _choice == "python":
    from .reference import (  # type: ignore[assignment]  # the same to whoever uses them
        Columns,
        Index,
        Pairs,
        Scores,
        Vectors,
        analyse,
        analyse_many,
        build_info,
        canonical_json,
        canonical_json_many,
        classify_sentence,
        core_terms,
        digest,
        digest_many,
        infer_slots,
        infer_slots_many,
        nfc,
        plain_record,
        same_statement,
        seal,
        similar_pairs,
        slot_values_clash,
        split_sentences,
        statements_oppose,
        stem,
        text_classes,
        text_fold,
        text_lower,
        text_tokens,
        trigram_overlap,
        trigrams,
        verify_signatures,
    )
else:
    raise ArgumentError("AGENT_MEMORY_KERNEL names no kernel: set it to 'native' or 'python', or leave it out")

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

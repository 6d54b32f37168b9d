"""The compiled kernel, once it is known to be there and to be the one this package was written for."""

from __future__ import annotations

from .boundary import BOUNDARY

try:
    from agent_memory._native import (
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
except ImportError as error:
    raise ImportError(
        "the compiled kernel agent_memory._native is missing or incomplete: build it with 'pip install -e .' "
        "(this needs Rust), or set AGENT_MEMORY_KERNEL=python to use the slow reference"
    ) from error

if build_info()["boundary"] != BOUNDARY:
    raise ImportError(
        f"the compiled kernel has boundary {build_info()['boundary']}, this package needs {BOUNDARY}: "
        "build it again with 'pip install -e .'"
    )

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

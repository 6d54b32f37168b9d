"""How alike two texts are, letter by letter (spec/text.md section 6)."""

from __future__ import annotations

from agent_memory.kernel import trigram_overlap

__all__ = ["trigram_similarity"]


def trigram_similarity(a: str, b: str) -> float:
    """Shared trigrams over all trigrams, 0.0 to 1.0; 0.0 when either text is empty."""
    shared, total = trigram_overlap(a, b)
    return shared / total if shared else 0.0

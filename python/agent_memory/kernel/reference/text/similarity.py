"""Character trigrams and how many two texts share (spec/text.md section 6)."""

from __future__ import annotations

from agent_memory.kernel.reference.normal import normalised

from .characters import lower_text


def trigrams(body: str) -> frozenset[str]:
    """The trigrams of ``body`` in NFC, lower-cased, whitespace collapsed; a shorter text is its own one trigram."""
    text = " ".join(lower_text(normalised(body)).split())
    if len(text) < 3:
        return frozenset({text}) if text else frozenset()
    return frozenset(text[i : i + 3] for i in range(len(text) - 2))


def trigram_overlap(a: str, b: str) -> tuple[int, int]:
    """How many trigrams ``a`` and ``b`` share, and how many they have together."""
    left, right = trigrams(a), trigrams(b)
    shared = len(left & right)
    return shared, len(left) + len(right) - shared

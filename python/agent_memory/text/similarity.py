"""Character trigrams and their Jaccard similarity as an exact ratio (spec/text.md section 6)."""

from __future__ import annotations

from functools import lru_cache
from unicodedata import normalize


def trigrams(body: str) -> frozenset[str]:
    """The trigrams of ``body`` in NFC, lower-cased, whitespace collapsed; a shorter text is its own one trigram."""
    text = " ".join(normalize("NFC", body).lower().split())
    if len(text) < 3:
        return frozenset({text}) if text else frozenset()
    return frozenset(text[i : i + 3] for i in range(len(text) - 2))


def trigram_overlap(a: str, b: str) -> tuple[int, int]:
    """How many trigrams ``a`` and ``b`` share, and how many they have together."""
    left, right = trigrams(a), trigrams(b)
    shared = len(left & right)
    return shared, len(left) + len(right) - shared


def trigram_similarity(a: str, b: str) -> float:
    """Shared trigrams over all trigrams, 0.0 to 1.0; 0.0 when either text is empty."""
    shared, total = trigram_overlap(a, b)
    return shared / total if shared else 0.0


def reaches(shared: int, total: int, threshold: float) -> bool:
    """Whether ``shared / total`` is at least ``threshold``, exactly: the threshold is the decimal it is written as.

    An empty comparison (``total == 0``) reaches nothing, and no ratio reaches a threshold above 1.
    """
    if not total or not threshold <= 1:
        return False
    over, under = _ratio(float(threshold))
    return shared * under >= over * total


@lru_cache(maxsize=64)
def _ratio(threshold: float) -> tuple[int, int]:
    from fractions import Fraction  # brings decimal along; nothing else here needs it

    return Fraction(repr(threshold)).as_integer_ratio()

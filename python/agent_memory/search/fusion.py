"""How what words find and what vectors find become one answer (spec/recall.md section 8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["AROUND", "DEPTH", "fuse"]

AROUND: Final = (0.4, 0.3, 0.2)
"""Shares of what a neighbour in the session has above the mean: the one before, the one after, those two away."""
DEPTH: Final = 128
"""How many of the best of either side are considered, at least."""
_LEXICAL: Final = 0.6
_DENSE: Final = 0.4
_EQUAL: Final = 1e-6
"""Scores less apart than this differ by how they were rounded."""


def fuse(lexical: Mapping[str, float], dense: Mapping[str, float]) -> dict[str, float]:
    """Fused scores above 0, greatest first, then by id.

    Args:
        lexical: raw scores of candidates; one that is left out has 0.
        dense: dense scores of candidates; one that is left out has the least of them.  When it is empty, the raw
            scores alone count.
    """
    if not dense:
        fused = dict(lexical)
    else:
        candidates = sorted({*lexical, *dense})
        least = min(dense.values())
        words = _levelled({record_id: lexical.get(record_id, 0.0) for record_id in candidates})
        vectors = _levelled({record_id: dense.get(record_id, least) for record_id in candidates})
        fused = {record_id: _LEXICAL * words[record_id] + _DENSE * vectors[record_id] for record_id in candidates}
    found = [(record_id, score) for record_id, score in fused.items() if score > 0.0]
    return dict(sorted(found, key=lambda item: (-item[1], item[0])))


def _levelled(scores: Mapping[str, float]) -> dict[str, float]:
    """Scores brought to 0 to 1; those that are as good as equal all to 1 when they are above 0."""
    least, greatest = min(scores.values()), max(scores.values())
    if greatest - least < _EQUAL:
        return dict.fromkeys(scores, 1.0 if greatest > 0.0 else 0.0)
    return {record_id: (score - least) / (greatest - least) for record_id, score in scores.items()}

"""When a similarity reaches a threshold, in whole numbers (spec/text.md section 6)."""

from __future__ import annotations

from functools import lru_cache

__all__ = ["reaches"]


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

"""What a score is made of (SPEC section 14.1)."""

from __future__ import annotations

from datetime import datetime
from math import log
from typing import Final

from agent_memory.records import MemoryRecord, RecordState

from .retrieved import ScoreFactors
from .salience import age_in_days

__all__ = ["score_factors"]

_STATE: Final = {
    RecordState.ACTIVE: 1.0,
    RecordState.TRANSITIONAL: 0.8,
    RecordState.SUPERSEDED: 0.3,
    RecordState.ARCHIVED: 0.1,
}
_HALF_LIFE_DAYS: Final = 30.0
_LEAST_RECENCY: Final = 0.1
_TOUCHES_FOR_HALF: Final = 5


def score_factors(record: MemoryRecord, *, relevance: float, touches: int, now: datetime) -> ScoreFactors:
    """The factors of a record's score for a relevance of 0 to 1 and a number of earlier touches."""
    standing = 1.0
    if record.standing is not None:
        good, bad = record.standing.good, record.standing.bad
        standing = 0.5 + (good + 1) / (good + bad + 2)
    return ScoreFactors(
        relevance=relevance,
        state=_STATE[record.state],
        recency=max(_LEAST_RECENCY, 0.5 ** (age_in_days(record.updated_at, now) / _HALF_LIFE_DAYS)),
        salience=1.0 + touches / (touches + _TOUCHES_FOR_HALF),
        confidence=record.confidence,
        importance=1.0 + log(record.value),
        standing=standing,
    )

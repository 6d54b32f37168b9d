"""How present a record is, and how often it proved useful (SPEC sections 13.1 and 13.2).

Touches are counted beside the store, never in it: a read changes no record.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from math import isfinite
from typing import Any, Final, Self

from agent_memory.clock import now_utc, read_time, time_to_wire, truncate
from agent_memory.errors import ArgumentError, ArgumentTypeError, RecordError, RecordTypeError, RecordValueError
from agent_memory.frozen import FrozenDict
from agent_memory.records import MemoryRecord
from agent_memory.wire import check_mapping, is_record_id

from .priors import HALF_LIVES, Kind, kind_of

__all__ = ["DecayConfig", "SalienceScores", "age_in_days", "salience"]

_SECONDS_A_DAY: Final = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DecayConfig:
    """How fast records fade.

    Attributes:
        half_life_days: days in which salience halves, above 0, for every record that ``half_lives`` does not speak of.
        half_lives: days by kind: ``event``, ``fact``, ``preference``, ``procedure``, ``rule`` (SPEC section 13.4).
            None are given by default; :meth:`by_kind` gives all.
        reinforcement_bonus: what each touch adds, as a share of the salience, 0 or more.
        archive_threshold: below it a record is archived; any finite number, and 0 or less archives nothing.

    Raises:
        ArgumentError: a value outside its range.
    """

    half_life_days: float = 30.0
    reinforcement_bonus: float = 0.25
    archive_threshold: float = 0.05
    half_lives: Mapping[Kind, float] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name in ("half_life_days", "reinforcement_bonus", "archive_threshold"):
            _check_number(getattr(self, name), name)
        if self.half_life_days <= 0:
            raise ArgumentError("half_life_days must be above 0")
        if self.reinforcement_bonus < 0:
            raise ArgumentError("reinforcement_bonus must be 0 or more")
        if not isinstance(self.half_lives, Mapping):
            raise ArgumentTypeError(
                f"half_lives must be a mapping of days by kind, not {type(self.half_lives).__name__}"
            )
        for kind, days in self.half_lives.items():
            if kind not in HALF_LIVES:
                raise ArgumentError(f"half_lives may name {', '.join(HALF_LIVES)}")
            _check_number(days, f"half_lives[{kind!r}]")
            if days <= 0:
                raise ArgumentError(f"half_lives[{kind!r}] must be above 0")
        object.__setattr__(self, "half_lives", FrozenDict(dict(self.half_lives.items())))

    @classmethod
    def by_kind(cls, **days: float) -> Self:
        """What a memory uses that is told nothing: the half-lives of the table, with ``days`` by kind in their place.

        ``DecayConfig.by_kind(event=14)`` doubles that of events.
        """
        return cls(half_lives={**HALF_LIVES, **days})  # type: ignore[dict-item]  # names are checked

    def half_life_of(self, record: MemoryRecord) -> float:
        """Days in which the salience of ``record`` halves."""
        return self.half_lives.get(kind_of(record), self.half_life_days) if self.half_lives else self.half_life_days


def _check_number(value: object, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ArgumentTypeError(f"{name} must be a number, not {type(value).__name__}")
    if not isfinite(value):
        raise ArgumentError(f"{name} must be a finite number")


def age_in_days(since: datetime, now: datetime) -> float:
    """Days from ``since`` to ``now``; 0 when ``since`` lies ahead, as after a clock was set back."""
    return max(0.0, (now - since).total_seconds() / _SECONDS_A_DAY)


def salience(
    record: MemoryRecord,
    *,
    touches: int,
    last_touched: datetime | None,
    now: datetime,
    config: DecayConfig,
) -> float:
    """confidence × 0.5^(age / half-life) × (1 + bonus × touches); age counts from the later of change and touch.

    Returns 0 or more; above 1 for a record that is touched often.
    """
    since = record.updated_at if last_touched is None else max(record.updated_at, last_touched)
    faded = 0.5 ** (age_in_days(since, now) / config.half_life_of(record))
    return record.confidence * float(faded) * (1.0 + config.reinforcement_bonus * touches)


class SalienceScores:
    """How often, and when last, each record was touched.  Usable from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._scores: dict[str, tuple[int, datetime]] = {}

    def touch(self, record_id: str, *, now: datetime | None = None) -> None:
        """Count one use of a record.  A touch in the past of the last one counts and leaves that time.

        Raises:
            RecordError: ``now`` is naive or no datetime.
        """
        moment = now_utc() if now is None else truncate(now, "now")
        with self._lock:
            count, latest = self._scores.get(record_id, (0, moment))
            self._scores[record_id] = (count + 1, max(latest, moment))

    def touches(self, record_id: str) -> int:
        """How often it was touched; 0 for an id never touched."""
        return self._scores.get(record_id, (0, None))[0]

    def last_touched(self, record_id: str) -> datetime | None:
        """When it was touched last, or None."""
        return self._scores.get(record_id, (0, None))[1]

    def to_dict(self) -> dict[str, Any]:
        """``{"scores": {id: {"touches": count, "last_touched": time text}}}``, ids sorted."""
        with self._lock:
            scores = sorted(self._scores.items())
        return {
            "scores": {
                record_id: {"touches": count, "last_touched": time_to_wire(latest)}
                for record_id, (count, latest) in scores
            }
        }

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read what :meth:`to_dict` wrote; no ``scores`` at all means none.

        Raises:
            RecordError: anything else; the message names the place.
        """
        scores = cls()
        members = check_mapping(check_mapping(data, "salience").get("scores", {}), "salience.scores")
        for record_id, entry in members.items():
            if not is_record_id(record_id):
                raise RecordError("salience.scores has a key that is no record id")
            scores._scores[record_id] = _entry(entry, f"salience.scores[{record_id}]")
        return scores


def _entry(entry: object, place: str) -> tuple[int, datetime]:
    members: Mapping[str, Any] = check_mapping(entry, place)
    for name in ("touches", "last_touched"):
        if name not in members:
            raise RecordError(f"{place} lacks {name!r}")
    count = members["touches"]
    if isinstance(count, bool) or not isinstance(count, int):
        raise RecordTypeError(f"{place}.touches must be a whole number, not {type(count).__name__}")
    if count < 1:
        raise RecordValueError(f"{place}.touches must be 1 or more")
    moment = members["last_touched"]
    if not isinstance(moment, str):
        raise RecordTypeError(f"{place}.last_touched must be text, not {type(moment).__name__}")
    return count, read_time(moment, f"{place}.last_touched")

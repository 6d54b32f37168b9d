"""How often each record was recalled: counts beside the store, for a read changes no record (SPEC section 13.2).

What this process counted is held back and written now and then, under the store's lock, *added* to what the sidecar
holds by then: two processes never erase each other's counts.  Losing the sidecar loses reinforcement, nothing else.
"""

from __future__ import annotations

import threading
import time
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from . import kernel
from .clock import now_utc, time_from_wire, time_to_wire
from .errors import RecordError
from .pipeline.recall import TouchCounts
from .pipeline.salience import SalienceScores
from .ports import RecordStore
from .stores import durable
from .wire import parse_json

__all__ = ["Touches", "Unmoved"]

_FLUSH_EVERY: Final = 1.0
"""Seconds between two writes of the sidecar while touches keep coming."""

_Counts = dict[str, tuple[int, datetime]]


class Touches(TouchCounts):
    """The counts of one memory: those of the sidecar, and those of this process not written yet.

    Args:
        sidecar: ``salience.json``, or None to keep the counts in memory only.
        store: whose transaction guards the sidecar.
    """

    def __init__(self, sidecar: Path | None, store: RecordStore) -> None:
        super().__init__()
        self._sidecar = sidecar
        self._store = store
        self._guard = threading.Lock()
        self._written: _Counts = {} if sidecar is None else _read(sidecar)
        self._unwritten: _Counts = {}
        self._flushed_at = time.monotonic()

    def touch(self, record_id: str, *, now: datetime | None = None) -> None:
        """Count one recall or repetition of a record."""
        with self._guard:
            _add(self._unwritten, record_id, 1, now_utc() if now is None else now)

    def count(self, record_id: str) -> int:
        """How often a record was touched."""
        return sum(counts[record_id][0] for counts in (self._written, self._unwritten) if record_id in counts)

    def scores(self) -> SalienceScores:
        """All counts, as decay reads them."""
        with self._guard:
            total = dict(self._written)
            for record_id, (count, moment) in self._unwritten.items():
                _add(total, record_id, count, moment)
        return SalienceScores.from_dict(_to_wire(total))

    def flush_if_due(self) -> None:
        """Write the sidecar when something is unwritten and the last write is a second ago."""
        if self._unwritten and time.monotonic() - self._flushed_at >= _FLUSH_EVERY:
            self.flush()

    def flush(self) -> None:
        """Add what is unwritten to the sidecar.

        Raises:
            StoreError: it could not be written; the counts are kept and tried again with the next flush.
        """
        if self._sidecar is None or not self._unwritten:
            return
        with self._store.transaction(), self._guard:
            total = _read(self._sidecar)
            for record_id, (count, moment) in self._unwritten.items():
                _add(total, record_id, count, moment)
            self._write(self._sidecar, total)
            self._unwritten = {}
            self._flushed_at = time.monotonic()

    def forget(self, record_ids: frozenset[str]) -> None:
        """Drop the counts of erased records, from the sidecar too."""
        with self._store.transaction(), self._guard:
            for record_id in record_ids:
                self._unwritten.pop(record_id, None)
                self._written.pop(record_id, None)
            if self._sidecar is None:
                return
            total = _read(self._sidecar)
            kept = {record_id: counted for record_id, counted in total.items() if record_id not in record_ids}
            if kept != total:
                self._write(self._sidecar, kept)

    def _write(self, sidecar: Path, total: _Counts) -> None:
        try:
            durable.make_dir(sidecar.parent)
            durable.replace(sidecar, kernel.canonical_json(_to_wire(total)))
        except OSError as error:
            raise durable.failure(error, f"cannot write the touch counts to {sidecar}") from error
        self._written = total


class Unmoved(TouchCounts):
    """Counts that a recall reads and does not raise."""

    def __init__(self, touches: Touches) -> None:
        super().__init__()
        self._touches = touches

    def touch(self, record_id: str, *, now: datetime | None = None) -> None:
        """Nothing: this recall leaves no trace."""

    def count(self, record_id: str) -> int:
        """How often a record was touched."""
        return self._touches.count(record_id)


def _add(counts: _Counts, record_id: str, count: int, moment: datetime) -> None:
    before, latest = counts.get(record_id, (0, moment))
    counts[record_id] = (before + count, max(latest, moment))


def _read(sidecar: Path) -> _Counts:
    """The counts in the sidecar; none when it is missing or damaged, for all they do is reinforce."""
    try:
        scores = parse_json(sidecar.read_bytes(), "salience.json")["scores"]
        return {
            record_id: (_count(item["touches"]), time_from_wire(item["last_touched"], "last_touched"))
            for record_id, item in scores.items()
        }
    except (OSError, RecordError, KeyError, TypeError, AttributeError):
        return {}


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise TypeError
    return value


def _to_wire(counts: _Counts) -> dict[str, Any]:
    return {
        "scores": {
            record_id: {"touches": count, "last_touched": time_to_wire(moment)}
            for record_id, (count, moment) in counts.items()
        }
    }

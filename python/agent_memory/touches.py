"""How often each record was recalled: counts beside the store; a read changes no record (SPEC sections 13.2 and 16.3).

What this process counted is held back and written now and then, *added* to what the sidecar holds by then: two
processes never erase each other's counts.  The sidecar has a lock of its own, for whoever only reads waits for no
writer of the store.  Losing the sidecar loses reinforcement, nothing else.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from . import kernel
from .clock import now_utc, time_from_wire, time_to_wire
from .errors import RecordError, StoreError
from .extension import MAX_COUNT
from .pipeline.recall import TouchCounts
from .pipeline.salience import SalienceScores
from .stores import durable
from .stores.lock import ProcessLock
from .wire import is_record_id, parse_json

__all__ = ["Touches", "Unmoved"]

_FLUSH_EVERY: Final = 1.0
"""Seconds between two writes of the sidecar while touches keep coming."""
_LONGEST_WAIT: Final = 2.0
"""Seconds to wait for another process that writes the sidecar, which takes a few milliseconds."""

_Counts = dict[str, tuple[int, datetime]]


class Touches(TouchCounts):
    """The counts of one memory: those of the sidecar, and those of this process not written yet.

    Args:
        sidecar: ``salience.json``, in a folder that exists, or None to keep the counts in memory only.
    """

    def __init__(self, sidecar: Path | None) -> None:
        super().__init__()
        self._sidecar = sidecar
        self._file_lock = None if sidecar is None else ProcessLock(sidecar.with_name("salience.lock"), _LONGEST_WAIT)
        self._guard = threading.Lock()
        self._written: _Counts = {} if sidecar is None else _read(sidecar)
        self._unwritten: _Counts = {}
        self._flushed_at = time.monotonic()
        self._moved = set(self._written)

    def moved(self) -> dict[str, int]:
        """The counts that were raised, or read from the sidecar, since the last time this was asked."""
        with self._guard:
            moved, self._moved = self._moved, set()
        return {record_id: self.count(record_id) for record_id in moved}

    def touch(self, record_id: str, *, now: datetime | None = None) -> None:
        """Count one recall or repetition of a record."""
        with self._guard:
            _add(self._unwritten, record_id, 1, now_utc() if now is None else now)
            self._moved.add(record_id)

    def carry(self, part_id: str, whole_id: str) -> None:
        """Count the touches of a record that was merged for what it was merged into, too."""
        with self._guard:
            for counts in (dict(self._written), dict(self._unwritten)):
                if part_id in counts:
                    _add(self._unwritten, whole_id, *counts[part_id])
                    self._moved.add(whole_id)

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
        """Write the sidecar when something is unwritten and the last write is a second ago.

        A failure is no failure of the recall that came by: the counts are kept, and closing tells if they still cannot
        be written.
        """
        if self._unwritten and time.monotonic() - self._flushed_at >= _FLUSH_EVERY:
            with contextlib.suppress(StoreError):
                self.flush()
            self._flushed_at = time.monotonic()

    def flush(self) -> None:
        """Add what is unwritten to the sidecar.

        Raises:
            StoreError: it could not be written; the counts are kept and tried again with the next flush.
        """
        if self._sidecar is None or not self._unwritten:
            return
        with self._alone(), self._guard:
            total = _read(self._sidecar)
            for record_id, (count, moment) in self._unwritten.items():
                _add(total, record_id, count, moment)
            self._write(self._sidecar, total)
            self._unwritten = {}
            self._flushed_at = time.monotonic()

    def forget(self, record_ids: frozenset[str]) -> None:
        """Drop the counts of erased records, from the sidecar too."""
        with self._alone(), self._guard:
            for record_id in record_ids:
                self._unwritten.pop(record_id, None)
                self._written.pop(record_id, None)
            if self._sidecar is None:
                return
            total = _read(self._sidecar)
            kept = {record_id: counted for record_id, counted in total.items() if record_id not in record_ids}
            if kept != total:
                self._write(self._sidecar, kept)

    def close(self) -> None:
        """Write what is unwritten.  Raises StoreError as :meth:`flush`."""
        try:
            self.flush()
        finally:
            if self._file_lock is not None:
                self._file_lock.close()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """The sidecar to this process alone."""
        if self._file_lock is None:
            yield
            return
        try:
            self._file_lock.acquire()
        except StoreError as error:
            if isinstance(error.__cause__, OSError):
                raise
            raise StoreError(
                f"another process has been writing the touch counts for {_LONGEST_WAIT:g} s; they were not changed: "
                "try again, or end the one that hangs"
            ) from error
        try:
            yield
        finally:
            self._file_lock.release()

    def _write(self, sidecar: Path, total: _Counts) -> None:
        try:
            durable.replace(sidecar, kernel.canonical_json(_to_wire(total)))
        except OSError as error:
            raise durable.failure(error, f"cannot write the touch counts to {sidecar}") from error
        self._moved.update(record_id for record_id in total if total[record_id] != self._written.get(record_id))
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
    counts[record_id] = (min(before + count, MAX_COUNT), max(latest, moment))


def _read(sidecar: Path) -> _Counts:
    """The counts in the sidecar, without what is damaged in it: all they do is reinforce (SPEC section 16.3)."""
    try:
        data = sidecar.read_bytes() if sidecar.is_file() else b""  # reading a pipe would wait for its other end
        entries = parse_json(data, "salience.json")["scores"].items()
    except (OSError, RecordError, KeyError, TypeError, AttributeError):
        return {}
    counts: _Counts = {}
    for record_id, entry in entries:
        try:
            touches, moment = entry["touches"], time_from_wire(entry["last_touched"], "last_touched")
        except (RecordError, KeyError, TypeError):
            continue
        if is_record_id(record_id) and type(touches) is int and 1 <= touches <= MAX_COUNT:
            counts[record_id] = (touches, moment)
    return counts


def _to_wire(counts: _Counts) -> dict[str, Any]:
    return {
        "scores": {
            record_id: {"touches": count, "last_touched": time_to_wire(moment)}
            for record_id, (count, moment) in counts.items()
        }
    }

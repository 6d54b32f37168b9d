"""Writes that could not be saved: kept in the process, in order, and tried again.

A disk that is full for a minute must not cost a memory.  Nothing here knows what a write is; who calls says how one is
saved.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from agent_memory.errors import StoreError

__all__ = ["SAVE_FAILURES", "KeptWrites", "Outcome"]

SAVE_FAILURES: Final = (StoreError, OSError)
"""What a save that failed raises; everything else is a refusal, and a refused write is not tried again."""
MAX_KEPT: Final = 256
"""Writes that are kept; a text has at most 100,000 characters."""

Write = TypeVar("Write")
Verdict = TypeVar("Verdict")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Verdict]):
    """What became of a kept write: its number, and the verdict on it or why it was refused after all."""

    number: int
    verdict: Verdict | Exception


class KeptWrites(Generic[Write]):
    """A queue of writes.  Not for several threads at once: who calls holds a lock.

    Args:
        limit: how many are kept; 1 or more.

    Attributes:
        error: why the last save failed; None once all are saved.
    """

    def __init__(self, limit: int = MAX_KEPT) -> None:
        self.limit = limit
        self._waiting: deque[tuple[int, Write]] = deque()
        self._last = 0
        self.error: str | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def keep(self, write: Write, error: str) -> int | None:
        """Keep a write that could not be saved.  Returns its number, or None when as many are kept as may be.

        Args:
            error: why it could not be saved.
        """
        self.error = error
        if len(self._waiting) >= self.limit:
            return None
        self._last += 1
        self._waiting.append((self._last, write))
        return self._last

    def retry(self, save: Callable[[Write], Verdict]) -> list[Outcome[Verdict]]:
        """Try every kept write again, in order, up to the first that still cannot be saved."""
        outcomes: list[Outcome[Verdict]] = []
        while self._waiting:
            number, write = self._waiting[0]
            try:
                verdict: Verdict | Exception = save(write)
            except SAVE_FAILURES as error:
                self.error = str(error)
                return outcomes
            except Exception as error:  # refused, or a fault of ours: kept, it would be in the way of all others
                verdict = error
            self._waiting.popleft()
            outcomes.append(Outcome(number, verdict))
        self.error = None
        return outcomes

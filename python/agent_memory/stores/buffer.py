"""What a transaction of a store in a folder will write: in memory, read by its own thread alone, then committed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from agent_memory.records import MemoryRecord

__all__ = ["Buffer", "View", "Write"]


class Write(NamedTuple):
    """One step of a transaction.

    Attributes:
        id: the record's id.
        number: the version it appends, or 0: every version of the record is replaced by a tombstone.
        payload: canonical bytes of the version or of the tombstone.
    """

    id: str
    number: int
    payload: bytes


@dataclass(slots=True)
class View:
    """A record as its transaction sees it.

    Attributes:
        below: how many versions lie on the disk.
        tombstone: what stands in the place of each of those, once the record is redacted here.
        above: the versions appended here, oldest first.
    """

    below: int
    tombstone: MemoryRecord | None = None
    above: list[MemoryRecord] = field(default_factory=list)

    @property
    def count(self) -> int:
        return self.below + len(self.above)

    @property
    def newest(self) -> MemoryRecord | None:
        """The newest version; None when that is the one on the disk."""
        return self.above[-1] if self.above else self.tombstone


class Buffer:
    """The steps of a transaction in order, and what each record they touch looks like after them."""

    def __init__(self) -> None:
        self._steps: list[tuple[Write, MemoryRecord, int]] = []
        self._views: dict[str, View] = {}

    def __len__(self) -> int:
        return len(self._steps)

    def __iter__(self) -> Iterator[str]:
        """The ids it touches."""
        return iter(self._views)

    def view(self, record_id: str) -> View | None:
        """What a record looks like, or None when nothing was done to it."""
        return self._views.get(record_id)

    def append(self, record: MemoryRecord, payload: bytes, below: int) -> None:
        """Add a version, of a record with ``below`` versions on the disk."""
        view = self._views.get(record.id)
        number = (view.count if view is not None else below) + 1
        self._do((Write(record.id, number, payload), record, below))

    def redact(self, tombstone: MemoryRecord, below: int) -> None:
        """Replace all there is of a record, here and on the disk."""
        self._do((Write(tombstone.id, 0, tombstone.canonical_bytes()), tombstone, below))

    def roll_back(self, mark: int) -> None:
        """Forget every step after the first ``mark``."""
        kept = self._steps[:mark]
        self._steps.clear()
        self._views.clear()
        for step in kept:
            self._do(step)

    def writes(self) -> Sequence[Write]:
        """The steps to commit.  A version that a later step redacts is the tombstone: its content reaches no disk."""
        tombstones: dict[str, bytes] = {}
        final: list[Write] = []
        for write, _, _ in reversed(self._steps):
            if not write.number:
                tombstones.setdefault(write.id, write.payload)
            payload = tombstones.get(write.id)
            final.append(write if payload is None else write._replace(payload=payload))
        final.reverse()
        return final

    def _do(self, step: tuple[Write, MemoryRecord, int]) -> None:
        write, record, below = step
        view = self._views.setdefault(write.id, View(below))
        if write.number:
            view.above.append(record)
        else:
            view.tombstone = record
            view.above = [record] * len(view.above)
        self._steps.append(step)

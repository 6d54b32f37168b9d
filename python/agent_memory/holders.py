"""Which record says a text already: the map that makes a repeated ``remember`` a reinforcement (SPEC section 11.2).

Text is the same memory when consolidation scope, key, type, source and text are equal, and for an episode the UTC day
it happened.  Only live records (active or disputed) count: what was superseded or archived may be said anew.
Equal texts from different sources are different records, so that each source can be erased by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from .records import MemoryRecord, RecordState, RecordType

__all__ = ["Holders"]

_LIVE = (RecordState.ACTIVE, RecordState.TRANSITIONAL)
_Saying = tuple[tuple[str | None, str | None, str | None], str | None, RecordType, str | None, str, date | None]


class Holders:
    """Maps what live records say to their ids.  Kept in step by :class:`agent_memory.door.Door`."""

    def __init__(self, records: Iterable[MemoryRecord] = ()) -> None:
        self._holder: dict[_Saying, str] = {}
        self._saying: dict[str, _Saying] = {}
        for record in records:
            self.note(record)

    def find(self, record: MemoryRecord) -> str | None:
        """The id of the live record that says what ``record`` says, or None."""
        return self._holder.get(_saying(record))

    def note(self, record: MemoryRecord) -> None:
        """Take in the newest version of a record."""
        self.forget(record.id)
        if record.state in _LIVE:
            saying = _saying(record)
            self._holder.setdefault(saying, record.id)
            self._saying[record.id] = saying

    def forget(self, record_id: str) -> None:
        """Take out a record that is not there any more."""
        before = self._saying.pop(record_id, None)
        if before is not None and self._holder.get(before) == record_id:
            del self._holder[before]


def _saying(record: MemoryRecord) -> _Saying:
    day = record.event_time.date() if record.type is RecordType.EPISODE else None
    return (record.scope.consolidation, record.key, record.type, record.provenance.ref, record.body, day)

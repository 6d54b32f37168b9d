"""Everything that happened under a key, or to one record (spec/corrections.md section 17.9)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from agent_memory import kernel
from agent_memory.errors import ArgumentError, ArgumentTypeError, RecordError
from agent_memory.records import MemoryRecord
from agent_memory.wire import is_record_id

from .decision import standing_of
from .wording import blocked_as

__all__ = ["History", "named"]


class History(tuple[MemoryRecord, ...]):
    """Versions in the order in which they were written.

    Of a record: its versions.  Of a key: every version of every record that was said under it, blocked ones and the
    echoes said without the key included; who is pinned to a scope is told of that scope.

    Attributes:
        key: the key that was asked about, or None.
        current_id: the record that stands under the key; of a key that several scopes hold, the one last said.  None
            when nothing stands, or a record was asked about.
    """

    key: str | None = None
    current_id: str | None = None

    @classmethod
    def of_key(cls, key: str, versions: Iterable[Iterable[MemoryRecord]]) -> Self:
        """The story of a key, from the versions of each of its records."""
        held = [tuple(each) for each in versions]
        ordered = sorted(
            (record.updated_at, each[0].created_at, record.id, number, record)
            for each in held
            for number, record in enumerate(each)
        )
        story = cls(item[-1] for item in ordered)
        story.key = key
        live = standing_of(tuple(each[-1] for each in held if each[-1].state.is_live and each[-1].key is not None))
        story.current_id = live[0].id if live else None
        return story

    @property
    def records(self) -> tuple[MemoryRecord, ...]:
        """The newest version of each record, in the order in which they were said."""
        newest = {record.id: record for record in self}
        return tuple(sorted(newest.values(), key=lambda record: (record.created_at, record.id)))

    @property
    def blocked(self) -> tuple[MemoryRecord, ...]:
        """Those of :attr:`records` that were archived on arrival and never stood."""
        return tuple(record for record in self.records if blocked_as(record) is not None)


def named(subject: object, *, key: object = None, record_id: object = None) -> tuple[str | None, str | None]:
    """What a caller means who gives a key or the id of a record: (key, id), one of them None.

    A key that is given to ``remember`` never has the form of an id, so ``subject`` cannot be both; ``key`` and
    ``record_id`` say which it is all the same.

    Raises:
        ArgumentError: not exactly one of the three, or one that is neither.
    """
    given = [value for value in (subject, key, record_id) if value is not None]
    if len(given) != 1:
        raise ArgumentError("give one key or one record id: as the first argument, as key=... or as record_id=...")
    (value,) = given
    if not isinstance(value, str):
        raise ArgumentTypeError(f"a key or record id must be a str, not {type(value).__name__}")
    if not value.strip():
        raise ArgumentError("the key is empty; name the key, or a record id")
    if record_id is not None or (key is None and is_record_id(value)):
        return None, value
    try:
        return kernel.nfc(value.strip()), None
    except RecordError as error:
        raise ArgumentError(f"the key: {error}") from None

"""The smallest store there is, to show what the pipeline needs of one, and short ways to build records."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from agent_memory import (
    Extension,
    MemoryRecord,
    Proposal,
    ProposalKind,
    Provenance,
    RecordState,
    RecordStore,
    RecordType,
    Scope,
    StoreError,
)
from agent_memory.ports import check_append, check_id, matches, unknown_id

T0 = datetime(2026, 1, 1, tzinfo=UTC)
NOW = datetime(2026, 2, 1, tzinfo=UTC)
SAID = Provenance(kind="conversation", ref="talk-1")
EXTENDED = ("key", "object", "value", "standing", "outcome", "author", "supersedes_also", "declared", "typed")


class PlainStore(RecordStore):
    """A dict of version lists, with nothing but what the port demands."""

    def __init__(self, *records: MemoryRecord) -> None:
        self.versions: dict[str, list[MemoryRecord]] = {}
        self.lists = 0
        for record in records:
            self.put(record)

    def put(self, record: MemoryRecord) -> None:
        held = self.versions.setdefault(record.id, [])
        check_append(held[-1] if held else None, record)
        held.append(record)

    def get(self, record_id: str) -> MemoryRecord:
        return self.history(record_id)[-1]

    def history(self, record_id: str) -> tuple[MemoryRecord, ...]:
        found = self.versions.get(check_id(record_id))
        if found is None:
            raise unknown_id(record_id)
        return tuple(found)

    def list(
        self, *, state: RecordState | None = None, type: RecordType | None = None, tag: str | None = None
    ) -> tuple[MemoryRecord, ...]:
        self.lists += 1
        newest = (held[-1] for held in self.versions.values())
        return tuple(record for record in newest if matches(record, state, type, tag))


class BrokenStore(PlainStore):
    """Refuses every write."""

    def put(self, record: MemoryRecord) -> None:
        raise StoreError("the disk is full")


def said(
    body: str, *, kind: RecordType = RecordType.FACT, by: Provenance = SAID, days: float = 0, **fields: Any
) -> MemoryRecord:
    """A record, born ``days`` after T0; members of the extension and of the scope are given by name."""
    scope = {name: fields.pop(name) for name in ("project", "user_id", "agent_id", "session_id") if name in fields}
    members = {name: fields.pop(name) for name in EXTENDED if name in fields}
    extension = Extension(scope=Scope(**scope), **members)
    fields.setdefault("created_at", T0 + timedelta(days=days))
    return MemoryRecord.create(kind, body, by, extension=extension, **fields)


def source(ref: str | None, kind: str = "conversation") -> Provenance:
    return Provenance(kind=kind, ref=ref)


def create(record: MemoryRecord | None) -> Proposal:
    return Proposal(kind=ProposalKind.CREATE, record=record)


def states(store: RecordStore) -> dict[str, str]:
    """State by id."""
    return {record.id: record.state.value for record in store.list()}


def picture(store: PlainStore) -> dict[str, list[bytes]]:
    """Every byte the store holds."""
    return {
        record_id: [version.canonical_bytes() for version in versions] for record_id, versions in store.versions.items()
    }


def repeat(call: Callable[[], None]) -> None:
    """Call it five hundred times."""
    for _ in range(500):
        call()

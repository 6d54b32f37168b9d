"""The write stage: from text to records, each proposal checked before it is written (SPEC section 11).

:func:`ingest` reads a source with an extractor; :func:`admit` is the gate behind it, and the one the porcelain calls.
An extractor can only bring in new records: it cannot move, link or archive what is there, and rules come from promotion
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Final

from agent_memory.clock import now_utc, truncate
from agent_memory.errors import ArgumentTypeError, ProposalError
from agent_memory.fields import RESERVED_KINDS
from agent_memory.lineage import at_free_id
from agent_memory.ports import Operator, RecordStore
from agent_memory.proposals import Proposal, ProposalKind
from agent_memory.records import MemoryRecord, Provenance, RecordState, RecordType

from .report import IngestReport, Rejection
from .salience import SalienceScores

__all__ = ["admit", "ingest"]

_NAME: Final = "write"


def ingest(
    source: str | Mapping[str, object],
    *,
    extractor: Operator,
    store: RecordStore,
    provenance: Provenance,
    now: datetime | None = None,
    scores: SalienceScores | None = None,
) -> IngestReport:
    """Extract records from a source and write those that are new.

    Args:
        source: text, or a mapping, which is read as lines ``key: value`` with the keys sorted.
        extractor: proposes the records.
        store: takes them.
        provenance: where the source comes from; handed to the extractor.
        now: when what is repeated counts as touched; default the present.
        scores: counts those touches; without it they are not counted.

    Raises:
        ArgumentTypeError: ``source`` is neither text nor a mapping.
        StoreError: the store failed.
        Exception: whatever the extractor raises; nothing was written.
    """

    def touch(record_id: str, moment: datetime) -> None:
        if scores is not None:
            scores.touch(record_id, now=moment)

    proposals = extractor.propose(_text_of(source), provenance)
    return admit(proposals, store=store, now=now, touch=touch)


def admit(
    proposals: Iterable[Proposal],
    *,
    store: RecordStore,
    now: datetime | None = None,
    touch: Callable[[str, datetime], None] | None = None,
    prepare: Callable[[MemoryRecord], MemoryRecord] | None = None,
    duplicate_of: Callable[[MemoryRecord], MemoryRecord | None] | None = None,
    refuse: Callable[[MemoryRecord], Rejection | None] | None = None,
) -> IngestReport:
    """Write what proposals create, one after the other, in one transaction.

    A record whose id is held already, in the same scope and under the same key, is not written but touched.  When the
    holder of the id belongs to another scope or key, or ``duplicate_of`` says that it is another memory, the new record
    is born in the next free millisecond instead.

    Args:
        proposals: only creations of active records without lifecycle links are taken; rules are not.
        store: takes them.
        now: handed to ``touch``; default the present.
        touch: reinforces a record that was said again.
        prepare: may give a checked record its scope, tags, key and the like; it may not change its state.
        duplicate_of: finds the record that is the same memory, or answers None; without it the id alone decides.
        refuse: keeps a new record out by answering why, or answers None.

    Raises:
        ProposalError: ``proposals`` is no iterable of them.
        StoreError: the store failed.
        Exception: whatever ``prepare``, ``duplicate_of``, ``refuse`` or ``touch`` raises.  In both cases a store that
            has transactions keeps nothing of this call.
    """
    if isinstance(proposals, str | bytes | Mapping) or not isinstance(proposals, Iterable):
        raise ProposalError(f"an extractor must return a tuple of proposals, not {type(proposals).__name__}")
    moment = now_utc() if now is None else truncate(now, "now")
    accepted: list[str] = []
    deduped: list[str] = []
    rejected: list[Rejection] = []
    with store.transaction():
        for position, proposal in enumerate(proposals, start=1):
            try:
                record = _checked(proposal)
                if prepare is not None:
                    record = prepare(record)
                held = None if duplicate_of is None else duplicate_of(record)
                if held is None:
                    record, held = _placed(store, record, by_id=duplicate_of is None)
            except ProposalError as error:
                rejected.append(Rejection(pass_name=_NAME, detail=_described(position, proposal), error=str(error)))
                continue
            refused = None if held is not None or refuse is None else refuse(record)
            if refused is not None:
                rejected.append(refused)
            elif held is None:
                store.put(record)
                accepted.append(record.id)
            else:
                if touch is not None:
                    touch(held.id, moment)
                deduped.append(held.id)
    return IngestReport(accepted=tuple(accepted), deduped=tuple(deduped), rejected=tuple(rejected))


def _text_of(source: object) -> str:
    if isinstance(source, str):
        return source
    if isinstance(source, Mapping):
        lines = sorted(((str(key), value) for key, value in source.items()), key=lambda line: line[0])
        return "\n".join(f"{key}: {value}" for key, value in lines)
    raise ArgumentTypeError(f"source must be text or a mapping, not {type(source).__name__}")


def _checked(proposal: object) -> MemoryRecord:
    """The record a proposal creates; ProposalError when no extractor may ask for it."""
    if not isinstance(proposal, Proposal):
        raise ProposalError(f"an extractor must return proposals, not {type(proposal).__name__}")
    if proposal.kind is not ProposalKind.CREATE:
        raise ProposalError(f"an extractor may only create records, not {proposal.kind}")
    record = proposal.record
    if not isinstance(record, MemoryRecord):
        raise ProposalError("a create proposal must carry a record, and this one has no record")
    if record.type is RecordType.RULE:
        raise ProposalError("rules come from promotion alone; propose the episodes they would be drawn from")
    if record.state is not RecordState.ACTIVE:
        raise ProposalError(f"a record must be born active, but this one is {record.state}")
    if record.replaces or record.superseded_by is not None:
        raise ProposalError(
            "a record must be born without lifecycle links; what it replaces is not the extractor's to say"
        )
    if record.provenance.kind in RESERVED_KINDS:
        raise ProposalError(f"provenance of kind {record.provenance.kind!r} is the memory's own to give")
    return record


def _placed(store: RecordStore, record: MemoryRecord, *, by_id: bool) -> tuple[MemoryRecord, MemoryRecord | None]:
    """``record`` under an id that is free, and None; or the record and the holder of its id that is the same memory."""
    same: list[MemoryRecord] = []

    def is_taken(record_id: str) -> bool:
        held = store.get_many([record_id]).get(record_id)
        if held is None or not by_id:
            return held is not None
        if held.redacted:
            raise ProposalError(f"record {record_id} was redacted; the same birth content cannot be written again")
        if (held.scope.consolidation, held.key) != (record.scope.consolidation, record.key):
            return True
        same.append(held)
        return False

    return at_free_id(record, is_taken), same[0] if same else None


def _described(position: int, proposal: object) -> str:
    """A proposal by its place, kind and id; nothing of what it says."""
    if not isinstance(proposal, Proposal):
        return f"proposal {position}"
    about = proposal.record.id if isinstance(proposal.record, MemoryRecord) else "without a record"
    return f"proposal {position}: {proposal.kind} {about}"

"""What each tool answers: typed, so that the client knows the shape before the first call."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from agent_memory.clock import time_to_wire
from agent_memory.pipeline.retrieved import RetrievedRecord
from agent_memory.records import MemoryRecord

__all__ = [
    "Consolidated",
    "Credited",
    "Dispute",
    "Found",
    "FoundRecord",
    "Landed",
    "Record",
    "Redacted",
    "Remembered",
    "Resolved",
    "Result",
    "Status",
    "Verdict",
    "Version",
    "WriteResult",
]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Sparse(_Shape):
    """A shape of which a model sees only what is set: records come by the dozen, and each field costs tokens."""

    @model_serializer(mode="wrap")
    def _without_unset(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in handler(self).items() if value is not None and value != []}


# ------------------------------------------------------------------ records


class Record(_Sparse):
    """A memory, in its newest version.  What is not set is left out."""

    record_id: str
    type: str = Field(description="fact, episode, procedure or rule")
    state: str = Field(
        description="active; transitional: disputed; superseded: replaced; archived: retired, faded or blocked"
    )
    text: str
    key: str | None = None
    object: str | None = None
    tags: list[str] = []
    value: float | None = Field(None, description="importance, when above 1")
    confidence: float
    source: str | None = None
    author: str | None = None
    occurred_at: str | None = None
    created_at: str
    updated_at: str
    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    derived_from: list[str] = []
    supersedes: list[str] = []
    superseded_by: str | None = None
    disputed_with: str | None = Field(None, description="the other side of the dispute; settle it with resolve")
    state_reason: str | None = None
    flag_reason: str | None = Field(None, description="why a rule is in doubt")
    good: int | None = Field(None, description="good outcomes credited to it")
    bad: int | None = Field(None, description="bad outcomes credited to it")
    redacted: bool | None = None

    @classmethod
    def facts(cls, record: MemoryRecord) -> dict[str, Any]:
        """The fields of a record, by name."""
        scope = record.scope
        return {
            "record_id": record.id,
            "type": record.type.value,
            "state": record.state.value,
            "text": record.body,
            "key": record.key,
            "object": record.object,
            "tags": list(record.tags),
            "value": record.value if record.value > 1 else None,
            "confidence": record.confidence,
            "source": record.provenance.ref,
            "author": record.author,
            "occurred_at": None if record.occurred_at is None else time_to_wire(record.occurred_at),
            "created_at": time_to_wire(record.created_at),
            "updated_at": time_to_wire(record.updated_at),
            "user_id": scope.user_id,
            "agent_id": scope.agent_id,
            "session_id": scope.session_id,
            "derived_from": list(record.evidence),
            "supersedes": list(record.replaces),
            "superseded_by": record.superseded_by,
            "disputed_with": None if record.transition is None else record.transition.other(record.id),
            "state_reason": record.state_reason,
            "flag_reason": record.flag_reason,
            **_outcomes(record),
            "redacted": record.redacted or None,
        }

    @classmethod
    def of(cls, record: MemoryRecord) -> Record:
        """A record as a model is shown it."""
        return cls(**cls.facts(record))


class FoundRecord(Record):
    """A record that a recall found."""

    score: float = Field(description="relevance, state, age, use, confidence, importance and outcomes, multiplied")
    reasons: list[str] = Field(description="why it is here")

    @classmethod
    def found(cls, item: RetrievedRecord) -> FoundRecord:
        return cls(**cls.facts(item.record), score=round(item.score, 6), reasons=[str(why) for why in item.reasons])


class Version(_Sparse):
    """One version of a record: what it was from ``updated_at`` on."""

    record_id: str
    version: int
    state: str
    updated_at: str
    state_reason: str | None = None
    superseded_by: str | None = None
    good: int | None = None
    bad: int | None = None

    @classmethod
    def of(cls, record: MemoryRecord, number: int) -> Version:
        return cls(
            record_id=record.id,
            version=number,
            state=record.state.value,
            updated_at=time_to_wire(record.updated_at),
            state_reason=record.state_reason,
            superseded_by=record.superseded_by,
            **_outcomes(record),
        )


def _outcomes(record: MemoryRecord) -> dict[str, int | None]:
    standing = record.standing
    return {"good": None, "bad": None} if standing is None else {"good": standing.good, "bad": standing.bad}


# ------------------------------------------------------------------ what every tool answers


class Result(_Shape):
    """What every tool answers: the scope the call worked in.  null is no limit."""

    project: str | None
    user_id: str | None
    agent_id: str | None
    session_id: str | None


class Verdict(_Shape):
    """What became of a write."""

    record_id: str | None = Field(description="the record that holds the text now")
    deduped: bool = Field(description="a record said it already and was reinforced; nothing new was made")
    blocked: bool = Field(description="it was recorded as history and does not stand; current_id does")
    policy: str | None = Field(description="why it was blocked: echo_guard or backfill")
    current_id: str | None = Field(description="the record that stands under the key")
    superseded_id: str | None = Field(description="the record this one replaced")
    note: str | None = Field(description="what to know or do next")
    lineage_dropped: int = Field(description="how many derived_from ids the replaced value had and this write lacks")
    persisted: bool = Field(description="false: it is not saved; persist_error says why")
    persist_error: str | None


class Landed(_Sparse):
    """What became of a write that could not be saved when it was made."""

    kept_as: int
    verdict: Verdict | None = None
    error: str | None = Field(None, description="why it was refused after all; it is not kept any more")


class WriteResult(Result):
    """What every tool that writes answers."""

    pending_writes: int = Field(description="earlier writes that still wait to be saved")
    landed: list[Landed] = Field(description="earlier writes that waited and have been saved since")


class Dispute(_Shape):
    """Two records that cannot both be true."""

    record_ids: list[str]
    reason: str


class Consolidated(_Shape):
    """What tidying up after this write did, when it was due."""

    merged: int = Field(description="records folded into others that say the same")
    disputes: list[Dispute] = Field(description="new disputes; settle each with resolve")
    rules: int = Field(description="rules drawn from repeated episodes")


class Remembered(WriteResult, Verdict):
    """What ``remember`` answers."""

    kept_as: int | None = Field(description="number under which a write that is not saved is kept and tried again")
    consolidation: Consolidated | None
    consolidation_error: str | None


class Found(Result):
    """What ``recall`` answers."""

    records: list[FoundRecord] = Field(description="best first; the two sides of a dispute come together")
    total_tokens: int
    budget_tokens: int


class History(Result):
    """What ``history`` answers."""

    key: str | None
    current_id: str | None = Field(description="the record that stands under the key")
    records: list[Record] = Field(description="oldest first")
    versions: list[Version] = Field(description="what each went through, oldest first")


class Resolved(WriteResult):
    """What ``resolve`` answers."""

    winner: Record
    loser: Record


class Credited(WriteResult):
    """What ``credit`` answers."""

    record_id: str
    good: int
    bad: int


class Redacted(WriteResult):
    """What ``redact`` answers."""

    record_id: str
    redacted: bool
    erasure_pending: bool = Field(description="another process still holds erased bytes open; ask status again later")


class Status(Result):
    """What ``status`` answers."""

    records: int
    by_state: dict[str, int]
    by_type: dict[str, int]
    open_contradictions: int
    damaged: int = Field(description="files or rows that cannot be read; a person should run agent-memory doctor")
    erasure_pending: bool
    pending_writes: int = Field(description="writes that wait to be saved")
    pending_error: str | None = Field(description="why they could not be saved")
    path: str | None
    agent: str | None = Field(description="address this memory signs with")
    version: str

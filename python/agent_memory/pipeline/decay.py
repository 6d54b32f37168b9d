"""Archiving what nobody uses: mechanical, by salience, and never deletion (SPEC section 13).

What others depend on is protected, and reported instead of touched.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Final

from agent_memory.clock import now_utc, truncate
from agent_memory.lifecycle import archive
from agent_memory.ports import RecordStore
from agent_memory.records import MemoryRecord, RecordState, RecordType

from .report import Action, DecayReport
from .salience import DecayConfig, SalienceScores, salience

__all__ = ["decay"]

_NAME: Final = "decay"
_NO_SCORES: Final = SalienceScores()


def decay(
    store: RecordStore,
    *,
    scores: SalienceScores | None = None,
    now: datetime | None = None,
    config: DecayConfig | None = None,
    half_life: Callable[[MemoryRecord], float] | None = None,
    only: Callable[[MemoryRecord], bool] | None = None,
) -> DecayReport:
    """Archive every record whose salience fell below the threshold, unless it is protected.

    Protected are both sides of a dispute, rules that are not flagged, the evidence of active rules, and the standing
    record of a key.  Records archived already are not looked at.

    Args:
        scores: touches; without it no record was ever touched.
        now: the moment ages are measured to; default the present.
        config: default half-life 30 days for every record.
        half_life: days for one record, above 0, instead of what ``config`` says.
        only: whether a record is looked at; what the others depend on is protected all the same.

    Raises:
        RecordError: ``now`` is naive.
        ArgumentError: a half-life that is not above 0.
        StoreError: the store failed.
    """
    moment = now_utc() if now is None else truncate(now, "now")
    rates = DecayConfig() if config is None else config
    counts = _NO_SCORES if scores is None else scores
    archived: list[Action] = []
    protected: list[Action] = []
    saliences: dict[str, float] = {}
    with store.transaction():
        records = sorted(store.list(), key=lambda record: record.id)
        cited = {
            record_id
            for record in records
            if record.type is RecordType.RULE and record.state is RecordState.ACTIVE
            for record_id in record.evidence
        }
        versions: list[MemoryRecord] = []
        for record in records:
            if record.state is RecordState.ARCHIVED or (only is not None and not only(record)):
                continue
            value = salience(
                record,
                touches=counts.touches(record.id),
                last_touched=counts.last_touched(record.id),
                now=moment,
                config=rates if half_life is None else replace(rates, half_life_days=half_life(record), half_lives={}),
            )
            saliences[record.id] = value
            if value >= rates.archive_threshold:
                continue
            faded = f"salience {value:.4f} is below the archive threshold {rates.archive_threshold:g}"
            kept_because = _protection(record, cited)
            if kept_because is not None:
                protected.append(_action(record, "protect", record.state, f"{faded}; kept: {kept_because}"))
                continue
            versions.append(archive(record, reason=faded, now=moment))
            archived.append(_action(record, "archive", RecordState.ARCHIVED, faded))
        if versions:
            store.put_many(versions)
    return DecayReport(archived=tuple(archived), protected=tuple(protected), saliences=saliences)


def _protection(record: MemoryRecord, cited: set[str]) -> str | None:
    """The rule that keeps a faded record, or None."""
    if record.state is RecordState.TRANSITIONAL:
        return "in an open dispute, and both sides of it stay visible"
    if record.type is RecordType.RULE and not record.flagged:
        return "an unflagged rule; rules fade only after their evidence is gone"
    if record.id in cited:
        return "cited as evidence by an active rule"
    if record.key is not None and record.state is RecordState.ACTIVE:
        return "the standing record of its key"
    return None


def _action(record: MemoryRecord, action: str, after: RecordState, reason: str) -> Action:
    return Action(
        pass_name=_NAME,
        action=action,
        record_ids=(record.id,),
        before=(record.state.value,),
        after=(after.value,),
        reason=reason,
    )

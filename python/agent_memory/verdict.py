"""What a write did, told to whoever wrote: the verdict (spec/corrections.md section 17.10)."""

from __future__ import annotations

from dataclasses import dataclass

from .pipeline.report import ConsolidationReport, IngestReport

__all__ = ["RememberResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberResult:
    """What ``remember``, ``revert`` or ``retire`` did.  ``blocked`` or not ``persisted``: the write did not land.

    Attributes:
        record_id: the record that holds the text now, for a blocked write the one that is kept as history; None when
            the extractor found nothing worth keeping.
        deduped: a record said it already, and nothing new was created.
        ingest: what the write stage accepted, found again and refused.
        consolidation: the report of the pass this call set off, or None.
        consolidation_error: why that pass failed, or None; what was remembered stands, and a later pass tries again.
        blocked: the write was archived on arrival: ``policy`` says by which rule, ``note`` what to do.
        policy: ``echo_guard`` or ``backfill``, or None.
        current_id: the record that stands under the key, or None.
        superseded_id: the record this write took the place of, or None.
        note: what to do next, when there is something to do; None otherwise.
        lineage_dropped: how many ``derived_from`` ids the value this write replaced had, when the write has none.
        persisted: whether the write was saved.
        persist_error: why it was not.
        project: the project it is stamped with, or None.
    """

    record_id: str | None
    deduped: bool
    ingest: IngestReport
    consolidation: ConsolidationReport | None = None
    consolidation_error: str | None = None
    blocked: bool = False
    policy: str | None = None
    current_id: str | None = None
    superseded_id: str | None = None
    note: str | None = None
    lineage_dropped: int = 0
    persisted: bool = True
    persist_error: str | None = None
    project: str | None = None

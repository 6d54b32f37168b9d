"""When two records are the same memory: what makes a repeated ``remember`` a reinforcement (SPEC section 11.5).

Text is the same memory when consolidation scope, key, type, source and text are equal, and for an episode the UTC day
it happened.  Only live records count: what was superseded or archived may be said anew.  Equal texts from different
sources are different records, so that each source can be erased by itself.
"""

from __future__ import annotations

from . import kernel
from .lineage import event_day
from .records import MemoryRecord

__all__ = ["saying"]


def saying(record: MemoryRecord) -> bytes:
    """What a record says, whose and where from, as 16 bytes: equal for two records that are the same memory."""
    day = event_day(record)
    whole = [*record.scope.consolidation, record.key, record.type, record.provenance.ref, record.body, str(day)]
    return bytes.fromhex(kernel.digest(whole)[:32])

"""Carrying out an erasure: what :mod:`agent_memory.erasure` plans is written, and the counts of it forgotten (SPEC
section 15).

Called by the porcelain alone: no operator's proposal reaches it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from .door import Door
from .erasure import plan_erasure
from .errors import StoreError
from .ports import RecordStore, unknown_id
from .records import MemoryRecord
from .touches import Touches

__all__ = ["redact_record"]


def redact_record(
    record_id: str,
    reason: str,
    *,
    door: Door,
    store: RecordStore,
    touches: Touches,
    may_erase: Callable[[MemoryRecord], bool],
    cascade: bool,
    promotion_threshold: int,
    now: datetime,
) -> MemoryRecord:
    """Replace a record, and with ``cascade`` everything drawn from it in whatever scope, by tombstones.

    Args:
        door, store: what writes, and the store behind it.
        touches: forgets what is erased.
        may_erase: whether a record exists for the caller; what is drawn from it is erased wherever it lies.

    Returns:
        The tombstone of ``record_id``.

    Raises:
        RecordError: the record, and all that was drawn from it, is redacted already.
        StoreError: an unknown id, a store that cannot redact, or one that failed; asking again finishes.
    """
    redact = getattr(store, "redact", None)
    if not callable(redact):
        raise StoreError(f"{type(store).__name__} cannot redact; it offers no redact()")
    with door.transaction():
        asked = store.get(record_id)
        if not may_erase(asked):
            raise unknown_id(record_id)
        newest = {record.id: record for record in (*store.list(), asked)}
        plan = plan_erasure(newest, [record_id], cascade=cascade, now=now, promotion_threshold=promotion_threshold)
        if not plan.erased:  # done before; what was left to do after that is done again
            touches.forget(plan.reached)
        # What is carried on goes first and what was asked for last: should a store without transactions fail on the
        # way, nothing is lost, and asking again finishes.
        door.put_many((*plan.reopened, *plan.recreated))
        door.redact(lambda erased: redact(erased, reason), plan.erased[::-1] or (record_id,))
    try:
        touches.forget(plan.reached)
    except StoreError as error:
        raise StoreError(
            f"{record_id} is redacted, but how often it was recalled is still noted; redact it again to remove "
            f"that: {error}"
        ) from error
    return store.get(record_id)

"""What a memory holds, counted: what ``Memory.status`` answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from .records import MemoryRecord

__all__ = ["counted"]


def counted(records: Iterable[MemoryRecord]) -> dict[str, Any]:
    """``records``, ``by_state``, ``by_type`` and ``open_contradictions``, the disputes with a side among them."""
    held = tuple(records)
    return {
        "records": len(held),
        "by_state": dict(sorted(Counter(record.state.value for record in held).items())),
        "by_type": dict(sorted(Counter(record.type.value for record in held).items())),
        "open_contradictions": len({frozenset(record.transition.sides) for record in held if record.transition}),
    }

"""What two records have in common and what they would lose: the comparisons every pass shares (SPEC section 12.1).

Pure functions over records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from agent_memory.extension import MAX_COUNT, Standing
from agent_memory.records import MemoryRecord
from agent_memory.text import analyse, slot_values_clash, statements_oppose

__all__ = [
    "agree",
    "common",
    "disagreement",
    "fitting",
    "folds_into",
    "keyed_value",
    "precedence",
    "strength",
    "summed_standing",
    "united",
    "values_clash",
]


def strength(record: MemoryRecord) -> tuple[float, datetime, str]:
    """What decides whose words stay: confidence, creation, id; the greatest wins."""
    return (record.confidence, record.created_at, record.id)


def precedence(record: MemoryRecord) -> tuple[bool, bool, float, datetime, str]:
    """What decides which of several copies stays as it is: a key, an object, then strength; the greatest wins."""
    return (record.key is not None, record.object is not None, *strength(record))


def folds_into(copy: MemoryRecord, keeper: MemoryRecord) -> bool:
    """Whether ``keeper`` has the key and the object that ``copy`` would bring, if any."""
    return copy.key in (None, keeper.key) and copy.object in (None, keeper.object)


def fitting(a: MemoryRecord, b: MemoryRecord) -> bool:
    """Whether no key and no object would be lost or mixed up if one of the two stood for both."""
    return folds_into(a, b) or folds_into(b, a)


def agree(x: Mapping[str, Any], y: Mapping[str, Any]) -> bool:
    """Whether no member the two have in common differs."""
    return all(x[name] == y[name] for name in x.keys() & y.keys())


def keyed_value(record: MemoryRecord) -> str:
    """What a record asserts under its key: its object, else its text."""
    return record.body if record.object is None else record.object


def values_clash(x: str, y: str) -> bool:
    """As :func:`agent_memory.text.slot_values_clash`, without its cost for two plain words or numbers."""
    if x == y:
        return False
    if x.isascii() and y.isascii() and x.isalnum() and y.isalnum():
        return x.lower() != y.lower()
    return slot_values_clash(x, y)


def disagreement(a: MemoryRecord, b: MemoryRecord) -> str | None:
    """Why two records of one type cannot both hold, or None: a slot, their key, or one denies the other."""
    if any(values_clash(a.slots[name], b.slots[name]) for name in a.slots.keys() & b.slots.keys()):
        return "they give one slot different values"
    if a.key is not None and a.key == b.key and _key_values_clash(a, b):
        return "they give one key different values"
    if statements_oppose(analyse(a.body), analyse(b.body)):
        return "one denies what the other states"
    return None


def _key_values_clash(a: MemoryRecord, b: MemoryRecord) -> bool:
    if a.object is not None and b.object is not None:
        return values_clash(a.object, b.object)
    return values_clash(a.body, b.body)


def united(texts: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """All of several lists, each once, sorted."""
    return tuple(sorted({text for items in texts for text in items}))


def common(values: Iterable[str | None]) -> str | None:
    """The one value all have, or None."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else None


def summed_standing(records: Iterable[MemoryRecord]) -> Standing | None:
    """The outcomes credited to any of them, added up; None when none has any."""
    standings = [record.standing for record in records if record.standing is not None]
    if not standings:
        return None
    good = sum(standing.good for standing in standings)
    bad = sum(standing.bad for standing in standings)
    return Standing(min(good, MAX_COUNT), min(bad, MAX_COUNT))

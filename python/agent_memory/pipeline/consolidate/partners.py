"""Whom each record of a block may still be merged with, as far as key and object tell (SPEC section 12.2).

A block may hold thousands that say one thing under as many keys.  Here each finds the few it fits without being
compared with the rest.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Iterable
from typing import Final, TypeAlias

from agent_memory.records import MemoryRecord

__all__ = ["Partners"]

_Terms: TypeAlias = tuple[str | None, str | None]
"""Key and object."""
_Label: TypeAlias = tuple[str, str | None, str | None]

_BARE: Final = (None, None)


class Partners:
    """The records of a block, in its order, by the key and the object they are offered with by now.

    Two fit as :func:`agent_memory.pipeline.consolidate.values.fitting` has it: one of them has all that the other
    brings.
    """

    def __init__(self, block: Iterable[MemoryRecord]) -> None:
        self._places: dict[str, int] = {}
        self._lists: defaultdict[_Label, list[int]] = defaultdict(list)
        for place, record in enumerate(block):
            self._places[record.id] = place
            for label in _labels(_terms(record)):
                self._lists[label].append(place)

    def after(self, place: int, form: MemoryRecord) -> int | None:
        """The first place behind ``place`` that what is offered as ``form`` fits; None when there is none."""
        terms = _terms(form)
        if terms == _BARE:
            return place + 1 if place + 1 < len(self._places) else None
        nearest: int | None = None
        for label in _fitting(terms):
            places = self._lists.get(label, ())
            at = bisect_right(places, place)
            if at < len(places) and (nearest is None or places[at] < nearest):
                nearest = places[at]
        return nearest

    def grown(self, record_ids: Iterable[str], before: MemoryRecord, form: MemoryRecord) -> None:
        """Take note that records are offered as ``form`` from now on, and no more as ``before``."""
        old, new = _terms(before), _terms(form)
        if old == new:
            return
        for place in map(self._places.__getitem__, record_ids):
            for label in _labels(old):
                places = self._lists[label]
                del places[bisect_right(places, place) - 1]
            for label in _labels(new):
                insort(self._lists[label], place)


def _terms(record: MemoryRecord) -> _Terms:
    return record.key, record.object


def _labels(terms: _Terms) -> list[_Label]:
    """The lists on which a record is."""
    key, object_ = terms
    labels: list[_Label] = [("both", key, object_)]
    if key is not None:
        labels.append(("key", key, None))
    if object_ is not None:
        labels.append(("object", None, object_))
    return labels


def _fitting(terms: _Terms) -> list[_Label]:
    """The lists of all that fits what has a key, an object or both."""
    key, object_ = terms
    if object_ is None:
        return [("both", None, None), ("key", key, None)]
    if key is None:
        return [("both", None, None), ("object", None, object_)]
    return [("both", own, other) for own in (None, key) for other in (None, object_)]

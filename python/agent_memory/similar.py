"""Records that are alike and stayed apart: for whoever wants to look at what consolidation did not merge.

Nothing is written and no rule is decided here: how alike two texts are is :mod:`agent_memory.text`'s affair, and what
keeps two records apart that of the default near-duplicate operator.  ``Memory.similar`` and the command line call it.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final, TypeAlias

from .clock import now_utc
from .errors import ArgumentError, ArgumentTypeError
from .lineage import event_day
from .pipeline.consolidate import TrigramNearDupOperator, read_columns
from .pipeline.consolidate.values import agree, fitting
from .ports import RecordStore
from .records import MemoryRecord, RecordState, RecordType
from .text import Analysis, Item, analyse, reaches, same_statement, trigram_overlap, trigram_similarity

__all__ = ["SimilarPair", "SimilarPairs", "may_merge", "similar_pairs", "why_apart"]

SimilarPair: TypeAlias = tuple[MemoryRecord, MemoryRecord, float]
"""Two records, the one with the lesser id first, and the trigram similarity of their texts."""
SimilarPairs: TypeAlias = list[SimilarPair]

_AHEAD: Final = 512
"""Pairs whose records are read together."""
_NAMED: Final = 5
"""Most words of a side that are named as what it differs in."""
_COMPARED: Final = 10_000
"""Most pairs of words that are compared to tell an inflection from a difference."""


def similar_pairs(
    store: RecordStore,
    *,
    threshold: float = 0.6,
    limit: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> SimilarPairs:
    """Pairs of active records of one consolidation scope and type whose texts are alike, most alike first.

    Args:
        threshold: least trigram similarity, above 0 and up to 1; every such pair is found.
        limit: how many pairs at most, 1 or more; None for all.
        progress: called with ``read`` or ``compare``, how many records are done, and of how many, 0 for not known yet;
            what it raises ends the search.

    Raises:
        ArgumentError: a threshold or limit outside its range.
        StoreError: the store failed.
    """
    _check_range(threshold, limit)
    told = progress or (lambda *_: None)
    pairs = read_columns(store, progress).pairs("similar", threshold=threshold)

    def measured() -> Iterator[tuple[float, str, str]]:
        told("compare", 0, pairs.total)
        while batch := list(islice(pairs, _AHEAD)):
            held = store.get_many({record_id for pair in batch for record_id in pair})
            for first, second in batch:
                if first in held and second in held:
                    yield -trigram_similarity(held[first].body, held[second].body), first, second
            told("compare", pairs.done, pairs.total)
        told("compare", pairs.total, pairs.total)

    found = sorted(measured()) if limit is None else heapq.nsmallest(limit, measured())
    records = store.get_many({record_id for _, *pair in found for record_id in pair})
    return [
        (records[first], records[second], -negative)
        for negative, first, second in found
        if all(record_id in records and records[record_id].state is RecordState.ACTIVE for record_id in (first, second))
    ]


def why_apart(a: MemoryRecord, b: MemoryRecord) -> tuple[str, ...]:
    """What keeps the default operators from merging two active records of one scope, as far as it can be said.

    Empty when nothing does, or nothing that can be named.  What is said may quote the two records.
    """
    if a.type is not b.type:
        return ("they are of different types",)
    reasons = [] if fitting(a, b) else ["their keys or objects differ"]
    if a.slots != b.slots:
        names = sorted(name for name in a.slots.keys() | b.slots.keys() if a.slots.get(name) != b.slots.get(name))
        reasons.append(f"their slots differ: {_named(names)}")
    if a.body == b.body and a.slots == b.slots:  # exact copies, which are folded whatever else there is
        if event_day(a) != event_day(b):
            reasons.append("they happened on different days")
        return tuple(reasons)
    if a.type in (RecordType.EPISODE, RecordType.RULE):
        return (f"{a.type}s are not merged unless they are exact copies", *reasons)
    if a.key is not None and a.key == b.key:
        reasons.append("each has a key and stays in its own words")
    threshold = TrigramNearDupOperator().threshold
    if not reaches(*trigram_overlap(a.body, b.body), threshold):
        reasons.append(f"they are less alike than {threshold:g}, which a merge needs at least")
    if not (agree(a.extra, b.extra) and agree(a.extension.extra, b.extension.extra)):
        reasons.append("fields of theirs that this version does not know differ")
    return (*_differences(analyse(a.body), analyse(b.body)), *reasons)


def may_merge(a: MemoryRecord, b: MemoryRecord) -> bool:
    """Whether the default operators would merge the two if they were all there is."""
    if (a.type, a.body, a.slots, event_day(a)) == (b.type, b.body, b.slots, event_day(b)):
        return fitting(a, b)
    return TrigramNearDupOperator().propose_merge(a, b, now=now_utc()) is not None


def _differences(a: Analysis, b: Analysis) -> Iterator[str]:
    if same_statement(a, b):
        return
    if a.negated != b.negated:
        yield "one of them denies something"
    only_a, only_b = _unmatched(a.items, b.items)
    if only_a or only_b:
        what = "a number" if all(any(map(str.isdecimal, word)) for word in (*only_a, *only_b)) else "words"
        yield f"they differ in {what}: {_named(only_a)} | {_named(only_b)}"
    elif Counter(item.text for item in a.items) == Counter(item.text for item in b.items):
        yield "they have the same words in another order"
    else:
        yield "they do not say the same"


def _unmatched(a: Sequence[Item], b: Sequence[Item]) -> tuple[list[str], list[str]]:
    """What only one of the two has, in order; inflections of what the other has are left out."""
    only_a, only_b = _surplus(a, b), _surplus(b, a)
    if len(only_a) * len(only_b) <= _COMPARED:
        for item in list(only_a):
            match = next((other for other in only_b if same_statement(_alone(item), _alone(other))), None)
            if match is not None:
                only_a.remove(item)
                only_b.remove(match)
    return [item.text for item in only_a], [item.text for item in only_b]


def _surplus(items: Sequence[Item], others: Sequence[Item]) -> list[Item]:
    left = Counter(item.text for item in others)
    surplus = []
    for item in items:
        if left[item.text]:
            left[item.text] -= 1
        else:
            surplus.append(item)
    return surplus


def _alone(item: Item) -> Analysis:
    return Analysis(((), False, "", (item,)))


def _named(words: Sequence[str]) -> str:
    return ", ".join(words[:_NAMED]) + (" ..." if len(words) > _NAMED else "") if words else "nothing"


def _check_range(threshold: object, limit: object) -> None:
    if isinstance(threshold, bool) or not isinstance(threshold, int | float):
        raise ArgumentTypeError(f"threshold must be a number, not {type(threshold).__name__}")
    if not 0 < threshold <= 1:
        raise ArgumentError("threshold must be above 0 and at most 1, for a similarity is")
    if limit is None:
        return
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise ArgumentTypeError(f"limit must be a whole number or None, not {type(limit).__name__}")
    if limit < 1:
        raise ArgumentError("limit must be 1 or more, or None for all")

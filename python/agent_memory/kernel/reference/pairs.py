"""Which records make a pair: what is related, what is similar, what is opposed (spec/kernel.md, Columns).

Pairs are found by blocking: records are compared only with those they share a term, a trigram, a slot or a key with.
Prefix filters make the joins exact: two sets whose Jaccard similarity is at least t must share one of the rarest
|x| - ceil(t·|x|) + 1 members of each.
"""

from __future__ import annotations

import struct
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from math import ceil
from typing import Final, TypeAlias

from .near_dup import similar_pairs
from .rows import Row
from .text import slot_values_clash, statements_oppose

__all__ = ["BLOCK_LIMIT", "KINDS", "LISTED", "Pairs"]

KINDS: Final = ("similar", "related", "opposed")
BLOCK_LIMIT: Final = 256
"""Most records of one term or slot key that are related by it: the latest created."""
LISTED: Final = 100
"""Pairs put off that are named one by one; the rest is counted."""
_HALF: Final = Fraction(1, 2)

_Partners: TypeAlias = Callable[[int], Iterable[int]]


class Pairs:
    """An iterator over pairs of ids: group by group, the lesser id first, ascending.

    ``check`` raises when no next pair is to be had any more.

    Attributes:
        left_out: how many pairs, at most, a bound kept out.
        waiting: how many pairs were passed over so far, because a side was in a pair before.
        deferred: the first of those, up to a hundred.
        done, total: of how many records the pairs have been looked for so far, and of how many they are.
    """

    def __init__(
        self,
        kind: str,
        groups: Sequence[Sequence[Row]],
        check: Callable[[], None],
        *,
        threshold: float,
        about: frozenset[str] | None,
        once: bool,
    ) -> None:
        self._groups = [(rows, *_partners_of(kind, rows, threshold)) for rows in groups]
        self._check = check
        self._about = about
        self._once = once
        self._engaged: set[str] = set()
        self._found = self._all()
        self.left_out = sum(left_out for _, _, left_out in self._groups)
        self.waiting = 0
        self.deferred: list[tuple[str, str]] = []
        self.done, self.total = 0, sum(len(rows) for rows in groups)

    def __iter__(self) -> Pairs:
        return self

    def __next__(self) -> tuple[str, str]:
        self._check()
        for pair in self._found:
            if not self._once:
                return pair
            if self._engaged.isdisjoint(pair):
                self._engaged.update(pair)
                return pair
            self.waiting += 1
            if len(self.deferred) < LISTED:
                self.deferred.append(pair)
        raise StopIteration

    def _all(self) -> Iterator[tuple[str, str]]:
        for rows, later, _ in self._groups:
            for first, row in enumerate(rows):
                for second in sorted(later(first)):
                    pair = (row.id, rows[second].id)
                    if self._about is None or not self._about.isdisjoint(pair):
                        yield pair
                self.done += 1


def _partners_of(kind: str, rows: Sequence[Row], threshold: float) -> tuple[_Partners, int]:
    """For records of one group, sorted by id: the later positions each position makes a pair with, and how many pairs
    a bound left out."""
    if kind == "similar":
        return _similar(rows, threshold), 0
    if kind == "opposed":
        return _opposed(rows), 0
    return _related(rows)


def _similar(rows: Sequence[Row], threshold: float) -> _Partners:
    later: defaultdict[int, list[int]] = defaultdict(list)
    for first, second in struct.iter_unpack("<II", similar_pairs([row.body for row in rows], threshold)):
        later[first].append(second)
    return lambda first: later.get(first, ())


def _related(rows: Sequence[Row]) -> tuple[_Partners, int]:
    labels: list[set[Hashable]] = [
        {("term", term) for term in row.analysis.terms} | {("slot", name) for name in row.slots} for row in rows
    ]
    left_out = 0
    blocks = _blocks(labels)
    for name, block in blocks.items():
        if len(block) > BLOCK_LIMIT:
            left_out += _pairs_among(len(block)) - _pairs_among(BLOCK_LIMIT)
            latest = sorted(block, key=lambda position: (rows[position].born, position))[-BLOCK_LIMIT:]
            blocks[name] = latest
            for position in set(block).difference(latest):
                labels[position].discard(name)
    return _together(labels, blocks), left_out


def _pairs_among(count: int) -> int:
    return count * (count - 1) // 2


def _blocks(labels: Sequence[Iterable[Hashable]]) -> dict[Hashable, list[int]]:
    """Positions by label, ascending."""
    blocks: defaultdict[Hashable, list[int]] = defaultdict(list)
    for position, names in enumerate(labels):
        for name in names:
            blocks[name].append(position)
    return blocks


def _together(labels: Sequence[Collection[Hashable]], blocks: dict[Hashable, list[int]]) -> _Partners:
    """Later positions in any block of a position."""
    return lambda first: {other for name in labels[first] for other in blocks[name] if other > first}


def _opposed(rows: Sequence[Row]) -> _Partners:
    denials, clashes = _denials(rows), _clashes(rows)
    return lambda first: {*denials(first), *clashes(first)}


def _denials(rows: Sequence[Row]) -> _Partners:
    """Later records of opposite polarity with at least half of the core terms in common."""
    frequency = Counter(term for row in rows for term in row.analysis.core)
    prefixes = [
        sorted(core, key=lambda term: (frequency[term], term))[: len(core) - ceil(_HALF * len(core)) + 1]
        for core in (row.analysis.core for row in rows)
    ]
    blocks: defaultdict[tuple[str, bool], list[int]] = defaultdict(list)
    for position, terms in enumerate(prefixes):
        for term in terms:
            blocks[term, rows[position].analysis.negated].append(position)

    def partners(first: int) -> set[int]:
        own = rows[first].analysis
        return {
            other
            for term in prefixes[first]
            for other in blocks.get((term, not own.negated), ())
            if other > first and statements_oppose(own, rows[other].analysis)
        }

    return partners


def _clashes(rows: Sequence[Row]) -> _Partners:
    """Later records that give a slot both have, or the key both have, another value."""
    holders: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for position, row in enumerate(rows):
        for name in row.slots:
            holders["slot", name].append(position)
        if row.key is not None:
            holders["key", row.key].append(position)

    def partners(first: int) -> set[int]:
        own = rows[first]
        slots = {
            other
            for name, value in own.slots.items()
            for other in holders["slot", name]
            if other > first and slot_values_clash(value, rows[other].slots[name])
        }
        if own.key is None:
            return slots
        keys = holders["key", own.key]
        return slots.union(other for other in keys if other > first and _under_one_key(own, rows[other]))

    return partners


def _under_one_key(a: Row, b: Row) -> bool:
    """Whether the values two records have under their key clash: the objects when both have one, else the bodies."""
    if a.object is not None and b.object is not None:
        return slot_values_clash(a.object, b.object)
    return slot_values_clash(a.body, b.body)

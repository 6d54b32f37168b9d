"""Which pairs of records an operator is shown (SPEC section 12.2).

Pairs are found by blocking: records are compared only with those they share a term, a trigram, a slot or a key with, so
that what is not bounded by design loses no pair and still does not compare everything with everything.  Prefix filters
make the two similarity joins exact: two sets whose Jaccard similarity is at least t must share one of the rarest
|x| - ceil(t·|x|) + 1 members of each.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from math import ceil
from typing import Final

from agent_memory.records import MemoryRecord
from agent_memory.text import analyse, reaches, statements_oppose, trigrams

from .operators import Candidates
from .values import keyed_value, values_clash

__all__ = ["BLOCK_LIMIT", "Pairs", "candidate_pairs"]

BLOCK_LIMIT: Final = 256
"""Most records of one term or slot key that ``RELATED`` pairs with each other: the latest created."""

_Partners = Callable[[int], Iterable[int]]


class Pairs:
    """Positions (i, j), i < j, in ascending order, of the records that make a pair.

    Attributes:
        left_out: how many pairs, at most, a bound kept out.
    """

    def __init__(self, count: int, partners: _Partners, left_out: int = 0) -> None:
        self._count = count
        self._partners = partners
        self.left_out = left_out

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for first in range(self._count):
            for second in sorted(self._partners(first)):
                yield first, second


def candidate_pairs(kind: Candidates, records: Sequence[MemoryRecord], *, threshold: float) -> Pairs:
    """The pairs of ``kind`` among records of one scope and type, sorted by id.

    ``threshold`` is the similarity ``SIMILAR`` pairs reach; 0 or less means every pair, above 1 none.
    """
    if kind is Candidates.SAME_TERMS:
        return _same_terms(records)
    if kind is Candidates.SIMILAR:
        return _similar(records, threshold)
    if kind is Candidates.OPPOSED:
        return _opposed(records)
    return _related(records)


def _blocks(labels: Sequence[Iterable[Hashable]]) -> dict[Hashable, list[int]]:
    """Positions by label, ascending, for labels that more than one position has."""
    blocks: defaultdict[Hashable, list[int]] = defaultdict(list)
    for position, names in enumerate(labels):
        for name in names:
            blocks[name].append(position)
    return {name: block for name, block in blocks.items() if len(block) > 1}


def _together(labels: Sequence[Collection[Hashable]], blocks: dict[Hashable, list[int]]) -> _Partners:
    """Later positions in any block of a position."""

    def partners(first: int) -> set[int]:
        return {other for name in labels[first] for other in blocks.get(name, ()) if other > first}

    return partners


def _same_terms(records: Sequence[MemoryRecord]) -> Pairs:
    blocks: defaultdict[Hashable, list[int]] = defaultdict(list)
    places: list[tuple[list[int], int]] = []
    for position, record in enumerate(records):
        analysis = analyse(record.body)
        block = blocks[analysis.terms, analysis.bare]
        block.append(position)
        places.append((block, len(block)))
    return Pairs(len(records), lambda first: places[first][0][places[first][1] :])


def _related(records: Sequence[MemoryRecord]) -> Pairs:
    labels = [
        {("term", term) for term in analyse(record.body).terms} | {("slot", name) for name in record.slots}
        for record in records
    ]
    blocks = _blocks(labels)
    left_out = 0
    for name, block in blocks.items():
        if len(block) > BLOCK_LIMIT:
            left_out += _pairs_of(len(block)) - _pairs_of(BLOCK_LIMIT)
            latest = sorted(block, key=lambda position: (records[position].created_at, position))[-BLOCK_LIMIT:]
            blocks[name] = latest
            for position in set(block).difference(latest):
                labels[position].discard(name)
    return Pairs(len(records), _together(labels, blocks), left_out)


def _pairs_of(count: int) -> int:
    return count * (count - 1) // 2


def _prefixes(sets: Sequence[frozenset[str]], threshold: Fraction) -> list[tuple[str, ...]]:
    """The rarest members of each set, as many as a similarity of ``threshold`` (above 0) must share one of."""
    frequency = Counter(member for members in sets for member in members)
    return [
        tuple(sorted(members, key=lambda member: (frequency[member], member)))[
            : len(members) - ceil(threshold * len(members)) + 1
        ]
        for members in sets
    ]


def _similar(records: Sequence[MemoryRecord], threshold: float) -> Pairs:
    count = len(records)
    if threshold <= 0:
        return Pairs(count, lambda first: range(first + 1, count))
    if threshold > 1:
        return Pairs(count, lambda _: ())
    sets = [trigrams(record.body) for record in records]
    labels = _prefixes(sets, Fraction(repr(float(threshold))))
    sharing = _together(labels, _blocks(labels))

    def partners(first: int) -> Iterator[int]:
        own = sets[first]
        for other in sharing(first):
            shared = len(own & sets[other])
            if reaches(shared, len(own) + len(sets[other]) - shared, threshold):
                yield other

    return Pairs(count, partners)


def _opposed(records: Sequence[MemoryRecord]) -> Pairs:
    denials = _denials(records)
    clashes = _clashes(records)
    return Pairs(len(records), lambda first: {*denials(first), *clashes(first)})


def _denials(records: Sequence[MemoryRecord]) -> _Partners:
    """Later records of opposite polarity with at least half of the content terms in common."""
    analyses = [analyse(record.body) for record in records]
    prefixes = _prefixes([analysis.core for analysis in analyses], Fraction(1, 2))
    labels = [[(term, analysis.negated) for term in terms] for terms, analysis in zip(prefixes, analyses, strict=True)]
    blocks: defaultdict[tuple[str, bool], list[int]] = defaultdict(list)
    for position, names in enumerate(labels):
        for name in names:
            blocks[name].append(position)

    def partners(first: int) -> set[int]:
        return {
            other
            for term, negated in labels[first]
            for other in blocks.get((term, not negated), ())
            if other > first and statements_oppose(analyses[first], analyses[other])
        }

    return partners


def _clashes(records: Sequence[MemoryRecord]) -> _Partners:
    """Later records that give a shared slot, or the same key, another value."""
    holders: defaultdict[tuple[str, str], defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    labels: list[list[tuple[tuple[str, str], str]]] = []
    for position, record in enumerate(records):
        own = [(("slot", name), value) for name, value in record.slots.items()]
        if record.key is not None:
            own.append((("key", record.key), keyed_value(record)))
        labels.append(own)
        for name, value in own:
            holders[name][value].append(position)

    def partners(first: int) -> set[int]:
        return {
            other
            for name, value in labels[first]
            for held, positions in holders[name].items()
            if positions[-1] > first and values_clash(value, held)
            for other in positions
            if other > first
        }

    return partners

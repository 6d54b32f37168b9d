"""Near duplicates: every pair of texts whose trigrams are similar enough, none missed (spec/text.md section 6).

Pairs are found by a prefix filter, which is exact: two sets whose Jaccard similarity is at least t share one of the
rarest |x| - ceil(t·|x|) + 1 members of each.  The compiled kernel finds the same pairs in another way.
"""

from __future__ import annotations

import math
import struct
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import islice
from typing import Final

from agent_memory.errors import ArgumentError, ArgumentTypeError

from .normal import has_surrogate
from .text import similarity

__all__ = ["similar_pairs", "trigram_overlap"]

#: Groups and numbers of threads have 32 bits, limits 64.
LARGEST_NUMBER: Final = 2**32 - 1
LARGEST_LIMIT: Final = 2**64 - 1

#: Seconds from one call of ``progress`` to the next.
INTERVAL: Final = 0.1


def trigram_overlap(a: str, b: str, /) -> tuple[int, int]:
    """How many trigrams two texts share, and how many they have together."""
    return similarity.trigram_overlap(checked_text(a, "a"), checked_text(b, "b"))


def similar_pairs(
    texts: Iterable[str],
    threshold: float,
    /,
    *,
    groups: Iterable[int] | None = None,
    dirty: Iterable[bool] | None = None,
    limit: int | None = None,
    threads: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> bytes:
    """Every pair of texts whose trigram similarity reaches the threshold, as positions (i, j), i < j, in ascending
    order: two little-endian numbers of four bytes for each pair.

    Args:
        texts: the texts.
        threshold: the decimal it is written as, compared exactly.  0 or less means every pair, above 1 none; the
            similarity is 0 when either text is empty.
        groups: a number for each text, 0 to 2**32 - 1; texts of different groups make no pair.
        dirty: for each text whether it is dirty; a pair has at least one dirty side.
        limit: at most so many pairs, the first ones.
        threads: how many threads work, 0 for one on each processor; here it is one.
        progress: called with how many pairs are decided and how many there are to decide: at once, about every tenth of
            a second, and at the end.  What it raises ends the call.

    Raises:
        ArgumentError: NaN, a number outside its range, a lone surrogate, or not as many groups or flags as texts.
        ArgumentTypeError: an argument of another type.
    """
    bodies = [checked_text(text, f"texts[{index}]") for index, text in enumerate(items(texts, "texts"))]
    least = checked_threshold(threshold)
    numbers = [0] * len(bodies)
    if groups is not None:
        numbers = [checked_number(group, f"groups[{index}]") for index, group in enumerate(items(groups, "groups"))]
    flags = [True] * len(bodies)
    if dirty is not None:
        flags = [checked_flag(flag, f"dirty[{index}]") for index, flag in enumerate(items(dirty, "dirty"))]
    for given, name in ((numbers, "groups"), (flags, "dirty")):
        if len(given) != len(bodies):
            raise ArgumentError(f"{len(bodies)} texts and {len(given)} {name}: give one for each text, or none at all")
    if limit is not None:
        checked_number(limit, "limit", LARGEST_LIMIT)
    checked_number(threads, "threads")
    if progress is not None and not callable(progress):
        raise ArgumentTypeError(f"progress is of type '{type(progress).__name__}': it must be callable")

    by_group: defaultdict[int, list[int]] = defaultdict(list)
    for position, number in enumerate(numbers):
        by_group[number].append(position)
    told = Told(sum(pairs_among([flags[position] for position in block]) for block in by_group.values()), progress)
    pairs = sorted(
        (block[first], block[second])
        for block in by_group.values()
        for first, second in reaching([bodies[position] for position in block], least, told)
        if flags[block[first]] or flags[block[second]]
    )
    told.finish()
    return b"".join(struct.pack("<II", *pair) for pair in islice(pairs, limit))


def reaching(bodies: Sequence[str], least: float, told: Told) -> Iterator[tuple[int, int]]:
    """The pairs of one group, by their positions in it."""
    if least > 1:
        return
    if least <= 0:
        for second in range(len(bodies)):
            told.beat(second)
            yield from ((first, second) for first in range(second))
        return
    ratio = Fraction(repr(least))
    sets = [similarity.trigrams(body) for body in bodies]
    frequency = Counter(member for members in sets for member in members)
    earlier: defaultdict[str, list[int]] = defaultdict(list)
    for second, members in enumerate(sets):
        told.beat(second)
        rarest = sorted(members, key=lambda member: (frequency[member], member))
        prefix = rarest[: len(members) - math.ceil(ratio * len(members)) + 1]
        for first in {first for member in prefix for first in earlier[member]}:
            shared = len(members & sets[first])
            if shared >= ratio * (len(members) + len(sets[first]) - shared):
                yield first, second
        for member in prefix:
            earlier[member].append(second)


def pairs_among(flags: Sequence[bool]) -> int:
    """How many pairs of a group have a dirty side."""
    return math.comb(len(flags), 2) - math.comb(flags.count(False), 2)


class Told:
    """Tells a caller how far the work is: at once, now and then, and at the end."""

    def __init__(self, total: int, progress: Callable[[int, int], object] | None) -> None:
        self.total = total
        self.done = 0
        self.progress = progress
        self.next = time.monotonic() + INTERVAL
        if progress is not None:
            progress(0, total)

    def beat(self, pairs: int) -> None:
        """Say that so many more pairs are decided; of those without a dirty side, which are not counted, too."""
        self.done = min(self.done + pairs, self.total)
        if self.progress is not None and time.monotonic() >= self.next:
            self.progress(self.done, self.total)
            self.next = time.monotonic() + INTERVAL

    def finish(self) -> None:
        """Say that all pairs are decided."""
        if self.progress is not None:
            self.progress(self.total, self.total)


def items(values: Iterable[object], name: str) -> Iterator[object]:
    """The items of an argument.  A single text is none, though it could be iterated."""
    if not isinstance(values, str):
        try:
            return iter(values)
        except TypeError:
            pass
    raise ArgumentTypeError(f"{name} is of type '{type(values).__name__}': it must be a list or another iterable")


def checked_text(value: object, name: str) -> str:
    """The text, if it is one."""
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{name} is of type '{type(value).__name__}': it must be str")
    if has_surrogate(value):
        raise ArgumentError(f"{name} holds a lone surrogate, which is not text: replace it first")
    return value


def checked_threshold(value: object) -> float:
    """The threshold as a float; an integer too large for one is infinite."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ArgumentTypeError(f"threshold is of type '{type(value).__name__}': it must be a number")
    try:
        threshold = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    if math.isnan(threshold):
        raise ArgumentError("threshold is NaN: give a number; above 1 means never")
    return threshold


def checked_number(value: object, name: str, largest: int = LARGEST_NUMBER) -> int:
    """The number, if it is an integer within its range."""
    if not isinstance(value, int):
        raise ArgumentTypeError(f"{name} is of type '{type(value).__name__}': it must be an integer")
    if not 0 <= value <= largest:
        raise ArgumentError(f"{name} is out of range: it must be from 0 to {largest}")
    return value


def checked_flag(value: object, name: str) -> bool:
    """The flag, if it is one."""
    if not isinstance(value, bool):
        raise ArgumentTypeError(f"{name} is of type '{type(value).__name__}': it must be True or False")
    return value

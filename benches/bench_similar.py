"""Every pair of similar texts: CPU seconds of the join, beside ``SetSimilaritySearch`` on the same trigram sets.

.venv/bin/python benches/bench_similar.py [--million]        (the million takes minutes)

The peer is a package of its own (``pip install SetSimilaritySearch``); without it, only our own figures are printed.
Seconds are those of all threads together.
"""

from __future__ import annotations

import hashlib
import importlib
import statistics
import struct
import sys
import time
from collections.abc import Callable
from itertools import chain

from harness import corpus, exit_with, interleaved, report, require_release

from agent_memory import kernel
from agent_memory.text import trigrams

THRESHOLD = 0.6
AGAINST_THE_PEER = 3_000
GOALS = {10_000: 0.15, 100_000: 3.0}
MILLION = 1_000_000


def bodies(count: int) -> list[str]:
    return [record["body"] for record in corpus(count)]


def fingerprint(pairs: bytes) -> str:
    return hashlib.sha256(pairs).hexdigest()[:16]


def seconds(function: Callable[[], bytes], rounds: int) -> tuple[float, bytes]:
    """The median of the CPU seconds of a few rounds, and the result."""
    taken = []
    for _ in range(rounds):
        start = time.process_time()
        result = function()
        taken.append(time.process_time() - start)
    return statistics.median(taken), result


def against_the_peer() -> bool:
    try:
        peer = importlib.import_module("SetSimilaritySearch")
    except ImportError:
        print("SetSimilaritySearch is not installed: no comparison")
        return True
    texts = bodies(AGAINST_THE_PEER)
    sets = [trigrams(text) for text in texts]  # made beforehand: only we are timed for making them

    def theirs() -> bytes:
        found = peer.all_pairs(sets, similarity_func_name="jaccard", similarity_threshold=THRESHOLD)
        pairs = sorted((min(i, j), max(i, j)) for i, j, _ in found)
        return struct.pack(f"<{2 * len(pairs)}I", *chain.from_iterable(pairs))

    def ours() -> bytes:
        return kernel.similar_pairs(texts, THRESHOLD)

    expected, pairs = theirs(), ours()
    print(f"pairs {len(pairs) // 8:,}, {fingerprint(pairs)}; SetSimilaritySearch {fingerprint(expected)}")
    measured = interleaved({"ours": ours, "SetSimilaritySearch": theirs}, rounds=3)
    fast = report(f"similar pairs of {AGAINST_THE_PEER:,}, per text", measured, AGAINST_THE_PEER, goal=100)
    return pairs == expected and fast


def ours(count: int, goal: float | None) -> bool:
    texts = bodies(count)
    taken, pairs = seconds(lambda: kernel.similar_pairs(texts, THRESHOLD), 1 if count >= MILLION else 5)
    reached = goal is None or taken <= goal
    verdict = "" if goal is None else f"  goal {goal:g} s: {'reached' if reached else 'MISSED'}"
    print(f"similar pairs of {count:,}: {len(pairs) // 8:,}, {taken:.3f} s of CPU, {fingerprint(pairs)}{verdict}")
    return reached


def incremental(count: int, dirty: int) -> bool:
    """A few new texts among many: the work is about their number times that of all."""
    texts = bodies(count)
    step = count // dirty
    flags = [index % step == 0 for index in range(count)]
    taken, pairs = seconds(lambda: kernel.similar_pairs(texts, THRESHOLD, dirty=flags), 5)
    print(f"of {count:,}, {sum(flags)} of them new: {len(pairs) // 8:,}, {taken:.3f} s of CPU")
    return True


def main() -> None:
    require_release()
    verdicts = [against_the_peer()]
    verdicts += [ours(count, goal) for count, goal in GOALS.items()]
    verdicts.append(incremental(100_000, 100))
    if "--million" in sys.argv[1:]:
        verdicts.append(ours(MILLION, None))
    exit_with(verdicts)


if __name__ == "__main__":
    main()

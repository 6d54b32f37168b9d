"""Consolidation: everything at once, beside the peer; and what it adds to each ``remember`` as a memory grows.

    make bench        (or: .venv/bin/python benches/bench_consolidate.py [--peer] [--million])

CPU time of the whole process, reading the store and writing to it included; for ``remember`` wall time, which holds the
syncs of the disk.  ``--peer`` lets the peer consolidate the same 3,000 records, which takes it minutes; else 500.
``--million`` consolidates a million records in SQLite and prints the most memory the process ever had.
"""

from __future__ import annotations

import os
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness import corpus, exit_with, records, require_release

from agent_memory import InMemoryRecordStore, Memory, MemoryRecord, RecordStore, SQLiteRecordStore, consolidate

NOW = datetime(2026, 11, 1, tzinfo=UTC)
GOALS = {3_000: 0.25, 10_000: 1.0, 100_000: 10.0}
SMALL, LARGE = 100, 100_000
BLOCKS, BLOCK = 150, 4
MILLION = 1_000_000


def verdict(reached: bool) -> str:
    return "reached" if reached else "MISSED"


def filled(made: Sequence[MemoryRecord], folder: str, *, sqlite: bool) -> RecordStore:
    store: RecordStore = SQLiteRecordStore(Path(folder) / "store.db") if sqlite else InMemoryRecordStore()
    for start in range(0, len(made), 10_000):
        store.put_many(made[start : start + 10_000])
    return store


def full(made: Sequence[MemoryRecord], goal: float | None, *, sqlite: bool) -> tuple[float, bool]:
    """CPU seconds of one pass over everything with the default operators; of three runs the median, of many one."""
    times = []
    for _ in range(3 if len(made) <= 10_000 else 1):
        with tempfile.TemporaryDirectory() as folder:
            store = filled(made, folder, sqlite=sqlite)
            start = time.process_time()
            report = consolidate(store, now=NOW)
            times.append(time.process_time() - start)
            store.close()
    took = statistics.median(times)
    reached = goal is None or took <= goal
    place = "SQLite" if sqlite else "in memory"
    said = "" if goal is None else f"  goal {goal:g} s: {verdict(reached)}"
    print(
        f"{f'consolidate {len(made):,} {place}':<46} {took:8.3f} s CPU  "
        f"{len(report.actions):,} actions, {len(report.touched):,} records written{said}"
    )
    return took, reached


def beside_the_peer(count: int) -> bool:
    """The peer's consolidation of the same material with its own defaults, in this run."""
    try:
        import fg_agent_memory as peer
    except ImportError:
        print("the peer is not installed")
        return True
    material = corpus(count)
    store = peer.InMemoryRecordStore()
    for item in material:
        store.put(
            peer.MemoryRecord.create(
                peer.RecordType(item["type"]),
                item["body"],
                peer.Provenance(kind="conversation", ref=item["ref"]),
                tags=item["tags"],
                created_at=item["created_at"],
                confidence=item["confidence"],
            )
        )
    ours, _ = full(records(count), None, sqlite=False)
    start = time.process_time()
    peer.consolidate(store)
    theirs = time.process_time() - start
    ratio = theirs / ours
    goal = 300 if count >= 3_000 else None
    said = "" if goal is None else f"  goal {goal}x: {verdict(ratio >= goal)}"
    print(f"{f'the peer, {count:,} in memory':<46} {theirs:8.3f} s CPU  {ratio:8.1f}x{said}")
    return goal is None or ratio >= goal


def texts(count: int) -> list[str]:
    choose = random.Random(11)
    fresh = [item["body"] for item in corpus(count, seed=23)]
    choose.shuffle(fresh)
    return fresh


def remembering() -> bool:
    """Blocks of four remembers, each of which sets off one consolidation, on a small memory and a large one in turn."""
    made = records(LARGE)
    said = texts(2 * BLOCKS * BLOCK)
    with tempfile.TemporaryDirectory() as folder:
        memories: dict[str, Any] = {}
        bare: dict[str, RecordStore] = {}
        for name, count in (("small", SMALL), ("large", LARGE)):
            place = Path(folder) / name
            place.mkdir()
            filled(made[:count], str(place), sqlite=True).close()
            memories[name] = Memory(place / "store.db")
            memories[name].consolidate()
            twin = Path(folder) / f"{name}-twin"
            twin.mkdir()
            bare[name] = filled(made[:count], str(twin), sqlite=True)
        os.sync()
        blocks: dict[str, list[float]] = {"small": [], "large": []}
        singles: dict[str, list[float]] = {"small": [], "large": []}
        puts: dict[str, list[float]] = {"small": [], "large": []}
        fresh = iter(records(2 * BLOCKS * BLOCK, seed=29))
        waiting = iter(said)
        for _ in range(BLOCKS):
            for name, memory in memories.items():
                began = time.perf_counter()
                for _ in range(BLOCK):
                    start = time.perf_counter()
                    memory.remember(next(waiting))
                    singles[name].append(time.perf_counter() - start)
                blocks[name].append((time.perf_counter() - began) / BLOCK)
                for _ in range(BLOCK):
                    record = next(fresh)
                    start = time.perf_counter()
                    bare[name].put(record)
                    puts[name].append(time.perf_counter() - start)
        for memory in memories.values():
            memory.close()
    mean = {name: statistics.fmean(values) for name, values in blocks.items()}
    late = {name: sorted(values)[int(len(values) * 0.99)] for name, values in blocks.items()}
    put = {name: statistics.fmean(values) for name, values in puts.items()}
    growth, tail = mean["large"] / mean["small"], late["large"] / late["small"]
    above = (mean["large"] - put["large"]) * 1e3
    for name, count in (("small", SMALL), ("large", LARGE)):
        print(
            f"{f'remember at {count:,}, consolidating':<46} mean {mean[name] * 1e3:6.3f} ms  p99 of blocks "
            f"{late[name] * 1e3:6.3f} ms  the store's own put {put[name] * 1e3:6.3f} ms"
        )
    print(f"{'  growth of the mean':<46} {growth:6.2f}x  goal at most 2: {verdict(growth <= 2)}")
    print(f"{'  growth of the p99':<46} {tail:6.2f}x  goal at most 2: {verdict(tail <= 2)}")
    print(f"{'  mean above the put':<46} {above:6.3f} ms  goal at most 1: {verdict(above <= 1)}")
    return growth <= 2 and tail <= 2 and above <= 1


def a_million() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        store = SQLiteRecordStore(Path(folder) / "store.db")
        batch = 100_000
        for start in range(0, MILLION, batch):  # other seeds, so that the material is never held all at once
            store.put_many(records(batch, seed=100 + start // batch))
        store.close()
        child = os.fork()
        if child == 0:  # a process of its own, so that its peak memory is that of the consolidation
            store = SQLiteRecordStore(Path(folder) / "store.db")
            start = time.process_time()
            report = consolidate(store, now=NOW)
            took = time.process_time() - start
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
            reached = took <= 120 and peak <= 4
            print(
                f"{'consolidate 1,000,000 SQLite':<46} {took:8.1f} s CPU, {peak:.2f} GiB at most  "
                f"{len(report.actions):,} actions  goal 120 s and 4 GiB: {verdict(reached)}",
                flush=True,
            )
            os._exit(0 if reached else 1)
        return os.waitpid(child, 0)[1] == 0


def main() -> None:
    require_release()
    verdicts = []
    for count, goal in GOALS.items():
        made = records(count, slots=True)
        verdicts += [full(made, goal, sqlite=sqlite)[1] for sqlite in (False, True)]
    verdicts.append(beside_the_peer(3_000 if "--peer" in sys.argv else 500))
    verdicts.append(remembering())
    if "--million" in sys.argv:
        verdicts.append(a_million())
    exit_with(verdicts)


if __name__ == "__main__":
    main()

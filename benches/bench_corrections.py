"""What a key costs: a keyed remember beside one without a key, and beside PyPI ``inspeximus`` 3.23.

    python benches/bench_corrections.py [--records 100000] [--peer-records 20000]

Each in its SQLite default, synced after every write; wall time, interleaved, medians.  ``TMPDIR`` says on which disk:
no durable write is faster than its sync, which is printed beside.  The first part exits 1 when a keyed remember takes
more than 1.3 times an unkeyed one, the second when the peer is less than 50 times slower.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import harness

from agent_memory import Memory

KEYS = 500
"""Keys among the records, each with a few values."""
ROUNDS = 300


def filled(path: Path, count: int) -> Memory:
    """A memory of ``count`` records, of which :data:`KEYS` hold a key."""
    memory = Memory(path, auto_consolidate=False)
    plain = ({"text": f"{item['body']} (note {at})"} for at, item in enumerate(harness.corpus(count - KEYS)))
    keyed = (
        {"text": f"Service {at} runs in zone {at}-0.", "key": f"svc-{at}::zone", "object": f"{at}-0"}
        for at in range(KEYS)
    )
    memory.remember_many(itertools.chain(plain, keyed))
    return memory


def medians(contenders: dict[str, Callable[[int], object]], rounds: int) -> dict[str, tuple[float, float]]:
    """Median seconds of each, on the wall and of the processor, one call of each in turn, in an order that changes."""
    order = random.Random(7)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    for turn in range(rounds + 3):
        for name, call in order.sample(list(contenders.items()), len(contenders)):
            begun, used = time.perf_counter(), time.process_time()
            call(turn)
            if turn >= 3:
                times[name].append((time.perf_counter() - begun, time.process_time() - used))
    return {
        name: (statistics.median(wall for wall, _ in measured), statistics.median(used for _, used in measured))
        for name, measured in times.items()
    }


def beside_unkeyed(folder: Path, records: int) -> list[bool]:
    """A keyed remember beside one without a key, in a memory of ``records``."""
    with filled(folder / "memory.db", records) as memory:
        told = medians(
            {
                "unkeyed": lambda turn: memory.remember(f"The gate of hall {turn} opens at {turn % 24} o'clock."),
                "a new key": lambda turn: memory.remember(
                    f"The door of hall {turn} is painted {turn}.", key=f"hall-{turn}::colour", object=f"{turn}"
                ),
                "a correction": lambda turn: memory.remember(
                    f"Service {turn} runs in zone {turn}-1.", key=f"svc-{turn}::zone", object=f"{turn}-1"
                ),
                "an echo": lambda turn: memory.remember(
                    f"Service {turn - 1}, again in zone {turn - 1}-0",
                    key=f"svc-{turn - 1}::zone",
                    object=f"{turn - 1}-0",
                ),
                "reinforced": lambda turn: memory.remember(
                    f"Service {turn - 1} runs in zone {turn - 1}-1.",
                    key=f"svc-{turn - 1}::zone",
                    object=f"{turn - 1}-1",
                ),
            },
            ROUNDS,
        )
    verdicts = []
    for name, (wall, used) in told.items():
        ratio = wall / told["unkeyed"][0]
        reached = ratio <= 1.3
        verdicts.append(reached)
        print(
            f"{records:,} records, {name:<14} {wall * 1e6:9.0f} µs (processor {used * 1e6:6.0f} µs)  "
            f"{ratio:5.2f}x of unkeyed  goal 1.3x: {'reached' if reached else 'MISSED'}"
        )
    return verdicts


def beside_the_peer(folder: Path, records: int) -> list[bool]:
    """Corrections here and in ``inspeximus``, in memories of ``records``; each write is on disk when it returns."""
    from inspeximus import Inspeximus, sqlite_store

    source: Any = Inspeximus(path=None, echo_guard=True)  # one by one into a file it would take an hour
    for at, item in enumerate(harness.corpus(records - KEYS)):
        source.remember(f"{item['body']} (note {at})")
    for at in range(KEYS):
        source.remember(f"Service {at} runs in zone {at}-0.", key=f"svc-{at}::zone", object=f"{at}-0")
    sqlite_store.save(str(folder / "peer.db"), [dict(item) for item in source.items], sqlite_store.snapshot([]))
    peer: Any = Inspeximus(path=str(folder / "peer.db"), echo_guard=True)
    assert len(peer.items) == records

    def theirs(turn: int) -> None:
        peer.remember(f"Service {turn} runs in zone {turn}-1.", key=f"svc-{turn}::zone", object=f"{turn}-1")
        peer.flush()

    with filled(folder / "ours.db", records) as memory:
        told = medians(
            {
                "inspeximus": theirs,
                "ours": lambda turn: memory.remember(
                    f"Service {turn} runs in zone {turn}-1.", key=f"svc-{turn}::zone", object=f"{turn}-1"
                ),
            },
            60,
        )
    print(f"a bare fsync here takes {one_sync(folder) * 1e6:.0f} µs: each correction of ours waits for one")
    wall, used = ({name: times[which] for name, times in told.items()} for which in (0, 1))
    harness.report(f"a correction among {records:,}, processor", used, 1)
    return [harness.report(f"a correction among {records:,} records", wall, 1, goal=50)]


def one_sync(folder: Path) -> float:
    """Median seconds of appending a page to a file and syncing it."""
    with (folder / "synced").open("wb", buffering=0) as file:

        def sync(_turn: int) -> None:
            file.write(bytes(4096))
            os.fsync(file.fileno())

        return medians({"sync": sync}, 60)["sync"][0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--peer-records", type=int, default=20_000, help="0 leaves the peer out")
    arguments = parser.parse_args()
    harness.require_release()
    with tempfile.TemporaryDirectory() as folder:
        verdicts = beside_unkeyed(Path(folder), arguments.records)
        if arguments.peer_records:
            verdicts += beside_the_peer(Path(folder), arguments.peer_records)
    harness.exit_with(verdicts)


if __name__ == "__main__":
    main()

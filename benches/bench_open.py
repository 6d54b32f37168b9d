"""Opening a memory with its sidecars present, beside ``fg-agent-memory`` 0.2.0 on the same directory.

.venv/bin/python benches/bench_open.py [RECORDS]        (default 10,000; the peer, opened twice, takes minutes)
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import fg_agent_memory as peer
from harness import corpus, exit_with, interleaved, report, require_release

import agent_memory as ours


def fill(place: Path, records: int) -> None:
    with ours.Memory(place, auto_consolidate=False) as memory:
        memory.remember_many({"text": item["body"], "source": item["ref"]} for item in corpus(records))


def open_ours(place: Path) -> None:
    ours.Memory(place).close()


def main() -> None:
    require_release()
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        directory, database = Path(folder) / "memory", Path(folder) / "memory.db"
        for place in (directory, database):
            start = time.perf_counter()
            fill(place, records)
            print(f"filled {place.name} in {time.perf_counter() - start:.1f} s")
        opened = interleaved(
            {"directory": lambda: open_ours(directory), "database": lambda: open_ours(database)},
            rounds=5,
            clock=time.perf_counter,
        )
        peer.Memory(directory)  # the first time it makes its own sidecar
        start = time.perf_counter()
        memory = peer.Memory(directory)
        seconds = time.perf_counter() - start
        assert len(memory.store.list()) == len(ours.FileRecordStore(directory / "records").list())
        exit_with(
            [
                report(f"opening {records:,} records, {name}", {"ours": taken, "peer": seconds}, 1, goal=100)
                for name, taken in opened.items()
            ]
        )


if __name__ == "__main__":
    main()

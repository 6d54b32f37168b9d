"""Writing to SQLite beside raw ``sqlite3`` that makes the same inserts: many at once, singly, and as a file grows.

    make bench        (or: .venv/bin/python benches/bench_sqlite.py)

The raw side is given payloads, columns and numbers ready made; it writes into the same tables, with the same indexes,
triggers and pragmas.  "bare" is the same without anything of ours: the peer's three tables and indexes alone.  Wall
time, since syncing the disk is most of it; CPU time where it says so.
"""

from __future__ import annotations

import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from harness import exit_with, records, report, require_release

from agent_memory import MemoryRecord
from agent_memory.stores import SQLiteRecordStore

MANY = 20_000
SINGLE = 800
GROWTH = 100_000
BATCH = 1_000
PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON", "cache_size=-32768", "wal_autocheckpoint=4000")


class Raw:
    """The inserts of puts of new records, and nothing else."""

    def __init__(self, path: Path, *, bare: bool) -> None:
        SQLiteRecordStore(path).close()
        self.connection = sqlite3.connect(path, isolation_level=None)
        for pragma in PRAGMAS:
            self.connection.execute(f"PRAGMA {pragma}")
        if bare:
            ours = self.connection.execute("SELECT type, name FROM sqlite_master WHERE name LIKE 'agent_memory_%'")
            for kind, name in ours.fetchall():
                if kind == "trigger" or (kind == "index" and not name.startswith("agent_memory_keys")):
                    self.connection.execute(f"DROP {kind} {name}")
        self.count = 0

    def close(self) -> None:
        self.connection.close()

    def put(self, records: list[MemoryRecord], payloads: list[str]) -> None:
        execute = self.connection.executemany
        self.connection.execute("BEGIN IMMEDIATE")
        rows = list(zip(records, payloads, strict=True))
        execute("INSERT INTO history VALUES (?, 1, ?)", [(record.id, payload) for record, payload in rows])
        execute(
            "INSERT INTO records VALUES (?, ?, ?, ?, ?)",
            [
                (record.id, self.count + number, record.state.value, record.type.value, payload)
                for number, (record, payload) in enumerate(rows, start=1)
            ],
        )
        execute(
            "INSERT INTO record_tags VALUES (?, ?)", [(record.id, tag) for record in records for tag in record.tags]
        )
        self.connection.execute("COMMIT")
        self.count += len(records)


def measure(made: list[MemoryRecord], size: int) -> dict[str, dict[str, float]]:
    """Median seconds, wall and CPU, of one transaction of ``size`` records; the sides take turns at each."""
    payloads = [record.canonical_bytes().decode() for record in made]
    times: dict[str, list[tuple[float, float]]] = {"ours": [], "raw": [], "bare": []}
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(SQLiteRecordStore(Path(folder) / "ours.db")) as store,
        closing(Raw(Path(folder) / "raw.db", bare=False)) as raw,
        closing(Raw(Path(folder) / "bare.db", bare=True)) as bare,
    ):
        writers = {"ours": lambda some, _: store.put_many(some), "raw": raw.put, "bare": bare.put}
        for start in range(0, len(made), size):
            some, texts = made[start : start + size], payloads[start : start + size]
            for side in random.sample(list(writers), k=3):
                begun = time.perf_counter(), time.process_time()
                writers[side](some, texts)
                times[side].append((time.perf_counter() - begun[0], time.process_time() - begun[1]))
    return {
        clock: {side: statistics.median(pair[number] for pair in measured) for side, measured in times.items()}
        for number, clock in enumerate(("wall", "CPU"))
    }


def against_raw(title: str, made: list[MemoryRecord], size: int, goal: float) -> bool:
    verdicts = []
    for clock, seconds in measure(made, size).items():
        for other in ("raw", "bare"):
            wanted = goal if (clock, other) == ("wall", "raw") else None
            pair = {"ours": seconds["ours"], other: seconds[other]}
            verdicts.append(report(f"{title}, {clock}", pair, size, goal=wanted))
    return all(verdicts)


def growth(made: list[MemoryRecord]) -> bool:
    """What a put costs while the file grows.

    Ids are random, so in a small file the records of one transaction share index pages, and in a large one each has its
    own: that levels off, and raw ``sqlite3`` pays the same.  A put alone never shares any.
    """
    payloads = [record.canonical_bytes().decode() for record in made]
    with tempfile.TemporaryDirectory() as folder, closing(SQLiteRecordStore(Path(folder) / "m.db")) as store:
        singles = []
        batches = []
        for start in range(0, len(made), BATCH):
            some = made[start : start + BATCH]
            if start == BATCH or start + BATCH >= len(made):
                few, some = some[: BATCH // 2], some[BATCH // 2 :]
                singles.append(statistics.median(timed(lambda record=record: store.put(record)) for record in few))
            batches.append(timed(lambda some=some: store.put_many(some)) / len(some))
        with closing(Raw(Path(folder) / "raw.db", bare=False)) as raw:
            floor = [
                timed(lambda start=start: raw.put(made[start : start + BATCH], payloads[start : start + BATCH])) / BATCH
                for start in range(0, len(made), BATCH)
            ]
    verdicts = []
    for title, (first, last), limit in (
        ("put, one durable transaction each", singles, 1.5),
        ("put_many, 1,000 a transaction", ends(batches), None),
        ("raw inserts, 1,000 a transaction", ends(floor), None),
    ):
        slope = (last - first) * 1e6 / (len(made) / 100_000)
        reached = limit is None or last < limit * first
        verdicts.append(reached)
        verdict = "" if limit is None else f"  goal below {limit}x: {'reached' if reached else 'MISSED'}"
        print(
            f"{title:<46} at 1,000 records {first * 1e6:7.1f} µs, at {len(made):,} {last * 1e6:7.1f} µs, "
            f"slope {slope:+6.1f} µs per 100,000{verdict}"
        )
    return all(verdicts)


def timed(act: Callable[[], object]) -> float:
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun


def ends(seconds: list[float]) -> tuple[float, float]:
    """Medians of the first and the last tenth."""
    tenth = max(1, len(seconds) // 10)
    return statistics.median(seconds[:tenth]), statistics.median(seconds[-tenth:])


def main() -> None:
    require_release()
    made = records(GROWTH if "--quick" not in sys.argv else 20_000)
    exit_with(
        [
            against_raw("put_many, 1,000 a transaction", made[:MANY], BATCH, 0.5),
            against_raw("put, one durable transaction each", made[:SINGLE], 1, 0.8),
            growth(made),
        ]
    )


if __name__ == "__main__":
    main()

"""How quick the recall index is: build, recall, snapshot, memory (``make bench``; ``--million`` adds 1,000,000).

Each size twice: records without sessions, and records in sessions of thirty, so that episode context works.  A sample
is compared with the plain-Python reference first.  Times are of one thread's CPU where one thread works.
"""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import harness

from agent_memory import kernel
from agent_memory.kernel.reference.search import Index as PlainIndex

SIZES = (10_000, 100_000)
MILLION = 1_000_000
SESSION = 30
"""Records of a session."""
SAMPLE = 1_500
BUDGET = 1_000
"""Tokens of each recall; the answers are rows ready for Python."""
NOW = int(datetime(2026, 12, 1, tzinfo=UTC).timestamp() * 1000)
GOALS = {10_000: (60e-6, None), 100_000: (500e-6, None), MILLION: (3e-3, 12e-3)}
"""Seconds that the median of recalls, and 99 of a hundred, may take."""
MOST_BYTES = 600
"""Of memory for a record of a hundred characters."""
LEAST_BUILT = 100_000
"""Records a second and core."""
OPENING = {100_000: 0.4, MILLION: 4.0}


def payloads(count: int, *, sessions: bool) -> list[bytes]:
    """Canonical bytes of records of the corpus, without those that would have one id."""
    made: dict[str, bytes] = {}
    for number, material in enumerate(harness.corpus(count)):
        created = f"{material['created_at']:%Y-%m-%dT%H:%M:%S}.{material['created_at'].microsecond // 1000:03d}Z"
        record_id = "mem:" + sha256(f"{number} {material['body']}".encode()).hexdigest()[:32]
        wire: dict[str, Any] = {
            "body": material["body"],
            "confidence": f"{material.get('confidence', 1.0):.4f}",
            "created_at": created,
            "evidence": [],
            "id": record_id,
            "provenance": {"agent": None, "kind": "conversation", "ref": material.get("ref")},
            "slots": {},
            "state": "active",
            "tags": sorted(set(material.get("tags", ()))),
            "type": str(material["type"]),
            "updated_at": created,
        }
        if sessions:
            wire["agent_memory"] = {"scope": {"session_id": f"session-{number // SESSION}"}}
        made[record_id] = kernel.canonical_json(wire)
    return list(made.values())


def questions(count: int) -> list[str]:
    """Queries as the shared generator makes them, else stretches of the corpus."""
    path = harness.SHARED / "corpus" / "gen.py"
    if path.exists():
        specification = importlib.util.spec_from_file_location("gen", path)
        assert specification is not None
        assert specification.loader is not None
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        return list(module.queries(count))
    chance = random.Random(99)
    bodies = [material["body"].split() for material in harness.corpus(3_000)]
    return [" ".join(chance.choice(bodies)[: chance.randint(2, 7)]) for _ in range(count)]


def check(queries: Sequence[str]) -> None:
    """Leave when the compiled index and the plain one differ on a sample."""
    for sessions in (False, True):
        sample = payloads(SAMPLE, sessions=sessions)
        native, plain = kernel.Index(), PlainIndex()
        native.update(sample)
        plain.update(sample)
        for query in queries[:60]:
            arguments: dict[str, Any] = {"now": NOW, "budget": BUDGET}
            if native.recall(query, **arguments) != plain.recall(query, **arguments):
                sys.exit(f"the two indexes differ on a query ({len(query)} characters, sessions: {sessions})")
        if native.snapshot("", 0) != plain.snapshot("", 0):
            sys.exit("the two indexes write different snapshots")
    print(f"sample of {SAMPLE} records, 60 queries: same rows, same scores, same snapshots")


def memory() -> int:
    """Bytes this process has in memory, without what is free and could be given back."""
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * resource.getpagesize()


def verdict(name: str, figure: float, goal: float | None, unit: str, *, least: bool = False) -> bool:
    """Print a figure beside its goal; whether it reaches it."""
    reached = goal is None or (figure >= goal if least else figure <= goal)
    told = "" if goal is None else f"   goal {goal:g}: {'reached' if reached else 'MISSED'}"
    print(f"    {name:<34} {figure:12,.3f} {unit}{told}")
    return reached


def recall_times(index: Any, queries: Sequence[str]) -> list[float]:
    """CPU seconds of each query: the least of three, as the machine is shared."""
    times = [float("inf")] * len(queries)
    for _ in range(3):
        for place, query in enumerate(queries):
            start = time.thread_time()
            index.recall(query, now=NOW, budget=BUDGET)
            times[place] = min(times[place], time.thread_time() - start)
    return sorted(times)


def measure(count: int, queries: Sequence[str], *, sessions: bool) -> list[bool]:
    data = payloads(count, sessions=sessions)
    print(f"{len(data):,} records {'in sessions of ' + str(SESSION) if sessions else 'without sessions'}")
    before = memory()
    index = kernel.Index()
    start, cpu = time.perf_counter(), time.process_time()
    index.update(data)
    elapsed, used = time.perf_counter() - start, time.process_time() - cpu
    verdicts = [verdict("built, of one core", len(data) / used, LEAST_BUILT, "records/s", least=True)]
    verdict("built, by the clock", len(data) / elapsed, None, "records/s")
    characters = statistics.mean(len(payload) for payload in data)
    held = (memory() - before) / len(data)
    verdicts.append(verdict(f"memory (payloads of {characters:.0f} bytes)", held, MOST_BYTES, "bytes/record"))
    times = recall_times(index, queries)
    median, most = GOALS[count]
    verdicts.append(verdict("recall, median", statistics.median(times) * 1e6, median * 1e6, "µs"))
    tail = times[len(times) * 99 // 100] * 1e6
    verdicts.append(verdict("recall, 99 of 100", tail, None if most is None else most * 1e6, "µs"))
    start = time.process_time()
    saved = index.snapshot("cursor", 0)
    verdict(f"snapshot of {len(saved) / 1e6:.0f} MB", time.process_time() - start, None, "s")
    start = time.process_time()
    restored = kernel.Index.restore(saved)
    verdicts.append(verdict("restored", time.process_time() - start, OPENING.get(count), "s"))
    if restored is None or restored[0].snapshot("cursor", 0) != saved:
        sys.exit("a snapshot that is restored differs")
    index, changed = restored[0], data[:: max(1, len(data) // 200)]
    start = time.process_time()
    for payload in changed:
        index.update([payload.replace(b'"state":"active"', b'"state":"archived"')])
    verdict("a change of state", (time.process_time() - start) / len(changed) * 1e6, None, "µs")
    start = time.process_time()
    for payload in changed:
        index.update([payload.replace(b'"body":"', b'"body":"changed ')])
    verdict("a change of text", (time.process_time() - start) / len(changed) * 1e6, None, "µs")
    return verdicts


def main() -> None:
    harness.require_release()
    queries = questions(300)
    if "--one" in sys.argv:
        count, sessions = sys.argv[sys.argv.index("--one") + 1 :]
        harness.exit_with(measure(int(count), queries, sessions=sessions == "True"))
    check(queries)
    verdicts = []
    for count in (*SIZES, *((MILLION,) if "--million" in sys.argv else ())):
        for sessions in (False, True):
            # Each in a process of its own: what another one left behind would blur the figures of memory.
            one = [sys.executable, __file__, "--one", str(count), str(sessions)]
            verdicts.append(subprocess.run(one, check=False).returncode == 0)
    harness.exit_with(verdicts)


if __name__ == "__main__":
    main()

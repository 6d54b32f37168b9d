"""What columns cost: filling them, what they hold in memory, questions about a few records, and about all of them.

    .venv/bin/python benches/bench_columns.py [--million]

Times are CPU time of the whole process, so what several threads do together counts in full; memory is what the process
grew by.  The pathological cases are those that would be quadratic: thousands of records that all contradict each other.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from harness import corpus, exit_with, require_release

from agent_memory import kernel
from agent_memory._native import Columns
from agent_memory.text import infer_slots

BATCH = 8192
FEW = 4
MANY = 10_000
EVERY_QUESTION = 0.3e-3  # seconds, for everything a pass asks about a few records
FILL = 6e-6  # seconds a record
PATHOLOGICAL = 2.0


def main() -> None:
    require_release()
    sizes = [1_000, 100_000, *([1_000_000] if "--million" in sys.argv else [])]
    verdicts: list[bool] = []
    for size in sizes:
        print(f"-- {size:,} records")
        payloads = [payload(item) for item in corpus(size)]
        before = resident()
        columns, seconds = timed(lambda given=payloads: filled(given))
        verdicts.append(say("fill", seconds / size, FILL if size > 1_000 else None, "µs a record", 1e6))
        print(f"{'memory':<44} {(resident() - before) / size:10.0f} bytes a record")
        verdicts.append(few(columns, payloads, EVERY_QUESTION if size == 100_000 else None))
        everything(columns)
        del columns, payloads
        gc.collect()
    verdicts += pathological()
    exit_with(verdicts)


def payload(item: dict[str, Any], **members: Any) -> bytes:
    """The canonical bytes of a record of the corpus."""
    born: datetime = item["created_at"]
    slots = infer_slots(item["body"]) if item["type"] == "fact" else {}
    birth = {
        "type": item["type"],
        "body": item["body"],
        "slots": slots,
        "provenance": {"kind": "conversation", "ref": item["ref"], "agent": None},
        "created_at": born.strftime("%Y-%m-%dT%H:%M:%S.") + f"{born.microsecond // 1000:03}Z",
    }
    rest = {
        "id": f"mem:{kernel.digest(birth)[:32]}",
        "state": "active",
        "confidence": "0.9000",
        "updated_at": birth["created_at"],
        "evidence": [],
        "supersedes": None,
        "superseded_by": None,
        "transition": None,
        "state_reason": None,
        "tags": list(item["tags"]),
        "flagged": False,
        "flag_reason": None,
        "signed_by": None,
        "signature": "",
    }
    return kernel.canonical_json({**birth, **rest, **members})


def filled(payloads: list[bytes]) -> Columns:
    columns = Columns()
    for start in range(0, len(payloads), BATCH):
        columns.update(payloads[start : start + BATCH])
    return columns


def few(columns: Columns, payloads: list[bytes], goal: float | None) -> bool:
    """What a pass after one ``remember`` asks, about records that are there, one group of a few after another."""
    asked: dict[str, Callable[[list[bytes], list[str]], object]] = {
        "update": lambda given, _: columns.update(given),
        "affected": lambda _, ids: columns.affected(ids),
        "hanging": lambda _, __: columns.hanging(),
        "copies": lambda _, ids: columns.copies(ids),
        "same terms": lambda _, ids: columns.same_terms(ids),
        "same statements": lambda _, ids: columns.same_terms(ids, statement=True),
        "opposed": lambda _, ids: list(columns.pairs("opposed", types=("fact", "procedure"), about=ids, once=True)),
        "recurring": lambda _, ids: columns.recurring(3, ids),
        "rules": lambda _, ids: columns.rules(ids),
        "put away and back": lambda given, _: columns.update([*map(archived, given), *given]),
    }
    times: dict[str, list[float]] = {name: [] for name in asked}
    step = max(1, len(payloads) // 400)
    for start in range(0, len(payloads) - FEW * step, FEW * step):
        given = payloads[start : start + FEW * step : step]
        ids = [identifier(data) for data in given]
        for name, ask in asked.items():
            times[name].append(timed(lambda ask=ask, given=given, ids=ids: ask(given, ids))[1])
    total = 0.0
    for name, measured in times.items():
        mean = statistics.fmean(measured)
        total += mean if name != "put away and back" else 0
        print(f"  about {FEW}: {name:<32} {mean * 1e6:10.1f} µs   most {max(measured) * 1e6:8.1f}")
    return say(f"about {FEW}: all together", total, goal, "µs", 1e6)


def archived(data: bytes) -> bytes:
    return data.replace(b'"state":"active"', b'"state":"archived"')


def identifier(data: bytes) -> str:
    start = data.index(b'"id":"') + 6
    return data[start : start + 36].decode()


def everything(columns: Columns) -> None:
    asked: dict[str, Callable[[], Any]] = {
        "copies": columns.copies,
        "same terms": columns.same_terms,
        "same statements": lambda: columns.same_terms(statement=True),
        "opposed once": lambda: run_through(columns.pairs("opposed", types=("fact", "procedure"), once=True)),
        "recurring": lambda: columns.recurring(3),
        "rules": columns.rules,
        "related once": lambda: run_through(columns.pairs("related", once=True)),
    }
    for name, ask in asked.items():
        found, seconds = timed(ask)
        print(f"  all: {name:<37} {seconds * 1e3:10.1f} ms   {found if isinstance(found, int) else len(found):,} found")


def pathological() -> list[bool]:
    """Ten thousand records, each of which contradicts thousands."""
    print("-- records that contradict each other")
    born = corpus(1)[0]
    notes, numbers = ["a note"] * MANY, range(MANY)
    cases: dict[str, tuple[Iterable[str], Callable[[int], dict[str, Any]]]] = {
        "5,000 claims and 5,000 denials": (
            (f"The gateway cache does {'not ' if number % 2 else ''}work in production {number}" for number in numbers),
            lambda _: {},
        ),
        "10,000 values of one slot": (notes, lambda number: {"slots": {"stag databas": f"v{number}"}}),
        "10,000 values of two words": (notes, lambda number: {"slots": {"stag databas": f"vim {number}"}}),
        "10,000 bodies under one key": (
            (f"note {number} about it" for number in numbers),
            lambda _: {"agent_memory": {"key": "it::is"}},
        ),
    }
    verdicts = []
    for name, (bodies, members) in cases.items():
        columns = Columns()
        columns.update(
            payload({**born, "body": body, "type": "fact", "ref": str(number)}, **members(number))
            for number, body in enumerate(bodies)
        )
        before = resident()
        (found, waiting), seconds = timed(lambda columns=columns: counted(columns))
        verdicts.append(say(name, seconds, PATHOLOGICAL, "s", 1))
        print(f"  {found:,} pairs, {waiting:,} wait; {(resident() - before) / 2**20:.0f} MiB")
        one = next(columns.pairs("opposed"))[:1]
        _, seconds = timed(lambda columns=columns, one=one: run_through(columns.pairs("opposed", about=one, once=True)))
        print(f"  about one of them {seconds * 1e3:.2f} ms")
    return verdicts


def counted(columns: Columns) -> tuple[int, int]:
    pairs = columns.pairs("opposed", once=True)
    return run_through(pairs), pairs.waiting


def run_through(pairs: Iterable[object]) -> int:
    return sum(1 for _ in pairs)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def say(title: str, seconds: float, goal: float | None, unit: str, scale: float) -> bool:
    reached = goal is None or seconds <= goal
    verdict = "" if goal is None else f"  goal {goal * scale:g}: {'reached' if reached else 'MISSED'}"
    print(f"{title:<44} {seconds * scale:10.2f} {unit}{verdict}")
    return reached


def resident() -> int:
    """Bytes of memory this process holds; 0 where that cannot be read."""
    try:
        pages = Path("/proc/self/statm").read_text("ascii").split()[1]
    except OSError:
        return 0
    return int(pages) * 4096


if __name__ == "__main__":
    main()

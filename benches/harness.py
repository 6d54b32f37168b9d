"""What every benchmark here does alike: interleaved runs, medians, CPU time, and no figure from a debug build."""

from __future__ import annotations

import importlib.util
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import notes_corpus

from agent_memory import MemoryRecord, Provenance, RecordType, kernel
from agent_memory.text import infer_slots

SHARED = Path(os.environ.get("AGENT_MEMORY_SHARED", Path(__file__).parents[2] / "shared"))
"""Folder with data that is no part of the project: another corpus generator, and LoCoMo.  It may be missing."""


def require_release() -> None:
    """Leave when the kernel is not the native one in a release build: its figures would mean nothing."""
    about = kernel.build_info()
    if about["profile"] != "release":
        sys.exit(
            f"benchmarks need the native kernel in a release build, and this is {about['profile']}: run `make bench`"
        )


def corpus(count: int, seed: int = 7) -> list[dict[str, Any]]:
    """``count`` dicts of record material: from the generator in the shared folder where there is one, else our own."""
    path = SHARED / "corpus" / "gen.py"
    specification = importlib.util.spec_from_file_location("gen", path) if path.exists() else None
    if specification is None or specification.loader is None:
        return notes_corpus.make(count, seed)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    made: list[dict[str, Any]] = module.gen(count, seed)
    return made


def records(count: int, *, slots: bool = False, seed: int = 7) -> list[MemoryRecord]:
    """Records of the corpus, each id once; with the slots their sentences fill, if asked."""
    made = [
        MemoryRecord.create(
            RecordType(item["type"]),
            item["body"],
            Provenance(kind="conversation", ref=item["ref"]),
            slots=infer_slots(item["body"]) if slots and item["infer"] else {},
            tags=item["tags"],
            created_at=item["created_at"],
            confidence=item["confidence"],
        )
        for item in corpus(count, seed)
    ]
    return list({record.id: record for record in made}.values())


def interleaved(
    contenders: dict[str, Callable[[], object]],
    *,
    rounds: int = 9,
    clock: Callable[[], float] = time.process_time,
) -> dict[str, float]:
    """Median seconds of each contender over ``rounds``, run in turn so that noise falls on all alike."""
    for contender in contenders.values():
        contender()
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, contender in contenders.items():
            start = clock()
            contender()
            times[name].append(clock() - start)
    return {name: statistics.median(measured) for name, measured in times.items()}


def report(title: str, seconds: dict[str, float], items: int, *, ours: str = "ours", goal: float | None = None) -> bool:
    """Print one line: microseconds per item for each, the ratio, and whether it reaches the goal; that verdict."""
    parts = [f"{name} {measured / items * 1e6:9.2f} µs" for name, measured in seconds.items()]
    others = [measured for name, measured in seconds.items() if name != ours]
    if not others:
        print(f"{title:<46} {'  '.join(parts)}")
        return True
    ratio = others[0] / seconds[ours]
    reached = goal is None or ratio >= goal
    verdict = "" if goal is None else f"  goal {goal:g}x: {'reached' if reached else 'MISSED'}"
    print(f"{title:<46} {'  '.join(parts)}  {ratio:6.2f}x{verdict}")
    return reached


def exit_with(verdicts: Sequence[bool]) -> None:
    """Exit 1 when a goal was missed."""
    sys.exit(0 if all(verdicts) else 1)

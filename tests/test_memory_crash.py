"""A memory whose process is killed at any moment: what was acknowledged is there, what was erased is nowhere."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agent_memory import Memory

KILLS = 200 if os.environ.get("AGENT_MEMORY_TEST_PROFILE") == "long" else 8
WRITER = Path(__file__).parent / "crash" / "memory_writer.py"


def run_and_kill(place: Path, seed: int, after: float) -> list[list[str]]:
    """What the writer told before it was killed ``after`` so many seconds of work."""
    child = subprocess.Popen([sys.executable, str(WRITER), str(place), str(seed)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    told = [child.stdout.readline()]  # it is at work now
    time.sleep(after)
    child.kill()
    told += child.stdout.readlines()
    child.wait()
    assert all(line.endswith("\n") for line in told[:-1])
    return [line.split() for line in told if line.endswith("\n")]


@pytest.mark.parametrize("name", ["memory", "memory.db"])
def test_killed_at_any_moment_a_memory_keeps_its_word(tmp_path: Path, name: str) -> None:
    chance = random.Random(7)
    tokens: dict[str, str] = {}
    erased: set[str] = set()
    for kill in range(KILLS):
        unsure: set[str] = set()
        for what, record_id, *rest in run_and_kill(tmp_path / name, kill, chance.uniform(0.0, 0.4)):
            if what == "said":
                tokens.setdefault(record_id, rest[0])
            elif what == "erasing":
                unsure.add(record_id)
            else:
                erased.add(record_id)
        with Memory(tmp_path / name, auto_consolidate=False) as memory:
            newest = {record.id: record for record in memory.list()}
            assert memory.status()["damaged"] == 0
            assert tokens.keys() <= newest.keys()
            for record in newest.values():
                if record.transition is not None:
                    other = newest[record.transition.other(record.id)].transition
                    assert other is not None
                    assert set(other.sides) == set(record.transition.sides)
            for record_id in erased:
                assert newest[record_id].redacted
            for record_id in unsure - erased:  # all of it or nothing
                assert len({version.redacted for version in memory.history(record_id)}) == 1
            gone = {record_id for record_id, record in newest.items() if record.redacted}
        written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
        for record_id in gone & tokens.keys():
            assert tokens[record_id].encode() not in written, record_id

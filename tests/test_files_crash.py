"""A writer killed at any moment leaves all of a transaction or none, and nothing of what was redacted.

The child ``crash/files_writer.py`` says what it is about to do and when it has done it; the parent keeps the same
account, and after each kill the folder must hold the account, the step that was under way wholly in it or wholly not.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from agent_memory.stores import FileRecordStore
from crash.files_writer import secret

LONG = os.environ.get("AGENT_MEMORY_TEST_PROFILE") == "long"
ROUNDS, KILLS = (20, 10) if LONG else (2, 8)
STEPS = 1_000
SECRET = re.compile(rb"plaintext-[0-9.]+[0-9]")

pytestmark = pytest.mark.skipif(os.name == "nt", reason="processes are killed in another way there")


class Account:
    """What the folder must hold: the digests of every version of every record."""

    def __init__(self) -> None:
        self.versions: dict[str, list[str]] = {}

    def after(self, step: dict[str, Any]) -> dict[str, list[str]]:
        versions = dict(self.versions)
        for record_id, digest in step["redact"]:
            versions[record_id] = [digest] * len(versions[record_id])
        for record_id, digest in step["put"]:
            versions[record_id] = [*versions.get(record_id, []), digest]
        return versions


def run_until_killed(folder: Path, seed: int, account: Account, kill: random.Random) -> tuple[dict[str, Any], set[str]]:
    """Run a child; the step that was under way when it died, empty for none, and the ids of those that were done."""
    at = kill.randrange(1, 2_000) if kill.random() < 0.75 else 0
    command = [sys.executable, str(Path(__file__).parent / "crash" / "files_writer.py"), str(folder)]
    child = subprocess.Popen([*command, str(seed), str(STEPS), str(at)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    first = child.stdout.readline()
    if not at:
        time.sleep(kill.random() * 0.4)
        child.kill()
    lines = [first, *child.stdout]
    child.stdout.close()
    assert child.wait() == -9, "the child ended by itself; did it fail?"
    under_way: dict[str, Any] = {}
    done: set[str] = set()
    for line in lines:
        if line == b"done\n":
            account.versions = account.after(under_way)
            done.update(record_id for way in under_way.values() for record_id, _ in way)
            under_way = {}
        elif line.endswith(b"\n"):
            under_way = json.loads(line)
    return under_way, done


def held_in(store: FileRecordStore) -> dict[str, list[str]]:
    return {
        record.id: [hashlib.sha256(version.canonical_bytes()).hexdigest() for version in store.history(record.id)]
        for record in store.list()
    }


def secrets_below(folder: Path) -> set[bytes]:
    return {found for path in folder.rglob("*") if path.is_file() for found in SECRET.findall(path.read_bytes())}


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_a_killed_writer_leaves_all_of_a_step_or_none(tmp_path: Path, round_: int) -> None:
    kill = random.Random(round_)
    account = Account()
    cursor = FileRecordStore(tmp_path).changes()[0]
    finished = 0
    for number in range(KILLS):
        under_way, done = run_until_killed(tmp_path, round_ * KILLS + number + 1, account, kill)
        finished += len(done)
        store = FileRecordStore(tmp_path)
        assert not (tmp_path / ".staging" / "journal").exists()
        held = held_in(store)
        if under_way and held == account.after(under_way):
            account.versions = held
        assert held == account.versions
        assert store.damaged() == ()
        erased = {secret(record.created_at).encode() for record in store.list() if record.redacted}
        assert not erased & secrets_below(tmp_path)
        cursor, changed = store.changes(cursor)
        assert changed is not None
        assert done <= set(changed)
    assert finished > 20, "the writers were killed before they had done anything"

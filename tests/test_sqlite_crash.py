"""A process that is killed while it writes an SQLite file loses nothing it was told is written, and leaves no half.

A child does a sequence of writes that is the same for one seed, and says after each commit that it is done.  It is
killed somewhere; the file must then hold exactly what those writes make, or those and the one that was under way.
``AGENT_MEMORY_TEST_PROFILE=long`` kills two hundred instead of a dozen.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent_memory.lifecycle import archive, begin_transition, resolve_transition, supersede
from agent_memory.records import MemoryRecord
from agent_memory.stores import InMemoryRecordStore, SQLiteRecordStore
from contracts import NOON, make

if TYPE_CHECKING:
    from collections.abc import Iterator

LONG = os.environ.get("AGENT_MEMORY_TEST_PROFILE") == "long"
KILLS = 200 if LONG else 12
WRITES = 1_000
FURTHEST = WRITES if LONG else 120
"""The last write after which the child is killed."""


def secret(number: int) -> str:
    """A text that is in the body of one record and nowhere else."""
    return f"secret-{number:05d}-" + random.Random(number).randbytes(12).hex()


def write(store: Any, seed: int) -> Iterator[None]:
    """Mixed writes, one transaction each; yields after every commit."""
    chance = random.Random(seed)
    active: list[MemoryRecord] = []
    disputes: list[tuple[MemoryRecord, MemoryRecord]] = []

    def take() -> MemoryRecord:
        return active.pop(chance.randrange(len(active)))

    for number in range(WRITES):
        now = NOON + timedelta(minutes=number)
        body = f"{secret(number)} " * chance.choice((1, 1, 2, 40))
        kinds = ["put", "put", "many", "supersede", "supersede", "dispute", "resolve", "archive", "redact"]
        kind = chance.choice(kinds) if len(active) > 3 else "put"
        if kind == "many":
            parts = [make(f"{body} {part}", created_at=now) for part in range(5)]
            store.put_many([*parts, *(part.evolve({"tags": ("again",), "updated_at": now}) for part in parts)])
            active.extend(store.get(part.id) for part in parts)
        elif kind == "supersede":
            old = take()
            new = make(body, created_at=now, supersedes=old.id, tags=(secret(number),))
            store.put_many([supersede(old, new, reason="newer", now=now), new])
            active.append(new)
        elif kind == "dispute":
            sides = begin_transition(take(), take(), reason="they differ", now=now)
            with store.transaction():
                for side in sides:
                    store.put(side)
            disputes.append(sides)
        elif kind == "resolve" and disputes:
            winner, loser = resolve_transition(*disputes.pop(), reason="checked", now=now)
            store.put_many([winner, loser])
            active.append(winner)
        elif kind == "archive":
            store.put(archive(take(), reason="old", now=now))
        elif kind == "redact":
            store.redact(take().id, "asked for", now=now)
        else:
            active.append(make(body, created_at=now))
            store.put(active[-1])
        yield


def content(store: Any) -> dict[str, list[bytes]]:
    return {record.id: [version.canonical_bytes() for version in store.history(record.id)] for record in store.list()}


def after(seed: int, *counts: int) -> list[dict[str, list[bytes]]]:
    """What a store holds after so many writes, for each of the ascending counts."""
    store = InMemoryRecordStore()
    writes, done, found = write(store, seed), 0, []
    for count in counts:
        for _ in range(min(count, WRITES) - done):
            next(writes)
        done = min(count, WRITES)
        found.append(content(store))
    return found


CHILD = """
from test_sqlite_crash import write
from agent_memory.stores import SQLiteRecordStore
store = SQLiteRecordStore(sys.argv[1], durability=sys.argv[3])
for _ in write(store, int(sys.argv[2])):
    print(flush=True)
"""


def kill_while_writing(path: Path, seed: int, chance: random.Random) -> int:
    """Run the child and kill it; how many writes it had reported."""
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n{CHILD}"
    command = [sys.executable, "-c", code, str(path), str(seed), chance.choice(("full", "normal"))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0) as child:
        assert child.stdout is not None
        told = 0
        for _ in range(chance.randrange(FURTHEST)):
            told += len(child.stdout.readline())
        time.sleep(chance.random() * chance.choice((0.001, 0.02)))
        child.send_signal(signal.SIGKILL)
        told += len(child.stdout.read())
    return told


def surrounding(path: Path) -> bytes:
    return b"".join(part.read_bytes() for part in sorted(path.parent.iterdir()))


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
@pytest.mark.parametrize("seed", range(KILLS))
def test_a_killed_writer_leaves_whole_writes_only(tmp_path: Path, seed: int) -> None:
    path, chance = tmp_path / "memory.db", random.Random(seed)
    told = kill_while_writing(path, seed, chance)
    with closing(SQLiteRecordStore(path)) as store:
        held = content(store)
        assert store.damaged() == ()
        possible = after(seed, told, told + 1)
        assert held in possible, f"{told} writes were reported"
        assert not store.erasure_pending
        files = surrounding(path)
        for record in store.list():
            if record.redacted:
                number = (record.created_at - NOON) // timedelta(minutes=1)
                parts = [other for other in store.list() if other.created_at == record.created_at]
                assert secret(number).encode() not in files or not all(other.redacted for other in parts)
        assert {record.id for record in store.find(source="session-42")} == {
            record.id for record in store.list() if not record.redacted
        }
        late = make("written afterwards", created_at=NOON - timedelta(days=1))
        cursor = store.changes()[0]
        store.put(late)
        assert store.changes(cursor)[1] == (late.id,)
    with closing(SQLiteRecordStore(path)) as again:
        assert content(again) == {**held, late.id: [late.canonical_bytes()]}


def test_the_writes_are_of_every_kind_and_the_same_each_time() -> None:
    first, second = after(3, 400)[0], after(3, 400)[0]
    assert first == second
    reasons = b"".join(b"".join(versions) for versions in first.values())
    for reason in (b"newer", b"they differ", b"checked", b"old", b"asked for", b"again"):
        assert reason in reasons


def test_an_erasure_survives_the_death_of_its_process_though_another_erases_meanwhile(tmp_path: Path) -> None:
    """The file is scrubbed by one process after another has committed an erasure and died before its own scrub."""
    path = tmp_path / "memory.db"
    first, second = make(secret(1)), make(secret(2), minute=1)
    code = (
        f"import sys, os; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from agent_memory.stores import SQLiteRecordStore; from agent_memory.stores.database import Database\n"
        "store = SQLiteRecordStore(sys.argv[1])\n"
        "Database.scrub = lambda self: os._exit(0)\n"
        "store.redact(sys.argv[2], 'asked for')\n"
    )
    with closing(SQLiteRecordStore(path)) as store:
        store.put_many([first, second])
        connection = store._database._connection
        assert connection is not None

        class Between:
            """The connection, in whose VACUUM the other process does its erasure, just too late to be scrubbed."""

            def execute(self, sql: str, *values: Any) -> Any:
                answer = connection.execute(sql, *values)
                if sql.startswith("PRAGMA wal_checkpoint"):
                    command = [sys.executable, "-c", code, str(path), second.id]
                    subprocess.run(command, check=True, timeout=60)
                return answer

            def __getattr__(self, name: str) -> Any:
                return getattr(connection, name)

        store._database._connection = Between()  # type: ignore[assignment]
        store.redact(first.id, "asked for")
        store._database._connection = connection
    with closing(sqlite3.connect(path)) as reader:
        assert reader.execute("SELECT COUNT(*) FROM agent_memory_scrub").fetchone() == (1,)  # the wish has survived
    with closing(SQLiteRecordStore(path)) as again:
        assert not again.erasure_pending
        assert [record.redacted for record in again.list()] == [True, True]
        assert secret(2).encode() not in surrounding(path)

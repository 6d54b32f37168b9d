"""One key, many writers: at most one record stands under it whoever writes, and whenever they are killed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from agent_memory import Memory, MemoryRecord

LONG = os.environ.get("AGENT_MEMORY_TEST_PROFILE") == "long"
KEY = "billing-api::region"
WRITER = Path(__file__).parent / "crash" / "corrections_writer.py"


def standing(memory: Memory) -> list[MemoryRecord]:
    return [record for record in memory.list() if record.key == KEY and record.state.is_live]


def check(memory: Memory) -> None:
    """One record stands at most, what was superseded leads to a record that is there, and every blocked one is told."""
    assert len(standing(memory)) <= 1
    assert memory.status()["damaged"] == 0
    known = {record.id for record in memory.list()}
    for record in memory.list():
        assert record.superseded_by is None or record.superseded_by in known
    story = memory.history(KEY)
    assert {record.id for record in memory.list() if record.key == KEY} <= {record.id for record in story.records}
    assert story.current_id == (standing(memory)[0].id if standing(memory) else None)


@pytest.mark.parametrize("name", ["memory", "memory.db"])
def test_four_processes_on_one_key_that_are_killed_leave_one_value_at_most(tmp_path: Path, name: str) -> None:
    chance = random.Random(7)
    for turn in range(40 if LONG else 2):
        writers = [
            subprocess.Popen(
                [sys.executable, str(WRITER), str(tmp_path / name), str(turn * 4 + number)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for number in range(4)
        ]
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "at work\n"
        for writer in writers:
            time.sleep(chance.uniform(0.1, 0.4))
            writer.kill()
        for writer in writers:
            _, error = writer.communicate()
            assert "Error" not in error, error
        with Memory(tmp_path / name, auto_consolidate=False) as memory:
            check(memory)
            verdict = memory.remember("The region is Oslo.", key=KEY, object="oslo", reaffirm=True)
            assert standing(memory)[0].id == verdict.record_id
            check(memory)


@pytest.mark.parametrize("name", [None, "memory.db"])
def test_eight_threads_on_one_key_leave_one_value(tmp_path: Path, name: str | None) -> None:
    failures: list[BaseException] = []
    with Memory(None if name is None else tmp_path / name, auto_consolidate_every=7) as memory:

        def work(number: int) -> None:
            try:
                for turn in range(12):
                    value = f"zone-{number}-{turn % 4}"
                    memory.remember(f"The region is {value}.", key=KEY, object=value, reaffirm=turn % 3 == 0)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert len(standing(memory)) == 1
        check(memory)


def test_two_memories_on_one_store_decide_by_what_the_other_wrote(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db") as one, Memory(tmp_path / "m.db") as two:
        one.remember("The region is Oslo.", key=KEY, object="oslo")
        two.remember("The region is Bergen.", key=KEY, object="bergen")
        assert one.remember("We run in Oslo.", key=KEY, object="oslo").blocked
        assert two.remember("the region is oslo").blocked
        assert one.history(KEY) == two.history(KEY)


def test_a_failed_write_leaves_nothing_of_a_correction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from agent_memory.errors import StoreError

    with Memory(tmp_path / "m.db", auto_consolidate=False) as memory:
        first = memory.remember("The region is Oslo.", key=KEY, object="oslo")
        put_many = memory._store.put_many

        def half(records: object) -> None:
            put_many(list(records)[:1])  # type: ignore[call-overload]
            raise StoreError("disk full")

        monkeypatch.setattr(memory._store, "put_many", half)
        with pytest.raises(StoreError):
            memory.remember("The region is Bergen.", key=KEY, object="bergen")
        monkeypatch.undo()
        assert [record.id for record in standing(memory)] == [first.record_id]
        assert len(memory.history(KEY)) == 1
        assert not memory.remember("The region is Bergen.", key=KEY, object="bergen").blocked

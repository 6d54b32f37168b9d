"""Two servers on one memory at once: nothing is lost, nobody gets an error."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the tool server needs agent-memory[mcp]")

import anyio

from agent_memory import Memory, RecordState
from mcp_client import Talk, talking

CALLS = 500 if os.environ.get("AGENT_MEMORY_TEST_PROFILE") == "long" else 60
"""Of both servers together."""
COLOURS = ("amber", "black", "coral", "denim", "ebony", "flint")


@pytest.mark.parametrize("name", ["memory", "memory.db"])
def test_two_servers_on_one_memory_lose_nothing_and_fail_nobody(tmp_path: Path, name: str) -> None:
    said: set[str] = set()
    ids: dict[str, str] = {}

    async def play(who: str, talk: Talk) -> None:
        choose = random.Random(who)
        for number in range(CALLS // 2):
            kind = choose.choices(("say", "key", "recall", "credit", "history", "status"), (40, 20, 20, 10, 5, 5))[0]
            if kind == "say":
                text = f"{who} saw ship {number} pass buoy {choose.randrange(10**6)}."
                answer = await talk("remember", text=text, source=who, mtype="episodic", tags=[who])
                said.add(text)
                ids[answer["record_id"]] = text
            elif kind == "key":
                colour = choose.choice(COLOURS)
                answer = await talk(
                    "remember",
                    text=f"Hull {number % 3} is painted {colour}.",
                    key=f"hull{number % 3}::colour",
                    object=colour,
                    reaffirm=True,
                )
                assert not answer["blocked"]
            elif kind == "recall":
                await talk("recall", query=f"ship {number} buoy")
            elif kind == "credit" and ids:
                await talk("credit", record_id=choose.choice(sorted(ids)), good=choose.random() < 0.5)
            elif kind == "history" and ids:
                await talk("history", record_id=choose.choice(sorted(ids)))
            else:
                await talk("status")

    async def both() -> None:
        path = str(tmp_path / name)
        async with (
            talking(tmp_path, "--path", path) as one,
            talking(tmp_path, "--path", path) as two,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(play, "north", one)
            tasks.start_soon(play, "south", two)

    anyio.run(both)
    with Memory(tmp_path / name, auto_consolidate=False) as memory:
        records = memory.list()
        for record_id, text in ids.items():
            assert memory.get(record_id).body == text
        holding = [record for record in records if record.state is RecordState.ACTIVE and record.key is not None]
        assert len({record.key for record in holding}) == len(holding)
    assert said <= {record.body for record in records}
    assert (tmp_path / "stderr").read_text() == ""

"""A story of twenty steps, told to the tool server by the SDK's own client over stdio."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the tool server needs agent-memory[mcp]")

import anyio

from mcp_client import Talk, talking

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a full disk is made with prlimit")

KEY = "billing::region"
SCOPE = ("--project", "billing", "--user", "ada")


def texts(answer: dict[str, Any]) -> set[str]:
    return {record["text"] for record in answer["records"]}


async def first_day(talk: Talk) -> dict[str, str]:
    """Correction, echo, reaffirmation, dispute, credit, redaction, a full disk."""
    # 1. There is nothing yet.
    assert (await talk("recall", query="region of billing"))["records"] == []

    # 2. A fact under a key, with the value on its own.
    frankfurt = await talk(
        "remember", text="Billing runs in Frankfurt.", key=KEY, object="frankfurt", source="wiki/billing", value=5
    )
    assert (frankfurt["persisted"], frankfurt["blocked"], frankfurt["project"]) == (True, False, "billing")

    # 3. It is corrected.
    dublin = await talk("remember", text="Billing runs in Dublin.", key=KEY, object="dublin", source="chat/ada")
    assert dublin["superseded_id"] == frankfurt["record_id"]

    # 4. Only the new value is found.
    assert texts(await talk("recall", query="where does billing run?")) == {"Billing runs in Dublin."}

    # 5. The old value is said again, in other words: it does not come back, and the note says what to do.
    echo = await talk("remember", text="Frankfurt hosts all of billing.", key=KEY, object="Frankfurt")
    assert (echo["blocked"], echo["policy"], echo["current_id"]) == (True, "echo_guard", dublin["record_id"])
    assert "reaffirm" in echo["note"]

    # 6. And again: it is not recorded twice.
    again = await talk("remember", text="Frankfurt hosts all of billing.", key=KEY, object="Frankfurt")
    assert (again["blocked"], again["record_id"]) == (True, echo["record_id"])
    assert texts(await talk("recall", query="where does billing run?")) == {"Billing runs in Dublin."}

    # 7. What was true earlier is kept as history.
    earlier = await talk(
        "remember", text="Billing ran in Oslo.", key=KEY, object="oslo", occurred_at="2020-01-01T00:00:00Z"
    )
    assert (earlier["blocked"], earlier["policy"]) == (True, "backfill")
    assert "occurred_at" in earlier["note"]

    # 8. Somebody changes their mind back.
    back = await talk("remember", text="Billing runs in Frankfurt again.", key=KEY, object="frankfurt", reaffirm=True)
    assert (back["blocked"], back["superseded_id"]) == (False, dublin["record_id"])
    assert texts(await talk("recall", query="where does billing run?")) == {"Billing runs in Frankfurt again."}

    # 9. The whole story of the key, blocked attempts included.
    story = await talk("history", key=KEY)
    assert story["current_id"] == back["record_id"]
    assert {frankfurt["record_id"], dublin["record_id"], echo["record_id"], earlier["record_id"]} < {
        record["record_id"] for record in story["records"]
    }

    # 10. Two notes without a key contradict each other.
    one = await talk("remember", text="The staging database is Postgres 15.", source="wiki")
    two = await talk("remember", text="The staging database is MySQL 8.", source="chat")
    disputes = [*_disputes(one), *_disputes(two)]
    for number in range(4):  # tidying up is due after every fourth
        disputes += _disputes(await talk("remember", text=f"Ticket {number} was closed by Bo.", mtype="episodic"))
    sides = [one["record_id"], two["record_id"]]
    assert [sorted(dispute["record_ids"]) for dispute in disputes] == [sorted(sides)]

    # 11. Whoever asks gets both, each naming the other.
    found = (await talk("recall", query="which database does staging use?"))["records"]
    named = {record["record_id"]: record["disputed_with"] for record in found if "disputed_with" in record}
    assert named == {sides[0]: sides[1], sides[1]: sides[0]}

    # 12. It is settled; the loser stays, with the reason.
    settled = await talk("resolve", winner_id=sides[1], loser_id=sides[0], reason="checked on the host")
    assert (settled["winner"]["state"], settled["loser"]["state"]) == ("active", "superseded")
    assert settled["loser"]["state_reason"] == "checked on the host"
    assert "dispute" in await talk.refused("resolve", winner_id=sides[1], loser_id=sides[0], reason="again")

    # 13. Relying on it turned out well.
    assert (await talk("credit", record_id=sides[1], good=True))["good"] == 1
    assert (await talk("credit", record_id=sides[1], good=False, weight=2, reason="it was moved"))["bad"] == 2

    # 14. A summary is drawn from what a person said.
    said = await talk("remember", text="Ada's phone number is 555-0199.", source="crm/ada")
    summary = await talk("remember", text="Call 555-0199 for billing.", derived_from=[said["record_id"]])

    # 15. She wants it gone: the summary goes with it.
    assert (await talk("redact", record_id=said["record_id"], reason="asked by the person"))["redacted"]
    for record_id in (said["record_id"], summary["record_id"]):
        # A tombstone does not say any more whose it was, so who is pinned to a user does not see it.
        assert "unknown" in await talk.refused("history", record_id=record_id)
    assert (await talk("recall", query="phone 555-0199", include_archived=True))["records"] == []

    # 16. The disk is full: nothing is lost, and that is said.
    with talk.full_disk():
        kept = await talk("remember", text="The invoice batch starts at six.", source="chat/ada")
        assert (kept["persisted"], kept["record_id"], kept["kept_as"]) == (False, None, 1)
        assert kept["persist_error"]
        assert "tried again" in kept["note"]
        more = await talk("remember", text="Billing runs in Madrid.", key=KEY, object="madrid")
        assert (more["persisted"], more["kept_as"], more["pending_writes"]) == (False, 2, 2)
        assert texts(await talk("recall", query="where does billing run?")) == {"Billing runs in Frankfurt again."}
        assert (await talk("status"))["pending_writes"] == 2
        assert await talk.refused("credit", record_id=sides[1])

    # 17. There is room again: both land, in order, each with its verdict.
    landing = await talk("remember", text="The invoice batch ends at seven.", source="chat/ada")
    assert [landed["kept_as"] for landed in landing["landed"]] == [1, 2]
    assert landing["landed"][1]["verdict"]["superseded_id"] == back["record_id"]
    assert (landing["persisted"], landing["pending_writes"]) == (True, 0)
    assert texts(await talk("recall", query="where does billing run?")) == {"Billing runs in Madrid."}

    # 18. Full again, and there is room just in time before the server ends.
    with talk.full_disk():
        late = await talk("remember", text="The invoice archive is in vault nine.", source="chat/ada")
        assert not late["persisted"]
    return {"winner": sides[1], "redacted": said["record_id"]}


def _disputes(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return [] if answer["consolidation"] is None else answer["consolidation"]["disputes"]


async def second_day(talk: Talk, ids: dict[str, str]) -> None:
    """After a restart, all of it is there."""
    # 19. What stood stands, what was corrected stays corrected, what was kept has landed.
    assert texts(await talk("recall", query="invoice batch archive")) == {
        "The invoice batch starts at six.",
        "The invoice batch ends at seven.",
        "The invoice archive is in vault nine.",
    }
    assert texts(await talk("recall", query="where does billing run?")) == {"Billing runs in Madrid."}
    assert (await talk("remember", text="Billing runs in Dublin.", key=KEY, object="Dublin"))["blocked"]
    (winner,) = (await talk("history", record_id=ids["winner"]))["records"]
    assert (winner["good"], winner["bad"]) == (1, 2)

    # 20. And what was destroyed is not.
    status = await talk("status")
    assert (status["damaged"], status["pending_writes"], status["erasure_pending"]) == (0, 0, False)
    assert (status["project"], status["user_id"]) == ("billing", "ada")


@pytest.mark.parametrize(("name", "mode"), [("memory", "auto"), ("memory.db", "legacy")])
def test_a_story_of_twenty_steps(tmp_path: Path, name: str, mode: str) -> None:
    path = str(tmp_path / name)

    async def play() -> None:
        async with talking(tmp_path, "--path", path, *SCOPE, mode=mode) as talk:
            ids = await first_day(talk)
        async with talking(tmp_path, "--path", path, *SCOPE, mode=mode) as talk:
            await second_day(talk, ids)
        async with talking(tmp_path, "--path", path, "--project", "other", mode=mode) as talk:
            assert (await talk("status"))["records"] == 0
            assert (await talk("recall", query="billing invoice staging"))["records"] == []
        async with talking(tmp_path, "--path", path, "--project", "billing", mode=mode) as talk:
            (gone,) = (await talk("history", record_id=ids["redacted"]))["records"]
            assert (gone["text"], gone["redacted"]) == ("[redacted]", True)

    anyio.run(play)
    assert (tmp_path / "stderr").read_text() == ""
    files = [tmp_path / name] if name.endswith(".db") else []
    files += [file for file in tmp_path.rglob("*") if file.is_file()]
    assert not any(b"555-0199" in file.read_bytes() for file in files)

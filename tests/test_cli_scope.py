"""The scope and the outcomes on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runner import ok, run

LOCKER = "The locker is blue."


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "memory"
    for user in ("alice", "bob"):
        ok("--path", path, "--user", user, "remember", f"The locker of {user} is blue.", "--source", f"crm/{user}")
    return path


def bodies(*arguments: str | Path, **more: object) -> list[str]:
    facts = ok("--json", *arguments, **more).json
    return sorted(item.get("record", item)["body"] for item in facts["records"])


@pytest.mark.parametrize("command", [["list"], ["recall", "locker"]])
def test_an_option_or_its_variable_pins_a_command(place: Path, command: list[str]) -> None:
    hers = ["The locker of alice is blue."]
    assert bodies("--path", place, "--user", "alice", *command) == hers
    assert bodies("--path", place, *command, "--user", "alice") == hers
    assert bodies("--path", place, *command, env={"AGENT_MEMORY_USER": "alice"}) == hers
    assert bodies("--path", place, "--user", "alice", *command, env={"AGENT_MEMORY_USER": "bob"}) == hers
    assert len(bodies("--path", place, *command, env={"AGENT_MEMORY_USER": ""})) == 2
    assert len(bodies("--path", place, *command)) == 2


def test_every_field_is_stamped_and_told(tmp_path: Path) -> None:
    pins = ("--project", "p", "--user", "u", "--agent", "a", "--session", "s")
    scope = {"project": "p", "user_id": "u", "agent_id": "a", "session_id": "s"}
    outcome = ok("--path", tmp_path / "m", "--json", *pins, "remember", LOCKER)
    assert outcome.json["scope"] == outcome.json["record"]["agent_memory"]["scope"] == scope
    told = ok("--path", tmp_path / "m", *pins, "list")
    assert told.err == "scope: project p, user u, agent a, session s\n"
    assert (
        ok("--path", tmp_path / "m", *pins, "status").out.count("project p, user_id u, agent_id a, session_id s") == 1
    )
    assert "scope" not in ok("--path", tmp_path / "m", "--json", "list").json
    variables = {f"AGENT_MEMORY_{name}": name[0].lower() for name in ("PROJECT", "USER", "AGENT", "SESSION")}
    assert ok("--path", tmp_path / "m", "--json", "list", env=variables).json["scope"] == scope


def test_what_is_outside_is_unknown_to_every_command(place: Path, tmp_path: Path) -> None:
    (record,) = ok("--path", place, "--json", "--user", "bob", "list").json["records"]
    for command in (["show"], ["credit"], ["resolve", record["id"], "--reason", "x"]):
        for typed in (record["id"], record["id"][:16]):
            outcome = run("--path", place, "--user", "alice", command[0], typed, *command[1:])
            assert outcome.code == 1
            assert "bob" not in outcome.out + outcome.err
    file = tmp_path / "x.json"
    ok("--path", place, "--user", "alice", "export", file)
    assert b"bob" not in file.read_bytes()


def test_a_contradicting_argument_is_refused(place: Path) -> None:
    outcome = run("--path", place, "--user", "alice", "remember", LOCKER, "--user-id", "bob")
    assert outcome.code == 1
    assert "pinned to user_id 'alice'" in outcome.err
    assert run("--path", place, "--user", "", "list").code == 1


def test_a_load_says_what_it_left_out(place: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    ok("--path", place, "export", file)
    other = ("--path", tmp_path / "other", "--user", "alice", "load", file, "--no-verify")
    assert "1 left out" in ok(*other).out
    facts = ok("--json", *other).json
    assert (facts["outside"], len(facts["skipped"])) == (1, 1)


def test_a_hint_at_a_command_repeats_the_pins(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    pinned = ("--path", path, "--project", "a b")
    for city in ("Paris", "Oslo"):
        ok(*pinned, "remember", f"The staging host is {city}.")
    out = ok(*pinned, "consolidate").out
    assert "--project 'a b' resolve" in out


class TestOutcomes:
    def test_credit_counts_and_shows_what_it_has_come_to(self, place: Path) -> None:
        (record,) = ok("--path", place, "--json", "--user", "bob", "list").json["records"]
        assert "1 good, 0 bad" in ok("--path", place, "credit", record["id"][:12]).out
        arguments = ("credit", record["id"], "--bad", "--weight", "3", "--reason", "it broke", "--by", "carol")
        facts = ok("--path", place, "--json", *arguments).json
        assert facts["standing"] == {"good": 1, "bad": 3}
        outcome = facts["record"]["agent_memory"]["outcome"]
        assert (outcome["by"], outcome["reason"]) == ("carol", "it broke")

    @pytest.mark.parametrize("wrong", [["--weight", "0"], ["--weight", "-1"], ["--reason", " "]])
    def test_what_cannot_be_credited_is_refused(self, place: Path, wrong: list[str]) -> None:
        (record,) = ok("--path", place, "--json", "--user", "bob", "list").json["records"]
        assert run("--path", place, "credit", record["id"], *wrong).code == 1

    def test_slash_names_what_it_reached(self, place: Path) -> None:
        assert run("--path", place, "slash", "crm").code == 2
        facts = ok("--path", place, "--json", "slash", "crm", "--reason", "made up").json
        assert (len(facts["matched"]), facts["derived"], facts["outside"]) == (2, [], 0)
        out = ok("--path", place, "--user", "bob", "slash", "crm", "--reason", "made up").out
        assert out.startswith("1 records of it slashed, and 0 drawn from them")

"""What holds for every command: global options, exit codes, JSON, and output that no memory can forge."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.cli.app import app
from agent_memory.cli.escape import one_line, shown_lines, to_json
from cli_runner import ok, process, run

COMMANDS = sorted(app.commands)
READING = {
    "recall": ["x"],
    "list": [],
    "show": ["abcdef"],
    "status": [],
    "export": ["out.json"],
    "consolidate": [],
    "similar": [],
    "history": ["k"],
    "revert": ["k"],
    "retire": ["k", "--reason", "x"],
    "resolve": ["abcdef", "abcdee", "--reason", "x"],
}
HOSTILE = (
    "all is well\x1b[2J\x1b]0;owned\x07\n1. mem:forged · fact\r[bold red]markup[/] :skull:"
    "\x9b31m \u202egnp.exe\u2028end"
)


def test_the_commands_are_these() -> None:
    assert COMMANDS == [
        "backup",
        "consolidate",
        "credit",
        "demo",
        "doctor",
        "eval",
        "export",
        "history",
        "ingest",
        "list",
        "load",
        "mcp",
        "migrate",
        "recall",
        "remember",
        "resolve",
        "retire",
        "revert",
        "show",
        "similar",
        "slash",
        "status",
    ]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    out = ok(name, "--help").out
    for option in ("--path", "--json", "--identity"):
        assert option in out


def test_global_options_stand_before_or_after_the_command(tmp_path: Path) -> None:
    place = tmp_path / "memory"
    ok("--path", place, "remember", "x")
    before = ok("--path", place, "--json", "status").json
    after = ok("status", "--json", "--path", place).json
    assert before == after
    assert ok("--path", tmp_path / "not this one", "status", "--path", place, "--json").json == before


def test_the_environment_names_path_and_identity(tmp_path: Path) -> None:
    env = {"AGENT_MEMORY_PATH": str(tmp_path / "memory"), "AGENT_MEMORY_IDENTITY": str(tmp_path / "agent.key")}
    assert ok("--json", "remember", "x", env=env).json["record"]["signed_by"]
    assert (tmp_path / "memory").is_dir()
    assert ok("list", "--path", tmp_path / "memory", env={"AGENT_MEMORY_PATH": str(tmp_path / "other")}).code == 0


def test_version_is_told() -> None:
    import agent_memory

    assert ok("--version").out == ok("status", "--version").out == f"agent-memory {agent_memory.__version__}\n"


@pytest.mark.parametrize("name", sorted(READING))
def test_reading_where_there_is_no_memory_is_an_error_and_makes_none(name: str, tmp_path: Path) -> None:
    for place in (tmp_path / "nowhere", tmp_path):
        outcome = run("--path", place, name, *READING[name])
        assert outcome.code == 1
        assert (
            outcome.err
            == f"error: there is no memory at {place}; name another with --path, or remember something first\n"
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", sorted(READING))
def test_a_path_that_is_no_memory_is_refused(name: str, tmp_path: Path) -> None:
    place = tmp_path / "letter.txt"
    place.write_text("not a memory")
    outcome = run("--path", place, name, *READING[name])
    assert outcome.code == 1
    assert outcome.err.startswith("error: ")
    assert run("--path", place, "remember", "x").code == 1
    assert place.read_text() == "not a memory"


def test_an_error_is_json_too_when_asked_for(tmp_path: Path) -> None:
    outcome = run("--json", "--path", tmp_path / "nowhere", "status")
    assert outcome.code == 1
    assert outcome.json["error"]["type"] == "StoreError"
    assert outcome.json["error"]["message"] in outcome.err


@pytest.mark.parametrize(
    "arguments",
    [["remember"], ["recall", "x", "--budget", "-1"], ["frobnicate"], ["list", "--limit", "0"], ["--bogus"], ["show"]],
)
def test_wrong_usage_is_exit_code_2(arguments: list[str]) -> None:
    assert run(*arguments).code == 2


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    outcome = run("--path", tmp_path / "file" / "memory", "remember", "x")
    assert outcome.code == 1
    assert outcome.err.count("\n") == 1


def test_a_broken_keyfile_is_one_line_without_the_key(tmp_path: Path) -> None:
    key = tmp_path / "agent.key"
    key.write_bytes(b"this is not a key at all")
    outcome = run("--path", tmp_path / "m", "--identity", key, "remember", "x")
    assert outcome.code == 1
    assert "this is not" not in outcome.err
    assert outcome.err.count("\n") == 1


# ------------------------------------------------------------------ output that cannot be forged


def controls(text: str) -> list[str]:
    return re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029\u2066-\u2069]", text)


def test_no_command_lets_a_memory_forge_its_output(tmp_path: Path) -> None:
    place = tmp_path / "memory"
    marks = ["--source", "so\x1b[31mrce\nforged: yes", "--author", "au\x07thor", "--tag", "ta\rg\x1b[0m"]
    outputs = [ok("--path", place, "remember", HOSTILE, *marks).out]
    record_id = ok("--path", place, "--json", "list").json["records"][0]["id"]
    outputs += [
        ok("--path", place, *command).out
        for command in (
            ["list"],
            ["show", record_id],
            ["recall", "all is well"],
            ["recall", "all is well", "--prompt"],
            ["status"],
        )
    ]
    outputs += [
        ok("--path", place, "--json", *command).out
        for command in (["list"], ["show", record_id], ["recall", "all is well"])
    ]
    for output in outputs:
        assert controls(output) == [], output
    assert all("[bold red]markup[/] :skull:" in output for output in outputs if "all is well" in output)
    for output in outputs[:5]:
        assert not any(line.startswith(("1. mem:forged", "forged:")) for line in output.splitlines())


def test_json_keeps_a_hostile_body_exactly(tmp_path: Path) -> None:
    place = tmp_path / "memory"
    ok("--path", place, "remember", HOSTILE)
    assert ok("--path", place, "--json", "list").json["records"][0]["body"] == HOSTILE


def test_an_error_cannot_be_forged_by_an_argument(tmp_path: Path) -> None:
    for arguments in (
        ["show", "x\x1b[31m\nerror: forged"],
        ["ingest", "no\x1b[31m\nsuch.txt"],
        ["load", "no\x1b[31m\nsuch"],
    ):
        place = tmp_path / "memory"
        ok("--path", place, "remember", "x")
        outcome = run("--path", place, *arguments)
        assert outcome.code == 1
        assert controls(outcome.err) == []
        assert outcome.err.count("\n") == 1


@given(st.text())
def test_shown_text_has_no_control_characters(text: str) -> None:
    assert controls(one_line(text)) == []
    assert "\n" not in one_line(text)
    assert all(controls(line) == [] and "\n" not in line for line in shown_lines(text))


@given(st.dictionaries(st.text(), st.one_of(st.text(), st.integers(), st.lists(st.text()))), st.booleans())
def test_json_for_a_terminal_means_what_it_was_made_from(value: dict[str, object], ascii_only: bool) -> None:
    document = to_json(value, ascii_only=ascii_only)
    assert json.loads(document) == value
    assert controls(document) == []
    assert document.isascii() or not ascii_only


# ------------------------------------------------------------------ as a process


def test_a_process_prints_what_its_terminal_can_show(tmp_path: Path) -> None:
    place = tmp_path / "memory"
    narrow = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    assert process("--path", place, "remember", "Grüße 世界", env=narrow).returncode == 0
    shown = process("--path", place, "recall", "Grüße", env=narrow)
    assert shown.returncode == 0
    assert shown.stderr == b""
    listed = process("--path", place, "--json", "list", env=narrow)
    assert json.loads(listed.stdout)["records"][0]["body"] == "Grüße 世界"


def test_a_process_fails_with_one_line_and_its_code(tmp_path: Path) -> None:
    outcome = process("--path", tmp_path / "nowhere", "status")
    assert outcome.returncode == 1
    assert outcome.stdout == b""
    assert outcome.stderr.startswith(b"error: there is no memory at ")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_on_a_terminal_a_record_is_cut_to_one_line_with_its_id_whole(tmp_path: Path) -> None:
    import pty

    place = tmp_path / "memory"
    record_id = ok("--path", place, "--json", "remember", "備份" * 60 + "\x1b[31m").json["record_id"]
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "agent_memory.cli", "--path", str(place), "list"]
    env = {**os.environ, "COLUMNS": "60", "TERM": "xterm"}
    done = subprocess.run(command, stdout=follower, env=env, timeout=60, check=False)
    os.close(follower)
    shown = os.read(leader, 65536).decode()
    os.close(leader)
    assert done.returncode == 0
    assert record_id[:16] in shown
    assert "…" in shown
    assert "[31m" not in shown
    assert shown.count("\n") == 2  # the heading and the record


def test_importing_the_package_does_not_import_the_command_line() -> None:
    code = (
        "import agent_memory, sys; print([m for m in ('click', 'rich', 'sqlite3', 'fg_agent_id') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

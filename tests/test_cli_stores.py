"""``doctor``, ``migrate`` and ``backup`` on the command line: what they print, and their exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_memory.doctor import KINDS
from cli_runner import ok, process, run

NAMES = pytest.mark.parametrize("name", ["memory", "memory.db"])


def filled(tmp_path: Path, name: str) -> Path:
    place = tmp_path / name
    ok("--path", place, "remember", "The sky over Austin is clear.")
    ok("--path", place, "remember", "The backup goes to Dublin.")
    return place


def first_version(place: Path) -> Path:
    return min((place / "records").glob("*/000001.json"))


@NAMES
def test_a_clean_memory_is_said_to_be_clean(tmp_path: Path, name: str) -> None:
    place = filled(tmp_path, name)
    assert ok("--path", place, "doctor").out == "nothing is wrong\n"
    assert ok("--path", place, "--json", "doctor").json == {
        "path": str(place),
        "ok": True,
        "findings": [],
        "repaired": [],
    }


def test_a_finding_is_exit_code_6_and_named(tmp_path: Path) -> None:
    place = filled(tmp_path, "memory")
    torn = first_version(place)
    torn.write_bytes(b"{")
    for arguments in (["doctor"], ["doctor", "--repair"]):
        outcome = run("--path", place, *arguments)
        assert outcome.code == 6
        assert "torn: a version that cannot be read (2)" in outcome.out
        assert f"  {torn}\n" in outcome.out
        assert outcome.out.endswith("2 found\n")
        assert outcome.err == ""
    told = run("doctor", "--json", "--path", place)
    assert told.code == 6
    assert not told.json["ok"]
    assert {finding["kind"] for finding in told.json["findings"]} == {"torn"}
    assert set(told.json["findings"][0]) == {"kind", "where", "what", "repairable", "note"}
    assert process("--path", place, "doctor").returncode == 6


@NAMES
def test_repair_removes_what_can_be_lost_and_only_when_asked(tmp_path: Path, name: str) -> None:
    place = filled(tmp_path, name)
    counts = (place if place.is_dir() else tmp_path / "memory.db.d") / "salience.json"
    counts.write_bytes(b"{")
    asked = run("--path", place, "doctor")
    assert (asked.code, counts.exists()) == (6, True)
    assert "agent-memory doctor --repair removes 1 of them" in asked.out
    repaired = ok("--path", place, "--json", "doctor", "--repair").json
    assert [finding["where"] for finding in repaired["repaired"]] == [str(counts)]
    assert (repaired["ok"], repaired["findings"], counts.exists()) == (True, [], False)
    assert ok("--path", place, "doctor", "--repair").out == "nothing is wrong\n"


def test_a_note_is_said_and_is_no_fault(tmp_path: Path) -> None:
    from agent_memory.stores import open_store
    from contracts import make

    place = filled(tmp_path, "memory")
    open_store(place).put(make().evolve({"supersedes": "mem:" + "7" * 32}))
    outcome = ok("--path", place, "doctor")
    assert "note: names mem:" in outcome.out
    assert outcome.out.endswith("nothing is wrong\n")
    (note,) = ok("--path", place, "doctor", "--json").json["findings"]
    assert note["note"]


def test_hostile_names_cannot_forge_a_report(tmp_path: Path) -> None:
    place = filled(tmp_path, "memory")
    (place / "records" / "x\nnothing is wrong\x1b[2J").write_bytes(b"")
    outcome = run("--path", place, "doctor")
    assert outcome.code == 6
    assert "\nnothing is wrong" not in outcome.out
    assert "\x1b[2J" not in outcome.out


def test_the_doctor_makes_no_memory(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path / "none.db", tmp_path):
        for arguments in (["doctor"], ["doctor", "--repair"], ["backup", str(tmp_path / "kept")]):
            outcome = run("--path", path, *arguments)
            assert (outcome.code, outcome.out) == (1, "")
            assert outcome.err.startswith("error: there is no memory at")
    assert list(tmp_path.iterdir()) == []


def test_many_findings_are_cut_and_json_has_all(tmp_path: Path) -> None:
    place = filled(tmp_path, "memory")
    for number in range(60):
        (place / "records" / f"stray-{number}").write_bytes(b"")
    assert "(10 more; --json lists all)" in run("--path", place, "doctor").out
    assert len(run("--path", place, "doctor", "--json").json["findings"]) == 60


@pytest.mark.parametrize(("name", "target"), [("memory", "copy.db"), ("memory.db", "copy")])
def test_migrate_copies_and_says_how_much(tmp_path: Path, name: str, target: str) -> None:
    place = filled(tmp_path, name)
    outcome = ok("migrate", place, tmp_path / target)
    assert outcome.out == f"2 records in 2 versions copied and compared to the byte\nthey are at {tmp_path / target}\n"
    listed = [ok("--path", path, "list", "--json").json for path in (place, tmp_path / target)]
    assert listed[0] == listed[1]
    assert ok("--json", "migrate", place, tmp_path / f"again-{target}").json == {
        "source": str(place),
        "destination": str(tmp_path / f"again-{target}"),
        "records": 2,
        "versions": 2,
    }
    refused = run("migrate", place, tmp_path / target)
    assert (refused.code, refused.out) == (1, "")
    assert "exists" in refused.err
    assert run("migrate", place).code == 2


@NAMES
def test_backup_copies_and_refuses_a_name_that_is_taken(tmp_path: Path, name: str) -> None:
    place = filled(tmp_path, name)
    outcome = ok("--path", place, "backup", tmp_path / "kept")
    assert outcome.out == f"{place} backed up to {tmp_path / 'kept'}\n"
    assert ok("--path", tmp_path / "kept", "list").out == ok("--path", place, "list").out
    again = run("--path", place, "--json", "backup", tmp_path / "kept")
    assert again.code == 1
    assert again.json["error"]["type"] == "StoreError"
    assert ok("--path", place, "--json", "backup", tmp_path / "more").json == {
        "source": str(place),
        "destination": str(tmp_path / "more"),
    }


def test_the_pages_explain_every_kind_of_finding() -> None:
    text = "".join(
        (Path(__file__).parent.parent / "docs" / page).read_text("utf-8") for page in ("cli.md", "stores.md")
    )
    for kind in KINDS:
        assert f"| `{kind}` |" in text

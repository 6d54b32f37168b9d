"""The commands that keep and find: remember, recall, list, show, status, resolve, export, load."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli_runner import Outcome, ok, run

POSTGRES = "The staging database is Postgres 15."
MYSQL = "The staging database is MySQL 8."


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "memory"


def remembered(place: Path, *arguments: str) -> str:
    record_id = ok("--path", place, "--json", "remember", *arguments).json["record_id"]
    assert isinstance(record_id, str)
    return record_id


@pytest.fixture
def disputed(place: Path) -> tuple[str, str]:
    """Two records in an open dispute: Postgres, MySQL."""
    ids = (
        remembered(place, POSTGRES, "--tag", "staging", "--source", "wiki", "--occurred-at", "2026-02-01T00:00:00Z"),
        remembered(place, MYSQL, "--tag", "staging", "--source", "chat", "--occurred-at", "2026-03-01T00:00:00Z"),
    )
    actions = ok("--path", place, "--json", "consolidate").json["actions"]
    assert [action["action"] for action in actions] == ["transition"]
    return ids


# ------------------------------------------------------------------ remember


def test_remember_keeps_every_mark(place: Path) -> None:
    marks = {
        "--source": "crm/alice",
        "--type": "procedural",
        "--value": "7",
        "--occurred-at": "2026-01-31T09:30:00+02:00",
        "--author": "Alice",
        "--user-id": "u1",
        "--agent-id": "g1",
        "--session-id": "s1",
    }
    flat = [part for pair in marks.items() for part in pair]
    record = ok("--path", place, "--json", "remember", "Drain", "first.", "--tag", "a", "--tag", "b", *flat).json[
        "record"
    ]
    assert record["body"] == "Drain first."
    assert record["type"] == "procedure"
    assert record["tags"] == ["a", "b"]
    assert record["occurred_at"] == "2026-01-31T07:30:00.000Z"
    assert record["provenance"]["ref"] == "crm/alice"
    assert record["agent_memory"] == {
        "author": "Alice",
        "value": "7.0000",
        "scope": {"user_id": "u1", "agent_id": "g1", "session_id": "s1"},
    }


def test_saying_it_again_reinforces(place: Path) -> None:
    first = remembered(place, "The gate code is 4711.")
    again = ok("--path", place, "--json", "remember", "The gate code is 4711.").json
    assert (again["record_id"], again["deduped"]) == (first, True)
    assert "known already" in ok("--path", place, "remember", "The gate code is 4711.").out


def test_remember_reads_stdin(place: Path) -> None:
    facts = ok("--path", place, "--json", "remember", "-", stdin="über\nzwei Zeilen\n".encode()).json
    assert facts["record"]["body"] == "über\nzwei Zeilen"


def test_text_on_stdin_must_be_utf8(place: Path) -> None:
    outcome = run("--path", place, "remember", "-", stdin=b"\xff\xfe")
    assert outcome.code == 1
    assert "not UTF-8" in outcome.err
    assert not place.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["  "],
        ["x", "--type", "opinion"],
        ["x", "--type", "rule"],
        ["x", "--value", "0"],
        ["x", "--value", "nan"],
        ["x", "--value", "1e9"],
        ["x", "--occurred-at", "yesterday"],
        ["x", "--occurred-at", "2026-01-01T00:00:00"],
        ["x", "--source", " "],
        ["x", "--tag", ""],
        ["bad \udcff surrogate"],
    ],
)
def test_what_the_memory_refuses_is_one_line_and_exit_code_1(place: Path, arguments: list[str]) -> None:
    outcome = run("--path", place, "remember", *arguments)
    assert outcome.code == 1
    assert outcome.out == ""
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1


# ------------------------------------------------------------------ recall


def test_recall_finds_and_shows_where_it_came_from(place: Path) -> None:
    remembered(place, "Backups go to Dublin.", "--tag", "backup", "--source", "wiki/backups", "--author", "Ines")
    out = ok("--path", place, "recall", "where", "do", "backups", "go").out
    for part in ("Backups go to Dublin.", "tags: backup", "source: wiki/backups", "author: Ines", "fact", "score"):
        assert part in out


def test_recall_shows_a_dispute_from_both_sides(place: Path, disputed: tuple[str, str]) -> None:
    out = ok("--path", place, "recall", "which database does staging use", "--limit", "1").out
    assert out.count("disputed") == 3  # the dispute, and each side
    for part in (POSTGRES, MYSQL, "2026-02-01", "2026-03-01", "source: wiki", "source: chat", "agent-memory resolve"):
        assert part in out
    found = ok("--path", place, "--json", "recall", "staging database", "--limit", "1").json
    assert {item["record"]["id"] for item in found["records"]} == set(disputed)
    assert found["total_tokens"] == sum(item["tokens"] for item in found["records"])


def test_recall_as_json_has_its_keys(place: Path) -> None:
    remembered(place, "Backups go to Dublin.")
    found = ok("--path", place, "--json", "recall", "backups", "--budget", "50").json
    assert sorted(found) == ["budget_tokens", "query", "records", "total_tokens"]
    assert sorted(found["records"][0]) == ["factors", "reasons", "record", "score", "tokens"]
    assert found["budget_tokens"] == 50


def test_recall_keeps_to_its_budget_and_limit(place: Path) -> None:
    for number in range(6):
        remembered(place, f"Backup number {number} goes to bucket {number}, which lies in region {number}.")
    everything = ok("--path", place, "--json", "recall", "backup bucket").json
    assert len(everything["records"]) == 6
    assert len(ok("--path", place, "--json", "recall", "backup bucket", "--limit", "2").json["records"]) == 2
    small = ok("--path", place, "--json", "recall", "backup bucket", "--budget", "30").json
    assert 0 < small["total_tokens"] <= 30
    assert ok("--path", place, "--json", "recall", "backup", "--budget", "0").json["records"] == []


def test_recall_prints_the_block_for_a_prompt(place: Path, disputed: tuple[str, str]) -> None:
    out = ok("--path", place, "recall", "staging database", "--prompt").out
    assert out.count("[disputed:") == 2
    facts = ok("--path", place, "--json", "recall", "staging database", "--prompt").json
    assert facts["prompt"].count("[disputed:") == 2
    assert ok("--path", place, "recall", "zebra", "--prompt").out == "(no relevant memories)\n"


def test_recall_of_nothing_says_so(place: Path) -> None:
    remembered(place, "Backups go to Dublin.")
    outcome = ok("--path", place, "recall", "zebra")
    assert outcome.out == "nothing relevant is remembered\n"


def test_recall_without_touch_leaves_no_trace(place: Path) -> None:
    remembered(place, "Backups go to Dublin.")
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    ok("--path", place, "recall", "backups", "--no-touch")
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before


def test_history_and_archived_are_found_when_asked_for(place: Path, disputed: tuple[str, str]) -> None:
    postgres, mysql = disputed
    ok("--path", place, "resolve", mysql, postgres, "--reason", "moved")
    plain = ok("--path", place, "--json", "recall", "staging database").json
    assert [item["record"]["id"] for item in plain["records"]] == [mysql]
    both = ok("--path", place, "--json", "recall", "staging database", "--history").json
    assert {item["record"]["id"] for item in both["records"]} == {mysql, postgres}
    assert "superseded" in ok("--path", place, "recall", "staging database", "--history", "--archived").out


# ------------------------------------------------------------------ list, show, status


def test_list_filters_and_says_what_it_left_out(place: Path) -> None:
    remembered(place, "old", "--tag", "t", "--type", "episode", "--occurred-at", "2025-01-01T00:00:00Z")
    remembered(place, "new", "--tag", "t", "--type", "fact")
    remembered(place, "other")
    assert [line.split()[-1] for line in ok("--path", place, "list", "--tag", "t").out.splitlines()] == ["old", "new"]
    assert ok("--path", place, "--json", "list", "--type", "episode").json["total"] == 1
    assert ok("--path", place, "--json", "list", "--state", "archived").json == {"total": 0, "records": []}
    limited = ok("--path", place, "list", "--limit", "1")
    assert "(2 older ones not shown)" in limited.out
    assert run("--path", place, "list", "--state", "lost").code == 2


def test_list_gives_each_record_a_line_whatever_it_says(place: Path) -> None:
    ok("--path", place, "remember", "first\nsecond\x1b[31m")
    out = ok("--path", place, "list").out
    assert out.count("\n") == 1
    assert "first\\nsecond\\x1b[31m" in out


def test_show_tells_the_whole_story(place: Path, disputed: tuple[str, str]) -> None:
    postgres, mysql = disputed
    out = ok("--path", place, "show", postgres).out
    for part in (postgres, POSTGRES, MYSQL, "in dispute with", "history", "1. ", "2. ", "signature   none"):
        assert part in out
    facts = ok("--path", place, "--json", "show", postgres).json
    assert sorted(facts) == ["dispute", "evidence", "history", "record", "signature"]
    assert facts["dispute"]["id"] == mysql
    assert [version["state"] for version in facts["history"]] == ["active", "transitional"]


def test_show_checks_the_signature(place: Path, tmp_path: Path) -> None:
    key = tmp_path / "agent.key"
    record_id = ok("--path", place, "--identity", key, "--json", "remember", "signed").json["record_id"]
    assert "signature   valid, by " in ok("--path", place, "show", record_id).out


def test_status_counts(place: Path, disputed: tuple[str, str]) -> None:
    facts = ok("--path", place, "--json", "status").json
    assert sorted(facts) == [
        "agent",
        "by_state",
        "by_type",
        "damaged",
        "erasure_pending",
        "open_contradictions",
        "path",
        "records",
        "scope",
    ]
    assert (facts["erasure_pending"], facts["damaged"]) == (False, [])
    assert (facts["records"], facts["open_contradictions"], facts["path"]) == (2, 1, str(place))
    out = ok("--path", place, "status").out
    assert "records        2" in out
    assert "open disputes  1" in out


def test_a_torn_file_is_named_and_hides_nothing_else(place: Path, tmp_path: Path) -> None:
    torn = remembered(place, "Backups go to Dublin.")
    whole = remembered(place, "The gate code is kept by the front desk.")
    file = place / "records" / torn.removeprefix("mem:") / "000001.json"
    file.write_bytes(file.read_bytes()[:40])
    facts = ok("--path", place, "--json", "status").json
    assert [damaged["where"] for damaged in facts["damaged"]] == [str(file)]
    assert str(file) in ok("--path", place, "status").out
    assert [item["id"] for item in ok("--path", place, "--json", "list").json["records"]] == [whole]
    assert run("--path", place, "show", torn).code == 1
    outcome = ok("--path", place, "--json", "export", tmp_path / "brain.json")
    assert (outcome.json["records"], len(outcome.json["damaged"])) == (1, 1)
    assert "left out" in outcome.err


# ------------------------------------------------------------------ ids as people type them


@pytest.mark.parametrize("length", [6, 12, 31, 32])
@pytest.mark.parametrize("prefix", ["", "mem:"])
def test_an_id_may_be_shortened(place: Path, length: int, prefix: str) -> None:
    record_id = remembered(place, "Backups go to Dublin.")
    typed = prefix + record_id[4 : 4 + length].upper().replace("MEM:", "mem:")
    assert ok("--path", place, "--json", "show", typed).json["record"]["id"] == record_id


@pytest.mark.parametrize(
    "typed", ["", "mem:", "abcde", "xyzxyz", "mem:" + "0" * 33, "../../etc", "0" * 32, "000000", "é" * 6]
)
def test_an_id_that_leads_nowhere_is_an_error(place: Path, typed: str) -> None:
    remembered(place, "Backups go to Dublin.")
    outcome = run("--path", place, "show", typed)
    assert outcome.code == 1
    assert outcome.err.startswith("error: ")


def test_an_ambiguous_id_names_the_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace

    from agent_memory import ArgumentError
    from agent_memory.cli.ids import full_id

    ids = [f"mem:abcdef{number:026x}" for number in range(7)]
    memory = SimpleNamespace(list=lambda: [SimpleNamespace(id=record_id) for record_id in ids])
    with pytest.raises(ArgumentError, match="beginning of 7 ids") as failure:
        full_id(memory, "abcdef")  # type: ignore[arg-type]
    assert ids[0] in str(failure.value)
    assert "and 2 more" in str(failure.value)


# ------------------------------------------------------------------ resolve


def test_resolve_keeps_the_loser_with_the_reason(place: Path, disputed: tuple[str, str]) -> None:
    postgres, mysql = disputed
    facts = ok("--path", place, "--json", "resolve", mysql[:12], postgres[4:14], "--reason", "checked on the host").json
    assert (facts["winner"]["state"], facts["loser"]["state"]) == ("active", "superseded")
    assert facts["loser"]["state_reason"] == "checked on the host"
    assert facts["loser"]["superseded_by"] == mysql
    assert POSTGRES in ok("--path", place, "show", postgres).out


def test_resolve_refuses_what_is_no_dispute(place: Path, disputed: tuple[str, str]) -> None:
    postgres, mysql = disputed
    other = remembered(place, "Backups go to Dublin.")
    for winner, loser, reason in ((mysql, mysql, "x"), (mysql, other, "x"), (mysql, postgres, " ")):
        outcome = run("--path", place, "resolve", winner, loser, "--reason", reason)
        assert outcome.code == 1, outcome
    assert run("--path", place, "resolve", mysql, postgres).code == 2  # a reason is required
    assert ok("--path", place, "--json", "status").json["open_contradictions"] == 1


# ------------------------------------------------------------------ export, load


def exported(place: Path, tmp_path: Path) -> tuple[Path, Outcome]:
    file = tmp_path / "brain.json"
    key = tmp_path / "agent.key"
    ok("--path", place, "--identity", key, "remember", "Backups go to Dublin.")
    return file, ok("--path", place, "--identity", key, "--json", "export", file)


def test_an_export_loads_elsewhere(place: Path, tmp_path: Path) -> None:
    file, outcome = exported(place, tmp_path)
    assert outcome.json["signed"] is True
    other = tmp_path / "other"
    facts = ok("--path", other, "--json", "load", file, "--expected-agent", outcome.json["agent"]).json
    assert sorted(facts) == ["changed", "collisions", "file", "loaded", "outside", "skipped", "verified"]
    assert (len(facts["loaded"]), facts["skipped"], facts["verified"]) == (1, [], True)
    assert len(ok("--path", other, "--json", "load", file).json["skipped"]) == 1
    assert "Dublin" in ok("--path", other, "recall", "backups").out


def test_a_tampered_or_foreign_file_is_refused_and_leaves_nothing(place: Path, tmp_path: Path) -> None:
    file, outcome = exported(place, tmp_path)
    wire = json.loads(file.read_text("utf-8"))
    forged = {
        "body": {**wire, "records": [{**wire["records"][0], "body": "Backups go nowhere."}]},
        "stripped": {**wire, "signature": ""},
        "empty": {**wire, "records": []},
    }
    other = tmp_path / "other"
    for name, value in forged.items():
        copy = tmp_path / f"{name}.json"
        copy.write_text(json.dumps(value), encoding="utf-8")
        assert run("--path", other, "load", copy).code == 1, name
    agent = outcome.json["agent"]
    somebody_else = agent[:-1] + ("x" if agent[-1] != "x" else "y")
    assert run("--path", other, "load", file, "--expected-agent", somebody_else).code == 1
    assert run("--path", other, "load", tmp_path / "missing.json").code == 1
    (tmp_path / "torn.json").write_bytes(file.read_bytes()[:-20])
    assert run("--path", other, "load", tmp_path / "torn.json").code == 1
    assert not other.exists()
    assert ok("--path", other, "load", tmp_path / "stripped.json", "--no-verify").code == 0


def test_export_replaces_a_file_only_when_told(place: Path, tmp_path: Path) -> None:
    file, _ = exported(place, tmp_path)
    outcome = run("--path", place, "export", file)
    assert outcome.code == 1
    assert "--force" in outcome.err
    assert "not signed" in ok("--path", place, "export", file, "--force").out

"""Corrections on the command line: every argument of ``remember`` as an option, the story of a key, going back."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runner import Outcome, ok, process, run

KEY = "billing-api::region"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A memory in which Oslo was corrected to Bergen."""
    for value in ("Oslo", "Bergen"):
        said(tmp_path / "m.db", f"The region is {value}.", "--object", value)
    return tmp_path / "m.db"


def said(place: Path, text: str, *options: str) -> Outcome:
    return ok("--path", place, "--json", "remember", text, "--key", KEY, *options)


def test_a_blocked_write_exits_4_and_prints_the_note(place: Path) -> None:
    outcome = run("--path", place, "remember", "We run in Oslo", "--key", KEY, "--object", "oslo")
    assert outcome.code == 4
    assert "kept as history" in outcome.out
    assert "remember it with reaffirm=True" in outcome.err
    as_json = run("--path", place, "--json", "remember", "We run in Oslo", "--key", KEY, "--object", "oslo")
    assert as_json.code == 4
    assert (as_json.json["blocked"], as_json.json["policy"], as_json.json["deduped"]) == (True, "echo_guard", True)
    assert as_json.json["note"] in as_json.err
    done = process("--path", str(place), "remember", "The region is Oslo.")
    assert done.returncode == 4
    assert b"reaffirm" in done.stderr


def test_every_argument_is_an_option(place: Path) -> None:
    note = ok("--path", place, "--json", "remember", "A note.", "--user-id", "ann").json["record_id"]
    verdict = said(
        place, "The region is Rome.", "--object", "rome", "--derived-from", note[:12], "--tag", "geo", "--value", "3",
        "--source", "crm/ann", "--author", "ann", "--user-id", "ann", "--type", "semantic",
        "--occurred-at", "2026-01-01T00:00:00Z",
    ).json  # fmt: skip
    record = verdict["record"]
    extension = record["agent_memory"]
    assert (extension["key"], extension["object"], extension["declared"]) == (KEY, "rome", True)
    assert record["evidence"] == [note]
    assert verdict["superseded_id"] is None
    assert set(verdict) == {
        "record_id", "deduped", "blocked", "policy", "current_id", "superseded_id", "note", "lineage_dropped",
        "persisted", "persist_error", "project", "record",
    }  # fmt: skip


def test_reaffirmed_it_lands(place: Path) -> None:
    verdict = said(place, "The region is Oslo.", "--object", "oslo", "--reaffirm").json
    assert (verdict["blocked"], verdict["record"]["state"]) == (False, "active")


def test_the_history_of_a_key_and_of_a_record(place: Path) -> None:
    run("--path", place, "remember", "We run in Oslo", "--key", KEY, "--object", "oslo")
    told = ok("--path", place, "history", KEY).out
    assert told.count("The region is") == 2
    assert "stands" in told
    assert "blocked, echo guard" in told
    facts = ok("--path", place, "--json", "history", KEY).json
    assert (facts["key"], facts["record_id"], len(facts["records"]), len(facts["blocked"])) == (KEY, None, 3, 1)
    first = facts["records"][0]["id"]
    for typed in (first, first[:14], first[4:14]):
        facts = ok("--path", place, "--json", "history", typed).json
        assert (facts["key"], facts["record_id"]) == (None, first)
        assert [version["state"] for version in facts["versions"]] == ["active", "superseded"]
    assert "superseded: corrected by" in ok("--path", place, "history", first).out
    assert "nothing was ever said" in ok("--path", place, "history", "no::such").out


def test_a_key_that_looks_like_the_beginning_of_an_id_is_a_key(place: Path) -> None:
    ok("--path", place, "remember", "It is on.", "--key", "facade")
    assert ok("--path", place, "--json", "history", "facade").json["key"] == "facade"
    assert run("--path", place, "history", "deadbeef").code == 1


def test_revert_and_retire(place: Path) -> None:
    back = ok("--path", place, "--json", "revert", KEY).json
    assert back["record"]["body"] == "The region is Oslo."
    assert "revert once more" in ok("--path", place, "revert", KEY).out
    gone = ok("--path", place, "--json", "retire", KEY, "--reason", "moved on").json
    assert (gone["record"]["state"], gone["record"]["state_reason"]) == ("archived", "moved on")
    assert run("--path", place, "remember", "We run in Bergen", "--key", KEY, "--object", "bergen").code == 4
    refused = run("--path", place, "retire", KEY, "--reason", "again")
    assert refused.code == 1
    assert "history(key)" in refused.err
    other = ok("--path", place, "--json", "remember", "The plant is a fern.").json["record_id"]
    assert "retired" in ok("--path", place, "retire", other[:14], "--reason", "dry").out
    assert run("--path", place, "retire", KEY).code == 2


def test_a_scope_is_kept_to(place: Path) -> None:
    ok("--path", place, "remember", "The region is Rome.", "--key", KEY, "--user-id", "ann")
    assert len(ok("--path", place, "--json", "history", KEY).json["records"]) == 3
    pinned = ok("--path", place, "--user", "bob", "--json", "history", KEY).json
    assert len(pinned["records"]) == 2
    assert run("--path", place, "revert", KEY, "--user-id", "ann").code == 1


def test_what_an_ingested_file_echoes_is_reported(place: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("- The region is Oslo.\n- The office plant is a fern.\n")
    outcome = run("--path", place, "--json", "ingest", notes)
    assert outcome.code == 3
    assert outcome.json["accepted"] == 1
    assert "retired under a key" in outcome.json["rejected"][0]["reason"]

"""``ingest``: what is taken, what is reported, and that no file, however bad, ends in a traceback."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli_runner import ok, process, run

LINES = [
    '{"text": "Backups go to Dublin.", "tags": ["backup"], "source": "wiki", "colour": "blue"}',
    '{"body": "Backups are kept for 35 days.", "type": "fact", "occurred_at": "2026-02-01T10:00:00Z"}',
    "not json",
    '{"text": "x", "tags": "backup"}',
    '{"text": "x", "occurred_at": "yesterday"}',
    '{"text": "x", "type": "rule"}',
    '{"text": "Backups go to Dublin.", "source": "wiki"}',
    '{"text": "x", "text": "y"}',
    "",
    '{"text": "Fin de la sauvegarde à 4 h.", "author": "Zoé", "session_id": "s1", "colour": "red", "size": 2.5}',
]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "memory"


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    file = tmp_path / "notes.jsonl"
    file.write_text("\n".join(LINES), encoding="utf-8")
    return file


def test_good_lines_are_taken_and_bad_ones_named(place: Path, lines: Path) -> None:
    outcome = run("--path", place, "--json", "ingest", lines)
    assert outcome.code == 3
    facts = outcome.json
    assert sorted(facts) == [
        "accepted",
        "consolidation",
        "deduped",
        "fields_not_used",
        "file",
        "format",
        "records_per_second",
        "rejected",
        "seconds",
    ]
    assert (facts["accepted"], facts["deduped"], facts["format"]) == (3, 1, "jsonl")
    assert [bad["line"] for bad in facts["rejected"]] == [3, 4, 5, 6, 8]
    assert facts["fields_not_used"] == {"colour": 2, "size": 1}
    bodies = {record["body"]: record for record in ok("--path", place, "--json", "list").json["records"]}
    assert bodies["Backups go to Dublin."]["provenance"]["ref"] == "wiki"
    assert bodies["Fin de la sauvegarde à 4 h."]["agent_memory"]["author"] == "Zoé"


def test_the_report_for_people_says_the_same(place: Path, lines: Path) -> None:
    outcome = run("--path", place, "ingest", lines)
    assert outcome.code == 3
    for part in (
        "3 accepted",
        "1 known already",
        "5 rejected",
        "line 3: is not JSON",
        "fields not used: colour (2), size (1)",
    ):
        assert part in outcome.out


def test_a_file_without_bad_lines_is_exit_code_0_and_a_second_time_adds_nothing(place: Path, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_bytes("\ufeffOne.\r\nStill one.\r\n\r\nZwei: Grüße.\r\n".encode())
    assert ok("--path", place, "--json", "ingest", file).json["accepted"] == 2
    again = ok("--path", place, "--json", "ingest", file).json
    assert (again["accepted"], again["deduped"]) == (0, 2)


def test_markdown_is_taken_by_bullet_and_paragraph(place: Path, tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.write_text("# Ops\n\nA paragraph.\n\n- one\n- two\n  - three\n", encoding="utf-8")
    assert ok("--path", place, "--json", "ingest", file).json["accepted"] == 4


def test_defaults_apply_where_an_entry_says_nothing_itself(place: Path, lines: Path) -> None:
    run("--path", place, "ingest", lines, "--source", "import", "--type", "episode", "--tag", "old", "--tag", "backup")
    bodies = {record["body"]: record for record in ok("--path", place, "--json", "list").json["records"]}
    assert bodies["Backups go to Dublin."]["provenance"]["ref"] == "wiki"
    assert bodies["Backups go to Dublin."]["tags"] == ["old", "backup"]
    assert bodies["Backups go to Dublin."]["type"] == "episode"
    assert bodies["Backups are kept for 35 days."]["type"] == "fact"
    assert bodies["Backups are kept for 35 days."]["provenance"]["ref"] == "import"


def test_stdin_needs_its_format_and_is_read_to_the_end(place: Path) -> None:
    assert run("--path", place, "ingest", "-", stdin="x").code == 2
    facts = ok("--path", place, "--json", "ingest", "-", "--format", "text", stdin="One.\n\nTwo.").json
    assert (facts["accepted"], facts["file"]) == (2, "-")


def test_it_consolidates_once_at_the_end(place: Path, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    others = "\n\n".join(f"Backup {number} goes to bucket {number}." for number in range(6))
    file.write_text(f"The staging database is Postgres 15.\n\nThe staging database is MySQL 8.\n\n{others}\n")
    actions = ok("--path", place, "--json", "ingest", file).json["consolidation"]["actions"]
    assert [action["pass"] for action in actions] == ["contradiction"]
    other = place.with_name("other")
    assert ok("--path", other, "--json", "ingest", file, "--no-consolidate").json["consolidation"] is None
    assert ok("--path", other, "--json", "status").json["open_contradictions"] == 0


def test_many_bad_lines_are_cut_for_people_and_whole_in_json(place: Path, tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text("nope\n" * 50)
    outcome = run("--path", place, "ingest", file)
    assert outcome.code == 3
    assert outcome.out.count("  line ") == 20
    assert "(30 more; --json lists all)" in outcome.out
    assert len(run("--path", place, "--json", "ingest", file).json["rejected"]) == 50


def test_more_than_one_batch_keeps_its_line_numbers(place: Path, tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    numbers = range(1, 601)
    file.write_text("\n".join("broken" if n % 250 == 0 else json.dumps({"text": f"note {n}"}) for n in numbers))
    facts = run("--path", place, "--json", "ingest", file, "--no-consolidate").json
    assert facts["accepted"] == 598
    assert [bad["line"] for bad in facts["rejected"]] == [250, 500]


def test_unused_names_cannot_flood_or_forge_the_report(place: Path, tmp_path: Path) -> None:
    file = tmp_path / "wide.jsonl"
    wide = {"text": "x", "\x1b[31mred\n": 1, **{f"field{number}": number for number in range(500)}}
    file.write_text(json.dumps(wide))
    out = ok("--path", place, "ingest", file).out
    assert "\x1b" not in out
    assert "and others (481)" in out
    assert len(out) < 2000


@pytest.mark.parametrize("name", ["missing.txt", "folder.txt"])
def test_a_file_that_cannot_be_read_makes_no_memory(place: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.txt").mkdir()
    outcome = run("--path", place, "ingest", f"{tmp_path}/{name}")
    assert outcome.code in (1, 2)
    assert "Traceback" not in outcome.err
    assert not place.exists()


def test_utf16_is_refused_and_makes_no_memory(place: Path, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("hello", encoding="utf-16")
    outcome = run("--path", place, "ingest", file)
    assert outcome.code == 1
    assert "UTF-16" in outcome.err
    assert not place.exists()


def test_an_unknown_suffix_asks_for_the_format(place: Path, tmp_path: Path) -> None:
    file = tmp_path / "notes.csv"
    file.write_text("a,b")
    outcome = run("--path", place, "ingest", file)
    assert outcome.code == 2
    assert "--format" in outcome.err


def test_a_line_over_the_limit_is_one_bad_line(place: Path, tmp_path: Path) -> None:
    file = tmp_path / "long.jsonl"
    file.write_text(json.dumps({"text": "x" * 1_100_000}) + "\n" + json.dumps({"text": "short"}))
    facts = run("--path", place, "--json", "ingest", file).json
    assert facts["accepted"] == 1
    assert [bad["line"] for bad in facts["rejected"]] == [1]


# Through the whole command every example opens a memory, so there are fewer of them here than for the readers alone.
@settings(max_examples=40)
@given(
    st.one_of(
        st.binary(max_size=300),
        st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")),
        st.lists(
            st.fixed_dictionaries(
                {"text": st.text(max_size=20)},
                optional={
                    "tags": st.one_of(st.lists(st.text(max_size=5), max_size=3), st.text(max_size=3)),
                    "value": st.one_of(st.floats(), st.integers(), st.text(max_size=3)),
                    "occurred_at": st.one_of(st.text(max_size=5), st.datetimes().map(str), st.integers()),
                    "type": st.sampled_from(["fact", "rule", "", 5, None]),
                    "source": st.one_of(st.text(max_size=5), st.none(), st.integers()),
                },
            ),
            max_size=5,
        ).map(lambda items: "\n".join(map(json.dumps, items)).encode()),
    ),
    st.sampled_from(["text", "markdown", "jsonl"]),
)
def test_no_bytes_end_in_a_traceback(data: bytes, format_name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        outcome = run("--path", f"{folder}/m", "--json", "ingest", "-", "--format", format_name, stdin=data)
        assert outcome.code in (0, 1, 3)
        if outcome.code != 1:
            facts = outcome.json
            assert (outcome.code == 3) == bool(facts["rejected"])
            assert len(ok("--path", f"{folder}/m", "--json", "list").json["records"]) >= (facts["accepted"] > 0)


def test_a_process_reads_a_pipe(place: Path) -> None:
    done = process("--path", place, "--json", "ingest", "-", "--format", "jsonl", stdin="\n".join(LINES).encode())
    assert done.returncode == 3
    assert json.loads(done.stdout)["accepted"] == 3
    assert done.stderr == b""  # no bar where there is no terminal

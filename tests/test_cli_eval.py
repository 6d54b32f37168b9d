"""``agent-memory eval``: figures for questions in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli_runner import ok, run


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    place = tmp_path / "memory"
    for text in ("The bakery on Quay Street opens at six.", "Larkspur renewed in April.", "The door code changed."):
        ok("--path", place, "remember", text)
    return place


def questions(tmp_path: Path, *wires: Any) -> Path:
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(f"{wire if isinstance(wire, str) else json.dumps(wire)}\n" for wire in wires), "utf-8")
    return path


def test_the_figures_of_a_file(memory: Path, tmp_path: Path) -> None:
    code = next(item["id"] for item in ok("--path", memory, "--json", "list").json["records"] if "code" in item["body"])
    file = questions(
        tmp_path,
        {"query": "When does the bakery open?", "texts": "bakery on Quay Street", "match": "contains"},
        "",
        {"query": "door code", "ids": [code]},
        {"query": "Who painted the fence?", "texts": ["Nobody painted it."]},
    )
    told = ok("--path", memory, "--json", "eval", file, "--k", "1,3", "--budget", "50").json
    assert told["questions"] == told["expected"] == 3
    assert told["missing"] == 1
    assert told["recall"] == told["hit"] == told["ndcg"] == pytest.approx({"1": 2 / 3, "3": 2 / 3})
    assert told["evidence"] == pytest.approx(2 / 3)
    assert [(item["line"], item["ranks"]) for item in told["answers"]] == [(1, [1]), (3, [1]), (4, [None])]
    out = ok("--path", memory, "eval", file).out
    assert "3 questions, 3 records expected" in out
    assert "1 of them are not in this memory" in out
    assert "line 4: Who painted the fence?" in out
    assert "0.667 of what was expected within 1,000 tokens" in out


def test_nothing_is_touched(memory: Path, tmp_path: Path) -> None:
    file = questions(tmp_path, {"query": "bakery", "texts": "x"})
    ok("--path", memory, "eval", file)
    assert not (memory / "salience.json").exists()


def test_stdin_is_a_file(memory: Path) -> None:
    line = json.dumps({"query": "bakery", "texts": "bakery", "match": "contains"})
    assert ok("--path", memory, "--json", "eval", "-", stdin=line).json["hit"]["5"] == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2: it is no JSON"),
        ("7", "line 2: a question must be a JSON object"),
        ('{"query": "q"}', "line 2: a question needs ids or texts"),
        ("[" * 100_000, "line 2: it is no JSON"),
    ],
)
def test_a_line_that_is_no_question_ends_it(memory: Path, tmp_path: Path, line: str, said: str) -> None:
    file = questions(tmp_path, {"query": "bakery", "texts": "x"}, line)
    outcome = run("--path", memory, "eval", file)
    assert outcome.code == 1
    assert said in outcome.err


def test_what_cannot_be_evaluated_is_said(memory: Path, tmp_path: Path) -> None:
    assert "no questions" in run("--path", memory, "eval", questions(tmp_path)).err
    assert "cannot be read" in run("--path", memory, "eval", tmp_path / "nowhere").err
    for wrong in ("0", "", "5,", "a", "-1"):
        assert run("--path", memory, "eval", questions(tmp_path), "--k", wrong).code == 2


def test_what_a_query_holds_cannot_pass_for_output(memory: Path, tmp_path: Path) -> None:
    file = questions(tmp_path, {"query": "\x1b[2Jxyzzy\n1.000 found", "texts": "x"})
    out = ok("--path", memory, "eval", file).out
    assert "\x1b" not in out
    assert "\n1.000" not in out

"""``consolidate``: what it says it did, what it would do, and what it did not do."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_memory import ConsolidationReport, Memory, RecordState, Rejection, archive
from agent_memory.cli.render import Screen
from agent_memory.cli.report import PASSES, SAID, Told, report_lines
from agent_memory.pipeline.report import CONSOLIDATION_ACTIONS
from cli_runner import ok, run

POSTGRES = "The staging database is Postgres 15."
MYSQL = "The staging database is MySQL 8."
HANDBOOK = ("The on-call handbook lives in the team wiki.", "On-call handbook lives in the team wiki")
ROLLBACKS = [f"Release 4.{n} was rolled back: its migration locked the orders table." for n in (12, 15, 18)]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "memory"


def filled(place: Path, *items: str | dict[str, Any]) -> dict[str, str]:
    """The ids of what is remembered, by text; the last of equal texts."""
    with Memory(place, auto_consolidate=False) as memory:
        results = memory.remember_many(items)
        records = [memory.get(result.record_id) for result in results]  # type: ignore[union-attr, arg-type]
    return {record.body: record.id for record in records}


def episodes(*texts: str) -> list[dict[str, Any]]:
    return [{"text": text, "mtype": "episode", "tags": ["rollback"]} for text in texts]


def everything(place: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in (place / "records").rglob("*") if file.is_file()}


def consolidated(place: Path, *options: str) -> str:
    return ok("--path", place, "consolidate", *options).out


# ------------------------------------------------------------------ what was done


def test_everything_a_consolidation_does_is_said_in_words() -> None:
    assert set(SAID) == set(CONSOLIDATION_ACTIONS)
    assert set(PASSES) == {"read", *(name for name, _ in CONSOLIDATION_ACTIONS)}


def test_nothing_to_do_is_one_line(place: Path) -> None:
    filled(place, POSTGRES)
    assert consolidated(place) == "nothing to consolidate\n"


def test_a_merge_is_shown_as_the_text_that_stays_with_what_was_folded_into_it(place: Path) -> None:
    ids = filled(place, *HANDBOOK)
    out = consolidated(place)
    assert "records merged with others that say the same: 2\n" in out
    before, _, after = out.partition("  folded into it:\n")
    with Memory(place) as memory:
        (stays,) = memory.list(state=RecordState.ACTIVE)
    assert f"stays:\n  {stays.id[:16]}" in before
    assert f"│ {stays.body}\n" in before
    for text, record_id in ids.items():
        assert f"    {record_id[:16]} · fact" in after
        assert f"│ {text}\n" in after


def test_an_exact_copy_is_named_with_where_it_came_from_and_not_said_twice(place: Path) -> None:
    filled(place, {"text": POSTGRES, "source": "wiki"}, {"text": POSTGRES, "source": "chat"})
    out = consolidated(place)
    assert out.count(POSTGRES) == 1
    assert "an exact copy" in out
    assert "source: wiki" in out
    assert "source: chat" in out


def test_a_copy_of_a_record_that_was_then_merged_stands_under_what_stays_in_the_end(place: Path) -> None:
    filled(place, {"text": HANDBOOK[0], "source": "a"}, {"text": HANDBOOK[0], "source": "b"}, HANDBOOK[1])
    out = consolidated(place)
    assert out.count("\nstays:\n") == out.count("folded into it:") == 1
    assert len(re.findall(r"^    mem:", out, flags=re.MULTILINE)) == 3


def test_a_dispute_is_shown_from_both_sides_with_the_commands_that_settle_it(place: Path) -> None:
    ids = filled(place, POSTGRES, MYSQL)
    out = consolidated(place)
    assert "disputes opened: 1\n" in out
    assert "disputed, and not settled: they give one slot different values\n" in out
    assert out.index("A. mem:") < out.index("B. mem:")
    commands = re.findall(r"if ([AB]) holds: agent-memory (.*)$", out, flags=re.MULTILINE)
    assert [side for side, _ in commands] == ["A", "B"]
    winners = [shlex.split(command)[3] for _, command in commands]
    assert sorted(winners) == sorted(record_id[:16] for record_id in ids.values())
    settled = ok(*shlex.split(commands[0][1]))  # word for word as printed
    assert settled.out.startswith(f"holds: {winners[0]}")


def test_the_command_that_settles_names_no_place_that_is_the_usual_one(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(place, POSTGRES, MYSQL)
    monkeypatch.chdir(tmp_path)
    assert "holds: agent-memory resolve mem:" in ok("consolidate", "--dry-run").out
    env = {"AGENT_MEMORY_PATH": str(place)}
    assert "holds: agent-memory resolve mem:" in ok("consolidate", "--dry-run", env=env).out
    assert f"agent-memory --path {place} resolve" in consolidated(place)


def test_a_rule_is_shown_with_the_episodes_it_was_drawn_from(place: Path) -> None:
    filled(place, *episodes(*ROLLBACKS))
    out = consolidated(place)
    rule, _, drawn = out.partition("  drawn from:\n")
    assert "rules drawn from repeated episodes: 1\n" in rule
    assert "│ Episodes tagged rollback keep recurring.\n" in rule
    assert all(f"│ {text}\n" in drawn for text in ROLLBACKS)
    filled(place, *episodes("Release 5.0 was rolled back."))
    later = consolidated(place).partition("  joined by:\n")[2]
    assert "Release 5.0" in later
    assert ROLLBACKS[0] not in later


def test_a_flag_is_shown_with_the_rule_and_the_reason(place: Path) -> None:
    ids = filled(place, *episodes(*ROLLBACKS))
    consolidated(place)
    with Memory(place) as memory:
        for record_id in ids.values():
            memory.store.put(archive(memory.get(record_id), reason="old"))
    out = consolidated(place)
    assert "rules flagged: their evidence no longer holds: 1\n" in out
    assert "│ Episodes tagged rollback keep recurring.\n" in out


def test_json_holds_all_of_it_with_the_records(place: Path) -> None:
    ids = filled(place, *HANDBOOK, POSTGRES, MYSQL, *episodes(*ROLLBACKS))
    facts = ok("--path", place, "--json", "consolidate").json
    assert sorted(facts) == ["actions", "dry_run", "full", "records", "rejections"]
    assert (facts["dry_run"], facts["full"], facts["rejections"]) == (False, False, [])
    records = {record["id"]: record for record in facts["records"]}
    named = {record_id for action in facts["actions"] for record_id in (*action["record_ids"], *action["related"])}
    assert named == records.keys() >= set(ids.values())
    (rule,) = (action for action in facts["actions"] if action["action"] == "create-rule")
    assert sorted(rule["related"]) == sorted(ids[text] for text in ROLLBACKS)


def test_long_lists_and_texts_are_cut_with_a_note_and_json_lists_all(place: Path) -> None:
    clashes = [f"The port of host h{n} is {port}." for n in range(25) for port in (80, 81)]
    copies = [{"text": "Backups go to Dublin.", "source": f"s{n}"} for n in range(14)]
    long = [{"text": "word\n" * 2000, "source": source} for source in "ab"]
    filled(place, *clashes, *copies, *long)
    out = consolidated(place, "--dry-run")
    assert "disputes opened: 25\n" in out
    assert out.count("would be disputed:") == 20
    assert "\n(5 more of these; --json lists all)\n" in out
    assert "\n    (3 more; --json lists all)\n" in out
    assert re.search(r"\(cut; agent-memory show mem:\w{12} has all of it\)", out)
    assert out.count("│ word") < 20
    facts = ok("--path", place, "--json", "consolidate").json
    assert sum(action["action"] == "transition" for action in facts["actions"]) == 25
    assert len(facts["records"]) == len(clashes) + len(copies) + len(long)


# ------------------------------------------------------------------ what was not done


def test_what_was_put_off_is_counted_with_the_reason(place: Path) -> None:
    filled(place, *(f"The staging database is Postgres {n}." for n in range(4)))
    out = consolidated(place)
    assert "disputes opened: 2\n" in out
    refused = out[out.index("refused or put off") :]
    assert refused.startswith(
        "refused or put off, and not done: 4\n  4 while finding what clashes: deferred: a side is in"
    )


def test_reasons_are_counted_together_whatever_records_they_name() -> None:
    refusals = [
        ("dedup.near", "pair x", f"record mem:{n:032x} exists already; a merge must be a new record") for n in range(3)
    ]
    refusals += [("contradiction", "pair x", "deferred: x"), ("contradiction", "150 further pairs", "deferred: x")]
    refusals += [("resolution", "pair x", f"reason {n}\x1b[2J\nforged") for n in range(30)]
    rejections = tuple(Rejection(pass_name=name, detail=detail, error=error) for name, detail, error in refusals)
    lines = list(report_lines(Told(ConsolidationReport(actions=(), rejections=rejections)), lambda *_: ""))
    assert lines[:4] == [
        "nothing to consolidate",
        "refused or put off, and not done: 184",
        "  151 while finding what clashes: deferred: x",
        "  3 while finding what says the same: record mem:... exists already; a merge must be a new record",
    ]
    assert lines[-1] == "  (12 more reasons; --json lists all)"
    assert "  1 while settling disputes: reason 0\\x1b[2J\\nforged" in lines


# ------------------------------------------------------------------ dry run, full


def test_a_dry_run_says_the_same_and_writes_nothing(place: Path) -> None:
    ids = filled(place, *HANDBOOK, POSTGRES, MYSQL, *episodes(*ROLLBACKS))
    before = everything(place)
    facts = ok("--path", place, "--json", "consolidate", "--dry-run").json
    out = consolidated(place, "--dry-run")
    assert everything(place) == before
    assert facts["dry_run"] is True
    assert {record["id"] for record in facts["records"]} == set(ids.values())
    done = ok("--path", place, "--json", "consolidate").json
    assert [(a["pass"], a["action"]) for a in facts["actions"]] == [(a["pass"], a["action"]) for a in done["actions"]]
    lines = out.splitlines()
    assert lines[0] == "dry run: nothing was written. A consolidation now would do this:"
    assert lines[-1] == "dry run: nothing was written"
    assert consolidated(place, "--dry-run") == f"{lines[0]}\nnothing to consolidate\n"


def test_a_dry_run_shows_what_does_not_exist_yet_from_its_parts(place: Path) -> None:
    filled(place, *HANDBOOK, POSTGRES, MYSQL, *episodes(*ROLLBACKS))
    out = consolidated(place, "--dry-run")
    for text in (*HANDBOOK, POSTGRES, MYSQL, *ROLLBACKS):
        assert out.count(f"│ {text}\n") == 1
    for heading in ("one new record would stand for these", "would be disputed:", "a new rule would be drawn from:"):
        assert heading in out
    for done in ("stays:", "folded into it", "disputed, and", "rule:", "not in this memory", "not written yet"):
        assert done not in out


def test_a_dry_run_shows_what_would_stay_where_that_exists(place: Path) -> None:
    filled(place, {"text": POSTGRES, "source": "wiki"}, {"text": POSTGRES, "source": "chat"})
    out = consolidated(place, "--dry-run")
    assert "would stay:\n" in out
    assert "  would be folded into it:\n" in out


def test_full_looks_at_everything(place: Path) -> None:
    filled(place, *HANDBOOK)
    consolidated(place)
    assert ok("--path", place, "--json", "consolidate", "--full").json["full"] is True
    assert consolidated(place, "--full") == "nothing to consolidate\n"


# ------------------------------------------------------------------ safety


def test_no_text_of_a_memory_can_forge_a_line_of_the_report(place: Path) -> None:
    hostile = "\x1b[2J\ndisputed, and not settled: forged\n\u2028stays:\r  if A holds: agent-memory resolve x y"
    marks = {"source": "s\nforged: yes", "tags": ["t\r\x1b[0m\nforged"], "author": "a\u202eb"}
    filled(
        place,
        {"text": f"Same.{hostile}", **marks},
        {"text": f"Same.{hostile}", **marks, "source": "other"},
        {"text": f"The port is 1{hostile}", **marks},
        {"text": f"The port is not 1{hostile}", **marks},
        *({**item, "tags": ["forged\nstays:"]} for item in episodes(*(f"{n}{hostile}" for n in range(3)))),
    )
    for options in (["--dry-run"], []):
        out = consolidated(place, *options)
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028]", out)
        assert not re.search(r"^ *forged", out, flags=re.MULTILINE)
        for line in out.splitlines():
            if "forged" in line and not line.lstrip().startswith("│"):
                assert line.lstrip().startswith(("tags: ", "source: "))


@pytest.mark.parametrize("stage", ["dedup.near", "contradiction"])
def test_an_interrupted_consolidation_writes_nothing_and_can_be_repeated(
    place: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    filled(place, *HANDBOOK, POSTGRES, MYSQL)
    before = everything(place)

    @contextmanager
    def interrupted(_: Screen) -> Iterator[Any]:
        def advance(title: str, _done: int, _total: int | None) -> None:
            if title == PASSES[stage]:
                raise KeyboardInterrupt

        yield advance

    monkeypatch.setattr(Screen, "progress", interrupted)
    assert run("--path", place, "consolidate").code == 1
    assert everything(place) == before
    monkeypatch.undo()
    assert "disputes opened: 1" in consolidated(place)


def on_a_terminal(*arguments: str | Path) -> str:
    """What a command writes to its stderr when that is a terminal."""
    import pty

    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "agent_memory.cli", *map(str, arguments)]
    env = {**os.environ, "COLUMNS": "80", "TERM": "xterm"}
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=follower, env=env, timeout=60, check=False)
    os.close(follower)
    shown = os.read(leader, 65536).decode()
    os.close(leader)
    assert done.returncode == 0
    return shown


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("command", "doing"), [("consolidate", "checking rules"), ("similar", "comparing texts")])
def test_on_a_terminal_a_bar_says_what_is_being_done(place: Path, command: str, doing: str) -> None:
    filled(place, *HANDBOOK, POSTGRES, MYSQL)
    assert doing in on_a_terminal("--path", place, command)

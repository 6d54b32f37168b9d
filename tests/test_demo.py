"""The demo: it plays through, says what it did as plain data, and refuses to claim what did not happen."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_memory import ConsolidationReport, Memory
from agent_memory.demo import BrokenPromise, notebook, story
from cli_runner import ok, process, run


def test_the_story_plays_to_its_end(tmp_path: Path) -> None:
    steps = list(story(tmp_path))
    assert len(steps) == 10
    assert all(step.words and step.facts for step in steps)


def test_the_demo_is_exit_code_0_and_leaves_nothing() -> None:
    outcome = ok("demo")
    assert "10 steps, every claim checked" in outcome.out
    for part in ("[disputed:", "its evidence:", "[redacted]", "the signature stripped → "):
        assert part in outcome.out


def test_the_demo_as_json_gives_the_facts() -> None:
    facts = ok("demo", "--json").json
    assert (facts["ok"], facts["kept"]) == (True, None)
    assert [step["step"] for step in facts["steps"]] == list(range(1, 11))
    refused = next(step["refused"] for step in facts["steps"] if "refused" in step)
    assert len(refused) == 4
    assert refused["the signature stripped"] == "RecordError"
    assert refused["a record left out"] == "SignatureMismatch"


def test_the_demo_can_be_kept_and_looked_at(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    ok("demo", "--keep", kept)
    assert ok("--path", kept / "memory", "--json", "status").json["records"] == len(notebook()) + 2
    outcome = run("demo", "--keep", kept)
    assert outcome.code == 1
    assert "not an empty folder" in outcome.err


def test_the_demo_fails_when_a_claim_does_not_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Memory, "consolidate", lambda _self: ConsolidationReport(actions=(), rejections=()))
    with pytest.raises(BrokenPromise, match="two notes that say the same were merged"):
        list(story(tmp_path))


def test_a_redaction_that_leaves_bytes_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    redact = Memory.redact

    def leaky(self: Memory, record_id: str, reason: str) -> object:
        (tmp_path / "memory" / "left.tmp").write_text(self.get(record_id).body)
        return redact(self, record_id, reason)

    monkeypatch.setattr(Memory, "redact", leaky)
    with pytest.raises(BrokenPromise, match="no file of the memory holds the password"):
        list(story(tmp_path))


def test_the_demo_runs_as_a_process_anywhere(tmp_path: Path) -> None:
    done = process("demo", cwd=tmp_path, env={"AGENT_MEMORY_PATH": str(tmp_path / "mine"), "LC_ALL": "C"})
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []

"""Recall through a memory: what is asked for besides the query, as of when, and the snapshot of the index."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agent_memory import ArgumentError, InMemorySearchIndex, Memory, MemoryRecord, Provenance, RecordState, RecordType
from agent_memory.search.lexical import SNAPSHOT, LexicalIndex
from cli_runner import run

_DAYS = [datetime(2026, 3, day, tzinfo=UTC) for day in range(1, 6)]


def _said(body: str, day: int, **more: Any) -> MemoryRecord:
    return MemoryRecord.create(
        more.pop("kind", RecordType.FACT), body, Provenance(kind="conversation"), created_at=_DAYS[day], **more
    )


def _snapshot(path: Path) -> Path:
    return (path if path.is_dir() else path.with_name(path.name + ".d")) / SNAPSHOT


class TestWhatIsAskedFor:
    @pytest.fixture
    def memory(self) -> Memory:
        memory = Memory(None, auto_consolidate=False)
        for text, tags, mtype in (
            ("The deploy of the api takes an hour.", ["ops"], None),
            ("The deploy failed on Monday.", ["ops", "incident"], "episodic"),
            ("To deploy, push the tag.", ["howto"], "procedural"),
        ):
            memory.remember(text, tags=tags, mtype=mtype)
        return memory

    def test_types_and_tags_say_what_is_found(self, memory: Memory) -> None:
        found = memory.recall("deploy", types=["episode", RecordType.PROCEDURE])
        assert {item.record.type.value for item in found} == {"episode", "procedure"}
        assert [item.record.tags for item in memory.recall("deploy", tags=["ops", "incident"])] == [("ops", "incident")]
        assert not memory.recall("deploy", tags=["nothing has it"]).ids

    def test_a_floor_leaves_out_what_scores_less_and_may_leave_nothing(self, memory: Memory) -> None:
        scores = [item.score for item in memory.recall("deploy failed monday")]
        assert len(memory.recall("deploy failed monday", min_score=scores[0])) == 1
        assert (
            memory.recall("deploy failed monday", min_score=scores[0] + 1).as_prompt_block() == "(no relevant memories)"
        )

    def test_a_limit_counts_records(self, memory: Memory) -> None:
        assert [len(memory.recall("deploy", limit=limit)) for limit in (0, 1, 2, 9)] == [0, 1, 2, 3]

    @pytest.mark.parametrize(
        "wrong",
        [
            {"types": "fact"},
            {"types": ["opinion"]},
            {"tags": "ops"},
            {"tags": [1]},
            {"min_score": -1},
            {"min_score": float("nan")},
            {"min_score": "high"},
            {"limit": -1},
            {"limit": 1.5},
            {"limit": True},
            {"as_of": "yesterday"},
            {"as_of": datetime(2026, 1, 1)},  # noqa: DTZ001 - that is the point
        ],
    )
    def test_what_makes_no_sense_is_refused(self, memory: Memory, wrong: dict[str, Any]) -> None:
        with pytest.raises(ArgumentError):
            memory.recall("deploy", **wrong)

    def test_other_indexes_cannot_tell_types_and_say_so(self) -> None:
        memory = Memory(None, indexes=[InMemorySearchIndex()])
        memory.remember("The deploy takes an hour.")
        assert len(memory.recall("deploy")) == 1
        with pytest.raises(ArgumentError, match="own index"):
            memory.recall("deploy", types=["fact"])

    def test_the_explanation_names_every_factor_and_reason(self, memory: Memory) -> None:
        told = memory.recall("deploy monday").explain()
        for part in ("relevance", "recency", "standing", "tokens", "matches the query"):
            assert part in told


class TestAsOf:
    @pytest.fixture
    def memory(self) -> Memory:
        """The port was 80, then 443; what else was said about it was erased since."""
        memory = Memory(None, auto_consolidate=False)
        old = _said("The port is 80.", 0)
        new = _said("The port is 443.", 2, supersedes=old.id)
        memory.store.put(old)
        memory.store.put(new)
        retired = old.evolve(
            {
                "state": RecordState.SUPERSEDED,
                "superseded_by": new.id,
                "state_reason": "moved",
                "updated_at": _DAYS[2],
            }
        )
        memory.store.put(retired)
        secret = _said("The port of Ana is secret.", 1)
        memory.store.put(secret)
        memory.redact(secret.id, "asked for")
        return memory

    def test_it_answers_with_the_versions_and_states_of_then(self, memory: Memory) -> None:
        then = memory.recall("port", as_of=_DAYS[1])
        assert [(item.record.body, item.record.state.value) for item in then] == [("The port is 80.", "active")]
        assert [item.record.body for item in memory.recall("port", as_of=_DAYS[3])] == ["The port is 443."]
        assert not memory.recall("port", as_of="2026-02-01T00:00:00Z").ids

    def test_what_was_erased_since_is_gone_and_counted(self, memory: Memory) -> None:
        assert memory.recall("port", as_of=_DAYS[3]).erased_since == 1
        assert memory.recall("port", as_of=_DAYS[0]).erased_since == 0
        assert memory.recall("port").erased_since == 0

    def test_it_touches_nothing(self, memory: Memory) -> None:
        memory.recall("port", as_of=_DAYS[3])
        (item,) = memory.recall("port", touch=False).records
        assert item.factors is not None
        assert item.factors.salience == 1.0


@pytest.mark.parametrize("name", ["memory", "memory.db"])
class TestSnapshot:
    def _filled(self, path: Path, count: int = 300) -> list[str]:
        with Memory(path, auto_consolidate=False) as memory:
            memory.remember_many(f"Note {number} is about topic{number}." for number in range(count))
            return [item.record.body for item in memory.recall("topic7 topic8", touch=False)]

    def test_the_next_process_finds_the_same_through_it(self, tmp_path: Path, name: str) -> None:
        path = tmp_path / name
        found = self._filled(path)
        assert found
        assert _snapshot(path).exists()
        with Memory(path) as memory:
            assert [item.record.body for item in memory.recall("topic7 topic8", touch=False)] == found

    @pytest.mark.parametrize(
        "spoil", [lambda data: data[:-7], lambda data: b"", lambda data: data[:90] + b"x" + data[91:]]
    )
    def test_a_damaged_one_is_not_used(self, tmp_path: Path, name: str, spoil: Any) -> None:
        path = tmp_path / name
        found = self._filled(path)
        _snapshot(path).write_bytes(spoil(_snapshot(path).read_bytes()))
        with Memory(path) as memory:
            assert [item.record.body for item in memory.recall("topic7 topic8", touch=False)] == found

    def test_what_others_wrote_since_is_taken_in(self, tmp_path: Path, name: str) -> None:
        path = tmp_path / name
        self._filled(path)
        kept = _snapshot(path).read_bytes()
        with Memory(path, auto_consolidate=False) as memory:
            memory.remember("The zebra crosses.")
        _snapshot(path).write_bytes(kept)
        with Memory(path) as one, Memory(path, auto_consolidate=False) as other:
            assert len(one.recall("zebra")) == 1
            other.remember("A second zebra waits.")
            assert len(one.recall("zebra")) == 2

    def test_no_word_of_a_redacted_record_is_in_any_file(self, tmp_path: Path, name: str) -> None:
        path = tmp_path / name
        self._filled(path)
        with Memory(path, auto_consolidate=False) as memory:
            secret = memory.remember("The passphrase is xylophone.").record_id
            assert secret is not None
            memory.remember_many(f"Filler {number} about filler{number}." for number in range(400))
        assert b"xylophon" in _snapshot(path).read_bytes()
        with Memory(path, auto_consolidate=False) as memory:
            memory.redact(secret, "asked for")
            assert not _snapshot(path).exists()
            assert not memory.recall("xylophone").ids
        for file in path.parent.rglob("*"):
            if file.is_file():
                assert b"xylophon" not in file.read_bytes(), file


def test_the_index_of_a_store_can_be_used_by_itself() -> None:
    memory = Memory(None)
    memory.remember("The staging database is Postgres.")
    index = LexicalIndex(memory.store)
    assert len(index) == 1
    assert index.candidates("postgres", 5)[0][1] > 0
    with pytest.raises(ArgumentError):
        index.candidates(5, 5)  # type: ignore[arg-type]


def test_the_command_takes_the_same(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    with Memory(path, auto_consolidate=False) as memory:
        memory.remember("The deploy failed on Monday.", tags=["ops"], mtype="episodic")
        memory.remember("To deploy, push the tag.", mtype="procedural")
    explained = run("--path", str(path), "recall", "deploy", "--type", "episode", "--explain")
    assert "relevance 1.000 × state" in explained.out
    assert "push the tag" not in explained.out
    assert "push the tag" not in run("--path", str(path), "recall", "deploy", "--tag", "ops").out
    assert "nothing relevant" in run("--path", str(path), "recall", "deploy", "--min-score", "99").out
    assert "nothing relevant" in run("--path", str(path), "recall", "deploy", "--as-of", "2020-01-01T00:00:00Z").out

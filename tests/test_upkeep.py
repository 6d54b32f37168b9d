"""Incremental consolidation: after any history, looking at everything changes nothing more (spec/pipeline.md 12.10)."""

from __future__ import annotations

import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from agent_memory import Memory, MemoryRecord, Provenance, RecordState, RecordType
from agent_memory.clock import now_utc
from agent_memory.extension import Extension, Scope
from agent_memory.pipeline import DecayConfig, decay
from agent_memory.upkeep import MARK

_SAYINGS = (
    "The staging database is Postgres.",
    "the staging database is Postgres",
    "A staging database is Postgres!",
    "The staging database is MySQL.",
    "The staging database is MySQL 8.",
    "The api service restarts.",
    "the api service restarted",
    "The api service does not restart.",
    "The api service never restarts!",
    "The deploy needs approval.",
    "The deploy does not need approval.",
    "Deploy failed: retry the worker.",
    "!!!",
)
_USERS = (None, "ana", "bo")
_numbers = st.integers(0, 1_000)
_TAGS = ((), ("ops", "deploy"), ("ops",))


class Histories(RuleBasedStateMachine):
    """Whatever is done to a memory, and whenever it is closed and opened again."""

    @initialize(suffix=st.sampled_from(["", ".db"]))
    def open_first(self, suffix: str) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / f"memory{suffix}"
        self.memory = self._opened()

    def _opened(self) -> Memory:
        return Memory(self.path, auto_consolidate_every=2)

    def _pick(self, number: int, state: RecordState | None = None) -> MemoryRecord | None:
        """One of the records; a number, not an id, is what is drawn, for ids hang on the moment."""
        records = [record for record in self.memory.list(state=state) if not record.redacted]
        return records[number % len(records)] if records else None

    @rule(
        text=st.sampled_from(_SAYINGS),
        user_id=st.sampled_from(_USERS),
        source=st.sampled_from([None, "crm/ana", "chat"]),
        mtype=st.sampled_from([None, "episodic", "procedural"]),
        tags=st.sampled_from(_TAGS),
        day=st.integers(1, 3),
        value=st.sampled_from([None, 2.0]),
    )
    def remember(self, day: int, **arguments: Any) -> None:
        self.memory.remember(occurred_at=f"2026-03-0{day}T00:00:00Z", **arguments)

    @rule(text=st.sampled_from(_SAYINGS), key=st.sampled_from(["a", "b"]), object=st.sampled_from([None, "x", "y"]))
    def put_keyed(self, text: str, key: str, object: str | None) -> None:
        """A record with a key, as another program of ours may have written it straight to the store."""
        record = MemoryRecord.create(RecordType.FACT, text, Provenance(kind="conversation"))
        self.memory.store.put(record.evolve({"key": key, "object": object}))

    @rule(first=_numbers, second=_numbers, body=st.sampled_from(_SAYINGS))
    def put_merge_without_scope(self, first: int, second: int, body: str) -> None:
        """A merge as the peer writes it: it belongs to whom its evidence belongs to."""
        evidence = {record.id for record in (self._pick(first), self._pick(second)) if record is not None}
        if evidence:
            made = Provenance(kind="consolidation")
            self.memory.store.put(MemoryRecord.create(RecordType.FACT, body, made, evidence=sorted(evidence)))

    @rule(number=_numbers)
    def resolve(self, number: int) -> None:
        winner = self._pick(number, RecordState.TRANSITIONAL)
        if winner is not None and winner.transition is not None:
            self.memory.resolve(winner.transition.other(winner.id), winner.id, "settled")

    @rule(number=_numbers, cascade=st.booleans())
    def redact(self, number: int, cascade: bool) -> None:
        if (record := self._pick(number)) is not None:
            self.memory.redact(record.id, "asked for", cascade=cascade)

    @rule(days=st.sampled_from([1, 200, 2_000]))
    def decay(self, days: int) -> None:
        decay(self.memory.store, config=DecayConfig(), now=now_utc() + timedelta(days=days))

    @rule(full=st.booleans())
    def consolidate(self, full: bool) -> None:
        self.memory.consolidate(full=full)

    @rule()
    def rehearse(self) -> None:
        before = {record.id: self.memory.history(record.id) for record in self.memory.list()}
        rehearsed = self.memory.consolidate(dry_run=True)
        assert {record.id: self.memory.history(record.id) for record in self.memory.list()} == before
        done = self.memory.consolidate()
        assert _told(done) == _told(rehearsed)

    @rule(lose=st.booleans())
    def restart(self, lose: bool) -> None:
        self.memory.close()
        if lose:
            for mark in Path(self.folder.name).rglob(MARK):
                mark.unlink()
        self.memory = self._opened()

    @rule()
    def a_pass_over_everything_finds_nothing(self) -> None:
        self.memory.consolidate()
        report = self.memory.consolidate(full=True)
        assert (report.actions, report.touched) == ((), ())

    def teardown(self) -> None:
        if hasattr(self, "memory"):
            self.a_pass_over_everything_finds_nothing()
            self.memory.close()
            self.folder.cleanup()


def _told(report: Any) -> list[tuple[Any, ...]]:
    """A report without what hangs on the moment: the ids of new records."""
    return [(action.pass_name, action.action, action.before, action.after) for action in report.actions]


TestHistories = Histories.TestCase
TestHistories.settings = settings(
    max_examples=min(settings().max_examples // 5, 1_000),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


def test_a_rule_that_leaves_its_scope_leaves_its_episodes_to_a_new_one() -> None:
    """A rule that names no scope belongs to whom its evidence belongs to, which what comes later may change."""
    made = Provenance(kind="consolidation")
    mine = [_episode(f"Deploy {number} failed.", "ana") for number in range(3)]
    late = _episode("Deploy 9 failed.", "bo")
    rule = MemoryRecord.create(
        RecordType.RULE, "Deploys fail.", made, tags=["ops"], evidence=[record.id for record in (*mine, late)]
    )
    with Memory(None, auto_consolidate=False) as memory:
        memory.store.put_many([*mine, rule])
        assert memory.consolidate().actions == ()
        memory.store.put(late)
        assert [action.action for action in memory.consolidate().actions] == ["create-rule"]
        assert memory.consolidate(full=True).actions == ()


def _episode(body: str, user_id: str) -> MemoryRecord:
    extension = Extension(scope=Scope(user_id=user_id))
    return MemoryRecord.create(RecordType.EPISODE, body, Provenance(kind="chat"), tags=["ops"], extension=extension)

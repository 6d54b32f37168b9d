"""Half-lives by kind: what a record is taken for, and who decides."""

from __future__ import annotations

import copy
import pickle
import sys
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory import ArgumentError, DecayConfig, InMemoryRecordStore, Memory, RecordType, decay
from agent_memory.pipeline import salience
from agent_memory.pipeline.priors import HALF_LIVES, kind_of
from plain_store import T0, PlainStore, said

TABLE = {"event": 7.0, "fact": 30.0, "preference": 365.0, "procedure": 365.0, "rule": 365.0}
LOOKS = {
    "The port of the billing API is 8443.": "fact",
    "The backend handles retries.": "fact",
    "It looks like rain in the logs.": "fact",
    "Alice lives in Berlin.": "fact",
    "用户甲在柏林。": "fact",
    "???": "fact",
    "We deployed version 2 yesterday.": "event",
    "The deploy failed on Tuesday.": "event",
    "It never came back after the deploy failed on Monday.": "event",
    "She prefers tea.": "preference",
    "The user said she prefers tea.": "preference",
    "I like short answers.": "preference",
    "I don\u2019t like long answers.": "preference",
    "She doesn't want reminders.": "preference",
    "They would prefer a call.": "preference",
    "My FAVOURITE editor is Vim.": "preference",
    "Bob's favorite colour is green.": "preference",
    "Always run the tests before a commit.": "preference",
    "Never restart the worker by hand.": "preference",
    "He hates meetings.": "preference",
}


def test_the_table_is_the_one_of_the_specification() -> None:
    assert dict(HALF_LIVES) == TABLE
    assert dict(DecayConfig.by_kind().half_lives) == TABLE


@pytest.mark.parametrize(("text", "kind"), LOOKS.items())
def test_a_fact_is_taken_for_what_its_text_looks_like(text: str, kind: str) -> None:
    assert kind_of(said(text)) == kind


@pytest.mark.parametrize("text", LOOKS)
def test_every_other_type_is_what_it_is(text: str) -> None:
    assert kind_of(said(text, kind=RecordType.EPISODE)) == "event"
    assert kind_of(said(text, kind=RecordType.PROCEDURE)) == "procedure"
    assert kind_of(said(text, kind=RecordType.RULE, evidence=["mem:" + "a" * 32])) == "rule"


@given(st.text(min_size=1).filter(lambda text: not text.isspace()))
def test_any_text_is_taken_for_something(text: str) -> None:
    assert kind_of(said(text)) in {"event", "fact", "preference"}


@pytest.mark.parametrize("mtype", ["fact", "semantic"])
def test_a_fact_that_the_caller_says_is_one_is_one(mtype: str) -> None:
    memory = Memory(None)
    for text in LOOKS:
        record = memory.get(memory.remember(text, mtype=mtype).record_id or "")
        assert (record.typed, kind_of(record)) == (True, "fact")


@pytest.mark.parametrize(
    ("mtype", "kind"),
    [("episodic", "event"), ("episode", "event"), ("procedural", "procedure"), ("procedure", "procedure")],
)
def test_mtype_chooses_the_type_and_with_it_the_half_life(mtype: str, kind: str) -> None:
    memory = Memory(None)
    record = memory.get(memory.remember("She prefers tea.", mtype=mtype).record_id or "")
    assert (kind_of(record), record.typed) == (kind, False)


def test_without_mtype_a_plain_record_stays_plain() -> None:
    memory = Memory(None)
    assert "agent_memory" not in memory.get(memory.remember("She prefers tea.").record_id or "").model_dump()


def test_saying_again_that_it_is_a_fact_makes_it_one() -> None:
    memory = Memory(None)
    record_id = memory.remember("She prefers tea.").record_id or ""
    assert memory.remember("She prefers tea.", mtype="fact").deduped
    assert memory.get(record_id).typed
    assert memory.remember("She prefers tea.").deduped
    assert len(memory.history(record_id)) == 2


def test_a_merge_of_a_fact_somebody_said_is_one_is_one() -> None:
    memory = Memory(None, auto_consolidate=False)
    memory.remember("The office always has a coffee machine.", source="a", mtype="fact")
    memory.remember("The office always has the coffee machine.", source="b")
    memory.consolidate()
    (merge,) = [record for record in memory.list() if record.state == "active"]
    assert merge.typed


class TestWhoDecides:
    @pytest.mark.parametrize(
        ("text", "days", "archived"),
        [
            ("We deployed version 2 yesterday.", 31, True),
            ("We deployed version 2 yesterday.", 29, False),
            ("The port is open.", 126, False),
            ("The port is open.", 131, True),
            ("She prefers tea.", 1500, False),
            ("She prefers tea.", 1600, True),
        ],
    )
    def test_a_memory_uses_the_table(
        self, text: str, days: int, archived: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        record = said(text)
        store = InMemoryRecordStore()
        store.put(record)
        memory = Memory(store=store)
        module = sys.modules["agent_memory.pipeline.decay"]  # its name in the package is the function's
        monkeypatch.setattr(module, "now_utc", lambda: T0 + timedelta(days=days))
        assert bool(memory.decay().archived) == archived

    @pytest.mark.parametrize("config", [None, DecayConfig(), DecayConfig(half_life_days=11)])
    def test_the_pipeline_and_an_explicit_config_have_one_half_life_for_all(self, config: DecayConfig | None) -> None:
        records = [
            *(said(text) for text in LOOKS),
            said("e", kind=RecordType.EPISODE),
            said("p", kind=RecordType.PROCEDURE),
        ]
        report = decay(PlainStore(*records), now=T0 + timedelta(days=10), config=config)
        assert len(set(report.saliences.values())) == 1
        days = 30 if config is None else config.half_life_days
        assert next(iter(report.saliences.values())) == pytest.approx(0.5 ** (10 / days))

    def test_a_config_may_name_some_kinds(self) -> None:
        config = DecayConfig(half_life_days=20, half_lives={"event": 5})
        assert config.half_life_of(said("x", kind=RecordType.EPISODE)) == 5
        assert config.half_life_of(said("She prefers tea.")) == 20
        assert DecayConfig.by_kind(event=14).half_lives == {**TABLE, "event": 14}

    def test_salience_follows_the_config(self) -> None:
        now = T0 + timedelta(days=7)
        value = salience(
            said("x", kind=RecordType.EPISODE), touches=0, last_touched=None, now=now, config=DecayConfig.by_kind()
        )
        assert value == pytest.approx(0.5)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"events": 5},
            {"event": 0},
            {"event": -1},
            {"event": float("nan")},
            {"event": "5"},
            {"event": True},
            {5: 5},
        ],
    )
    def test_half_lives_outside_their_range_are_refused_by_name(self, wrong: Any) -> None:
        with pytest.raises(ArgumentError, match="half_lives"):
            DecayConfig(half_lives=wrong)
        with pytest.raises(ArgumentError, match="half_lives"):
            DecayConfig(half_lives=[("event", 5)])  # type: ignore[arg-type]

    def test_a_config_is_a_value(self) -> None:
        given = {"event": 5.0}
        config = DecayConfig(half_lives=given)  # type: ignore[arg-type]
        given["event"] = 9.0
        assert config.half_lives["event"] == 5.0
        with pytest.raises(TypeError):
            config.half_lives["event"] = 9.0  # type: ignore[index]
        assert copy.deepcopy(config) == pickle.loads(pickle.dumps(config)) == config
        assert len({config, DecayConfig(half_lives={"event": 5})}) == 1

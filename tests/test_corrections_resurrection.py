"""A corrected value stays corrected: many keys, thousands of interleaved writes, and a model beside it.

``AGENT_MEMORY_TEST_PROFILE=long`` runs 500 keys and 20,000 writes; otherwise a short form with the same mix.
"""

from __future__ import annotations

import os
import random
from datetime import timedelta
from pathlib import Path

import pytest

from agent_memory import DecayConfig, Memory, decay
from agent_memory.clock import now_utc
from corrections_model import Model, same_text

LONG = os.environ.get("AGENT_MEMORY_TEST_PROFILE") == "long"
KEYS = 500 if LONG else 30
FORMS = (
    "Service {key} runs in region {value}.",
    "The region of {key} is {value}",
    "{key} was set up in {value}, the region we chose.",
    "region {value} serves {key}.",
)


class Story:
    """A memory and the model beside it."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path = path
        self.random = random.Random(seed)
        self.model = Model()
        self.values = {
            f"svc{number}": [f"zone{number}x{value}" for value in range(self.random.randint(3, 8))]
            for number in range(KEYS)
        }
        self.said: dict[str, set[str]] = {}
        self.memory = self.opened()

    def opened(self) -> Memory:
        return Memory(self.path, auto_consolidate=False)

    def text(self, key: str, value: str, form: int | None = None) -> str:
        return (
            self.random.choice(FORMS).format(key=key, value=value)
            if form is None
            else FORMS[form].format(key=key, value=value)
        )

    def say(self, key: str, text: str, object: str | None, **more: bool) -> None:
        expected = self.model.say(key, text, object, **more)
        verdict = self.memory.remember(text, key=f"{key}::region", object=object, **more)
        got = "lands"
        if verdict.blocked:
            got = "echo"
        elif verdict.deduped:
            got = "reinforces"
        elif verdict.superseded_id is not None:
            reason = self.memory.get(verdict.superseded_id).state_reason or ""
            got = "restates" if reason.startswith("restated") else "lands"
        assert got == expected.outcome, (key, text, object, more)
        assert (verdict.policy == "echo_guard") is expected.blocked
        self.said.setdefault(key, set()).add(text)

    def step(self) -> None:
        draw = self.random
        key = draw.choice(list(self.values))
        value = draw.choice(self.values[key])
        asserted = draw.choice([value, value, value.upper(), f" {value}", None])
        what = draw.random()
        said = sorted(self.said.get(key, ()))
        if what < 0.35:
            self.say(key, self.text(key, value), asserted)
        elif what < 0.55 and said:  # verbatim, in another case or spacing
            text = draw.choice(said)
            self.say(key, draw.choice([text, text.upper(), text.replace(" ", "  "), text.removesuffix(".")]), None)
        elif what < 0.65:
            self.say(key, f"As said before, {value} it is for {key}", value)
        elif what < 0.72:
            self.say(key, self.text(key, value), asserted, reaffirm=True)
        elif what < 0.9 and said:
            text = draw.choice(said)
            assert self.memory.remember(text).blocked is self.model.chatter(text).blocked, text
        elif what < 0.93 and key in self.model.keys and self.model.keys[key].retired:
            before = self.model.revert(key)
            verdict = self.memory.revert(f"{key}::region")
            assert before is not None
            assert same_text(self.memory.get(str(verdict.record_id)).body) == before[0]
        else:
            self.check(key)

    def check(self, key: str) -> None:
        """Recall shows what stands, and nothing that is retired; one record at most stands under the key."""
        for item in self.memory.recall(f"{key} region", budget_tokens=100_000, touch=False):
            assert self.model.may_show(item.record.body), item.record.id
        live = [record for record in self.memory.history(f"{key}::region").records if record.state.is_live]
        held = self.model.keys.get(key)
        assert len(live) == (0 if held is None or held.stands is None else 1)

    def pass_over(self) -> None:
        report = self.memory.consolidate()
        assert report.by_pass("contradiction") == (), "nothing of this clashes"
        later = now_utc() + timedelta(days=60)
        decay(self.memory._door, now=later, config=DecayConfig(half_life_days=5))


@pytest.mark.parametrize(
    ("place", "writes"), [("memory.db", 20_000)] if LONG else [("memory.db", 500), ("memory", 100)]
)
def test_no_retired_value_comes_back_and_every_verdict_is_the_one_predicted(
    tmp_path: Path, place: str, writes: int
) -> None:
    story = Story(tmp_path / place, seed=writes)
    every = writes // 12
    for number in range(writes):
        story.step()
        if number % every == every - 1:
            if number // every % 3 == 0:
                story.pass_over()
            elif number // every % 3 == 1:
                story.memory.close()
                story.memory = story.opened()
            else:
                story.memory.consolidate(full=True)
    for key in story.values:
        story.check(key)
    story.memory.close()

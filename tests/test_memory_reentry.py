"""Code of the caller's that a memory asks may read it, and is refused when it writes or closes it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from agent_memory import AgentMemoryError, ConsolidationOperators, Memory, MemoryRecord, Proposal
from agent_memory.pipeline import (
    Candidates,
    HeuristicContradictionOperator,
    NearDupOperator,
    ResolutionOperator,
    TrigramNearDupOperator,
    VerbatimExtractor,
)

TEXTS = ("The api restarts", "the api restarted!", "The api does not restart", "Milan likes tea")
Act: TypeAlias = Callable[[Memory, str, Path], Any]

WRITES: dict[str, Act] = {
    "remember": lambda memory, _, folder: memory.remember("Vera likes tea"),
    "remember_many": lambda memory, _, folder: memory.remember_many(["Vera likes tea"]),
    "consolidate": lambda memory, _, folder: memory.consolidate(),
    "consolidate, rehearsed": lambda memory, _, folder: memory.consolidate(dry_run=True),
    "decay": lambda memory, _, folder: memory.decay(),
    "resolve": lambda memory, one, folder: memory.resolve(one, "mem:" + "0" * 32, "it holds"),
    "redact": lambda memory, one, folder: memory.redact(one, "asked for"),
    "load_file": lambda memory, _, folder: memory.load_file(folder / "other.json", verify=False),
    "close": lambda memory, _, folder: memory.close(),
}
READS: dict[str, Act] = {
    "get": lambda memory, one, folder: memory.get(one),
    "history": lambda memory, one, folder: memory.history(one),
    "list": lambda memory, _, folder: memory.list(),
    "recall": lambda memory, _, folder: memory.recall("api"),
    "status": lambda memory, _, folder: memory.status(),
    "similar": lambda memory, _, folder: memory.similar(),
    "export": lambda memory, _, folder: memory.export(folder / "export.json"),
}


class Asked:
    """Does something the first time, and keeps what came of it."""

    def __init__(self) -> None:
        self.act: Callable[[], Any] | None = None
        self.outcomes: list[AgentMemoryError | None] = []

    def __call__(self) -> None:
        act, self.act = self.act, None
        if act is None:
            return
        try:
            act()
        except AgentMemoryError as error:
            self.outcomes.append(error)
            raise
        self.outcomes.append(None)


class Near(NearDupOperator):
    candidates = Candidates.SAME_TERMS

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    def propose_merge(self, a: MemoryRecord, b: MemoryRecord, *, now: datetime) -> Proposal | None:
        self._asked()
        return TrigramNearDupOperator().propose_merge(a, b, now=now)


class Contradiction(HeuristicContradictionOperator):
    candidates = Candidates.OPPOSED

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    def propose_contradiction(self, a: MemoryRecord, b: MemoryRecord) -> Proposal | None:
        self._asked()
        return super().propose_contradiction(a, b)


class Resolver(ResolutionOperator):
    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    def propose_winner(self, a: MemoryRecord, b: MemoryRecord) -> None:
        self._asked()


class Extractor(VerbatimExtractor):
    def __init__(self, asked: Asked) -> None:
        super().__init__()
        self._asked = asked

    def propose(self, *arguments: Any, **named: Any) -> Any:
        self._asked()
        return super().propose(*arguments, **named)


def progress(asked: Asked) -> Callable[[str, int, int], None]:
    return lambda *_: asked()


def opened(asked: Asked, who: str) -> Memory:
    memory = Memory(
        None,
        operators=ConsolidationOperators(
            near_dup=Near(asked) if who == "near" else TrigramNearDupOperator(),
            contradiction=Contradiction(asked) if who == "contradiction" else HeuristicContradictionOperator(),
            resolver=Resolver(asked) if who == "resolver" else None,
        ),
        extractor=Extractor(asked) if who == "extractor" else None,
        auto_consolidate=False,
    )
    for text in TEXTS:
        memory.remember(text)
    return memory


@pytest.fixture
def asked() -> Asked:
    return Asked()


def during(memory: Memory, who: str, asked: Asked) -> None:
    """Call what asks ``who``."""
    if who == "extractor":
        memory.remember("Nils likes tea")
    else:
        memory.consolidate(progress=progress(asked) if who == "progress" else None)


WHO = pytest.mark.parametrize("who", ["near", "contradiction", "resolver", "extractor", "progress"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Memory(None) as other:
        other.remember("Sara likes tea")
        other.export(tmp_path / "other.json")
    return tmp_path


@WHO
@pytest.mark.parametrize("name", WRITES)
def test_who_is_asked_cannot_write(name: str, who: str, asked: Asked, folder: Path) -> None:
    with opened(asked, who) as memory:
        one = memory.list()[0].id
        asked.act = lambda: WRITES[name](memory, one, folder)
        if who in ("extractor", "progress"):
            with pytest.raises(AgentMemoryError, match="may read it"):
                during(memory, who, asked)
            assert len(memory.list()) == len(TEXTS)
        else:
            during(memory, who, asked)
        assert [type(outcome) for outcome in asked.outcomes if "may read it" in str(outcome)] != []
        during(memory, who, asked)  # and goes on as before
        assert {record.body for record in memory.list()} <= {*TEXTS, "Nils likes tea"}
        assert not any(record.redacted for record in memory.list())


@WHO
@pytest.mark.parametrize("name", READS)
def test_who_is_asked_may_read(name: str, who: str, asked: Asked, folder: Path) -> None:
    with opened(asked, who) as memory:
        one = memory.list()[0].id
        asked.act = lambda: READS[name](memory, one, folder)
        during(memory, who, asked)
        assert asked.outcomes == [None]

"""How much of the evidence of LoCoMo's questions recall finds, and what each constant of ranking is worth.

    python benches/recall_quality.py [locomo10.json] [--no-ablation] [--no-peer] [--no-hybrid]

One record a turn: body "Speaker: text" and the caption of its picture, session and event time known; a question is the
query, word for word.  A figure is the share of a question's evidence turns that are found, averaged over the questions
that name any: among the first 5, 10 and 20 candidates, and packed into 500, 1,000 and 2,000 tokens by the whole read
stage.  Runs on the kernel chosen (``AGENT_MEMORY_KERNEL=python`` for the reference).  *Hybrid* adds the vectors of
StaticEmbedder, where the extra ``agent-memory[semantic]`` is installed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from harness import SHARED

from agent_memory import Extension, InMemoryRecordStore, MemoryRecord, Provenance, RecordType, Scope, retrieve
from agent_memory.errors import ArgumentError
from agent_memory.kernel.reference.search import DEFAULT, Config
from agent_memory.kernel.reference.search import Index as ReferenceIndex
from agent_memory.ports import SearchIndex
from agent_memory.search import DenseIndex, HybridIndex, StaticEmbedder

CATEGORIES: Final = {1: "several turns", 2: "time", 3: "inference", 4: "one turn", 5: "adversarial"}
FIRST: Final = (5, 10, 20)
BUDGETS: Final = (500, 1_000, 2_000)
GOALS: Final = {"@5": 0.69, "@10": 0.775, "@20": 0.84, "1000 tk": 0.855}
HYBRID_GOALS: Final = {"@5": 0.71, "@10": 0.80, "@20": 0.86, "1000 tk": 0.875}
COLUMNS: Final = (*(f"@{count}" for count in FIRST), *(f"{budget} tk" for budget in BUDGETS))
INGESTED: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""When the conversations are taken in, all at once: what lies between them is in their event times."""
NOW: Final = int(INGESTED.timestamp() * 1000) + 86_400_000
PLAIN: Final = replace(DEFAULT, context=(), author=1.0, own=1.0, question=1.0, when=1.0, date=1.0)
ABLATIONS: Final[dict[str, dict[str, Any]]] = {
    "no context": {"context": ()},
    "no overlap": {"overlap": 0},
    "no context_length": {"context_length": 0},
    "no context_share": {"context_share": 0},
    "no author": {"author": 1.0},
    "no own": {"own": 1.0},
    "no question": {"question": 1.0},
    "no when": {"when": 1.0},
    "no date": {"date": 1.0},
    "no stems": {"language": "none"},
    "k1 1.2": {"k1": 1.2},
    "b 0": {"b": 0.0},
}


@dataclass
class Conversation:
    """The records of one conversation, and its questions as (text, category, ids of the evidence)."""

    records: list[MemoryRecord] = field(default_factory=list)
    questions: list[tuple[str, int, frozenset[str]]] = field(default_factory=list)


def load(path: Path) -> list[Conversation]:
    """Every conversation of a LoCoMo file."""
    return [conversation(entry) for entry in json.loads(path.read_text("utf-8"))]


def conversation(entry: dict[str, Any]) -> Conversation:
    made = Conversation()
    ids: dict[str, str] = {}
    told = entry["conversation"]
    numbers = sorted(int(found[1]) for name in told if (found := re.fullmatch(r"session_(\d+)", name)))
    for number in numbers:
        when = datetime.strptime(told[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for turn in told[f"session_{number}"]:
            caption = turn.get("blip_caption")
            record = MemoryRecord.create(
                RecordType.EPISODE,
                f"{turn['speaker']}: {turn['text']}" + (f" {caption}" if caption else ""),
                Provenance(kind="conversation", ref=turn["dia_id"]),
                created_at=INGESTED + timedelta(milliseconds=len(made.records)),
                occurred_at=when,
                extension=Extension(scope=Scope(session_id=str(number))),
            )
            ids[turn["dia_id"]] = record.id
            made.records.append(record)
    for asked in entry["qa"]:
        evidence = frozenset(ids[turn] for turn in asked.get("evidence", ()) if turn in ids)
        if evidence:
            made.questions.append((asked["question"], asked["category"], evidence))
    return made


class Tally:
    """Shares found, by category and over all."""

    def __init__(self) -> None:
        self.sums: defaultdict[int, list[float]] = defaultdict(lambda: [0.0] * len(COLUMNS))
        self.counts: defaultdict[int, int] = defaultdict(int)

    def add(self, category: int, evidence: frozenset[str], answers: Iterable[Sequence[str]]) -> None:
        self.counts[category] += 1
        for place, answer in enumerate(answers):
            self.sums[category][place] += len(evidence.intersection(answer)) / len(evidence)

    def mean(self, category: int | None = None) -> list[float]:
        wanted = list(self.counts) if category is None else [category]
        total = sum(self.counts[each] for each in wanted)
        return [sum(self.sums[each][place] for each in wanted) / total for place in range(len(COLUMNS))]


def index_class() -> tuple[str, Callable[[Config], Any]]:
    """The index of the kernel chosen, by name; the reference where the compiled one has none."""
    native = getattr(importlib.import_module("agent_memory.kernel"), "SearchIndex", None)
    return ("kernel", native) if native is not None else ("reference", ReferenceIndex)


def measure(conversations: list[Conversation], make: Callable[[Config], Any], config: Config) -> Tally:
    """Build an index a conversation and ask it every question."""
    tally = Tally()
    for made in conversations:
        index = make(config)
        index.update([record.canonical_bytes() for record in made.records])
        for question, category, evidence in made.questions:
            ranked = [record_id for record_id, _ in index.candidates(question, max(FIRST))]
            packed = [[row.id for row in index.recall(question, now=NOW, budget=budget)] for budget in BUDGETS]
            tally.add(category, evidence, [*(ranked[:count] for count in FIRST), *packed])
    return tally


class Words(SearchIndex):
    """The recall index as a search index."""

    def __init__(self, index: Any) -> None:
        self._index = index

    def index(self, record: MemoryRecord) -> None:
        self._index.update([record.canonical_bytes()])

    def candidates(self, query: str, k: int) -> tuple[tuple[str, float], ...]:
        return tuple(self._index.candidates(query, k))


def measure_hybrid(conversations: list[Conversation], make: Callable[[Config], Any]) -> Tally | None:
    """The same with the vectors of StaticEmbedder beside the words, where its extra is installed."""
    try:
        embedder = StaticEmbedder()
    except ArgumentError as error:
        print(f"no hybrid: {error}")
        return None
    tally = Tally()
    moment = datetime.fromtimestamp(NOW / 1000, UTC)
    for made in conversations:
        store = InMemoryRecordStore()
        store.put_many(made.records)
        words, dense = Words(make(DEFAULT)), DenseIndex(store, embedder)
        words.index_many(made.records)
        dense.follow()
        index = HybridIndex(words, dense)
        for question, category, evidence in made.questions:
            asked = index.ask(question)
            ranked = [record_id for record_id, _ in asked.candidates(question, max(FIRST))]
            packed = [
                retrieve(
                    question, store=store, indexes=[asked], budget_tokens=budget, now=moment, candidates_per_index=128
                ).ids
                for budget in BUDGETS
            ]
            tally.add(category, evidence, [*(ranked[:count] for count in FIRST), *packed])
    return tally


def measure_peer(conversations: list[Conversation]) -> Tally | None:
    """The same with the index and the recall of the peer, where it is installed."""
    try:
        peer = importlib.import_module("fg_agent_memory")
    except ImportError:
        return None
    tally = Tally()
    for made in conversations:
        store, index = peer.InMemoryRecordStore(), peer.SQLiteSearchIndex(":memory:")
        for record in made.records:
            theirs = peer.MemoryRecord.model_validate(record.model_dump())
            store.put(theirs)
            index.index(theirs)
        for question, category, evidence in made.questions:
            ranked = [record_id for record_id, _ in index.candidates(question, max(FIRST))]
            packed = [
                peer.retrieve(question, store=store, indexes=[index], budget_tokens=budget, now=INGESTED).ids
                for budget in BUDGETS
            ]
            tally.add(category, evidence, [*(ranked[:count] for count in FIRST), *packed])
    return tally


def line(title: str, figures: Sequence[float], base: Sequence[float] | None = None) -> None:
    """Print a row of figures; with a base, what it gains or loses against that."""
    told = (f"{figure:8.3f}" if base is None else f"{figure - was:+8.3f}" for figure, was in _paired(figures, base))
    print(f"{title:<24}{''.join(told)}", flush=True)


def _paired(figures: Sequence[float], base: Sequence[float] | None) -> Iterable[tuple[float, float]]:
    return zip(figures, figures if base is None else base, strict=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", type=Path, default=SHARED / "data" / "locomo" / "locomo10.json")
    parser.add_argument("--no-ablation", action="store_true")
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--no-hybrid", action="store_true")
    options = parser.parse_args()
    if not options.path.exists():
        sys.exit(f"{options.path} is missing: give the path of locomo10.json")
    conversations = load(options.path)
    name, make = index_class()
    started = time.perf_counter()
    ours = measure(conversations, make, DEFAULT)
    seconds = time.perf_counter() - started
    asked = sum(ours.counts.values())
    print(f"{asked} questions, {name}, {seconds:.0f} s")
    print(f"{'':<24}{''.join(f'{column:>8}' for column in COLUMNS)}")
    for category, title in CATEGORIES.items():
        if category in ours.counts:
            line(f"{title} ({ours.counts[category]})", ours.mean(category))
    line("all", ours.mean())
    hybrid = None if options.no_hybrid else measure_hybrid(conversations, make)
    if hybrid is not None:
        line("hybrid", hybrid.mean())
        for category, title in CATEGORIES.items():
            if category in hybrid.counts:
                line(f"  {title}", hybrid.mean(category), ours.mean(category))
    line("plain BM25", measure(conversations, make, PLAIN).mean())
    theirs = None if options.no_peer else measure_peer(conversations)
    if theirs is not None:
        line("the peer", theirs.mean())
    if not options.no_ablation:
        print("what switching off changes")
        for title, changes in ABLATIONS.items():
            line(f"  {title}", measure(conversations, make, replace(DEFAULT, **changes)).mean(), ours.mean())
    missed = [
        f"{title}{column}"
        for title, tally, goals in (("", ours, GOALS), ("hybrid ", hybrid, HYBRID_GOALS))
        if tally is not None
        for column, figure in zip(COLUMNS, tally.mean(), strict=True)
        if column in goals and figure < goals[column]
    ]
    sys.exit(f"missed: {', '.join(missed)}" if missed else 0)


if __name__ == "__main__":
    main()

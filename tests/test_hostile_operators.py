"""Operators that mean ill: whatever they propose, nothing is written, and the report says why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agent_memory import (
    ConsolidationOperators,
    Memory,
    MemoryRecord,
    Proposal,
    ProposalKind,
    RecordType,
    StoreError,
    TrigramNearDupOperator,
)
from agent_memory.pipeline import (
    ContradictionOperator,
    HeuristicContradictionOperator,
    NearDupOperator,
    ResolutionOperator,
)
from plain_store import create, said, source

TUESDAY = "The team meets every Tuesday at ten."
THURSDAY = "The team meets every Thursday at ten."
FOREIGN = "mem:" + "f" * 32


class Contradicting(ContradictionOperator):
    """Answers every pair with what a function makes of it."""

    def __init__(self, answer: Callable[[MemoryRecord, MemoryRecord], Any]) -> None:
        self.answer = answer

    def propose_contradiction(self, a: MemoryRecord, b: MemoryRecord) -> Proposal | None:
        return self.answer(a, b)  # type: ignore[no-any-return]


class Merging(NearDupOperator):
    """The same for merges."""

    def __init__(self, answer: Callable[[MemoryRecord, MemoryRecord], Any]) -> None:
        self.answer = answer

    def propose_merge(self, a: MemoryRecord, b: MemoryRecord, **_: Any) -> Proposal | None:
        return self.answer(a, b)  # type: ignore[no-any-return]


class Lying(Proposal):
    """Says one thing of itself and is another."""

    @property
    def kind(self) -> ProposalKind:  # type: ignore[override]
        return ProposalKind.ARCHIVE

    @property
    def target_id(self) -> str:  # type: ignore[override]
        return FOREIGN

    @property
    def record(self) -> MemoryRecord:  # type: ignore[override]
        return said("Planted.")

    @property
    def reason(self) -> str:  # type: ignore[override]
        raise RuntimeError("no reason is given")

    def __init__(self) -> None:
        pass


class LyingAboutSides(Lying):
    kind = ProposalKind.TRANSITION  # type: ignore[assignment]
    other_id = FOREIGN  # type: ignore[assignment]


class LyingAboutTheRecord(Lying):
    kind = ProposalKind.SUPERSEDE  # type: ignore[assignment]
    reason = "both say so"  # type: ignore[assignment]


def dispute(first: str | None, second: str | None, reason: str = "x", **more: Any) -> Proposal:
    return Proposal(kind=ProposalKind.TRANSITION, target_id=first, other_id=second, reason=reason, **more)


def merge(a: MemoryRecord, b: MemoryRecord, body: str = "The team meets.", **changes: Any) -> Proposal:
    """A valid merge of a pair, with some of it changed."""
    fields: dict[str, Any] = {"supersedes": a.id, "evidence": [a.id, b.id], "by": source(None, "consolidation")}
    fields.update({"kind": a.type, **changes})
    return Proposal(kind=ProposalKind.SUPERSEDE, record=said(body, **fields), reason="both say so")


def raising(error: Exception) -> Callable[[MemoryRecord, MemoryRecord], Any]:
    def answer(a: MemoryRecord, b: MemoryRecord) -> Any:
        raise error

    return answer


def archived(a: MemoryRecord, b: MemoryRecord) -> Proposal:
    record = merge(a, b).record
    assert record is not None
    gone = record.evolve({"state": "archived", "state_reason": "x"})
    return Proposal(kind=ProposalKind.SUPERSEDE, record=gone, reason="x")


HOSTILE: dict[str, tuple[ContradictionOperator | NearDupOperator, str]] = {
    "a merge instead of a dispute": (Contradicting(merge), "only propose transition, not supersede"),
    "an archival instead of a dispute": (
        Contradicting(lambda a, b: Proposal(kind=ProposalKind.ARCHIVE, target_id=a.id, reason="x")),
        "only propose transition, not archive",
    ),
    "a new record instead of a dispute": (Contradicting(lambda a, b: create(said("Planted."))), "not create"),
    "a dispute with a foreign record": (Contradicting(lambda a, b: dispute(a.id, FOREIGN)), "exactly the candidate"),
    "a dispute of foreign records": (Contradicting(lambda a, b: dispute(FOREIGN, FOREIGN)), "exactly the candidate"),
    "a dispute of a record with itself": (Contradicting(lambda a, b: dispute(a.id, a.id)), "exactly the candidate"),
    "a dispute without sides": (Contradicting(lambda a, b: dispute(None, None)), "exactly the candidate"),
    "a dispute without a reason": (Contradicting(lambda a, b: dispute(a.id, b.id, " \n")), "needs a reason"),
    "a dispute that is a text": (Contradicting(lambda a, b: "they clash"), "must return a Proposal"),
    "a dispute that is a list": (Contradicting(lambda a, b: [dispute(a.id, b.id)]), "must return a Proposal"),
    "a lie about the kind": (Contradicting(lambda a, b: Lying()), "only propose transition, not archive"),
    "a lie about the sides": (Contradicting(lambda a, b: LyingAboutSides()), "exactly the candidate"),
    "a breakdown in a dispute": (Contradicting(raising(TimeoutError("Tuesday"))), "TimeoutError"),
    "a dispute instead of a merge": (Merging(lambda a, b: dispute(a.id, b.id)), "only propose supersede"),
    "a merge without evidence": (Merging(lambda a, b: merge(a, b, evidence=[])), "BOTH sides"),
    "a merge with half the evidence": (Merging(lambda a, b: merge(a, b, evidence=[a.id])), "BOTH sides"),
    "a merge of one record twice": (Merging(lambda a, b: merge(a, a)), "BOTH sides"),
    "a merge with foreign evidence": (
        Merging(lambda a, b: merge(a, b, evidence=[a.id, b.id, FOREIGN])),
        "nothing else",
    ),
    "a merge that replaces a foreign record": (Merging(lambda a, b: merge(a, b, supersedes=FOREIGN)), "nothing else"),
    "a merge that replaces one more": (Merging(lambda a, b: merge(a, b, supersedes_also=(FOREIGN,))), "nothing else"),
    "a rule without evidence": (
        Merging(lambda a, b: merge(a, b, kind=RecordType.RULE, evidence=[])),
        "evidence",
    ),
    "a rule out of facts": (Merging(lambda a, b: merge(a, b, kind=RecordType.RULE)), "must have the type"),
    "another type": (Merging(lambda a, b: merge(a, b, kind=RecordType.PROCEDURE)), "must have the type"),
    "another scope": (Merging(lambda a, b: merge(a, b, user_id="eve")), "scope"),
    "a key of its own": (Merging(lambda a, b: merge(a, b, key="team::day")), "new key"),
    "an object of its own": (Merging(lambda a, b: merge(a, b, object="Friday")), "new object"),
    "another provenance": (Merging(lambda a, b: merge(a, b, by=source("boss", "correction"))), "provenance"),
    "an archived merge": (Merging(archived), "must be active"),
    "an archival smuggled in as a merge": (
        Merging(lambda a, b: Proposal(kind=ProposalKind.ARCHIVE, record=merge(a, b).record, target_id=a.id)),
        "only propose supersede",
    ),
    "a side as the merge": (
        Merging(lambda a, b: Proposal(kind=ProposalKind.SUPERSEDE, record=a, reason="x")),
        "nothing else",
    ),
    "a lie about the record": (Merging(lambda a, b: LyingAboutTheRecord()), "nothing else"),
    "a breakdown in a merge": (Merging(raising(ConnectionError("Tuesday"))), "ConnectionError"),
}  # fmt: skip


def everything(memory: Memory) -> list[bytes]:
    """Every byte of every version."""
    return [version.canonical_bytes() for record in memory.list() for version in memory.history(record.id)]


def operating(operator: ContradictionOperator | NearDupOperator) -> ConsolidationOperators:
    if isinstance(operator, NearDupOperator):
        return ConsolidationOperators(near_dup=operator)
    return ConsolidationOperators(contradiction=operator)


@pytest.mark.parametrize("name", HOSTILE)
def test_an_operator_that_oversteps_writes_nothing_and_is_told_why(name: str) -> None:
    operator, why = HOSTILE[name]
    with Memory(None, operators=operating(operator), auto_consolidate=False) as memory:
        memory.remember(TUESDAY)
        memory.remember(THURSDAY)
        before = everything(memory)
        report = memory.consolidate()
        assert everything(memory) == before
    assert (report.actions, report.touched) == ((), ())
    (rejection,) = report.rejections
    assert why in rejection.error
    assert "Tuesday" not in rejection.error + rejection.detail


def test_the_id_of_a_record_that_is_there_is_refused() -> None:
    there = said("There already.", by=source(None, "consolidation"))
    operators = operating(Merging(lambda a, b: merge(a, b, there.body)))
    with Memory(None, operators=operators, auto_consolidate=False) as memory:
        for record in (there, said(TUESDAY), said(THURSDAY)):
            memory.store.put(record)
        before = everything(memory)
        report = memory.consolidate()
        assert everything(memory) == before
    assert f"record {there.id} exists already" in report.rejections[0].error


def test_a_lie_told_later_changes_nothing_that_was_checked() -> None:
    """What a proposal says is read once: a second answer finds nobody."""

    class Turning(Proposal):
        asked = 0

        @property
        def target_id(self) -> str:  # type: ignore[override]
            Turning.asked += 1
            return self._first if Turning.asked == 1 else FOREIGN

        def __init__(self, a: MemoryRecord, b: MemoryRecord) -> None:
            for name, value in {"kind": ProposalKind.TRANSITION, "other_id": b.id, "reason": "x"}.items():
                object.__setattr__(self, name, value)
            object.__setattr__(self, "_first", a.id)

    with Memory(None, operators=operating(Contradicting(Turning)), auto_consolidate=False) as memory:
        memory.remember(TUESDAY)
        memory.remember(THURSDAY)
        (action,) = memory.consolidate().actions
        sides = [memory.get(record_id) for record_id in action.record_ids]
    assert sorted(side.body for side in sides) == sorted((TUESDAY, THURSDAY))
    assert FOREIGN not in str([side.model_dump() for side in sides])


class Resolving(ResolutionOperator):
    """The same for winners."""

    def __init__(self, answer: Callable[[MemoryRecord, MemoryRecord], Any]) -> None:
        self.answer = answer

    def propose_winner(self, a: MemoryRecord, b: MemoryRecord) -> tuple[str, str] | None:
        return self.answer(a, b)  # type: ignore[no-any-return]


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("body", "Changed."), ("id", FOREIGN), ("state", "x"), ("slots", None), ("evidence", None), ("tags", 5),
        ("created_at", None), ("updated_at", "never"), ("confidence", "1"), ("extension", None), ("provenance", None),
        ("type", None), ("supersedes", "x"), ("extra", {"body": "x"}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("who", ["near", "contradiction", "resolution"])
def test_an_operator_that_changes_what_it_is_shown_changes_nothing_else(
    who: str, name: str, value: object, side: int
) -> None:
    def changing(a: MemoryRecord, b: MemoryRecord) -> None:
        object.__setattr__((a, b)[side], name, value)
        object.__setattr__((a, b)[side].provenance, "kind", "changed")

    operators = ConsolidationOperators(
        near_dup=Merging(changing) if who == "near" else TrigramNearDupOperator(),
        contradiction=Contradicting(changing) if who == "contradiction" else HeuristicContradictionOperator(),
        resolver=Resolving(changing) if who == "resolution" else None,
    )
    with Memory(None, operators=operators, auto_consolidate=False) as memory:
        for body in (TUESDAY, THURSDAY, "The team does not meet every Tuesday at ten."):
            memory.remember(body)
        born = {record.id: record for record in memory.list()}
        memory.consolidate()
        assert {record.id: memory.history(record.id)[0] for record in memory.list()} == born
        assert {record.provenance.kind for record in memory.list()} == {"conversation"}
        assert memory.status()["damaged"] == 0


def test_a_merge_refused_because_its_id_is_taken_is_asked_for_again() -> None:
    there = said("There already.", by=source(None, "consolidation"))
    asked: list[frozenset[str]] = []

    def answer(a: MemoryRecord, b: MemoryRecord) -> Proposal:
        asked.append(frozenset((a.id, b.id)))
        return merge(a, b, there.body)

    with Memory(None, operators=operating(Merging(answer)), auto_consolidate=False) as memory:
        for record in (there, said(TUESDAY), said(THURSDAY)):
            memory.store.put(record)
        memory.consolidate()
        once = list(asked)
        memory.consolidate()
    assert len(once) == 1
    assert asked == once * 2


def test_an_operator_that_breaks_down_with_an_error_of_ours_is_asked_again() -> None:
    asked: list[str] = []

    def answer(a: MemoryRecord, b: MemoryRecord) -> None:
        asked.append(a.id)
        raise StoreError("it is out of reach")

    with Memory(None, operators=operating(Contradicting(answer)), auto_consolidate=False) as memory:
        memory.remember(TUESDAY)
        memory.remember(THURSDAY)
        memory.consolidate()
        memory.consolidate()
    assert len(asked) == 2

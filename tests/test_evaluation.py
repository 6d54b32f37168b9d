"""Evaluation: the figures are those of their definitions, and a question is read strictly."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory import Memory, MemoryRecord, Provenance, RecordType, supersede
from agent_memory.errors import ArgumentError
from agent_memory.evaluation import Answer, Expectations, Question, catch, evaluate

T0 = datetime(2026, 1, 1, tzinfo=UTC)
ID = "mem:" + "a" * 32


def answer(expected: list[str], ranked: str, within: str = "") -> Answer:
    return Answer(expected=tuple(map(frozenset, expected)), ranked=list(ranked), within=list(within))


def record(body: str, number: int = 0, **more: Any) -> MemoryRecord:
    created_at = T0 + timedelta(seconds=number)
    return MemoryRecord.create(RecordType.FACT, body, Provenance(kind="chat"), created_at=created_at, **more)


def test_the_figures_by_hand() -> None:
    found = catch(answer(["a", "b", "x"], "cabd", within="ab"))
    assert found.ranks == (2, 3, None)
    assert [found.recall(k) for k in (1, 2, 3, 9)] == pytest.approx([0, 1 / 3, 2 / 3, 2 / 3])
    assert [found.hit(k) for k in (1, 2)] == [0, 1]
    best = 1 + 1 / math.log2(3) + 1 / 2
    assert found.ndcg(9) == pytest.approx((1 / math.log2(3) + 1 / 2) / best)
    assert found.ndcg(1) == 0
    assert found.evidence == pytest.approx(2 / 3)


def test_any_record_that_says_it_will_do_and_the_best_rank_counts() -> None:
    assert catch(answer(["ab", "cd"], "dxbac")).ranks == (3, 1)


def test_means_are_over_questions() -> None:
    figures = evaluate([answer(["a"], "a", "a"), answer(["b", "", ""], "ab")], (1, 2))
    assert (figures.questions, figures.expected, figures.missing) == (2, 4, 2)
    assert figures.recall == pytest.approx({1: 0.5, 2: (1 + 1 / 3) / 2})
    assert figures.hit == {1: 0.5, 2: 1.0}
    assert figures.evidence == 0.5


def test_no_questions_are_no_figures() -> None:
    with pytest.raises(ArgumentError):
        evaluate([], (5,))


letters = st.sampled_from("abcdefgh")


@given(
    st.lists(st.frozensets(letters, max_size=3), min_size=1, max_size=4),
    st.lists(letters, unique=True),
    st.integers(1, 9),
)
def test_figures_lie_between_0_and_1_and_grow_with_k(expected: Any, ranked: list[str], k: int) -> None:
    found = catch(Answer(expected=tuple(expected), ranked=ranked, within=ranked[:2]))
    for figure in (found.recall, found.hit, found.ndcg):
        assert 0 <= figure(k) <= 1 + 1e-12
    assert found.recall(k) <= found.recall(k + 1)
    assert found.hit(k) == float(found.recall(k) > 0)
    assert found.recall(99) == sum(bool(will_do & set(ranked)) for will_do in expected) / len(expected)


# ------------------------------------------------------------------ what is expected


def test_records_are_found_by_id_by_body_and_by_what_they_contain() -> None:
    first, second, third = record("The bakery opens at six.", 1), record("The bakery", 2), record("Nothing.", 3)
    expectations = Expectations([first, second, third])

    def of(**wire: Any) -> list[set[str]]:
        return [set(will_do) for will_do in expectations.of(Question.read({"query": "q", **wire}))]

    assert of(ids=[first.id, ID]) == [{first.id}, set()]
    assert of(texts="The bakery") == [{second.id}]
    assert of(texts=["The bakery", "Nothing."], match="contains") == [{first.id, second.id}, {third.id}]
    assert of(ids=third.id, texts=["bakery"]) == [{third.id}, set()]


def test_what_was_folded_is_found_in_what_it_was_folded_into_and_what_was_corrected_is_not() -> None:
    with Memory(None, auto_consolidate=False) as memory:
        ids = [memory.remember(text, source=source).record_id for text, source in (("A cat.", "x"), ("A cat.", "y"))]
        memory.consolidate()
        kept = {record.id for record in memory.list() if record.state == "active"}
        expectations = Expectations(memory.list())
        assert expectations.of(Question(query="q", ids=(ids[0],)))[0] >= kept
    old = record("The port is 8443.", 1)
    new = record("The port is 9443.", 2, supersedes=old.id)
    retired = supersede(old, new, reason="moved")
    assert Expectations([retired, new]).of(Question(query="q", ids=(old.id,))) == (frozenset({old.id}),)


@pytest.mark.parametrize(
    "wire",
    [
        None,
        [],
        {},
        {"query": "q"},
        {"query": " ", "ids": [ID]},
        {"query": 7, "ids": [ID]},
        {"query": "q", "ids": ["mem:abc"]},
        {"query": "q", "ids": [7]},
        {"query": "q", "ids": []},
        {"query": "q", "texts": [""]},
        {"query": "q", "texts": {"a": 1}},
        {"query": "q", "ids": [ID], "match": "maybe"},
        {"query": "q", "ids": [ID], "expected": []},
    ],
)
def test_what_is_no_question_is_refused(wire: Any) -> None:
    with pytest.raises(ArgumentError):
        Question.read(wire)

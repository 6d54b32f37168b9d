"""Fusion: words and vectors as one index, held to a plain model, and words alone when the embedder fails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from operator import mul
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agent_memory import (
    Extension,
    HashEmbedder,
    InMemoryRecordStore,
    MemoryRecord,
    Provenance,
    RecordType,
    Scope,
    SearchIndex,
    SQLiteSearchIndex,
    retrieve,
)
from agent_memory.search.dense import DenseIndex
from agent_memory.search.fusion import DEPTH, fuse
from agent_memory.search.hybrid import HybridIndex
from agent_memory.testing import SearchIndexContract
from embedders import HOSTILE, Counting

T0 = datetime(2026, 1, 1, tzinfo=UTC)


class Fixed(SearchIndex):
    """Answers the same scores whatever is asked."""

    def __init__(self, scores: Mapping[str, float]) -> None:
        self.scores = scores

    def index(self, record: MemoryRecord) -> None:
        pass

    def candidates(self, query: str, k: int) -> tuple[tuple[str, float], ...]:
        return tuple(sorted(self.scores.items(), key=lambda item: (-item[1], item[0]))[: max(0, k)])


def record(number: int, body: str, session: str | None) -> MemoryRecord:
    return MemoryRecord.create(
        RecordType.EPISODE,
        body,
        Provenance(kind="chat"),
        created_at=T0 + timedelta(seconds=number),
        extension=Extension(scope=Scope(session_id=session)),
    )


# ------------------------------------------------------------------ the function

names = st.sampled_from([f"mem:{number:032x}" for number in range(8)])
scores = st.floats(0.001, 1000)


def test_the_shares_are_six_and_four_tenths() -> None:
    assert fuse({"a": 10.0, "b": 5.0, "c": 0.0}, {"a": -1.0, "b": 1.0, "c": 0.0}) == pytest.approx(
        {"b": 0.7, "a": 0.6, "c": 0.2}
    )
    assert fuse({"a": 10.0, "b": 8.0}, {"b": 1.0}) == {"a": 1.0, "b": 0.4}


@given(st.dictionaries(names, scores), st.dictionaries(names, st.floats(-1, 1)))
def test_fused_scores_are_ordered_and_lie_in_0_to_1(lexical: dict[str, float], dense: dict[str, float]) -> None:
    found = fuse(lexical, dense)
    assert list(found) == sorted(found, key=lambda record_id: (-found[record_id], record_id))
    assert set(found) <= {*lexical, *dense}
    assert all(score > 0 for score in found.values())
    if dense:
        assert all(score <= 1 for score in found.values())
    else:
        assert found == lexical


@given(st.dictionaries(names, scores, min_size=2), st.dictionaries(names, st.floats(-1, 1), min_size=2), st.data())
def test_to_be_better_on_one_side_is_never_worse(lexical: Any, dense: Any, data: st.DataObject) -> None:
    better = data.draw(st.sampled_from(sorted({*lexical, *dense})))
    before = fuse(lexical, dense)
    most = max(lexical.values())
    after = fuse({**lexical, better: most}, dense)
    above = {name for name, score in before.items() if score > before.get(better, 0.0)}
    assert {name for name, score in after.items() if score > after.get(better, 0.0) + 1e-12} <= above


# ------------------------------------------------------------------ the index against a plain model


def smoothed(cosines: Mapping[str, float], sessions: Iterable[Sequence[str]]) -> dict[str, float]:
    """What each record has of its own and of its neighbours in the session."""
    mean = sum(cosines.values()) / max(1, len(cosines))
    dense = dict(cosines)
    for session in sessions:
        for at, record_id in enumerate(session):
            for step, share in ((-1, 0.4), (1, 0.3), (-2, 0.2), (2, 0.2)):
                if 0 <= at + step < len(session):
                    dense[record_id] += share * (cosines[session[at + step]] - mean)
    return dense


def model(
    lexical: Mapping[str, float], cosines: Mapping[str, float], sessions: Iterable[Sequence[str]], depth: int = DEPTH
) -> dict[str, float]:
    """Section 8 of spec/recall.md, word for word."""
    dense = smoothed(cosines, sessions)

    def best(found: Mapping[str, float]) -> list[str]:
        return sorted(found, key=lambda name: (-found[name], name))[:depth]

    candidates = sorted({*best(lexical), *(name for name in best(dense) if dense[name] > 0)})
    if not candidates:
        return {}
    words = [lexical.get(name, 0.0) for name in candidates]
    near = [dense[name] for name in candidates]

    def level(value: float, values: list[float]) -> float:
        if max(values) - min(values) < 1e-6:
            return float(max(values) > 0)
        return (value - min(values)) / (max(values) - min(values))

    return {
        name: 0.6 * level(word, words) + 0.4 * level(score, near)
        for name, word, score in zip(candidates, words, near, strict=True)
    }


said = st.lists(
    st.tuples(st.text("abcdefk ", min_size=1).filter(str.strip), st.sampled_from([None, "s", "t"])), max_size=12
)


@given(said, st.text("abcdefgk", min_size=1, max_size=4), st.data())
def test_candidates_are_those_of_the_model(made: list[tuple[str, str | None]], query: str, data: st.DataObject) -> None:
    records = [record(number, body, session) for number, (body, session) in enumerate(made)]
    store = InMemoryRecordStore()
    store.put_many(records)
    lexical = {item.id: data.draw(scores) for item in records if data.draw(st.booleans())}
    dense = DenseIndex(store, Counting())
    dense.follow()
    asked = HybridIndex(Fixed(lexical), dense).ask(query)
    sessions = [[item.id for item in records if item.scope.session_id == name] for name in ("s", "t")]
    cosines = _cosines(query, records)
    # Whether what comes to nothing but for rounding is a candidate hangs on the rounding.
    near = smoothed(cosines, sessions)
    assume(not any(abs(near[name]) < 1e-6 for session in sessions if len(session) > 1 for name in session))
    expected = model(lexical, cosines, sessions)
    found = dict(asked.candidates(query, 50))
    assert found == pytest.approx({name: score for name, score in expected.items() if name in found}, abs=1e-6)
    assert all(score < 1e-6 for name, score in expected.items() if name not in found)
    assert asked.candidates(query, 3) == asked.candidates(query, 50)[:3]
    assert asked.candidates(query, 0) == ()


def _cosines(query: str, records: Sequence[MemoryRecord]) -> dict[str, float]:
    from math import hypot

    from embedders import letters

    (wanted,) = letters([query])
    found = {}
    for item in records:
        (vector,) = letters([item.body])
        lengths = hypot(*wanted) * hypot(*vector)
        found[item.id] = sum(map(mul, wanted, vector)) / lengths if lengths else 0.0
    return found


# ------------------------------------------------------------------ what a memory relies on


def filled(*bodies: str) -> tuple[InMemoryRecordStore, HybridIndex, Counting]:
    store, embedder = InMemoryRecordStore(), Counting()
    store.put_many([record(number, body, None) for number, body in enumerate(bodies)])
    dense = DenseIndex(store, embedder)
    dense.follow()
    words = SQLiteSearchIndex()
    words.index_many(store.list())
    return store, HybridIndex(words, dense), embedder


def test_meaning_finds_what_words_do_not() -> None:
    store, index, _ = filled("bad cab", "jill")
    assert [record_id for record_id, _ in index.lexical.candidates("abc", 9)] == []
    block = retrieve("abc", store=store, indexes=[index], budget_tokens=100)
    assert [item.record.body for item in block.records] == ["bad cab"]


def test_when_the_embedder_fails_words_are_found_and_it_is_said() -> None:
    store, index, embedder = filled("the cab is here", "the ice is there")
    embedder.failing = lambda texts: True
    asked = index.ask("cab")
    block = retrieve("cab", store=store, indexes=[asked], budget_tokens=100)
    assert [item.record.body for item in block.records] == ["the cab is here"]
    assert asked.dense_error == "the embedder raised TimeoutError; found by words alone"
    assert "cab" not in asked.dense_error
    assert index.candidates("cab", 5) == index.lexical.candidates("cab", 5)
    embedder.failing = lambda texts: False
    assert index.ask("cab").dense_error is None


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_embedder_never_fails_a_recall(name: str) -> None:
    store = InMemoryRecordStore()
    store.put(record(1, "the cab is here", None))
    dense = DenseIndex(store, HOSTILE[name])
    dense.follow()
    words = SQLiteSearchIndex()
    words.index_many(store.list())
    asked = HybridIndex(words, dense).ask("cab")
    assert len(retrieve("cab", store=store, indexes=[asked], budget_tokens=100).records) == 1
    a_length_a_time = ("shorter", "longer", "uneven")
    assert asked.dense_error is not None or name in a_length_a_time


def test_a_query_is_embedded_once() -> None:
    _, index, embedder = filled("abc", "bcd")
    embedder.taken()
    asked = index.ask("ab")
    for k in (1, 2, 300):
        asked.candidates("ab", k)
    assert embedder.taken() == ["ab"]


def test_what_may_not_be_shown_takes_no_place_from_what_may() -> None:
    hidden = [f"mem:{number:032x}" for number in range(1, 3000)]
    shown = f"mem:{0xFFFF:032x}"
    store, embedder = InMemoryRecordStore(), Counting()
    dense = DenseIndex(store, embedder)
    dense.follow()
    index = HybridIndex(Fixed({**dict.fromkeys(hidden, 2.0), shown: 1.0}), dense)
    asked = index.ask("abc", shown=lambda ids: {record_id for record_id in ids if record_id == shown})
    assert [record_id for record_id, _ in asked.candidates("abc", 5)] == [shown]
    assert len(index.ask("abc").candidates("abc", 500)) == 500


class TestHybridContract(SearchIndexContract):
    def make_index(self, tmp_path: Any) -> SearchIndex:
        dense = DenseIndex(InMemoryRecordStore(), HashEmbedder(64))
        dense.follow()
        return HybridIndex(SQLiteSearchIndex(), dense)

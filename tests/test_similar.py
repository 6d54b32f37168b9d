"""Records that are alike and stand apart: which pairs are found, and what is said to keep them apart."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory import (
    ArgumentError,
    ConsolidationOperators,
    Memory,
    MemoryRecord,
    RecordType,
    StoreError,
    consolidate,
)
from agent_memory.similar import may_merge, similar_pairs, why_apart
from agent_memory.text import trigram_similarity
from cli_runner import ok, run
from plain_store import NOW, PlainStore, said, source

PORTS = ("The api listens on port 8443 behind the proxy.", "The api listens on port 9443 behind the proxy.")


# ------------------------------------------------------------------ which pairs


_words = st.lists(st.sampled_from(["port", "8443", "9443", "is", "not", "open"]), min_size=1, max_size=5)
_marks = st.sampled_from([{}, {"user_id": "ann"}, {"kind": RecordType.EPISODE}, {"by": source("x")}])


@given(
    st.lists(st.builds(lambda words, marks: said(" ".join(words), **marks), _words, _marks), max_size=10),
    st.sampled_from([0.1, 0.4, 0.6, 1.0]),
    st.sampled_from([None, 1, 3]),
)
def test_every_pair_of_one_scope_and_type_that_reaches_the_threshold_is_found_most_alike_first(
    records: list[MemoryRecord], threshold: float, limit: int | None
) -> None:
    held = sorted({record.id: record for record in records}.values(), key=lambda record: record.id)
    found = similar_pairs(PlainStore(*held), threshold=threshold, limit=limit)
    expected = [
        (-trigram_similarity(a.body, b.body), a.id, b.id)
        for a, b in combinations(held, 2)
        if (a.type, a.scope) == (b.type, b.scope) and trigram_similarity(a.body, b.body) >= threshold
    ]
    assert [(-alike, a.id, b.id) for a, b, alike in found] == sorted(expected)[:limit]


def test_what_was_merged_disputed_or_archived_is_not_listed() -> None:
    with Memory(None, auto_consolidate=False) as memory:
        for text in (
            "The staging port is 8443.",
            "The staging port is 9443.",
            "The api is up and well.",
            "The api is up and well",
        ):
            memory.remember(text)
        assert len(memory.similar()) == 2
        memory.consolidate()
        assert memory.similar() == []


def test_a_search_writes_nothing_and_tells_how_far_it_is() -> None:
    told: list[tuple[str, int, int]] = []
    with Memory(None, auto_consolidate=False) as memory:
        for text in PORTS:
            memory.remember(text)
        before = [record.canonical_bytes() for record in memory.list()]
        ((a, b, alike),) = memory.similar(progress=lambda *call: told.append(call))
        assert [record.canonical_bytes() for record in memory.list()] == before
    assert a.id < b.id
    assert alike == trigram_similarity(a.body, b.body)
    assert told[0] == ("read", 0, 0)
    assert told[-1] == ("compare", 2, 2)


def test_a_search_can_be_ended_from_its_progress() -> None:
    def stop(name: str, _done: int, _total: int) -> None:
        if name == "compare":
            raise KeyboardInterrupt

    with Memory(None) as memory:
        memory.remember(PORTS[0])
        with pytest.raises(KeyboardInterrupt):
            memory.similar(progress=stop)
        assert memory.similar() == []


@pytest.mark.parametrize("wrong", [0, -1, 1.01, float("nan"), "0.6", True, None])
def test_a_threshold_outside_its_range_is_refused(wrong: Any) -> None:
    with Memory(None) as memory, pytest.raises((ArgumentError, TypeError), match="threshold"):
        memory.similar(wrong)


@pytest.mark.parametrize("wrong", [0, -1, 2.5, "3", True])
def test_a_limit_outside_its_range_is_refused(wrong: Any) -> None:
    with Memory(None) as memory, pytest.raises((ArgumentError, TypeError), match="limit"):
        memory.similar(limit=wrong)


def test_a_closed_memory_is_an_error() -> None:
    memory = Memory(None)
    memory.close()
    with pytest.raises(StoreError, match="closed"):
        memory.similar()


# ------------------------------------------------------------------ why apart


def fact(body: str, **marks: Any) -> MemoryRecord:
    return said(body, by=marks.pop("by", source(body)), **marks)


APART: list[tuple[MemoryRecord, MemoryRecord, list[str]]] = [
    (fact(PORTS[0]), fact(PORTS[1]), ["they differ in a number: 8443 | 9443"]),
    (
        fact("Alice owns the deploy key."),
        fact("Alicia owns the deploy key."),
        ["they differ in words: alice | alicia"],
    ),
    (
        fact("The staging api has TLS."),
        fact("The staging api has no TLS."),
        ["one of them denies something", "they differ in words: nothing | no"],
    ),
    (
        fact("Data moves from Postgres to MySQL."),
        fact("Data moves from MySQL to Postgres."),
        ["they have the same words in another order"],
    ),
    (fact("The service may restart."), fact("The service must restart."), ["they differ in words: may | must"]),
    (fact("The port is open.", slots={"a": "1", "b": "2"}), fact("The port is open", slots={"b": "3"}),
     ["their slots differ: a, b"]),
    (fact("The port is open.", key="a::b"), fact("The port is open", key="c::d"), ["their keys or objects differ"]),
    (
        fact("The port is open.", extra={"x": 1}),
        fact("The port is open", extra={"x": 2}),
        ["fields of theirs that this version does not know differ"],
    ),
    (
        fact("Cats purr."),
        fact("Cats purr loudly in the long night."),
        [
            "they differ in words: nothing | loudly, in, long, night",
            "they are less alike than 0.6, which a merge needs at least",
        ],
    ),
    (
        fact("Cats purr.", kind=RecordType.EPISODE),
        fact("Cats purr", kind=RecordType.EPISODE),
        ["episodes are not merged unless they are exact copies"],
    ),
    (
        fact("Cats purr.", kind=RecordType.EPISODE, days=1),
        fact("Cats purr.", kind=RecordType.EPISODE, days=2),
        ["they happened on different days"],
    ),
    (fact("Cats purr."), fact("Cats purr.", kind=RecordType.PROCEDURE), ["they are of different types"]),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b", "reasons"), APART, ids=lambda value: value[0] if isinstance(value, list) else "")
def test_what_keeps_two_records_apart_is_said(a: MemoryRecord, b: MemoryRecord, reasons: list[str]) -> None:
    assert list(why_apart(a, b)) == reasons
    assert not may_merge(a, b)


def test_a_word_that_is_an_inflection_of_another_is_no_difference() -> None:
    nine, ten = fact("The port opens at nine."), fact("The ports open at ten.")
    assert why_apart(nine, fact("The ports open at nine.")) == ()
    assert why_apart(nine, ten)[0] == "they differ in words: nine | ten"


_bodies = st.tuples(
    st.sampled_from(["The port", "Ports", "the api port"]),
    st.sampled_from([" is ", " is not ", " opens at ", " opened at "]),
    st.sampled_from(["8443", "9443", "nine.", "Nine"]),
).map("".join)
_records = st.builds(
    lambda body, marks: said(body, by=source(body + str(marks)), **marks),
    _bodies,
    st.sampled_from([{}, {"key": "a::b"}, {"slots": {"x": "1"}}, {"extra": {"x": 1}}, {"kind": RecordType.EPISODE}]),
)


@given(_records, _records)
def test_a_reason_is_given_if_and_only_if_a_consolidation_leaves_the_two_apart(
    a: MemoryRecord, b: MemoryRecord
) -> None:
    if a.id == b.id or a.type is not b.type:
        return
    report = consolidate(PlainStore(a, b), operators=ConsolidationOperators.without_resolver(), now=NOW)
    merged = any(action.action == "supersede" for action in report.actions)
    assert merged == may_merge(a, b) == (why_apart(a, b) == ())


# ------------------------------------------------------------------ on the command line


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "memory"
    for text in (*PORTS, "The gate code is kept by the front desk.", "The gate code is kept by front desk."):
        ok("--path", place, "remember", text)
    return place


def test_pairs_are_listed_with_both_texts_how_alike_they_are_and_what_keeps_them_apart(place: Path) -> None:
    out = ok("--path", place, "similar").out
    assert re.findall(r"^\d\. 0\.\d{3} alike$", out, flags=re.MULTILINE) == ["1. 0.892 alike", "2. 0.867 alike"]
    assert all(f"│ {text}\n" in out for text in PORTS)
    assert re.search(r"   apart: they differ in a number: [89]443 \| [89]443\n", out)
    assert "   not merged yet: agent-memory consolidate may do it\n" in out
    ok("--path", place, "consolidate")
    assert "not merged yet" not in ok("--path", place, "similar").out


def test_the_limit_and_the_threshold_are_kept(place: Path) -> None:
    out = ok("--path", place, "similar", "--limit", "1").out
    assert "2. " not in out
    assert out.endswith("(there are more; --limit shows more than 1)\n")
    assert ok("--path", place, "similar", "--threshold", "1").out == (
        "no two active records of one type and owner are 1 alike or more\n"
    )
    for wrong in (["--threshold", "0"], ["--threshold", "1.5"], ["--threshold", "nan"], ["--limit", "0"]):
        assert run("--path", place, "similar", *wrong).code == 2


def test_json_holds_the_records_and_the_reasons(place: Path) -> None:
    facts = ok("--path", place, "--json", "similar", "--threshold", "0.5").json
    assert sorted(facts) == ["more", "pairs", "threshold"]
    assert [pair["may_merge"] for pair in facts["pairs"]] == [True, False]
    assert sorted(facts["pairs"][1]) == ["apart", "may_merge", "records", "similarity"]
    assert facts["pairs"][1]["apart"][0].startswith("they differ in a number")


def test_no_text_of_a_memory_can_forge_a_line_of_the_list(tmp_path: Path) -> None:
    place = tmp_path / "memory"
    marks = ["--source", "s\nforged: yes", "--tag", "t\r\x1b[0m\nforged"]
    for word in ("one", "two\u202e\x1b[1m" + "w" * 5000):
        ok(
            "--path",
            place,
            "remember",
            f"{'The same long text. ' * 400}\x1b[2J\n9. 1.000 alike\n   apart: no\n{word}",
            *marks,
        )
    out = ok("--path", place, "similar").out
    assert "alike" in out
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028]", out)
    assert not re.search(r"^ *(9\. 1\.000 alike|forged|apart: no$)", out, flags=re.MULTILINE)
    assert max(map(len, out.splitlines())) < 700

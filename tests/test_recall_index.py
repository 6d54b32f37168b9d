"""The recall index: what it answers is what recall means, whatever happened to it before (spec/recall.md)."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory import (
    ArgumentError,
    Extension,
    MemoryRecord,
    RecordState,
    RecordType,
    Scope,
    SearchIndex,
    Standing,
    TouchCounts,
    Transition,
    archive,
    begin_transition,
    retrieve,
    supersede,
)
from agent_memory.extension import SCOPE_FIELDS
from agent_memory.kernel.reference.search import DEFAULT, Config, Index, Row
from agent_memory.kernel.reference.search.intent import Span, span_of
from plain_store import NOW, SAID, T0, PlainStore, said, source

NOW_MS = int(NOW.timestamp() * 1000)
PLAIN = replace(DEFAULT, context=(), author=1.0, own=1.0, question=1.0, when=1.0, date=1.0)


def index_of(*records: MemoryRecord, config: Config = DEFAULT) -> Index:
    index = Index(config)
    index.update(record.canonical_bytes() for record in records)
    return index


def recall(index: Index, query: str, *, budget: int = 100_000, **options: Any) -> list[Row]:
    return index.recall(query, now=NOW_MS, budget=budget, **options)


def ids(rows: Sequence[Row]) -> list[str]:
    return [row.id for row in rows]


class Answering(SearchIndex):
    """The index behind the port of the generic recall."""

    def __init__(self, index: Index) -> None:
        self.held = index

    def index(self, record: MemoryRecord) -> None:
        self.held.update([record.canonical_bytes()])

    def candidates(self, query: str, k: int) -> tuple[tuple[str, float], ...]:
        return tuple(self.held.candidates(query, k))


# ---------------------------------------------------------------------- random memories

WORDS = "cat dog tea rose ship Ann: Bob: I my May 2026 why? yesterday C++ 東京 кошка the it".split()
NAMES = st.none() | st.sampled_from(["p", "q"])


@st.composite
def memories(draw: st.DrawFn) -> list[MemoryRecord]:
    """Up to twelve records, linked at random as no engine would: every state, disputes, chains, borrowed scopes."""
    born: list[MemoryRecord] = []
    for number in range(draw(st.integers(1, 12))):
        earlier = [record.id for record in born]
        some = st.lists(st.sampled_from(earlier), max_size=2, unique=True) if earlier else st.just([])
        scope = Scope(**{name: draw(NAMES) for name in ("project", "user_id", "agent_id", "session_id")})
        extension = Extension(
            key=draw(st.none() | st.sampled_from(["k::one", "k::two"])),
            value=draw(st.sampled_from([1.0, 7.5])),
            standing=draw(st.none() | st.builds(Standing, st.integers(0, 3), st.integers(0, 3))),
            author=draw(st.none() | st.sampled_from(["user", "Ann", "Bob Lee"])),
            scope=draw(st.sampled_from([scope, Scope(session_id="s"), Scope()])),
            supersedes_also=tuple(draw(some)),
        )
        record = MemoryRecord.create(
            draw(st.sampled_from(["fact", "episode"])),
            " ".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8))),
            draw(st.sampled_from([SAID, source(None, "consolidation")])),
            confidence=draw(st.sampled_from([1.0, 0.5, 0.0])),
            evidence=draw(some),
            supersedes=draw(st.none() | st.sampled_from(earlier)) if earlier else None,
            tags=draw(st.lists(st.sampled_from(["red", "tea"]), max_size=2, unique=True)),
            created_at=T0 + timedelta(milliseconds=number, days=draw(st.integers(0, 40))),
            occurred_at=draw(st.none() | st.just(T0)),
            extension=extension,
        )
        born.append(record)
    made: list[MemoryRecord] = []
    partners: dict[str, str] = {}
    for record, other in itertools.pairwise(born):
        if draw(st.integers(0, 3)) == 0 and record.id not in partners:
            partners |= {record.id: other.id, other.id: record.id}
    for record in born:
        changes: dict[str, Any] = {"updated_at": T0 + timedelta(days=draw(st.integers(0, 60)))}
        if record.id in partners:
            sides = (record.id, partners[record.id])
            changes |= {"state": RecordState.TRANSITIONAL, "transition": Transition(sides=sides, reason="r")}
        elif draw(st.booleans()):
            others = [other.id for other in born if other.id != record.id]
            retired = draw(st.sampled_from(["superseded", "archived", "redacted"])) if others else "archived"
            if retired == "redacted":
                made.append(MemoryRecord.tombstone(record, reason="asked", now=NOW))
                continue
            changes["state"] = retired
            if others and (retired == "superseded" or draw(st.booleans())):
                changes["superseded_by"] = draw(st.sampled_from(others))
        made.append(record.evolve(changes))
    return made


queries = st.lists(st.sampled_from([*WORDS, "who", "cats", "when did", "red"]), max_size=5).map(" ".join)
options = st.fixed_dictionaries(
    {
        "include_archived": st.booleans(),
        "include_history": st.booleans(),
        "k": st.integers(1, 6) | st.just(128),
        "budget": st.integers(0, 12) | st.just(1_000),
        "scope": st.none() | st.tuples(NAMES, NAMES, NAMES, st.none() | st.sampled_from(["s", "p"])),
    }
)


class TestMeaning:
    @given(memories(), queries, options, st.randoms(use_true_random=False))
    def test_it_answers_what_the_generic_recall_answers(
        self, records: list[MemoryRecord], query: str, chosen: dict[str, Any], chance: random.Random
    ) -> None:
        touches = TouchCounts()
        for record in records:
            for _ in range(chance.randint(0, 2)):
                touches.touch(record.id)
        agree(records, query, touches, **chosen)

    def test_it_agrees_where_scopes_are_borrowed(self) -> None:
        seen = [said("tea", user_id="a", session_id="s"), said("tea too", user_id="a", session_id="t"), said("x tea")]
        made = source(None, "consolidation")
        single = said("tea from one", by=made, evidence=[seen[0].id])
        both = said("tea from both", by=made, evidence=[seen[0].id, seen[1].id])
        mixed = said("tea from all", by=made, evidence=[record.id for record in seen])
        again = said("tea again", by=made, evidence=[both.id, both.id])
        lost = said("tea of nobody", by=made, evidence=["mem:" + "0" * 32])
        gone = said("tea of an erased one", by=made, evidence=[seen[2].id])
        redacted = MemoryRecord.tombstone(seen[2], reason="asked", now=NOW)
        for third in (seen[2], redacted):
            records = [*seen[:2], third, single, both, mixed, again, lost, gone]
            for scope in itertools.product((None, "p"), (None, "a", "b"), (None,), (None, "s", "t")):
                agree(records, "tea", TouchCounts(), scope=scope)

    def test_it_agrees_where_sessions_part_a_dispute(self) -> None:
        a, b = begin_transition(
            said("tea is hot", user_id="a", session_id="s"),
            said("ice is cold", user_id="a", session_id="t"),
            reason="r",
            now=NOW,
        )
        for session in (None, "s", "t", "u"):
            agree([a, b], "tea", TouchCounts(), scope=(None, "a", None, session))
        assert len(recall(index_of(a, b), "tea", scope=(None, "a", None, "s"))) == 2

    def test_it_agrees_where_a_history_passes_an_erased_record(self) -> None:
        first = said("limit is 1", session_id="s")
        second = said("limit is 2", days=1).evolve({"supersedes": first.id})
        third = said("limit is 3", days=2, session_id="t").evolve({"supersedes": second.id})
        old = supersede(first, second, reason="raised", now=NOW)
        erased = MemoryRecord.tombstone(supersede(second, third, reason="raised", now=NOW), reason="asked", now=NOW)
        rows = agree([old, erased, third], "limit 3", TouchCounts(), include_history=True)
        assert [(row.id, row.of) for row in rows] == [(third.id, None), (first.id, second.id)]
        agree([old, erased, third], "limit", TouchCounts(), include_history=True, scope=(None, None, None, "t"))

    @given(memories(), memories(), queries)
    def test_what_happened_before_does_not_matter(
        self, before: list[MemoryRecord], after: list[MemoryRecord], query: str
    ) -> None:
        index = index_of(*before)
        index.remove(record.id for record in before)
        assert len(index) == 0
        assert index.snapshot("", 0) == Index().snapshot("", 0)
        index.update(record.canonical_bytes() for record in [*before, *after])
        gone = {record.id for record in before} - {record.id for record in after}
        index.remove(gone)
        fresh = index_of(*reversed(after))
        assert index.candidates(query, 100) == fresh.candidates(query, 100)
        assert index.snapshot("c", 1) == fresh.snapshot("c", 1)

    @given(memories(), queries)
    def test_a_snapshot_answers_alike(self, records: list[MemoryRecord], query: str) -> None:
        index = index_of(*records)
        index.set_touches({records[0].id: 3})
        found = Index.restore(index.snapshot("cursor", 7))
        assert found is not None
        restored, cursor, epoch = found
        assert (cursor, epoch) == ("cursor", 7)
        chosen = {"include_history": True, "include_archived": True}
        assert recall(restored, query, **chosen) == recall(index, query, **chosen)
        assert restored.snapshot("cursor", 7) == index.snapshot("cursor", 7)

    @given(memories(), queries, st.integers(0, 30))
    def test_both_sides_of_a_dispute_are_there_or_neither(
        self, records: list[MemoryRecord], query: str, budget: int
    ) -> None:
        shown = set(ids(recall(index_of(*records), query, budget=budget)))
        for record in records:
            if record.transition is not None and record.id in shown:
                other = next((each for each in records if each.id == record.transition.other(record.id)), None)
                mutual = other is not None and other.transition is not None and record.id in other.transition.sides
                assert not mutual or record.transition.other(record.id) in shown


def agree(
    records: Sequence[MemoryRecord],
    query: str,
    touches: TouchCounts,
    *,
    scope: tuple[str | None, ...] | None = None,
    k: int = 128,
    budget: int = 1_000,
    **options: Any,
) -> list[Row]:
    """The rows of the index, which are those of the generic recall for its relevances."""
    index = index_of(*records)
    index.set_touches({record.id: touches.count(record.id) for record in records})
    rows = recall(index, query, budget=budget, k=k, scope=scope, **options)
    block = retrieve(
        query,
        store=PlainStore(*sorted(records, key=lambda record: record.id)),
        indexes=[Answering(index)],
        budget_tokens=budget,
        now=NOW,
        candidates_per_index=k,
        scope=None if scope is None else Scope(**dict(zip(SCOPE_FIELDS, scope, strict=True))),
        touches=touches,
        **options,
    )
    assert [picture(item) for item in block.records] == [row_picture(row) for row in rows]
    assert block.total_tokens == sum(row.tokens for row in rows)
    return rows


def picture(item: Any) -> tuple[Any, ...]:
    factors = item.factors
    first, *cuts = item.reasons
    return (
        item.record.id,
        item.score,
        (factors.relevance, factors.state, factors.recency, factors.salience),
        (factors.confidence, factors.importance, factors.standing),
        item.tokens,
        first.kind,
        first.of,
        int(cuts[0].split()[0]) if cuts else 0,
    )


def row_picture(row: Row) -> tuple[Any, ...]:
    head = (row.relevance, row.state, row.recency, row.salience)
    return (row.id, row.score, head, row[6:9], row.tokens, row.kind, row.of, row.cut)


# ---------------------------------------------------------------------- single promises


class TestFound:
    def test_ten_thousand_that_may_not_be_shown_hide_none_that_may(self) -> None:
        wanted = said("The tea is green today, for a change of habit and for health.", user_id="ann")
        index = index_of(wanted)
        for number in range(10_000):
            record = said(f"tea green tea {number}", user_id="bob" if number % 3 == 0 else None)
            if number % 3 == 1:
                record = archive(record, reason="old", now=NOW)
            elif number % 3 == 2:
                record = record.evolve({"state": "superseded", "superseded_by": wanted.id})
            index.update([record.canonical_bytes()])
        assert ids(recall(index, "green tea", k=1, scope=(None, "ann", None, None))) == [wanted.id]

    def test_removal_forgets_every_term_and_every_name(self) -> None:
        kept, gone = said("A plain note."), said("Zebedee: secretword", tags=["hiddentag"], key="x::concealed")
        index = index_of(kept, gone)
        assert ids(recall(index, "secretword hiddentag concealed")) == [gone.id]
        tombstone = MemoryRecord.tombstone(gone, reason="asked", now=NOW)
        index.update([tombstone.canonical_bytes()])
        assert (gone.id in index, kept.id in index, len(index)) == (False, True, 1)
        assert recall(index, "zebedee secretword hiddentag concealed", include_archived=True) == []
        data = index.snapshot("", 0)
        assert not any(word in data for word in (b"zebede", b"secret", b"hidden", b"conceal"))

    def test_filters_choose_what_is_found(self) -> None:
        one = said("green tea", tags=["a", "b"])
        two = said("tea", tags=["a"], kind=RecordType.EPISODE)
        index = index_of(one, two)
        assert ids(recall(index, "tea", tags=["a", "b"])) == [one.id]
        assert ids(recall(index, "tea", types=["episode"])) == [two.id]
        assert recall(index, "tea", types=[]) == []
        assert len(recall(index, "tea", limit=1)) == 1
        best, least = recall(index, "green tea")
        assert ids(recall(index, "green tea", min_score=best.score)) == [best.id]
        assert recall(index, "green tea", min_score=best.score * 1.01) == []
        assert least.score < best.score

    def test_filters_do_not_part_a_dispute(self) -> None:
        a, b = begin_transition(said("tea is hot", tags=["a"]), said("soup is cold"), reason="r", now=NOW)
        index = index_of(a, b)
        assert ids(recall(index, "tea", tags=["a"])) == [a.id, b.id]
        assert recall(index, "tea", limit=1) == []

    def test_a_limit_cuts_history_and_says_so(self) -> None:
        old = said("limit is 1")
        new = said("limit is 2", days=1).evolve({"supersedes": old.id})
        index = index_of(supersede(old, new, reason="raised", now=NOW), new)
        (row,) = recall(index, "limit 2", include_history=True, limit=1)
        assert (row.id, row.cut) == (new.id, 1)

    @pytest.mark.parametrize("query", ["", "   ", "?!", "the of and", "\ud800", "zzz"])
    def test_a_query_that_says_nothing_finds_nothing(self, query: str) -> None:
        assert recall(index_of(said("The cat and the dog.")), query) == []

    def test_stop_words_find_what_holds_nothing_else(self) -> None:
        motto = said("It is what it is.")
        assert ids(recall(index_of(motto, said("It is a cat.")), "what is it")) == [motto.id]

    def test_no_room_no_rows(self) -> None:
        index = index_of(said("tea"), said("tea again"))
        for options in ({"budget": 0}, {"budget": -5}, {"k": 0}, {"k": -1}, {"limit": 0}):
            assert recall(index, "tea", **options) == []
        assert index.candidates("tea", 0) == []
        assert len(recall(index, "tea", k=1_000_000)) == len(index.candidates("tea", 1_000_000)) == 2

    def test_a_query_of_a_megabyte_is_answered(self) -> None:
        record = said("tea")
        noise = " ".join(f"w{number}" for number in range(150_000))
        assert ids(recall(index_of(record), "tea " + noise)) == [record.id]

    def test_a_word_in_every_record_still_finds_them(self) -> None:
        records = [said(f"tea {number}") for number in range(300)]
        assert len(recall(index_of(*records), "tea", k=1_000)) == 300


class TestRanking:
    def test_a_session_lends_relevance(self) -> None:
        told = [
            said(text, days=n, session_id="s") for n, text in enumerate(["Any pets?", "A beagle.", "Nice weather."])
        ]
        other = said("The car is red.", session_id="t")
        index = index_of(*told, other)
        assert ids(recall(index, "pets"))[:2] == [told[0].id, told[1].id]
        assert other.id not in ids(recall(index, "pets"))
        assert [record_id for record_id, _ in index_of(*told, config=PLAIN).candidates("pets", 9)] == [told[0].id]

    def test_a_session_lends_to_its_own_people_only(self) -> None:
        told = [said("Any pets?", session_id="s", user_id="a"), said("A beagle.", session_id="s", user_id="b")]
        assert len(index_of(*told).candidates("pets", 9)) == 1

    def test_names_and_the_first_person_are_not_lent(self) -> None:
        told = [said("Ann: I like my pets.", session_id="s"), said("Beagles bark.", days=1, session_id="s")]
        index = index_of(*told)
        assert len(index.candidates("Ann", 9)) == len(index.candidates("my", 9)) == 1
        assert len(index.candidates("pets", 9)) == 2

    def test_what_is_common_is_not_lent(self) -> None:
        told = [said(f"tea {number}", days=number, session_id="s") for number in range(20)]
        silent = said("silence", days=30, session_id="s")
        assert len(index_of(*told, silent).candidates("tea", 99)) == 20
        free = replace(DEFAULT, context_share=0)
        assert len(index_of(*told, silent, config=free).candidates("tea", 99)) == 21

    @pytest.mark.parametrize(
        ("query", "wins", "loses", "name"),
        [
            ("What does Ann like?", "Ann: I like tea.", "Bob: I like tea.", "author"),
            ("What tea do I like?", "user: green tea", "assistant: green tea", "own"),
            ("green tea", "We have green tea.", "Have we green tea?", "question"),
            ("when is tea served", "tea is served yesterday", "tea is served gladly", "when"),
        ],
    )
    def test_each_multiplier_counts_and_can_be_switched_off(self, query: str, wins: str, loses: str, name: str) -> None:
        records = (said(wins), said(loses))
        factor = getattr(DEFAULT, name)
        on = dict(index_of(*records).candidates(query, 9))
        off = dict(index_of(*records, config=replace(DEFAULT, **{name: 1.0})).candidates(query, 9))
        changed = {record_id: on[record_id] / off[record_id] for record_id in on if on[record_id] != off[record_id]}
        subject = records[1 if name == "question" else 0]
        assert changed == {subject.id: pytest.approx(factor)}

    def test_a_month_in_the_query_counts(self) -> None:
        june = said("tea party", occurred_at=T0.replace(month=6, day=30))
        late = said("tea party!", occurred_at=T0.replace(month=7, day=13))
        past = said("tea party.", occurred_at=T0.replace(month=7, day=16))
        raw = dict(index_of(june, late, past).candidates("the party in June", 9))
        assert raw[june.id] == raw[late.id] == pytest.approx(1.5 * raw[past.id])

    @pytest.mark.parametrize(
        ("query", "span"),
        [
            ("in June 2023", Span(6, 2023)),
            ("on 7 May, 2023", Span(5, 2023, 7)),
            ("may 7th", Span(5, None, 7)),
            ("may i come in", None),
            ("the march of time", None),
            ("in march", Span(3)),
            ("since sept", Span(9)),
            ("on 2023-05-07?", Span(5, 2023, 7)),
            ("2023-13-01", None),
            ("june 123456789012", Span(6)),
            ("what happened", None),
        ],
    )
    def test_months_are_read(self, query: str, span: Span | None) -> None:
        assert span_of(query) == span

    def test_a_day_that_does_not_exist_means_the_month(self) -> None:
        span = Span(2, 2023, 30)
        assert span.holds(int(T0.replace(year=2023, month=2, day=3).timestamp() * 1000), 0)

    def test_january_follows_december(self) -> None:
        assert Span(12).holds(int(T0.replace(month=1, day=5).timestamp() * 1000), 14)

    def test_numbers_out_of_range_are_refused(self) -> None:
        for wrong in ({"k1": -1.0}, {"b": 2.0}, {"context": (101,)}, {"date": 0.0}, {"query_terms": 0}):
            with pytest.raises(ArgumentError):
                replace(DEFAULT, **wrong)

    def test_plain_facts_are_not_hurt(self) -> None:
        """Without sessions the best answer is that of plain BM25, or a better one."""
        chance = random.Random(3)
        names = [first + last for first in ("Al", "Be", "Co", "Da", "El") for last in ("na", "ric", "mo", "lia", "tus")]
        facts = {
            "lives in": ["Lisbon", "Oslo", "Quito", "Osaka", "Accra"],
            "works for": ["Acme", "Globex", "Initech", "Umbrella", "Hooli"],
            "was born in": ["May 1981", "June 1975", "March 1990", "October 1968", "April 2001"],
            "is allergic to": ["nuts", "milk", "dust", "pollen", "wool"],
        }
        asked = {
            "lives in": "Where does {} live?",
            "works for": "Which company does {} work for?",
            "was born in": "When was {} born?",
            "is allergic to": "What is {} allergic to?",
        }
        records, questions = [], []
        for name, suffix in itertools.product(names, range(5)):
            person = f"{name}{suffix}"
            for relation, values in facts.items():
                records.append(said(f"{person} {relation} {chance.choice(values)}."))
                questions.append((asked[relation].format(person), records[-1].id))
        assert len(questions) == 500

        def best(config: Config) -> int:
            index = index_of(*records, config=config)
            return sum(index.candidates(query, 1)[0][0] == record_id for query, record_id in questions)

        assert best(DEFAULT) >= best(PLAIN) >= 450


class TestSnapshot:
    def test_one_that_cannot_be_trusted_is_none(self) -> None:
        data = index_of(said("tea", tags=["a"])).snapshot("c", 1)
        assert Index.restore(data) is not None
        assert Index.restore(data, replace(DEFAULT, b=0.5)) is None
        assert Index.restore(data, replace(DEFAULT, language="german")) is None
        for size in range(0, len(data), 7):
            assert Index.restore(data[:size]) is None
        for place in range(0, len(data), 5):
            damaged = bytearray(data)
            damaged[place] ^= 0x40
            assert Index.restore(bytes(damaged)) is None
        assert Index.restore(data + b"\0") is None

"""The compiled recall index answers what the plain one answers, to the bit (spec/recall.md).

Snapshots are compared too: they hold every term and column, so equal bytes mean that texts were taken apart alike.
"""

from __future__ import annotations

import hashlib
import importlib.util
import random
import re
import struct
import sys
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from agent_memory import AgentMemoryError, ArgumentError, ArgumentTypeError, MemoryRecord, RecordError
from agent_memory._native import Index
from agent_memory.kernel import reference
from agent_memory.kernel.reference import search
from agent_memory.kernel.reference.search import DEFAULT, Config
from agent_memory.kernel.reference.search.classes14 import CLASSES
from agent_memory.kernel.reference.search.english import FIRST_PERSON, MONTHS, STOP_WORDS, TIME_WORDS
from agent_memory.kernel.reference.search.stemming import LANGUAGES
from plain_store import NOW, said
from strategies import records as any_records
from strategies import texts
from test_recall_cases import CASES
from test_recall_index import memories, options, queries

Plain = reference.search.Index
NOW_MS = int(NOW.timestamp() * 1000)
RUST = Path(__file__).parent.parent / "rust" / "core" / "src" / "search"
PLAIN = replace(DEFAULT, context=())
CONFIGS = [
    DEFAULT,
    PLAIN,
    replace(DEFAULT, language="none", k1=0.0, overlap=0),
    replace(DEFAULT, context=tuple(range(96, 0, -6)), context_length=3, context_share=0, overlap=100, b=0.0),
    replace(DEFAULT, context=(100, 0, 50), context_share=2, context_floor=0, query_terms=3, date_days=0),
    replace(DEFAULT, language="german", author=0.5, own=0.25, question=3.0, when=0.7, date=0.1, k1=10.0, b=1.0),
]
HEAD = struct.Struct("<8sI32sQ32s")


def payloads(records: Iterable[MemoryRecord]) -> list[bytes]:
    return [record.canonical_bytes() for record in records]


def both(records: Iterable[MemoryRecord], config: Config = DEFAULT) -> tuple[Index, Plain]:
    """A compiled and a plain index of the same records."""
    native, plain = Index(config), Plain(config)
    native.update(payloads(records))
    plain.update(payloads(records))
    return native, plain


def agree(native: Index, plain: Plain, query: str, **chosen: Any) -> None:
    """Both answer alike: candidates, and the rows of a recall."""
    assert native.candidates(query, 1_000) == plain.candidates(query, 1_000)
    arguments = {"now": NOW_MS, "budget": 1_000} | chosen
    assert native.recall(query, **arguments) == plain.recall(query, **arguments)


def same_terms(text: str, config: Config = DEFAULT) -> None:
    """Both take a text apart alike, as a record and as a query."""
    record = said(text)
    native, plain = both([record], config)
    assert native.snapshot("", 0) == plain.snapshot("", 0)
    assert native.candidates(text, 1) == plain.candidates(text, 1)


# ---------------------------------------------------------------------- tables and analyser


def rust_list(name: str, source: str) -> set[str]:
    found = re.search(rf"{name}: &\[[^\]]*\] =\s*&\[(.*?)\];", source, re.DOTALL)
    assert found is not None
    return set(re.findall(r'"([^"]*)"', found[1]))


class TestTables:
    def test_the_classes_are_those_of_the_reference(self) -> None:
        source = (RUST / "classes.rs").read_text("utf-8")
        found = re.search(r'CLASSES: &str = "(.*?)";', source, re.DOTALL)
        assert found is not None
        assert found[1].replace("\\\n", "") == CLASSES

    def test_the_english_words_are_those_of_the_reference(self) -> None:
        source = (RUST / "english.rs").read_text("utf-8")
        assert rust_list("STOP_WORDS", source) == STOP_WORDS
        assert rust_list("FIRST_PERSON", source) == FIRST_PERSON
        assert rust_list("TIME_WORDS", source) == TIME_WORDS
        months = re.findall(r'\("([a-z]+)", ([0-9]+)\)', source)
        assert {name: int(number) for name, number in months} == MONTHS

    def test_every_character_is_read_alike(self) -> None:
        """Alone, between letters, after a digit, and with a mark: all of Unicode but its great empty stretches."""
        native, plain = Index(), Plain()
        step = 1024
        told = [*range(0, 0x32400, step), 0xE0000, 0xEFC00, 0xFFC00, sys.maxunicode + 1 - step]
        for start in told:
            inside = (chr(code) for code in range(start, start + step) if not 0xD800 <= code <= 0xDFFF)
            text = " ".join(f"{char} x{char}y 1{char}2 {char}\u0301 {char}a" for char in inside)
            if text:
                record = said(text)
                for index in (native, plain):
                    index.update([record.canonical_bytes()])
        assert native.snapshot("", 0) == plain.snapshot("", 0)


class TestStems:
    """The two versions of Snowball give the same stems (spec/recall.md section 3.5)."""

    ENDINGS = (
        "a e i o u s es ed ing ly ness ment ation ational izing fulness en er ern heit keit isch lich ung ungen et ene "
        "erne ante ando amente idad iones aux eux issement issions ität eur euse ous ać ami ych ów ość ście ová ého "
        "ými ština lar ler ların sını dır mak ssa sta lle ista ksi iin ban ben nak nek ság ség tatása kan nya memper "
        "pere an ak arekin tzea ojn intan oj as is os a dh bh ach anna eanna amh ai iau uose ams ėms aitė ilor ului "
        "ească ește isme ments edly 's able ible ative ousli"
    ).split()
    LETTERS = "abcdefghijklmnopqrstuvwxyzåäöøæéèêëáàâíïîóôúüùçñßšžčřěýůąęłńśźżőűğışăâîșțėųūđ"

    def words(self, seed: int, count: int) -> list[str]:
        chance = random.Random(seed)
        made = []
        for _ in range(count):
            stem = "".join(chance.choices(self.LETTERS, k=chance.randint(1, 8)))
            made.append(stem + "".join(chance.choices(self.ENDINGS, k=chance.randint(0, 2))))
        return made

    @pytest.mark.parametrize("language", LANGUAGES)
    def test_random_words_with_endings(self, language: str) -> None:
        same_terms(" ".join(self.words(len(language), 4_000)), replace(DEFAULT, language=language))

    @pytest.mark.parametrize("language", ["english", "porter"])
    def test_short_words(self, language: str) -> None:
        letters = "abcdefghijklmnopqrstuvwxyz"
        short = [a + b for a in letters for b in letters] + [
            a + b + c for a in "aeiyst" for b in letters for c in letters
        ]
        same_terms(" ".join(short), replace(DEFAULT, language=language))

    @pytest.mark.parametrize(
        ("low", "high"),
        [
            (0x3B1, 0x3C9),
            (0x430, 0x44F),
            (0x561, 0x586),
            (0x621, 0x64A),
            (0x905, 0x939),
            (0xB85, 0xBB9),
            (0x10D0, 0x10F0),
        ],
    )
    def test_other_scripts(self, low: int, high: int) -> None:
        chance = random.Random(low)
        marks = {0x905: "\u093e\u093f\u0940\u0941\u0947\u094b\u094d", 0xB85: "\u0bbe\u0bbf\u0bc1\u0bc6\u0bcd"}.get(
            low, ""
        )
        letters = [chr(code) for code in range(low, high + 1)] + 3 * list(marks)
        text = " ".join("".join(chance.choices(letters, k=chance.randint(1, 9))) for _ in range(5_000))
        same_terms(text)

    def test_the_words_of_the_cases(self) -> None:
        for language in LANGUAGES:
            text = " ".join(" ".join((query, best, *others)) for query, best, others in CASES)
            same_terms(text, replace(DEFAULT, language=language))


class TestTexts:
    @given(st.lists(texts | st.text(max_size=20), min_size=1, max_size=5).map(" ".join), st.sampled_from(LANGUAGES))
    def test_any_text(self, text: str, language: str) -> None:
        if text.strip():
            same_terms(text, replace(DEFAULT, language=language))

    @given(st.text("aZ0-+_./'@&\\#)](,:n't' .,é猫ー\u0301ก:：?19", max_size=30))
    def test_any_punctuation(self, text: str) -> None:
        if text.strip():
            same_terms(text)
            same_terms(f"May: {text} 2024")

    @given(any_records)
    def test_any_record(self, record: MemoryRecord) -> None:
        native, plain = both([record])
        assert native.snapshot("", 0) == plain.snapshot("", 0)
        agree(native, plain, record.body, include_archived=True, include_history=True)

    @given(
        st.lists(st.sampled_from("when what which in on date year 2023-05 -07 may june 7th 1999 march , at".split()))
    )
    def test_any_question_for_a_time(self, words: list[str]) -> None:
        records = [
            said(f"party {number}", occurred_at=NOW.replace(month=month, day=7, year=year))
            for number, (month, year) in enumerate([(5, 2023), (6, 2023), (6, 1999), (1, 2026), (3, 2024)])
        ]
        native, plain = both([*records, said("the party was yesterday")])
        agree(native, plain, " ".join(words) + " party")


# ---------------------------------------------------------------------- histories


@given(memories(), queries, options, st.sampled_from(CONFIGS))
def test_random_memories_are_recalled_alike(
    records: list[MemoryRecord], query: str, chosen: dict[str, Any], config: Config
) -> None:
    native, plain = both(records, config)
    agree(native, plain, query, **chosen)
    agree(native, plain, query, types=["fact"], tags=["tea"], min_score=0.2, limit=3, **chosen)
    assert native.snapshot("c", 3) == plain.snapshot("c", 3)


class Histories(RuleBasedStateMachine):
    """Two indexes live through the same updates, removals, erasures, touches and restarts."""

    @initialize(config=st.sampled_from(CONFIGS))
    def begin(self, config: Config) -> None:
        self.config = config
        self.native, self.plain = Index(config), Plain(config)
        self.held: dict[str, MemoryRecord] = {}

    @rule(records=memories(), backwards=st.booleans())
    def update(self, records: list[MemoryRecord], backwards: bool) -> None:
        if backwards:
            records.reverse()
        self.native.update(payloads(records))
        self.plain.update(payloads(records))
        self.held |= {record.id: record for record in records}

    @rule(records=memories())
    def update_one_by_one(self, records: list[MemoryRecord]) -> None:
        for record in records:
            self.native.update([record.canonical_bytes()])
        self.plain.update(payloads(records))
        self.held |= {record.id: record for record in records}

    @rule(chance=st.randoms(use_true_random=False))
    def erase(self, chance: random.Random) -> None:
        kept = [record for record in self.held.values() if not record.redacted]
        gone = [MemoryRecord.tombstone(record, reason="asked", now=NOW) for record in kept if chance.random() < 0.4]
        self.native.update(payloads(gone))
        self.plain.update(payloads(gone))
        self.held |= {record.id: record for record in gone}

    @rule(chance=st.randoms(use_true_random=False))
    def remove(self, chance: random.Random) -> None:
        gone = [record_id for record_id in self.held if chance.random() < 0.4]
        self.native.remove([*gone, "mem:" + "f" * 32, "nothing"])
        self.plain.remove(gone)
        for record_id in gone:
            del self.held[record_id]

    @rule(chance=st.randoms(use_true_random=False))
    def touch(self, chance: random.Random) -> None:
        touches = {record_id: chance.randint(0, 9) for record_id in self.held if chance.random() < 0.5}
        self.native.set_touches(touches)
        self.plain.set_touches(touches)

    @rule(cursor=texts, epoch=st.integers(0, 2**64 - 1))
    def restart(self, cursor: str, epoch: int) -> None:
        data = self.plain.snapshot(cursor, epoch)
        found = Index.restore(data, self.config)
        assert found is not None
        self.native, *read = found
        assert read == [cursor, epoch]

    @rule(query=queries, chosen=options)
    def ask(self, query: str, chosen: dict[str, Any]) -> None:
        agree(self.native, self.plain, query, **chosen)

    @invariant()
    def they_hold_the_same(self) -> None:
        if hasattr(self, "native"):
            assert len(self.native) == len(self.plain)
            assert all((record_id in self.native) == (record_id in self.plain) for record_id in self.held)
            assert self.native.snapshot("", 0) == self.plain.snapshot("", 0)


TestHistories = Histories.TestCase
TestHistories.settings = settings(stateful_step_count=12)


def conversation(count: int, sessions: int, seed: int = 5) -> list[MemoryRecord]:
    """Records of sessions that go on side by side, some of them without one."""
    chance = random.Random(seed)
    words = [f"word{number}" for number in range(60)]
    made = []
    for number in range(count):
        body = " ".join(chance.choices(words, k=chance.randint(1, 60 if number % 9 == 0 else 12)))
        session = chance.randint(0, sessions)
        made.append(said(f"{number} {body}", days=number % 300, session_id=f"s{session}" if session else None))
    return made


class TestSessions:
    """Wherever the records of a session lie in memory, each lends to its neighbours."""

    @pytest.mark.parametrize("config", CONFIGS)
    @pytest.mark.parametrize("at_once", [1, 7, 400])
    def test_records_that_come_in_any_order(self, config: Config, at_once: int) -> None:
        records = conversation(400, 5)
        random.Random(at_once).shuffle(records)
        native, plain = Index(config), Plain(config)
        plain.update(payloads(records))
        for start in range(0, len(records), at_once):
            native.update(payloads(records[start : start + at_once]))
        for number in range(0, 60, 6):
            agree(native, plain, f"word{number} word{number + 3} 17", k=20)
        gone = [record.id for record in records[::3]]
        native.remove(gone)
        plain.remove(gone)
        native.update(payloads(records[:60]))
        plain.update(payloads(records[:60]))
        for number in range(0, 60, 6):
            agree(native, plain, f"word{number} word{number + 1}")

    def test_many_records_read_by_threads_and_numbered_anew(self) -> None:
        records = conversation(12_000, 700)
        native, plain = both(records)
        for start in range(0, 9_000, 300):
            gone = [record.id for record in records[start : start + 300]]
            native.remove(gone)
            plain.remove(gone)
        agree(native, plain, "word1 word2 word3 11000")
        native.update(payloads(records[:5_000]))
        plain.update(payloads(records[:5_000]))
        for number in range(0, 60, 11):
            agree(native, plain, f"word{number} word{number + 4}")
        assert native.snapshot("", 0) == plain.snapshot("", 0)


# ---------------------------------------------------------------------- hostile input


class TestHostile:
    def test_great_numbers_are_numbers(self) -> None:
        native, plain = both([said("tea"), said("tea again")])
        for chosen in (
            {"k": 10**30},
            {"k": -(10**30)},
            {"budget": 10**30},
            {"budget": -(10**30)},
            {"limit": 10**30},
            {"limit": -1},
            {"min_score": float("nan")},
            {"min_score": float("inf")},
            {"min_score": 0},
            {"types": ["fact", "dream"]},
            {"tags": ["none"]},
        ):
            agree(native, plain, "tea", **chosen)
        assert native.candidates("tea", 10**30) == plain.candidates("tea", 10**30)

    @pytest.mark.parametrize("query", ["", "\0", "\ud800", "tea\udfff tea", "a" * 1_000_000, "tea " * 250_000])
    def test_any_query_is_answered(self, query: str) -> None:
        agree(*both([said("tea"), said("a")]), query)

    def test_a_sum_beyond_32_bits(self) -> None:
        words = " ".join(f"word{number}" for number in range(1_000))
        config = replace(DEFAULT, k1=10.0, b=0.0, overlap=100)
        records = [said(" ".join([words] * 3)), *(said(f"tea {number}") for number in range(300))]
        agree(*both(records, config), words)

    @pytest.mark.parametrize(
        "chosen",
        [
            {"query": 5},
            {"query": None},
            {"now": "now"},
            {"now": 1.5},
            {"budget": None},
            {"k": 1.5},
            {"scope": "abcd"},
            {"scope": (1, None, None, None)},
            {"types": "fact"},
            {"types": [1]},
            {"tags": "tag"},
            {"tags": 5},
            {"min_score": "high"},
            {"limit": "many"},
            {"include_archived": 1},
        ],
    )
    def test_wrong_types_are_told(self, chosen: dict[str, Any]) -> None:
        arguments: dict[str, Any] = {"query": "tea", "now": NOW_MS, "budget": 100} | chosen
        query = arguments.pop("query")
        with pytest.raises(ArgumentTypeError):
            Index().recall(query, **arguments)

    def test_other_calls_tell_wrong_types_too(self) -> None:
        index: Any = Index()
        wrong: list[tuple[Any, ...]] = [
            (index.update, b"{}"),
            (index.update, ["{}"]),
            (index.update, 5),
            (index.remove, "mem:"),
            (index.remove, [5]),
            (index.set_touches, [("a", 1)]),
            (index.set_touches, {"mem:" + "0" * 32: 1.5}),
            (index.candidates, b"tea", 5),
            (index.candidates, "tea", "5"),
            (index.snapshot, b"c", 0),
            (index.snapshot, "c", None),
            (Index.restore, "data"),
            (Index.restore, b"", "english"),
            (Index, {"k1": 1}),
        ]
        for call, *arguments in wrong:
            with pytest.raises(ArgumentTypeError):
                call(*arguments)
        for call, *arguments in (
            (index.set_touches, {"x": 1}),
            (index.set_touches, {"mem:" + "0" * 32: -1}),
            (index.snapshot, "c", -1),
            (index.snapshot, "\ud800", 1),
        ):
            with pytest.raises(ArgumentError):
                call(*arguments)
        assert (5 in index, "x" in index, "\ud800" in index) == (False, False, False)

    @pytest.mark.parametrize("payload", [b"", b"{}", b"[]", b"null", b"\xff", b'{"id":5}', b"[" * 100_000])
    def test_bytes_that_are_no_record_are_refused(self, payload: bytes) -> None:
        index = Index()
        with pytest.raises(RecordError):
            index.update([said("tea").canonical_bytes(), payload])

    @given(st.data())
    def test_damaged_records_are_read_or_refused(self, data: st.DataObject) -> None:
        payload = bytearray(said("tea", tags=["a"], key="k::x").canonical_bytes())
        for _ in range(data.draw(st.integers(1, 3))):
            payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
        index = Index()
        try:
            index.update([bytes(payload)])
        except RecordError:
            assert len(index) == 0
        index.recall("tea", now=NOW_MS, budget=10)

    def test_threads_may_ask_while_it_changes(self) -> None:
        records = conversation(1_500, 20)
        index = Index()
        failed: list[BaseException] = []

        def ask() -> None:
            try:
                for _ in range(200):
                    index.recall("word1 word2", now=NOW_MS, budget=1_000)
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for start in range(0, len(records), 50):
            index.update(payloads(records[start : start + 50]))
        for thread in threads:
            thread.join()
        assert not failed
        assert index.candidates("word1", 5) == both(records)[1].candidates("word1", 5)


# ---------------------------------------------------------------------- snapshots


def signed(rest: bytes, config: Config = DEFAULT) -> bytes:
    """A snapshot of these contents whose sum is right."""
    return HEAD.pack(b"AMRECALL", 1, config.fingerprint(), len(rest), hashlib.sha256(rest).digest()) + rest


class TestSnapshots:
    @given(memories(), st.data())
    def test_no_bytes_are_trusted(self, records: list[MemoryRecord], data: st.DataObject) -> None:
        plain = Plain()
        plain.update(payloads(records))
        plain.set_touches({records[0].id: 2})
        whole = plain.snapshot("cursor", 1)
        assert Index.restore(whole[: data.draw(st.integers(0, len(whole) - 1))]) is None
        damaged = bytearray(whole)
        damaged[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
        assert Index.restore(bytes(damaged)) is None

    @given(memories(), st.data())
    def test_contents_that_make_no_sense_are_none_or_an_index(
        self, records: list[MemoryRecord], data: st.DataObject
    ) -> None:
        plain = Plain()
        plain.update(payloads(records))
        rest = bytearray(plain.snapshot("c", 1)[HEAD.size :])
        for _ in range(data.draw(st.integers(1, 4))):
            place = data.draw(st.integers(0, len(rest) - 1))
            kind = data.draw(st.sampled_from(["set", "great", "cut", "repeat"]))
            if kind == "set":
                rest[place] = data.draw(st.integers(0, 255))
            elif kind == "great":
                rest[place : place + 4] = b"\xff\xff\xff\x7f"
            elif kind == "cut":
                del rest[place : place + data.draw(st.integers(1, 16))]
            else:
                rest[place:place] = rest[place : place + 16]
            if not rest:
                return
        found = Index.restore(signed(bytes(rest)))
        if found is not None:
            index, cursor, epoch = found
            index.recall("tea cat", now=NOW_MS, budget=100, include_history=True, include_archived=True)
            again = Index.restore(index.snapshot(cursor, epoch))
            assert again is not None
            assert again[0].snapshot(cursor, epoch) == index.snapshot(cursor, epoch)
            index.remove(record.id for record in records)

    @given(st.binary(max_size=300))
    def test_foreign_bytes_are_none(self, data: bytes) -> None:
        assert Index.restore(data) is None
        Index.restore(signed(data))

    def test_each_reads_the_other_and_writes_the_same(self) -> None:
        records = conversation(300, 9)
        for config in CONFIGS:
            native, plain = both(records, config)
            assert native.snapshot("c", 2) == plain.snapshot("c", 2)
            found, other = Index.restore(plain.snapshot("c", 2), config), Plain.restore(native.snapshot("c", 2), config)
            assert found is not None
            assert other is not None
            agree(found[0], plain, "word1 word5 word9", k=30)
            agree(native, other[0], "word1 word5 word9", k=30)

    def test_catching_up_is_building_anew(self) -> None:
        records = conversation(600, 9)
        index = Index()
        index.update(payloads(records[:400]))
        found = Index.restore(index.snapshot("c", 0))
        assert found is not None
        found[0].update(payloads(records[300:]))
        found[0].remove(record.id for record in records[:50])
        agree(found[0], both(records[50:])[1], "word1 word2 word3", k=40)

    def test_what_was_erased_is_in_no_snapshot(self) -> None:
        gone = said("Zebedee: secretword", tags=["hiddentag"], key="x::concealed", session_id="privately")
        index = Index()
        index.update(payloads([gone, said("A plain note.", session_id="s")]))
        index.set_touches({gone.id: 4})
        index.update(payloads([MemoryRecord.tombstone(gone, reason="asked", now=NOW)]))
        data = index.snapshot("", 0)
        assert not any(word in data for word in (b"zebede", b"secret", b"hidden", b"conceal", b"private"))
        assert index.recall("zebedee secretword", now=NOW_MS, budget=99, include_archived=True) == []


# ---------------------------------------------------------------------- the promises of the reference, once more


def natively(name: str) -> dict[str, Any]:
    """The tests of a module about the reference, about the compiled index."""
    specification = importlib.util.spec_from_file_location(f"native_{name}", Path(__file__).with_name(f"{name}.py"))
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[module.__name__] = module  # Hypothesis asks where its tests come from.
    with mock.patch.object(search, "Index", Index):
        specification.loader.exec_module(module)
    tests: Sequence[str] = [each for each in vars(module) if each.startswith(("Test", "test_"))]
    return {
        each.replace("est", "est_natively_" if each[0] == "t" else "estNatively", 1): vars(module)[each]
        for each in tests
    }


globals().update(natively("test_recall_index"))
globals().update(natively("test_recall_cases"))
assert issubclass(ArgumentTypeError, AgentMemoryError)

"""Columns: what consolidation asks of records, answered alike by both kernels, whatever came in before."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from agent_memory import _native as native
from agent_memory.errors import ArgumentError, ArgumentTypeError, RecordError
from agent_memory.kernel import reference
from agent_memory.kernel.reference.pairs import BLOCK_LIMIT, LISTED

KERNELS = pytest.mark.parametrize("kernel", [native, reference], ids=["native", "reference"])
Wire: TypeAlias = dict[str, Any]


def record_id(number: int) -> str:
    """The ids sort in another order than their numbers."""
    return f"mem:{number * 7919 % 256:02x}{number:030x}"


IDS = [record_id(number) for number in range(12)]
UNKNOWN = [record_id(99), "chat-17", ""]
TYPES = ("fact", "episode", "procedure", "rule")
BODIES = (
    "The staging database is Postgres 14.",
    "The staging database is Postgres 14!",
    "The staging database is not Postgres 14.",
    "A staging database is Postgres.",
    "Staging databases need no restart after edits.",
    "The staging database requires a restart after edits.",
    "The operator backend hot-reloads; no restart needed.",
    "The operator backend requires a restart after edits.",
    "backend restarts",
    "The backend restarted!",
    "it is",
    "It is.",
    "!!!",
    "e\u0301!",
    "é!",
    "not",
    "日本語は不要です",
    "日本語です",
    "port 8443",
    "port 9443",
)
VALUES = ("on", "off", "not on", "On", "Postgres", "Postgres 14", "MySQL", "!", "?", "")
BORN = [f"2026-01-0{day}T0{hour}:00:00.000Z" for day in range(1, 4) for hour in range(3)]


def wire(number: int, body: str = "It is.", **members: Any) -> Wire:
    return {
        "id": record_id(number),
        "type": "fact",
        "body": body,
        "created_at": BORN[0],
        "provenance": {"kind": "chat"},
        **members,
    }


def payload(members: Wire) -> bytes:
    return reference.canonical_json(members)


def scopes() -> st.SearchStrategy[Wire]:
    parts = st.sampled_from(["", "a", "b"])
    return st.fixed_dictionaries(
        {}, optional={"project": parts, "user_id": parts, "agent_id": st.just("x"), "session_id": st.just("s")}
    )


def choice(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


@st.composite
def wires(draw: st.DrawFn) -> Wire:
    own = draw(st.sampled_from(IDS))
    others = st.sampled_from([*IDS, *UNKNOWN])
    members: Wire = {
        "id": own,
        "type": draw(st.sampled_from(TYPES)),
        "body": draw(st.sampled_from(BODIES)),
        "created_at": draw(st.sampled_from(BORN)),
        "provenance": {"kind": draw(choice("chat", "consolidation"))},
        "state": draw(choice("active", "active", "active", "transitional", "superseded", "archived")),
    }
    if draw(st.booleans()):
        members["slots"] = draw(st.dictionaries(choice("db", "stag databas", "port"), choice(*VALUES), max_size=2))
    if draw(st.booleans()):
        members["tags"] = draw(st.lists(choice("ops", "deploy", "a"), max_size=2))
    if draw(st.booleans()):
        members["evidence"] = draw(st.lists(others, max_size=3))
    if draw(choice(False, False, True)):
        other = draw(st.sampled_from([item for item in IDS if item != own]))
        members["transition"] = draw(
            choice(None, {"sides": draw(st.permutations([own, other])), "reason": "they differ"})
        )
    if draw(choice(False, False, True)):
        members["superseded_by"] = draw(st.none() | others)
    if draw(choice(False, False, True)):
        members["occurred_at"] = draw(st.sampled_from(BORN))
    if draw(choice(False, False, False, True)):
        members["redacted"] = True
    ours: Wire = {}
    if draw(choice(False, False, True)):
        ours["key"] = draw(choice("k", "l"))
    if draw(choice(False, False, True)):
        ours["object"] = draw(choice(*VALUES))
    if draw(st.booleans()):
        ours["scope"] = draw(scopes())
    if draw(st.booleans()):
        members["agent_memory"] = ours
    return members


abouts = st.none() | st.lists(st.sampled_from([*IDS, *UNKNOWN]), max_size=4)


def walk(pairs: Any) -> tuple[Any, ...]:
    """What a walk over pairs gives, and what it tells on the way."""
    told = [(pair, pairs.waiting, list(pairs.deferred)) for pair in pairs]
    assert pairs.done == pairs.total
    return told, pairs.left_out, pairs.waiting, pairs.deferred, pairs.total


def questions(about: Sequence[str] | None) -> Iterable[tuple[str, Callable[[Any], Any]]]:
    """Every question, so that it can be asked of either kernel."""
    yield "copies", lambda columns: columns.copies(about)
    yield "same_terms", lambda columns: columns.same_terms(about)
    yield "same statements", lambda columns: columns.same_terms(about, statement=True)
    for kind in ("similar", "related", "opposed"):
        yield kind, lambda columns, kind=kind: walk(columns.pairs(kind, about=about))
        yield f"{kind} once", lambda columns, kind=kind: walk(columns.pairs(kind, about=about, once=True))
    yield "every", lambda columns: walk(columns.pairs("similar", threshold=0, about=about))
    yield "none", lambda columns: walk(columns.pairs("similar", threshold=1.1, about=about))
    yield "some", lambda columns: walk(columns.pairs("opposed", types=("fact", "rule"), about=about, once=True))
    yield "recurring", lambda columns: columns.recurring(2, about)
    yield "rules", lambda columns: columns.rules(about)
    if about is None:
        yield "hanging", lambda columns: columns.hanging()
        yield "disputes", lambda columns: columns.disputes()
        yield "erased_evidence", lambda columns: columns.erased_evidence()
        yield "length", len
        yield "known", lambda columns: [item for item in [*IDS, *UNKNOWN] if item in columns]
        yield "scopes", lambda columns: [columns.scope_of(item) for item in [*IDS, *UNKNOWN]]
        yield "affected", lambda columns: [columns.affected([item]) for item in [*IDS, *UNKNOWN]]
    else:
        yield "affected", lambda columns: columns.affected(about)


def assert_alike(ours: Any, theirs: Any, about: Sequence[str] | None) -> None:
    for name, question in questions(about):
        assert question(ours) == question(theirs), name


# -- one after another ------------------------------------------------------------------------------------------------


@given(st.lists(wires(), max_size=20), abouts)
def test_both_kernels_answer_every_question_alike(histories: list[Wire], about: list[str] | None) -> None:
    ours, theirs = native.Columns(), reference.Columns()
    for columns in (ours, theirs):
        columns.update([payload(members) for members in histories])
    assert_alike(ours, theirs, None)
    assert_alike(ours, theirs, about)


class Histories(RuleBasedStateMachine):
    """Records come, change and go; after each step everything is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.ours, self.theirs = native.Columns(), reference.Columns()
        self.last: dict[str, Wire] = {}

    @rule(batch=st.lists(wires(), min_size=1, max_size=4))
    def update(self, batch: list[Wire]) -> None:
        self.take_in(batch)

    @rule(chosen=st.sampled_from(IDS), state=choice("active", "transitional", "superseded", "archived"))
    def change_state(self, chosen: str, state: str) -> None:
        if chosen in self.last:
            self.take_in([{**self.last[chosen], "state": state}])

    @rule(chosen=st.sampled_from(IDS), tags=st.lists(choice("ops", "a"), max_size=2), key=choice("k", "l"))
    def change_what_may_change(self, chosen: str, tags: list[str], key: str) -> None:
        if chosen in self.last:
            self.take_in([{**self.last[chosen], "tags": tags, "agent_memory": {"key": key}}])

    @rule(chosen=st.sampled_from(IDS))
    def redact(self, chosen: str) -> None:
        if chosen in self.last:
            kept = {name: self.last[chosen][name] for name in ("id", "type", "created_at", "evidence", "superseded_by")
                    if name in self.last[chosen]}  # fmt: skip
            tombstone = {
                "body": "[redacted]",
                "state": "archived",
                "provenance": {"kind": "redaction"},
                "redacted": True,
            }
            self.take_in([{**kept, **tombstone}])

    @rule(chosen=st.lists(st.sampled_from([*IDS, *UNKNOWN]), max_size=3))
    def remove(self, chosen: list[str]) -> None:
        for columns in (self.ours, self.theirs):
            columns.remove(chosen)
        for gone in chosen:
            self.last.pop(gone, None)

    @rule(about=abouts)
    def ask_about_some(self, about: list[str] | None) -> None:
        assert_alike(self.ours, self.theirs, about)

    @invariant()
    def all_questions_agree(self) -> None:
        assert_alike(self.ours, self.theirs, None)

    def take_in(self, batch: list[Wire]) -> None:
        for columns in (self.ours, self.theirs):
            columns.update([payload(members) for members in batch])
        self.last.update((members["id"], members) for members in batch)


def test_indexes_stay_in_step_whatever_happens() -> None:
    run_state_machine_as_test(Histories, settings=settings(max_examples=60, stateful_step_count=20))


def test_what_is_gone_is_cleared_away_when_it_is_much() -> None:
    """So many records come and go that the lists of the index are cleaned, and numbers are used again."""
    ours, theirs = native.Columns(), reference.Columns()
    kept = [wire(number, BODIES[number], tags=["ops"], type="episode") for number in range(8)]
    passing = [wire(number, f"passing note {number} about a port") for number in range(1000, 1500)]
    for columns in (ours, theirs):
        columns.update(map(payload, kept))
        for round_ in range(20):
            columns.update([payload(members) for members in passing])
            columns.update([payload({**members, "state": "archived"}) for members in passing])
            columns.remove([kept[round_ % 8]["id"]])
            columns.update([payload(kept[round_ % 8])])
    assert_alike(ours, theirs, None)
    assert_alike(ours, theirs, [kept[0]["id"]])


def test_a_large_batch_is_read_on_several_threads_to_the_same_end() -> None:
    many = [wire(number % 2000, f"{BODIES[number % 7]} {number % 31}") for number in range(12_000)]
    ours, one_by_one = native.Columns(), native.Columns()
    ours.update(map(payload, many))
    for members in many:
        one_by_one.update([payload(members)])
    for name in ("copies", "same_terms", "hanging"):
        assert getattr(ours, name)() == getattr(one_by_one, name)()
    assert walk(ours.pairs("opposed", once=True)) == walk(one_by_one.pairs("opposed", once=True))


# -- what comes in ----------------------------------------------------------------------------------------------------

GOOD = payload(wire(1))
HOSTILE = [
    b"",
    b"null",
    b"[]",
    b"{}",
    b"\xff",
    b"\xef\xbb\xbf" + GOOD,
    GOOD.decode().encode("utf-16"),
    GOOD + b"x",
    GOOD + GOOD,
    GOOD[:-1],
    GOOD.replace(b'"id"', b'"di"'),
    GOOD.replace(b"mem:", b"MEM:"),
    GOOD.replace(b'"fact"', b'"opinion"'),
    GOOD.replace(b'"fact"', b"null"),
    GOOD.replace(b'"It is."', b"7"),
    GOOD.replace(b'"It is."', b'"\\ud800"'),
    GOOD.replace(b'"It is."', b'"\n"'),
    GOOD.replace(b"T00:", b"T0:"),
    GOOD.replace(b"2026", "２０２６".encode()),
    *(
        GOOD[:-1] + b"," + members + b"}"
        for members in (
            b'"body":"twice"',
            b'"x":1.5',
            b'"x":1e5',
            b'"x":NaN',
            b'"x":-Infinity',
            b'"x":01',
            b'"x":{"a":1,"b":2,"a":3}',
            b'"x":"\\ud83d"',
            b'"x":"\\udc00\\ud800"',
            b'"x":' + b"[" * 256 + b"]" * 256,
            b'"x":' + b"[" * 100_000,
            b'"x":' + b'{"a":' * 100_000,
            b'"agent_memory":[]',
            b'"agent_memory":null',
            b'"agent_memory":{"key":7}',
            b'"agent_memory":{"object":null}',
            b'"agent_memory":{"scope":{"user_id":null}}',
            b'"agent_memory":{"scope":[]}',
            b'"evidence":"abc"',
            b'"evidence":[null]',
            b'"evidence":null',
            b'"occurred_at":null',
            b'"occurred_at":"yesterday"',
            b'"slots":{"a":null}',
            b'"slots":[["a","b"]]',
            b'"state":"gone"',
            b'"superseded_by":[]',
            b'"tags":{"a":"b"}',
            b'"transition":"none"',
            b'"transition":{}',
            b'"transition":{"sides":["a","b"]}',
            b'"transition":{"sides":["%s"]}' % IDS[1].encode(),
            b'"transition":{"sides":["%s","%s"]}' % (IDS[1].encode(), IDS[1].encode()),
            b'"transition":{"sides":["%s","%s"]}' % (IDS[2].encode(), IDS[3].encode()),
        )
    ),
]


@KERNELS
@pytest.mark.parametrize("bad", HOSTILE, ids=range(len(HOSTILE)))
def test_bytes_that_are_no_record_are_refused_and_nothing_is_taken_in(kernel: Any, bad: bytes) -> None:
    columns = kernel.Columns()
    columns.update([GOOD])
    with pytest.raises(RecordError, match=r"^columns hold records in canonical bytes, and these are not a record's$"):
        columns.update([payload(wire(2)), bad])
    assert (len(columns), IDS[1] in columns, IDS[2] in columns) == (1, True, False)


@KERNELS
@pytest.mark.parametrize(
    "members",
    [
        b'"x":' + b"[" * 255 + b"]" * 255,
        b'"x":' + b"9" * 10_000,
        b'"x":{"b":[{}],"a":-0,"c":"\\u0000\\ud83d\\ude00"}',
        b' "z" : [ true , false,\n null ] ',
        b'"transition":null,"superseded_by":null',
    ],
)
def test_what_is_not_asked_for_is_passed_over(kernel: Any, members: bytes) -> None:
    columns = kernel.Columns()
    columns.update([GOOD[:-1] + b"," + members + b"}"])
    assert IDS[1] in columns


@given(st.binary(max_size=30) | st.text(max_size=30).map(str.encode), st.integers(0, len(GOOD)), st.integers(0, 12))
def test_damaged_bytes_are_read_alike(added: bytes, place: int, cut: int) -> None:
    damaged = GOOD[:place] + added + GOOD[place + cut :]
    read = []
    for kernel in (native, reference):
        columns = kernel.Columns()
        try:
            columns.update([damaged])
        except RecordError:
            read.append(None)
        else:
            read.append((len(columns), IDS[1] in columns, columns.scope_of(IDS[1])))
    assert read[0] == read[1]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from([*BODIES, *IDS, *BORN, *TYPES, "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["kind", "sides", "scope", "key"]), inner)
    ),
    max_leaves=6,
)


@given(json_values)
def test_members_of_any_kind_are_read_alike(value: Any) -> None:
    names = ("id", "type", "body", "state", "slots", "tags", "evidence", "superseded_by", "transition", "provenance")
    for name in (*names, "created_at", "occurred_at", "redacted", "agent_memory", "other"):
        bytes_ = json.dumps({**wire(1), name: value}).encode("utf-8", "surrogatepass")
        read = []
        for kernel in (native, reference):
            columns = kernel.Columns()
            try:
                columns.update([bytes_])
            except RecordError:
                read.append(None)
            else:
                read.append((len(columns), columns.hanging(), columns.affected([IDS[1]]), columns.rules()))
        assert read[0] == read[1], name


@KERNELS
def test_arguments_of_another_type_are_named(kernel: Any) -> None:
    columns = kernel.Columns()
    with pytest.raises(ArgumentTypeError, match=r"^payloads\[1\] is of type 'str': it must be bytes$"):
        columns.update([GOOD, "text"])
    assert len(columns) == 0
    for ask, argument in (
        (columns.affected, "record_ids"),
        (columns.remove, "record_ids"),
        (columns.copies, "about"),
        (columns.rules, "about"),
        (lambda about: columns.pairs("opposed", about=about), "about"),
        (lambda types: columns.pairs("opposed", types=types), "types"),
    ):
        with pytest.raises(ArgumentTypeError, match=rf"^{argument}\[0\] is of type 'int': it must be str$"):
            ask([7])
        with pytest.raises(ArgumentTypeError, match=f"^{argument} is of type 'str': it must be a list"):
            ask("text")
        with pytest.raises(ArgumentError, match=rf"^{argument}\[0\] holds a lone surrogate"):
            ask(["\ud800"])
    for kind in ("alike", "", "\ud800"):
        with pytest.raises(ArgumentError, match=r"^pairs are of kind similar, related, opposed, not another$"):
            columns.pairs(kind)
    with pytest.raises(ArgumentError, match=r"^threshold is NaN"):
        columns.pairs("similar", threshold=float("nan"))
    assert 7 not in columns
    assert list(columns.pairs("opposed", types=["nothing of the kind"])) == []


# -- pairs ------------------------------------------------------------------------------------------------------------


@KERNELS
def test_pairs_end_when_records_change(kernel: Any) -> None:
    columns = kernel.Columns()
    columns.update([payload(wire(number, "a note", slots={"x": f"v{number}"})) for number in range(4)])
    pairs = columns.pairs("opposed")
    next(pairs)
    columns.remove([])
    with pytest.raises(ArgumentError, match=r"^the columns were changed while their pairs were read"):
        next(pairs)


@KERNELS
def test_a_record_is_in_one_pair_and_the_others_are_counted(kernel: Any) -> None:
    columns = kernel.Columns()
    columns.update([payload(wire(number, "a note", slots={"x": f"v{number}"})) for number in range(40)])
    pairs = columns.pairs("opposed", once=True)
    ids = sorted(record_id(number) for number in range(40))
    assert list(pairs) == list(zip(ids[::2], ids[1::2], strict=True))
    assert pairs.waiting == 40 * 39 // 2 - 20
    assert len(pairs.deferred) == LISTED
    assert pairs.deferred == sorted(pairs.deferred)


@KERNELS
def test_common_terms_relate_the_latest_only(kernel: Any) -> None:
    columns = kernel.Columns()
    count = BLOCK_LIMIT + 5
    born = [f"2026-01-01T00:{number // 60:02}:{number % 60:02}.000Z" for number in range(count)]
    columns.update([payload(wire(number, f"common {number}", created_at=born[number])) for number in range(count)])
    pairs = columns.pairs("related")
    assert pairs.left_out == count * (count - 1) // 2 - BLOCK_LIMIT * (BLOCK_LIMIT - 1) // 2
    found = list(pairs)
    latest = sorted(record_id(number) for number in range(5, count))
    assert found == [(a, b) for place, a in enumerate(latest) for b in latest[place + 1 :]]
    assert columns.pairs("related", about=[record_id(0)]).left_out == pairs.left_out
    assert list(columns.pairs("related", about=[record_id(0)])) == []


def test_many_clashes_are_walked_alike_about_some_and_about_all() -> None:
    """About so many records that their pairs are not gathered but found by a walk over the group."""
    columns = native.Columns()
    columns.update([payload(wire(number, "a note", slots={"x": f"v{number}"})) for number in range(1600)])
    ids = [record_id(number) for number in range(1600)]
    assert sum(1 for _ in columns.pairs("opposed", about=ids)) == 1600 * 1599 // 2
    assert sum(1 for _ in columns.pairs("opposed", about=ids[:1])) == 1599
    assert list(columns.pairs("opposed", about=ids, once=True)) == list(columns.pairs("opposed", once=True))


def test_a_walk_that_takes_long_can_be_interrupted() -> None:
    columns = native.Columns()
    columns.update([payload(wire(number, "a note", slots={"x": f"v{number}"})) for number in range(8000)])
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        with pytest.raises(KeyboardInterrupt):
            list(columns.pairs("opposed", once=True))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_threads_may_ask_while_records_come_in() -> None:
    columns = native.Columns()
    batches = [
        [payload(wire(number, f"note {number % 50}")) for number in range(n, n + 200)] for n in range(0, 4000, 200)
    ]
    with ThreadPoolExecutor(4) as pool:
        taken = [pool.submit(columns.update, batch) for batch in batches]
        asked = [pool.submit(columns.copies) for _ in range(20)]
        for future in (*taken, *asked):
            future.result(60)
        assert all(len(block) % 4 == 0 for future in asked for block in future.result())
    assert len(columns.copies()) == 50


# -- what is erased ---------------------------------------------------------------------------------------------------


@KERNELS
def test_a_rule_is_found_through_what_took_the_place_of_its_evidence(kernel: Any) -> None:
    columns = kernel.Columns()
    columns.update(
        [
            payload(wire(1, state="superseded", superseded_by=IDS[2])),
            payload(wire(2, state="superseded", superseded_by=IDS[3])),
            payload(wire(3)),
            payload(wire(4, type="rule", evidence=[IDS[1]])),
            payload(wire(5, type="rule", evidence=[IDS[2]], state="archived")),
        ]
    )
    assert columns.rules() == columns.rules([IDS[3]]) == columns.rules([IDS[4]]) == [IDS[4]]
    assert columns.rules([IDS[5], IDS[6]]) == []


@KERNELS
def test_a_rule_takes_part_in_what_it_was_drawn_from(kernel: Any) -> None:
    """Wherever it stands by now, and whatever else it names as evidence."""
    columns = kernel.Columns()
    episodes = [wire(number, type="episode", tags=["ops"]) for number in range(3)]
    evidence = [record_id(0), record_id(99), "chat-17"]
    made = {"kind": "consolidation"}
    rule = wire(5, type="rule", tags=["deploy"], evidence=evidence, provenance=made, agent_memory={"scope": {}})
    columns.update([payload(members) for members in (*episodes, rule)])
    ids = sorted(record_id(number) for number in range(3))
    assert columns.recurring(3, [record_id(5)]) == [((None, None, None), ("ops",), ids, [])]
    assert columns.recurring(3, [record_id(6)]) == []

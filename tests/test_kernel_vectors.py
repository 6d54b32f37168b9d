"""Vectors: what points the same way, and how sessions smooth it; both kernels answer alike, to the bit."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from agent_memory import _native as native
from agent_memory.errors import ArgumentError, ArgumentTypeError
from agent_memory.kernel import reference

KERNELS = pytest.mark.parametrize("kernel", [native, reference], ids=["native", "reference"])
IDS = [f"mem:{number * 37 % 256:02x}{number:030x}" for number in range(10)]
AROUND = (0.4, 0.3, 0.2)


def packed(*vectors: Sequence[float]) -> bytes:
    return b"".join(struct.pack(f"<{len(vector)}f", *vector) for vector in vectors)


def filled(kernel: Any, vectors: dict[str, Sequence[float]]) -> Any:
    made = kernel.Vectors("test", len(next(iter(vectors.values()))))
    made.set(list(vectors), packed(*vectors.values()))
    return made


# ------------------------------------------------------------------ the two against each other

numbers = st.floats(-(2.0**100), 2.0**100, width=32) | st.sampled_from([0.0, -0.0, 1e-45, 3e38, -1.0])
places = st.none() | st.tuples(st.sampled_from(["a", "b", "é"]), st.integers(-3, 3), st.integers(0, 2))


class Alike(RuleBasedStateMachine):
    """The same calls to both, and all that can be asked of them."""

    dimension = 3

    def __init__(self) -> None:
        super().__init__()
        self.both = [kernel.Vectors("one é", self.dimension) for kernel in (native, reference)]

    def ask(self, question: Callable[[Any], Any]) -> Any:
        told, meant = map(question, self.both)
        assert told == meant
        return meant

    @rule(ids=st.lists(st.sampled_from(IDS), max_size=4), data=st.data())
    def set(self, ids: list[str], data: st.DataObject) -> None:
        rows = [data.draw(st.lists(numbers, min_size=self.dimension, max_size=self.dimension)) for _ in ids]
        for vectors in self.both:
            vectors.set(ids, packed(*rows))

    @rule(found=st.dictionaries(st.sampled_from(IDS), places, max_size=6))
    def place(self, found: dict[str, Any]) -> None:
        for vectors in self.both:
            vectors.place(found, found.values())

    @rule(ids=st.lists(st.sampled_from([*IDS, "chat"]), max_size=3))
    def remove(self, ids: list[str]) -> None:
        for vectors in self.both:
            vectors.remove(ids)

    @rule(
        query=st.lists(numbers, min_size=3, max_size=3),
        k=st.integers(-1, 12),
        among=st.none() | st.lists(st.sampled_from([*IDS, ""])),
        around=st.none() | st.just(AROUND) | st.tuples(*[st.floats(0, 1)] * 3),
    )
    def question(self, query: list[float], k: int, among: list[str] | None, around: Any) -> None:
        self.ask(lambda vectors: vectors.best(packed(query), k, among))
        self.ask(lambda vectors: vectors.scores(packed(query), around=around).best(k, among))
        self.ask(lambda vectors: vectors.scores(packed(query), around=around).of(["", *IDS]))

    @rule()
    def written_and_read(self) -> None:
        written = self.ask(lambda vectors: vectors.to_bytes("here", b"note"))
        for at, kernel in enumerate((native, reference)):
            found = kernel.Vectors.from_bytes(written)
            assert found is not None
            assert found[1:] == ("here", b"note")
            self.both[at] = found[0]
            assert (found[0].identity, found[0].dimension) == ("one é", self.dimension)

    @invariant()
    def holds_the_same(self) -> None:
        self.ask(lambda vectors: (len(vectors), vectors.ids(), [record_id in vectors for record_id in IDS]))


def test_native_and_reference_answer_alike_to_the_bit() -> None:
    run_state_machine_as_test(Alike)


@pytest.mark.parametrize("dimension", [1, 7, 8, 9, 16, 31, 256])
@given(number=st.integers(0, 2**32))
def test_sums_are_the_same_for_every_dimension(dimension: int, number: int) -> None:
    seed = random.Random(number)
    rows = {record_id: [seed.uniform(-2, 2) for _ in range(dimension)] for record_id in IDS[:3]}
    query = packed([seed.uniform(-2, 2) for _ in range(dimension)])
    assert filled(native, rows).best(query, 3) == filled(reference, rows).best(query, 3)


@KERNELS
@given(data=st.binary(max_size=300))
def test_bytes_from_anywhere_are_no_vectors(kernel: Any, data: bytes) -> None:
    assert kernel.Vectors.from_bytes(data) is None


@KERNELS
@given(at=st.integers(0, 400), bit=st.integers(0, 7))
def test_a_bit_that_flipped_makes_a_snapshot_worthless(kernel: Any, at: int, bit: int) -> None:
    vectors = filled(kernel, dict.fromkeys(IDS[:5], (1.0, 2.0, 3.0)))
    vectors.place(IDS[:2], [("s", 1, 2), ("t", 3, 4)])
    written = bytearray(vectors.to_bytes("c", b"n"))
    written[at % len(written)] ^= 1 << bit
    assert kernel.Vectors.from_bytes(bytes(written)) is None
    assert kernel.Vectors.from_bytes(bytes(written[: at % len(written)])) is None


SOUND = struct.pack("<I4sI", 4, b"name", 1) + struct.pack("<II", 0, 0) + struct.pack("<I", 0)


@KERNELS
@pytest.mark.parametrize(
    "rest",
    [
        SOUND + struct.pack("<I", 0xFFFFFFFF),
        SOUND + struct.pack("<I16sIf", 1, b"x" * 16, 0, 1.0),
        SOUND + struct.pack("<I16sI16sIff", 2, b"b" * 16, 2**32 - 1, b"a" * 16, 2**32 - 1, 1.0, 1.0),
        SOUND + struct.pack("<I16sI16sIff", 2, b"a" * 16, 2**32 - 1, b"a" * 16, 2**32 - 1, 1.0, 1.0),
        SOUND + struct.pack("<I16sIf", 1, b"x" * 16, 2**32 - 1, math.nan),
        SOUND + struct.pack("<I16sIff", 1, b"x" * 16, 2**32 - 1, 1.0, 1.0),
        struct.pack("<I4sI", 4, b"name", 0) + struct.pack("<IIII", 0, 0, 0, 0),
        struct.pack("<I4sI", 4, b"\xff\xff\xff\xff", 1) + struct.pack("<IIII", 0, 0, 0, 0),
        struct.pack("<I", 0xFFFFFFFF),
        b"",
    ],
    ids="count session order twice nan long dimension text size empty".split(),
)
def test_what_no_vectors_are_written_as_is_refused_though_its_sum_is_right(kernel: Any, rest: bytes) -> None:
    from hashlib import sha256

    def whole(rest: bytes) -> bytes:
        return struct.pack("<8sIQ32s", b"AMVECTOR", 1, len(rest), sha256(rest).digest()) + rest

    assert kernel.Vectors.from_bytes(whole(SOUND + struct.pack("<I", 0))) is not None
    assert kernel.Vectors.from_bytes(whole(rest)) is None


# ------------------------------------------------------------------ what is promised, on each


@KERNELS
def test_best_first_then_by_id(kernel: Any) -> None:
    vectors = filled(kernel, {IDS[0]: (1, 0), IDS[1]: (2, 0), IDS[2]: (0, 1), IDS[3]: (-1, 0), IDS[4]: (0, 0)})
    ties = sorted(IDS[:2])
    assert vectors.best(packed((3, 0)), 9) == [
        (ties[0], 1.0),
        (ties[1], 1.0),
        *((record_id, 0.0) for record_id in sorted([IDS[2], IDS[4]])),
        (IDS[3], -1.0),
    ]
    assert vectors.best(packed((3, 0)), 1) == [(ties[0], 1.0)]
    assert vectors.best(packed((3, 0)), 10**30, among=[IDS[3], "no id"]) == [(IDS[3], -1.0)]
    assert vectors.best(packed((3, 0)), 0) == vectors.best(packed((3, 0)), -1) == []


@KERNELS
def test_a_session_lends_what_lies_above_the_mean_of_all(kernel: Any) -> None:
    own = dict(zip(IDS[:5], (1.0, 0.5, 0.0, -0.5, 0.25), strict=True))
    vectors = filled(kernel, {record_id: (score, math.sqrt(1 - score**2)) for record_id, score in own.items()})
    session = IDS[:4]
    vectors.place(session, [("s", number, 0) for number in range(4)])
    found = dict(vectors.scores(packed((1, 0)), around=AROUND).best(9))
    mean = sum(own.values()) / 5
    lent = {
        0: 0.3 * (own[session[1]] - mean) + 0.2 * (own[session[2]] - mean),
        1: 0.4 * (own[session[0]] - mean) + 0.3 * (own[session[2]] - mean) + 0.2 * (own[session[3]] - mean),
    }
    for at, more in lent.items():
        assert found[session[at]] == pytest.approx(own[session[at]] + more, abs=1e-6)
    assert found[IDS[4]] == pytest.approx(0.25, abs=1e-6)


@KERNELS
def test_what_is_refused_changes_nothing(kernel: Any) -> None:
    vectors = filled(kernel, {IDS[0]: (1.0, 0.0)})
    before = vectors.to_bytes("", b"")
    for ids, data in (
        ([IDS[1]], packed((1.0,))),
        ([IDS[1]], packed((1.0, math.nan))),
        ([IDS[0], IDS[1]], packed((0.0, 1.0), (math.inf, 0.0))),
        (["mem:xyz"], packed((1.0, 1.0))),
        ([], packed((1.0, 1.0))),
    ):
        with pytest.raises(ArgumentError):
            vectors.set(ids, data)
    with pytest.raises(ArgumentError):
        vectors.place(IDS[:2], [None])
    with pytest.raises(ArgumentError):
        vectors.scores(packed((math.nan, 0.0)))
    assert vectors.to_bytes("", b"") == before


WRONG: list[tuple[str, Callable[[Any], Any]]] = [
    ("dimension 0", lambda kernel: kernel.Vectors("x", 0)),
    ("dimension many", lambda kernel: kernel.Vectors("x", 65_537)),
    ("dimension type", lambda kernel: kernel.Vectors("x", True)),
    ("identity", lambda kernel: kernel.Vectors(b"x", 1)),
    ("bytes", lambda kernel: kernel.Vectors("x", 1).set([], "")),
    ("ids", lambda kernel: kernel.Vectors("x", 1).set(IDS[0], b"")),
    ("id", lambda kernel: kernel.Vectors("x", 1).set([7], b"")),
    ("no id", lambda kernel: kernel.Vectors("x", 1).set(["mem:" + "A" * 32], b"1234")),
    ("length", lambda kernel: kernel.Vectors("x", 1).set([IDS[0]], b"12345")),
    ("query", lambda kernel: kernel.Vectors("x", 2).best(b"1234", 1)),
    ("k", lambda kernel: kernel.Vectors("x", 1).best(b"1234", 1.0)),
    ("among", lambda kernel: kernel.Vectors("x", 1).best(b"1234", 1, [None])),
    ("around", lambda kernel: kernel.Vectors("x", 1).scores(b"1234", around=(1, 2))),
    ("around above 1", lambda kernel: kernel.Vectors("x", 1).scores(b"1234", around=(1, 2, 0))),
    ("around NaN", lambda kernel: kernel.Vectors("x", 1).scores(b"1234", around=(math.nan, 0, 0))),
    ("place", lambda kernel: kernel.Vectors("x", 1).place([IDS[0]], [("s", 1)])),
    ("time", lambda kernel: kernel.Vectors("x", 1).place([IDS[0]], [("s", 1, 2**63)])),
    ("data", lambda kernel: kernel.Vectors.from_bytes("x")),
    ("surrogate", lambda kernel: kernel.Vectors("\ud800", 1)),
]


@pytest.mark.parametrize("call", [call for _, call in WRONG], ids=[name for name, _ in WRONG])
def test_both_refuse_alike(call: Callable[[Any], Any]) -> None:
    said = []
    for kernel in (native, reference):
        with pytest.raises(ArgumentError) as caught:
            call(kernel)
        said.append((type(caught.value) is ArgumentTypeError, str(caught.value)))
    assert said[0] == said[1]


def test_threads_may_ask_while_another_writes() -> None:
    vectors = native.Vectors("x", 64)
    rows = packed(*([float(number)] * 64 for number in range(1, 11)))

    def work(number: int) -> int:
        if number % 2:
            vectors.set(IDS, rows)
            vectors.place(IDS, [("s", at, number) for at in range(10)])
        else:
            vectors.remove(IDS[:5])
        return len(vectors.scores(packed([1.0] * 64), around=AROUND).best(20))

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(work, range(400))) <= set(range(11))

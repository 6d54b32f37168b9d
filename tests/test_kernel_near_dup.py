"""The trigram join: both kernels find what comparing every two texts finds, pair for pair."""

from __future__ import annotations

import _thread
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_memory import _native as native
from agent_memory.errors import ArgumentError, ArgumentTypeError
from agent_memory.kernel import reference
from agent_memory.kernel.reference.text.similarity import trigrams

KERNELS = pytest.mark.parametrize("kernel", [native, reference], ids=["native", "reference"])
THRESHOLDS = [-1, 0, 0.0, 1e-300, 0.05, 0.3, 1 / 3, 0.3333, 0.4, 0.5, 0.6, 2 / 3, 0.7, 0.8, 0.9, 0.999, 1, 1.0, 1.01]

Pair = tuple[int, int]

#: Words of several scripts, with final and other sigmas, characters that lower or compose to more, and white space of
#: every kind; little of it, so that texts are alike.
words = st.sampled_from(
    [
        "the cache", "port", "ports", "8443", "is", "not", "ΟΔΟΣ", "οδός", "ΣΑΣ", "İstanbul", "ıI", "straße", "STRASSE",
        "日本", "語", "サービス", "Сервис", "сервіс", "სერვისი", "ᲡᲔᲠ", "खोज", "بحث", "e\u0301", "é", "Å", "\u212b",
        "👩‍💻", "🇬🇪", "ﬁ", "Ǆ", "\U00010400", "\u1e9e", "a", "aa", "", "\0", "\u200b",
    ]
)  # fmt: skip
spaces = st.sampled_from(
    [" ", " ", " ", "", "  ", "\t", "\n", "\x1c", "\x1f", "\x85", "\xa0", "\u2003", "\u3000", "\u2028"]
)
texts = st.one_of(
    st.lists(st.tuples(words, spaces), max_size=6).map(lambda parts: "".join(word + space for word, space in parts)),
    st.text(max_size=5),
    st.text(alphabet="ab ", max_size=9),
)
text_lists = st.lists(texts, max_size=24)


def unpacked(packed: bytes) -> list[Pair]:
    return [*struct.iter_unpack("<II", packed)]  # type: ignore[list-item]


def one_by_one(
    bodies: Sequence[str],
    threshold: float,
    groups: Sequence[int] | None = None,
    dirty: Sequence[bool] | None = None,
) -> list[Pair]:
    """The rule itself, in fractions."""
    sets = [trigrams(body) for body in bodies]
    least = Fraction(repr(threshold))

    def similarity(i: int, j: int) -> Fraction:
        together = len(sets[i] | sets[j])
        return Fraction(len(sets[i] & sets[j]), together) if sets[i] and sets[j] else Fraction(0)

    return [
        (i, j)
        for i, j in combinations(range(len(bodies)), 2)
        if (groups is None or groups[i] == groups[j])
        and (dirty is None or dirty[i] or dirty[j])
        and similarity(i, j) >= least
    ]


def same_pairs(bodies: Sequence[str], threshold: float, **more: Any) -> list[Pair]:
    """What both kernels find."""
    found = native.similar_pairs(bodies, threshold, **more)
    assert reference.similar_pairs(bodies, threshold, **more) == found
    return unpacked(found)


@given(st.data(), text_lists, st.one_of(st.sampled_from(THRESHOLDS), st.floats(0.3, 1.0)))
def test_no_pair_is_missed_and_none_is_made_up(data: st.DataObject, bodies: list[str], threshold: float) -> None:
    def one_each(values: st.SearchStrategy[Any]) -> list[Any]:
        drawn: list[Any] = data.draw(st.lists(values, min_size=len(bodies), max_size=len(bodies)))
        return drawn

    assert same_pairs(bodies, threshold) == one_by_one(bodies, threshold)
    groups = one_each(st.sampled_from([0, 1, 2**32 - 1]))
    assert same_pairs(bodies, threshold, groups=groups) == one_by_one(bodies, threshold, groups)
    dirty = one_each(st.sampled_from([False, False, False, True]))
    expected = one_by_one(bodies, threshold, groups, dirty)
    assert same_pairs(bodies, threshold, groups=groups, dirty=dirty, threads=3) == expected
    limit = data.draw(st.integers(0, len(expected) + 1))
    assert same_pairs(bodies, threshold, groups=groups, dirty=dirty, limit=limit) == expected[:limit]


@given(texts, texts)
def test_an_overlap_is_that_of_the_sets(a: str, b: str) -> None:
    expected = len(trigrams(a) & trigrams(b)), len(trigrams(a) | trigrams(b))
    assert native.trigram_overlap(a, b) == reference.trigram_overlap(a, b) == expected


@pytest.mark.parametrize("plane", [0, 1, 14])
def test_every_character_is_read_alike(plane: int) -> None:
    """Each between two letters, so that it counts whether it is white space and what its lower case is."""
    scalars = (chr((plane << 16) + low) for low in range(0x10000) if plane or low not in range(0xD800, 0xE000))
    text = "\ue000".join(f"a{c}b" for c in scalars)
    expected = trigrams(text)
    lowered = "\ue001\ue002".join(expected)
    assert native.trigram_overlap(text, "") == (0, len(expected))
    assert native.trigram_overlap(text, lowered)[0] == len(expected & trigrams(lowered))


def corpus(count: int) -> list[str]:
    benches = Path(__file__).parents[1] / "benches"
    sys.path.insert(0, str(benches))
    try:
        from harness import corpus as made
    finally:
        sys.path.remove(str(benches))
    return [record["body"] for record in made(count)]


@pytest.mark.parametrize(("count", "threshold"), [(400, 0.3), (3000, 0.6), (3000, 0.85)])
def test_both_kernels_find_the_same_in_a_corpus(count: int, threshold: float) -> None:
    bodies = corpus(count)
    assert len(same_pairs(bodies, threshold)) > 20
    groups = [len(body) % 3 for body in bodies]
    dirty = [index % 50 == 0 for index in range(len(bodies))]
    same_pairs(bodies, threshold, groups=groups, dirty=dirty)


def test_a_corpus_holds_what_comparing_every_two_finds() -> None:
    bodies = corpus(150)
    bodies += [" ".join(bodies[start : start + 30]) for start in range(30)]  # long ones, each much like the next
    for threshold in (0.3, 0.6, 0.95):
        assert same_pairs(bodies, threshold) == one_by_one(bodies, threshold)


@KERNELS
def test_the_examples_of_the_specification_hold(kernel: Any) -> None:
    assert kernel.trigram_overlap("abc", "abcd") == (1, 2)
    assert kernel.trigram_overlap("aaa", "aaaa") == (1, 1)
    assert kernel.trigram_overlap("ab", "abc") == (0, 2)
    assert unpacked(kernel.similar_pairs(["abc", "abcd", "ab", "ABC "], 0.5)) == [(0, 1), (0, 3), (1, 3)]


@KERNELS
def test_a_threshold_is_the_decimal_it_is_written_as(kernel: Any) -> None:
    # Three of five shared: 0.6 as a float is less than 3/5, the float after it is written 0.6000000000000001.
    pair = ["abcdef", "abcdeg"]
    assert kernel.trigram_overlap(*pair) == (3, 5)
    assert kernel.similar_pairs(pair, 0.6)
    assert not kernel.similar_pairs(pair, 0.6000000000000001)
    # One of three: 1/3 as a float is written with a last digit that keeps it below a third, 0.33333333333333337 above.
    third = ["abcd", "abce"]
    assert kernel.trigram_overlap(*third) == (1, 3)
    assert kernel.similar_pairs(third, 1 / 3)
    assert not kernel.similar_pairs(third, 0.33333333333333337)


@KERNELS
def test_empty_texts_are_like_nothing_and_make_pairs_only_where_every_pair_is_wanted(kernel: Any) -> None:
    bodies = ["", " \n", "a", ""]
    assert kernel.similar_pairs(bodies, 5e-324) == b""
    assert unpacked(kernel.similar_pairs(bodies, 0)) == list(combinations(range(4), 2))
    assert unpacked(kernel.similar_pairs(bodies, -(10**400))) == list(combinations(range(4), 2))
    assert kernel.similar_pairs(bodies, 10**400) == b""
    assert kernel.similar_pairs([], 0) == kernel.similar_pairs([], 0.6) == b""
    assert kernel.similar_pairs(iter(["a"]), 0) == b""


def test_ten_thousand_copies_are_written_at_the_speed_of_writing() -> None:
    count = 10_000
    start = time.perf_counter()
    pairs = native.similar_pairs(["the cache is on"] * count, 0.6)
    assert time.perf_counter() - start < 10
    assert len(pairs) == count * (count - 1) // 2 * 8
    assert pairs[:16] == struct.pack("<IIII", 0, 1, 0, 2)
    assert pairs[-8:] == struct.pack("<II", count - 2, count - 1)
    some_dirty = [index in {7, 9000} for index in range(count)]
    assert len(native.similar_pairs(["the cache is on"] * count, 0.6, dirty=some_dirty)) == (2 * (count - 2) + 1) * 8


def test_a_text_of_a_megabyte_is_one_among_others() -> None:
    long = " ".join(f"{index * index:x}" for index in range(150_000))
    bodies = [f"note {index} on the cache" for index in range(200)] + [long, long + " again", long[: len(long) // 2]]
    pairs = unpacked(native.similar_pairs(bodies, 0.9))
    assert (200, 201) in pairs
    assert all(second < 200 for first, second in pairs if first < 200)


@KERNELS
def test_progress_is_told_from_the_calling_thread_and_only_grows(kernel: Any) -> None:
    told: list[Pair] = []
    threads = set()

    def progress(done: int, total: int) -> None:
        told.append((done, total))
        threads.add(threading.get_ident())

    bodies = [f"{index * 7919 % 1000} of the cache {index % 13}" for index in range(600)]
    groups = [index % 2 for index in range(600)]
    dirty = [index < 10 for index in range(600)]
    kernel.similar_pairs(bodies, 0.4, groups=groups, dirty=dirty, progress=progress)
    total = 2 * (5 * 295 + 10)
    assert told[0] == (0, total)
    assert told[-1] == (total, total)
    assert told == sorted(told)
    assert {all_there_is for _, all_there_is in told} == {total}
    assert threads == {threading.get_ident()}


@KERNELS
def test_what_progress_raises_ends_the_call(kernel: Any) -> None:
    class Enough(Exception):
        pass

    def progress(done: int, total: int) -> None:
        raise Enough

    with pytest.raises(Enough):
        kernel.similar_pairs(["abc", "abcd"], 0.5, progress=progress)


def long_join() -> bytes:
    bodies = [f"{index:x} the cache of {index * 7919:x} and {index * 104729:x}" for index in range(60_000)]
    return native.similar_pairs(bodies * 3, 0.25)


def test_an_interrupt_ends_the_call_at_once() -> None:
    interrupted = []

    def interrupt() -> None:
        time.sleep(0.5)
        interrupted.append(time.perf_counter())
        _thread.interrupt_main()

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        long_join()
    assert time.perf_counter() - interrupted[0] < 1  # a tenth of a second, on a machine that has nothing else to do
    thread.join()


@KERNELS
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda kernel: kernel.similar_pairs(["a", b"b"], 0.6), ArgumentTypeError, r"texts\[1\] is of type 'bytes'"),
        (lambda kernel: kernel.similar_pairs("text", 0.6), ArgumentTypeError, "texts is of type 'str'"),
        (lambda kernel: kernel.similar_pairs(None, 0.6), ArgumentTypeError, "texts is of type 'NoneType'"),
        (lambda kernel: kernel.similar_pairs(["\ud800"], 0.6), ArgumentError, r"texts\[0\] holds a lone surrogate"),
        (lambda kernel: kernel.similar_pairs([], "0.6"), ArgumentTypeError, "threshold is of type 'str'"),
        (lambda kernel: kernel.similar_pairs([], True), ArgumentTypeError, "threshold is of type 'bool'"),
        (lambda kernel: kernel.similar_pairs([], float("nan")), ArgumentError, "threshold is NaN"),
        (lambda kernel: kernel.similar_pairs(["a"], 0.6, groups=[]), ArgumentError, "1 texts and 0 groups"),
        (lambda kernel: kernel.similar_pairs(["a"], 0.6, groups=[-1]), ArgumentError, r"groups\[0\] is out of range"),
        (lambda kernel: kernel.similar_pairs(["a"], 0.6, groups=[2**32]), ArgumentError, r"from 0 to 4294967295"),
        (lambda kernel: kernel.similar_pairs(["a"], 0.6, groups=["x"]), ArgumentTypeError, r"groups\[0\] is of type"),
        (lambda kernel: kernel.similar_pairs(["a"], 0.6, groups=7), ArgumentTypeError, "groups is of type 'int'"),
        (lambda kernel: kernel.similar_pairs(["a"], 0.6, dirty=[True] * 2), ArgumentError, "1 texts and 2 dirty"),
        (lambda kernel: kernel.similar_pairs(["a"], 0.6, dirty=[1]), ArgumentTypeError, r"dirty\[0\] is of type 'int'"),
        (lambda kernel: kernel.similar_pairs([], 0.6, limit=-1), ArgumentError, "limit is out of range"),
        (lambda kernel: kernel.similar_pairs([], 0.6, limit=1.0), ArgumentTypeError, "limit is of type 'float'"),
        (lambda kernel: kernel.similar_pairs([], 0.6, threads=-1), ArgumentError, "threads is out of range"),
        (lambda kernel: kernel.similar_pairs([], 0.6, threads=None), ArgumentTypeError, "threads is of type"),
        (lambda kernel: kernel.similar_pairs([], 0.6, progress=1), ArgumentTypeError, "progress is of type 'int'"),
        (lambda kernel: kernel.trigram_overlap("a", 1), ArgumentTypeError, "b is of type 'int': it must be str"),
        (lambda kernel: kernel.trigram_overlap("\udfff", "a"), ArgumentError, "a holds a lone surrogate"),
    ],
)
def test_a_call_is_refused_when_its_arguments_do_not_fit(
    kernel: Any, call: Callable[[Any], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        call(kernel)
    assert type(caught.value) is error


@KERNELS
def test_what_an_iterator_raises_passes_through(kernel: Any) -> None:
    def failing() -> Iterator[str]:
        yield "a"
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        kernel.similar_pairs(failing(), 0.6)


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_any_number_of_threads_finds_the_same(threads: int) -> None:
    bodies = [f"the cache {index % 9} of {index % 31}" for index in range(200)]
    expected = native.similar_pairs(bodies, 0.5, threads=1)
    if threads < 2**32:
        assert native.similar_pairs(bodies, 0.5, threads=threads) == expected

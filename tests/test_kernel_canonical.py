"""Canonical JSON: both kernels, byte for byte and message for message."""

from __future__ import annotations

import enum
import hashlib
import json
import math
import sys
import unicodedata
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import fg_agent_id
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory import _native as native
from agent_memory.errors import RecordTypeError, RecordValueError
from agent_memory.kernel import reference
from agent_memory.kernel.reference.unicode14 import INERT

INTEROP = Path(__file__).parent.parent / "spec" / "interop"
KERNELS = pytest.mark.parametrize("kernel", [native, reference], ids=["native", "reference"])

INERT_CHARACTERS = "".join(chr(point) for first, last in INERT for point in range(first, last + 1))
#: Marks of several classes, vowels and final consonants that compose, what gets escaped, and what composes with it.
TELLING = (
    "\u0301\u0303\u0307\u0308\u0323\u0338\u0345\u05b0\u09be\u3099"
    "\u1100\u1161\u11a7\u11a8가\u212b\u2126Å\u1fee"
    '\n\r\t\b\f\x01\x1f\x7f"\\/ nbtrfu01<=>eA🎉\u2028'
)

characters = st.one_of(
    st.characters(exclude_categories=["Cs"]),
    st.sampled_from(TELLING),
    st.sampled_from(INERT_CHARACTERS),
)
texts = st.text(characters, max_size=12)
integers = st.one_of(st.integers(-9, 9), st.integers(-(2**65), 2**65), st.integers(-(10**400), 10**400))
sound_leaves = st.one_of(st.none(), st.booleans(), integers, texts)
faults = st.one_of(
    st.floats(),
    st.binary(max_size=2),
    st.just("a\ud800"),
    st.just({1, 2}),
    st.builds(object),
    st.just({1: 2}),
    st.just({"\udfff": 1}),
    st.just({"é": 1, "e\u0301": 2}),
    st.just({None: 1.5}),
)


def nested(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=4),
            st.lists(inner, max_size=4).map(tuple),
            st.dictionaries(texts, inner, max_size=6),
        ),
        max_leaves=20,
    )


sound_values = nested(sound_leaves)
values = nested(st.one_of(sound_leaves, sound_leaves, sound_leaves, faults))


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result, or the class and message of the error."""
    try:
        return function(*arguments)
    except (RecordTypeError, RecordValueError) as error:
        return type(error), str(error)


@given(values)
def test_both_kernels_give_the_same_bytes_or_the_same_refusal(value: Any) -> None:
    expected = outcome(reference.canonical_json, value)
    assert outcome(native.canonical_json, value) == expected
    assert outcome(native.digest, value) == outcome(reference.digest, value)
    assert outcome(native.canonical_json_many, [1, value]) == outcome(reference.canonical_json_many, [1, value])
    assert outcome(native.digest_many, [1, value]) == outcome(reference.digest_many, [1, value])
    if isinstance(expected, bytes):
        assert native.digest(value) == hashlib.sha256(expected).hexdigest()


@given(st.dictionaries(texts, values, max_size=5), values)
def test_both_kernels_seal_alike(birth: dict[str, Any], rest: Any) -> None:
    assert outcome(native.seal, birth, rest) == outcome(reference.seal, birth, rest)


@given(sound_values)
def test_canonical_bytes_are_json_that_reads_back_and_stay_as_they_are(value: Any) -> None:
    written = outcome(native.canonical_json, value)
    if isinstance(written, bytes):
        assert native.canonical_json(json.loads(written)) == written
        assert json.loads(written) == as_json(native.seal({}, value)[2])


def as_json(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    return {key: as_json(item) for key, item in value.items()} if isinstance(value, dict) else value


@given(nested(st.one_of(st.none(), st.booleans(), integers, st.text(st.sampled_from(TELLING), max_size=12))))
def test_where_the_peer_writes_sound_json_the_bytes_are_the_same(value: Any) -> None:
    written = fg_agent_id.canonical_json(value)
    try:
        json.loads(written)
    except ValueError:
        return
    if all(unicodedata.is_normalized("NFC", key) for key in keys_in(value)):
        assert native.canonical_json(value) == written


def keys_in(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(key for item in value.values() for key in keys_in(item))]
    return [key for item in value for key in keys_in(item)] if isinstance(value, (list, tuple)) else []


@KERNELS
def test_the_published_values_hold(kernel: Any) -> None:
    for entry in json.loads((INTEROP / "fg-agent-id-vectors.json").read_text("utf-8"))["canonical_json"]:
        assert kernel.canonical_json(entry["input"]).hex() == entry["expected_hex"]
    vectors = json.loads((INTEROP / "fg-agent-memory-vectors.json").read_text("utf-8"))
    record = vectors["canonical_record"]
    assert kernel.canonical_json(record["record"]).hex() == record["canonical_hex"]
    birth = vectors["record_id"]
    digest, same, _ = kernel.seal(birth["birth"], None)
    assert "mem:" + digest[:32] == birth["expected"]
    assert same is birth["birth"]


@KERNELS
@pytest.mark.parametrize("control", ["\n", "\t", "\r", "\b", "\f", "\x1f", "\x0e", '"', "\\"])
def test_an_escape_next_to_a_combining_mark_is_sound_json(kernel: Any, control: str) -> None:
    for mark in "\u0301\u0303\u0307\u030c":
        text = f"a{control}{mark}b"
        assert json.loads(kernel.canonical_json([text])) == [text]


@KERNELS
def test_keys_are_sorted_by_code_point_after_they_are_normalised(kernel: Any) -> None:
    assert kernel.canonical_json({"🎉": 1, "ｅ": 2, "b": 3, "a": 4, "aa": 5, "": 6}) == (
        '{"":6,"a":4,"aa":5,"b":3,"ｅ":2,"🎉":1}'.encode()
    )
    # Decomposed, the first key would sort before "f"; normalised, it comes after.
    assert kernel.canonical_json({"e\u0301": 1, "f": 2}) == '{"f":2,"é":1}'.encode()
    assert kernel.canonical_json({"\n": 1, "!": 2}) == b'{"\\n":1,"!":2}'


@KERNELS
@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (1.5, RecordValueError, "$ is a float: canonical JSON holds no floats"),
        (math.nan, RecordValueError, "$ is a float"),
        ({"extra": {"items": [0, 1, 2, -0.0]}}, RecordValueError, "$.extra.items[3] is a float"),
        ({"two words": ({"ä": b""},)}, RecordTypeError, '$["two words"][0]["ä"] is of type \'bytes\''),
        ({"a": {1: 2}}, RecordTypeError, "a key of $.a is of type 'int': keys must be strings"),
        ({b"a": 2}, RecordTypeError, "a key of $ is of type 'bytes'"),
        (["\ud83d"], RecordValueError, "$[0] holds a lone surrogate"),
        ({"x": {"\udc00": 1}}, RecordValueError, "a key of $.x holds a lone surrogate"),
        ({"x": {"é": 1, "e\u0301": 1}}, RecordValueError, "$.x has keys that are equal after NFC normalisation"),
        ([{1, 2}], RecordTypeError, "$[0] is of type 'set'"),
        ({"line\nbreak": 1.0}, RecordValueError, '$["line\\nbreak"] is a float'),
    ],
)
def test_a_refusal_says_where_and_what_to_do(kernel: Any, value: Any, error: type[Exception], message: str) -> None:
    for function in (kernel.canonical_json, kernel.digest, lambda item: kernel.seal({}, item)):
        with pytest.raises(error) as caught:
            function(value)
        assert str(caught.value).startswith(message)
    with pytest.raises(error):
        kernel.digest_many([value])


@KERNELS
def test_a_refusal_quotes_no_value(kernel: Any) -> None:
    with pytest.raises(RecordValueError) as caught:
        kernel.canonical_json({"body": "secret\ud800"})
    assert "secret" not in str(caught.value)


def stacked(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


@KERNELS
def test_depth_has_a_limit_and_no_depth_or_cycle_overflows_the_stack(kernel: Any) -> None:
    assert kernel.canonical_json(stacked(256)) == b"[" * 256 + b"]" * 256
    kernel.seal({"a": stacked(255)}, stacked(256))
    cyclic_list: list[Any] = []
    cyclic_list.append(cyclic_list)
    cyclic_dict: dict[str, Any] = {}
    cyclic_dict["self"] = [cyclic_dict]
    for value in (stacked(257), stacked(100_000), cyclic_list, cyclic_dict):
        for function in (kernel.canonical_json, lambda item: kernel.seal({}, item)):
            with pytest.raises(RecordValueError, match="nested deeper than 256 containers") as caught:
                function(value)
            assert len(str(caught.value)) < 250


@KERNELS
def test_integers_of_any_size_are_exact(kernel: Any) -> None:
    unlimited = sys.get_int_max_str_digits()
    numbers = [
        0,
        -1,
        2**63 - 1,
        -(2**63),
        2**63,
        2**64,
        10**511,
        10**512,
        10**1024 - 1,
        10**4300,
        -(10**4301),
        7**20_000,
    ]
    written = [kernel.canonical_json(number) for number in numbers]
    sys.set_int_max_str_digits(0)
    try:
        assert written == [str(number).encode() for number in numbers]
    finally:
        sys.set_int_max_str_digits(unlimited)


class Colour(enum.StrEnum):
    RED = "red"
    BLUE = "blu\u0308"


class Level(enum.IntEnum):
    LOW = 1


class Loud(str):
    """A string that lies about itself."""

    __slots__ = ()

    def __str__(self) -> str:
        return "LOUD"

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def encode(self, *_: Any) -> bytes:  # type: ignore[override]
        return b"loud"


class Odd(int):
    def __repr__(self) -> str:
        return "odd"

    def __format__(self, _: str) -> str:
        return "odd"

    def __int__(self) -> int:
        return 0


class Masked(dict[str, Any]):
    def items(self) -> Any:
        return [("masked", 1)]


class Endless(list[Any]):
    def __iter__(self) -> Any:
        while True:
            yield 1


class Pair(NamedTuple):
    left: Any
    right: Any


@KERNELS
def test_subclasses_count_as_what_they_derive_from(kernel: Any) -> None:
    value = [
        Colour.RED,
        Level.LOW,
        Loud("x"),
        Odd(2**70),
        Masked(a=1),
        Endless([2]),
        Pair(1, "two"),
        OrderedDict(b=1, a=2),
    ]
    expected = b'["red",1,"x",1180591620717411303424,{"a":1},[2],[1,"two"],{"a":2,"b":1}]'
    assert kernel.canonical_json(value) == expected
    digest, _, same = kernel.seal({}, value)
    assert same is value
    assert digest == kernel.digest({})
    with pytest.raises(RecordValueError, match="equal after NFC"):
        kernel.canonical_json({Loud("k"): 1, Loud("k"): 2})
    with pytest.raises(RecordValueError, match="equal after NFC"):
        kernel.seal({}, {Loud("k"): 1, Loud("k"): 2})
    with pytest.raises(RecordValueError, match="is a float"):
        kernel.canonical_json(type("Real", (float,), {})())


@KERNELS
def test_sealing_keeps_the_very_same_objects_where_nothing_changes(kernel: Any) -> None:
    birth = {"type": "fact", "body": "é is composed", "slots": {"a": "b"}, "provenance": {"kind": "x", "ref": None}}
    rest = {"tags": ("a", "b"), "extra": [1, True, None, {"deep": ["é"]}], "n": 10**30}
    digest, same_birth, same_rest = kernel.seal(birth, rest)
    assert same_birth is birth
    assert same_rest is rest
    assert digest == kernel.digest(birth)


@KERNELS
def test_sealing_rebuilds_what_changes_and_only_that(kernel: Any) -> None:
    kept = {"deep": ["é"]}
    birth = OrderedDict([("body", "e\u0301"), ("kept", kept)])
    rest = {"tags": ("a", "u\u0308"), "kept": kept, "e\u0301": [Pair("a\u0301", 1), kept], "enum": Colour.BLUE}
    digest, new_birth, new_rest = kernel.seal(birth, rest)
    assert digest == kernel.digest(birth) == kernel.digest(new_birth)
    assert type(new_birth) is dict
    assert list(new_birth.items()) == [("body", "é"), ("kept", kept)]
    assert new_rest == {"tags": ("a", "ü"), "kept": kept, "é": [("á", 1), kept], "enum": "blü"}
    assert list(new_rest) == ["tags", "kept", "é", "enum"]
    assert type(new_rest["é"][0]) is tuple
    assert type(new_rest["enum"]) is str
    assert new_birth["kept"] is new_rest["kept"] is new_rest["é"][1] is kept
    assert birth["body"] == "e\u0301"


@KERNELS
def test_birth_content_is_a_dict(kernel: Any) -> None:
    for birth in ([], None, "text"):
        with pytest.raises(RecordTypeError, match="the birth content must be a dict"):
            kernel.seal(birth, None)


@KERNELS
def test_an_iterable_that_fails_fails_the_call(kernel: Any) -> None:
    def broken() -> Any:
        yield 1
        raise LookupError

    for function in (kernel.canonical_json_many, kernel.digest_many):
        with pytest.raises(LookupError):
            function(broken())
        with pytest.raises(TypeError):
            function(5)
        assert function(()) == []


def test_many_large_values_are_digested_one_by_one() -> None:
    many = [{"n": number, "text": "x" * 70_000} for number in range(40)]
    assert native.digest_many(iter(many)) == [native.digest(value) for value in many]

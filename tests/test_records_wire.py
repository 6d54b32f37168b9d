"""The wire form of a record: strict reading, exact writing, and nothing lost on the way."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

import fg_agent_id
import fg_agent_memory as peer
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory import errors
from agent_memory.extension import Extension, Outcome, Scope, Standing
from agent_memory.memory_file import MemoryFile
from agent_memory.records import MemoryRecord, Provenance, Transition
from agent_memory.wire import parse_json
from strategies import json_values, plain_records, records

BORN = datetime(2026, 1, 1, tzinfo=UTC)
OTHER = "mem:" + "b" * 32


def disputed() -> MemoryRecord:
    """A record with something in as many fields as one record can have."""
    record = MemoryRecord.create(
        "rule",
        "Always check the backups.",
        Provenance(kind="conversation", ref="crm/alice", agent="amp:key:x", extra={"x-p": 1}),
        slots={"backups": "checked"},
        confidence=0.75,
        evidence=[OTHER],
        supersedes="mem:" + "c" * 32,
        tags=["ops"],
        created_at=BORN,
        occurred_at=BORN,
        extra={"x-r": {"a": [1]}},
        extension=Extension(
            key="k",
            object="o",
            value=2,
            scope=Scope(project="p", user_id="u", agent_id="a", session_id="s", extra={"x-s": 1}),
            standing=Standing(1, 2),
            outcome=Outcome(at=BORN, reason="r", by="b"),
            author="user",
            supersedes_also=("mem:" + "d" * 32,),
            declared=True,
            typed=True,
            extra={"x-e": 1},
        ),
    )
    return record.evolve(
        {
            "state": "transitional",
            "transition": Transition(sides=(record.id, OTHER), reason="r", extra={"x-t": 1}),
            "state_reason": "r",
            "flagged": True,
            "flag_reason": "f",
        }
    ).model_copy({"signed_by": "someone", "signature": "AAAA"})


FULL = disputed().model_dump()
STONE = MemoryRecord.tombstone(disputed(), reason="r", now=BORN).model_dump()
FILE = MemoryFile(
    agent="someone", created_at=BORN, records=[disputed()], signature="AAAA", extra={"x-f": 1}
).model_dump()

TEXT: tuple[Any, ...] = (5, 5.5, True, False, [], ["a"], {}, {"a": "b"})
OPTIONAL_TEXT = TEXT
LIST: tuple[Any, ...] = (None, 5, True, "", "text", {}, {"a": "b"}, [5], [None], ["a", True], [["a"]], [{}], [""])
OBJECT: tuple[Any, ...] = (5, True, "", "text", [], ["a"], [["kind", "x"]])
FLAG: tuple[Any, ...] = (None, 0, 1, "", "true", "false", [], {})

# Every wire field with the values no reader may accept, and what the error has to name.
WRONG: dict[str, tuple[Any, ...]] = {
    "id": (None, *TEXT, "x", "mem:", OTHER, "mem:" + "B" * 32, FULL["id"] + "\n", FULL["id"][4:]),
    "type": (None, *TEXT, "", "Fact", "opinion"),
    "body": (None, *TEXT, "", " "),
    "slots": (None, *OBJECT, {"a": 5}, {"a": None}, {"a": ["b"]}, {"a": True}),
    "state": (None, *TEXT, "", "ACTIVE", "deleted"),
    "confidence": (None, *TEXT, 1, 0, 0.75, "", "0.75", "1", "0.75000", "1.5000", "-0.5000", "nope", " 0.7500"),
    "created_at": (None, *TEXT, 0, "", "2026-01-01", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000+00:00"),
    "updated_at": (None, *TEXT, 0, "", "2026-01-01", "2026-01-01T00:00:00Z", "2026-13-01T00:00:00.000Z"),
    "occurred_at": (None, *TEXT, 0, "", "yesterday", "2026-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
    "provenance": (None, *OBJECT, {}, {"ref": "r"}),
    "evidence": LIST,
    "supersedes": (*OPTIONAL_TEXT, ""),
    "superseded_by": (*OPTIONAL_TEXT, "", OTHER),
    "transition": (None, *OBJECT, {}, {"sides": [FULL["id"], OTHER]}, {"reason": "r"}),
    "state_reason": OPTIONAL_TEXT,
    "tags": LIST,
    "flagged": FLAG,
    "flag_reason": OPTIONAL_TEXT,
    "signed_by": OPTIONAL_TEXT,
    "signature": (None, *TEXT),
    "redacted": (*FLAG, False),
    "redaction_reason": (None, *TEXT),
    "birth_digest": (None, *TEXT, "", "a" * 63, "A" * 64, "g" * 64),
    "agent_memory": (None, *OBJECT, {}),
}
WRONG_INSIDE: dict[str, dict[str, tuple[Any, ...]]] = {
    "provenance": {"kind": (None, *TEXT, ""), "ref": OPTIONAL_TEXT, "agent": OPTIONAL_TEXT},
    "transition": {
        "sides": (*LIST, [], [OTHER], [OTHER, OTHER], [OTHER, OTHER, OTHER], [OTHER, "x"], [OTHER, "mem:" + "c" * 32]),
        "reason": (None, *TEXT, ""),
    },
    "agent_memory": {
        "key": (None, *TEXT, ""),
        "object": (None, *TEXT, ""),
        "value": (None, *TEXT, 2, "", "2", "1.0000", "0.5000", "2.00000", "1000000.0001", "1e3", "02.0000", " 2.0000"),
        "scope": (None, *OBJECT, {}),
        "standing": (None, *OBJECT, {}, {"good": 1}, {"good": 1, "bad": 1, "x": 1}),
        "outcome": (None, *OBJECT, {}, {"at": "2026-01-01T00:00:00.000Z"}, {"reason": "r"}),
        "author": (None, *TEXT, ""),
        "supersedes_also": (*LIST, [], ["x"], [OTHER, OTHER], [OTHER, "mem:" + "a" * 32]),
        "declared": (*FLAG, False),
        "typed": (*FLAG, False),
    },
    "scope": dict.fromkeys(("project", "user_id", "agent_id", "session_id"), (None, *TEXT, "")),
    "standing": {name: (None, "", "1", [], {}, True, False, -1, 2**53, 1.5) for name in ("good", "bad")},
    "outcome": {
        "at": (None, *TEXT, 0, "", "2026-01-01", "2026-01-01T00:00:00Z"),
        "reason": (None, *TEXT, "", " "),
        "by": (None, *TEXT, ""),
    },
}
WRONG_IN_FILE: dict[str, tuple[Any, ...]] = {
    "format": (None, *TEXT, "", "fg-agent-memory/0.2", "fg-agent-memory/0.1 "),
    "agent": (*OPTIONAL_TEXT, ""),
    "created_at": (None, *TEXT, 0, "", "2026-01-01", "2026-01-01T00:00:00Z"),
    "records": (None, 5, True, "", "text", {}, {"a": FULL}, [5], [None], [[]], ["text"], [{}]),
    "signature": (None, *TEXT),
}


def cases(table: dict[str, tuple[Any, ...]]) -> list[Any]:
    return [
        pytest.param(field, value, id=f"{field}={json.dumps(value)[:40]}")
        for field, values in table.items()
        for value in values
    ]


def refused(read: Any, wire: Any, field: str) -> None:
    """Reading ends in a RecordError that names the field, and in the builtin error where the type is wrong."""
    before = json.dumps(wire)
    named = re.escape(field) if field.endswith("]") else rf"\b{field}\b"
    with pytest.raises(errors.RecordError, match=named) as caught:
        read(wire)
    assert json.dumps(wire) == before
    assert type(caught.value) in {errors.RecordError, errors.RecordTypeError, errors.RecordValueError}


def test_the_tables_name_every_field() -> None:
    assert WRONG.keys() == MemoryRecord._KNOWN
    assert WRONG_INSIDE["provenance"].keys() == Provenance._KNOWN
    assert WRONG_INSIDE["transition"].keys() == Transition._KNOWN
    assert WRONG_INSIDE["agent_memory"].keys() == set(Extension.__slots__) - {"extra"}
    assert WRONG_INSIDE["scope"].keys() == set(Scope.__slots__) - {"extra"}
    assert WRONG_INSIDE["standing"].keys() == set(Standing.__slots__)
    assert WRONG_INSIDE["outcome"].keys() == set(Outcome.__slots__)
    assert WRONG_IN_FILE.keys() == MemoryFile._KNOWN


@pytest.mark.parametrize(("field", "value"), cases(WRONG))
def test_a_wrong_field_of_a_record_is_refused_by_name(field: str, value: Any) -> None:
    base = STONE if field in {"redacted", "redaction_reason", "birth_digest"} else FULL
    refused(MemoryRecord.model_validate, {**base, field: value}, field)


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [
        pytest.param(part, *case.values, id=f"{part}.{case.id}")
        for part in WRONG_INSIDE
        for case in cases(WRONG_INSIDE[part])
    ],
)
def test_a_wrong_field_inside_a_record_is_refused_by_name(part: str, field: str, value: Any) -> None:
    wire = json.loads(json.dumps(FULL))
    holder = wire["agent_memory"] if part in {"scope", "standing", "outcome"} else wire
    holder[part][field] = value
    refused(MemoryRecord.model_validate, wire, part if field in {"good", "bad"} and value is None else field)


@pytest.mark.parametrize(("field", "value"), cases(WRONG_IN_FILE))
def test_a_wrong_field_of_a_file_is_refused_by_name(field: str, value: Any) -> None:
    refused(MemoryFile.model_validate, {**FILE, field: value}, field)


@pytest.mark.parametrize(("field", "value"), cases(WRONG))
def test_a_wrong_field_of_a_record_in_a_file_is_refused_with_its_place(field: str, value: Any) -> None:
    base = STONE if field in {"redacted", "redaction_reason", "birth_digest"} else FULL
    good = MemoryRecord.create("fact", "x", Provenance(kind="k"), created_at=BORN).model_dump()
    refused(MemoryFile.model_validate, {**FILE, "records": [good, {**base, field: value}]}, "records[1]")


WRONG_TYPE = [case for case in cases(WRONG) if not isinstance(case.values[1], str | list | dict)]


@pytest.mark.parametrize(("field", "value"), WRONG_TYPE)
def test_a_wrong_type_is_a_type_error_too(field: str, value: Any) -> None:
    base = STONE if field in {"redacted", "redaction_reason", "birth_digest"} else FULL
    expected = (
        errors.RecordError if field in {"redaction_reason", "transition"} and value is None else errors.RecordTypeError
    )
    with pytest.raises(expected):
        MemoryRecord.model_validate({**base, field: value})


@pytest.mark.parametrize("field", ["type", "body", "created_at", "updated_at", "provenance"])
def test_a_missing_field_is_named(field: str) -> None:
    refused(MemoryRecord.model_validate, {name: value for name, value in FULL.items() if name != field}, field)


@pytest.mark.parametrize("field", ["format", "created_at", "records"])
def test_a_missing_field_of_a_file_is_named(field: str) -> None:
    refused(MemoryFile.model_validate, {name: value for name, value in FILE.items() if name != field}, field)


@pytest.mark.parametrize("data", [None, 5, "text", [], [["type", "fact"]], b"{}"])
def test_what_is_no_object_is_no_record_and_no_file(data: Any) -> None:
    for read in (MemoryRecord.model_validate, MemoryFile.model_validate, Provenance.model_validate):
        with pytest.raises(errors.RecordTypeError):
            read(data)
    with pytest.raises(errors.RecordTypeError):
        Transition.model_validate(data)


def test_missing_optional_fields_take_their_defaults() -> None:
    wire = {name: FULL[name] for name in ("body", "slots", "provenance", "created_at", "updated_at")}
    record = MemoryRecord.model_validate({**wire, "type": "fact"})
    assert record == MemoryRecord.create(
        "fact", FULL["body"], Provenance.model_validate(FULL["provenance"]), slots=FULL["slots"], created_at=BORN
    )
    assert record.confidence == 1.0


def test_any_mapping_is_read_as_a_dict_is() -> None:
    from types import MappingProxyType

    assert MemoryRecord.model_validate(MappingProxyType(FULL)) == disputed()


@given(st.sampled_from(sorted(WRONG)), json_values)
def test_no_value_in_any_field_ends_in_another_error(field: str, value: Any) -> None:
    base = STONE if field in {"redacted", "redaction_reason", "birth_digest"} else FULL
    wire = {**base, field: value}
    try:
        record = MemoryRecord.model_validate(wire)
    except errors.RecordError:
        return
    assert MemoryRecord.model_validate(record.model_dump()) == record


@given(json_values)
def test_no_value_at_all_ends_in_another_error(value: Any) -> None:
    for read in (MemoryRecord.model_validate, MemoryFile.model_validate, Extension.from_wire, Scope.from_wire):
        try:
            read(value)
        except errors.RecordError:
            continue


# ------------------------------------------------------------------------------------------------------- round trips


@given(records)
def test_a_record_survives_the_wire_and_its_canonical_bytes(record: MemoryRecord) -> None:
    assert MemoryRecord.model_validate(record.model_dump()) == record
    canonical = record.canonical_bytes()
    read = MemoryRecord.model_validate(parse_json(canonical, "record"))
    assert read == record
    assert read.canonical_bytes() == canonical
    assert hash(read) == hash(record)


def test_the_order_and_the_whole_of_the_wire_form() -> None:
    record = MemoryRecord.create("fact", "x", Provenance(kind="k"), created_at=BORN)
    assert record.model_dump() == {
        "id": record.id, "type": "fact", "body": "x", "slots": {}, "state": "active", "confidence": "1.0000",
        "created_at": "2026-01-01T00:00:00.000Z", "updated_at": "2026-01-01T00:00:00.000Z",
        "provenance": {"kind": "k", "ref": None, "agent": None}, "evidence": [], "supersedes": None,
        "superseded_by": None, "transition": None, "state_reason": None, "tags": [], "flagged": False,
        "flag_reason": None, "signed_by": None, "signature": "",
    }  # fmt: skip


# ----------------------------------------------------------------------------------------------------- unknown fields


def test_unknown_fields_survive_at_every_level() -> None:
    read = MemoryRecord.model_validate(FULL)
    assert read.extra == {"x-r": {"a": [1]}}
    assert read.provenance.extra == {"x-p": 1}
    assert read.transition is not None
    assert read.transition.extra == {"x-t": 1}
    assert read.extension.extra == {"x-e": 1}
    assert read.scope.extra == {"x-s": 1}
    assert read.model_dump() == FULL
    file = MemoryFile.model_validate(FILE)
    assert file.extra == {"x-f": 1}
    assert file.model_dump() == FILE


@pytest.mark.parametrize(
    "path",
    [("x-r",), ("provenance", "x-p"), ("transition", "x-t"), ("agent_memory", "x-e"), ("agent_memory", "scope", "x-s")],
)
def test_unknown_fields_are_signed(path: tuple[str, ...]) -> None:
    keys = fg_agent_id.KeyPair.generate()
    address = fg_agent_id.address_from_signing_key(keys.public.signing)
    signed = disputed().sign(keys, address)
    signed.verify()
    wire = json.loads(json.dumps(signed.model_dump()))
    holder = wire
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = "changed"
    if path[0] == "provenance":
        with pytest.raises(errors.RecordError, match="content address"):
            MemoryRecord.model_validate(wire)
        return
    with pytest.raises(errors.signature_mismatch()):
        MemoryRecord.model_validate(wire).verify()
    del holder[path[-1]]
    with pytest.raises(errors.signature_mismatch()):
        MemoryRecord.model_validate(wire).verify()


@pytest.mark.parametrize("name", sorted(MemoryRecord._KNOWN))
def test_an_unknown_field_cannot_shadow_a_known_one(name: str) -> None:
    with pytest.raises(errors.RecordError, match="shadow"):
        MemoryRecord.create("fact", "x", Provenance(kind="k"), extra={name: "y"})


def test_no_level_can_be_shadowed() -> None:
    for build in (
        lambda: Provenance(kind="k", extra={"ref": "y"}),
        lambda: Transition(sides=(OTHER, "mem:" + "c" * 32), reason="r", extra={"reason": "y"}),
        lambda: Extension(extra={"key": "y"}),
        lambda: Scope(extra={"user_id": "y"}),
        lambda: MemoryFile(created_at=BORN, extra={"records": []}),
    ):
        with pytest.raises(errors.RecordError, match="shadow"):
            build()


@pytest.mark.parametrize("extra", [None, [], "", 0, False, "text", 5, ["a"], {1: 2}])
def test_what_is_no_object_holds_no_unknown_fields(extra: Any) -> None:
    for build in (
        lambda: MemoryRecord(
            type="fact", body="x", provenance=Provenance(kind="k"), created_at=BORN, updated_at=BORN, extra=extra
        ),
        lambda: Provenance(kind="k", extra=extra),
        lambda: Transition(sides=(OTHER, "mem:" + "c" * 32), reason="r", extra=extra),
        lambda: Extension(extra=extra),
        lambda: Scope(extra=extra),
        lambda: MemoryFile(created_at=BORN, extra=extra),
    ):
        with pytest.raises(errors.RecordTypeError, match="extra"):
            build()


@pytest.mark.parametrize("name", ["extra", "extension", "key", "scope", "value"])
def test_names_that_are_ours_in_python_are_unknown_on_the_wire(name: str) -> None:
    wire = {**MemoryRecord.create("fact", "x", Provenance(kind="k"), created_at=BORN).model_dump(), name: {"a": 1}}
    read = MemoryRecord.model_validate(wire)
    assert read.extra == {name: {"a": 1}}
    assert read.model_dump() == wire


# ------------------------------------------------------------------------------------------------------- reading JSON


@pytest.mark.parametrize("level", ["record", "slots", "provenance", "agent_memory", "scope", "extra"])
def test_a_key_twice_is_refused_at_every_level(level: str) -> None:
    inner = {
        "record": '"body":"a","body":"a"',
        "slots": '"slots":{"a":"b","a":"b"}',
        "provenance": '"provenance":{"kind":"k","kind":"k"}',
        "agent_memory": '"agent_memory":{"key":"k","key":"k"}',
        "scope": '"agent_memory":{"scope":{"project":"p","project":"p"}}',
        "extra": '"x":[{"a":1,"a":1}]',
    }[level]
    with pytest.raises(errors.RecordError, match="twice"):
        parse_json("{" + inner + "}", "record")


def test_integers_are_read_exactly_whatever_their_length() -> None:
    for digits in ("1" + "0" * 5000, "-" + "9" * 12_345, "7" * 4000, "-" + "8" * 4001):
        value = parse_json(f"[{digits}]", "number")[0]
        low = 10**1000
        assert abs(value) % low == int(digits[-1000:])
        assert (value < 0) == digits.startswith("-")
        assert abs(value) // 10 ** (len(digits.lstrip("-")) - 1) == int(digits.lstrip("-")[0])


@pytest.mark.parametrize(
    "data", [b"\xff", b"\x00", b"", b"{", b"[1,", b'"\\ud8', "\ufeff{}".encode(), b"nul", b"[" * 100_000]
)
def test_what_is_no_json_ends_in_a_record_error_that_names_its_source(data: bytes) -> None:
    with pytest.raises(errors.RecordError, match="brain"):
        parse_json(data, "brain.json")


# ----------------------------------------------------------------------------------------------------------- the peer


def is_normal_json(data: bytes) -> bool:
    """Whether the peer's bytes are JSON with normalised strings in the order canonical JSON has."""
    from agent_memory import kernel

    try:
        value = json.loads(data)
    except ValueError:
        return False
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode() == data and all(
        kernel.nfc(text) == text for text in strings(value)
    )


def strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [*value, *(text for item in value.values() for text in strings(item))]
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return []


@given(plain_records())
def test_a_plain_record_has_the_bytes_the_peer_gives_it(record: MemoryRecord) -> None:
    theirs = fg_agent_id.canonical_json(record.model_dump())
    if is_normal_json(theirs):
        assert record.canonical_bytes() == theirs


@given(plain_records())
def test_the_peer_reads_a_plain_record_and_writes_it_back(record: MemoryRecord) -> None:
    wire = record.model_dump()
    birth = fg_agent_id.canonical_json(record.birth_content())
    if not is_normal_json(birth):
        return
    theirs = peer.MemoryRecord.model_validate(wire)
    assert theirs.id == record.id
    assert MemoryRecord.model_validate(theirs.model_dump()) == record


@given(records)
def test_the_peer_carries_the_extension_along(record: MemoryRecord) -> None:
    wire = record.model_dump()
    if (
        record.provenance.extra
        or (record.transition is not None and record.transition.extra)
        or not is_normal_json(fg_agent_id.canonical_json(record.birth_content()))
    ):
        return
    theirs = peer.MemoryRecord.model_validate(wire)
    assert MemoryRecord.model_validate(theirs.model_dump()) == record


def test_a_record_made_by_the_peer_is_read_here_with_the_same_id_and_bytes() -> None:
    theirs = peer.MemoryRecord.create(
        peer.RecordType.FACT,
        "Sandro lives in Austin — très bien.",
        peer.Provenance(kind="conversation", ref="r", agent="a"),
        slots={"sandro": "austin"},
        confidence=0.25,
        tags=("home",),
        created_at=BORN,
        occurred_at=BORN,
        extra={"x": [1, {"y": None}]},
    )
    ours = MemoryRecord.model_validate(theirs.model_dump())
    assert ours.id == theirs.id
    assert ours.model_dump() == theirs.model_dump()
    assert ours.canonical_bytes() == fg_agent_id.canonical_json(theirs.model_dump())


def test_a_tombstone_made_by_the_peer_is_one_here() -> None:
    born = peer.MemoryRecord.create(peer.RecordType.FACT, "secret", peer.Provenance(kind="k"), created_at=BORN)
    theirs = peer.MemoryRecord.tombstone(born, reason="r", now=BORN)
    ours = MemoryRecord.model_validate(theirs.model_dump())
    assert ours == MemoryRecord.tombstone(MemoryRecord.model_validate(born.model_dump()), reason="r", now=BORN)

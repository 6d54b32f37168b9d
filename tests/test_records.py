"""The record as a value: what it is made of, that it cannot change, and that its id is its content's address."""

from __future__ import annotations

import copy
import json
import pickle
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from fg_agent_id import KeyPair, SignatureError, address_from_signing_key
from hypothesis import given
from hypothesis import strategies as st

from agent_memory import errors, kernel
from agent_memory.extension import Extension, Outcome, Scope, Standing
from agent_memory.frozen import MAX_DEPTH
from agent_memory.records import (
    MemoryRecord,
    Provenance,
    RecordState,
    RecordType,
    Transition,
    confidence_from_wire,
    confidence_to_wire,
)
from strategies import records

BORN = datetime(2026, 1, 1, tzinfo=UTC)
LATER = datetime(2026, 2, 1, tzinfo=UTC)
HERE = Provenance(kind="conversation")
OTHER = "mem:" + "b" * 32


def fact(body: str = "The build runs nightly.", **fields: Any) -> MemoryRecord:
    return MemoryRecord.create("fact", body, fields.pop("provenance", HERE), created_at=BORN, **fields)


@pytest.fixture(scope="module")
def keys() -> KeyPair:
    return KeyPair.generate()


def address(keys: KeyPair) -> str:
    return str(address_from_signing_key(keys.public.signing))


# ------------------------------------------------------------------------------------------------------ identity


def test_the_id_covers_the_birth_content_and_nothing_else() -> None:
    record = fact(slots={"a": "b"})
    assert record.id == "mem:" + kernel.digest(record.birth_content())[:32]
    same = fact(slots={"a": "b"}, tags=["x"], confidence=0.5, evidence=[OTHER], supersedes=OTHER, occurred_at=LATER)
    assert same.id == record.id
    for other in (
        fact("Another body.", slots={"a": "b"}),
        fact(slots={"a": "c"}),
        fact(slots={"a": "b"}, provenance=Provenance(kind="conversation", ref="r")),
        fact(slots={"a": "b"}, provenance=Provenance(kind="conversation", extra={"x": 1})),
        MemoryRecord.create("episode", record.body, HERE, slots={"a": "b"}, created_at=BORN),
        MemoryRecord.create("fact", record.body, HERE, slots={"a": "b"}, created_at=BORN + timedelta(milliseconds=1)),
    ):
        assert other.id != record.id


def test_the_extension_is_no_part_of_the_id() -> None:
    assert fact(extension=Extension(key="k", value=7, author="user")).id == fact().id


def test_provenance_as_it_stands_on_the_wire_is_part_of_the_id() -> None:
    assert fact().birth_content()["provenance"] == {"kind": "conversation", "ref": None, "agent": None}


def test_a_forged_id_is_refused() -> None:
    with pytest.raises(errors.RecordError, match="content address"):
        MemoryRecord(id=OTHER, type="fact", body="x", created_at=BORN, updated_at=BORN, provenance=HERE)


def test_equal_birth_content_spelled_in_two_ways_has_one_id() -> None:
    assert fact("cafe\u0301", slots={"e\u0301": "A\u030a"}) == fact("caf\u00e9", slots={"\u00e9": "\u00c5"})


def test_a_state_change_never_renames_a_record() -> None:
    record = fact()
    assert record.evolve({"state": "archived", "tags": ["x"], "updated_at": LATER}).id == record.id


# ------------------------------------------------------------------------- in memory it is what it will be on disk


def test_text_is_normalised_at_construction() -> None:
    record = fact(
        "e\u0301",
        slots={"e\u0301": "e\u0301"},
        tags=["e\u0301"],
        provenance=Provenance(kind="e\u0301", ref="e\u0301", extra={"e\u0301": ["e\u0301"]}),
        extra={"e\u0301": {"e\u0301": "e\u0301"}},
        extension=Extension(key="e\u0301", scope=Scope(project="e\u0301", extra={"e\u0301": 1}), extra={"e\u0301": 2}),
    ).evolve({"state_reason": "e\u0301"})
    assert "e\u0301" not in repr(record)
    assert record.extension.scope.project == record.key == record.body == "\u00e9"
    assert MemoryRecord.model_validate(record.model_dump()) == record


def test_a_transition_is_normalised_with_its_record() -> None:
    record = fact()
    block = Transition(sides=(record.id, OTHER), reason="e\u0301", extra={"e\u0301": "e\u0301"})
    held = record.evolve({"state": "transitional", "transition": block}).transition
    assert held == Transition(sides=(record.id, OTHER), reason="\u00e9", extra={"\u00e9": "\u00e9"})


@pytest.mark.parametrize("text", ["a\n\u0303b", '"\u0301', "\\\u0300", "\t\u0323", "\x1f\u0308"])
def test_an_escape_beside_a_combining_mark_survives(text: str) -> None:
    record = fact(f"said {text}", slots={text + "k": text + "v"}, tags=[text + "t"])
    again = MemoryRecord.model_validate(json.loads(record.canonical_bytes()))
    assert again == record
    assert again.body == f"said {text}"


def test_confidence_is_held_with_four_decimals() -> None:
    assert fact(confidence=0.12345678).confidence == 0.1235
    assert fact(confidence=1).confidence == 1.0
    assert str(fact(confidence=-0.0).confidence) == "0.0"


def test_times_are_held_in_utc_and_whole_milliseconds() -> None:
    given_time = datetime(2026, 1, 1, 2, 0, 0, 123456, tzinfo=timezone(timedelta(hours=2)))
    record = MemoryRecord.create("fact", "x", HERE, created_at=given_time, occurred_at=given_time)
    assert record.created_at == record.occurred_at == BORN + timedelta(milliseconds=123)
    assert record.created_at.tzinfo is UTC
    assert record.model_dump()["created_at"] == "2026-01-01T00:00:00.123Z"


def test_a_subclass_of_datetime_becomes_a_datetime() -> None:
    class Stamp(datetime):
        """A datetime with a life of its own."""

    record = MemoryRecord.create("fact", "x", HERE, created_at=Stamp(2026, 1, 1, tzinfo=UTC, fold=1))
    assert type(record.created_at) is datetime
    assert record == MemoryRecord.create("fact", "x", HERE, created_at=BORN)


def test_a_naive_time_is_refused() -> None:
    for field in ("created_at", "occurred_at"):
        with pytest.raises(ValueError, match="timezone") as caught:
            MemoryRecord.create("fact", "x", HERE, **{"created_at": BORN, field: datetime(2026, 1, 1)})  # noqa: DTZ001
        assert isinstance(caught.value, errors.RecordError)
        assert field in str(caught.value)


@pytest.mark.parametrize("moment", [datetime(999, 12, 31, tzinfo=UTC), datetime.min.replace(tzinfo=UTC)])
def test_years_below_1000_are_refused(moment: datetime) -> None:
    with pytest.raises(errors.RecordValueError, match="1000"):
        MemoryRecord.create("fact", "x", HERE, created_at=moment)


@pytest.mark.parametrize(
    "moment",
    [
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=1))),
    ],
)
def test_a_time_outside_the_calendar_is_refused(moment: datetime) -> None:
    with pytest.raises(errors.RecordValueError, match="years"):
        MemoryRecord.create("fact", "x", HERE, created_at=moment)


def test_created_at_defaults_to_now() -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    record = MemoryRecord.create("fact", "x", HERE)
    assert before <= record.created_at <= datetime.now(UTC)
    assert record.updated_at == record.created_at


# ------------------------------------------------------------------------------------------------- it cannot change


def changes(record: MemoryRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record._fields}


def test_a_record_is_read_only() -> None:
    record = fact(
        slots={"a": "b"},
        tags=["t"],
        extra={"x": {"y": [1]}},
        provenance=Provenance(kind="k", extra={"p": [1]}),
        extension=Extension(key="k", extra={"e": [1]}, scope=Scope(project="p", extra={"s": [1]})),
    )
    before = record.model_dump()
    for name in (*record._fields, "key", "scope", "anything"):
        with pytest.raises(AttributeError):
            setattr(record, name, None)
        with pytest.raises(AttributeError):
            delattr(record, name)
    for held in (record.slots, record.extra, record.extra["x"], record.provenance.extra, record.extension.extra):
        for change in ("__setitem__", "update", "clear", "pop", "popitem", "setdefault", "__delitem__", "__ior__"):
            with pytest.raises(TypeError, match="read-only"):
                getattr(held, change)("a", "b")
    for held in (record.extra["x"]["y"], record.provenance.extra["p"], record.scope.extra["s"]):
        for change in ("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "__setitem__"):
            with pytest.raises(TypeError, match="read-only"):
                getattr(held, change)(0)
    for part in (record.provenance, record.extension, record.scope):
        with pytest.raises(AttributeError):
            part.extra = {}
    assert record.model_dump() == before


def test_changing_what_was_passed_in_changes_nothing() -> None:
    slots, tags, evidence = {"a": "b"}, ["t"], [OTHER]
    inner: list[Any] = [1]
    extra = {"x": {"y": inner}}
    provenance_extra, extension_extra, scope_extra = {"p": inner}, {"e": inner}, {"s": inner}
    record = fact(
        slots=slots,
        tags=tags,
        evidence=evidence,
        extra=extra,
        provenance=Provenance(kind="k", extra=provenance_extra),
        extension=Extension(extra=extension_extra, scope=Scope(extra=scope_extra)),
    )
    before = record.model_dump()
    canonical = record.canonical_bytes()
    slots["a"] = slots["z"] = "changed"
    tags.append("changed")
    evidence.clear()
    inner.append("changed")
    for given_dict in (extra, provenance_extra, extension_extra, scope_extra):
        given_dict["changed"] = {}
    assert record.model_dump() == before
    assert record.canonical_bytes() == canonical
    assert MemoryRecord.model_validate(before) == record
    assert record.evolve({"tags": ["later"]}).id == record.id


@given(records)
def test_a_wire_form_is_plain_json_and_changing_it_changes_no_record(record: MemoryRecord) -> None:
    wire = record.model_dump()
    read = MemoryRecord.model_validate(wire)
    spoil(wire)
    assert read == record
    dumped = read.model_dump()
    assert is_plain(dumped)
    spoil(dumped)
    assert read.model_dump() == record.model_dump()


def spoil(value: Any) -> None:
    """Changes every dict and list in a value."""
    if isinstance(value, dict):
        for inner in value.values():
            spoil(inner)
        value.clear()
        value["spoilt"] = True
    if isinstance(value, list):
        for inner in value:
            spoil(inner)
        value.append("spoilt")


def is_plain(value: Any) -> bool:
    if type(value) is dict:
        return all(type(key) is str and is_plain(item) for key, item in value.items())
    if type(value) is list:
        return all(map(is_plain, value))
    return value is None or type(value) in {str, int, bool}


@given(records)
def test_records_are_hashable_picklable_and_copyable(record: MemoryRecord) -> None:
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(record, protocol)) == record
    assert copy.deepcopy(record) == copy.copy(record) == record
    assert len({record, copy.deepcopy(record), pickle.loads(pickle.dumps(record))}) == 1
    for part in (record.provenance, record.transition, record.extension, record.scope, record.standing):
        assert len({part, pickle.loads(pickle.dumps(part)), copy.deepcopy(part)}) == 1
        assert repr(part)


def test_records_differ_by_every_field() -> None:
    record = fact()
    for change in (
        {"confidence": 0.5}, {"updated_at": LATER}, {"occurred_at": LATER}, {"evidence": [OTHER]},
        {"supersedes": OTHER}, {"state": "superseded", "superseded_by": OTHER},
        {"state_reason": "r"}, {"tags": ["t"]}, {"signed_by": "a"},
        {"signature": "s"}, {"key": "k"}, {"value": 2}, {"extra": {"x": 1}},
    ):  # fmt: skip
        assert record.model_copy(change) != record
    assert record != record.model_dump()
    assert record != "x"


# ------------------------------------------------------------------------------------------------- one kernel call


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    made: list[str] = []
    originals = {name: getattr(kernel, name) for name in kernel.__all__}
    for name, original in originals.items():

        def counted(*arguments: Any, _name: str = name, _call: Any = original) -> Any:
            made.append(_name)
            return _call(*arguments)

        monkeypatch.setattr(kernel, name, counted)
    return made


def test_building_a_record_costs_one_kernel_call(calls: list[str]) -> None:
    record = fact(slots={"a": "b"}, tags=["t"], provenance=Provenance(kind="k", ref="r"), extension=Extension(key="k"))
    assert calls == ["seal"]
    wire = record.model_dump()
    assert calls == ["seal"]
    MemoryRecord.model_validate(wire)
    assert calls == ["seal", "seal"]
    record.evolve({"state": "archived"})
    assert calls == ["seal", "seal", "seal"]


# --------------------------------------------------------------------------------------------- versions of a record


def test_evolve_clears_the_signature(keys: KeyPair) -> None:
    signed = fact().sign(keys, address(keys))
    for version in (signed.evolve({"tags": ["t"]}), signed.evolve(update={"tags": ["t"]}), signed.evolve()):
        assert version.signed_by is None
        assert version.signature == ""
    signed.verify()


def test_model_copy_keeps_the_signature_and_checks_again(keys: KeyPair) -> None:
    signed = fact().sign(keys, address(keys))
    assert signed.model_copy().signature == signed.signature
    changed = signed.model_copy(update={"confidence": 0.5})
    assert changed.signature == signed.signature
    with pytest.raises(SignatureError):
        changed.verify()
    with pytest.raises(errors.RecordError, match="superseded_by"):
        signed.model_copy(update={"superseded_by": OTHER})


def test_a_change_of_the_extension_names_its_member() -> None:
    record = fact(extension=Extension(key="k", author="user"))
    changed = record.evolve({"standing": Standing(1, 0), "value": 3})
    assert (changed.key, changed.author, changed.standing, changed.value) == ("k", "user", Standing(1, 0), 3.0)
    assert record.standing is None


def test_a_change_of_no_field_is_refused() -> None:
    with pytest.raises(errors.RecordError, match="colour"):
        fact().evolve({"colour": "red"})
    with pytest.raises(errors.RecordTypeError):
        fact().evolve([("tags", ["t"])])  # type: ignore[arg-type]
    with pytest.raises(errors.RecordTypeError):
        fact().model_copy("tags")  # type: ignore[arg-type]


def test_birth_content_cannot_evolve() -> None:
    for change in ({"body": "Other."}, {"type": "episode"}, {"slots": {"a": "b"}}, {"created_at": LATER}):
        with pytest.raises(errors.RecordError, match="content address"):
            fact().evolve(change)


# --------------------------------------------------------------------------------------------- rules between fields


def test_a_rule_needs_evidence() -> None:
    with pytest.raises(errors.RecordError, match="evidence"):
        MemoryRecord.create("rule", "Always check.", HERE, created_at=BORN)


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        ({"state": "superseded"}, "successor"),
        ({"superseded_by": OTHER}, "superseded_by"),
        ({"state": "transitional"}, "transition"),
        ({"flagged": True}, "rule"),
        ({"flag_reason": "r"}, "rule"),
        ({"birth_digest": "a" * 64}, "birth_digest"),
        ({"redaction_reason": "r"}, "redaction_reason"),
        ({"redacted": True}, "birth_digest"),
    ],
)
def test_fields_that_contradict_each_other_are_refused(change: dict[str, Any], fragment: str) -> None:
    with pytest.raises(errors.RecordError, match=fragment):
        fact().model_copy(update=change)


def test_a_transition_needs_its_state_and_its_own_record() -> None:
    record = fact()
    block = Transition(sides=(record.id, OTHER), reason="conflict")
    with pytest.raises(errors.RecordError, match="transition"):
        record.evolve({"transition": block})
    elsewhere = Transition(sides=(OTHER, "mem:" + "c" * 32), reason="conflict")
    with pytest.raises(errors.RecordError, match="transition"):
        record.evolve({"state": "transitional", "transition": elsewhere})
    assert record.evolve({"state": "transitional", "transition": block}).transition is not None


@pytest.mark.parametrize(
    "sides", [(OTHER, OTHER), (OTHER,), (), (OTHER, "mem:" + "c" * 32, "mem:" + "d" * 32), (OTHER, "x"), ("a", "b")]
)
def test_the_sides_of_a_transition_are_two_different_ids(sides: tuple[str, ...]) -> None:
    with pytest.raises(errors.RecordError, match="sides"):
        Transition(sides=sides, reason="conflict")


def test_a_transition_needs_a_reason() -> None:
    with pytest.raises(errors.RecordError, match="reason"):
        Transition(sides=(OTHER, "mem:" + "c" * 32), reason="")


def test_the_sides_of_a_transition_become_a_tuple() -> None:
    block = Transition(sides=[OTHER, "mem:" + "c" * 32], reason="conflict")
    assert block.sides == (OTHER, "mem:" + "c" * 32)
    assert block.other(OTHER) == "mem:" + "c" * 32


def test_a_provenance_needs_a_kind() -> None:
    with pytest.raises(errors.RecordError, match="kind"):
        Provenance(kind="")


@pytest.mark.parametrize("body", ["", " ", "\n\t", "\u3000"])
def test_a_record_must_say_something(body: str) -> None:
    with pytest.raises(ValueError, match="body") as caught:
        fact(body)
    assert isinstance(caught.value, errors.RecordError)


# -------------------------------------------------------------------------------------------------- strange content


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


def test_what_a_record_may_nest_fits_in_a_file() -> None:
    from agent_memory.memory_file import MemoryFile

    deepest = nested(MAX_DEPTH)
    record = fact(
        extra={"x": deepest},
        provenance=Provenance(kind="k", extra={"x": deepest}),
        extension=Extension(extra={"x": deepest}, scope=Scope(extra={"x": deepest})),
    )
    assert MemoryFile.create([record], created_at=BORN).canonical_bytes()


def test_deeper_nesting_is_refused() -> None:
    for levels in (MAX_DEPTH + 1, 300, 5000):
        deep = nested(levels)
        for build in (
            lambda deep=deep: fact(extra={"x": deep}),
            lambda deep=deep: Provenance(kind="k", extra={"x": deep}),
            lambda deep=deep: Extension(extra={"x": deep}),
            lambda deep=deep: Scope(extra={"x": deep}),
            lambda deep=deep: Transition(sides=(OTHER, "mem:" + "c" * 32), reason="r", extra={"x": deep}),
        ):
            with pytest.raises(errors.RecordValueError, match="deeper"):
                build()


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(errors.RecordValueError):
        fact(extra={"x": loop})


@pytest.mark.parametrize(
    "value", [1.5, float("nan"), "\ud800", {"\u00e9": 1, "e\u0301": 2}, {1: 2}, {1, 2}, b"x", object(), BORN]
)
def test_what_has_no_canonical_json_is_refused_wherever_it_stands(value: Any) -> None:
    record = fact()
    for build in (
        lambda: fact(extra={"x": value}),
        lambda: fact(extra={"x": [{"y": value}]}),
        lambda: fact(provenance=Provenance(kind="k", extra={"x": value})),
        lambda: fact(extension=Extension(extra={"x": value})),
        lambda: fact(extension=Extension(scope=Scope(extra={"x": value}))),
        lambda: record.evolve(
            {
                "state": "transitional",
                "transition": Transition(sides=(record.id, OTHER), reason="r", extra={"x": value}),
            }
        ),
    ):
        with pytest.raises(errors.RecordError) as caught:
            build()
        assert isinstance(caught.value, ValueError | TypeError)


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
def test_a_lone_surrogate_is_refused_in_every_text(text: str) -> None:
    for build in (
        lambda: fact(text),
        lambda: fact(tags=[text]),
        lambda: fact(slots={text: "a"}),
        lambda: fact(slots={"a": text}),
        lambda: fact(evidence=[text]),
        lambda: fact(supersedes=text),
        lambda: fact().evolve({"state_reason": text}),
        lambda: fact().model_copy({"signed_by": text}),
        lambda: fact().model_copy({"signature": text}),
        lambda: Provenance(kind=text),
        lambda: Provenance(kind="k", ref=text),
        lambda: fact(extension=Extension(key=text)),
        lambda: fact(extension=Extension(scope=Scope(user_id=text))),
        lambda: MemoryRecord.tombstone(fact(), reason=text),
    ):
        with pytest.raises(errors.RecordValueError, match="surrogate"):
            build()


def test_slots_whose_subjects_become_equal_are_refused() -> None:
    with pytest.raises(errors.RecordValueError, match="equal"):
        fact(slots={"\u00e9": "a", "e\u0301": "b"})


@given(st.integers(-(10**400), 10**400))
def test_integers_of_any_size_are_exact(number: int) -> None:
    record = fact(extra={"x": number})
    assert MemoryRecord.model_validate(record.model_dump()).extra["x"] == number
    assert str(number).encode() in record.canonical_bytes()


# ------------------------------------------------------------------------------------------------------- tombstones


def full() -> MemoryRecord:
    return fact(
        "The key is hunter2.",
        slots={"key": "hunter2"},
        tags=["hunter2"],
        confidence=0.7,
        evidence=[OTHER],
        supersedes="mem:" + "c" * 32,
        occurred_at=LATER,
        provenance=Provenance(kind="conversation", ref="hunter2", agent="hunter2", extra={"x": "hunter2"}),
        extra={"x": "hunter2"},
        extension=Extension(
            key="hunter2",
            object="hunter2",
            value=9,
            scope=Scope(project="apollo", user_id="hunter2", session_id="hunter2", extra={"x": "hunter2"}),
            standing=Standing(1, 1),
            outcome=Outcome(at=LATER, reason="hunter2", by="hunter2"),
            typed=True,
            author="hunter2",
            supersedes_also=("mem:" + "d" * 32,),
            declared=True,
            extra={"x": "hunter2"},
        ),
    )


def test_a_tombstone_keeps_the_links_and_nothing_that_was_said(keys: KeyPair) -> None:
    original = full().sign(keys, address(keys))
    original = original.model_copy({"state": "superseded", "superseded_by": OTHER, "state_reason": "hunter2"})
    stone = MemoryRecord.tombstone(original, reason="asked to forget", now=LATER)
    assert stone.model_dump() == {
        "id": original.id,
        "type": "fact",
        "body": "[redacted]",
        "slots": {},
        "state": "archived",
        "confidence": "0.0000",
        "created_at": "2026-01-01T00:00:00.000Z",
        "updated_at": "2026-02-01T00:00:00.000Z",
        "provenance": {"kind": "redaction", "ref": None, "agent": None},
        "evidence": [OTHER],
        "supersedes": "mem:" + "c" * 32,
        "superseded_by": OTHER,
        "transition": None,
        "state_reason": None,
        "tags": [],
        "flagged": False,
        "flag_reason": None,
        "signed_by": None,
        "signature": "",
        "redacted": True,
        "redaction_reason": "asked to forget",
        "birth_digest": kernel.digest(original.birth_content()),
        "agent_memory": {
            "scope": {"project": "apollo"},
            "supersedes_also": ["mem:" + "d" * 32],
            "declared": True,
        },
    }
    assert stone.birth_digest is not None
    assert stone.id == "mem:" + stone.birth_digest[:32]
    assert b"hunter2" not in stone.canonical_bytes()
    assert stone.body == MemoryRecord.REDACTED_BODY
    assert MemoryRecord.model_validate(stone.model_dump()) == stone


def test_a_tombstone_of_a_plain_record_has_no_extension() -> None:
    assert "agent_memory" not in MemoryRecord.tombstone(fact(), reason="r").model_dump()


def test_a_tombstone_of_a_flagged_rule_and_of_a_disputed_record() -> None:
    rule = MemoryRecord.create("rule", "Always.", HERE, evidence=[OTHER], created_at=BORN)
    stone = MemoryRecord.tombstone(rule.evolve({"flagged": True, "flag_reason": "secret"}), reason="r")
    assert (stone.flagged, stone.flag_reason, stone.evidence) == (False, None, (OTHER,))
    record = fact()
    disputed = record.evolve(
        {"state": "transitional", "transition": Transition(sides=(record.id, OTHER), reason="secret")}
    )
    assert MemoryRecord.tombstone(disputed, reason="r").transition is None


def test_a_record_cannot_be_subclassed() -> None:
    with pytest.raises(TypeError, match="subclassed") as caught:
        type("Mine", (MemoryRecord,), {})
    assert not isinstance(caught.value, errors.AgentMemoryError)


def test_a_tombstone_is_final_and_needs_a_reason() -> None:
    stone = MemoryRecord.tombstone(fact(), reason="r")
    with pytest.raises(errors.RecordError, match="redacted already"):
        MemoryRecord.tombstone(stone, reason="again")
    for reason in ("", "  ", None, 5):
        with pytest.raises(errors.RecordError, match="reason"):
            MemoryRecord.tombstone(fact(), reason=reason)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [
        {"body": "hunter2"}, {"slots": {"a": "b"}}, {"state": "superseded", "superseded_by": OTHER},
        {"confidence": 0.1}, {"occurred_at": LATER}, {"provenance": HERE},
        {"provenance": Provenance(kind="redaction", ref="hunter2")},
        {"state_reason": "hunter2"}, {"tags": ["hunter2"]}, {"signed_by": "a"}, {"signature": "s"}, {"key": "hunter2"},
        {"value": 2}, {"author": "hunter2"}, {"scope": Scope(project="apollo", user_id="hunter2")},
        {"standing": Standing(1, 0)}, {"extra": {"x": "hunter2"}}, {"birth_digest": "a" * 64}, {"birth_digest": None},
        {"redaction_reason": None}, {"redaction_reason": ""}, {"redacted": False},
    ],
)  # fmt: skip
def test_a_tombstone_is_exactly_that(change: dict[str, Any]) -> None:
    stone = MemoryRecord.tombstone(full(), reason="r")
    with pytest.raises(errors.RecordError) as caught:
        stone.model_copy(change)
    assert "hunter2" not in str(caught.value)


# ------------------------------------------------------------------------------------------------ as the peer has it


@pytest.mark.parametrize("value", [-0.1, 1.5, "2.0", "nope", None, True, float("nan"), 10**400])
def test_what_is_no_confidence(value: Any) -> None:
    with pytest.raises(errors.RecordError):
        confidence_to_wire(value)
    with pytest.raises(errors.RecordError):
        confidence_from_wire(value)


def test_confidence_on_the_wire() -> None:
    assert confidence_to_wire(0.5) == "0.5000"
    assert confidence_from_wire("0.5000") == 0.5


def test_enums_are_strings() -> None:
    assert [str(kind) for kind in RecordType] == ["fact", "episode", "procedure", "rule"]
    assert [str(state) for state in RecordState] == ["active", "superseded", "transitional", "archived"]


def test_a_record_says_what_it_replaces_and_when_it_happened() -> None:
    first, second = "mem:" + "1" * 32, "mem:" + "2" * 32
    record = fact(supersedes=second, extension=Extension(supersedes_also=(second, first)), occurred_at=LATER)
    assert record.replaces == (second, first)
    assert record.event_time == LATER
    assert fact().event_time == BORN
    assert fact().replaces == ()


def test_errors_quote_nothing_a_record_says() -> None:
    secret = "hunter2"
    for build in (
        lambda: fact(secret).evolve({"body": secret + "!"}),
        lambda: fact(secret).model_copy({"id": secret}),
        lambda: fact(slots={secret: 5}),
        lambda: fact(slots={5: secret}),
        lambda: fact(slots={secret + " is a spy": "\ud800"}),
        lambda: fact(extra={"x": {secret + " holds a lone surrogate": 1.5}}),
        lambda: fact(tags=[secret, 5]),
        lambda: MemoryRecord.create(secret, "x", HERE),
        lambda: fact(secret, confidence=secret),
    ):
        with pytest.raises(errors.RecordError) as caught:
            build()
        assert secret not in str(caught.value)

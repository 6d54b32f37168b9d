"""The memory file: one agent's memory as a value its owner signs."""

from __future__ import annotations

import copy
import json
import pickle
from datetime import UTC, datetime
from typing import Any

import fg_agent_id
import fg_agent_memory as peer
import pytest
from fg_agent_id import KeyPair, SignatureError, address_from_signing_key
from hypothesis import given
from hypothesis import strategies as st

from agent_memory import errors
from agent_memory.extension import Extension, Scope
from agent_memory.memory_file import MemoryFile
from agent_memory.records import MemoryRecord, Provenance
from agent_memory.wire import parse_json
from strategies import plain_records, records, times, unknown

BORN = datetime(2026, 1, 1, tzinfo=UTC)
KEYS, OTHER_KEYS = KeyPair.generate(), KeyPair.generate()
ADDRESS = str(address_from_signing_key(KEYS.public.signing))
OTHER_ADDRESS = str(address_from_signing_key(OTHER_KEYS.public.signing))


def fact(body: str, **fields: Any) -> MemoryRecord:
    return MemoryRecord.create("fact", body, Provenance(kind="conversation"), created_at=BORN, **fields)


def owned(*held: MemoryRecord) -> MemoryFile:
    return MemoryFile.create(held or (fact("a"), fact("b")), agent=ADDRESS, created_at=BORN)


files = st.builds(
    MemoryFile,
    agent=st.none() | st.just(ADDRESS),
    created_at=times,
    records=st.lists(records, max_size=2, unique_by=lambda record: record.id),
    extra=st.just({}) | unknown(MemoryFile._KNOWN),
)


@given(files)
def test_a_file_survives_the_wire_and_its_bytes(file: MemoryFile) -> None:
    assert MemoryFile.model_validate(file.model_dump()) == file
    read = MemoryFile.model_validate(parse_json(file.canonical_bytes(), "file"))
    assert read == file.model_copy({"signature": ""})
    assert pickle.loads(pickle.dumps(file)) == file
    assert copy.deepcopy(file) == file
    assert hash(copy.deepcopy(file)) == hash(file)


@given(files)
def test_a_signed_file_verifies_whatever_it_holds(file: MemoryFile) -> None:
    signed = file.model_copy({"agent": ADDRESS}).sign(KEYS)
    signed.verify()
    MemoryFile.model_validate(json.loads(json.dumps(signed.model_dump(), indent=2))).verify()


def test_the_wire_form() -> None:
    record = fact("a")
    assert MemoryFile.create([record], created_at=BORN).model_dump() == {
        "format": "fg-agent-memory/0.1",
        "agent": None,
        "created_at": "2026-01-01T00:00:00.000Z",
        "records": [record.model_dump()],
        "signature": "",
    }


def test_canonical_bytes_leave_the_signature_out() -> None:
    assert owned().canonical_bytes() == owned().sign(KEYS).canonical_bytes()


def test_the_time_of_a_file_defaults_to_now() -> None:
    assert MemoryFile.create([]).created_at.microsecond % 1000 == 0


# ------------------------------------------------------------------------------------------------------- signatures


def test_only_its_agent_signs_a_file() -> None:
    with pytest.raises(errors.RecordError, match="agent"):
        MemoryFile.create([fact("a")]).sign(KEYS)
    with pytest.raises(errors.RecordError, match="agent"):
        owned().sign(OTHER_KEYS)


def test_an_unsigned_or_stripped_file_is_not_signed() -> None:
    for file in (
        owned(),
        owned().sign(KEYS).model_copy({"signature": ""}),
        owned().sign(KEYS).model_copy({"agent": None}),
    ):
        with pytest.raises(errors.RecordError, match="not signed"):
            file.verify()


@pytest.mark.parametrize(
    "change",
    [
        {"records": ()},
        {"records": (fact("a"),)},
        {"records": (fact("b"), fact("a"))},
        {"records": (fact("a"), fact("b"), fact("c"))},
        {"records": (fact("a"), fact("b", tags=["x"]))},
        {"created_at": datetime(2027, 1, 1, tzinfo=UTC)},
        {"agent": OTHER_ADDRESS},
        {"extra": {"x": 1}},
    ],
)
def test_a_changed_file_does_not_verify(change: dict[str, Any]) -> None:
    with pytest.raises(SignatureError) as caught:
        owned().sign(KEYS).model_copy(change).verify()
    assert isinstance(caught.value, errors.RecordError)


def test_swapped_signatures_do_not_verify() -> None:
    with pytest.raises(SignatureError):
        owned().sign(KEYS).model_copy({"signature": owned(fact("z")).sign(KEYS).signature}).verify()


def test_every_record_that_names_a_signer_is_verified() -> None:
    signed = [fact(f"note {number}").sign(KEYS, ADDRESS) for number in range(20)]
    assert owned(fact("unsigned"), *signed).verify_records() == 20
    assert owned(fact("unsigned")).verify_records() == 0
    forged = signed[7].model_copy({"confidence": 0.5})
    with pytest.raises(SignatureError, match=forged.id):
        owned(*signed[:7], forged, *signed[8:]).verify_records()
    swapped = signed[7].model_copy({"signature": signed[8].signature})
    with pytest.raises(SignatureError, match=swapped.id):
        owned(*signed[:7], swapped, *signed[8:]).verify_records()


@pytest.mark.parametrize("change", [{"signature": ""}, {"signed_by": None}, {"signed_by": ""}])
def test_half_a_signature_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(errors.RecordError, match="half a signature"):
        owned(fact("a").sign(KEYS, ADDRESS).model_copy(change)).verify_records()


def test_a_signer_that_is_no_address_is_refused() -> None:
    with pytest.raises(errors.RecordError, match="address"):
        owned(fact("a").model_copy({"signed_by": "nonsense", "signature": "AAAA"})).verify_records()


# -------------------------------------------------------------------------------------------------- what is refused


def test_a_record_cannot_stand_in_a_file_twice() -> None:
    record = fact("a")
    with pytest.raises(errors.RecordError, match="twice"):
        MemoryFile.create([record, record.evolve({"tags": ["x"]})])
    with pytest.raises(errors.RecordError, match=r"records\[1\].*twice"):
        MemoryFile.model_validate({**owned().model_dump(), "records": [record.model_dump()] * 2})


@pytest.mark.parametrize("records_given", [None, 5, "text", b"x", {"a": 1}, [None], [5], [{}], ["text"]])
def test_a_file_holds_records(records_given: Any) -> None:
    with pytest.raises(errors.RecordTypeError, match="records"):
        MemoryFile(created_at=BORN, records=records_given)


@pytest.mark.parametrize("name", ["fg-agent-memory/0.2", "", "FG-AGENT-MEMORY/0.1", "other"])
def test_an_unknown_format_is_refused(name: str) -> None:
    with pytest.raises(errors.RecordError, match="format"):
        MemoryFile(format=name, created_at=BORN)


def test_a_change_of_no_field_is_refused() -> None:
    with pytest.raises(errors.RecordError, match="colour"):
        owned().model_copy({"colour": "red"})
    with pytest.raises(errors.RecordTypeError):
        owned().model_copy([("agent", None)])  # type: ignore[arg-type]


def test_a_file_is_read_only() -> None:
    file = owned().model_copy({"extra": {"x": [1]}})
    with pytest.raises(AttributeError):
        file.agent = None  # type: ignore[misc]
    with pytest.raises(TypeError):
        file.extra["x"] = 2  # type: ignore[index]
    dumped = file.model_dump()
    dumped["x"].append(2)
    dumped["records"][0]["tags"].append("changed")
    dumped["records"].clear()
    assert file.model_dump() != dumped
    assert file == owned().model_copy({"extra": {"x": [1]}})


def test_a_header_is_normalised_and_checked() -> None:
    file = MemoryFile(created_at=BORN, extra={"e\u0301": "e\u0301"})
    assert file.extra == {"\u00e9": "\u00e9"}
    for value in (1.5, "\ud800", b"x"):
        with pytest.raises(errors.RecordError):
            MemoryFile(created_at=BORN, extra={"x": value})


# ----------------------------------------------------------------------------------------------------------- the peer


def test_a_file_signed_here_verifies_at_the_peer_with_the_same_ids() -> None:
    held = (
        fact("Naïve café \U0001f389", slots={"é": "ö"}, tags=["ü"]).sign(KEYS, ADDRESS),
        fact("keyed", extension=Extension(key="k", scope=Scope(user_id="u"), value=3), extra={"x": {"y": [1]}}),
        MemoryRecord.tombstone(fact("secret"), reason="r"),
    )
    ours = owned(*held).model_copy({"extra": {"x-file": [1]}}).sign(KEYS)
    theirs = peer.MemoryFile.model_validate(ours.model_dump())
    theirs.verify()
    theirs.records[0].verify()
    assert [record.id for record in theirs.records] == [record.id for record in ours.records]
    assert theirs.canonical_bytes() == ours.canonical_bytes()
    assert MemoryFile.model_validate(theirs.model_dump()) == ours


def test_a_file_signed_by_the_peer_verifies_here_with_the_same_ids() -> None:
    made = [
        peer.MemoryRecord.create(
            peer.RecordType.FACT, f"Naïve note {number}", peer.Provenance(kind="k", ref="r"), created_at=BORN
        )
        for number in range(3)
    ]
    made[0] = made[0].sign(KEYS, ADDRESS)
    made[1], made[2] = peer.begin_transition(made[1], made[2], reason="they clash", now=BORN)
    made.append(peer.MemoryRecord.tombstone(peer.MemoryRecord.create(
        peer.RecordType.FACT, "secret", peer.Provenance(kind="k"), created_at=BORN), reason="r", now=BORN))  # fmt: skip
    theirs = peer.MemoryFile.create(made, agent=ADDRESS, created_at=BORN).sign(KEYS)
    ours = MemoryFile.model_validate(json.loads(json.dumps(theirs.model_dump())))
    ours.verify()
    assert ours.verify_records() == 1
    assert [record.id for record in ours.records] == [record.id for record in theirs.records]
    assert ours.canonical_bytes() == theirs.canonical_bytes()
    assert ours.model_dump() == theirs.model_dump()


@given(st.lists(plain_records(), max_size=2, unique_by=lambda record: record.id))
def test_whatever_plain_records_a_file_holds_the_peer_verifies_it(held: list[MemoryRecord]) -> None:
    ours = MemoryFile.create(held, agent=ADDRESS, created_at=BORN).sign(KEYS)
    payload = ours.model_dump()
    del payload["signature"]
    if fg_agent_id.canonical_json(payload) == ours.canonical_bytes():  # else the peer's bytes are no normal JSON
        theirs = peer.MemoryFile.model_validate(ours.model_dump())
        theirs.verify()
        assert [record.id for record in theirs.records] == [record.id for record in held]

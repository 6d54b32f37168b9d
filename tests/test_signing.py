"""Signatures: domain-separated, strict, in one encoding, and never given to another."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any

import fg_agent_id
import fg_agent_memory as peer
import pytest
from fg_agent_id import KeyPair, SignatureError, address_from_signing_key
from hypothesis import given
from hypothesis import strategies as st

from agent_memory import errors, signing
from agent_memory.memory_file import MemoryFile
from agent_memory.records import MemoryRecord, Provenance
from agent_memory.signing import sign_payload, signing_input, verify_by_address, verify_payload
from strategies import json_values

BORN = datetime(2026, 1, 1, tzinfo=UTC)
GROUP_ORDER = 2**252 + 27742317777372353535851937790883648493
KEYS = KeyPair.generate()
OTHER_KEYS = KeyPair.generate()
ADDRESS = str(address_from_signing_key(KEYS.public.signing))
OTHER_ADDRESS = str(address_from_signing_key(OTHER_KEYS.public.signing))
PAYLOAD = {"a": 1}
# Encodings of points of order 1, 2, 4 and 8, canonical and not.
SMALL_ORDER = [
    (1).to_bytes(32, "little"),
    (2**255 - 20).to_bytes(32, "little"),
    bytes(32),
    bytes(31) + b"\x80",
    bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
    bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
    (2**255 - 19).to_bytes(32, "little"),
    (2**255 - 18).to_bytes(32, "little"),
    bytes([1] + [0] * 30 + [0x80]),
]


def record(body: str = "The build runs nightly.") -> MemoryRecord:
    return MemoryRecord.create("fact", body, Provenance(kind="conversation"), created_at=BORN)


def test_the_names_of_the_format() -> None:
    assert signing.DOMAIN == "fg-agent-memory/v1"
    assert signing.FORMAT_VERSION == "fg-agent-memory/0.1"
    assert (signing.CONTEXT_RECORD, signing.CONTEXT_MEMORY_FILE) == ("record", "memory-file")
    assert signing.domain_tag("record") == b"fg-agent-memory/v1/record"


def test_a_signing_input_is_length_tag_and_canonical_json() -> None:
    assert signing_input("record", {"b": 1, "a": [None]}) == b'\x00\x19fg-agent-memory/v1/record{"a":[null],"b":1}'


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20), json_values)
def test_no_context_can_pass_for_another(context: str, payload: Any) -> None:
    for other in ("record", "memory-file"):
        if context != other:
            assert signing_input(context, payload) != signing_input(other, payload)


@pytest.mark.parametrize("context", ["", "x" * 70_000, "\ud800"])
def test_a_context_is_short_text(context: str) -> None:
    with pytest.raises(ValueError, match="context") as caught:
        signing_input(context, {})
    assert isinstance(caught.value, errors.AgentMemoryError)


@pytest.mark.parametrize("context", [None, 5, b"record", [], {}])
def test_a_context_is_text(context: Any) -> None:
    with pytest.raises(TypeError, match="context") as caught:
        signing_input(context, {})
    assert isinstance(caught.value, errors.AgentMemoryError)


@pytest.mark.parametrize("payload", [1.5, {"a": float("nan")}, {"a": "\ud800"}, {1: 2}, {"\u00e9": 1, "e\u0301": 2}])
def test_a_payload_without_canonical_json_cannot_be_signed(payload: Any) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        sign_payload(KEYS, "record", payload)
    assert isinstance(caught.value, errors.RecordError)


def test_a_signature_holds_for_its_key_context_and_payload_alone() -> None:
    signature = sign_payload(KEYS, "record", PAYLOAD)
    verify_payload(KEYS.public, "record", PAYLOAD, signature)
    verify_payload(KEYS.public.signing, "record", PAYLOAD, signature)
    verify_by_address(ADDRESS, "record", PAYLOAD, signature)
    for check in (
        lambda: verify_payload(OTHER_KEYS.public, "record", PAYLOAD, signature),
        lambda: verify_payload(KEYS.public, "memory-file", PAYLOAD, signature),
        lambda: verify_payload(KEYS.public, "record", {"a": 2}, signature),
        lambda: verify_by_address(OTHER_ADDRESS, "record", PAYLOAD, signature),
    ):
        with pytest.raises(SignatureError) as caught:
            check()
        assert isinstance(caught.value, errors.RecordError)


def spoilt() -> dict[str, Any]:
    text = sign_payload(KEYS, "record", PAYLOAD)
    raw = base64.b64decode(text)
    scalar = int.from_bytes(raw[32:], "little")
    # Another text for the same bytes: the last letter before the padding carries four spare bits.
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    spare = text[:-3] + letters[letters.index(text[-3]) + 1] + "=="
    return {
        "empty": "",
        "no text": 5,
        "none": None,
        "bytes": text.encode(),
        "not base64": "!" * 88,
        "not ASCII": "ü" * 88,
        "no padding": text.rstrip("="),
        "too much padding": text + "=",
        "white space": text + "\n",
        "white space inside": text[:8] + " " + text[8:],
        "spare bits": spare,
        "short": base64.b64encode(raw[:-1]).decode(),
        "long": base64.b64encode(raw + b"\0").decode(),
        "non-canonical S": base64.b64encode(raw[:32] + (scalar + GROUP_ORDER).to_bytes(32, "little")).decode(),
        "S of zero": base64.b64encode(raw[:32] + bytes(32)).decode(),
        "another R": base64.b64encode(bytes([raw[0] ^ 1]) + raw[1:]).decode(),
        "all zero": base64.b64encode(bytes(64)).decode(),
        "all ones": base64.b64encode(b"\xff" * 64).decode(),
    }


@pytest.mark.parametrize("name", sorted(spoilt()))
def test_a_signature_has_one_spelling(name: str) -> None:
    with pytest.raises(errors.signature_mismatch()):
        verify_payload(KEYS.public, "record", PAYLOAD, spoilt()[name])


def test_the_spoilt_spellings_are_of_a_good_signature() -> None:
    spare = spoilt()["spare bits"]
    assert len(base64.b64decode(spare)) == 64
    verify_payload(KEYS.public, "record", PAYLOAD, base64.b64encode(base64.b64decode(spare)).decode())


@pytest.mark.parametrize("key", SMALL_ORDER, ids=lambda key: key.hex())
@pytest.mark.parametrize("nonce", [SMALL_ORDER[0], bytes(32)], ids=["R=1", "R=0"])
def test_a_small_order_key_signs_nothing(key: bytes, nonce: bytes) -> None:
    forged = base64.b64encode(nonce + bytes(32)).decode()
    for payload in ({"a": n} for n in range(16)):  # a lenient verifier accepts one in eight, or all
        with pytest.raises(errors.signature_mismatch()):
            verify_payload(key, "record", payload, forged)


def test_a_file_that_claims_a_small_order_key_is_refused() -> None:
    agent = str(address_from_signing_key(SMALL_ORDER[0]))
    forged = base64.b64encode(SMALL_ORDER[0] + bytes(32)).decode()
    file = MemoryFile.create([record()], agent=agent, created_at=BORN).model_copy({"signature": forged})
    assert MemoryFile.model_validate(file.model_dump()) == file
    with pytest.raises(errors.signature_mismatch()):
        file.verify()
    signed = record().model_copy({"signed_by": agent, "signature": forged})
    with pytest.raises(errors.signature_mismatch()):
        signed.verify()
    with pytest.raises(errors.signature_mismatch()):
        MemoryFile.create([signed]).verify_records()


@pytest.mark.parametrize("key", [b"", b"x", bytes(31), bytes(33)])
def test_a_key_of_another_length_signs_nothing(key: bytes) -> None:
    with pytest.raises(errors.signature_mismatch()):
        verify_payload(key, "record", PAYLOAD, sign_payload(KEYS, "record", PAYLOAD))


@pytest.mark.parametrize("key", [None, "text", 5, [], KEYS])
def test_what_is_no_key_is_refused(key: Any) -> None:
    with pytest.raises(errors.RecordTypeError, match="key"):
        verify_payload(key, "record", PAYLOAD, "")


@pytest.mark.parametrize(
    "address", ["", "nonsense", "amp:key:", "amp:key:0OIl", "amp:key:1", ADDRESS + "1", ADDRESS[:-1], "ü"]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(errors.RecordError):
        verify_by_address(address, "record", PAYLOAD, sign_payload(KEYS, "record", PAYLOAD))


@pytest.mark.parametrize("address", [None, 5, b"amp:key:1", [], {}])
def test_an_address_is_text(address: Any) -> None:
    with pytest.raises(errors.RecordTypeError, match="address"):
        verify_by_address(address, "record", PAYLOAD, "")


# ---------------------------------------------------------------------------------------------------------- records


def test_a_signed_record_verifies_after_the_wire() -> None:
    signed = record().sign(KEYS, ADDRESS)
    assert signed.signed_by == ADDRESS
    assert signed.id == record().id
    signed.verify()
    MemoryRecord.model_validate(signed.model_dump()).verify()


def test_an_unsigned_record_is_not_signed() -> None:
    signed = record().sign(KEYS, ADDRESS)
    for unsigned in (
        record(),
        signed.model_copy({"signature": ""}),
        signed.model_copy({"signed_by": None}),
        signed.model_copy({"signed_by": ""}),
    ):
        with pytest.raises(errors.RecordError, match="not signed"):
            unsigned.verify()


def test_signatures_are_not_checked_before_somebody_verifies() -> None:
    odd = record().model_copy({"signed_by": "nonsense", "signature": "nonsense"})
    assert MemoryRecord.model_validate(odd.model_dump()) == odd
    with pytest.raises(errors.RecordError):
        odd.verify()


def test_a_signature_cannot_be_given_to_another() -> None:
    signed = record().sign(KEYS, ADDRESS)
    with pytest.raises(SignatureError):
        signed.model_copy({"signed_by": OTHER_ADDRESS}).verify()
    other = record("Something else.").sign(OTHER_KEYS, OTHER_ADDRESS)
    with pytest.raises(SignatureError):
        signed.model_copy({"signature": other.signature}).verify()


@pytest.mark.parametrize(
    "change", [{"confidence": 0.5}, {"tags": ["x"]}, {"key": "k"}, {"extra": {"x": 1}}, {"state": "archived"}]
)
def test_a_changed_version_does_not_verify(change: dict[str, Any]) -> None:
    with pytest.raises(SignatureError):
        record().sign(KEYS, ADDRESS).model_copy(change).verify()


def test_the_signed_birth_stays_verifiable() -> None:
    signed = record().sign(KEYS, ADDRESS)
    later = signed.evolve({"tags": ["x"]})
    with pytest.raises(errors.RecordError, match="not signed"):
        later.verify()
    later.sign(KEYS, ADDRESS).verify()
    signed.verify()


def test_many_are_checked_as_each_is_by_itself() -> None:
    signed = [record(f"Note {number}.").sign(KEYS, ADDRESS) for number in range(40)]
    triples = [(one.signed_by or "", one.signing_payload(), one.signature) for one in signed]
    assert signing.first_mismatch("record", triples) is None
    assert signing.first_mismatch("record", []) is None
    for bad in (0, 17, 39):
        changed = list(triples)
        changed[bad] = (changed[bad][0], changed[bad][1], triples[bad - 1][2])
        assert signing.first_mismatch("record", changed) == bad


# ----------------------------------------------------------------------------------------------------------- the peer


def test_each_verifies_what_the_other_signed() -> None:
    ours = record("Naïve café \U0001f389").sign(KEYS, ADDRESS)
    theirs = peer.MemoryRecord.model_validate(ours.model_dump())
    theirs.verify()
    signed_there = peer.MemoryRecord.create(
        peer.RecordType.FACT, "Naïve café", peer.Provenance(kind="k"), created_at=BORN
    ).sign(KEYS, ADDRESS)
    MemoryRecord.model_validate(signed_there.model_dump()).verify()
    assert peer.sign_payload(KEYS, "record", {"é": [1]}) == sign_payload(KEYS, "record", {"é": [1]})
    assert peer.signing_input("record", {"é": [1]}) == signing_input("record", {"é": [1]})
    assert peer.domain_tag("record") == signing.domain_tag("record")


def test_errors_of_signatures_are_those_of_the_identity_package() -> None:
    assert issubclass(errors.signature_mismatch(), fg_agent_id.SignatureError)
    assert issubclass(errors.signature_mismatch(), errors.RecordError)
    assert errors.SignatureMismatch is errors.signature_mismatch()  # type: ignore[attr-defined]

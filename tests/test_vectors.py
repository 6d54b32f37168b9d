"""Every value of spec/vectors.json, against both kernels and through the record API."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_memory import errors, lifecycle, signing
from agent_memory.clock import read_time, time_from_wire, time_to_wire
from agent_memory.kernel import native, reference
from agent_memory.memory_file import MemoryFile
from agent_memory.records import MemoryRecord, Provenance, confidence_from_wire, confidence_to_wire
from agent_memory.wire import parse_json

SPEC = Path(__file__).parent.parent / "spec"
VECTORS: dict[str, Any] = json.loads((SPEC / "vectors.json").read_text(encoding="ascii"))
KERNELS = pytest.mark.parametrize("kernel", [native, reference], ids=["native", "reference"])


def named(cases: list[dict[str, Any]]) -> Any:
    return pytest.mark.parametrize("case", cases, ids=[case.get("name", str(n)) for n, case in enumerate(cases)])


def artifacts(kind: str) -> list[dict[str, Any]]:
    return [case for case in VECTORS["artifacts"].values() if case["context"] == kind]


@contextmanager
def error(case: dict[str, Any]) -> Iterator[None]:
    """Expects the error class a case names, and no subclass of it."""
    named_class = getattr(errors, case["error"])
    with pytest.raises(named_class) as caught:
        yield
    assert type(caught.value) is named_class


@pytest.mark.parametrize("choice", ["native", "python"])
def test_the_file_is_what_its_generator_writes(choice: str) -> None:
    environment = {**os.environ, "AGENT_MEMORY_KERNEL": choice}
    done = subprocess.run(
        [sys.executable, SPEC / "generate_vectors.py", "--check"], env=environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


@KERNELS
@named(VECTORS["canonical_json"]["valid"])
def test_canonical_bytes(kernel: Any, case: dict[str, str]) -> None:
    value = json.loads(case["input_json"])
    assert kernel.canonical_json(value).hex() == case["canonical_hex"]
    assert [found.hex() for found in kernel.canonical_json_many([value, value])] == [case["canonical_hex"]] * 2


@KERNELS
@named(VECTORS["canonical_json"]["valid"])
def test_canonical_bytes_are_json_and_a_fixed_point(kernel: Any, case: dict[str, str]) -> None:
    canonical = bytes.fromhex(case["canonical_hex"])
    assert kernel.canonical_json(parse_json(canonical, "vector")) == canonical


@KERNELS
@named(VECTORS["canonical_json"]["invalid"])
def test_what_has_no_canonical_bytes(kernel: Any, case: dict[str, str]) -> None:
    value = json.loads(case["input_json"])
    for call in (kernel.canonical_json, kernel.digest):
        with error(case):
            call(value)
    with error(case):
        kernel.seal({}, (value,)) if "257" not in case["name"] else kernel.seal({}, value)


@named(VECTORS["json_text"]["invalid"])
def test_json_that_is_refused_when_read(case: dict[str, str]) -> None:
    with error(case):
        parse_json(case["text"], "vector")
    with error(case):
        parse_json(case["text"].encode(), "vector")


@KERNELS
@named(VECTORS["record_ids"])
def test_record_ids(kernel: Any, case: dict[str, Any]) -> None:
    digest = kernel.digest(case["birth"])
    assert digest == case["digest"]
    assert case["expected"] == "mem:" + digest[:32]
    assert kernel.seal(case["birth"], ())[0] == digest
    record = MemoryRecord.model_validate({**case["birth"], "updated_at": case["birth"]["created_at"]} | evidence(case))
    assert record.id == case["expected"]
    assert record.birth_content() == case["birth"]


def evidence(case: dict[str, Any]) -> dict[str, Any]:
    return {"evidence": ["mem:" + "0" * 32]} if case["birth"]["type"] == "rule" else {}


def test_canonical_record() -> None:
    case = VECTORS["canonical_record"]
    assert MemoryRecord.model_validate(case["record"]).canonical_bytes().hex() == case["canonical_hex"]


@KERNELS
@named(VECTORS["signing_input"])
def test_signing_inputs(kernel: Any, case: dict[str, Any]) -> None:
    assert signing.signing_input(case["context"], case["payload"]).hex() == case["expected_hex"]
    tag = signing.domain_tag(case["context"])
    assert (len(tag).to_bytes(2, "big") + tag + kernel.canonical_json(case["payload"])).hex() == case["expected_hex"]


@KERNELS
@named(artifacts("record"))
def test_signed_records(kernel: Any, case: dict[str, Any]) -> None:
    record = MemoryRecord.model_validate(case["record"])
    record.verify()
    assert record.model_dump() == case["record"]
    assert record.signing_payload() == case["payload"]
    assert holds(kernel, record.signed_by, case)


@KERNELS
@named(artifacts("memory-file"))
def test_signed_files(kernel: Any, case: dict[str, Any]) -> None:
    file = MemoryFile.model_validate(case["file"])
    file.verify()
    file.verify_records()
    assert file.model_dump() == case["file"]
    assert file.canonical_bytes().hex() == case["canonical_bytes_hex"]
    assert kernel.canonical_json(case["payload"]).hex() == case["canonical_bytes_hex"]
    assert holds(kernel, file.agent, case)


def holds(kernel: Any, address: str | None, case: dict[str, Any]) -> bool:
    from fg_agent_id import signing_key_from_address

    assert address is not None
    message = bytes.fromhex(case["signing_input_hex"])
    signature = base64.b64decode(case["signature_b64"])
    assert signing.signing_input(case["context"], case["payload"]) == message
    return bool(kernel.verify_signatures([signing_key_from_address(address)], [message], [signature]) == [True])


def test_the_signing_keys_come_from_the_seeds() -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
    from fg_agent_id import KeyPair

    for name in ("a", "b"):
        seed = bytes.fromhex(VECTORS["keys"][f"seed_{name}_hex"])
        keys = KeyPair(
            signing_key=Ed25519PrivateKey.from_private_bytes(seed),
            agreement_key=X25519PrivateKey.from_private_bytes(seed),
        )
        assert signing.address_of(keys) == VECTORS["keys"][f"address_{name}"]
        for case in artifacts("record"):
            if case["record"]["signed_by"] == signing.address_of(keys):
                unsigned = MemoryRecord.model_validate({**case["record"], "signed_by": None, "signature": ""})
                assert unsigned.sign(keys, signing.address_of(keys)).model_dump() == case["record"]


@KERNELS
@named(VECTORS["signatures"])
def test_signatures(kernel: Any, case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signing.kernel, "verify_signatures", kernel.verify_signatures)

    def check() -> None:
        public = bytes.fromhex(case["public_hex"])
        signing.verify_payload(public, case["context"], case["payload"], case["signature_b64"])
        signing.verify_by_address(case["address"], case["context"], case["payload"], case["signature_b64"])

    if case["valid"]:
        check()
    else:
        with error({"error": "SignatureMismatch"}):
            check()


@named(VECTORS["lifecycle"]["legality"])
def test_legality(case: dict[str, Any]) -> None:
    assert lifecycle.is_legal(case["from"], case["to"]) is case["legal"]


def test_the_legality_table_is_complete() -> None:
    cases = VECTORS["lifecycle"]["legality"]
    assert len({(case["from"], case["to"]) for case in cases}) == 16
    assert {(case["from"], case["to"]) for case in cases if case["legal"]} == set(lifecycle.LEGAL_TRANSITIONS)


@named(VECTORS["tombstones"])
def test_tombstones(case: dict[str, Any]) -> None:
    original = MemoryRecord.model_validate(case["original"])
    made = MemoryRecord.tombstone(original, reason=case["reason"], now=time_from_wire(case["now"], "now"))
    assert made.model_dump() == case["tombstone"]
    assert made.canonical_bytes().hex() == case["canonical_hex"]
    assert MemoryRecord.model_validate(case["tombstone"]) == made


@named(VECTORS["record_invalid"])
def test_records_no_reader_accepts(case: dict[str, Any]) -> None:
    with error(case):
        MemoryRecord.model_validate(case["record"])


@named(VECTORS["extension"]["valid"])
def test_extension_forms(case: dict[str, Any]) -> None:
    record = MemoryRecord.model_validate({**VECTORS["canonical_record"]["record"], "agent_memory": case["wire"]})
    assert record.model_dump()["agent_memory"] == case["wire"]
    assert record.canonical_bytes().hex() == case["canonical_record_hex"]
    assert record.id == case["id"] == VECTORS["canonical_record"]["record"]["id"]


@named(VECTORS["extension"]["invalid"])
def test_extension_forms_no_reader_accepts(case: dict[str, Any]) -> None:
    with error(case):
        MemoryRecord.model_validate({**VECTORS["canonical_record"]["record"], "agent_memory": case["wire"]})


@pytest.mark.parametrize("wire", VECTORS["confidence"]["valid"])
def test_confidence_forms(wire: str) -> None:
    assert confidence_to_wire(confidence_from_wire(wire)) == wire


@named(VECTORS["confidence"]["invalid"])
def test_confidence_forms_no_reader_accepts(case: dict[str, Any]) -> None:
    with error(case):
        confidence_from_wire(case["wire"])


@pytest.mark.parametrize("case", VECTORS["confidence"]["rounded"])
def test_confidence_is_rounded_to_four_decimals(case: dict[str, str]) -> None:
    assert confidence_to_wire(float(case["number"])) == case["wire"]


@pytest.mark.parametrize("wire", VECTORS["time"]["valid"])
def test_time_forms(wire: str) -> None:
    assert time_to_wire(time_from_wire(wire, "time")) == wire


@named(VECTORS["time"]["invalid"])
def test_time_forms_no_reader_accepts(case: dict[str, Any]) -> None:
    with error(case):
        time_from_wire(case["wire"], "time")


@pytest.mark.parametrize("case", VECTORS["time"]["read"])
def test_times_are_truncated_to_milliseconds_in_utc(case: dict[str, str]) -> None:
    assert time_to_wire(read_time(case["iso"], "time")) == case["wire"]


def test_the_published_constructions_have_the_published_values() -> None:
    published = json.loads((SPEC / "interop" / "fg-agent-memory-vectors.json").read_text(encoding="utf-8"))
    del published["_"]
    assert contains(VECTORS, published) == []


def contains(ours: Any, theirs: Any, path: str = "$") -> list[str]:
    """Where ``ours`` does not hold what ``theirs`` does."""
    if isinstance(theirs, dict):
        return [
            gap
            for key, value in theirs.items()
            for gap in (contains(ours[key], value, f"{path}.{key}") if key in ours else [f"{path}.{key}"])
        ]
    if isinstance(theirs, list) and path == "$.signing_input":
        return [] if all(item in ours for item in theirs) else [path]
    return [] if ours == theirs else [path]


def test_provenance_of_the_vectors_survives() -> None:
    for case in VECTORS["record_ids"]:
        wire = case["birth"]["provenance"]
        assert Provenance.model_validate(wire).model_dump() == wire

"""Values other implementations publish (spec/interop), which ours has to give too."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from agent_memory import lifecycle, signing
from agent_memory.clock import read_time, time_to_wire
from agent_memory.errors import signature_mismatch
from agent_memory.kernel import native, reference
from agent_memory.memory_file import MemoryFile
from agent_memory.records import MemoryRecord

INTEROP = Path(__file__).parent.parent / "spec" / "interop"
MEMORY: dict[str, Any] = json.loads((INTEROP / "fg-agent-memory-vectors.json").read_text(encoding="utf-8"))
IDENTITY: dict[str, Any] = json.loads((INTEROP / "fg-agent-id-vectors.json").read_text(encoding="utf-8"))
KERNELS = pytest.mark.parametrize("kernel", [native, reference], ids=["native", "reference"])


@KERNELS
def test_record_id(kernel: Any) -> None:
    case = MEMORY["record_id"]
    assert "mem:" + kernel.digest(case["birth"])[:32] == case["expected"]
    record = MemoryRecord.model_validate({**case["birth"], "updated_at": case["birth"]["created_at"]})
    assert record.id == case["expected"]


@KERNELS
def test_canonical_record(kernel: Any) -> None:
    case = MEMORY["canonical_record"]
    assert kernel.canonical_json(case["record"]).hex() == case["canonical_hex"]
    record = MemoryRecord.model_validate(case["record"])
    assert record.model_dump() == case["record"]
    assert record.canonical_bytes().hex() == case["canonical_hex"]


@pytest.mark.parametrize("case", MEMORY["signing_input"])
def test_signing_inputs(case: dict[str, Any]) -> None:
    assert signing.signing_input(case["context"], case["payload"]).hex() == case["expected_hex"]


def test_signed_record() -> None:
    case = MEMORY["artifacts"]["signed_record"]
    record = MemoryRecord.model_validate(case["record"])
    record.verify()
    assert record.model_dump() == case["record"]
    assert record.signing_payload() == case["payload"]
    assert signing.signing_input(case["context"], case["payload"]).hex() == case["signing_input_hex"]
    with pytest.raises(signature_mismatch()):
        record.model_copy({"confidence": 0.5}).verify()


def test_signed_file() -> None:
    case = MEMORY["artifacts"]["memory_file"]
    file = MemoryFile.model_validate(case["file"])
    file.verify()
    assert file.model_dump() == case["file"]
    assert file.canonical_bytes().hex() == case["canonical_bytes_hex"]
    assert signing.signing_input(case["context"], case["payload"]).hex() == case["signing_input_hex"]
    with pytest.raises(signature_mismatch()):
        file.model_copy({"records": file.records[:-1]}).verify()


def test_legality() -> None:
    cases = MEMORY["lifecycle"]["legality"]
    assert len(cases) == 16
    for case in cases:
        assert lifecycle.is_legal(case["from"], case["to"]) is case["legal"]


@KERNELS
@pytest.mark.parametrize("case", IDENTITY["canonical_json"])
def test_canonical_json_of_identities(kernel: Any, case: dict[str, Any]) -> None:
    assert kernel.canonical_json(case["input"]).hex() == case["expected_hex"]


@pytest.mark.parametrize("case", IDENTITY["canonical_timestamp"])
def test_timestamps_of_identities(case: dict[str, str]) -> None:
    assert time_to_wire(read_time(case["input"], "time")) == case["expected"]


def identity_input(context: str, canonical: bytes) -> bytes:
    """The signing input of the identity format: the construction is ours, the domain is not."""
    tag = f"{IDENTITY['domain']}/{context}".encode()
    return len(tag).to_bytes(2, "big") + tag + canonical


@KERNELS
@pytest.mark.parametrize("case", IDENTITY["signing_input"])
def test_signing_inputs_of_identities(kernel: Any, case: dict[str, Any]) -> None:
    assert identity_input(case["context"], kernel.canonical_json(case["payload"])).hex() == case["expected_hex"]


@KERNELS
def test_ed25519_of_identities(kernel: Any) -> None:
    case = IDENTITY["ed25519"]
    public, message, signature = (bytes.fromhex(case[f"{name}_hex"]) for name in ("public", "message", "signature"))
    assert kernel.verify_signatures([public], [message], [signature]) == [True]
    assert kernel.verify_signatures([public], [message + b"."], [signature]) == [False]


@KERNELS
@pytest.mark.parametrize("name", list(IDENTITY["artifacts"]))
def test_signed_artifacts_of_identities(kernel: Any, name: str) -> None:
    case = IDENTITY["artifacts"][name]
    message = identity_input(case["context"], kernel.canonical_json(case["payload"]))
    assert message.hex() == case["signing_input_hex"]
    publics = [bytes.fromhex(IDENTITY["ed25519"]["public_hex"])]
    owners = [key for key in ("issuer", "operator") if key in case["payload"]]
    if owners:
        from fg_agent_id import signing_key_from_address

        publics += [signing_key_from_address(case["payload"][key]) for key in owners]
    signature = base64.b64decode(case["signature_b64"])
    assert any(kernel.verify_signatures(publics, [message] * len(publics), [signature] * len(publics)))


def test_an_identity_signature_is_no_memory_signature() -> None:
    case = IDENTITY["artifacts"]["delegation"]
    public = bytes.fromhex(IDENTITY["ed25519"]["public_hex"])
    with pytest.raises(signature_mismatch()):
        signing.verify_payload(public, "delegation", case["payload"], case["signature_b64"])

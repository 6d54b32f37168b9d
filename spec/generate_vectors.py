"""Writes ``vectors.json``: the constructions of SPEC.md as values any implementation can check itself against.

    python spec/generate_vectors.py            write the file
    python spec/generate_vectors.py --check    exit 1 when the file differs from what would be written

Everything derives from fixed seeds and fixed times.  The canonical texts of the difficult cases are written out by hand
below; the reference kernel has to agree with them before anything is written.
"""

from __future__ import annotations

import base64
import copy
import json
import os
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

os.environ.setdefault("AGENT_MEMORY_KERNEL", "python")

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from fg_agent_id import KeyPair, address_from_signing_key

from agent_memory import kernel, lifecycle, signing
from agent_memory.clock import read_time, time_from_wire, time_to_wire
from agent_memory.errors import RecordError
from agent_memory.extension import Extension, Scope, Standing
from agent_memory.memory_file import MemoryFile
from agent_memory.records import (
    MemoryRecord,
    Provenance,
    RecordState,
    confidence_from_wire,
    confidence_to_wire,
)
from agent_memory.wire import parse_json

TARGET = Path(__file__).with_name("vectors.json")
SEED_A = bytes(range(32))
SEED_B = bytes(range(32, 64))
BORN = datetime.fromisoformat("2026-01-01T00:00:00Z")
LATER = datetime.fromisoformat("2026-02-03T04:05:06.789Z")
GROUP_ORDER = 2**252 + 27742317777372353535851937790883648493
OTHER_ID = "mem:" + "0123456789abcdef" * 2
STATES = (RecordState.ACTIVE, RecordState.SUPERSEDED, RecordState.TRANSITIONAL, RecordState.ARCHIVED)

# What is canonical: name, JSON text of the input, canonical text.
CANONICAL = (
    ("empty object", "{}", "{}"),
    ("empty array", "[]", "[]"),
    ("literals", "[null, true, false, 0, -1]", "[null,true,false,0,-1]"),
    ("minus zero is zero", "[-0]", "[0]"),
    ("keys sorted by code point", '{"b":1,"a":2,"":3,"aa":4,"B":5}', '{"":3,"B":5,"a":2,"aa":4,"b":1}'),
    ("code point order, not UTF-16 order", r'{"\ud83c\udf89":1,"\uff45":2}', '{"\uff45":2,"\U0001f389":1}'),
    ("keys sorted after normalisation", r'{"e\u0301":1,"f":2}', '{"f":2,"\u00e9":1}'),
    ("keys sorted before escaping", r'{"\"":1,"!":2,"\n":3,"#":4}', r'{"\n":3,"!":2,"\"":1,"#":4}'),
    ("newline before a tilde", r'["a\n\u0303b"]', '["a\\n\u0303b"]'),
    ("quote before an acute", r'["\"\u0301"]', '["\\"\u0301"]'),
    ("backslash before a grave", r'["\\\u0300"]', '["\\\\\u0300"]'),
    ("control character before a mark", r'["\u0001\u0308"]', '["\\u0001\u0308"]'),
    (
        "short and long escapes",
        r'["\b\f\n\r\t\u0000\u000b\u001f\"\\\/"]',
        r'["\b\f\n\r\t\u0000\u000b\u001f\"\\/"]',
    ),
    ("nothing else is escaped", r'["\u007f\u0085\u2028\u2029\ufeff<>&"]', '["\x7f\x85\u2028\u2029\ufeff<>&"]'),
    ("composition", r'["e\u0301 A\u030a \u212b \u2126 \u212a"]', '["\u00e9 \u00c5 \u00c5 \u03a9 K"]'),
    ("marks in canonical order", r'["q\u0307\u0323"]', '["q\u0323\u0307"]'),
    ("Hangul composes", r'["\u1100\u1161\u11a8"]', '["\uac01"]'),
    ("a composition exclusion stays apart", r'["\u0958 \u2adc"]', '["\u0915\u093c \u2add\u0338"]'),
    ("compatibility forms stay", r'["\ufb01 \u00b2 \uff21"]', '["\ufb01 \u00b2 \uff21"]'),
    ("a mark newer than Unicode 14 does not move", r'["e\u1acf\u0301"]', '["e\u1acf\u0301"]'),
    ("a mark newer than Unicode 14 is a starter", r'["a\u0897\u0323\u0301"]', '["a\u0897\u0323\u0301"]'),
    ("a composition newer than Unicode 14 does not happen", r'["\ud801\uddd2\u0307"]', '["\U000105d2\u0307"]'),
    ("a decomposition newer than Unicode 14 does not happen", r'["\ud801\uddc9"]', '["\U000105c9"]'),
    ("unassigned characters stay", r'["\u0378\udbff\udffd"]', '["\u0378\U0010fffd"]'),
    ("largest integers of 64 bits", "[9223372036854775807,-9223372036854775808]", None),
    ("integers beyond 64 bits", "[9223372036854775808,-9223372036854775809,18446744073709551616]", None),
    ("10 to the power 400", "[1" + "0" * 400 + ",-1" + "0" * 400 + "]", None),
    ("256 containers", "[" * 256 + "]" * 256, None),
    ("256 containers, objects among them", '{"a":[' * 128 + "]}" * 128, None),
)

# What has no canonical form: name, JSON text of the input, error class.
NOT_CANONICAL = (
    ("keys equal after normalisation", r'{"\u00e9":1,"e\u0301":2}', "RecordValueError"),
    ("keys equal after normalisation, deep inside", r'[{"a":{"\u212b":1,"\u00c5":2}}]', "RecordValueError"),
    ("a float", "[1.5]", "RecordValueError"),
    ("a float that is whole", "[1.0]", "RecordValueError"),
    ("an exponent", "[1e3]", "RecordValueError"),
    ("a lone high surrogate", r'["\ud800"]', "RecordValueError"),
    ("a lone low surrogate", r'["\udc00x"]', "RecordValueError"),
    ("a lone surrogate in a key", r'{"\ud800":1}', "RecordValueError"),
    ("257 containers", "[" * 257 + "]" * 257, "RecordValueError"),
    ("257 containers, objects among them", '{"a":[' * 128 + "[]" + "]}" * 128, "RecordValueError"),
)

# JSON text that is refused when it is read, before anything is made of it.
NOT_READ = (
    ("a key twice", '{"a":1,"a":2}', "RecordError"),
    ("a key twice, deep inside", '[{"x":{"a":1,"b":2,"a":1}}]', "RecordError"),
    ("a key twice, once escaped", r'{"a":1,"\u0061":1}', "RecordError"),
    ("a float", '{"a":0.5}', "RecordValueError"),
    ("NaN", '{"a":NaN}', "RecordValueError"),
    ("Infinity", '{"a":-Infinity}', "RecordValueError"),
    ("torn", '{"a":', "RecordError"),
    ("a trailing comma", '{"a":1,}', "RecordError"),
    ("two values", "{} {}", "RecordError"),
    ("nothing", "", "RecordError"),
    ("a control character in text", '["\n"]', "RecordError"),
)

CONFIDENCE_VALID = ("0.0000", "0.0001", "0.5000", "0.9999", "1.0000")
CONFIDENCE_INVALID = (
    ("1.0001", "RecordError"), ("2.0", "RecordError"), ("1", "RecordError"), ("0.5", "RecordError"),
    ("0.50000", "RecordError"), (".5000", "RecordError"), ("-0.0000", "RecordError"), ("+0.5000", "RecordError"),
    (" 0.5000", "RecordError"), ("0.5000\n", "RecordError"), ("0,5000", "RecordError"), ("1.5000", "RecordError"),
    ("\u0660.5000", "RecordError"), ("nope", "RecordError"), ("", "RecordError"), ("NaN", "RecordError"),
    (1, "RecordTypeError"), (True, "RecordTypeError"), (None, "RecordTypeError"), ([], "RecordTypeError"),
)  # fmt: skip
CONFIDENCE_ROUNDED = (("0", "0.0000"), ("0.12345", "0.1235"), ("0.00004", "0.0000"), ("0.99996", "1.0000"))

TIME_VALID = (
    "1000-01-01T00:00:00.000Z", "2026-01-01T00:00:00.123Z", "2024-02-29T23:59:59.999Z", "9999-12-31T23:59:59.999Z",
)  # fmt: skip
TIME_INVALID = (
    ("0999-12-31T23:59:59.999Z", "RecordValueError"), ("2026-01-01T00:00:00Z", "RecordValueError"),
    ("2026-01-01T00:00:00.123456Z", "RecordValueError"), ("2026-01-01T00:00:00.000+00:00", "RecordValueError"),
    ("2026-01-01 00:00:00.000Z", "RecordValueError"), ("2026-01-01t00:00:00.000z", "RecordValueError"),
    ("2026-02-29T00:00:00.000Z", "RecordValueError"), ("2026-13-01T00:00:00.000Z", "RecordValueError"),
    ("2026-01-01T24:00:00.000Z", "RecordValueError"), ("2026-01-01T00:00:60.000Z", "RecordValueError"),
    ("2026-01-01T00:00:00,000Z", "RecordValueError"), ("2026-W01-1T00:00:00.000Z", "RecordValueError"),
    ("\u0662026-01-01T00:00:00.00Z", "RecordValueError"), ("2026-01-01T00:00:00.000Z\n", "RecordValueError"),
    ("", "RecordValueError"), (1767225600000, "RecordTypeError"), (None, "RecordTypeError"),
)  # fmt: skip
TIME_READ = (
    ("2026-07-19T12:30:05.123456+00:00", "2026-07-19T12:30:05.123Z"),
    ("2026-07-19T12:30:05.999999Z", "2026-07-19T12:30:05.999Z"),
    ("2026-07-19T14:00:00+02:00", "2026-07-19T12:00:00.000Z"),
    ("2026-01-01T00:00:00-05:30", "2026-01-01T05:30:00.000Z"),
)

# The ``agent_memory`` object: forms that are read and written back unchanged, and forms that are refused.
EXTENSION_VALID: tuple[dict[str, Any], ...] = (
    {"key": "billing-api::auth-method"},
    {"key": "billing-api::auth-method", "object": "oauth2"},
    {"value": "1.0001"}, {"value": "42.5000"}, {"value": "1000000.0000"},
    {"scope": {"project": "apollo"}},
    {"scope": {"project": "apollo", "user_id": "u1", "agent_id": "a1", "session_id": "s1"}},
    {"scope": {"x-tenant": ["kept", 1]}},
    {"standing": {"good": 0, "bad": 0}}, {"standing": {"good": 3, "bad": 9007199254740991}},
    {"author": "user"},
    {"supersedes_also": ["mem:" + "0" * 32, "mem:" + "f" * 32]},
    {"declared": True}, {"typed": True},
    {"standing": {"good": 1, "bad": 0}, "outcome": {"at": "2026-01-01T00:00:00.000Z", "reason": "it held"}},
    {
        "standing": {"good": 0, "bad": 2},
        "outcome": {"at": "2026-01-01T00:00:00.000Z", "by": "user", "reason": "it did not"},
    },
    {"x-unknown": {"deep": [None, True, 10**30]}},
)  # fmt: skip
EXTENSION_INVALID: tuple[tuple[Any, str], ...] = (
    ({}, "RecordError"), (None, "RecordTypeError"), ([], "RecordTypeError"), ("key", "RecordTypeError"),
    (True, "RecordTypeError"),
    ({"key": ""}, "RecordError"), ({"key": None}, "RecordTypeError"), ({"key": 1}, "RecordTypeError"),
    ({"object": ""}, "RecordError"), ({"object": ["a"]}, "RecordTypeError"),
    ({"author": ""}, "RecordError"), ({"author": {}}, "RecordTypeError"),
    ({"value": 2}, "RecordTypeError"), ({"value": "1.0000"}, "RecordValueError"),
    ({"value": "0.5000"}, "RecordValueError"), ({"value": "2"}, "RecordValueError"),
    ({"value": "02.0000"}, "RecordValueError"), ({"value": "2.00000"}, "RecordValueError"),
    ({"value": "1000000.0001"}, "RecordValueError"), ({"value": "1e3"}, "RecordValueError"),
    ({"scope": {}}, "RecordError"), ({"scope": []}, "RecordTypeError"), ({"scope": {"project": ""}}, "RecordError"),
    ({"scope": {"project": None}}, "RecordTypeError"), ({"scope": {"user_id": 7}}, "RecordTypeError"),
    ({"standing": {}}, "RecordError"), ({"standing": {"good": 1}}, "RecordError"),
    ({"standing": {"good": 1, "bad": 0, "ugly": 0}}, "RecordError"),
    ({"standing": {"good": -1, "bad": 0}}, "RecordValueError"),
    ({"standing": {"good": 9007199254740992, "bad": 0}}, "RecordValueError"),
    ({"standing": {"good": "1", "bad": 0}}, "RecordTypeError"),
    ({"standing": {"good": True, "bad": 0}}, "RecordTypeError"),
    ({"supersedes_also": []}, "RecordError"), ({"supersedes_also": "mem:" + "0" * 32}, "RecordTypeError"),
    ({"supersedes_also": ["mem:1"]}, "RecordError"), ({"supersedes_also": [1]}, "RecordTypeError"),
    ({"supersedes_also": ["mem:" + "f" * 32, "mem:" + "0" * 32]}, "RecordError"),
    ({"supersedes_also": ["mem:" + "0" * 32, "mem:" + "0" * 32]}, "RecordError"),
    ({"declared": False}, "RecordError"), ({"declared": "true"}, "RecordTypeError"),
    ({"declared": 1}, "RecordTypeError"), ({"declared": None}, "RecordTypeError"),
    ({"typed": False}, "RecordError"), ({"typed": 1}, "RecordTypeError"),
    ({"outcome": {"at": "2026-01-01T00:00:00.000Z", "reason": "r"}}, "RecordError"),
    ({"standing": {"good": 0, "bad": 0}, "outcome": {"reason": "r"}}, "RecordError"),
    ({"standing": {"good": 0, "bad": 0}, "outcome": {"at": "2026-01-01T00:00:00.000Z"}}, "RecordError"),
    (
        {"standing": {"good": 0, "bad": 0}, "outcome": {"at": "2026-01-01T00:00:00.000Z", "reason": " "}},
        "RecordValueError",
    ),
    (
        {"standing": {"good": 0, "bad": 0}, "outcome": {"at": "2026-01-01", "reason": "r"}},
        "RecordValueError",
    ),
)  # fmt: skip

# Changes to the record of ``canonical_record`` that make it one no reader may accept.
RECORD_INVALID: tuple[tuple[str, dict[str, Any], tuple[str, ...], str], ...] = (
    ("another body under the same id", {"body": "Something else."}, (), "RecordError"),
    ("another provenance under the same id", {"provenance": {"kind": "gossip"}}, (), "RecordError"),
    ("an id in capitals", {"id": "mem:A2BA09C33F5389FD45F6A2104B694D77"}, (), "RecordError"),
    ("an empty body", {"id": "", "body": " \n"}, (), "RecordValueError"),
    ("no provenance", {}, ("provenance",), "RecordError"),
    ("no updated_at", {}, ("updated_at",), "RecordError"),
    ("a type that is none", {"type": "opinion"}, (), "RecordValueError"),
    ("a state that is none", {"state": "deleted"}, (), "RecordValueError"),
    ("text for a list of tags", {"tags": "conformance"}, (), "RecordTypeError"),
    ("text for a flag", {"flagged": "false"}, (), "RecordTypeError"),
    ("a number for a reason", {"state_reason": 5}, (), "RecordTypeError"),
    ("a number for a confidence", {"confidence": 1}, (), "RecordTypeError"),
    ("null for an optional member that is left out", {"occurred_at": None}, (), "RecordTypeError"),
    ("redacted: false", {"redacted": False}, (), "RecordTypeError"),
    ("superseded without a successor", {"state": "superseded"}, (), "RecordError"),
    ("a successor while active", {"superseded_by": OTHER_ID}, (), "RecordError"),
    ("transitional without a transition", {"state": "transitional"}, (), "RecordError"),
    ("a transition while active", {"transition": {"sides": [OTHER_ID, "$id"], "reason": "r"}}, (), "RecordError"),
    (
        "a transition between others",
        {"state": "transitional", "transition": {"sides": [OTHER_ID, "mem:" + "1" * 32], "reason": "r"}},
        (),
        "RecordError",
    ),
    (
        "a transition with itself",
        {"state": "transitional", "transition": {"sides": ["$id", "$id"], "reason": "r"}},
        (),
        "RecordError",
    ),
    ("a flag on a fact", {"flagged": True}, (), "RecordError"),
    ("a birth digest on a live record", {"birth_digest": "a" * 64}, (), "RecordError"),
    ("a tombstone that still says something", {"redacted": True, "redaction_reason": "r"}, (), "RecordError"),
)


def build() -> dict[str, Any]:
    """The whole file as one value."""
    keys_a, keys_b = _keys(SEED_A), _keys(SEED_B)
    agent = signing.address_of(keys_a)
    fact = MemoryRecord.create(
        "fact",
        "The conformance suite runs on fixed seeds.",
        Provenance(kind="conversation", ref="session-0001", agent=agent),
        slots={"subject": "conformance suite", "predicate": "runs on fixed seeds"},
        confidence=0.9,
        tags=["conformance"],
        created_at=BORN,
    )
    episode = MemoryRecord.create(
        "episode",
        "Ran the vector generator and reviewed the diff.",
        fact.provenance,
        confidence=0.75,
        created_at=BORN,
    )
    rule = MemoryRecord.create(
        "rule",
        "Always review the vector diff after a wire-format change.",
        fact.provenance,
        confidence=0.8,
        evidence=[fact.id, episode.id],
        created_at=BORN,
    )
    extended = MemoryRecord.create(
        "fact",
        "Naïve café\n\u0303— \U0001f389",
        Provenance(kind="conversation", ref="crm/alice", extra={"x-channel": "mail"}),
        created_at=BORN,
        occurred_at=datetime.fromisoformat("2025-12-31T23:59:59.999Z"),
        extra={"x-later": {"field": [1, None]}},
        extension=Extension(
            key="cafe::name",
            object="Naïve",
            value=42.5,
            scope=Scope(project="apollo", user_id="alice", extra={"x-tenant": 7}),
            standing=Standing(2, 1),
            author="user",
            supersedes_also=(OTHER_ID, fact.id),
            declared=True,
            extra={"x-more": True},
        ),
    )
    plain_file = MemoryFile.create([fact, episode, rule], agent=agent, created_at=BORN)
    mixed_file = MemoryFile(
        agent=agent,
        created_at=LATER,
        records=[fact.sign(keys_a, agent), extended.sign(keys_b, signing.address_of(keys_b)), _tombstone(rule)],
        extra={"x-exporter": {"name": "vectors"}},
    )
    return {
        "_": "Golden values of agent-memory. Written by spec/generate_vectors.py from fixed seeds and fixed times.",
        "keys": {
            "seed_a_hex": SEED_A.hex(),
            "address_a": agent,
            "seed_b_hex": SEED_B.hex(),
            "address_b": signing.address_of(keys_b),
        },
        "record_id": {"birth": fact.birth_content(), "expected": fact.id},
        "record_ids": [
            {"birth": record.birth_content(), "digest": kernel.digest(record.birth_content()), "expected": record.id}
            for record in (fact, episode, rule, extended)
        ],
        "canonical_record": {"record": fact.model_dump(), "canonical_hex": fact.canonical_bytes().hex()},
        "canonical_json": {
            "valid": [_canonical(*case) for case in CANONICAL],
            "invalid": [_not_canonical(*case) for case in NOT_CANONICAL],
        },
        "json_text": {"invalid": [_not_read(*case) for case in NOT_READ]},
        "signing_input": [
            _signing_input("record", {"a": 1}),
            _signing_input("memory-file", {"b": "two"}),
            _signing_input("record", {"e\u0301\n\u0303": "\u212b"}),
        ],
        "artifacts": {
            "signed_record": _signed_record(fact, keys_a),
            "memory_file": _signed_file(plain_file, keys_a),
            "signed_record_with_extension": _signed_record(extended, keys_a),
            "memory_file_of_all_kinds": _signed_file(mixed_file, keys_a),
        },
        "signatures": _signatures(keys_a, keys_b),
        "lifecycle": {
            "legality": [
                {"from": current.value, "to": target.value, "legal": lifecycle.is_legal(current, target)}
                for current in STATES
                for target in STATES
            ]
        },
        "tombstones": [_tombstone_case(record) for record in (fact, rule, extended)],
        "record_invalid": [_record_invalid(fact, *case) for case in RECORD_INVALID],
        "extension": {
            "valid": [_extension_valid(fact, wire) for wire in EXTENSION_VALID],
            "invalid": [_extension_invalid(fact, wire, error) for wire, error in EXTENSION_INVALID],
        },
        "confidence": {
            "valid": list(CONFIDENCE_VALID),
            "invalid": [_refused(confidence_from_wire, wire, error) for wire, error in CONFIDENCE_INVALID],
            "rounded": [{"number": number, "wire": _rounded(number, wire)} for number, wire in CONFIDENCE_ROUNDED],
        },
        "time": {
            "valid": [time_to_wire(time_from_wire(wire, "time")) for wire in TIME_VALID],
            "invalid": [
                _refused(lambda wire: time_from_wire(wire, "time"), wire, error) for wire, error in TIME_INVALID
            ],
            "read": [{"iso": iso, "wire": _read(iso, wire)} for iso, wire in TIME_READ],
        },
    }


def _keys(seed: bytes) -> KeyPair:
    return KeyPair(
        signing_key=Ed25519PrivateKey.from_private_bytes(seed), agreement_key=X25519PrivateKey.from_private_bytes(seed)
    )


def _tombstone(record: MemoryRecord) -> MemoryRecord:
    return MemoryRecord.tombstone(record, reason="asked to forget", now=LATER)


def _canonical(name: str, text: str, expected: str | None) -> dict[str, str]:
    canonical = kernel.canonical_json(json.loads(text))
    wanted = (text if expected is None else expected).encode()
    _agree(name, canonical, wanted)
    return {"name": name, "input_json": text, "canonical_hex": canonical.hex()}


def _not_canonical(name: str, text: str, error: str) -> dict[str, Any]:
    return {"name": name, "input_json": text, "error": _error(lambda: kernel.canonical_json(json.loads(text)), error)}


def _not_read(name: str, text: str, error: str) -> dict[str, Any]:
    return {"name": name, "text": text, "error": _error(lambda: parse_json(text, "vectors"), error)}


def _signing_input(context: str, payload: Any) -> dict[str, Any]:
    return {"context": context, "payload": payload, "expected_hex": signing.signing_input(context, payload).hex()}


def _signed_record(record: MemoryRecord, keys: KeyPair) -> dict[str, Any]:
    signed = record.sign(keys, signing.address_of(keys))
    signed.verify()
    payload = signed.signing_payload()
    return {
        "context": signing.CONTEXT_RECORD,
        "payload": payload,
        "signing_input_hex": signing.signing_input(signing.CONTEXT_RECORD, payload).hex(),
        "signature_b64": signed.signature,
        "record": signed.model_dump(),
    }


def _signed_file(file: MemoryFile, keys: KeyPair) -> dict[str, Any]:
    signed = file.sign(keys)
    signed.verify()
    signed.verify_records()
    payload = signed.model_dump()
    del payload["signature"]
    return {
        "context": signing.CONTEXT_MEMORY_FILE,
        "payload": payload,
        "signing_input_hex": signing.signing_input(signing.CONTEXT_MEMORY_FILE, payload).hex(),
        "signature_b64": signed.signature,
        "file": signed.model_dump(),
        "canonical_bytes_hex": signed.canonical_bytes().hex(),
    }


def _signatures(keys_a: KeyPair, keys_b: KeyPair) -> list[dict[str, Any]]:
    """Signatures over one payload that a verifier must accept or refuse."""
    payload = {"a": 1}
    public = keys_a.public.signing
    good = base64.b64decode(signing.sign_payload(keys_a, "record", payload))
    large_s = good[:32] + (int.from_bytes(good[32:], "little") + GROUP_ORDER).to_bytes(32, "little")
    identity = (1).to_bytes(32, "little")
    forged = identity + bytes(32)
    other = base64.b64decode(signing.sign_payload(keys_b, "record", payload))
    file_context = base64.b64decode(signing.sign_payload(keys_a, "memory-file", payload))
    text = base64.b64encode(good).decode()
    spare_bits = text[:-3] + chr(ord(text[-3]) + 1) + "=="
    cases: list[tuple[str, bytes, str]] = [
        ("good", public, text),
        ("another key", public, base64.b64encode(other).decode()),
        ("another context", public, base64.b64encode(file_context).decode()),
        ("S not below the group order", public, base64.b64encode(large_s).decode()),
        ("cut short", public, base64.b64encode(good[:63]).decode()),
        ("one byte more", public, base64.b64encode(good + b"\0").decode()),
        ("base64 with spare bits set", public, spare_bits),
        ("base64 without padding", public, text.rstrip("=")),
        ("base64 with a line break", public, text[:40] + "\n" + text[40:]),
        ("base64 of the other alphabet", public, base64.urlsafe_b64encode(good).decode().replace("=", "") + "=="),
        ("no signature", public, ""),
        ("a small-order key, for which one signature fits every payload", identity, base64.b64encode(forged).decode()),
        ("another small-order key", bytes(32), base64.b64encode(identity + bytes(32)).decode()),
        ("a key with y outside the field", (2**255 - 18).to_bytes(32, "little"), base64.b64encode(forged).decode()),
    ]
    found = []
    for name, key, signature in cases:
        try:
            signing.verify_payload(key, "record", payload, signature)
            valid = True
        except RecordError:
            valid = False
        if valid != (name == "good" or (name.startswith("base64 of the other") and signature == text)):
            raise SystemExit(f"signature case {name!r} is taken for {'valid' if valid else 'invalid'}")
        found.append(
            {
                "name": name,
                "context": "record",
                "payload": payload,
                "public_hex": key.hex(),
                "address": str(address_from_signing_key(key)),
                "signature_b64": signature,
                "valid": valid,
            }
        )
    return found


def _tombstone_case(record: MemoryRecord) -> dict[str, Any]:
    tombstone = _tombstone(record)
    return {
        "original": record.model_dump(),
        "reason": "asked to forget",
        "now": time_to_wire(LATER),
        "tombstone": tombstone.model_dump(),
        "canonical_hex": tombstone.canonical_bytes().hex(),
    }


def _record_invalid(
    record: MemoryRecord, name: str, change: dict[str, Any], without: tuple[str, ...], error: str
) -> dict[str, Any]:
    wire = {**record.model_dump(), **copy.deepcopy(change)}
    for field in without:
        del wire[field]
    if wire.get("transition"):
        wire["transition"]["sides"] = [record.id if side == "$id" else side for side in wire["transition"]["sides"]]
    return {"name": name, "record": wire, "error": _error(lambda: MemoryRecord.model_validate(wire), error)}


def _extension_valid(record: MemoryRecord, wire: dict[str, Any]) -> dict[str, Any]:
    read = MemoryRecord.model_validate({**record.model_dump(), "agent_memory": wire})
    _agree(str(wire), read.model_dump()["agent_memory"], wire)
    return {"wire": wire, "canonical_record_hex": read.canonical_bytes().hex(), "id": read.id}


def _extension_invalid(record: MemoryRecord, wire: Any, error: str) -> dict[str, Any]:
    whole = {**record.model_dump(), "agent_memory": wire}
    return {"wire": wire, "error": _error(lambda: MemoryRecord.model_validate(whole), error)}


def _refused(read: Any, wire: Any, error: str) -> dict[str, Any]:
    return {"wire": wire, "error": _error(lambda: read(wire), error)}


def _rounded(number: str, wire: str) -> str:
    _agree(number, confidence_to_wire(float(number)), wire)
    return wire


def _read(iso: str, wire: str) -> str:
    _agree(iso, time_to_wire(read_time(iso, "time")), wire)
    return wire


def _error(call: Any, expected: str) -> str:
    try:
        call()
    except RecordError as error:
        _agree(str(error), type(error).__name__, expected)
        return expected
    raise SystemExit(f"what should end in a {expected} was accepted")


def _agree(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise SystemExit(f"{what}: {found!r} is not the value written down, {wanted!r}")


def main(arguments: list[str]) -> int:
    text = json.dumps(build(), indent=1, ensure_ascii=True) + "\n"
    if "--check" in arguments:
        same = TARGET.exists() and TARGET.read_text(encoding="ascii") == text
        if not same:
            sys.stderr.write(f"{TARGET} is out of date; run {Path(__file__).name}\n")
        return 0 if same else 1
    TARGET.write_text(text, encoding="ascii")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

"""Speed of the standard beside ``fg-agent-memory`` 0.2.0: canonical bytes and ids, construction, signatures.

    make bench        (or: .venv/bin/python benches/bench_standard.py)

Every pair is checked to give equal results before it is timed.  CPU time, except signatures: wall time on all cores.
"""

from __future__ import annotations

import hashlib
import time
from typing import Any

import fg_agent_id
import fg_agent_memory as peer
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from harness import corpus, exit_with, interleaved, report, require_release

import agent_memory as ours
from agent_memory import kernel

RECORDS = 3_000
SIGNED = 10_000


def make(package: Any, item: dict[str, Any], provenance: Any) -> Any:
    return package.MemoryRecord.create(
        package.RecordType(item["type"]),
        item["body"],
        provenance,
        tags=item["tags"],
        created_at=item["created_at"],
        confidence=item["confidence"],
    )


def main() -> None:
    require_release()
    items = corpus(RECORDS)
    sources = {
        package.__name__: [package.Provenance(kind="conversation", ref=item["ref"]) for item in items]
        for package in (ours, peer)
    }

    def create_all(package: Any) -> list[Any]:
        return [make(package, item, source) for item, source in zip(items, sources[package.__name__], strict=True)]

    our_records, their_records = create_all(ours), create_all(peer)
    assert [record.id for record in our_records] == [record.id for record in their_records]
    wires = [record.model_dump() for record in their_records]
    assert wires == [record.model_dump() for record in our_records]

    def their_digest(wire: dict[str, Any]) -> str:
        return hashlib.sha256(fg_agent_id.canonical_json(wire)).hexdigest()

    assert [kernel.canonical_json(wire) for wire in wires] == [fg_agent_id.canonical_json(wire) for wire in wires]
    assert (
        [kernel.digest(wire) for wire in wires] == [their_digest(wire) for wire in wires] == kernel.digest_many(wires)
    )
    verdicts = [
        report(
            "canonical bytes of a record dict",
            interleaved(
                {
                    "ours": lambda: [kernel.canonical_json(wire) for wire in wires],
                    "peer": lambda: [fg_agent_id.canonical_json(wire) for wire in wires],
                }
            ),
            RECORDS,
            goal=5,
        ),
        report(
            "canonical bytes and their digest",
            interleaved(
                {
                    "ours": lambda: [kernel.digest(wire) for wire in wires],
                    "peer": lambda: [their_digest(wire) for wire in wires],
                }
            ),
            RECORDS,
            goal=5,
        ),
        report(
            "the same, many in one call",
            interleaved(
                {
                    "ours": lambda: kernel.digest_many(wires),
                    "peer": lambda: [their_digest(wire) for wire in wires],
                }
            ),
            RECORDS,
            goal=5,
        ),
        report(
            "MemoryRecord.create",
            interleaved({"ours": lambda: create_all(ours), "peer": lambda: create_all(peer)}),
            RECORDS,
            goal=3,
        ),
        report(
            "MemoryRecord.model_validate",
            interleaved(
                {
                    "ours": lambda: [ours.MemoryRecord.model_validate(wire) for wire in wires],
                    "peer": lambda: [peer.MemoryRecord.model_validate(wire) for wire in wires],
                }
            ),
            RECORDS,
            goal=3,
        ),
        signatures(),
    ]
    exit_with(verdicts)


def signatures() -> bool:
    keys = fg_agent_id.KeyPair(
        signing_key=Ed25519PrivateKey.from_private_bytes(bytes(range(32))),
        agreement_key=X25519PrivateKey.from_private_bytes(bytes(range(32, 64))),
    )
    address = fg_agent_id.address_from_signing_key(keys.public.signing)
    signed = [make(ours, item, ours.Provenance(kind="c")).sign(keys, address) for item in corpus(SIGNED)]
    our_file = ours.MemoryFile.create(signed, agent=address)
    their_records = [peer.MemoryRecord.model_validate(record.model_dump()) for record in signed]

    def their_check() -> int:
        for record in their_records:
            record.verify()
        return len(their_records)

    assert our_file.verify_records() == their_check() == SIGNED
    return report(
        f"verifying {SIGNED:,} signed records (wall)",
        interleaved({"ours": our_file.verify_records, "peer": their_check}, rounds=3, clock=time.perf_counter),
        SIGNED,
        goal=3,
    )


if __name__ == "__main__":
    main()

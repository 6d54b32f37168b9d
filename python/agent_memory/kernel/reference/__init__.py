"""The kernel in plain Python, with the standard library alone: the executable specification (SPEC, the kernel).

It is written to be read and to be right.  The compiled kernel is tested against it, byte for byte and message for
message; ``AGENT_MEMORY_KERNEL=python`` runs the whole package on it.
"""

from agent_memory.kernel.reference.build import build_info
from agent_memory.kernel.reference.canonical import canonical_json, canonical_json_many, digest, digest_many
from agent_memory.kernel.reference.ed25519 import verify_signatures
from agent_memory.kernel.reference.normal import nfc
from agent_memory.kernel.reference.seal import seal

__all__ = [
    "build_info",
    "canonical_json",
    "canonical_json_many",
    "digest",
    "digest_many",
    "nfc",
    "seal",
    "verify_signatures",
]

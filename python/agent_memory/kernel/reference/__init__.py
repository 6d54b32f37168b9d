"""The kernel in plain Python, with the standard library alone: the executable specification (spec/kernel.md).

It is written to be read and to be right.  The compiled kernel is tested against it, byte for byte and message for
message; ``AGENT_MEMORY_KERNEL=python`` runs the whole package on it.
"""

from .build import build_info
from .canonical import canonical_json, canonical_json_many, digest, digest_many
from .ed25519 import verify_signatures
from .normal import nfc
from .seal import seal
from .search import Index

__all__ = [
    "Index",
    "build_info",
    "canonical_json",
    "canonical_json_many",
    "digest",
    "digest_many",
    "nfc",
    "seal",
    "verify_signatures",
]

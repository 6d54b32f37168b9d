"""The compiled kernel, once it is known to be there and to be the one this package was written for."""

from __future__ import annotations

from .boundary import BOUNDARY

try:
    from agent_memory._native import (
        Index,
        build_info,
        canonical_json,
        canonical_json_many,
        digest,
        digest_many,
        nfc,
        seal,
        verify_signatures,
    )
except ImportError as error:
    raise ImportError(
        "the compiled kernel agent_memory._native is missing or incomplete: build it with 'pip install -e .' "
        "(this needs Rust), or set AGENT_MEMORY_KERNEL=python to use the slow reference"
    ) from error

if build_info()["boundary"] != BOUNDARY:
    raise ImportError(
        f"the compiled kernel has boundary {build_info()['boundary']}, this package needs {BOUNDARY}: "
        "build it again with 'pip install -e .'"
    )

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

"""What the doctor says: one thing that is wrong, where it is, and whether it can be repaired without any loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["KINDS", "NON_CANONICAL", "UNREADABLE", "Finding"]

KINDS: Final = {
    "torn": "a version that cannot be read",
    "gap": "a version that is missing",
    "misplaced": "a version that belongs to another record",
    "foreign": "a file or folder that is no part of a memory",
    "index": "a row that does not agree with the version it indexes",
    "sidecar": "a damaged or stale file beside the records",
    "leftover": "a file that was never finished",
    "interrupted": "a write or redaction that was cut short",
    "dispute": "a dispute whose other side is gone",
    "lineage": "a link to a record that is not there, or that leads in a circle",
    "scope": "a merge that does not say whose memory it is",
    "key": "several records that stand under one key",
    "signature": "a signature that does not verify",
    "non-canonical": "a version that is valid, in another spelling than the canonical one",
    "peer": "a record that fg-agent-memory 0.2 cannot read",
}
"""Every kind of finding, and what it means."""
UNREADABLE: Final = frozenset({"torn", "gap", "misplaced"})
"""Kinds that mean that some version cannot be told: such a memory cannot be copied whole."""

NON_CANONICAL: Final = "non-canonical"
"""The kind that means that a version is sound, and its bytes are not those the format gives it."""


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One thing the doctor found.

    Attributes:
        kind: one of :data:`KINDS`.
        where: a path, or ``file.db#mem:…`` with a version number where one is meant.
        what: what is wrong and what to do; never a text of the memory.
        repairable: whether :func:`agent_memory.doctor.repair` puts it right.
        note: said for completeness: nothing is wrong with the memory.
    """

    kind: str
    where: str
    what: str
    repairable: bool = False
    note: bool = False

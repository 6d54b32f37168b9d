"""What this kernel is."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from agent_memory.kernel.boundary import BOUNDARY

from .unicode14 import NFC_VERSION

if TYPE_CHECKING:
    from agent_memory._native import _BuildInfo

__all__ = ["build_info"]


def build_info() -> _BuildInfo:
    """The same as the compiled kernel's, with ``python`` for the profile; the version is the installed package's."""
    from importlib.metadata import version

    return {
        "version": version("agent-memory"),
        "boundary": BOUNDARY,
        "profile": "python",
        "unicode": unicodedata.unidata_version,
        "nfc": NFC_VERSION,
    }

"""Text in quotes, escaped as JSON needs and no further (spec/kernel.md, Bytes)."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["quoted"]

_SHORT: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_ESCAPED: Final = re.compile(r'["\\\x00-\x1f]')


def quoted(text: str) -> str:
    """Quotation marks around; quotation mark, backslash and control characters below U+0020 escaped, nothing else."""
    return '"' + _ESCAPED.sub(lambda found: _SHORT.get(found[0]) or f"\\u{ord(found[0]):04x}", text) + '"'

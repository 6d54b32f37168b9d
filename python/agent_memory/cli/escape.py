"""Text of a memory on its way to a terminal, where it must look like nothing but text.

Whatever could move the cursor, change colours, reorder a line or begin a line of its own is shown as an escape.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

__all__ = ["one_line", "shown_lines", "to_json"]

_UNSAFE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # control characters, the introducers of ANSI sequences among them
    "\u00ad\u034f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # unseen, or reordering
    "\ud800-\udfff\U000e0000-\U000e007f]"  # lone surrogates; tags
)
_UNSAFE_IN_JSON: Final = re.compile(_UNSAFE.pattern.replace("\x00-\x1f", ""))  # json.dumps escapes those in strings


def one_line(text: str) -> str:
    """``text`` as one line; line breaks and all other control characters are shown as escapes."""
    return _UNSAFE.sub(_escape, text)


def shown_lines(text: str) -> list[str]:
    """``text`` as the lines it has, each safe to print after a margin; tabs become four spaces."""
    return [one_line(line.replace("\t", "    ")) for line in re.split("\r\n|\n", text)]


def to_json(value: Any, *, ascii_only: bool = False) -> str:
    """``value`` as an indented JSON document without control characters, so that it too can be shown."""
    # What json.dumps leaves as it is stands inside strings only, where an escape means the same character.
    return _UNSAFE_IN_JSON.sub(_json_escape, json.dumps(value, ensure_ascii=ascii_only, indent=2))


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    short = {9: "\\t", 10: "\\n", 13: "\\r"}.get(code)
    return short or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")


def _json_escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1] if ord(match[0]) != 0x7F else "\\u007f"

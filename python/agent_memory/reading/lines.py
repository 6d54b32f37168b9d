"""Bytes into numbered lines of text, each of bounded length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from agent_memory.errors import ArgumentError

__all__ = ["MAX_BYTES", "Line", "split_lines"]

MAX_BYTES: Final = 1_000_000
"""Longest line, and longest memory, that is read."""

_BOM: Final = b"\xef\xbb\xbf"
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its ending.  With a ``problem``, ``text`` is only good for seeing what kind of line it was."""

    number: int
    text: str = ""
    problem: str | None = None

    @property
    def blank(self) -> bool:
        return self.problem is None and not self.text.strip()


def split_lines(blocks: Iterable[bytes]) -> Iterator[Line]:
    r"""The lines in ``blocks``, ended by ``\n`` or ``\r\n``; a byte order mark of UTF-8 is dropped.

    At most one block and one line of MAX_BYTES are held at a time.

    Raises:
        ArgumentError: the bytes begin with the mark of UTF-16.
    """
    number = 1
    pending = bytearray()
    overlong = False
    for block in blocks:
        start = 0
        while (end := block.find(b"\n", start)) >= 0:
            if not overlong:
                pending += block[start:end]
            yield _line(number, pending, overlong)
            number += 1
            pending.clear()
            overlong = False
            start = end + 1
        if not overlong:
            pending += block[start:]
            if len(pending) > MAX_BYTES + 1:  # one more for the \r that a line may end with
                overlong = True
                del pending[4:]
    if pending:
        yield _line(number, pending, overlong)


def _line(number: int, pending: bytearray, overlong: bool) -> Line:
    raw = bytes(pending)
    if number == 1:
        if raw.startswith(_UTF16):
            raise ArgumentError("the text is UTF-16; convert it to UTF-8 first, for example with iconv")
        raw = raw.removeprefix(_BOM)
    raw = raw.removesuffix(b"\r")
    if overlong or len(raw) > MAX_BYTES:
        return Line(number, problem=f"is longer than {MAX_BYTES:,} bytes")
    try:
        return Line(number, raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        return Line(number, raw.decode("utf-8", "replace"), f"is not UTF-8 text (byte {error.start + 1} of the line)")

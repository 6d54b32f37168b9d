"""What a reader yields, and the paragraph it is gathered in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from .lines import MAX_BYTES, Line

__all__ = ["MAX_BYTES", "BadLine", "Block", "Entry"]

_TOO_LONG: Final = f"is longer than {MAX_BYTES:,} bytes; split it"


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing to remember.

    Attributes:
        line: number of its first line, from 1.
        item: arguments of ``Memory.remember`` by name, ``text`` among them.
        unused: names of fields the source had and no memory takes.
    """

    line: int
    item: dict[str, object]
    unused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that was not taken: its number, from 1, and why."""

    line: int
    reason: str


@dataclass(slots=True)
class Block:
    """The lines of one memory while they are gathered.

    A block with an unreadable line is left out as a whole: a memory with a hole in it would be another statement.
    """

    first: int = 0
    lines: list[str] = field(default_factory=list)
    size: int = 0
    broken: bool = False

    def add(self, line: Line, text: str | None = None) -> Iterator[BadLine]:
        """Take ``line`` (as ``text``, when a marker was taken off it); yields what is wrong with it."""
        self.first = self.first or line.number
        problem = line.problem or ("holds a NUL character, so this is no text" if "\0" in line.text else None)
        if problem:
            self.broken = True
            yield BadLine(line.number, f"{problem}; the paragraph it belongs to was left out")
            return
        text = (line.text if text is None else text).rstrip()
        self.size += len(text.encode("utf-8", "surrogatepass")) + 1
        if self.size <= MAX_BYTES:
            self.lines.append(text)

    def close(self) -> Iterator[Entry | BadLine]:
        """The entry the block makes, if it makes one; the block is empty afterwards."""
        text = "\n".join(self.lines).strip()
        if self.size > MAX_BYTES:
            yield BadLine(self.first, f"the paragraph that begins here {_TOO_LONG}")
        elif text and not self.broken:
            yield Entry(self.first, {"text": text})
        self.clear()

    def clear(self) -> None:
        """Forget what was gathered."""
        self.first, self.lines, self.size, self.broken = 0, [], 0, False

"""Plain text: every paragraph is a memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .entries import BadLine, Block, Entry
from .lines import Line

__all__ = ["read_plain"]


def read_plain(lines: Iterable[Line]) -> Iterator[Entry | BadLine]:
    """One entry per run of lines that are not blank; line breaks inside a paragraph are kept."""
    block = Block()
    for line in lines:
        if line.blank:
            yield from block.close()
        else:
            yield from block.add(line)
    yield from block.close()

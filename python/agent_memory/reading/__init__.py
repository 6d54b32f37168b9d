"""Readers: a text, Markdown or JSON Lines file as a sequence of things to remember.

Pure: they iterate over blocks of bytes and yield an :class:`Entry` per memory or a :class:`BadLine` per line that could
not be read, with its number.  Nothing is opened, stored or repaired here.  What an entry may hold is checked by the
memory that takes it; only what JSON cannot say for itself (types, duplicate keys) is checked on the way in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from .entries import MAX_BYTES, BadLine, Entry
from .jsonl import read_jsonl
from .lines import Line, split_lines
from .markdown import read_markdown
from .plain import read_plain

__all__ = ["FORMATS", "MAX_BYTES", "BadLine", "Entry", "Line", "format_of", "read", "split_lines"]

FORMATS: Final[dict[str, Callable[[Iterable[Line]], Iterator[Entry | BadLine]]]] = {
    "text": read_plain,
    "markdown": read_markdown,
    "jsonl": read_jsonl,
}
"""The reader of each format, by its name."""

_SUFFIXES: Final = {
    ".txt": "text",
    ".text": "text",
    ".md": "markdown",
    ".markdown": "markdown",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}


def format_of(file_name: str) -> str | None:
    """The name of the format a file's suffix stands for, or None when it stands for none."""
    dot = file_name.rfind(".")
    return _SUFFIXES.get(file_name[dot:].lower()) if dot >= 0 else None


def read(blocks: Iterable[bytes], format_name: str) -> Iterator[Entry | BadLine]:
    """What the bytes hold, one entry or bad line at a time and in order; never the whole text at once.

    Raises:
        ArgumentError: the text is UTF-16, of which no line could be read.
    """
    return FORMATS[format_name](split_lines(blocks))

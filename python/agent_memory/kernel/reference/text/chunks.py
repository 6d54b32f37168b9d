"""Chunks: what stands between white space and dashes, and whether it is code or a name (spec/text.md section 3)."""

from __future__ import annotations

import re
from typing import NamedTuple

from .characters import capitalised

_CHUNK = re.compile(r"[^ \nxu]+")
_AROUND = "'\".,:;!?()b"  # quotation marks, brackets and punctuation at the ends are no part of a chunk
_PLAIN = re.compile(r"a+(?:['\-]a+)*")


class Chunk(NamedTuple):
    """``code``: it holds more than letters, inner hyphens and apostrophes.  ``letter``: it is one letter.
    ``capitals``: it holds a capital after its first character.  ``initial``: its only capital is its first character,
    and a letter, digit or point follows."""

    end: int
    code: bool = False
    letter: bool = False
    capitals: bool = False
    initial: bool = False


class Chunks:
    """The chunks of one text, asked for in order."""

    def __init__(self, text: str, classes: str) -> None:
        self._text = text
        self._classes = classes
        self._last = Chunk(0)

    def at(self, place: int) -> Chunk:
        """The chunk that holds ``place``; places never go down."""
        start = self._last.end
        while place >= self._last.end:
            match = _CHUNK.search(self._classes, start)
            if match is None or match.start() > place:
                return Chunk(place)
            start = match.end()
            if place < start:
                self._last = self._read(match.start(), start)
        return self._last

    def _read(self, start: int, end: int) -> Chunk:
        whole = self._classes[start:end]
        core = whole.strip(_AROUND)
        first = start + len(whole) - len(whole.lstrip(_AROUND))
        text = self._text[first : first + len(core)]
        inner = capitalised(text[1:])
        return Chunk(
            end,
            code=_PLAIN.fullmatch(core) is None,
            letter=core == "a",
            capitals=inner,
            initial=not inner and capitalised(text[:1]) and core[1:2] in "a0.",
        )

"""Markdown: every bullet and every paragraph is a memory.

This is a reader of notes, no renderer: it finds where one statement ends and the next begins, and keeps the text as it
stands.  Headings, front matter, comments and rules between sections are no statements and are passed over.  A code
block stays with the paragraph or bullet it follows, a table is one memory, and so is each bullet of a nested list.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from .entries import BadLine, Block, Entry
from .lines import Line

__all__ = ["read_markdown"]

_FRONT_MATTER_LINES: Final = 500
"""Longest front matter; an opening mark with no end within it is a rule between sections."""
_HEADING: Final = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_UNDERLINE: Final = re.compile(r" {0,3}(?:=+|-+)\s*")
_RULE: Final = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}\s*")
_BULLET: Final = re.compile(r"(\s*)(?:[-*+]|(\d{1,3})[.)])(?:\s+|$)")
_SENTENCE_END: Final = re.compile(r"[.!?:;,…。！？：；、।؟।።][\"'”’)\]]*$")
_FENCE: Final = re.compile(r"\s*(`{3,}(?=[^`]*$)|~{3,})")
_QUOTE: Final = re.compile(r" {0,3}> ?")


def read_markdown(lines: Iterable[Line]) -> Iterator[Entry | BadLine]:
    """One entry per bullet, paragraph, table or quoted paragraph."""
    notes = _Notes()
    for line in _after_front_matter(iter(lines)):
        yield from notes.take(line)
    yield from notes.end()


def _after_front_matter(lines: Iterator[Line]) -> Iterator[Line]:
    first = next(lines, None)
    if first is None:
        return iter(())
    mark = first.text.rstrip()
    if mark not in ("---", "+++"):
        return chain((first,), lines)
    held: deque[Line] = deque((first,))
    for line in lines:
        held.append(line)
        if line.text.rstrip() in (mark, "..." if mark == "---" else mark):
            return lines
        if len(held) > _FRONT_MATTER_LINES:
            break
    return chain(held, lines)


class _Notes:
    """Where in the text the reader stands: in a bullet, a quote, a code block, a comment."""

    def __init__(self) -> None:
        self._block = Block()
        self._gap = False  # a blank line came after the block
        self._bullet = False
        self._indent = 0  # columns that belong to the bullet, not to its text
        self._quote = False
        self._fence = ""  # what closes the open code block
        self._comment = 0  # line on which an open comment began

    def take(self, line: Line) -> Iterator[Entry | BadLine]:
        text = line.text
        if self._comment:
            if "-->" in text:
                self._comment = 0
        elif self._fence:
            yield from self._code(line)
        elif line.problem is None and not text.strip():
            self._gap = True
        elif fence := _FENCE.match(text):
            yield from self._open_fence(line, fence[1])
        elif _HEADING.match(text):
            yield from self._close()
        elif self._is_heading_above(text):
            self._reset()
        elif _RULE.fullmatch(text):
            yield from self._close()
        elif text.lstrip().startswith("<!--") and (text.rstrip().endswith("-->") or "-->" not in text):
            self._comment = 0 if "-->" in text else line.number
        elif (bullet := _BULLET.match(text)) and self._begins_bullet(bullet):
            yield from self._begin_bullet(line, bullet)
        elif quote := _QUOTE.match(text):
            yield from self._quoted(line, text[quote.end() :])
        else:
            yield from self._words(line)

    def end(self) -> Iterator[Entry | BadLine]:
        yield from self._close()
        if self._comment:
            yield BadLine(self._comment, "a comment opens here and never closes; what follows it was left out")

    # ------------------------------------------------------------------ blocks

    def _close(self) -> Iterator[Entry | BadLine]:
        yield from self._block.close()
        self._reset()

    def _reset(self) -> None:
        self._block.clear()
        self._gap = self._bullet = self._quote = False
        self._indent = 0

    def _add(self, line: Line, text: str) -> Iterator[BadLine]:
        if self._gap and self._block.lines:
            self._block.lines.append("")
        self._gap = False
        yield from self._block.add(line, text)

    # ------------------------------------------------------------------ kinds of lines

    def _is_heading_above(self, text: str) -> bool:
        """Whether ``text`` underlines the one line of words before it, which makes that a heading."""
        lines = self._block.lines
        if len(lines) != 1 or self._gap or self._bullet or self._quote or self._block.broken:
            return False
        # A sentence with dashes below it is a note and the rule after it, whatever a renderer makes of the two.
        return _UNDERLINE.fullmatch(text) is not None and ("=" in text or not _SENTENCE_END.search(lines[0]))

    def _begins_bullet(self, bullet: re.Match[str]) -> bool:
        """In the middle of a paragraph only ``1.`` begins a numbered list; ``42.`` is the end of a sentence."""
        in_paragraph = bool(self._block.lines) and not self._gap and not self._bullet
        return not (in_paragraph and bullet[2] is not None and int(bullet[2]) != 1)

    def _begin_bullet(self, line: Line, bullet: re.Match[str]) -> Iterator[Entry | BadLine]:
        yield from self._close()
        self._bullet = True
        self._indent = len(bullet[0].expandtabs(4))
        rest = line.text[bullet.end() :]
        yield from self._block.add(line, rest)
        if fence := _FENCE.match(rest):
            self._fence = fence[1]

    def _quoted(self, line: Line, text: str) -> Iterator[Entry | BadLine]:
        if not text.strip():
            self._gap = True
            return
        if self._gap or not self._quote:
            yield from self._close()
        self._quote = True
        yield from self._add(line, text)

    def _words(self, line: Line) -> Iterator[Entry | BadLine]:
        belongs = not self._gap or (self._bullet and _indent_of(line.text) >= 2)
        if not belongs:
            yield from self._close()
        yield from self._add(line, _dedent(line.text, self._indent or 3))

    def _open_fence(self, line: Line, mark: str) -> Iterator[Entry | BadLine]:
        if self._gap and self._bullet and _indent_of(line.text) < 2:  # the list has ended
            yield from self._close()
        self._fence = mark
        yield from self._add(line, _dedent(line.text, self._indent))

    def _code(self, line: Line) -> Iterator[BadLine]:
        mark = line.text.strip()
        if len(mark) >= len(self._fence) and mark == self._fence[0] * len(mark):
            self._fence = ""
        yield from self._block.add(line, _dedent(line.text, self._indent))


def _indent_of(text: str) -> int:
    expanded = text.expandtabs(4)
    return len(expanded) - len(expanded.lstrip(" "))


def _dedent(text: str, columns: int) -> str:
    """``text`` without up to ``columns`` columns of leading white space."""
    indent = _indent_of(text)
    return " " * max(0, indent - columns) + text.lstrip(" \t")

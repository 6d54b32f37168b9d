"""Quotation marks, round brackets and bold type: which of them say something (spec/text.md section 3)."""

from __future__ import annotations

import re
from typing import NamedTuple

_DOUBLE, _SINGLE = '"“”„‟«»', "'‘‚‛‹›"
_KIND = {**dict.fromkeys(_DOUBLE, '"'), **dict.fromkeys(_SINGLE, "'"), "`": "`"}
_FOUND = re.compile(rf"[{_DOUBLE}{_SINGLE}`()\n\r\v\f\x85\u2028\u2029]|\*+")
_ORDINARY = re.compile(r"a+(?:['\-]a+)*|[\-+]?0+(?:[.,:]0+)*|u+")


class Enclosures(NamedTuple):
    """``quotes``: the quotation marks that are items; ``marks``: loose quotation marks and brackets of code, each
    with its place; ``bold``: where a pair of ``**`` begins and ends."""

    quotes: list[tuple[int, str]]
    marks: list[tuple[int, str]]
    bold: list[int]


def enclosures(text: str, classes: str) -> Enclosures:
    """One pass over the enclosing characters of a prepared text; nothing is enclosed across lines."""
    found = Enclosures([], [], [])
    opened: dict[str, int] = {}  # place of the open quotation mark of each kind
    brackets: list[bool] = []  # whether each open round bracket is code
    bold = -1
    for match in _FOUND.finditer(text):
        start, end = match.span()
        char = text[start]
        before, after = classes[start - 1] if start else "\n", classes[end] if end < len(classes) else "\n"
        if char == "*":
            if end - start != 2:
                continue
            if bold >= 0 and before not in " \n" and after in " \n.,:;!?)'\"x":
                found.bold.extend((bold, start))
                bold = -1
            elif before in " \n('\"x" and after in "a0u'\"x":
                bold = start
        elif char == "(":
            brackets.append(before in "a0" or after == ")")
            if brackets[-1]:
                found.marks.append((start, char))
        elif char == ")":
            if (brackets and brackets.pop()) or after in "a0":
                found.marks.append((start, char))
        elif kind := _KIND.get(char):
            _quotation_mark(found, opened, classes, start, kind, before + after, directed=char not in "'\"`")
        else:
            _leave_open(found, opened)
            brackets.clear()
            bold = -1
    _leave_open(found, opened)
    found.quotes.sort()
    found.marks.sort()
    return found


def _quotation_mark(
    found: Enclosures, opened: dict[str, int], classes: str, place: int, kind: str, beside: str, *, directed: bool
) -> None:
    before, after = beside[0], beside[1]
    if kind == "'" and beside == "aa":
        return  # an apostrophe
    if kind in opened and (directed or (before not in " \n" and after not in "a0")):
        first = opened.pop(kind)
        if _counts(classes[first + 1 : place], kind):
            found.quotes.extend(((first, kind), (place, kind)))
        return
    if before not in "a0" and (directed or after not in " \n"):
        place, previous = opened.get(kind, -1), place
        opened[kind] = previous
    if place >= 0 and kind != "`":
        found.marks.append((place, kind))


def _leave_open(found: Enclosures, opened: dict[str, int]) -> None:
    found.marks.extend((place, kind) for kind, place in opened.items() if kind != "`")
    opened.clear()


def _counts(inside: str, kind: str) -> bool:
    """Whether quotation marks around this say something: not around one ordinary word or number."""
    core = inside.strip(" .,:;!?x'\"")
    if kind == "`":
        return not core or " " in core
    return not _ORDINARY.fullmatch(core)

"""Words that hold a negator and deny nothing: "no doubt", "can't wait to" (spec/text.md section 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .tokens import lower
from .words import BEFORE_IDIOM, DENIED_AFTER, IDIOMS, SPEAKERS

if TYPE_CHECKING:
    from .tokens import Scan


def denies_nothing(scanned: Scan, index: int, following: int) -> bool:
    """Whether the negator at token ``index`` is part of an idiom; ``following`` is the first token after it."""
    word = _lower(scanned, index)
    for idiom in IDIOMS:
        if word == idiom[0] and _follow(scanned, following, len(idiom) - 1) == idiom[1:]:
            before = _precede(scanned, index, 2)
            literal = before and (before[-1] in DENIED_AFTER or "there" in before)
            return not (idiom[1] in ("problem", "worries") and literal)
    return _cannot_wait_or_help(scanned, index, following)


def _cannot_wait_or_help(scanned: Scan, index: int, following: int) -> bool:
    if _lower(scanned, index) == "not":
        if _precede(scanned, index, 1)[:1] not in (("can",), ("could",)):
            return False
        index -= 1
    elif _lower(scanned, index) not in ("can", "cannot", "cant", "could", "couldn", "couldnt"):
        return False
    after = _follow(scanned, following, 2) or _follow(scanned, following, 1)
    if after[:1] == ("help",):
        return len(after) > 1 and (after[1] in ("but", "it") or after[1].endswith("ing"))
    if after[:1] != ("wait",):
        return False
    if len(after) > 1 and after[1] in ("to", "until", "till"):
        return True
    before = [word for word in _precede(scanned, index, 3) if word not in BEFORE_IDIOM]
    if not before:
        return len(after) == 1  # the whole clause: "Next week is the show - can't wait!"
    return before[-1] in SPEAKERS


def _lower(scanned: Scan, index: int) -> str:
    return lower(scanned.tokens[index].text)


def _follow(scanned: Scan, index: int, count: int) -> tuple[str, ...]:
    """The ``count`` words from ``index`` on, if only spaces or apostrophes are before each; else nothing."""
    if index + count > len(scanned.tokens):
        return ()
    found = range(index, index + count)
    return tuple(_lower(scanned, i) for i in found) if all(_adjoins(scanned, i) for i in found) else ()


def _precede(scanned: Scan, index: int, count: int) -> tuple[str, ...]:
    """Up to ``count`` words before ``index`` with only spaces or an apostrophe between."""
    found: list[str] = []
    while index > 0 and len(found) < count and _adjoins(scanned, index):
        index -= 1
        found.insert(0, _lower(scanned, index))
    return tuple(found)


def _adjoins(scanned: Scan, index: int) -> bool:
    gap = scanned.text[scanned.tokens[index - 1].end : scanned.tokens[index].start]
    return bool(gap) and not gap.strip(" '")

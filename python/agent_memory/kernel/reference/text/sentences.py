"""Sentences of a text and what kind of memory each makes (spec/text.md section 8)."""

from __future__ import annotations

import re
from typing import Literal

from .characters import DIGIT, fold_case, is_digit, is_lower, is_upper
from .tokens import fold, scan
from .words import (
    IRREGULAR_PAST,
    MODALS,
    NO_VERB_AFTER,
    NOISE,
    PERSONS,
    PRESENT_VERBS,
    SHORTENED,
    STATIVE_PAST,
    TIMES,
    TITLES,
)

_BULLET = re.compile(rf"\s*(?:[-*+•‣◦·–]|{DIGIT}{{1,3}}[.)]|#{{1,6}}|>)\s+")
_STOP = re.compile(r"(?P<wide>[。！？｡؟।॥۔]+)|(?P<narrow>[.!?…]+)(?P<close>[\"'”’)\]»]*)(?=\s|$)")
_NEXT = re.compile(r"\s*(\S?)")


def split_sentences(text: str) -> list[str]:
    """The sentences of ``text``, stripped, without bullets; line breaks inside a paragraph do not end one."""
    return [sentence for block in _blocks(text) for sentence in _split(block)]


def classify_sentence(sentence: str) -> Literal["fact", "episode"] | None:
    """``episode`` for something that happened, ``fact`` for another statement, None for noise and questions."""
    scanned = scan(sentence)
    tokens = [token for token in scanned.tokens if token.kind in ("word", "run")]
    words = [fold(token.text) for token in tokens]
    unspaced = sum(len(token.text) for token in tokens if token.kind == "run")
    if not words or scanned.text.rstrip(" \"')").endswith("?") or words[0] in NOISE:
        return None
    if unspaced >= 5:
        return "fact"
    if len(words) < 3:
        return None
    return "episode" if _happened(words) else "fact"


def _happened(words: list[str]) -> bool:
    dated = not TIMES.isdisjoint(words)
    for index, word in enumerate(words):
        if word in ("was", "were", "did", "had"):
            return dated
        if word in MODALS or word in ("is", "are", "am", "has", "have", "do", "does") or word in PRESENT_VERBS:
            return False
        if word in STATIVE_PAST:
            return dated
        if index and _is_past(word) and words[index - 1] not in NO_VERB_AFTER:
            return True
        if index and words[index - 1] in PERSONS and not word.endswith("ly"):
            return False
    return False


def _is_past(word: str) -> bool:
    return word in IRREGULAR_PAST or (len(word) >= 5 and word.endswith("ed") and not word.endswith("eed"))


def _blocks(text: str) -> list[str]:
    blocks: list[list[str]] = [[]]
    for line in text.splitlines():
        bullet = _BULLET.match(line)
        if bullet or not line.strip():
            blocks.append([])
        if line.strip():
            blocks[-1].append(line[bullet.end() :].strip() if bullet else line.strip())
    return [" ".join(block) for block in blocks if block]


def _split(block: str) -> list[str]:
    sentences: list[str] = []
    start = 0
    for match in _STOP.finditer(block):
        if match["wide"] or _ends(block, start, match):
            sentences.append(block[start : match.end()].strip())
            start = match.end()
    sentences.append(block[start:].strip())
    return [sentence for sentence in sentences if sentence]


def _ends(block: str, start: int, match: re.Match[str]) -> bool:
    """Whether this stop ends a sentence, and is not the point of an abbreviation, an initial or a pause."""
    found = _NEXT.match(block, match.end())
    following = found[1] if found else ""
    if match["narrow"] in ("..", "...", "…"):
        return not is_lower(following)
    if match["narrow"] != "." or match["close"]:
        return True
    before = block[max(start, match.start() - 40) : match.start()].split()
    word = before[-1].lstrip("([\"'“‘") if before else ""
    folded = fold_case(word)
    if folded in TITLES and (folded != "no" or is_digit(following)):
        return not following
    if folded in SHORTENED:
        return not (is_lower(following) or is_digit(following))
    if len(word) == 1 and is_upper(word):  # an initial: "J. Smith", "Ada B. Lovelace"
        return not following or (len(before) > 1 and not is_upper(before[-2][:1]))
    return True

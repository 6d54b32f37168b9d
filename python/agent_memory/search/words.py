"""How the indexes written in Python take text apart (SPEC section 8).

The same for what is indexed and what is asked: compatibility forms folded, case folded, accents dropped, and scripts
written without spaces cut into overlapping pairs, since their words cannot be told apart without a dictionary.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

__all__ = ["STOP_WORDS", "split_words"]

STOP_WORDS: Final = frozenset(
    re.findall(
        "[a-z]+",
        "a an and are as at be been but by did do does for from had has have he her his how i in is it its me my of "
        "on or our she that the their them there they this to was we were what when where which who why will with you "
        "your",
    )
)
"""English words that say nothing about which record is meant."""

_ASCII_WORD: Final = re.compile(r"[a-z0-9]+", re.ASCII)
_LEAST_ACCENT: Final = 10
"""Combining marks from this class up are accents, vowel points and tones, which people leave out; below lie the voicing
marks, nuktas and viramas that make another letter."""
_UNSPACED: Final = re.compile(
    "["
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Myanmar, Khmer
    "\u2e80-\u2fdf\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff"  # radicals, kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\uac00-\ud7a3"  # Hangul: spaced, but particles stick to the words
    "]+"
)


def split_words(text: str, *, query: bool = False) -> list[str]:
    """The words of ``text`` in order, folded.

    A run in a script without spaces becomes the pairs of its neighbours.  Indexed text also gets the run's last
    character, so that every character begins a word; a query does not, unless the run is that one character.
    """
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    words: list[str] = []
    for word in _fold(text).split():
        start = 0
        for run in _UNSPACED.finditer(word):
            if start < run.start():
                words.append(word[start : run.start()])
            start = run.end()
            piece = run[0]
            words.extend(piece[at : at + 2] for at in range(len(piece) - 1))
            if not query or len(piece) == 1:
                words.append(piece[-1])
        if start < len(word):
            words.append(word[start:])
    return words


def _fold(text: str) -> str:
    """``text`` folded, with a space for every character that is no letter, number or mark."""
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    bare = "".join(letter for letter in decomposed if unicodedata.combining(letter) < _LEAST_ACCENT)
    return "".join(
        letter if unicodedata.category(letter)[0] in "LNM" else " " for letter in unicodedata.normalize("NFC", bare)
    )

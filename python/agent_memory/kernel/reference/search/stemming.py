"""Stems: Snowball where it has a script, and the first letters outside Latin script (spec/recall.md section 3.4).

The algorithms are those of the ``snowballstemmer`` package, which is not needed until a word is to be stemmed.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Final

from agent_memory.errors import ArgumentError

__all__ = ["LANGUAGES", "LATIN_LANGUAGES", "Stemmer", "strip_marks"]

LATIN_LANGUAGES: Final = (
    "basque", "catalan", "czech", "danish", "dutch", "english", "esperanto", "estonian", "finnish", "french", "german",
    "hungarian", "indonesian", "irish", "italian", "lithuanian", "norwegian", "polish", "porter", "portuguese",
    "romanian", "spanish", "swedish", "turkish",
)  # fmt: skip
"""Those that can be chosen for words in Latin script."""
LANGUAGES: Final = (*LATIN_LANGUAGES, "none")
_SCRIPTS: Final = (
    (0x0370, 0x03FF, "greek"),
    (0x0400, 0x052F, "russian"),
    (0x0531, 0x0587, "armenian"),
    (0x0620, 0x06FF, "arabic"),
    (0x0750, 0x077F, "arabic"),
    (0x0900, 0x097F, "hindi"),
    (0x0B80, 0x0BFF, "tamil"),
    (0x1F00, 0x1FFF, "greek"),
)
"""Ranges of code points and whose algorithm a word that begins in one gets."""
_LATIN: Final = ((0x0000, 0x036F), (0x1E00, 0x1EFF), (0x2C60, 0x2C7F), (0xA720, 0xA7FF), (0xAB30, 0xAB64))
_PREFIX: Final = 4
_UNMARKED: Final = ("english", "porter")
"""Algorithms that know no marks, and so stem words without them."""
_LEAST_ACCENT: Final = 10
"""Marks of this combining class and above are accents, vowel points and tones, which people leave out; below are the
voicing marks, nuktas and viramas that make another letter."""


def strip_marks(word: str) -> str:
    """``word`` in NFC without accents, vowel points and tones."""
    if word.isascii():
        return word
    bare = (letter for letter in unicodedata.normalize("NFD", word) if unicodedata.combining(letter) < _LEAST_ACCENT)
    return unicodedata.normalize("NFC", "".join(bare))


class Stemmer:
    """Answers the terms of a folded word.

    Args:
        language: one of :data:`LANGUAGES`; ``none`` leaves every word as it is, of any script.
    """

    def __init__(self, language: str) -> None:
        self._language = language
        self._algorithms: dict[str, Callable[[str], str]] = {}

    def __call__(self, word: str) -> tuple[str, ...]:
        """The stem of a word without its marks; outside Latin script also the first four letters of a longer stem."""
        if self._language == "none":
            return (strip_marks(word),)
        name = self._script(ord(word[0]))
        if name in _UNMARKED:
            return (self._stem(name, strip_marks(word)),)
        stem = strip_marks(self._stem(name, word) if name else word)
        if name == self._language or len(stem) <= _PREFIX:
            return (stem,)
        return (stem, stem[:_PREFIX])

    def _script(self, first: int) -> str:
        """The algorithm for a word that begins with this code point; empty for none."""
        if any(low <= first <= high for low, high in _LATIN):
            return self._language
        return next((name for low, high, name in _SCRIPTS if low <= first <= high), "")

    def _stem(self, name: str, word: str) -> str:
        if name not in self._algorithms:
            try:
                from snowballstemmer import stemmer
            except ImportError:
                raise ArgumentError(
                    "the reference of the search index needs the package snowballstemmer: "
                    "pip install 'snowballstemmer==3.1.1', or choose the language 'none'"
                ) from None
            self._algorithms[name] = stemmer(name).stemWord
        return self._algorithms[name](word)

"""What is asked of a character, as Unicode 14.0 answers it on every interpreter (spec/text.md sections 1 and 3).

The interpreter's own tables are asked, behind two guards: what 14.0 does not assign is category Cn and has no case, and
the few characters that a later version describes otherwise are listed here (complete up to Unicode 18.0).
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from .unassigned import UNASSIGNED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "CLASSES",
    "DIGIT",
    "capitalised",
    "category",
    "class_of",
    "fold_case",
    "is_digit",
    "is_lower",
    "is_upper",
    "lower_text",
]

_UNASSIGNED_SET: Final = "".join(f"{chr(first)}-{chr(last)}" for first, last in UNASSIGNED)
_UNASSIGNED: Final = re.compile(f"[{_UNASSIGNED_SET}]")
_UNASSIGNED_RUNS: Final = re.compile(f"([{_UNASSIGNED_SET}]+)")

#: A pattern for one decimal digit.
DIGIT: Final = f"(?:(?![{_UNASSIGNED_SET}])\\d)"

# What later versions changed about characters of 14.0.
_CATEGORY: Final = {"\u0295": "Ll", "\U0001171e": "Mn"}
_LOWERCASE: Final = {"\u0295": True, **dict.fromkeys("\u10fc\ua7f2\ua7f3\ua7f4\uab69", False)}
_BESIDE_SIGMA: Final = {"\u0295": "cased", "\U0001171e": "ignorable"}

# Han, Hiragana, Katakana, Thai, Lao, Khmer, Myanmar, Tibetan.
_UNSPACED: Final = (
    (0x0E01, 0x0EFF), (0x0F00, 0x0FFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3005, 0x3007), (0x3021, 0x3029),
    (0x3031, 0x3035), (0x3041, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA9E0, 0xA9FF),
    (0xAA60, 0xAA7F), (0xF900, 0xFAFF), (0xFF66, 0xFF9F), (0x1B000, 0x1B16F), (0x20000, 0x3FFFD),
)  # fmt: skip
_ITSELF: Final = frozenset("'\".,:;+-#/\\@_&*?!=()")
# Punctuation that means something beside a word or number: primes, daggers, dots, connectors.
_SIGNS: Final = frozenset("´¶·‖‗†‡•‣‧′″‴‵‶‷※‿⁀⁁⁂⁃⁎⁏⁑⁔⁕⁗")
_LINE_ENDS: Final = frozenset("\n\r\v\f\x85\u2028\u2029")


def category(char: str) -> str:
    """The general category."""
    if char.isascii():
        return unicodedata.category(char)
    if _UNASSIGNED.match(char):
        return "Cn"
    return _CATEGORY.get(char) or unicodedata.category(char)


def capitalised(text: str) -> bool:
    """Whether ``text`` holds an upper- or title-case letter."""
    if text.isascii():
        return text != text.lower()
    return any(category(char) in ("Lu", "Lt") for char in text)


def class_of(char: str) -> str:
    """The class letter of a character of a prepared text (section 3)."""
    if char in _ITSELF:
        return char
    if char in "[]{}":
        return "b"
    if char in _SIGNS:
        return "g"
    if char in _LINE_ENDS:
        return "\n"
    kind = category(char)
    if kind[0] == "Z" or kind in ("Cc", "Cs") or char == "\u200b":
        return " "
    if kind[0] in "LM" or char == "\u3007":
        return "u" if any(low <= ord(char) <= high for low, high in _UNSPACED) else "a"
    if kind[0] == "N":
        return "0"
    if char in "%‰‱§٪؉؊" or "\U000e0020" <= char <= "\U000e007f":
        return "s"
    if char == "`" or kind[0] == "P" or kind == "Cf":
        return "x"
    return "s"  # symbols, private use, and what Unicode 14.0 does not know


class _Classes(dict[int, str]):
    def __missing__(self, code: int) -> str:
        found = self[code] = class_of(chr(code))
        return found


#: Class letters by code point, for ``str.translate``.
CLASSES: Final = _Classes()


def is_lower(char: str) -> bool:
    """Whether one character, or none, has the property Lowercase, as ``str.islower`` says."""
    if not char.isascii() and (_UNASSIGNED.match(char) or char in _LOWERCASE):
        return _LOWERCASE.get(char, False)
    return char.islower()


def is_upper(text: str) -> bool:
    """Whether ``text`` has something upper-case and nothing lower- or title-case, as ``str.isupper`` says."""
    return any(map(_is_uppercase, text)) and not any(is_lower(c) or category(c) == "Lt" for c in text)


def _is_uppercase(char: str) -> bool:
    return char.isupper() and (char.isascii() or not _UNASSIGNED.match(char))


def is_digit(char: str) -> bool:
    """Whether one character, or none, is a digit of any kind, as ``str.isdigit`` says."""
    return char.isdigit() and (char.isascii() or not _UNASSIGNED.match(char))


def fold_case(text: str) -> str:
    """The full case folding, as ``str.casefold`` gives it."""
    return text.casefold() if text.isascii() else _each_known_piece(text, str.casefold)


def lower_text(text: str) -> str:
    """The full lower case, as ``str.lower`` gives it: ``Σ`` is ``ς`` at the end of a word, ``İ`` has two characters."""
    if "Σ" not in text:
        return text.lower() if text.isascii() else _each_known_piece(text, str.lower)
    lowered = []
    start = 0
    while (at := text.find("Σ", start)) >= 0:
        ends_word = _touches(text[i] for i in range(at - 1, -1, -1)) and not _touches(
            text[i] for i in range(at + 1, len(text))
        )
        lowered += [lower_text(text[start:at]), "ς" if ends_word else "σ"]
        start = at + 1
    return "".join([*lowered, lower_text(text[start:])])


def _touches(chars: Iterable[str]) -> bool:
    """Whether the first character that is not ignorable has case."""
    kind = next((kind for char in chars if (kind := _beside_sigma(char)) != "ignorable"), "")
    return kind == "cased"


@lru_cache(maxsize=4096)
def _beside_sigma(char: str) -> str:
    """What a character is to a sigma beside it, as ``str.lower`` shows: cased, ignorable or nothing."""
    if char in _BESIDE_SIGMA:
        return _BESIDE_SIGMA[char]
    if _UNASSIGNED.match(char) or not ("A" + char + "Σ").lower().endswith("ς"):
        return ""
    return "cased" if (char + "Σ").lower().endswith("ς") else "ignorable"


def _each_known_piece(text: str, mapped: Callable[[str], str]) -> str:
    pieces = _UNASSIGNED_RUNS.split(text)
    pieces[::2] = map(mapped, pieces[::2])
    return "".join(pieces)

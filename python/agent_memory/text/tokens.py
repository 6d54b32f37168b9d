"""Tokens of a text (spec/text.md sections 2 and 3): one class letter per character, one expression over the classes."""

from __future__ import annotations

import re
from typing import NamedTuple
from unicodedata import category, normalize

from .chunks import Chunks
from .enclosures import enclosures

# One shape for what is one character to a reader; None removes what is no character to a reader.
_UNIFIED: dict[int, str | None] = {
    **dict.fromkeys(map(ord, "\u2019\u02bc\uff07"), "'"),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d"), "-"),
    **{
        ord(wide): narrow
        for wide, narrow in zip("＋＃／＠＆？！＝＜＞％＄＊＿؟⁇⁈⁉‽", "+#/@&?!=<>%$*_?????", strict=True)
    },
    **dict.fromkeys((0xAD, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFE0E, 0xFE0F, 0xFEFF)),
    **dict.fromkeys(range(0x202A, 0x202F)),
    **dict.fromkeys(range(0x2066, 0x206A)),
}

# Han, Hiragana, Katakana, Thai, Lao, Khmer, Myanmar, Tibetan.
_UNSPACED = (
    (0x0E01, 0x0EFF), (0x0F00, 0x0FFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3005, 0x3007), (0x3021, 0x3029),
    (0x3031, 0x3035), (0x3041, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA9E0, 0xA9FF),
    (0xAA60, 0xAA7F), (0xF900, 0xFAFF), (0xFF66, 0xFF9F), (0x1B000, 0x1B16F), (0x20000, 0x3FFFD),
)  # fmt: skip
_ITSELF = frozenset("'\".,:;+-#/\\@_&*?!=()")
# Punctuation that means something beside a word or number: primes, daggers, dots, connectors.
_SIGNS = frozenset("´¶·‖‗†‡•‣‧′″‴‵‶‷※‿⁀⁁⁂⁃⁎⁏⁑⁔⁕⁗")
_LINE_ENDS = frozenset("\n\r\v\f\x85\u2028\u2029")


def _class_of(code: int) -> str:
    char = chr(code)
    if char in _ITSELF:
        return char
    if char in "[]{}":
        return "b"
    if char in _SIGNS:
        return "g"
    if char in _LINE_ENDS:
        return "\n"
    kind = category(char)
    if kind[0] == "Z" or kind in ("Cc", "Cs") or code == 0x200B:
        return " "
    if kind[0] in "LM" or code == 0x3007:
        return "u" if any(low <= code <= high for low, high in _UNSPACED) else "a"
    if kind[0] == "N":
        return "0"
    if char in "%‰‱§٪؉؊" or 0xE0020 <= code <= 0xE007F:
        return "s"
    if char == "`" or kind[0] == "P" or kind == "Cf":
        return "x"
    return "s"  # symbols, private use, and what this Unicode version does not know yet


class _Classes(dict[int, str]):
    def __missing__(self, code: int) -> str:
        found = self[code] = _class_of(code)
        return found


_CLASSES = _Classes()

_TOKEN = re.compile(
    r"""
    (?P<run>    u+ )
  | (?P<word>   (?: (?<![a0u)\-]) - (?=\.?0) | \+ (?=\.?0) )?          # the sign of a number
                (?: (?<![a0u).]) \. (?=[a0]) )?                          # .net .5
                [a0]+ (?: (?<=0) [.,:] (?=0) [a0]+ )*                    # v1.2.3 9:30 1,000
                (?: \+\+ | [+\#] (?![a0u+\#]) )? )                       # c++ c# 5+
  | (?P<symbol> [s=+] )
  | (?P<query>  \? [?!]* )
  | (?P<stars>  \*+ )
  | (?P<bang>   (?<=[a0_*\#s+=/\\@&g]) !+ (?![!=a0u]) )
  | (?P<mark>   [/\\@&b]
              | (?<!\#) \#+ (?=[a0u]) | (?<=[a0u]) \#+
              | (?<!_) _+ (?=[a0u]) | (?<=[a0u]) _+
              | (?<!g) g+ (?=[a0u]) | (?<=[a0u]) g+
              | - (?=[ ]*\.?0) | (?<![a0u\-]) -+ (?=[a0u])
              | (?<=[a0u]) (?: --+ | - (?![a0u]) ) | (?<=0) - (?=[au])
              | (?<=[a0]) [.,:;]+ (?=[a0]) | (?<=[a0u]) [.:]+ (?=[a0u])
              | (?<![^ \n]) : (?=[a0]) | (?<![a0u]) [:;] -? [()]
              | (?<![a0u.]) \.{1,2} (?=[/\\]) | (?<=[ /\\]) \.\. (?!\.)
              | (?<!!) !+ (?=[=a0u])
              | (?<=0) x (?=0) )
    """,
    re.VERBOSE,
)


_NOT_SPACE = re.compile(r"[^ ]")


class Token(NamedTuple):
    """One token: ``kind`` is run, word, symbol or mark; ``text`` as written; ``classes`` its class letters."""

    kind: str
    text: str
    classes: str
    start: int
    end: int


class Scan(NamedTuple):
    """A prepared text, its class letters, its tokens, and the quotation marks that say something, with their places."""

    text: str
    classes: str
    tokens: tuple[Token, ...]
    quotes: tuple[tuple[int, str], ...]


def prepare(body: str) -> str:
    """NFC with apostrophes, dashes and full-width operators unified and invisible characters removed."""
    return normalize("NFC", normalize("NFC", body).translate(_UNIFIED))


def fold(text: str) -> str:
    """Casefolded, in NFC."""
    return normalize("NFC", text.casefold())


def lower(text: str) -> str:
    """Lower-cased letter by letter, one for one: no two spellings become equal, as ``ß`` and ``ss`` do folded."""
    return text.lower() if text.isascii() else "".join(map(_lower_letter, text))


def _lower_letter(char: str) -> str:
    small = char.lower()
    return "σ" if small == "ς" else small if len(small) == 1 else char


def scan(body: str) -> Scan:
    """The tokens of ``body`` (spec/text.md section 3)."""
    text = prepare(body)
    classes = text.translate(_CLASSES)
    enclosed = enclosures(text, classes)
    if enclosed.bold:
        letters = list(classes)
        for place in enclosed.bold:
            letters[place : place + 2] = "xx"
        classes = "".join(letters)
    chunks = Chunks(text, classes)
    tokens = [Token("mark", mark, classes[place], place, place + 1) for place, mark in enclosed.marks]
    last = -1  # where the last token ended
    for match in _TOKEN.finditer(classes):
        start, end = match.span()
        kind = str(match.lastgroup)
        written = "?" if kind == "query" else text[start:end]
        if kind == "stars" or written == "-":
            first = last < 0 or "\n" in classes[last:start]  # on its line
            if first and classes[end : end + 1] in ("", " ", "\n"):
                continue  # the bullet of a list, or a rule
        elif kind == "bang" and not chunks.at(start).code and not chunks.at(start).capitals and not _goes_on(text, end):
            continue  # the end of a sentence
        last = end
        tokens.append(Token(kind if kind in ("run", "word", "symbol") else "mark", written, match[0], start, end))
    if enclosed.marks:
        tokens.sort(key=_place)
    return Scan(text, classes, tuple(tokens), tuple(enclosed.quotes))


def _goes_on(text: str, place: int) -> bool:
    """Whether a word in lower case follows, so that no sentence ends here."""
    following = _NOT_SPACE.search(text, place)
    return following is not None and category(following[0]) == "Ll"


def _place(token: Token) -> int:
    return token.start

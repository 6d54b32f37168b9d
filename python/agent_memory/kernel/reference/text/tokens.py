"""Tokens of a text (spec/text.md sections 2 and 3): one class letter per character, one expression over the classes."""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple, TypeAlias

from agent_memory.kernel.reference.normal import normalised

from .characters import CLASSES, category, fold_case, lower_text
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


Kind: TypeAlias = Literal["run", "word", "symbol", "mark"]
_KINDS: Final[dict[str, Kind]] = {"run": "run", "word": "word", "symbol": "symbol"}
_NOT_SPACE = re.compile(r"[^ ]")


class Token(NamedTuple):
    """One token: ``kind`` is run, word, symbol or mark; ``text`` as written; ``classes`` its class letters."""

    kind: Kind
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
    return normalised(normalised(body).translate(_UNIFIED))


def fold(text: str) -> str:
    """Casefolded, in NFC."""
    return normalised(fold_case(text))


def lower(text: str) -> str:
    """Lower-cased letter by letter, one for one: no two spellings become equal, as ``ß`` and ``ss`` do folded."""
    return text.lower() if text.isascii() else "".join(map(_lower_letter, text))


def _lower_letter(char: str) -> str:
    small = lower_text(char)
    return "σ" if small == "ς" else small if len(small) == 1 else char


def scan(body: str) -> Scan:
    """The tokens of ``body`` (spec/text.md section 3)."""
    text = prepare(body)
    classes = text.translate(CLASSES)
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
        tokens.append(Token(_KINDS.get(kind, "mark"), written, match[0], start, end))
    if enclosed.marks:
        tokens.sort(key=_place)
    return Scan(text, classes, tuple(tokens), tuple(enclosed.quotes))


def _goes_on(text: str, place: int) -> bool:
    """Whether a word in lower case follows, so that no sentence ends here."""
    following = _NOT_SPACE.search(text, place)
    return following is not None and category(following[0]) == "Ll"


def _place(token: Token) -> int:
    return token.start

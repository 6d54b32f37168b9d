"""What a text says, as terms, polarity and the full sequence of items (spec/text.md section 4)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from agent_memory.kernel.reference.normal import normalised

from .characters import capitalised, category, fold_case, is_upper
from .chunks import Chunks
from .idioms import denies_nothing
from .tokens import Scan, Token, fold, lower, scan
from .words import (
    ARTICLES,
    BEFORE_PARTICIPLE,
    CASED_UNITS,
    CASED_WORDS,
    CONTRACTED,
    ENDS,
    FORMS,
    FRAME_STEMS,
    NEGATORS_ENGLISH,
    NEGATORS_OTHER,
    NO_NOUN_FOLLOWS,
    NOT_INFLECTIONS,
    PREPOSITIONS,
    RUN_NEGATOR,
    STOP_WORDS,
    TAKES_ARTICLE,
    UNMARKED,
)

if TYPE_CHECKING:
    import re


class Item(NamedTuple):
    """One thing a text says, in order: a word, a stop word's form, a symbol or a mark.

    ``fixed`` items equal only themselves; the others also equal an inflection of theirs with the same ``stem``.
    """

    text: str
    stem: str
    fixed: bool


@dataclass(frozen=True, slots=True)
class Analysis:
    """A text reduced to what two texts are compared by.

    ``terms``: the content terms in order, stop words and negators dropped (spec/text.md section 4).
    ``core``: the set of terms without the modal frame stems.
    ``negated``: whether any negator occurs.
    ``items``: everything said, articles and plain punctuation aside; what ``same_statement`` compares.
    ``bare``: the text itself when it has no terms, else empty.
    """

    terms: tuple[str, ...]
    core: frozenset[str]
    negated: bool
    items: tuple[Item, ...]
    bare: str


def stem(word: str) -> str:
    """The light stem of a folded word: one suffix off while three letters stay, then a final e from four up."""
    for suffix in ("ing", "ed", "es", "s"):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word[: -len(suffix)]
            break
    return word[:-1] if len(word) >= 4 and word.endswith("e") else word


def analyse(body: str) -> Analysis:
    """The analysis of ``body``; equal for any two spellings of one text that differ in Unicode normal form only."""
    return _remembered(body) if len(body) <= _LONGEST_REMEMBERED else _analyse(body)


def _analyse(body: str) -> Analysis:
    reader = _Reader(scan(body))
    terms = tuple(reader.terms)
    return Analysis(
        terms=terms,
        core=frozenset(terms) - FRAME_STEMS,
        negated=reader.negated,
        items=tuple(reader.items),
        bare="" if terms else normalised(body),
    )


_LONGEST_REMEMBERED = 2000  # characters
_remembered = lru_cache(maxsize=2048)(_analyse)


def _shouting(scanned: Scan) -> bool:
    """Whether a text has no lower-case letter at all and two words of capitals or more: its case says nothing."""
    if any(category(char) == "Ll" for char in scanned.text):
        return False
    return (
        sum(len(token.text) > 1 and token.classes.isalpha() and capitalised(token.text) for token in scanned.tokens) > 1
    )


def _breaks(gap: str, marks: str) -> bool:
    return not set(marks).isdisjoint(gap)


class _Reader:
    """Walks the tokens of one text once and collects terms, items and polarity."""

    def __init__(self, scanned: Scan) -> None:
        self.scan = scanned
        self.terms: list[str] = []
        self.items: list[Item] = []
        self.negated = False
        self.shouting = _shouting(scanned)
        self._after_auxiliary = False
        self._ended = 0  # the token before which the end of a sentence has been told
        self._chunks = Chunks(scanned.text, scanned.classes)
        quotes = deque(scanned.quotes)
        skip = False
        for index, token in enumerate(scanned.tokens):
            while quotes and quotes[0][0] < token.start:
                self._fixed(quotes.popleft()[1])
            if skip:
                skip = False
            elif token.kind == "word":
                skip = self._word(index, token)
            elif token.kind == "run":
                self._run(fold(token.text))
            elif token.kind == "symbol":
                self._content(token.text, token.text, fixed=True)
            else:
                self._fixed(token.text)
        for _, mark in quotes:
            self._fixed(mark)

    # -- what a token adds ------------------------------------------------------------------------------------

    def _fixed(self, text: str) -> None:
        self.items.append(Item(text, text, True))

    def _negator(self, text: str, index: int, following: int) -> None:
        """Adds the negator at ``index``; the token at ``following`` is the first after it."""
        self.negated = self.negated or not denies_nothing(self.scan, index, following)
        self._fixed(text)
        self._end_before(following)

    def _end_before(self, index: int) -> None:
        """Adds the end of a sentence that stands before the token at ``index``, once."""
        if not 0 < index < len(self.scan.tokens) or index == self._ended:
            return
        before, token = self.scan.tokens[index - 1 : index + 1]
        if _breaks(self.scan.text[before.end : token.start], ENDS):
            self._ended = index
            self._fixed(".")

    def _content(self, text: str, stemmed: str, *, fixed: bool) -> None:
        self.terms.append(stemmed)
        self.items.append(Item(text, stemmed, fixed))
        self._after_auxiliary = False

    def _stop_word(self, word: str, text: str) -> None:
        self._fixed(FORMS.get(word, word) if text == word else text)
        if word in BEFORE_PARTICIPLE:
            self._after_auxiliary = True
        elif word not in ("just", "now"):
            self._after_auxiliary = False

    def _run(self, run: str) -> None:
        def drop(match: re.Match[str]) -> str:
            if match["negator"]:
                self.negated = True
            return match["keep"] or ""

        rest = RUN_NEGATOR.sub(drop, run)
        self.terms.extend([rest] if len(rest) == 1 else [rest[i : i + 2] for i in range(len(rest) - 1)])
        self.items.append(Item(run, run, True))
        self._after_auxiliary = False

    def _word(self, index: int, token: Token) -> bool:
        """Adds a word; true when the next token belonged to it (the t of n't, the longer of no longer)."""
        word = lower(token.text)
        if word.endswith("n") and self._followed_by(token, "'t"):
            base = word[:-1]
            self._plain(index, token, CONTRACTED.get(base, base), contracted=True)
            self._negator("not", index, index + 2)
            return True
        if word in UNMARKED:
            self._plain(index, token, UNMARKED[word], contracted=True)
            self._negator("not", index, index + 1)
        elif word == "no" and self._next_text(index) == "longer":
            self._end_before(index)
            self._negator("no longer", index, index + 2)
            return True
        elif self._negates(word, token):
            self._end_before(index)
            self._negator(self._written(index, token, word), index, index + 1)
        else:
            self._plain(index, token, word)
        return False

    def _plain(self, index: int, token: Token, word: str, *, contracted: bool = False) -> None:
        """Adds a word that is no negator; the verb of a contraction stands in lower case whatever the text has."""
        text = word if contracted else self._written(index, token, word)
        if word in ARTICLES and self._is_article(index, token, word, text):
            return
        if word in CASED_WORDS and is_upper(token.text) and not self.shouting:
            self._content(token.text, word, fixed=True)
        elif word == "am" and self._after_number(index, token):  # the time of day
            self._content(text, word, fixed=True)
        elif word in STOP_WORDS and word not in ARTICLES:
            self._stop_word(word, text)
        elif unit := self._unit(index, token):
            number = fold(token.text[: -len(unit)])
            self._content(text[: -len(unit)] + unit, number + unit, fixed=True)
        elif "0" in token.classes or not token.classes.isalpha():
            self._content(text, fold(word), fixed=True)
        else:
            fixed = (
                capitalised(token.text)
                or word in NOT_INFLECTIONS
                or (self._after_auxiliary and word.endswith(("ed", "ing")))
                or self._chunks.at(token.start).code
            )
            self._content(text, stem(fold(word)), fixed=fixed)

    def _written(self, index: int, token: Token, word: str) -> str:
        """``word``, or the token as written where its case is its meaning: in code, in a name like WHO, in a letter."""
        chunk = self._chunks.at(token.start)
        if chunk.letter:
            free = index == 0 and word in ("a", "i")
        elif chunk.code:
            free = index == 0 and chunk.initial
        else:
            free = self.shouting or not chunk.capitals
        return word if free else token.text

    # -- how a word is read -----------------------------------------------------------------------------------

    def _followed_by(self, token: Token, ending: str) -> bool:
        end = token.end + len(ending)
        follows = self.scan.classes[end : end + 1]
        return self.scan.text[token.end : end].lower() == ending and not (follows and follows in "a0u")

    def _next_text(self, index: int) -> str:
        following = self.scan.tokens[index + 1 : index + 2]
        return lower(following[0].text) if following else ""

    def _negates(self, word: str, token: Token) -> bool:
        classes, start, end = self.scan.classes, token.start, token.end
        if word == "no" and classes[end : end + 1] == "." and classes[end + 1 : end + 3].strip()[:1] == "0":
            return False  # "No. 5" is a number
        if word == "n":  # French "n'est", not the "n" of "rock 'n' roll"
            return classes[end : end + 2] == "'a" and classes[max(0, start - 1) : start] != "'"
        if word in NEGATORS_ENGLISH:
            return True
        abbreviation = word.isascii() and not self.shouting and is_upper(token.text)
        return word in NEGATORS_OTHER and not abbreviation

    def _is_article(self, index: int, token: Token, word: str, text: str) -> bool:
        """Whether an "a", "an" or "the" is an article; with a capital inside a sentence it is a name."""
        if word == "a":
            return self._is_indefinite(index, token)
        return text == word and (not capitalised(token.text) or self.shouting or self._begins_sentence(index, token))

    def _begins_sentence(self, index: int, token: Token) -> bool:
        """Whether a sentence, a line or what a colon announces begins with this token."""
        if index == 0:
            return True
        before = self.scan.tokens[index - 1]
        return before.text == "?" or _breaks(self.scan.classes[before.end : token.start], ".!?:\n")

    def _is_indefinite(self, index: int, token: Token) -> bool:
        """Whether this "a" is an article: it begins a noun phrase where one may begin; no capital inside a sentence."""
        tokens, classes = self.scan.tokens, self.scan.classes
        if self._chunks.at(token.start).code or not self._begins_noun_phrase(index, token):
            return False
        if index == 0:
            return True
        before = tokens[index - 1]
        begins = self._begins_sentence(index, token)
        if token.text != "a" and not self.shouting and not begins:
            return False
        word = lower(before.text)
        return (
            begins
            or _breaks(classes[before.end : token.start], ",;x")
            or word in STOP_WORDS
            or word in NEGATORS_ENGLISH
            or stem(word) in TAKES_ARTICLE
            or (word == "t" and classes[before.start - 1 : before.start] == "'")
        )

    def _begins_noun_phrase(self, index: int, token: Token) -> bool:
        following = self.scan.tokens[index + 1 : index + 3]
        if not following or _breaks(self.scan.text[token.end : following[0].start], ".,:;!?)"):
            return False
        if following[0].kind != "word":
            return following[0].kind == "run"
        word = lower(following[0].text)
        if word in NO_NOUN_FOLLOWS or word in NEGATORS_ENGLISH:
            return False
        if capitalised(word if self.shouting else following[0].text) or not following[0].classes.isalpha():
            return True
        plural = word.endswith("s") and not word.endswith(("ss", "us", "is")) and word not in NOT_INFLECTIONS
        if plural and not (index and lower(self.scan.tokens[index - 1].text) in PREPOSITIONS):
            return False  # "a blocks b"
        if not word.endswith("ed"):
            return True
        if len(following) < 2 or following[1].kind not in ("word", "run"):
            return False  # "a failed"
        gap = self.scan.text[following[0].end : following[1].start]
        return not (_breaks(gap, ".,:;!?)") or lower(following[1].text) in STOP_WORDS | NEGATORS_ENGLISH)

    def _unit(self, index: int, token: Token) -> str:
        """The unit, as written, that ends this word directly after a number ("5MB", "5 MB"); else empty."""
        unit = token.text[len(token.classes.rstrip("a")) :]
        if fold_case(unit) not in CASED_UNITS:
            return ""
        if len(unit) == len(token.text):
            if not self._after_number(index, token):
                return ""
        elif token.classes[-len(unit) - 1] != "0":
            return ""
        return unit

    def _after_number(self, index: int, token: Token) -> bool:
        before = self.scan.tokens[index - 1] if index else None
        return (
            before is not None and before.classes.endswith("0") and not self.scan.text[before.end : token.start].strip()
        )

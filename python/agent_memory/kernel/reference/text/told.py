"""The functions of text as both kernels offer them: plain tuples, and refusals of what is no text (spec/kernel.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from agent_memory.kernel.reference.near_dup import checked_text

from . import analyse as _analyse
from . import classify_sentence as _classify_sentence
from . import infer_slots as _infer_slots
from . import same_statement as _same_statement
from . import slot_values_clash as _slot_values_clash
from . import split_sentences as _split_sentences
from . import statements_oppose as _statements_oppose
from . import stem as _stem
from . import trigrams as _trigrams
from .analyse import Analysis, Item
from .characters import CLASSES, lower_text
from .tokens import fold, prepare, scan
from .words import FRAME_STEMS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_memory._native import _Told

__all__ = [
    "analyse",
    "analyse_many",
    "classify_sentence",
    "core_terms",
    "infer_slots",
    "infer_slots_many",
    "same_statement",
    "slot_values_clash",
    "split_sentences",
    "statements_oppose",
    "stem",
    "text_classes",
    "text_fold",
    "text_lower",
    "text_tokens",
    "trigrams",
]


def analyse(text: str, /) -> _Told:
    """The terms, the polarity, the bare text and the items of a text."""
    read = _analyse(_text(text))
    return read.terms, read.negated, read.bare, tuple((item.text, item.stem, item.fixed) for item in read.items)


def analyse_many(texts: Iterable[str], /) -> list[_Told]:
    """The analysis of each text."""
    return [analyse(text) for text in texts]


def core_terms(terms: tuple[str, ...], /) -> frozenset[str]:
    """The terms without those that frame a claim."""
    return frozenset(terms) - FRAME_STEMS


def same_statement(a: _Told, b: _Told, /) -> bool:
    """Whether two analyses are of the same statement."""
    return _same_statement(_analysis(a), _analysis(b))


def statements_oppose(a: _Told, b: _Told, /) -> bool:
    """Whether one of two analyses denies what the other claims."""
    return _statements_oppose(_analysis(a), _analysis(b))


def _analysis(told: _Told) -> Analysis:
    terms, negated, bare, items = told
    return Analysis(terms, core_terms(terms), negated, tuple(Item(*item) for item in items), bare)


def infer_slots(text: str, /) -> dict[str, str]:
    """The one slot a text fills, or nothing."""
    return _infer_slots(_text(text))


def infer_slots_many(texts: Iterable[str], /) -> list[dict[str, str]]:
    """The slot of each text."""
    return [infer_slots(text) for text in texts]


def slot_values_clash(x: str, y: str, /) -> bool:
    """Whether two values of one slot contradict each other."""
    return _slot_values_clash(_text(x, "x"), _text(y, "y"))


def split_sentences(text: str, /) -> list[str]:
    """The sentences of a text."""
    return _split_sentences(_text(text))


def classify_sentence(sentence: str, /) -> Literal["fact", "episode"] | None:
    """What kind of memory a sentence makes."""
    return _classify_sentence(_text(sentence, "sentence"))


def stem(word: str, /) -> str:
    """The light stem of a folded word."""
    return _stem(_text(word, "word"))


def trigrams(text: str, /) -> frozenset[str]:
    """The trigrams of a text."""
    return _trigrams(_text(text))


def text_classes(text: str, /) -> str:
    """The class letters of a prepared text."""
    return prepare(_text(text)).translate(CLASSES)


def text_fold(text: str, /) -> str:
    """The text folded, in NFC."""
    return fold(_text(text))


def text_lower(text: str, /) -> str:
    """The text in lower case."""
    return lower_text(_text(text))


def text_tokens(text: str, /) -> list[tuple[Literal["run", "word", "symbol", "mark"], str]]:
    """The tokens of a text, each its kind and its text."""
    return [(token.kind, token.text) for token in scan(_text(text)).tokens]


def _text(value: str, name: str = "text") -> str:
    return str.__str__(checked_text(value, name))

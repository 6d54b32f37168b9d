"""When two values are the same value, and two texts the same text (spec/corrections.md section 17.3).

Case, white space and Unicode form say nothing; everything else does: -5 is not 5, C++ is not C#, 1.5 is not 1,5.  So
whatever is taken for the same here may be blocked without losing a difference.
"""

from __future__ import annotations

from typing import Final

from agent_memory import kernel, text

__all__ = ["object_form", "restates_object", "text_form"]

_FULL_STOPS: Final = (".", "\u3002")
_AROUND_A_WORD: Final = ".,;:!?()[]{}\"'“”‘’«»\u3002"
"""Punctuation that may stand before or behind a word without being part of it."""


def object_form(value: str) -> str:
    """An object as it is compared: casefolded, NFC, white space collapsed and cut off at the ends."""
    return " ".join(kernel.text_fold(value).split())


def text_form(body: str) -> str:
    """A text as it is compared: as an object, without one final full stop."""
    form = object_form(body)
    if len(form) > 1 and form.endswith(_FULL_STOPS) and not form.endswith(".."):
        return form[:-1].rstrip()
    return form


def restates_object(body: str, object_: str, before: str) -> bool:
    """Whether ``body``, which came without an object, still states the ``object_`` that ``before`` had.

    It does when it names the object as whole words, denies nothing that ``before`` did not deny, and names nothing
    else: no word with a digit or an upper-case letter that neither ``before`` nor the object has.  So "It runs in
    Oslo" restates Oslo, and "It moved from Oslo to Bergen" does not.
    """
    words = _words(body)
    stated = _folded(_words(object_))
    folded = _folded(words)
    if not stated or not any(folded[at : at + len(stated)] == stated for at in range(len(folded) - len(stated) + 1)):
        return False
    if text.analyse(body).negated != text.analyse(before).negated:
        return False
    known = {*stated, *_folded(_words(before))}
    cased = any(character.islower() for character in body)  # in capitals throughout, a capital names nothing
    names = (word for at, word in enumerate(words) if _names_something(word, cased=cased and at > 0))
    return all(name in known for name in _folded(list(names)))


def _words(body: str) -> list[str]:
    """The words of a text as they are written; a sign or symbol belongs to its word."""
    return [word for part in body.split() if (word := part.strip(_AROUND_A_WORD))]


def _folded(words: list[str]) -> list[str]:
    return [kernel.text_fold(word) for word in words]


def _names_something(word: str, *, cased: bool) -> bool:
    """Whether a word has a digit, or where ``cased`` an upper-case letter, or lower and upper case in the middle."""
    if any(character.isdigit() for character in word):
        return True
    if cased:
        return any(character.isupper() for character in word)
    return any(character.isupper() for character in word[1:]) and not word.isupper()

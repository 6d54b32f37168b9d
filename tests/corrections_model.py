"""The rules of corrections as a plain model, written apart from the implementation.

It knows texts and objects as they were said, compares them with Python's own tools, and keeps for every key a list of
values in the order they came to stand.  It predicts every verdict, and what recall may show.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field

__all__ = ["Key", "Model", "Predicted", "same_text"]


def plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).split())


def same_text(text: str) -> str:
    form = plain(text)
    return form[:-1].rstrip() if form.endswith(".") and form != "." and not form.endswith("..") else form


@dataclass
class Spoken:
    """A value: every way in which it was said while it stood."""

    texts: set[str] = field(default_factory=set)
    echoed: set[str] = field(default_factory=set)
    objects: set[str] = field(default_factory=set)
    last: tuple[str, str | None] = ("", None)
    stated: str | None = None
    """The object it was said with last, if ever."""

    def matches(self, text: str, object: str | None) -> bool:
        if object is not None and self.objects:
            return plain(object) in self.objects
        return same_text(text) in self.texts | self.echoed

    def equals(self, other: Spoken) -> bool:
        if self.objects and other.objects:
            return bool(self.objects & other.objects)
        return bool((self.texts | self.echoed) & (other.texts | other.echoed))

    def say(self, text: str, object: str | None) -> None:
        self.texts.add(same_text(text))
        if object is not None:
            self.stated = plain(object)
            self.objects.add(self.stated)
        self.last = (same_text(text), None if object is None else plain(object))


@dataclass
class Key:
    """A key: the value that stands and those that stood, oldest first."""

    stands: Spoken | None = None
    retired: list[Spoken] = field(default_factory=list)

    def wordings(self) -> set[str]:
        """Every text known to say the value that stands, from any time it stood."""
        if self.stands is None:
            return set()
        same = [value for value in self.retired if value.equals(self.stands)]
        return {text for value in (self.stands, *same) for text in value.texts | value.echoed}

    def retiring(self, text: str, object: str | None) -> list[Spoken]:
        return [value for value in self.retired if value.matches(text, object)]


@dataclass(frozen=True)
class Predicted:
    """A verdict: one of lands, restates, reinforces, echo."""

    outcome: str

    @property
    def blocked(self) -> bool:
        return self.outcome == "echo"


class Model:
    """What a memory should do.  Texts of the values name their object as a word, or nothing that is one."""

    def __init__(self) -> None:
        self.keys: dict[str, Key] = {}

    def say(self, key: str, text: str, object: str | None, *, reaffirm: bool = False) -> Predicted:
        """A write under a key."""
        held = self.keys.setdefault(key, Key())
        stands = held.stands
        if stands is not None:
            same = same_text(text) == stands.last[0] and (object is None or plain(object) == stands.last[1])
            if same:
                return Predicted("reinforces")
            in_other_words = (object is None or not stands.objects) and same_text(text) in held.wordings()
            if stands.matches(text, object) or in_other_words or (object is None and self._names(text, stands)):
                stands.say(text, object)
                return Predicted("restates")
        if not reaffirm and held.retiring(text, object):
            held.retiring(text, object)[-1].echoed.add(same_text(text))
            return Predicted("echo")
        if stands is not None:
            held.retired.append(stands)
        held.stands = Spoken()
        held.stands.say(text, object)
        return Predicted("lands")

    @staticmethod
    def _names(text: str, value: Spoken) -> bool:
        """In the texts of these tests a value is one word, and a text that names one names no other."""
        words = {plain(word).strip(".,") for word in text.split()}
        return bool(value.objects & words)

    def chatter(self, text: str) -> Predicted:
        """A write without a key."""
        wanted = same_text(text)
        return Predicted("lands" if self.may_show(wanted) else "echo")

    def revert(self, key: str) -> tuple[str, str | None] | None:
        """The value before stands again: its last words and object, or None when there is none."""
        held = self.keys[key]
        if not held.retired:
            return None
        before = held.retired[-1].last[0], held.retired[-1].stated
        if held.stands is not None:
            held.retired.append(held.stands)
        held.stands = Spoken()
        held.stands.say(*before)
        return before

    def may_show(self, text: str) -> bool:
        """Whether a text that was said may be recalled: it stands, or no key retired it."""
        wanted = same_text(text)
        if any(wanted in held.wordings() for held in self.keys.values()):
            return True
        return not any(held.retiring(text, None) for held in self.keys.values())

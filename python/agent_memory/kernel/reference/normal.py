"""NFC as Unicode 14.0 defines it, whatever the interpreter's tables (spec/kernel.md, Normalisation)."""

from __future__ import annotations

import unicodedata

from agent_memory.errors import RecordTypeError

from . import refusal
from .unicode14 import INERT_RUNS

__all__ = ["nfc", "normalised"]


def nfc(text: str, /) -> str:
    """The text in NFC; the very same object when it already is."""
    if not isinstance(text, str):
        raise RecordTypeError(f"$ is of type '{type(text).__name__}': only text can be normalised")
    if has_surrogate(text):
        raise refusal.surrogate(())
    normal = normalised(text)
    return text if normal == str.__str__(text) else normal


def normalised(text: str) -> str:
    """The plain text in NFC.  Inert characters are starters that compose with nothing, so what lies between them
    normalises on its own."""
    text = str.__str__(text)
    if text.isascii():
        return text
    pieces = INERT_RUNS.split(text)
    pieces[::2] = [unicodedata.normalize("NFC", piece) for piece in pieces[::2]]
    return "".join(pieces)


def has_surrogate(text: str) -> bool:
    """Whether the text holds a lone surrogate and so is no text."""
    try:
        str.encode(text, "utf-8")
    except UnicodeEncodeError:
        return True
    return False

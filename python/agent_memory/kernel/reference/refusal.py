"""How a value is refused: the messages, and the path to the place (spec/kernel.md, Refusals).

A path is a tuple of keys and indexes from the outermost value inwards.  It names keys, never a value's text.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from agent_memory.errors import RecordError, RecordTypeError, RecordValueError

from .escape import quoted

__all__ = [
    "MAX_DEPTH",
    "Path",
    "equal_keys",
    "float_refused",
    "key_surrogate",
    "key_type",
    "surrogate",
    "too_deep",
    "type_refused",
]

Path: TypeAlias = tuple[str | int, ...]

#: How many containers may lie inside one another.
MAX_DEPTH: Final = 256

#: Paths are cut after this many characters.
PATH_LIMIT: Final = 120

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def show(path: Path) -> str:
    """The path as messages give it, such as ``$.extra["two words"][3]``."""
    shown = "$" + "".join(
        f"[{step}]" if isinstance(step, int) else f".{step}" if _PLAIN_NAME.fullmatch(step) else f"[{quoted(step)}]"
        for step in path
    )
    return shown if len(shown) <= PATH_LIMIT else shown[:PATH_LIMIT] + "…"


def float_refused(path: Path) -> RecordError:
    return RecordValueError(
        f"{show(path)} is a float: canonical JSON holds no floats; use an integer or a decimal string"
    )


def type_refused(path: Path, value: object) -> RecordError:
    return RecordTypeError(
        f"{show(path)} is of type '{type(value).__name__}': canonical JSON holds None, bool, int, str, list, tuple and "
        "dict; convert it first"
    )


def key_type(path: Path, key: object) -> RecordError:
    return RecordTypeError(f"a key of {show(path)} is of type '{type(key).__name__}': keys must be strings")


def surrogate(path: Path) -> RecordError:
    return RecordValueError(f"{show(path)} holds a lone surrogate, which is not text: replace it first")


def key_surrogate(path: Path) -> RecordError:
    return RecordValueError(f"a key of {show(path)} holds a lone surrogate, which is not text: replace it first")


def equal_keys(path: Path) -> RecordError:
    return RecordValueError(f"{show(path)} has keys that are equal after NFC normalisation: keep one of them")


def too_deep(path: Path) -> RecordError:
    return RecordValueError(f"{show(path)} is nested deeper than {MAX_DEPTH} containers: flatten it")

"""Embedders for the tests: one whose vectors can be told from its texts, and ones that answer what no index wants."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

DIMENSIONS = 12


def letters(texts: list[str]) -> list[list[float]]:
    """Counts of the first letters of the alphabet, so that likeness can be seen."""
    return [[float(text.lower().count(letter)) for letter in "abcdefghijkl"] for text in texts]


class Counting:
    """As :func:`letters`, noting what it was asked; fails while told to."""

    def __init__(self, identity: str | None = "counting", dimensions: int = DIMENSIONS) -> None:
        self.asked: list[str] = []
        self.failing: Callable[[list[str]], bool] = lambda texts: False
        self.identity = identity
        self.dimensions = dimensions

    def __call__(self, texts: list[str]) -> list[list[float]]:
        if self.failing(texts):
            raise TimeoutError("no answer about " + texts[0])
        self.asked.extend(texts)
        return letters(texts)

    def taken(self) -> list[str]:
        """What it was asked since the last time."""
        asked, self.asked = self.asked, []
        return asked


def _raising(texts: list[str]) -> Any:
    raise KeyError(texts[0])


HOSTILE: dict[str, Callable[[list[str]], Any]] = {
    "raises": _raising,
    "one too few": lambda texts: letters(texts)[1:],
    "one too many": lambda texts: [*letters(texts), [0.0] * DIMENSIONS],
    "shorter": lambda texts: [row[1:] for row in letters(texts)],
    "longer": lambda texts: [[*row, 1.0] for row in letters(texts)],
    "uneven": lambda texts: [row[: 1 + at % 2] for at, row in enumerate(letters(["", *texts]))][1:],
    "nan": lambda texts: [[math.nan] * DIMENSIONS for _ in texts],
    "inf": lambda texts: [[math.inf] * DIMENSIONS for _ in texts],
    "too large": lambda texts: [[1e300] * DIMENSIONS for _ in texts],
    "text": lambda texts: ["abcdefghijkl" for _ in texts],
    "texts": lambda texts: [["a"] * DIMENSIONS for _ in texts],
    "none": lambda texts: None,
    "nones": lambda texts: [None for _ in texts],
    "a number": lambda texts: 7,
    "bytes": lambda texts: b"x" * 4 * DIMENSIONS * len(texts),
    "complex": lambda texts: [[1j] * DIMENSIONS for _ in texts],
}

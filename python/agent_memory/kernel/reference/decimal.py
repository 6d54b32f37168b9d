"""Integers of any size in decimal, by divide and conquer (spec/kernel.md, Bytes).

The interpreter refuses to print integers above a limit, never set below 640 digits.  A number is therefore cut in two
at a power of ten until its parts are shorter than that.
"""

from __future__ import annotations

from typing import Final

__all__ = ["decimal"]

#: Digits printed at once.
CHUNK: Final = 512
FIRST_POWER: Final = 10**CHUNK


def decimal(value: int) -> str:
    """The decimal digits of a whole number, with a minus sign before a negative one."""
    value = int.__int__(value)
    if value < 0:
        return "-" + decimal(-value)
    if value < FIRST_POWER:
        return str(value)
    powers = [FIRST_POWER]
    while value >= powers[-1] * powers[-1]:
        powers.append(powers[-1] * powers[-1])
    return digits(value, powers).lstrip("0")


def digits(value: int, powers: list[int]) -> str:
    """The digits of a value below the square of the last power (without one: below the first), padded with zeros."""
    if not powers:
        return f"{value:0{CHUNK}d}"
    high, low = divmod(value, powers[-1])
    return digits(high, powers[:-1]) + digits(low, powers[:-1])

"""Strict Ed25519 verification, after RFC 8032 with the choices it leaves open made (spec/kernel.md, Signature checks).

A signature holds when its scalar is below the group order, its point and the key are encoded canonically and not of
small order, and the equation without cofactor holds.  Verification only: nothing here is secret, so nothing has to
take the same time whatever the input.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final, TypeAlias

from agent_memory.errors import ArgumentError, ArgumentTypeError

__all__ = ["verify", "verify_signatures"]

#: A point (x, y) as X/Z, Y/Z with T = XY/Z.
Point: TypeAlias = tuple[int, int, int, int]

P: Final = 2**255 - 19
#: The order of the group that the base point generates.
L: Final = 2**252 + 27742317777372353535851937790883648493
#: The constant of the curve -x² + y² = 1 + d x² y².
D: Final = -121665 * pow(121666, -1, P) % P
ROOT_OF_MINUS_ONE: Final = pow(2, (P - 1) // 4, P)
NEUTRAL: Final[Point] = (0, 1, 1, 0)


def verify_signatures(
    publics: Iterable[bytes], messages: Iterable[bytes], signatures: Iterable[bytes], /
) -> list[bool]:
    """For each signature whether it holds.

    A key that is not 32 bytes long, or a signature that is not 64, makes False.  Raises ArgumentError when there are
    not as many of each, ArgumentTypeError for anything but bytes.
    """
    keys = all_bytes(publics, "publics")
    texts = all_bytes(messages, "messages")
    proofs = all_bytes(signatures, "signatures")
    if not len(keys) == len(texts) == len(proofs):
        raise ArgumentError(
            f"{len(keys)} publics, {len(texts)} messages and {len(proofs)} signatures: give as many of each"
        )
    return [verify(*claim) for claim in zip(keys, texts, proofs, strict=True)]


def all_bytes(values: Iterable[bytes], argument: str) -> list[bytes]:
    items = []
    for index, value in enumerate(values):
        if not isinstance(value, bytes):
            raise ArgumentTypeError(f"{argument}[{index}] is of type '{type(value).__name__}': it must be bytes")
        items.append(value)
    return items


def verify(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether this key signed this message thus."""
    if len(public) != 32 or len(signature) != 64:
        return False
    scalar = int.from_bytes(signature[32:], "little")
    key = decode(public)
    point = decode(signature[:32])
    if scalar >= L or key is None or point is None or is_small_order(key) or is_small_order(point):
        return False
    challenge = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % L
    return equal(multiply(scalar, BASE), add(point, multiply(challenge, key)))


def decode(encoded: bytes) -> Point | None:
    """The point with this encoding, if it is the canonical encoding of a point: a y below P, and no sign on x = 0."""
    number = int.from_bytes(encoded, "little")
    sign, y = number >> 255, number & (2**255 - 1)
    if y >= P:
        return None
    x = square_root((y * y - 1) * pow(D * y * y + 1, -1, P) % P)
    if x is None or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = P - x
    return (x, y, 1, x * y % P)


def square_root(square: int) -> int | None:
    root = pow(square, (P + 3) // 8, P)
    for candidate in (root, root * ROOT_OF_MINUS_ONE % P):
        if candidate * candidate % P == square:
            return candidate
    return None


def add(left: Point, right: Point) -> Point:
    """The sum; the formula holds for every pair of points, equal ones too."""
    a = (left[1] - left[0]) * (right[1] - right[0]) % P
    b = (left[1] + left[0]) * (right[1] + right[0]) % P
    c = 2 * left[3] * right[3] * D % P
    d = 2 * left[2] * right[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def multiply(scalar: int, point: Point) -> Point:
    total = NEUTRAL
    while scalar:
        if scalar & 1:
            total = add(total, point)
        point = add(point, point)
        scalar >>= 1
    return total


def equal(left: Point, right: Point) -> bool:
    return (left[0] * right[2] - right[0] * left[2]) % P == 0 and (left[1] * right[2] - right[1] * left[2]) % P == 0


def is_small_order(point: Point) -> bool:
    """Whether eight times the point is the neutral one."""
    return equal(multiply(8, point), NEUTRAL)


def base_point() -> Point:
    """The point with y = 4/5 and an even x."""
    point = decode((4 * pow(5, -1, P) % P).to_bytes(32, "little"))
    if point is None:
        raise ArithmeticError("the base point is on the curve")
    return point


BASE: Final = base_point()

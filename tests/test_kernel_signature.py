"""Signature checks: strict Ed25519, the same verdict from both kernels on every input."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_memory import _native as native
from agent_memory.errors import ArgumentError, ArgumentTypeError
from agent_memory.kernel import reference
from agent_memory.kernel.reference import ed25519 as curve

INTEROP = Path(__file__).parent.parent / "spec" / "interop"
KERNELS = pytest.mark.parametrize("kernel", [native, reference], ids=["native", "reference"])

#: RFC 8032, section 7.1: key, message, signature.
PUBLISHED = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        (
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
            "d25bf5f0595bbe24655141438e7a100b"
        ),
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        (
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
            "387b2eaeb4302aeeb00d291612bb0c00"
        ),
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        (
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
            "4a7c15e9716ed28dc027beceea1ec40a"
        ),
    ),
]

#: Every encoding, canonical or not, that some decoder takes for a point of small order.
SMALL_ORDER = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000080",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
]

#: A point of order eight.
TORSION = curve.decode(bytes.fromhex(SMALL_ORDER[4]))


def encode(point: curve.Point) -> bytes:
    x, y, z, _ = point
    inverse = pow(z, -1, curve.P)
    return ((y * inverse % curve.P) | ((x * inverse % curve.P) & 1) << 255).to_bytes(32, "little")


def challenge(point: bytes, public: bytes, message: bytes) -> int:
    return int.from_bytes(hashlib.sha512(point + public + message).digest(), "little") % curve.L


def key_pair(seed: bytes) -> tuple[int, bytes]:
    """The secret scalar and the encoded public key."""
    half = bytearray(hashlib.sha512(seed).digest()[:32])
    half[0] &= 248
    half[31] = (half[31] & 127) | 64
    scalar = int.from_bytes(half, "little")
    return scalar, encode(curve.multiply(scalar, curve.BASE))


def verdict(public: bytes, message: bytes, signature: bytes) -> bool:
    """What both kernels say."""
    claim = ([public], [message], [signature])
    answer = native.verify_signatures(*claim)
    assert reference.verify_signatures(*claim) == answer
    return answer[0]


def test_the_published_signatures_hold() -> None:
    for public, message, signature in PUBLISHED:
        assert verdict(bytes.fromhex(public), bytes.fromhex(message), bytes.fromhex(signature))
        assert not verdict(bytes.fromhex(public), b"another message", bytes.fromhex(signature))


def test_the_signature_of_the_interop_file_holds() -> None:
    entry = json.loads((INTEROP / "fg-agent-id-vectors.json").read_text("utf-8"))["ed25519"]
    assert verdict(*(bytes.fromhex(entry[part]) for part in ("public_hex", "message_hex", "signature_hex")))


def test_a_scalar_of_the_group_order_or_more_is_refused() -> None:
    for public, message, signature in PUBLISHED:
        whole = bytes.fromhex(signature)
        scalar = int.from_bytes(whole[32:], "little")
        for more in range(1, 16):
            if scalar + more * curve.L < 2**256:
                again = whole[:32] + (scalar + more * curve.L).to_bytes(32, "little")
                assert not verdict(bytes.fromhex(public), bytes.fromhex(message), again)


@pytest.mark.parametrize("encoded", SMALL_ORDER)
def test_a_key_of_small_order_is_refused_even_where_the_equation_holds(encoded: str) -> None:
    public = bytes.fromhex(encoded)
    for scalar in range(1, 40):
        point = encode(curve.multiply(scalar, curve.BASE))
        assert not verdict(public, b"message", point + scalar.to_bytes(32, "little"))


@pytest.mark.parametrize("encoded", SMALL_ORDER)
def test_a_point_of_small_order_is_refused_even_where_the_equation_holds(encoded: str) -> None:
    secret, public = key_pair(b"seed")
    point = bytes.fromhex(encoded)
    scalar = challenge(point, public, b"message") * secret % curve.L
    assert not verdict(public, b"message", point + scalar.to_bytes(32, "little"))


def test_the_equation_is_the_one_without_cofactor() -> None:
    """A key with a part of small order: its signature holds just when that part vanishes from the equation."""
    assert TORSION is not None
    secret, _ = key_pair(b"seed")
    mixed = curve.add(curve.multiply(secret, curve.BASE), TORSION)
    public = encode(mixed)
    point = encode(curve.multiply(12345, curve.BASE))
    answers = set()
    for number in range(40):
        message = str(number).encode()
        factor = challenge(point, public, message)
        scalar = (12345 + factor * secret) % curve.L
        holds = verdict(public, message, point + scalar.to_bytes(32, "little"))
        assert holds == (factor % 8 == 0)
        answers.add(holds)
    assert answers == {True, False}


def test_a_coordinate_outside_the_field_is_refused() -> None:
    signature = bytes.fromhex(PUBLISHED[0][2])
    for y in range(curve.P, 2**255):
        for sign in (0, 1 << 255):
            encoded = (y | sign).to_bytes(32, "little")
            assert curve.decode(encoded) is None
            assert not verdict(encoded, b"", signature)
            assert not verdict(bytes.fromhex(PUBLISHED[0][0]), b"", encoded + signature[32:])


def test_wrong_lengths_do_not_hold_and_do_not_fail() -> None:
    public, message, signature = (bytes.fromhex(part) for part in PUBLISHED[1])
    for cut in (b"", public[:31], public + b"\0", public * 2):
        assert not verdict(cut, message, signature)
    for cut in (b"", signature[:63], signature + b"\0", signature[:32]):
        assert not verdict(public, message, cut)


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=100), st.integers(0, 8 * 96 - 1))
@settings(max_examples=60)
def test_what_another_library_signs_holds_and_one_bit_more_does_not(seed: bytes, message: bytes, bit: int) -> None:
    key = Ed25519PrivateKey.from_private_bytes(seed)
    public, signature = key.public_key().public_bytes_raw(), key.sign(message)
    assert verdict(public, message, signature)
    changed = bytearray(public + signature)
    changed[bit // 8] ^= 1 << bit % 8
    assert not verdict(bytes(changed[:32]), message, bytes(changed[32:]))
    assert not verdict(public, message + b"\0", signature)


@given(st.binary(min_size=30, max_size=34), st.binary(max_size=4), st.binary(min_size=62, max_size=66))
@settings(max_examples=60)
def test_both_kernels_say_the_same_of_anything(public: bytes, message: bytes, signature: bytes) -> None:
    verdict(public, message, signature)


def test_a_batch_of_any_size_gives_each_its_own_answer() -> None:
    signed = []
    for number in range(150):
        key = Ed25519PrivateKey.from_private_bytes(bytes([number] * 32))
        message = str(number).encode()
        signed.append((key.public_key().public_bytes_raw(), message, key.sign(message)))
    for count in (0, 1, 15, 16, 17, 33, 150):
        publics, messages, signatures = (
            (list(part) for part in zip(*signed[:count], strict=True)) if count else ([], [], [])
        )
        for wrong in range(0, count, 7):
            messages[wrong] += b"!"
        expected = [number % 7 != 0 for number in range(count)]
        assert native.verify_signatures(publics, messages, signatures) == expected
    assert reference.verify_signatures(publics[:10], messages[:10], signatures[:10]) == expected[:10]


@KERNELS
def test_a_call_is_refused_when_its_arguments_do_not_fit(kernel: Any) -> None:
    with pytest.raises(ArgumentError, match="1 publics, 0 messages and 2 signatures"):
        kernel.verify_signatures([b""], [], [b"", b""])
    for wrong in ("text", bytearray(32), None, 5):
        with pytest.raises(ArgumentTypeError, match=r"messages\[1\] is of type '.*': it must be bytes"):
            kernel.verify_signatures([b"", b""], [b"", wrong], [b"", b""])
    with pytest.raises(TypeError):
        kernel.verify_signatures(5, [], [])

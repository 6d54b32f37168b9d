"""The compiled kernel.  ``agent_memory.kernel`` chooses between it and the reference; nothing else imports it."""

from collections.abc import Iterable
from typing import Any, TypedDict, TypeVar, final, type_check_only

__all__ = [
    "build_info",
    "canonical_json",
    "canonical_json_many",
    "digest",
    "digest_many",
    "nfc",
    "seal",
    "verify_signatures",
]

_Birth = TypeVar("_Birth", bound=dict[str, Any])
_Rest = TypeVar("_Rest")

@final
@type_check_only
class _BuildInfo(TypedDict):
    version: str
    boundary: int
    profile: str
    unicode: str
    nfc: str

def build_info() -> _BuildInfo:
    """What this binary is: the version; the number of its contract with the package; ``release`` or ``debug``
    (``python`` for the reference); the Unicode version of its tables; the Unicode version of the NFC rule."""

def canonical_json(value: object, /) -> bytes:
    """The canonical bytes of a value (spec/kernel.md, Canonical JSON).

    Raises RecordValueError for a float, a lone surrogate, keys equal after NFC, or more than 256 nested containers, and
    RecordTypeError for a type that JSON does not have.
    """

def canonical_json_many(values: Iterable[object], /) -> list[bytes]:
    """The canonical bytes of each value."""

def digest(value: object, /) -> str:
    """The SHA-256 of the canonical bytes: 64 lower-case hexadecimal digits."""

def digest_many(values: Iterable[object], /) -> list[str]:
    """The digest of each value; other threads run while they are hashed."""

def nfc(text: str, /) -> str:
    """The text in NFC of Unicode 14.0; the very same object when it already is."""

def seal(birth: _Birth, rest: _Rest, /) -> tuple[str, _Birth, _Rest]:
    """Checks both values as canonical_json does, and normalises every string and key in them.

    Returns the digest of the first, and both.  Whatever does not change is the very same object; a container in which
    something does is a new plain dict, list or tuple.
    """

def verify_signatures(
    publics: Iterable[bytes], messages: Iterable[bytes], signatures: Iterable[bytes], /
) -> list[bool]:
    """For each signature whether it holds: strict Ed25519, one by one (spec/kernel.md, Signature checks).

    A key that is not 32 bytes long, or a signature that is not 64, makes False.  Other threads run meanwhile.  Raises
    ArgumentError when there are not as many of each, ArgumentTypeError for anything but bytes.
    """

"""The compiled kernel.  ``agent_memory.kernel`` chooses between it and the reference; nothing else imports it."""

from collections.abc import Iterable, Mapping
from typing import Any, Self, TypedDict, TypeVar, final, type_check_only

from agent_memory.kernel.reference.search.config import Config
from agent_memory.kernel.reference.search.packing import Row
from agent_memory.kernel.reference.search.visibility import Scope

__all__ = [
    "Index",
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
class Index:
    """Finds, scores and packs records (spec/recall.md).  Other threads run while it works, and may ask it meanwhile.

    A Config of the reference says how text is taken apart and ranked.  Everywhere here a value of the wrong type raises
    ArgumentTypeError, one out of range ArgumentError.
    """

    def __new__(cls, config: Config | None = None) -> Self: ...
    @property
    def config(self) -> Config:
        """The language and the constants of ranking."""

    def __len__(self) -> int:
        """How many records it holds; tombstones do not count."""

    def __contains__(self, record_id: object, /) -> bool: ...
    def update(self, payloads: Iterable[bytes], /) -> None:
        """Adds records, or replaces what is held of them, given the canonical bytes of their newest versions.

        Of a redacted record only its id and links are kept.  Many are read by several threads.  Raises RecordError for
        bytes that are no record; what stands before them may have been taken in.
        """

    def remove(self, record_ids: Iterable[str], /) -> None:
        """Forgets records and tombstones wholly, touches included.  An id that is not held is no error."""

    def set_touches(self, touches: Mapping[str, int], /) -> None:
        """Sets how often records were recalled, 0 to 2**64 - 1; others keep their counts."""

    def candidates(self, query: str, k: int) -> list[tuple[str, float]]:
        """At most ``k`` (id, raw score) pairs of records in any state but redacted, best first, then by id."""

    def recall(
        self,
        query: str,
        *,
        now: int,
        budget: int,
        k: int = 128,
        scope: Scope | None = None,
        include_archived: bool = False,
        include_history: bool = False,
        types: Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
        min_score: float = 0.0,
        limit: int | None = None,
    ) -> list[Row]:
        """The whole read stage: what is relevant to a query, best first, as many whole records as fit.

        ``now`` is in milliseconds since 1970, ``budget`` in tokens of about four characters; ``k`` candidates are
        considered.  ``scope`` is (project, user_id, agent_id, session_id), None in it for any, None for everybody's.
        Records that are not of one of ``types``, lack one of ``tags`` or score less than ``min_score`` are not found.
        There are at most ``limit`` rows.
        """

    def snapshot(self, cursor: str, epoch: int) -> bytes:
        """All of it as bytes, with the change cursor and the erasure epoch of the store that it reflects."""

    @classmethod
    def restore(cls, data: bytes, config: Config | None = None) -> tuple[Self, str, int] | None:
        """Index, cursor and epoch of a snapshot; None for one that is damaged, of another version or configuration."""

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

"""The ports: what a store, an index, an embedder and an operator must do (SPEC section 8).

Every rule of the memory can be stated over these alone, so whoever needs another database or model writes a class here
and nothing else changes.  A port's abstract members are few; what else a store can do is a *capability*, with a working
default here that a store may replace by something faster.  :mod:`agent_memory.testing` holds the contract as tests.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from .errors import StoreError
from .records import MemoryRecord, Provenance, RecordState, RecordType
from .wire import is_record_id

if TYPE_CHECKING:
    from .proposals import Proposal

__all__ = ["Embedder", "Operator", "RecordStore", "SearchIndex", "check_append", "check_id", "matches", "unknown_id"]


class RecordStore(ABC):
    """An append-only store of record versions.

    A put never overwrites: each appends a version, a byte-identical one too.  ``get`` answers the newest.  There is no
    deletion; a store that can destroy content offers ``redact(record_id, reason)`` beside the port, found by being
    callable, and no operator's proposal can reach it.
    """

    @abstractmethod
    def put(self, record: MemoryRecord) -> None:
        """Append a version.

        Raises:
            StoreError: it could not be written (nothing was), or the record is redacted and this is another version.
        """

    @abstractmethod
    def get(self, record_id: str) -> MemoryRecord:
        """The newest version.  Raises StoreError for an unknown or malformed id, or a version that is unreadable."""

    @abstractmethod
    def history(self, record_id: str) -> tuple[MemoryRecord, ...]:
        """Every version, oldest first.  Raises as :meth:`get`."""

    @abstractmethod
    def list(
        self,
        *,
        state: RecordState | None = None,
        type: RecordType | None = None,
        tag: str | None = None,
    ) -> tuple[MemoryRecord, ...]:
        """The newest version of every record that passes all given filters, in a fixed order."""

    def __iter__(self) -> Iterator[MemoryRecord]:
        """The newest version of every record."""
        return iter(self.list())

    # ------------------------------------------------------------------ capabilities, with defaults that work

    def put_many(self, records: Iterable[MemoryRecord]) -> None:
        """Append several versions, in order, in one transaction where the store has them."""
        with self.transaction():
            for record in records:
                self.put(record)

    def get_many(self, record_ids: Iterable[str]) -> dict[str, MemoryRecord]:
        """The newest versions of those ids that the store holds; unknown ids are left out."""
        found: dict[str, MemoryRecord] = {}
        for record_id in record_ids:
            try:
                found[record_id] = self.get(record_id)
            except StoreError:
                continue
        return found

    def payloads(self) -> Iterator[bytes]:
        """Canonical bytes of the newest version of every record, in the order of :meth:`list`."""
        return (record.canonical_bytes() for record in self.list())

    def transaction(self) -> AbstractContextManager[None]:
        """A context in which no other writer of this store gets between a read and the write that follows it.

        Re-entrant.  The default excludes nobody: a store used by several threads or processes replaces it.
        """
        return nullcontext()

    def changes(self, since: str | None = None) -> tuple[str, tuple[str, ...] | None]:
        """What was written, by anybody, since an earlier call: how sidecars and other processes keep in step.

        Args:
            since: the cursor an earlier call answered, maybe in another process and long ago; None for the first.

        Returns:
            A cursor for the present (text, opaque), and the ids with a version or a redaction since ``since``, each
            once, in order of their first change; None instead when that cannot be told, for ``since`` is None, foreign
            or too old: then whoever asks reads everything.  Nothing written after the call is missed by the next one.

        The default can tell nothing, and answers that nothing changed: whoever writes the store from two sides needs a
        store that replaces it.
        """
        return "", None if since is None else ()

    def close(self) -> None:
        """Release files and connections.  Closing twice is allowed."""
        return


class SearchIndex(ABC):
    """Finds records by text.  Holds copies of text, never the truth: state and scope are read from the store."""

    @abstractmethod
    def index(self, record: MemoryRecord) -> None:
        """Add a record, or replace what the index holds of it."""

    @abstractmethod
    def candidates(self, query: str, k: int) -> tuple[tuple[str, float], ...]:
        """At most ``k`` (id, score) pairs, best first, score above 0 for a match; empty when ``k`` is 0 or less."""

    def index_many(self, records: Iterable[MemoryRecord]) -> None:
        """Add or replace several records."""
        for record in records:
            self.index(record)

    def close(self) -> None:
        """Release files and connections.  Closing twice is allowed."""
        return


class Embedder(ABC):
    """Turns text into a vector."""

    @property
    @abstractmethod
    def dimensions(self) -> int:
        """Length of every vector, 1 or more."""

    @property
    def identity(self) -> str | None:
        """Text that is another whenever the vectors are; None leaves it to whoever keeps them to tell by a probe."""
        return None

    @abstractmethod
    def embed(self, text: str) -> tuple[float, ...]:
        """A vector of unit length, or all zeros for text that says nothing."""

    def embed_many(self, texts: Sequence[str]) -> tuple[tuple[float, ...], ...]:
        """One vector per text."""
        return tuple(self.embed(text) for text in texts)


class Operator(ABC):
    """Reads text and proposes records: a heuristic, or a model.  What it proposes is validated before any write."""

    @abstractmethod
    def propose(self, text: str, provenance: Provenance) -> tuple[Proposal, ...]:
        """Proposals to create records, in order; empty when the text holds nothing worth keeping."""


# ---------------------------------------------------------------------- what every store checks in the same words


def check_id(record_id: object) -> str:
    """``record_id`` when it has the form of one, else a StoreError."""
    if not isinstance(record_id, str) or not is_record_id(record_id):
        raise StoreError("malformed record id; it must be 'mem:' followed by 32 lower-case hex digits")
    return record_id


def unknown_id(record_id: str) -> StoreError:
    """The error for a well-formed id the store does not hold."""
    return StoreError(f"unknown record id {record_id}; this store holds no such record")


def check_append(latest: MemoryRecord | None, record: MemoryRecord) -> None:
    """Raise StoreError when ``record`` may not follow ``latest``: a tombstone is followed by nothing but itself."""
    if latest is not None and latest.redacted and record != latest:
        raise StoreError(f"record {record.id} is redacted; nothing can be written over a tombstone")


def matches(record: MemoryRecord, state: RecordState | None, kind: RecordType | None, tag: str | None) -> bool:
    """Whether a record passes the filters of :meth:`RecordStore.list`."""
    return (
        (state is None or record.state == state)
        and (kind is None or record.type == kind)
        and (tag is None or tag in record.tags)
    )

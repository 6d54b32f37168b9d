"""The exported memory: one canonical JSON file that its agent signs (SPEC section 7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Self

from . import kernel, signing
from .clock import now_utc, time_from_wire, time_to_wire, truncate
from .errors import RecordError, RecordTypeError, signature_mismatch
from .frozen import EMPTY_DICT, FrozenValue, freeze, thaw
from .records import MemoryRecord
from .signing import FORMAT_VERSION
from .wire import check_extra, check_mapping, check_optional_text, check_text, refusal_of, unknown_members

if TYPE_CHECKING:
    from fg_agent_id import KeyPair

__all__ = ["MemoryFile"]


class MemoryFile(FrozenValue):
    """A memory as one value: a header, the latest version of every record, and the owner's signature over all of it.

    Attributes:
        format: the format version, ``fg-agent-memory/0.1``; any other is refused.
        agent: address of the owner, or None.
        created_at: when it was exported.
        records: the records, in any order.
        signature: base64, or empty.
        extra: unknown header fields, carried along and signed.

    Raises:
        RecordError: an unknown format or any field of the wrong type; the message names it.
    """

    _fields = ("format", "agent", "created_at", "records", "signature", "extra")
    __slots__ = _fields
    _KNOWN: ClassVar = frozenset(_fields) - {"extra"}
    format: str
    agent: str | None
    created_at: datetime
    records: tuple[MemoryRecord, ...]
    signature: str
    extra: Mapping[str, Any]

    def __init__(
        self,
        *,
        format: str = FORMAT_VERSION,
        agent: str | None = None,
        created_at: datetime,
        records: Iterable[MemoryRecord] = (),
        signature: str = "",
        extra: Mapping[str, Any] = EMPTY_DICT,
    ) -> None:
        _check_format(format)
        if isinstance(records, str | bytes | Mapping) or not isinstance(records, Iterable):
            raise RecordTypeError(f"records must be a list of records, not {type(records).__name__}")
        held = tuple(records)
        seen: set[str] = set()
        for position, record in enumerate(held):
            if not isinstance(record, MemoryRecord):
                raise RecordTypeError(f"records[{position}] must be a MemoryRecord, not {type(record).__name__}")
            if record.id in seen:
                raise RecordError(f"records[{position}]: {record.id} stands in the file twice; keep its newest version")
            seen.add(record.id)
        header = {
            "agent": check_optional_text(agent, "agent"),
            "signature": check_text(signature, "signature", empty=True),
            "extra": dict(check_extra(extra, self._KNOWN, "file")),
        }
        try:
            _, header, _ = kernel.seal(header, ())
        except RecordError as error:
            raise refusal_of("the file's header", error) from None
        put = object.__setattr__
        put(self, "format", FORMAT_VERSION)
        put(self, "agent", header["agent"])
        put(self, "created_at", truncate(created_at, "created_at"))
        put(self, "records", held)
        put(self, "signature", header["signature"])
        put(self, "extra", freeze(header["extra"]))

    @classmethod
    def create(
        cls, records: Iterable[MemoryRecord], *, agent: str | None = None, created_at: datetime | None = None
    ) -> Self:
        """An unsigned file of ``records``; ``created_at`` defaults to now."""
        return cls(records=records, agent=agent, created_at=now_utc() if created_at is None else created_at)

    def model_copy(self, update: Mapping[str, Any] | None = None) -> Self:
        """A copy with some fields replaced, checked again; the signature is kept."""
        values = {name: getattr(self, name) for name in self._fields}
        changes = {} if update is None else check_mapping(update, "update")
        for name in changes:
            if name not in values:
                raise RecordError(f"a memory file has no field {name!r}; put unknown header fields into 'extra'")
        return type(self)(**{**values, **changes})

    def model_dump(self) -> dict[str, Any]:
        """The wire form: a new dict of JSON types."""
        return {**self._signed_payload(), "signature": self.signature}

    def _signed_payload(self) -> dict[str, Any]:
        return {
            "format": self.format,
            "agent": self.agent,
            "created_at": time_to_wire(self.created_at),
            "records": [record.model_dump() for record in self.records],
            **thaw(self.extra),
        }

    @classmethod
    def model_validate(cls, data: object) -> Self:
        """Read a wire form; every record in it is checked as :meth:`MemoryRecord.model_validate` does.

        Raises:
            RecordError: a field that is missing or of the wrong type, an unknown format, the same id twice, or a bad
                record; the message says which.
        """
        wire = check_mapping(data, "memory file")
        extra = unknown_members(wire, cls._KNOWN, ("format", "created_at", "records"), "memory file")
        _check_format(wire["format"])
        items = wire["records"]
        if not isinstance(items, list | tuple):
            raise RecordTypeError(f"records must be a list, not {type(items).__name__}")
        records: list[MemoryRecord] = []
        for position, item in enumerate(items):
            try:
                records.append(MemoryRecord.model_validate(item))
            except RecordError as error:
                raise type(error)(f"records[{position}]: {error}") from None
        return cls(
            format=wire["format"],
            agent=wire.get("agent"),
            created_at=time_from_wire(wire["created_at"], "created_at"),
            records=records,
            signature=wire.get("signature", ""),
            extra=extra,
        )

    def canonical_bytes(self) -> bytes:
        """Canonical JSON of the file with its signature left out: what the signature covers."""
        return kernel.canonical_json(self._signed_payload())

    def sign(self, keys: KeyPair) -> Self:
        """A copy signed by ``keys``, which must be those of ``agent``.

        Raises:
            RecordError: the file names no agent, or another one than the keys'.
        """
        if self.agent is None:
            raise RecordError("a memory file must name its agent before it is signed")
        if signing.address_of(keys) != self.agent:
            raise RecordError("the keys are not those of the file's agent; sign with the owner's keys")
        return self.model_copy(
            {"signature": signing.sign_payload(keys, signing.CONTEXT_MEMORY_FILE, self._signed_payload())}
        )

    def verify(self) -> None:
        """Check the file's own signature.

        Raises:
            RecordError: unsigned, or without an agent.
            SignatureMismatch: it does not match; also a ``fg_agent_id.SignatureError``.
        """
        if self.agent is None or not self.signature:
            raise RecordError("the memory file is not signed; load it with verify=False only if you trust its source")
        signing.verify_by_address(self.agent, signing.CONTEXT_MEMORY_FILE, self._signed_payload(), self.signature)

    def verify_records(self) -> int:
        """Check the signature of every record that names a signer, on all cores; how many there were.

        Raises:
            RecordError: a record that names a signer but carries no signature, or no valid address.
            SignatureMismatch: a signature that does not match; the message names the record.
        """
        signed = [record for record in self.records if record.signed_by is not None or record.signature]
        for record in signed:
            if not record.signed_by or not record.signature:
                raise RecordError(f"record {record.id} carries half a signature: a signer without one, or one without")
        failed = signing.first_mismatch(
            signing.CONTEXT_RECORD,
            [(record.signed_by or "", record.signing_payload(), record.signature) for record in signed],
        )
        if failed is not None:
            raise signature_mismatch()(f"the signature of record {signed[failed].id} does not match its content")
        return len(signed)


def _check_format(value: object) -> None:
    if check_text(value, "format") != FORMAT_VERSION:
        raise RecordError(f"format is not {FORMAT_VERSION}; this version of agent-memory reads no other")

"""The record: one typed, timestamped, provenance-carrying unit of memory (SPEC sections 2 to 4).

Values only: nothing here reads or writes anything, and nothing changes a record in place.  A record is checked whole
when it is built, so what is in memory equals what is on disk: text in NFC, times in whole milliseconds, confidence in
four decimals.  Building one costs one kernel call, which checks and normalises every text in it and hashes its birth
content.  Signatures are *not* checked here but by :meth:`MemoryRecord.verify`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Final, Never, Self, final

from . import kernel, signing
from .clock import now_utc, time_from_wire, time_to_wire
from .construction import KNOWN, LISTS, Fields, birth_content, build
from .errors import RecordError, RecordTypeError
from .extension import EXTENSION_FIELD, MEMBERS, NO_EXTENSION, Extension, ExtensionMembers, Scope, Standing
from .fields import (
    Provenance,
    RecordState,
    RecordType,
    Transition,
    confidence_from_wire,
    confidence_to_wire,
)
from .frozen import EMPTY_DICT, FrozenValue, thaw
from .invariants import REDACTED_BODY, REDACTION, tombstone_extension
from .wire import check_mapping, check_reason, check_text

if TYPE_CHECKING:
    from fg_agent_id import KeyPair

__all__ = [
    "MemoryRecord",
    "Provenance",
    "RecordState",
    "RecordType",
    "Scope",
    "Standing",
    "Transition",
    "confidence_from_wire",
    "confidence_to_wire",
]

_NEVER_NULL: Final = ("occurred_at", "redaction_reason", "birth_digest", EXTENSION_FIELD)


@final
class MemoryRecord(Fields, ExtensionMembers, FrozenValue):
    """One unit of memory.  Use :meth:`create` for a new one and :meth:`evolve` for a later version of it.

    The id is the content address of the *birth content* (type, body, slots, provenance, created_at): equal birth
    content has an equal id, and no later change renames a record.  Everything else may differ from version to version.

    Attributes:
        id: ``"mem:"`` and 32 hex digits.
        type, body, slots, provenance, created_at: the birth content.  Slots are subject → value texts.
        state, state_reason, superseded_by, transition: where the record stands and why.
        confidence: 0 to 1, four decimals.
        updated_at: when this version was made.  occurred_at: event time, or None.
        evidence: ids this record was built from.  supersedes: id it replaces.
        tags, flagged, flag_reason, signed_by, signature: as their names say.
        redacted, redaction_reason, birth_digest: set on a tombstone only.
        extension: the members of the ``agent_memory`` field, each also an attribute: ``key object value scope standing
            outcome author supersedes_also declared typed``.
        extra: unknown wire fields, carried along and signed.

    Raises:
        RecordError: any field of the wrong type or any rule of SPEC section 4 broken; the message names the field.
    """

    __slots__ = ()
    _fields = Fields.__slots__
    REDACTED_BODY: ClassVar = REDACTED_BODY
    _KNOWN: ClassVar = KNOWN

    def __init_subclass__(cls, **_: object) -> Never:
        raise TypeError(
            "MemoryRecord cannot be subclassed; put what is yours into 'extra', or hold a record in a class"
        )

    def __new__(
        cls,
        *,
        id: str = "",
        type: RecordType | str,
        body: str,
        slots: Mapping[str, str] = EMPTY_DICT,
        state: RecordState | str = RecordState.ACTIVE,
        confidence: float = 1.0,
        created_at: datetime,
        updated_at: datetime,
        provenance: Provenance,
        occurred_at: datetime | None = None,
        evidence: Iterable[str] = (),
        supersedes: str | None = None,
        superseded_by: str | None = None,
        transition: Transition | None = None,
        state_reason: str | None = None,
        tags: Iterable[str] = (),
        flagged: bool = False,
        flag_reason: str | None = None,
        signed_by: str | None = None,
        signature: str = "",
        redacted: bool = False,
        redaction_reason: str | None = None,
        birth_digest: str | None = None,
        extension: Extension = NO_EXTENSION,
        extra: Mapping[str, Any] = EMPTY_DICT,
    ) -> Self:
        return build(
            cls,
            id,
            type,
            body,
            slots,
            state,
            confidence,
            created_at,
            updated_at,
            provenance,
            occurred_at,
            evidence,
            supersedes,
            superseded_by,
            transition,
            state_reason,
            tags,
            flagged,
            flag_reason,
            signed_by,
            signature,
            redacted,
            redaction_reason,
            birth_digest,
            extension,
            extra,
        )

    @classmethod
    def create(
        cls,
        type: RecordType | str,
        body: str,
        provenance: Provenance,
        *,
        slots: Mapping[str, str] | None = None,
        confidence: float = 1.0,
        evidence: Iterable[str] = (),
        supersedes: str | None = None,
        tags: Iterable[str] = (),
        created_at: datetime | None = None,
        occurred_at: datetime | None = None,
        extra: Mapping[str, Any] | None = None,
        extension: Extension = NO_EXTENSION,
    ) -> Self:
        """A new record, active, with ``updated_at`` equal to ``created_at`` (default: now).

        Raises:
            RecordError: as the class says; a naive time is also a ValueError.
        """
        born = now_utc() if created_at is None else created_at
        return build(
            cls,
            "",
            type,
            body,
            EMPTY_DICT if slots is None else slots,
            RecordState.ACTIVE,
            confidence,
            born,
            born,
            provenance,
            occurred_at,
            evidence,
            supersedes,
            None,
            None,
            None,
            tags,
            False,
            None,
            None,
            "",
            False,
            None,
            None,
            extension,
            EMPTY_DICT if extra is None else extra,
        )

    def model_copy(self, update: Mapping[str, Any] | None = None) -> Self:
        """A copy with some fields replaced, checked again.  The signature is kept: it verifies only if nothing changed.

        ``update`` maps field names, members of the extension included, to values as the constructor takes them.

        Raises:
            RecordError: as the constructor, and for a name that is no field.
        """
        if update is None:
            return self
        values = {name: getattr(self, name) for name in self._fields}
        members: dict[str, Any] = {}
        for name, value in check_mapping(update, "update").items():
            if name in MEMBERS:
                members[name] = value
            elif name in values:
                values[name] = value
            else:
                raise RecordError(f"a record has no field {name!r}; put unknown wire fields into 'extra'")
        if members:
            values["extension"] = values["extension"].evolve(**members)
        return self.__class__(**values)

    def evolve(self, update: Mapping[str, Any] | None = None) -> Self:
        """The next version: some fields replaced and the signature cleared, since it no longer covers what it signed.

        Raises:
            RecordError: as :meth:`model_copy`.
        """
        changes = {} if update is None else check_mapping(update, "update")
        return self.model_copy({"signed_by": None, "signature": "", **changes})

    def model_dump(self) -> dict[str, Any]:
        """The wire form: a new dict of JSON types, in which what is optional and unset is left out."""
        born = time_to_wire(self.created_at)
        wire: dict[str, Any] = {
            "id": self.id,
            "type": self.type.value,
            "body": self.body,
            "slots": dict(self.slots),
            "state": self.state.value,
            "confidence": f"{self.confidence:.4f}",
            "created_at": born,
            "updated_at": born if self.updated_at is self.created_at else time_to_wire(self.updated_at),
            "provenance": self.provenance.model_dump(),
            "evidence": list(self.evidence),
            "supersedes": self.supersedes,
            "superseded_by": self.superseded_by,
            "transition": None if self.transition is None else self.transition.model_dump(),
            "state_reason": self.state_reason,
            "tags": list(self.tags),
            "flagged": self.flagged,
            "flag_reason": self.flag_reason,
            "signed_by": self.signed_by,
            "signature": self.signature,
        }
        if self.occurred_at is not None:
            wire["occurred_at"] = time_to_wire(self.occurred_at)
        if self.redacted:
            wire["redacted"] = True
            wire["redaction_reason"] = self.redaction_reason
            wire["birth_digest"] = self.birth_digest
        if self.extension is not NO_EXTENSION and (members := self.extension.to_wire()):
            wire[EXTENSION_FIELD] = members
        if self.extra:
            wire.update(thaw(self.extra))
        return wire

    def canonical_bytes(self) -> bytes:
        """The wire form in canonical JSON: what a store writes and a signature covers (SPEC section 1)."""
        return kernel.canonical_json(self.model_dump())

    @classmethod
    def model_validate(cls, data: object) -> Self:
        """Read a wire form.  Only the birth fields and ``updated_at`` are required; nothing is coerced.

        Raises:
            RecordError: a field that is missing, of the wrong type, in another spelling than the wire form, or in
                conflict with another; the message names it.
        """
        wire = data if isinstance(data, dict) else check_mapping(data, "record")
        try:
            kind, body, origin = wire["type"], wire["body"], wire["provenance"]
            born, changed = wire["created_at"], wire["updated_at"]
        except KeyError as error:
            raise RecordError(f"record lacks the required field {error}") from None
        get = wire.get
        happened = get("occurred_at")
        disputed = get("transition")
        why_redacted = get("redaction_reason")
        birth_digest = get("birth_digest")
        members = get(EXTENSION_FIELD)
        redacted = get("redacted", False)
        if happened is None or why_redacted is None or birth_digest is None or members is None:
            for name in _NEVER_NULL:
                if name in wire and wire[name] is None:
                    raise RecordTypeError(f"{name} is null; leave it out when it is not set")
        if redacted is not True and "redacted" in wire:
            raise RecordTypeError("redacted must be true; leave it out of a record that is not redacted")
        created_at = time_from_wire(born, "created_at")
        evidence, tags = get("evidence", ()), get("tags", ())
        return build(
            cls,
            get("id", ""),
            kind,
            body,
            get("slots", EMPTY_DICT),
            get("state", RecordState.ACTIVE),
            confidence_from_wire(get("confidence", "1.0000")),
            created_at,
            created_at if changed == born else time_from_wire(changed, "updated_at"),
            Provenance.model_validate(origin),
            None if happened is None else time_from_wire(happened, "occurred_at"),
            evidence if evidence.__class__ in LISTS else _wire_list(evidence, "evidence"),
            get("supersedes"),
            get("superseded_by"),
            None if disputed is None else Transition.model_validate(disputed),
            get("state_reason"),
            tags if tags.__class__ in LISTS else _wire_list(tags, "tags"),
            get("flagged", False),
            get("flag_reason"),
            get("signed_by"),
            get("signature", ""),
            redacted,
            why_redacted,
            birth_digest,
            NO_EXTENSION if members is None else Extension.from_wire(members),
            EMPTY_DICT
            if cls._KNOWN.issuperset(wire)
            else {name: value for name, value in wire.items() if name not in cls._KNOWN},
        )

    def signing_payload(self) -> dict[str, Any]:
        """What a signature of this record covers: the wire form, signer included, without the signature."""
        payload = self.model_dump()
        del payload["signature"]
        return payload

    def sign(self, keys: KeyPair, address: str) -> Self:
        """A copy signed by ``keys``; ``address`` is their agent address, which goes inside what is signed."""
        unsigned = self.model_copy({"signed_by": address, "signature": ""})
        payload = unsigned.signing_payload()
        return unsigned.model_copy({"signature": signing.sign_payload(keys, signing.CONTEXT_RECORD, payload)})

    def verify(self) -> None:
        """Check the signature.

        Raises:
            RecordError: the record is not signed, or its signer is no agent address.
            SignatureMismatch: the signature does not cover this version; also a ``fg_agent_id.SignatureError``.
        """
        if not self.signed_by or not self.signature:
            raise RecordError(f"record {self.id} is not signed")
        signing.verify_by_address(self.signed_by, signing.CONTEXT_RECORD, self.signing_payload(), self.signature)

    @classmethod
    def tombstone(cls, original: MemoryRecord, *, reason: str, now: datetime | None = None) -> Self:
        """What is left of a redacted record: its id, type, time of birth, links and project; nothing it said.

        Raises:
            RecordError: ``original`` is a tombstone already, or the reason is empty.
        """
        if original.redacted:
            raise RecordError(f"record {original.id} is redacted already; a tombstone is final")
        check_reason(check_text(reason, "the reason of a redaction", empty=True), "a redaction", RecordError)
        return cls(
            id=original.id,
            type=original.type,
            body=cls.REDACTED_BODY,
            state=RecordState.ARCHIVED,
            confidence=0.0,
            created_at=original.created_at,
            updated_at=now_utc() if now is None else now,
            provenance=REDACTION,
            evidence=original.evidence,
            supersedes=original.supersedes,
            superseded_by=original.superseded_by,
            redacted=True,
            redaction_reason=reason,
            birth_digest=kernel.digest(original.birth_content()),
            extension=tombstone_extension(original.extension),
        )

    def birth_content(self) -> dict[str, Any]:
        """What the id is the hash of: type, body, slots, provenance and created_at, in wire form."""
        return birth_content(
            self.type.value,
            self.body,
            dict(self.slots),
            self.provenance.model_dump(),
            time_to_wire(self.created_at),
        )

    @property
    def replaces(self) -> tuple[str, ...]:
        """Every id this record replaces: ``supersedes`` first, then ``supersedes_also``."""
        first = () if self.supersedes is None else (self.supersedes,)
        return first + tuple(item for item in self.supersedes_also if item != self.supersedes)

    @property
    def event_time(self) -> datetime:
        """When what it tells happened: ``occurred_at``, else ``created_at``."""
        return self.created_at if self.occurred_at is None else self.occurred_at

    def __hash__(self) -> int:
        return hash(self.id)


def _wire_list(value: object, field: str) -> Iterable[str]:
    if not isinstance(value, list | tuple):
        raise RecordTypeError(f"{field} must be a list of texts, not {type(value).__name__}")
    return value

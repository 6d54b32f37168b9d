"""How a record is built: every field checked, every text normalised, the birth content hashed (SPEC sections 2 to 4).

One plain function, called by the constructor of :class:`agent_memory.records.MemoryRecord`, by its ``create`` and by
its reading of wire forms.  It makes one kernel call.  It is the hottest path of the package, which is why it tests for
the usual case in line before it calls a check.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from . import kernel
from .clock import time_to_wire, truncate
from .errors import RecordError, RecordTypeError, RecordValueError
from .extension import EXTENSION_FIELD, NO_EXTENSION, Extension
from .fields import Provenance, RecordState, RecordType, Transition, check_confidence
from .frozen import EMPTY_DICT, freeze
from .invariants import check_invariants
from .wire import check_extra, check_flag, check_mapping, check_text, check_text_list, refusal_of

if TYPE_CHECKING:
    from .records import MemoryRecord

__all__ = ["BIRTH_FIELDS", "KNOWN", "LISTS", "Fields", "address_of", "birth_content", "build"]

LISTS: Final = (tuple, list)
_DIGEST: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_TYPES: Final = {member.value: member for member in RecordType}
_STATES: Final = {member.value: member for member in RecordState}
_REST: Final = (
    "evidence", "tags", "supersedes", "superseded_by", "state_reason", "flag_reason", "signed_by", "signature",
    "redaction_reason", "transition", EXTENSION_FIELD, "extra",
)  # fmt: skip
_Member = TypeVar("_Member")
_Record = TypeVar("_Record", bound="MemoryRecord")


class Fields:
    """The slots of a record, still open: filled attribute by attribute and then turned into a record.

    There are 25 of them.  Setting one took 10 ns, and 112 ns on a class that is read-only already::

        S="from agent_memory.construction import Fields as F; f = F(); s = object.__setattr__"
        python -m timeit -s "$S" "f.id = 1"
        python -m timeit -s "$S" "s(f, 'id', 1)"
    """

    __slots__ = (  # noqa: RUF023 - the order of the constructor and of repr
        "id", "type", "body", "slots", "state", "confidence", "created_at", "updated_at", "occurred_at", "provenance",
        "evidence", "supersedes", "superseded_by", "transition", "state_reason", "tags", "flagged", "flag_reason",
        "signed_by", "signature", "redacted", "redaction_reason", "birth_digest", "extension", "extra",
    )  # fmt: skip

    id: str
    type: RecordType
    body: str
    slots: Mapping[str, str]
    state: RecordState
    confidence: float
    created_at: datetime
    updated_at: datetime
    occurred_at: datetime | None
    provenance: Provenance
    evidence: tuple[str, ...]
    supersedes: str | None
    superseded_by: str | None
    transition: Transition | None
    state_reason: str | None
    tags: tuple[str, ...]
    flagged: bool
    flag_reason: str | None
    signed_by: str | None
    signature: str
    redacted: bool
    redaction_reason: str | None
    birth_digest: str | None
    extension: Extension
    extra: Mapping[str, Any]


KNOWN: Final = frozenset((*Fields.__slots__, EXTENSION_FIELD)) - {"extension", "extra"}
"""Names of the wire fields of a record; every other is unknown and carried along."""


def birth_content(
    kind: str, body: str, slots: Mapping[str, str], provenance: Mapping[str, Any], created_at: str
) -> dict[str, Any]:
    """What the id of a record is the hash of, each part in wire form (SPEC section 2.5)."""
    return {"type": kind, "body": body, "slots": slots, "provenance": provenance, "created_at": created_at}


BIRTH_FIELDS: Final = tuple(birth_content("", "", {}, {}, ""))
"""Names of the wire fields of the birth content."""


def address_of(digest: str) -> str:
    """The id of a record whose birth content has this digest (SPEC section 2.5)."""
    return "mem:" + digest[:32]


def build(
    cls: type[_Record],
    given_id: str,
    kind: RecordType | str,
    body: str,
    slots: Mapping[str, str],
    state: RecordState | str,
    confidence: float,
    created_at: datetime,
    updated_at: datetime,
    provenance: Provenance,
    occurred_at: datetime | None,
    evidence: Iterable[str],
    supersedes: str | None,
    superseded_by: str | None,
    transition: Transition | None,
    state_reason: str | None,
    tags: Iterable[str],
    flagged: bool,
    flag_reason: str | None,
    signed_by: str | None,
    signature: str,
    redacted: bool,
    redaction_reason: str | None,
    birth_digest: str | None,
    extension: Extension,
    extra: Mapping[str, Any],
) -> _Record:
    """The constructor, as a plain function of the arguments in their order."""
    if kind.__class__ is not RecordType:
        kind = _member(kind, _TYPES, "type")
    if state.__class__ is not RecordState:
        state = _member(state, _STATES, "state")
    if not isinstance(body, str):
        raise RecordTypeError(f"body must be text, not {_type_name(body)}")
    if not body or body.isspace():
        raise RecordValueError("body is empty; a record must say something")
    if not isinstance(provenance, Provenance):
        raise RecordTypeError(f"provenance must be a Provenance, not {_type_name(provenance)}")
    if transition is not None and not isinstance(transition, Transition):
        raise RecordTypeError(f"transition must be a Transition or None, not {_type_name(transition)}")
    if extension is not NO_EXTENSION and not isinstance(extension, Extension):
        raise RecordTypeError(f"extension must be an Extension, not {_type_name(extension)}")
    created = truncate(created_at, "created_at")
    birth = birth_content(
        kind,
        body,
        _check_slots(slots) if slots or slots.__class__ is not dict else EMPTY_DICT,
        provenance._wire,  # noqa: SLF001 - what the id covers, shared by the two modules
        time_to_wire(created),
    )
    rest: tuple[Any, ...] = (
        () if evidence.__class__ in LISTS and not evidence else check_text_list(evidence, "evidence"),
        () if tags.__class__ in LISTS and not tags else check_text_list(tags, "tags"),
        supersedes if supersedes is None else check_text(supersedes, "supersedes"),
        superseded_by if superseded_by is None else check_text(superseded_by, "superseded_by"),
        state_reason if state_reason is None else check_text(state_reason, "state_reason", empty=True),
        flag_reason if flag_reason is None else check_text(flag_reason, "flag_reason", empty=True),
        signed_by if signed_by is None else check_text(signed_by, "signed_by", empty=True),
        signature if signature == "" else check_text(signature, "signature", empty=True),
        redaction_reason if redaction_reason is None else check_text(redaction_reason, "redaction_reason", empty=True),
        None if transition is None else transition.model_dump(),
        None if extension is NO_EXTENSION else extension.to_wire(),
        extra if extra is EMPTY_DICT else dict(check_extra(extra, KNOWN, "record")),
    )
    try:
        digest, birth, sealed = kernel.seal(birth, rest)
    except RecordError as error:
        raise _naming_the_field(error, birth, rest) from None
    if sealed is not rest:  # something was not in NFC: take the normalised texts
        transition = None if transition is None else Transition.model_validate(sealed[9])
        extension = Extension.from_wire(sealed[10]) if sealed[10] else NO_EXTENSION
    if birth["provenance"] is not provenance._wire:  # noqa: SLF001
        provenance = Provenance.model_validate(birth["provenance"])
    if birth_digest is not None:
        _check_digest(birth_digest)
    address = address_of(birth_digest if redacted and birth_digest is not None else digest)
    if given_id not in ("", address):
        check_text(given_id, "id")
        raise RecordError(
            "id does not match the record's content address; the birth content or the id was changed after birth"
        )
    made = Fields()
    made.id = address
    made.type = kind
    made.body = birth["body"]
    made.slots = freeze(birth["slots"])
    made.state = state
    made.confidence = 1.0 if confidence == 1.0 and confidence.__class__ is float else check_confidence(confidence)
    made.created_at = created
    made.updated_at = created if updated_at is created_at else truncate(updated_at, "updated_at")
    made.occurred_at = None if occurred_at is None else truncate(occurred_at, "occurred_at")
    made.provenance = provenance
    (
        made.evidence,
        made.tags,
        made.supersedes,
        made.superseded_by,
        made.state_reason,
        made.flag_reason,
        made.signed_by,
        made.signature,
        made.redaction_reason,
        _,
        _,
        unknown,
    ) = sealed
    made.transition = transition
    made.flagged = flagged if flagged is False else check_flag(flagged, "flagged")
    made.redacted = redacted if redacted is False else check_flag(redacted, "redacted")
    made.birth_digest = birth_digest
    made.extension = extension
    made.extra = freeze(unknown)
    made.__class__ = cls
    record = cast("_Record", made)
    check_invariants(record)
    return record


def _check_digest(value: object) -> None:
    if not isinstance(value, str):
        raise RecordTypeError(f"birth_digest must be text, not {_type_name(value)}")
    if _DIGEST.fullmatch(value) is None:
        raise RecordError("birth_digest must be 64 lower-case hex digits")


def _naming_the_field(error: RecordError, birth: dict[str, Any], rest: tuple[Any, ...]) -> RecordError:
    """The kernel's refusal, said of the field it is about."""
    for field, value in (*birth.items(), *zip(_REST, rest, strict=True)):
        try:
            kernel.seal({}, ((value,),) if field == "extra" else (value,))
        except RecordError as found:
            return refusal_of(field, found)
    return error


def _member(value: object, members: Mapping[str, _Member], field: str) -> _Member:
    found = members.get(value) if isinstance(value, str) else None
    if found is None:
        if not isinstance(value, str):
            raise RecordTypeError(f"{field} must be text, not {_type_name(value)}")
        raise RecordValueError(f"{field} must be one of {', '.join(members)}")
    return found


def _check_slots(slots: object) -> dict[str, str]:
    checked = check_mapping(slots, "slots")
    for value in checked.values():
        if not isinstance(value, str):
            raise RecordTypeError(f"slots must map text to text; a value is {_type_name(value)}")
    return dict(checked)


def _type_name(value: object) -> str:
    return value.__class__.__name__

"""One thing to remember, as a caller gives it: its arguments checked, and its marks put on a proposed record."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from itertools import islice
from typing import Any, Final, Self

from . import kernel
from . import text as comparing
from .clock import read_time
from .errors import AgentMemoryError, ArgumentError, ArgumentTypeError
from .extension import Extension, Scope
from .pinned import scope_field
from .records import MemoryRecord, RecordType
from .wire import check_text_list, is_record_id

__all__ = ["Entry", "batches", "read_key"]

_LONGEST_KEY: Final = 500
_LONGEST_OBJECT: Final = 5_000
_BATCH: Final = 256
"""Items of ``remember_many`` in one transaction."""

_TYPES: Final = {
    "fact": RecordType.FACT,
    "semantic": RecordType.FACT,
    "episode": RecordType.EPISODE,
    "episodic": RecordType.EPISODE,
    "procedure": RecordType.PROCEDURE,
    "procedural": RecordType.PROCEDURE,
}
"""What ``mtype`` may say: the two vocabularies for the three types a caller may create."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The arguments of one ``remember``.

    Attributes:
        text: what to remember; must say something.
        tags: added to the record's tags, in order, without repeats.
        source: who or what it came from, such as ``crm/alice``.
        mtype: ``semantic``/``fact``, ``episodic``/``episode`` or ``procedural``/``procedure``; None leaves it to the
            extractor.
        value: importance, 1 to 1,000,000; None is 1.
        occurred_at: when it happened: an aware datetime or ISO 8601 text with a timezone.
        author: who said it.
        user_id, agent_id, session_id: whose memory it is.
        key: what the text gives the value of, ``subject::relation`` by convention: one line of up to 500 characters,
            not of the form of a record id.  A new value under a key corrects the one that stood.
        object: the value itself, up to 5,000 characters; only with a key.
        reaffirm: a retired value holds again, and is not merely repeated.
        derived_from: ids of the records it was built from.

    Raises:
        ArgumentError: an argument of the wrong type (also a TypeError) or outside its range (also a ValueError); the
            message says what is allowed.
    """

    text: str
    tags: tuple[str, ...] = ()
    source: str | None = None
    mtype: str | None = None
    value: float | None = None
    occurred_at: datetime | None = None
    author: str | None = None
    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    key: str | None = None
    object: str | None = None
    reaffirm: bool = False
    derived_from: tuple[str, ...] = ()

    @classmethod
    def read(
        cls,
        text: Any,
        *,
        tags: Iterable[str] | None = None,
        derived_from: Iterable[str] | None = None,
        occurred_at: datetime | str | None = None,
        **others: Any,
    ) -> Self:
        """Check the arguments of ``remember``."""
        if not isinstance(text, str):
            raise ArgumentTypeError(f"text must be a str, not {type(text).__name__}")
        if not text.strip():
            raise ArgumentError("text is empty; there is nothing to remember")
        for name in ("source", "mtype", "author"):
            _check_name(name, others.get(name))
        for name in ("user_id", "agent_id", "session_id"):
            others[name] = scope_field(name, others.get(name))
        others["key"] = read_key(others.get("key"))
        others["object"] = _object(others.get("object"), others["key"])
        if not isinstance(others.get("reaffirm", False), bool):
            raise ArgumentTypeError(f"reaffirm must be True or False, not {type(others['reaffirm']).__name__}")
        mtype = others.get("mtype")
        if mtype is not None and mtype not in _TYPES:
            raise ArgumentError(f"mtype must be one of {', '.join(_TYPES)}")
        entry = cls(
            text=text,
            tags=() if tags is None else _tags(tags),
            derived_from=() if derived_from is None else _ids(derived_from),
            occurred_at=None if occurred_at is None else _as_argument(read_time, occurred_at, "occurred_at"),
            **others,
        )
        _as_argument(entry._extension)
        return entry

    @classmethod
    def read_item(cls, item: Any) -> Self:
        """Check one item of ``remember_many``: a text, or a mapping of argument names with ``text`` among them."""
        if isinstance(item, str):
            return cls.read(item)
        if not isinstance(item, Mapping):
            raise ArgumentTypeError(f"an item must be a text or a mapping, not {type(item).__name__}")
        allowed = [field.name for field in fields(cls)]
        for name in item:
            if name not in allowed:
                raise ArgumentError(f"an item may hold {', '.join(allowed)}; it holds {str(name)[:40]!r}")
        if "text" not in item:
            raise ArgumentError("an item must hold a 'text'")
        return cls.read(item["text"], **{name: value for name, value in item.items() if name != "text"})

    def mark(self, record: MemoryRecord, scope: Scope) -> MemoryRecord:
        """A proposed record with this entry's type, tags, time and extension on it, in ``scope``.

        Its id may change with its type.
        """
        type_ = record.type if self.mtype is None else _TYPES[self.mtype]
        slots: Mapping[str, str] = record.slots
        if type_ is not record.type:
            slots = comparing.infer_slots(record.body) if type_ is RecordType.FACT else {}
        return MemoryRecord.create(
            type_,
            record.body,
            record.provenance,
            slots=slots,
            confidence=record.confidence,
            evidence=tuple(dict.fromkeys((*record.evidence, *self.derived_from))),
            supersedes=record.supersedes,
            tags=tuple(dict.fromkeys((*record.tags, *self.tags))),
            created_at=record.created_at,
            occurred_at=record.occurred_at if self.occurred_at is None else self.occurred_at,
            extra=record.extra,
            extension=self._extension(record.extension.evolve(scope=scope)),
        )

    @property
    def says_fact(self) -> bool:
        """Whether the caller said that it is a fact.  Of the other types there is nothing to guess."""
        return self.mtype is not None and _TYPES.get(self.mtype) is RecordType.FACT

    def _extension(self, base: Extension = Extension()) -> Extension:  # noqa: B008 - a frozen value
        changes: dict[str, Any] = {}
        if self.key is not None:
            changes["key"], changes["object"] = self.key, self.object
        if self.derived_from:
            changes["declared"] = True
        if self.value is not None:
            changes["value"] = self.value
        if self.author is not None:
            changes["author"] = self.author
        if self.says_fact:
            changes["typed"] = True
        return base.evolve(**changes) if changes else base


def read_key(key: Any) -> str | None:
    """A key as it is kept: NFC, without white space around it.

    Raises:
        ArgumentError: it is no key, for the reason the message names.
    """
    if key is None:
        return None
    _check_name("key", key)
    if is_record_id(key.strip()):
        raise ArgumentError("key has the form of a record id; name what the value is of, such as billing-api::region")
    return _line("key", key, _LONGEST_KEY)


def _object(value: Any, key: str | None) -> str | None:
    if value is None:
        return None
    _check_name("object", value)
    if key is None:
        raise ArgumentError("object is the value under a key; give the key too, or leave object out")
    return _line("object", value, _LONGEST_OBJECT)


def _line(name: str, value: str, longest: int) -> str:
    stripped: str = _as_argument(kernel.nfc, value.strip())
    if len(stripped) > longest:
        raise ArgumentError(f"{name} has {len(stripped):,} characters and may have {longest:,}; shorten it")
    if any(unicodedata.category(character) == "Cc" for character in stripped):
        raise ArgumentError(f"{name} holds a control character, such as a line break; give it in one line")
    return stripped


def _ids(record_ids: Any) -> tuple[str, ...]:
    ids: tuple[str, ...] = _as_argument(check_text_list, record_ids, "derived_from")
    for at, record_id in enumerate(ids):
        if not is_record_id(record_id):
            raise ArgumentError(f"derived_from[{at}] is no record id: 'mem:' and 32 lower-case hex digits")
    return tuple(dict.fromkeys(ids))


def batches(items: object) -> Iterator[list[Entry | AgentMemoryError]]:
    """The items of ``remember_many``, checked, as many at a time as go into one transaction.

    An item that is refused stands as the error it was refused with.

    Raises:
        ArgumentTypeError: ``items`` is one text or mapping, or not iterable; at once, before any item is asked for.
    """
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
        raise ArgumentTypeError(f"items must be a list of texts or mappings, not {type(items).__name__}")
    read = (_read(item) for item in items)
    return iter(lambda: list(islice(read, _BATCH)), [])


def _read(item: object) -> Entry | AgentMemoryError:
    try:
        return Entry.read_item(item)
    except AgentMemoryError as error:
        return error


def _check_name(name: str, value: object) -> None:
    if value is None:
        return
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{name} must be a str or None, not {type(value).__name__}")
    if not value.strip():
        raise ArgumentError(f"{name} is empty; leave it out when it is not known")


def _tags(tags: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_as_argument(check_text_list, tags, "tags")))


def _as_argument(check: Any, *arguments: Any) -> Any:
    """The result of a check on a record's field, its refusal turned into one of an argument."""
    try:
        return check(*arguments)
    except ArgumentError:
        raise
    except AgentMemoryError as error:
        kind = ArgumentTypeError if isinstance(error, TypeError) else ArgumentError
        raise kind(str(error)) from None

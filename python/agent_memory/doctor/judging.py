"""What is wrong with single versions, and with the newest versions of all records taken together."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from agent_memory import signing
from agent_memory.errors import RecordError, StoreError
from agent_memory.extension import UNSCOPED
from agent_memory.fields import CONSOLIDATION
from agent_memory.pipeline.scoping import effective_scope
from agent_memory.records import MemoryRecord, RecordState
from agent_memory.stores.payload import read_record
from agent_memory.wire import is_record_id, parse_json

from .finding import NON_CANONICAL, Finding
from .reading import Version

__all__ = ["Census", "bad_signatures"]

_LONG_NUMBER: Final = re.compile(r"[0-9]{4301}")
"""More digits than Python reads as a number unless it is told to."""
_BATCH: Final = 1000
_LIVE: Final = (RecordState.ACTIVE, RecordState.TRANSITIONAL)


class Census:
    """The records of a memory, as one version after the other is taken in."""

    def __init__(self) -> None:
        self.newest: dict[str, MemoryRecord] = {}
        self.where: dict[str, str] = {}
        self.known: set[str] = set()
        self._signed: list[tuple[str, MemoryRecord]] = []
        self._current: list[tuple[Version, MemoryRecord | None]] = []
        self._told_of_peer: set[str] = set()

    def take(self, version: Version) -> Iterator[Finding]:
        """What is wrong with a version, or with the record before it, of which this is the end."""
        if self._current and self._current[-1][0].record_id != version.record_id:
            yield from self._end()
        self.known.add(version.record_id)
        try:
            record: MemoryRecord | None = read_record(version.data, version.record_id, "it")
        except StoreError as error:
            record = None
            if _belongs_elsewhere(version):
                yield Finding("misplaced", version.where, str(error))
            else:
                yield Finding("torn", version.where, f"{error}; restore a backup")
        self._current.append((version, record))
        if record is None:
            return
        if record.canonical_bytes() != version.data:
            what = "is valid, but not in canonical spelling; it is read as it is, and `agent-memory migrate` refuses it"
            yield Finding(NON_CANONICAL, version.where, what, note=True)
        if record.signed_by is not None or record.signature:
            self._signed.append((version.where, record))
            if len(self._signed) >= _BATCH:
                yield from self._check_signatures()
        if version.record_id not in self._told_of_peer and (why := _unreadable_for_peer(version.data)):
            self._told_of_peer.add(version.record_id)
            yield Finding("peer", version.where, f"{why}; fg-agent-memory 0.2 refuses the record, nothing else does")

    def finish(self) -> Iterator[Finding]:
        """What is wrong with the last record, and with all of them taken together."""
        yield from self._end()
        yield from self._check_signatures()
        for record in self.newest.values():
            yield from self._check_links(record)
            yield from self._check_dispute(record)
            yield from self._check_scope(record)
        yield from self._check_keys()

    def _end(self) -> Iterator[Finding]:
        """What is wrong with the versions of one record, all of which have been taken in."""
        versions, self._current = self._current, []
        if not versions:
            return
        last, newest = versions[-1]
        if newest is None:
            yield Finding(
                "torn",
                last.where,
                f"is the newest version of {last.record_id}, so that the record is not served at all",
            )
            return
        self.newest[newest.id] = newest
        self.where[newest.id] = last.where
        for version, record in versions[:-1]:
            if record is not None and newest.redacted and not record.redacted:
                yield Finding(
                    "interrupted", version.where, "holds content of a redacted record; redact it again to finish"
                )
            elif record is not None and record.redacted and record != newest:
                yield Finding(
                    "interrupted", last.where, "stands over a tombstone, which nothing may follow; redact it again"
                )
                return

    def _check_signatures(self) -> Iterator[Finding]:
        signed, self._signed = self._signed, []
        for position in bad_signatures([record for _, record in signed]):
            yield Finding(
                "signature", signed[position][0], "has a signature that does not verify; it or its signer was changed"
            )

    def _check_links(self, record: MemoryRecord) -> Iterator[Finding]:
        where = self.where[record.id]
        links = [("superseded_by", record.superseded_by), *(("supersedes", other) for other in record.replaces)]
        for name, other in links:
            if other is not None and other not in self.known:
                yield Finding("lineage", where, f"names {other} in {name}, which is not in this memory", note=True)
        seen = {record.id}
        after = record.superseded_by
        while after is not None and after not in seen and after in self.newest:
            seen.add(after)
            after = self.newest[after].superseded_by
        if after == record.id:
            yield Finding("lineage", where, "is superseded, in the end, by itself: superseded_by leads in a circle")

    def _check_dispute(self, record: MemoryRecord) -> Iterator[Finding]:
        if record.transition is None:
            return
        other_id = record.transition.other(record.id)
        other = self.newest.get(other_id)
        if other is None or other.transition is None or set(other.transition.sides) != set(record.transition.sides):
            yield Finding(
                "dispute",
                self.where[record.id],
                f"is in a dispute that {other_id} is not in; `agent-memory consolidate` returns it to active",
            )

    def _check_scope(self, record: MemoryRecord) -> Iterator[Finding]:
        if record.provenance.kind != CONSOLIDATION or record.scope != UNSCOPED:
            return
        evidence = [self.newest[other] for other in record.evidence if other in self.newest]
        scopes = [effective_scope(other, self._find) for other in evidence if not other.redacted]
        if len({scope.consolidation for scope in scopes if scope is not None}) > 1:
            what = "names no scope, and its evidence comes from several: only a query that pins none sees it"
            yield Finding("scope", self.where[record.id], what)
            return
        scope = effective_scope(record, self._find)
        if scope is not None and scope.consolidation != UNSCOPED.consolidation:
            what = "names no scope, though its evidence does; it is treated as having that of its evidence"
            yield Finding("scope", self.where[record.id], what)

    def _check_keys(self) -> Iterator[Finding]:
        holders: dict[object, list[MemoryRecord]] = defaultdict(list)
        for record in self.newest.values():
            if record.key is not None and record.state in _LIVE:
                holders[record.key, record.scope.consolidation].append(record)
        for held in holders.values():
            sides = {item for record in held if record.transition is not None for item in record.transition.sides}
            if len(held) > 1 and not (len(held) == 2 and sides == {record.id for record in held}):
                named = ", ".join(sorted(record.id for record in held))
                for record in held:
                    what = f"is one of {len(held)} records that stand under one key of one scope: {named}"
                    yield Finding("key", self.where[record.id], what)

    def _find(self, record_ids: Iterable[str]) -> Mapping[str, MemoryRecord]:
        return {record_id: self.newest[record_id] for record_id in record_ids if record_id in self.newest}


def bad_signatures(records: list[MemoryRecord]) -> list[int]:
    """The positions of records whose signature does not verify, or that carry half of one."""
    whole = [position for position, record in enumerate(records) if record.signed_by and record.signature]
    bad = [position for position in range(len(records)) if position not in set(whole)]
    signed = [(records[at].signed_by or "", records[at].signing_payload(), records[at].signature) for at in whole]
    start = 0
    try:
        while (failed := signing.first_mismatch(signing.CONTEXT_RECORD, signed[start:])) is not None:
            start += failed + 1
            bad.append(whole[start - 1])
    except RecordError:  # an address that is none: one by one
        bad += [at for at in whole[start:] if not _verifies(records[at])]
    return sorted(bad)


def _verifies(record: MemoryRecord) -> bool:
    try:
        record.verify()
    except RecordError:
        return False
    return True


def _belongs_elsewhere(version: Version) -> bool:
    """Whether the bytes are those of a sound version of another record."""
    try:
        wire = parse_json(version.data, "it")
    except RecordError:
        return False
    claimed = wire.get("id") if isinstance(wire, dict) else None
    if not is_record_id(claimed) or claimed == version.record_id:
        return False
    try:
        return MemoryRecord.model_validate(wire).id == claimed
    except RecordError:
        return False


def _unreadable_for_peer(data: bytes) -> str | None:
    """Why fg-agent-memory 0.2 refuses a version that is sound here, or None.

    It composes the escaped text instead of the strings, so that a mark after a line break or a backslash joins the
    letter of the escape; and it reads numbers as Python does by default.
    """
    text = data.decode()
    if not text.isascii() and not unicodedata.is_normalized("NFC", text):
        return "holds a combining mark right after a character that JSON escapes"
    if _LONG_NUMBER.search(text):
        try:
            json.loads(text)
        except ValueError:
            return "holds a number of more than 4300 digits"
    return None

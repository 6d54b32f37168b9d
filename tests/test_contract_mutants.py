"""The public contract of stores catches those that break it, each in one way."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent_memory.ports import RecordStore, check_id, unknown_id
from agent_memory.records import MemoryRecord
from agent_memory.stores import FileRecordStore, InMemoryRecordStore
from agent_memory.testing import RecordStoreContract, SearchIndexContract
from contract_verdicts import caught, verdicts
from plain_store import PlainStore as NotForThreads

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


# ------------------------------------------------------------------ stores


class PlainStore(NotForThreads):
    def list(self, **filters: Any) -> tuple[MemoryRecord, ...]:
        """As it is, but of one moment: other threads may be putting."""
        still = NotForThreads()
        still.versions = {record_id: held for record_id, held in [*self.versions.items()] if held}
        return still.list(**filters)


class Overwrites(PlainStore):
    def put(self, record: MemoryRecord) -> None:
        super().put(record)
        del self.versions[record.id][:-1]


class SkipsIdentical(PlainStore):
    def put(self, record: MemoryRecord) -> None:
        if self.versions.get(record.id, [None])[-1] != record:
            super().put(record)


class LosesHistory(PlainStore):
    def history(self, record_id: str) -> tuple[MemoryRecord, ...]:
        return super().history(record_id)[-2:]


class NewestFirst(PlainStore):
    def history(self, record_id: str) -> tuple[MemoryRecord, ...]:
        return super().history(record_id)[::-1]

    def get(self, record_id: str) -> MemoryRecord:
        return self.versions[record_id][-1] if record_id in self.versions else self.history(record_id)[0]


class ServesTheOldest(PlainStore):
    def get(self, record_id: str) -> MemoryRecord:
        return self.history(record_id)[0]


class FiltersAnyVersion(PlainStore):
    def list(self, **filters: Any) -> tuple[MemoryRecord, ...]:
        kept = {record_id for record_id, held in self.versions.items() if PlainStore(*held[:1]).list(**filters)}
        return tuple(record for record in super().list() if record.id in kept)


class IgnoresTheTag(PlainStore):
    def list(self, *, tag: str | None = None, **filters: Any) -> tuple[MemoryRecord, ...]:
        return super().list(**filters)


class ListsByLastPut(PlainStore):
    def put(self, record: MemoryRecord) -> None:
        super().put(record)
        self.versions[record.id] = self.versions.pop(record.id)


class RaisesKeyErrors(PlainStore):
    def history(self, record_id: str) -> tuple[MemoryRecord, ...]:
        return tuple(self.versions[record_id])


class AnswersNone(PlainStore):
    def get(self, record_id: str) -> MemoryRecord:
        return self.versions.get(record_id, [None])[-1]  # type: ignore[return-value]


class WritesOverTombstones(PlainStore):
    def put(self, record: MemoryRecord) -> None:
        self.versions.setdefault(record.id, []).append(record)


class DropsTheFuture(PlainStore):
    def put(self, record: MemoryRecord) -> None:
        super().put(record.model_copy({"extra": {}}))


class PayloadsOfTheOldest(PlainStore):
    def payloads(self) -> Iterator[bytes]:
        return (held[0].canonical_bytes() for held in self.versions.values())


class RacesItself(PlainStore):
    def put(self, record: MemoryRecord) -> None:
        held = list(self.versions.get(record.id, ()))
        threading.Event().wait(0.0005)
        self.versions[record.id] = [*held, record]


class ClosesOnce(PlainStore):
    def close(self) -> None:
        del self.lists


class KeepsWhatWasRolledBack(InMemoryRecordStore):
    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._lock:
            yield


class CommitsInTheMiddle(InMemoryRecordStore):
    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Undoes the innermost block only: what an inner block wrote survives the failure of the outer one."""
        with self._lock:
            before = self._undo
            self._undo = None
            try:
                with super().transaction():
                    yield
            finally:
                self._undo = before


class LetsOthersIn(InMemoryRecordStore):
    @contextmanager
    def transaction(self) -> Iterator[None]:
        yield


class ServesARedactedVersion(InMemoryRecordStore):
    def redact(self, record_id: str, reason: str, **more: Any) -> MemoryRecord:
        before = self.history(record_id)
        tombstone = super().redact(record_id, reason, **more)
        self._versions[record_id] = (*before[:-1], tombstone)
        return tombstone

    def history(self, record_id: str) -> tuple[MemoryRecord, ...]:
        return self._held(record_id)


class RedactionLosesTheCount(InMemoryRecordStore):
    def redact(self, record_id: str, reason: str, **more: Any) -> MemoryRecord:
        tombstone = super().redact(record_id, reason, **more)
        self._versions[record_id] = (tombstone,)
        return tombstone


class RedactionInventsRecords(InMemoryRecordStore):
    def redact(self, record_id: str, reason: str, **more: Any) -> MemoryRecord | None:  # type: ignore[override]
        return super().redact(record_id, reason, **more) if record_id in self._versions else None


class VersionsSortedAsText(PlainStore):
    def history(self, record_id: str) -> tuple[MemoryRecord, ...]:
        numbered = {str(number): version for number, version in enumerate(super().history(record_id), 1)}
        return tuple(numbered[number] for number in sorted(numbered))


class ListsFifty(PlainStore):
    def list(self, **filters: Any) -> tuple[MemoryRecord, ...]:
        return super().list(**filters)[:50]


class GetsAHundred(PlainStore):
    def get_many(self, record_ids: Iterable[str]) -> dict[str, MemoryRecord]:
        return super().get_many([*record_ids][:100])


class PutsAHundred(PlainStore):
    def put_many(self, records: Iterable[MemoryRecord]) -> None:
        super().put_many([*records][:100])


class GetsWhatWasRedacted(InMemoryRecordStore):
    """Keeps what it once read for get_many, and does not hear of redactions."""

    def __init__(self) -> None:
        super().__init__()
        self.cached: dict[str, MemoryRecord] = {}

    def put(self, record: MemoryRecord) -> None:
        super().put(record)
        self.cached[record.id] = record

    def get_many(self, record_ids: Iterable[str]) -> dict[str, MemoryRecord]:
        return {record_id: self.cached[record_id] for record_id in record_ids if record_id in self.cached}


class KeepsARedactionThatWasTakenBack(InMemoryRecordStore):
    def redact(self, record_id: str, reason: str, **more: Any) -> MemoryRecord:
        with self._lock:
            undo, self._undo = self._undo, None
            try:
                return super().redact(record_id, reason, **more)
            finally:
                self._undo = undo


class CursorMissesARedactionInATransaction(InMemoryRecordStore):
    def redact(self, record_id: str, reason: str, **more: Any) -> MemoryRecord:
        tombstone = super().redact(record_id, reason, **more)
        if self._undo is not None:
            self._changed.pop()
        return tombstone


class KeepsWhatWasInterrupted(InMemoryRecordStore):
    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Takes back for an Exception, and for nothing else."""
        ended: BaseException | None = None
        with super().transaction():
            try:
                yield
            except Exception:
                raise
            except BaseException as error:
                ended = error
        if ended is not None:
            raise ended


class KeepsWhatAnInnerBlockWrote(InMemoryRecordStore):
    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._lock:
            if self._undo is not None:
                yield
            else:
                with super().transaction():
                    yield


class ShowsWhatIsNotCommitted(InMemoryRecordStore):
    def list(self, **filters: Any) -> tuple[MemoryRecord, ...]:
        still = NotForThreads()
        still.versions = {record_id: [*held] for record_id, held in [*self._versions.items()]}
        return still.list(**filters)

    def _held(self, record_id: str) -> tuple[MemoryRecord, ...]:
        if (held := self._versions.get(check_id(record_id))) is None:
            raise unknown_id(record_id)
        return held


class Cursor(PlainStore):
    """A right one, to be broken: the cursor is a position in the list of all writes."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[str] = []

    def put(self, record: MemoryRecord) -> None:
        super().put(record)
        self.log.append(record.id)

    def changes(self, since: str | None = None) -> tuple[str, tuple[str, ...] | None]:
        now = len(self.log)
        if since is None or not since.isascii() or not since.isdigit() or int(since) > now:
            return str(now), None
        return str(now), tuple(dict.fromkeys(self.log[int(since) : now]))


class CursorMisses(Cursor):
    def put(self, record: MemoryRecord) -> None:
        if record.id in self.versions:
            PlainStore.put(self, record)
        else:
            super().put(record)


class CursorReadTooLate(Cursor):
    def changes(self, since: str | None = None) -> tuple[str, tuple[str, ...] | None]:
        _, told = super().changes(since)
        threading.Event().wait(0.001)
        return str(len(self.log)), told


class CursorRepeats(Cursor):
    def changes(self, since: str | None = None) -> tuple[str, tuple[str, ...] | None]:
        cursor, told = super().changes(since)
        return cursor, told if told is None else tuple(self.log[int(since or 0) :])


class CursorGuesses(Cursor):
    def changes(self, since: str | None = None) -> tuple[str, tuple[str, ...] | None]:
        cursor, told = super().changes(since)
        return cursor, () if told is None and since is not None else told


class CursorForgets(Cursor):
    def changes(self, since: str | None = None) -> tuple[str, tuple[str, ...] | None]:
        answer = super().changes(since)
        self.log = [""] * len(self.log)
        return answer


STORES: dict[type[RecordStore], str] = {
    Overwrites: "test_a_put_appends_and_overwrites_nothing",
    SkipsIdentical: "test_a_byte_identical_put_appends",
    LosesHistory: "test_a_put_appends_and_overwrites_nothing",
    NewestFirst: "test_a_put_appends_and_overwrites_nothing",
    ServesTheOldest: "test_a_put_appends_and_overwrites_nothing",
    FiltersAnyVersion: "test_filters_go_by_the_newest_version",
    IgnoresTheTag: "test_list_filters",
    ListsByLastPut: "test_the_order_is_fixed",
    RaisesKeyErrors: "test_an_unknown_id_is_refused",
    AnswersNone: "test_a_malformed_id_is_refused",
    WritesOverTombstones: "test_a_tombstone_is_final",
    DropsTheFuture: "test_what_was_put_comes_back_to_the_byte",
    PayloadsOfTheOldest: "test_the_order_is_fixed",
    RacesItself: "test_many_threads_lose_no_version",
    ClosesOnce: "test_closing_twice_is_allowed",
    KeepsWhatWasRolledBack: "test_a_transaction_that_raises_leaves_nothing",
    CommitsInTheMiddle: "test_a_transaction_is_reentrant",
    LetsOthersIn: "test_a_transaction_keeps_other_writers_out",
    ServesARedactedVersion: "test_redaction_replaces_every_version",
    RedactionLosesTheCount: "test_redaction_replaces_every_version",
    RedactionInventsRecords: "test_a_redaction_names_a_known_record_and_a_reason",
    VersionsSortedAsText: "test_more_than_nine_versions_stay_in_order",
    ListsFifty: "test_many_records_are_all_there",
    GetsAHundred: "test_many_records_are_all_there",
    PutsAHundred: "test_many_records_are_all_there",
    GetsWhatWasRedacted: "test_redaction_replaces_every_version",
    KeepsARedactionThatWasTakenBack: "test_a_redaction_is_taken_back_with_its_transaction",
    CursorMissesARedactionInATransaction: "test_a_redaction_in_a_transaction_is_a_change",
    KeepsWhatWasInterrupted: "test_an_interrupted_program_leaves_nothing",
    KeepsWhatAnInnerBlockWrote: "test_an_inner_block_that_raises_is_taken_back_alone",
    ShowsWhatIsNotCommitted: "test_nobody_else_sees_a_transaction_before_its_end",
    CursorMisses: "test_the_cursor_tells_what_changed",
    CursorReadTooLate: "test_the_cursor_misses_nothing_while_others_write",
    CursorRepeats: "test_the_cursor_tells_what_changed",
    CursorGuesses: "test_a_foreign_cursor_is_not_guessed_at",
    CursorForgets: "test_the_cursor_tells_what_changed",
}


@pytest.mark.parametrize(("broken", "by"), STORES.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_a_broken_store_is_caught(broken: type[RecordStore], by: str, tmp_path: Path) -> None:
    assert by in caught(RecordStoreContract, lambda _: broken(), tmp_path)


@pytest.mark.parametrize("sound", [PlainStore, Cursor, InMemoryRecordStore])
def test_a_sound_store_is_not(sound: type[RecordStore], tmp_path: Path) -> None:
    assert caught(RecordStoreContract, lambda _: sound(), tmp_path) == set()


def test_what_does_not_survive_is_caught(tmp_path: Path) -> None:
    class Forgetful(RecordStoreContract):
        def make_store(self, tmp_path: Path) -> RecordStore:
            return FileRecordStore(tmp_path / "records")

        def reopen(self, store: RecordStore) -> RecordStore:
            return InMemoryRecordStore()

    with pytest.raises(AssertionError, match="opened again lists the same"):
        Forgetful().test_what_was_put_survives(tmp_path)


def test_a_failure_says_which_promise_broke_and_how(tmp_path: Path) -> None:
    said = verdicts(RecordStoreContract, lambda _: Overwrites(), tmp_path)["test_a_byte_identical_put_appends"]
    assert "a put appends a version even when it is byte-identical" in said
    assert "expected:" in said
    assert "but got:" in said


def test_what_cannot_be_tested_is_skipped(tmp_path: Path) -> None:
    skipped = set(verdicts(RecordStoreContract, lambda _: PlainStore(), tmp_path))
    assert "test_a_transaction_that_raises_leaves_nothing" in skipped
    assert "test_redaction_replaces_every_version" in skipped
    assert "test_what_was_put_survives" in skipped
    assert "test_a_put_appends_and_overwrites_nothing" not in skipped


def test_a_contract_without_its_hook_says_what_to_define(tmp_path: Path) -> None:
    with pytest.raises(NotImplementedError, match="make_store"):
        RecordStoreContract().test_a_new_store_is_empty(tmp_path)
    with pytest.raises(NotImplementedError, match="make_index"):
        SearchIndexContract().test_an_empty_index_finds_nothing(tmp_path)

"""What our record stores promise beyond :mod:`agent_memory.testing`: our test modules subclass :class:`StoreContract`.

:class:`StoreModel` is the same promise as a plain dict of lists, which random sequences are compared with.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st

from agent_memory.errors import ArgumentTypeError, RecordError, StoreError
from agent_memory.lifecycle import archive
from agent_memory.ports import RecordStore
from agent_memory.records import MemoryRecord, Provenance, RecordState, RecordType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
UNKNOWN = "mem:" + "0" * 32
SECRET = "sk-live-4242-xyzzy"
TROUBLE = ("\n\u0303 tilde", '"\u0301', "\\\u0300", "\x00\x1f\u2028", "東京\U0001f389", "e\u0301")


def make(body: str = "The sky over Austin is clear.", *, minute: int = 0, **fields: Any) -> MemoryRecord:
    fields.setdefault("created_at", NOON + timedelta(minutes=minute))
    kind = fields.pop("type", RecordType.FACT)
    return MemoryRecord.create(kind, body, Provenance(kind="conversation", ref="session-42"), **fields)


class Interrupted(Exception):
    """What ends the block of :func:`taken_back`."""


@contextmanager
def taken_back(store: RecordStore) -> Iterator[None]:
    """A transaction of ``store`` that fails after the block, and so must leave nothing of it."""
    with suppress(Interrupted), store.transaction():
        yield
        raise Interrupted


def hammer(act: Callable[[], object], *, threads: int = 8, times: int = 5) -> list[BaseException]:
    """Call ``act`` from many threads at once; what it raised."""
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(times):
                act()
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return errors


def in_processes(code: str, *arguments: str, count: int = 2) -> None:
    """Run Python ``code`` in several processes at once; all of them must succeed."""
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n{code}"]
    running = [subprocess.Popen([*command, *arguments, str(number)]) for number in range(count)]
    assert [process.wait(timeout=120) for process in running] == [0] * count


class StoreContract:
    """Subclass it as ``Test…`` and give it a fixture ``store``: a fresh, empty store.

    The public contract is kept in test_contract_ours.py; here is what is ours alone: the words of errors, that
    redactions are dated, and what a caller may hand over.
    """

    def test_a_tag_no_record_can_have_finds_nothing(self, store: RecordStore) -> None:
        store.put(make(tags=("alpha",)))
        assert store.list(tag="\ud800") == ()

    def test_listing_follows_the_time_of_birth(self, store: RecordStore) -> None:
        store.put_many(make(f"number {number}", minute=number) for number in range(7))
        assert [record.body for record in store.list()] == [f"number {number}" for number in range(7)]

    def test_a_redaction_is_dated(self, store: Any) -> None:
        record = make(SECRET)
        store.put(record)
        assert store.redact(record.id, "leaked", now=NOON).updated_at == NOON

    @pytest.mark.parametrize("bad", ["", "mem:", "not-an-id", "mem:../escape", "mem:ABCDEF", "mem:" + "0" * 31 + "\n"])
    def test_a_malformed_id_is_refused(self, store: RecordStore, bad: str) -> None:
        for ask in (store.get, store.history, lambda bad: store.redact(bad, "r")):  # type: ignore[attr-defined]
            with pytest.raises(StoreError, match="malformed"):
                ask(bad)
        assert store.get_many([bad]) == {}

    def test_an_unknown_id_is_an_error(self, store: RecordStore) -> None:
        for ask in (store.get, store.history, lambda unknown: store.redact(unknown, "r")):  # type: ignore[attr-defined]
            with pytest.raises(StoreError, match="unknown"):
                ask(UNKNOWN)

    def test_get_many_keeps_the_order_asked_for_and_leaves_out_the_unknown(self, store: RecordStore) -> None:
        records = [make(f"number {number}") for number in range(3)]
        store.put_many(records)
        wanted = [records[2].id, UNKNOWN, records[0].id]
        assert list(store.get_many(wanted).items()) == [(records[2].id, records[2]), (records[0].id, records[0])]

    def test_only_records_are_taken(self, store: RecordStore) -> None:
        with pytest.raises(ArgumentTypeError, match="MemoryRecord"):
            store.put({"body": "no record"})  # type: ignore[arg-type]
        assert store.list() == ()

    def test_nothing_is_written_over_a_tombstone(self, store: Any) -> None:
        record = make()
        store.put(record)
        tombstone = store.redact(record.id, "leaked")
        for late in (record, archive(record, reason="decay")):
            with pytest.raises(StoreError, match="redacted"):
                store.put(late)
        with pytest.raises(RecordError, match="redacted already"):
            store.redact(record.id, "again")
        assert store.history(record.id) == (tombstone,)
        store.put(tombstone)
        assert store.history(record.id) == (tombstone, tombstone)

    def test_a_redaction_needs_a_reason(self, store: Any) -> None:
        record = make()
        store.put(record)
        with pytest.raises(RecordError, match="reason"):
            store.redact(record.id, " ")
        assert store.history(record.id) == (record,)

    def test_no_content_is_served_beside_a_tombstone_that_was_put(self, store: Any) -> None:
        record = make(SECRET)
        tombstone = MemoryRecord.tombstone(record, reason="leaked elsewhere", now=NOON)
        store.put_many([record, tombstone])
        assert store.history(record.id) == (tombstone, tombstone)
        assert store.redact(record.id, "finish") == tombstone
        with pytest.raises(RecordError):
            store.redact(record.id, "again")

    def test_an_inner_transaction_is_undone_by_itself(self, store: RecordStore) -> None:
        outer, inner = make("outer"), make("inner", minute=1)
        with store.transaction():
            store.put(outer)
            with taken_back(store):
                store.put(inner)
                store.put(archive(outer, reason="decay"))
            store.put(outer)
        assert store.list() == (outer,)
        assert store.history(outer.id) == (outer, outer)

    def test_a_transaction_keeps_other_threads_out(self, store: RecordStore) -> None:
        record = make()
        store.put(record)

        def count_up() -> None:
            with store.transaction():
                seen = int(store.get(record.id).state_reason or "0")
                store.put(record.evolve({"state_reason": str(seen + 1)}))

        assert hammer(count_up) == []
        assert store.get(record.id).state_reason == "40"


class StoreModel:
    """A record store as a dict of lists."""

    def __init__(self) -> None:
        self.versions: dict[str, list[MemoryRecord]] = {}

    def put(self, record: MemoryRecord) -> None:
        held = self.versions.setdefault(record.id, [])
        if held and held[-1].redacted and held[-1] != record:
            raise StoreError
        held.append(record)

    def redact(self, record_id: str, now: datetime) -> None:
        held = self.versions.get(record_id)
        if not held:
            raise StoreError
        held[:] = [MemoryRecord.tombstone(held[-1], reason="r", now=now)] * len(held)


random_writes = st.lists(
    st.tuples(st.sampled_from(["put", "tag", "archive", "redact", "again"]), st.integers(0, 4)), max_size=14
)


def outcome(act: Callable[..., object], *arguments: Any, **named: Any) -> str:
    """How a call ended: the family of its error, or nothing."""
    try:
        act(*arguments, **named)
    except StoreError:
        return "store"
    except RecordError:
        return "record"
    return ""


def check_against_model(store: Any, steps: list[tuple[str, int]]) -> None:
    """Do :data:`random_writes` to an empty store and to the model; every outcome and all that is read must be equal."""
    model = StoreModel()
    for position, (step, which) in enumerate(steps):
        born = make(f"record {which}", minute=which, tags=(f"t{which}",))
        held = model.versions.get(born.id, [])
        newest = held[-1] if held else born
        moment = NOON + timedelta(hours=1 + position)
        if step == "redact":
            did = outcome(store.redact, born.id, "r", now=moment)
            assert did == outcome(model.redact, born.id, moment)
            continue
        record = born
        if step == "tag" and not newest.redacted:
            record = newest.evolve({"tags": (*newest.tags, f"t{position}"), "updated_at": moment})
        elif step == "archive" and newest.state is RecordState.ACTIVE:
            record = archive(newest, reason="decay", now=moment)
        elif step == "again":
            record = newest
        assert outcome(store.put, record) == outcome(model.put, record)
    expected = {record_id: tuple(held) for record_id, held in model.versions.items()}
    assert {record_id: store.history(record_id) for record_id in expected} == expected
    newest_of = {record_id: held[-1] for record_id, held in expected.items()}
    assert {record.id: record for record in store.list()} == newest_of
    assert store.get_many(expected) == newest_of
    for tag in {tag for record in newest_of.values() for tag in record.tags}:
        assert {record.id for record in store.list(tag=tag)} == {
            record.id for record in newest_of.values() if tag in record.tags
        }
    store.close()

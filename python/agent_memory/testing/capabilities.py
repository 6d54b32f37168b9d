"""What a record store may offer besides the port, as tests that are skipped for a store that does not offer it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from agent_memory.errors import AgentMemoryError
from agent_memory.lifecycle import archive
from agent_memory.ports import RecordStore
from agent_memory.records import MemoryRecord, RecordState

from .checks import (
    MALFORMED,
    SECRET,
    UNKNOWN,
    Interrupted,
    demand,
    equal,
    make,
    passes_through,
    refused,
    skip,
    together,
    trouble,
    undisturbed,
)

__all__ = ["CapabilityContract"]


class CapabilityContract:
    """Transactions, change cursor, redaction and durability; a part of ``RecordStoreContract``."""

    def make_store(self, tmp_path: Path) -> RecordStore:
        """A fresh, empty store.  ``tmp_path`` is an empty folder of the test's own."""
        raise NotImplementedError("define make_store(self, tmp_path): it returns a fresh, empty record store")

    def reopen(self, store: RecordStore) -> RecordStore | None:  # noqa: ARG002 - a subclass may need it
        """The same memory opened once more, as another process would: ``store`` stays open.

        None, the default, for a store that is gone with its process.
        """
        return None

    # ------------------------------------------------------------------ transactions, when the store has them

    def test_a_transaction_that_raises_leaves_nothing(self, tmp_path: Path) -> None:
        store = self._with(tmp_path, "transaction")
        kept = make("kept")
        store.put(kept)

        def interrupted() -> None:
            with store.transaction():
                store.put_many([archive(kept, reason="decay"), make("lost", minute=1)])
                store.put(make("lost too", minute=2))
                equal(len(store.list()), 3, "inside a transaction its own writes are seen")
                equal(store.get(kept.id).state, RecordState.ARCHIVED, "inside a transaction its own writes are seen")
                raise Interrupted

        passes_through(interrupted, Interrupted)
        equal(store.list(), (kept,), "a transaction that raises leaves nothing behind")
        equal(store.history(kept.id), (kept,), "a transaction that raises leaves no version behind")
        store.put(archive(kept, reason="decay"))
        equal(len(store.history(kept.id)), 2, "after a transaction that raised, the next write works")

    def test_a_refused_put_many_leaves_nothing(self, tmp_path: Path) -> None:
        store = self._with(tmp_path, "transaction")
        gone = make("gone")
        tombstone = MemoryRecord.tombstone(gone, reason="asked for")
        store.put(tombstone)
        refused(
            lambda: store.put_many([make("first", minute=1), gone, make("last", minute=2)]),
            "put_many() with a version over a tombstone is a StoreError",
        )
        equal(store.list(), (tombstone,), "a put_many() that is refused writes nothing of its batch")

    def test_a_transaction_is_reentrant(self, tmp_path: Path) -> None:
        store = self._with(tmp_path, "transaction")
        record = make()
        with store.transaction(), store.transaction():
            store.put(record)
            with store.transaction():
                store.put(record)
        equal(store.history(record.id), (record, record), "nested transactions are kept when all of them end well")

        def interrupted() -> None:
            with store.transaction():
                with store.transaction():
                    store.put(record)
                raise Interrupted

        passes_through(interrupted, Interrupted)
        equal(len(store.history(record.id)), 2, "an inner transaction is taken back with the outer one that raises")

    def test_a_transaction_keeps_other_writers_out(self, tmp_path: Path) -> None:
        store = self._with(tmp_path, "transaction")
        record = make().evolve({"state_reason": "0"})
        store.put(record)

        def count_up() -> None:
            for _ in range(5):
                with store.transaction():
                    seen = int(store.get(record.id).state_reason or "0")
                    time.sleep(0.0005)  # time enough for another to get in between
                    store.put(record.evolve({"state_reason": str(seen + 1)}))

        together([count_up] * 6, "threads wait for each other's transactions")
        equal(store.get(record.id).state_reason, "30", "nobody writes between a read and a write of one transaction")

    # ------------------------------------------------------------------ the change cursor, when the store has one

    def test_the_cursor_tells_what_changed(self, tmp_path: Path) -> None:
        store = self._with(tmp_path, "changes")
        first, second, third = (make(f"number {number}", minute=number) for number in range(3))
        store.put(first)
        start, told = store.changes(None)
        demand(isinstance(start, str), "a cursor is text")
        equal(told, None, "changes(None) cannot tell what changed, and says so with None")
        equal(store.changes(start)[1], (), "nothing changed since a cursor that was just given")
        store.put_many([third, second])
        store.put(third)
        middle, told = store.changes(start)
        equal(told, (third.id, second.id), "every id that changed, once, in order of its first change")
        store.put(archive(first, reason="decay"))
        end, told = store.changes(middle)
        equal(told, (first.id,), "a new version of a record is a change")
        equal(store.changes(end)[1], (), "what was told is not told again")
        everything = (third.id, second.id, first.id)
        equal(store.changes(start)[1], everything, "an earlier cursor still answers, with all that came after it")

    def test_a_foreign_cursor_is_not_guessed_at(self, tmp_path: Path) -> None:
        store = self._with(tmp_path, "changes")
        store.put(make())
        for foreign in ("no cursor of this store", "\x00", "999999999999 ☃"):
            cursor, told = undisturbed(
                partial(store.changes, foreign),
                f"changes({foreign!r}) is answered",
            )
            equal(told, None, f"since {foreign!r}, which it never gave out, a store cannot tell what changed")
            equal(store.changes(cursor)[1], (), "the cursor that comes with None is one to go on from")

    def test_the_cursor_misses_nothing_while_others_write(self, tmp_path: Path) -> None:
        store = self._with(tmp_path, "changes")
        batches = [[make(f"{part} {n}", minute=part * 10 + n) for n in range(8)] for part in range(3)]
        cursor, _ = store.changes(None)
        seen: set[str] = set()
        done = threading.Event()

        def watch() -> None:
            nonlocal cursor
            last = False
            while not last:
                last = done.is_set()
                cursor, told = store.changes(cursor)
                demand(told is not None, "a store can tell what changed since a cursor it just gave")
                seen.update(told or ())

        watching = threading.Thread(target=watch, daemon=True)
        watching.start()
        together(
            [partial(_put_singly, store, batch) for batch in batches],
            "threads may write while another asks what changed",
        )
        done.set()
        watching.join(timeout=60)
        wanted = {record.id for batch in batches for record in batch}
        equal(wanted - seen, set(), "nothing written after a call of changes() is missed by the next one")

    # ------------------------------------------------------------------ redaction, when the store can

    def test_redaction_replaces_every_version(self, tmp_path: Path) -> None:
        store, redact = self._redacting(tmp_path)
        other = make("Somebody else's.", minute=1)
        record = make(f"The key is {SECRET}.", tags=(SECRET,))
        store.put_many([record, other, record.evolve({"tags": (SECRET, "x")}), archive(record, reason="decay")])
        tombstone = redact(record.id, "leaked")
        demand(isinstance(tombstone, MemoryRecord) and tombstone.redacted, "redact() answers the tombstone")
        equal(store.get(record.id), tombstone, "a redacted record is its tombstone")
        equal(store.get_many([record.id]), {record.id: tombstone}, "get_many() answers the tombstone too")
        demand(tombstone in store.list(), "list() has the tombstone in the place of the record")
        equal(store.history(record.id), (tombstone,) * 3, "redaction replaces every version, and their number stays")
        equal(store.list(tag=SECRET), (), "no tag of a redacted record is left")
        held = b"".join((*store.payloads(), *(version.canonical_bytes() for version in store.history(record.id))))
        demand(SECRET.encode() not in held, "nothing a redacted record said is served any more")
        equal(store.history(other.id), (other,), "redaction touches no other record")
        equal({item.id for item in store.list()}, {record.id, other.id}, "a redacted record keeps its place")

    def test_a_redacted_record_stays_redacted(self, tmp_path: Path) -> None:
        store, redact = self._redacting(tmp_path)
        record = make()
        store.put(record)
        tombstone = redact(record.id, "leaked")
        refused(lambda: store.put(record), "a put over a tombstone is a StoreError")
        refused(lambda: redact(record.id, "again"), "a second redaction is refused", error=AgentMemoryError)
        equal(store.history(record.id), (tombstone,), "a tombstone does not change")

    def test_a_redaction_names_a_known_record_and_a_reason(self, tmp_path: Path) -> None:
        store, redact = self._redacting(tmp_path)
        record = make()
        store.put(record)
        for bad in (UNKNOWN, *MALFORMED):
            refused(partial(redact, bad, "asked for"), f"redact({bad!r}) is a StoreError")
        for empty in ("", " \n"):
            refused(
                partial(redact, record.id, empty),
                "a redaction without a reason is refused",
                error=AgentMemoryError,
            )
        equal(store.history(record.id), (record,), "a refused redaction changes nothing")

    def test_a_redaction_is_a_change(self, tmp_path: Path) -> None:
        store, redact = self._redacting(tmp_path)
        if not self._offers(store, "changes"):
            skip("the store has no change cursor")
        record = make()
        store.put(record)
        cursor, _ = store.changes(None)
        redact(record.id, "leaked")
        equal(store.changes(cursor)[1], (record.id,), "a redaction is among the changes")

    # ------------------------------------------------------------------ durability, when the store can be reopened

    def test_what_was_put_survives(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        records = [*trouble(), make("kept", minute=90)]
        store.put_many([*records, archive(records[-1], reason="decay")])
        again = self._again(store)
        equal(again.list(), store.list(), "a store that is opened again lists the same, in the same order")
        for record in records:
            kept, held = ([v.canonical_bytes() for v in s.history(record.id)] for s in (again, store))
            equal(kept, held, "every version survives, to the byte")
        again.put(make("from the other side", minute=99))
        equal(len(store.list()), len(records) + 1, "what another process writes is seen")
        again.close()

    def test_a_redaction_survives(self, tmp_path: Path) -> None:
        store, redact = self._redacting(tmp_path)
        record = make(SECRET)
        store.put_many([record, archive(record, reason="decay")])
        tombstone = redact(record.id, "leaked")
        again = self._again(store)
        equal(again.history(record.id), (tombstone, tombstone), "a redaction survives, with its count of versions")
        refused(lambda: again.put(record), "a put over a tombstone is a StoreError, also when it is opened again")
        again.close()

    def test_a_cursor_survives(self, tmp_path: Path) -> None:
        store = self._with(tmp_path, "changes")
        store.put(make("before"))
        cursor, _ = store.changes(None)
        again = self._again(store)
        late = make("late", minute=1)
        again.put(late)
        for side in (store, again):
            told = side.changes(cursor)[1]
            demand(told is None or late.id in told, "a cursor tells what another process wrote, or that it cannot")
        again.close()

    # ------------------------------------------------------------------ what is there to test

    def _with(self, tmp_path: Path, capability: str) -> RecordStore:
        store = self.make_store(tmp_path)
        if not self._offers(store, capability):
            skip(f"the store keeps the default of {capability}()")
        return store

    def _redacting(self, tmp_path: Path) -> tuple[RecordStore, Callable[[str, str], Any]]:
        store = self.make_store(tmp_path)
        redact = getattr(store, "redact", None)
        if not callable(redact):
            skip("the store cannot redact")
        return store, redact

    def _offers(self, store: RecordStore, capability: str) -> bool:
        """Whether the class replaces the default of a capability."""
        return getattr(type(store), capability, None) is not getattr(RecordStore, capability)

    def _again(self, store: RecordStore) -> RecordStore:
        again = self.reopen(store)
        if again is None:
            skip("the store cannot be reopened; define reopen(self, store) if it is durable")
        return again


def _put_singly(store: RecordStore, records: Iterable[MemoryRecord]) -> None:
    for record in records:
        store.put(record)

"""What a transaction promises where a store has transactions: all of it or nothing, and nobody else sees a part."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent_memory.lifecycle import archive
from agent_memory.ports import RecordStore

from .capabilities import CapabilityContract
from .checks import SECRET, Interrupted, equal, make, passes_through, skip

__all__ = ["AtomicityContract"]

_A_WHILE = 0.3
"""Seconds a transaction stays open while somebody else reads: enough to read, if the store lets him."""


class AtomicityContract(CapabilityContract):
    """What of a transaction is taken back, and who sees it before its end; a part of ``RecordStoreContract``."""

    def test_an_inner_block_that_raises_is_taken_back_alone(self, tmp_path: Path) -> None:
        store = self._with(tmp_path, "transaction")
        first, lost, last = (make(f"number {number}", minute=number) for number in range(3))

        def interrupted() -> None:
            with store.transaction():
                store.put_many([lost, archive(first, reason="decay")])
                raise Interrupted

        with store.transaction():
            store.put(first)
            passes_through(interrupted, Interrupted)
            equal(store.history(first.id), (first,), "an inner block that raises is taken back at once")
            store.put(last)
        equal(set(store.list()), {first, last}, "an inner block that raises is taken back, the outer one goes on")
        equal(store.history(first.id), (first,), "an inner block that raises leaves no version behind")

    def test_an_interrupted_program_leaves_nothing(self, tmp_path: Path) -> None:
        store = self._with(tmp_path, "transaction")
        kept = make("kept")
        store.put(kept)

        def interrupted() -> None:
            with store.transaction():
                store.put_many([archive(kept, reason="decay"), make("lost", minute=1)])
                raise KeyboardInterrupt

        passes_through(interrupted, KeyboardInterrupt)
        equal(store.list(), (kept,), "a transaction is taken back whatever ends it, KeyboardInterrupt too")
        equal(store.history(kept.id), (kept,), "a transaction that KeyboardInterrupt ends leaves no version behind")
        store.put(archive(kept, reason="decay"))
        equal(len(store.history(kept.id)), 2, "after a transaction that was interrupted, the next write works")

    def test_a_redaction_is_taken_back_with_its_transaction(self, tmp_path: Path) -> None:
        store, redact = self._redacting_in_transactions(tmp_path)
        record, other = make(SECRET, tags=(SECRET,)), make("other", minute=1)
        versions = (record, archive(record, reason="decay"))
        store.put_many([*versions, other])

        def interrupted() -> None:
            with store.transaction():
                store.put(archive(other, reason="decay"))
                tombstone = redact(record.id, "leaked")
                equal(store.get(record.id), tombstone, "inside a transaction its own redactions are seen")
                raise Interrupted

        passes_through(interrupted, Interrupted)
        equal(store.history(record.id), versions, "a redaction in a transaction that raises is taken back with it")
        equal(store.list(tag=SECRET), versions[1:], "a redaction that is taken back leaves the tags of the record")
        equal(store.history(other.id), (other,), "what was written beside the redaction is taken back too")
        tombstone = redact(record.id, "leaked")
        equal(store.history(record.id), (tombstone,) * 2, "after it was taken back, a redaction can be made again")

    def test_a_redaction_in_a_transaction_is_a_change(self, tmp_path: Path) -> None:
        store, redact = self._redacting_in_transactions(tmp_path)
        if not self._offers(store, "changes"):
            skip("the store has no change cursor")
        record, other = make(SECRET), make("other", minute=1)
        store.put_many([record, other])
        cursor, _ = store.changes(None)
        with store.transaction():
            redact(record.id, "leaked")
        cursor, told = store.changes(cursor)
        equal(told, (record.id,), "a redaction inside a transaction is among the changes")
        with store.transaction():
            redact(other.id, "leaked")
            store.put(make("beside it", minute=2))
        equal(other.id in (store.changes(cursor)[1] or ()), True, "it is among them when more is written beside it")

    def test_nobody_else_sees_a_transaction_before_its_end(self, tmp_path: Path) -> None:
        store = self._with(tmp_path, "transaction")
        _read_beside(store, store, "another thread")

    def test_no_other_process_sees_a_transaction_before_its_end(self, tmp_path: Path) -> None:
        store = self._with(tmp_path, "transaction")
        again = self._again(store)
        _read_beside(store, again, "another process")
        again.close()

    def _redacting_in_transactions(self, tmp_path: Path) -> tuple[RecordStore, Callable[[str, str], Any]]:
        store, redact = self._redacting(tmp_path)
        if not self._offers(store, "transaction"):
            skip("the store keeps the default of transaction()")
        return store, redact


def _read_beside(writer: RecordStore, reader: RecordStore, who: str) -> None:
    """Read while a transaction is open that is then taken back: the reader may wait, and sees nothing of it."""
    kept, lost = make("kept"), make("lost", minute=1)
    writer.put(kept)
    seen: dict[str, object] = {}

    def look() -> None:
        try:
            seen["list()"] = tuple(reader.list())
            seen["get()"] = reader.get(kept.id)
            seen["history()"] = reader.history(kept.id)
            seen["get_many()"] = reader.get_many([kept.id, lost.id])
            seen["payloads()"] = list(reader.payloads())
        except Exception as error:
            seen["error"] = error

    looking = threading.Thread(target=look, daemon=True)

    def interrupted() -> None:
        with writer.transaction():
            writer.put_many([archive(kept, reason="decay"), lost])
            looking.start()
            looking.join(timeout=_A_WHILE)
            raise Interrupted

    passes_through(interrupted, Interrupted)
    looking.join(timeout=60)
    wanted = {
        "list()": (kept,),
        "get()": kept,
        "history()": (kept,),
        "get_many()": {kept.id: kept},
        "payloads()": [kept.canonical_bytes()],
    }
    equal(seen, wanted, f"{who} may wait for a transaction, and sees nothing of it before its end")

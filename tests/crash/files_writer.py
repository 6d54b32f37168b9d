"""A child that writes to a folder of records until it is killed, and tells through a pipe what it is about to do.

    python tests/crash/files_writer.py FOLDER SEED STEPS KILL_AT

Before each step it prints a line of JSON: ``{"put": [[id, digest of the payload], …], "redact": [[id, digest of the
tombstone], …]}``; after it ``done``.  KILL_AT is the number of the system call at which it kills itself, 0 for never.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from agent_memory.lifecycle import begin_transition, resolve_transition, supersede
from agent_memory.records import MemoryRecord, Provenance, RecordState, RecordType
from agent_memory.stores import FileRecordStore, durable
from crash.disks import DyingDisk

START = datetime(2026, 1, 1, tzinfo=UTC)
SOURCE = Provenance(kind="conversation", ref="crash")


def secret(created_at: datetime) -> str:
    """The text that only the record born then holds."""
    return f"plaintext-{created_at.timestamp():.3f}"


class Writer:
    def __init__(self, folder: str, seed: int) -> None:
        self._store = FileRecordStore(folder)
        self._random = random.Random(seed)
        self._held = {record.id: record for record in self._store.list() if not record.redacted}
        self._now = START + timedelta(days=seed, milliseconds=len(self._held))
        self._store.changes()  # from here on the change log is kept too

    def step(self) -> None:
        kinds = ["put", "put", "put", "supersede", "dispute", "dispute", "resolve", "redact", "redact", "erase"]
        getattr(self, "_" + self._random.choice(kinds))()

    def _put(self) -> None:
        self._write([self._new()])

    def _supersede(self) -> None:
        old = self._pick(RecordState.ACTIVE)
        if old is not None:
            new = self._new(supersedes=old.id)
            self._write([new, supersede(old, new, reason="newer", now=self._later())])

    def _dispute(self) -> None:
        a, b = self._pick(RecordState.ACTIVE), self._pick(RecordState.ACTIVE)
        if a is not None and b is not None and a.id != b.id:
            self._write(list(begin_transition(a, b, reason="they disagree", now=self._later())))

    def _resolve(self) -> None:
        a = self._pick(RecordState.TRANSITIONAL)
        if a is not None and a.transition is not None and a.transition.other(a.id) in self._held:
            b = self._held[a.transition.other(a.id)]
            if b.state is RecordState.TRANSITIONAL:
                self._write(list(resolve_transition(a, b, reason="seen", now=self._later())))

    def _redact(self) -> None:
        self._write([], [self._pick(None)])

    def _erase(self) -> None:
        """An erasure as the memory does it: several records redacted, one written anew, in one transaction."""
        self._write([self._new()], [self._pick(None), self._pick(None)])

    def _later(self) -> datetime:
        self._now += timedelta(milliseconds=1)
        return self._now

    def _new(self, **fields: Any) -> MemoryRecord:
        born = self._later()
        return MemoryRecord.create(RecordType.FACT, f"It says {secret(born)}.", SOURCE, created_at=born, **fields)

    def _pick(self, state: RecordState | None) -> MemoryRecord | None:
        fitting = [record for record in self._held.values() if state is None or record.state is state]
        return self._random.choice(fitting) if fitting else None

    def _write(self, put: list[MemoryRecord], redact: list[MemoryRecord | None] | None = None) -> None:
        now = self._later()
        gone = list({record.id: record for record in redact or () if record is not None}.values())
        tombstones = [MemoryRecord.tombstone(record, reason="asked", now=now) for record in gone]
        tell({"put": [effect(record) for record in put], "redact": [effect(record) for record in tombstones]})
        with self._store.transaction():
            for record in gone:
                self._store.redact(record.id, "asked", now=now)
            self._store.put_many(put)
        print("done", flush=True)
        for record in put:
            self._held[record.id] = record
        for record in gone:
            del self._held[record.id]


def effect(record: MemoryRecord) -> list[str]:
    return [record.id, hashlib.sha256(record.canonical_bytes()).hexdigest()]


def tell(what: object) -> None:
    print(json.dumps(what), flush=True)


def main() -> None:
    folder, seed, steps, kill_at = sys.argv[1], *map(int, sys.argv[2:])
    writer = Writer(folder, seed)
    durable.disk = DyingDisk(kill_at) if kill_at else durable.Disk()
    for _ in range(steps):
        writer.step()


if __name__ == "__main__":
    main()

"""The store in a folder beside the floor: the same bytes and the same syncs with no library, and how the cost grows.

    make bench        (or: .venv/bin/python benches/bench_files.py)

Wall time, on the disk that holds the temporary folder (TMPDIR).
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from harness import corpus, exit_with, require_release

from agent_memory.records import MemoryRecord, Provenance, RecordType
from agent_memory.stores import FileRecordStore

PUTS = 400
FLAT = (1_000, 100_000)
RECONCILED = 10_000
CHANGE, DONE = b"c" * 54 + b"\n", b"d" * 113 + b"\n"
"""Lines as long as those of the change log."""


def records(count: int) -> list[MemoryRecord]:
    return [
        MemoryRecord.create(
            RecordType(item["type"]),
            item["body"],
            Provenance(kind="conversation", ref=item["ref"]),
            tags=item["tags"],
            created_at=item["created_at"],
        )
        for item in corpus(count)
    ]


def sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


NAMELESS = getattr(os, "O_TMPFILE", 0)


def floor(root: Path) -> Callable[[str, bytes], None]:
    """A new record as any program would write it: a synced file linked into a new folder, both folders synced.

    The two appends that the store makes to its change log are made here too, with as many bytes and no sync.
    """
    temp = str(root / "temp")
    lines = os.open(root / "changes", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def put(name: str, data: bytes) -> None:
        descriptor = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        os.write(descriptor, data)
        os.fsync(descriptor)
        os.close(descriptor)
        os.write(lines, CHANGE)
        folder = f"{root}/{name}"
        os.mkdir(folder)  # noqa: PTH102 - the floor has no library, not even pathlib
        os.link(temp, f"{folder}/000001.json")
        os.unlink(temp)  # noqa: PTH108
        sync(folder)
        sync(str(root))
        os.write(lines, DONE)

    return put


def least(root: Path) -> Callable[[str, bytes], None]:
    """The least that leaves the same record there: a file without a name, which the store makes too, and no log."""

    def put(name: str, data: bytes) -> None:
        folder = f"{root}/{name}"
        os.mkdir(folder)  # noqa: PTH102
        descriptor = os.open(folder, os.O_WRONLY | NAMELESS, 0o666)
        os.write(descriptor, data)
        os.fsync(descriptor)
        path = f"/proc/self/fd/{descriptor}"
        os.link(path, f"{folder}/000001.json", src_dir_fd=descriptor, follow_symlinks=True)
        os.close(descriptor)
        sync(folder)
        sync(str(root))

    return put


def fill(root: Path, made: list[MemoryRecord]) -> None:
    """Records on the disk without any sync, for the store to find."""
    for record in made:
        folder = f"{root}/{record.id.removeprefix('mem:')}"
        os.mkdir(folder)  # noqa: PTH102
        descriptor = os.open(f"{folder}/000001.json", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        os.write(descriptor, record.canonical_bytes())
        os.close(descriptor)


def seconds_each(puts: Iterator[Callable[[], object]]) -> list[float]:
    times = []
    for put in puts:
        start = time.perf_counter()
        put()
        times.append(time.perf_counter() - start)
    return times


def beside_the_floor(made: list[MemoryRecord]) -> bool:
    """Single puts of new records, one of each in turn so that noise falls on all alike."""
    with (
        tempfile.TemporaryDirectory() as ours,
        tempfile.TemporaryDirectory() as raw,
        tempfile.TemporaryDirectory() as bare,
    ):
        store = FileRecordStore(Path(ours) / "records")
        store.changes()  # the change log is kept too
        floors = {"floor": floor(Path(raw))}
        if NAMELESS:
            floors["least"] = least(Path(bare))
        times: dict[str, list[float]] = {"ours": [], **{name: [] for name in floors}}
        for record in made[:PUTS]:
            payload, name = record.canonical_bytes(), record.id.removeprefix("mem:")
            for side, put in floors.items():
                times[side] += seconds_each(iter([lambda put=put, name=name, payload=payload: put(name, payload)]))
            times["ours"] += seconds_each(iter([lambda record=record: store.put(record)]))
    medians = {side: statistics.median(measured) for side, measured in times.items()}
    ratio = medians["floor"] / medians["ours"]
    print(
        f"{'one durable put':<46} ours {medians['ours'] * 1e6:8.1f} µs  floor {medians['floor'] * 1e6:8.1f} µs  "
        f"{ratio:5.2f} of the floor  goal 0.8: {'reached' if ratio >= 0.8 else 'MISSED'}"
    )
    if NAMELESS:
        print(
            f"{'  beside the least there is':<46} ours {medians['ours'] * 1e6:8.1f} µs  "
            f"least {medians['least'] * 1e6:8.1f} µs  {medians['least'] / medians['ours']:5.2f} of it: no temporary "
            "name and no change log"
        )
    return ratio >= 0.8


def slope(made: list[MemoryRecord]) -> bool:
    """Cost of a put into a small store and into a large one."""
    with tempfile.TemporaryDirectory() as few, tempfile.TemporaryDirectory() as many:
        small, large = (Path(folder) for folder in (few, many))
        fill(small, made[: FLAT[0]])
        fill(large, made[: FLAT[1]])
        stores = {"small": FileRecordStore(small), "large": FileRecordStore(large)}
        times: dict[str, list[float]] = {"small": [], "large": []}
        os.sync()
        for record in made[FLAT[1] : FLAT[1] + PUTS]:
            for side, store in stores.items():
                times[side] += seconds_each(iter([lambda store=store, record=record: store.put(record)]))
    medians = {side: statistics.median(measured) for side, measured in times.items()}
    ratio = medians["large"] / medians["small"]
    print(
        f"{'a put at 1k and at 100k records':<46} {medians['small'] * 1e6:8.1f} µs  {medians['large'] * 1e6:8.1f} µs  "
        f"slope {ratio:5.2f}  goal at most 1.25: {'reached' if ratio <= 1.25 else 'MISSED'}"
    )
    return ratio <= 1.25


def many_and_reading(made: list[MemoryRecord]) -> bool:
    """What has no floor: a batch, the first question for changes after 10,000 records, the next one, a listing."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        fill(root, made[:RECONCILED])
        os.sync()
        cursor, _ = FileRecordStore(root).changes()
        batch = made[RECONCILED : RECONCILED + 1_000]
        (took,) = seconds_each(iter([lambda: FileRecordStore(root).put_many(batch)]))
        print(f"{'put_many of 1,000, each':<46} {took / 1_000 * 1e6:8.1f} µs")
        firsts = [seconds_each(iter([lambda: FileRecordStore(root).changes(cursor)]))[0] for _ in range(5)]
        first = statistics.median(firsts)
        print(
            f"{'first changes() at 11k records':<46} {first * 1e3:8.1f} ms  "
            f"goal at most 300 ms: {'reached' if first <= 0.3 else 'MISSED'}"
        )
        store = FileRecordStore(root)
        cursor, _ = store.changes(cursor)
        again = seconds_each(iter([lambda: store.changes(cursor)] * 1_000))
        print(f"{'changes() when nothing changed':<46} {statistics.median(again) * 1e6:8.1f} µs")
        gets = seconds_each(lambda record=record: store.get(record.id) for record in made[:1_000])  # type: ignore[misc]
        print(f"{'get':<46} {statistics.median(gets) * 1e6:8.1f} µs")
    return first <= 0.3


def main() -> None:
    require_release()
    made = records(FLAT[1] + PUTS)
    exit_with([beside_the_floor(made), slope(made), many_and_reading(made)])


if __name__ == "__main__":
    main()

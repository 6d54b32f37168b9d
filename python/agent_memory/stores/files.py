"""Records as a folder of files, one per version: readable with any editor, and with none of ours (SPEC section 16.1).

``<root>/<32 hex>/000001.json`` holds the first version of the record ``mem:<32 hex>`` in canonical JSON, and so on
without a gap.  Versions are added, never changed, except that a redaction replaces every one by the tombstone.  Beside
the record folders lies one more, ``.staging``, with what writers need: lock, journal, change log, unfinished files.

No record is cached, so several processes may use one folder.  Readers take the lock only when they find a transaction
that is being written, or was left unfinished: then they see to it that it is finished first.  Asking for changes waits
for no writer, and a folder that cannot be written can be read.
"""

from __future__ import annotations

import contextlib
import errno
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from agent_memory.errors import RecordError, StoreError
from agent_memory.ports import RecordStore, check_append, check_id, matches, unknown_id
from agent_memory.records import MemoryRecord, RecordState, RecordType
from agent_memory.wire import parse_json

from . import durable
from .backup import copy_records, new_folder
from .buffer import Buffer, View, Write
from .changelog import ChangeLog
from .commit import Committer
from .damage import find_damage
from .layout import STAGING, entries, gapless, numbers_in, read, record_ids, version_name
from .lock import ProcessLock
from .payload import check_payload, check_record, read_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

__all__ = ["FileRecordStore"]

_TRIES: Final = 5
"""How often a version that vanishes while it is read is looked up again: a failed write was taken back."""
_MOST_MISSING: Final = 1_000
"""Numbers missing among the versions of a record that a redaction still fills, for each gets a tombstone."""
_NOT_THE_FILE: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""Failures to read that say nothing about the file, so that leaving the record out would be a lie."""

_Numbers: TypeAlias = "list[int]"  # inside the class, ``list`` is a method


class FileRecordStore(RecordStore):
    """A store in a folder.  Usable from many threads and processes; it lists in the order (created_at, id).

    Args:
        root: the folder that holds the record folders; made when it is missing.
        timeout: seconds to wait for another writer before a StoreError, 0 to 86,400.

    A folder that cannot be written is read all the same; then, and while another writes, ``changes`` may tell of a
    record again that it told of before.

    Raises:
        ArgumentError: a timeout outside that range, or of another type.
        StoreError: ``root`` is a file, or cannot be made; or what a crash left unfinished there cannot be finished.
    """

    def __init__(self, root: str | os.PathLike[str], *, timeout: float = 30.0) -> None:
        self._root = Path(root)
        self._folders = f"{self._root}{os.sep}"
        self._lock = ProcessLock(self._root / STAGING / "lock", timeout)
        try:
            durable.make_dirs(self._root)
        except OSError as error:
            raise durable.failure(error, f"cannot keep records in {self._root}") from error
        self._log = ChangeLog(self._root)
        self._committer = Committer(self._root, self._log)
        self._buffer = Buffer()
        self._settle()

    # ------------------------------------------------------------------------------------------------------- reading

    def get(self, record_id: str) -> MemoryRecord:
        check_id(record_id)
        self._settle()
        return self._buffered(record_id) or self._newest(record_id)[1]

    def history(self, record_id: str) -> tuple[MemoryRecord, ...]:
        check_id(record_id)
        self._settle()
        view = self._view(record_id)
        if view is None:
            return self._history(record_id)
        newest = view.newest
        if newest is not None and newest.redacted:
            return (newest,) * view.count
        return (*(self._history(record_id) if view.below else ()), *view.above)

    def list(
        self,
        *,
        state: RecordState | None = None,
        type: RecordType | None = None,
        tag: str | None = None,
    ) -> tuple[MemoryRecord, ...]:
        self._settle()
        found: list[MemoryRecord] = []
        for record_id in self._ids():
            with _left_out_if_damaged():
                record = self._buffered(record_id)
                if record is None:
                    where, data = self._newest_bytes(record_id)
                    if not _may_match(data, state, type, tag):
                        continue
                    record = read_record(data, record_id, str(where))
                if matches(record, state, type, tag):
                    found.append(record)
        found.sort(key=lambda record: (record.created_at, record.id))
        return tuple(found)

    def get_many(self, record_ids: Iterable[str]) -> dict[str, MemoryRecord]:
        """The newest versions of those ids that the store holds and that can be read."""
        found: dict[str, MemoryRecord] = {}
        for record_id in record_ids:
            with _left_out_if_damaged():
                found[record_id] = self.get(record_id)
        return found

    def payloads(self) -> Iterator[bytes]:
        """Canonical bytes of the newest version of every record, in the order of :meth:`list`, without building any."""
        self._settle()
        found: list[tuple[str, str, bytes]] = []
        for record_id in self._ids():
            with _left_out_if_damaged():
                record = self._buffered(record_id)
                if record is None:
                    where, data = self._newest_bytes(record_id)
                else:
                    where, data = self._root, record.canonical_bytes()
                born, payload = check_payload(data, record_id, str(where))
                found.append((born, record_id, payload))
        found.sort()
        return (payload for _, _, payload in found)

    def damaged(self) -> tuple[tuple[str, str], ...]:
        """What cannot be read or does not belong, as (path, what it is), sorted.  Reads every version."""
        self._settle()
        return find_damage(self._root)

    def _settle(self) -> None:
        """Before anything is read: have a transaction finished that is being written, or that a crash cut short."""
        if self._committer.pending and not self._lock.mine:
            with self.transaction():
                pass

    def _view(self, record_id: str) -> View | None:
        return self._buffer.view(record_id) if self._lock.mine else None

    def _buffered(self, record_id: str) -> MemoryRecord | None:
        view = self._view(record_id)
        return None if view is None else view.newest

    def _ids(self) -> Iterator[str]:
        try:
            present = dict.fromkeys(record_ids(self._root))
        except OSError as error:
            raise durable.failure(error, f"cannot read {self._root}") from error
        if self._lock.mine:
            present.update(dict.fromkeys(self._buffer))
        return iter(present)

    def _folder(self, record_id: str) -> Path:
        return self._root / record_id.removeprefix("mem:")

    def _numbers(self, folder: Path) -> _Numbers:
        """The numbers of the versions in ``folder``, 1 to n; empty when it is not there.  StoreError for a gap."""
        return gapless(folder, numbers_in(folder))

    def _newest_bytes(self, record_id: str) -> tuple[Path, bytes]:
        folder = self._folder(record_id)
        for _ in range(_TRIES):
            numbers = self._numbers(folder)
            if not numbers:
                raise unknown_id(record_id)
            path = folder / version_name(numbers[-1])
            try:
                return path, read(path)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise durable.failure(error, f"cannot read {path}") from error
        raise StoreError(f"{folder} changes too fast to be read; try again")

    def _newest(self, record_id: str) -> tuple[int, MemoryRecord]:
        path, data = self._newest_bytes(record_id)
        return int(path.stem), read_record(data, record_id, str(path))

    def _version(self, record_id: str, number: int) -> MemoryRecord:
        path = self._folder(record_id) / version_name(number)
        try:
            return read_record(read(path), record_id, str(path))
        except OSError as error:
            raise durable.failure(error, f"cannot read {path}") from error

    def _history(self, record_id: str) -> tuple[MemoryRecord, ...]:
        for _ in range(_TRIES):
            number, newest = self._newest(record_id)
            if newest.redacted:  # nothing older is ever served beside a tombstone, even one half written
                return (newest,) * number
            older = tuple(self._version(record_id, earlier) for earlier in range(1, number))
            if not any(version.redacted for version in older):
                return (*older, newest)
        raise StoreError(f"record {record_id} holds a tombstone that a later version follows; redact it again")

    # ------------------------------------------------------------------------------------------------------- writing

    def put(self, record: MemoryRecord) -> None:
        outermost = self._lock.acquire()
        try:
            if outermost:
                self._committer.recover()
                self._committer.write((self._next(record),))
            else:
                self._append(record)
        finally:
            self._lock.release()

    def put_many(self, records: Iterable[MemoryRecord]) -> None:
        with self.transaction():
            for record in records:
                self._append(record)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Keeps other writers out, in this and other processes; re-entrant in its thread.

        What is written in the block, redactions too, is kept in memory, where this thread reads it and nobody else, and
        reaches the disk when the outermost block ends: all of it, across any crash, or nothing.  A block that raises
        leaves nothing of what was written in it, an inner block nothing of its own.

        Raises:
            StoreError: another writer holds the lock longer than the timeout, or the disk failed: nothing was written.
        """
        outermost = self._lock.acquire()
        try:
            if outermost:
                self._buffer = Buffer()  # a forked child has its parent's
                self._committer.recover()
            mark = len(self._buffer)
            try:
                yield
            except BaseException:
                self._buffer.roll_back(mark)
                raise
            if not self._lock.mine:
                raise StoreError(f"{self._root} was forked in a transaction; only the parent process can end it")
            if outermost:
                self._committer.write(self._buffer.writes())
        finally:
            if outermost:
                self._buffer = Buffer()
            self._lock.release()

    def redact(self, record_id: str, reason: str, *, now: datetime | None = None) -> MemoryRecord:
        """Replace every version of a record by one tombstone, which is returned; the number of versions stays.

        Whatever else lies in the record's folder, and every unfinished file, is removed.  A redaction that a crash cuts
        short is finished by whoever opens the folder, or writes to it, next.

        Raises:
            StoreError: an unknown or malformed id, no version that can be read, or a failing disk; a disk that fails
                when part of the content is gone already is the one case in which the redaction still goes on later.
            RecordError: no reason, or it is redacted already.
        """
        check_id(record_id)
        with self.transaction():
            view = self._view(record_id)
            folder = self._folder(record_id)
            numbers = numbers_in(folder)
            if not numbers and view is None:
                raise unknown_id(record_id)
            if max(numbers, default=0) > len(numbers) + _MOST_MISSING:
                raise StoreError(
                    f"{folder / version_name(numbers[-1])} has a number far beyond the other versions; "
                    "move it away, then redact"
                )
            for path in entries(folder) if numbers else ():
                if path.is_dir() and not path.is_symlink():
                    raise StoreError(f"{path} is a folder among the versions of a record; move it away, then redact")
            tombstone = self._tombstone(record_id, numbers, view, reason, now)
            self._buffer.redact(tombstone, max(numbers, default=0))
            return tombstone

    def _tombstone(
        self, record_id: str, numbers: _Numbers, view: View | None, reason: str, now: datetime | None
    ) -> MemoryRecord:
        """The tombstone to write: that of the newest version that can be read, or the one a cut redaction began."""
        versions = [] if view is None else view.above[::-1]
        count = len(versions) + max(numbers, default=0)
        if view is not None and view.tombstone is not None:
            versions += [view.tombstone] * view.below
        else:
            for number in reversed(numbers):
                with contextlib.suppress(StoreError):
                    versions.append(self._version(record_id, number))
        if not versions:
            raise StoreError(
                f"no version in {self._folder(record_id)} can be read, so nothing is known that a tombstone keeps; "
                "delete the folder to destroy its content"
            )
        newest = versions[0]
        finished = len(versions) == count and all(version == newest for version in versions)
        if newest.redacted and not finished:
            return newest
        return MemoryRecord.tombstone(newest, reason=reason, now=now)

    def _append(self, record: MemoryRecord) -> None:
        newest = self._buffered(check_record(record).id)
        if newest is None:
            write = self._next(record)
            self._buffer.append(record, write.payload, write.number - 1)
        else:
            check_append(newest, record)
            self._buffer.append(record, record.canonical_bytes(), 0)

    def _next(self, record: MemoryRecord) -> Write:
        """The step that appends ``record`` to what lies on the disk."""
        payload = check_record(record).canonical_bytes()
        folder = self._folders + record.id[4:]
        numbers = gapless(folder, numbers_in(folder))
        check_append(self._version(record.id, numbers[-1]) if numbers else None, record)
        return Write(record.id, len(numbers) + 1, payload)

    # ---------------------------------------------------------------------------------------------------- beside that

    def changes(self, since: str | None = None) -> tuple[str, tuple[str, ...] | None]:
        """As the port says.  A version that a program of another make adds to a record shows when the folder is opened
        again; a record it adds shows at once."""
        if since is not None and self._log.is_current(since):
            return since, ()
        try:
            told = None if self._lock.mine else self._log.peek(since)
            if told is None:
                told = self._changes_under_lock(since)
            return self._log.look(since) if told is None else told
        except OSError as error:
            raise durable.failure(error, f"cannot tell what changed in {self._root}") from error

    def _changes_under_lock(self, since: str | None) -> tuple[str, tuple[str, ...] | None] | None:
        """None when the lock is not free, or the folder cannot be written."""
        try:
            outermost = self._lock.acquire(wait=False)
        except StoreError:
            return None
        try:
            if outermost:
                self._committer.recover()
            return self._log.since(since)
        except OSError:
            return None
        finally:
            self._lock.release()

    def close(self) -> None:
        """Close the files of the lock and of the change log.  The store may be used again all the same."""
        self._lock.close(self._log.file, self._committer.folder)

    def backup(self, destination: str | os.PathLike[str]) -> None:
        """Copy every version of every record, as one moment has them, into a new folder for another store to open.

        Writers wait while the files are copied, not while the copy is brought to the disk.  A transaction that is open
        in this thread is not in it.

        Raises:
            StoreError: there is something at ``destination`` other than an empty folder, a version cannot be read, or
                the disk failed; ``destination`` is not made then.
        """
        with new_folder(Path(destination)) as folder, self.transaction():
            copy_records(self._root, folder)


@contextmanager
def _left_out_if_damaged() -> Iterator[None]:
    """Swallow the StoreError of a record that cannot be read, not one that says nothing about the record."""
    try:
        yield
    except StoreError as error:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno in _NOT_THE_FILE:
            raise


def _may_match(data: bytes, state: RecordState | None, kind: RecordType | None, tag: str | None) -> bool:
    """Whether the record in ``data`` can pass the filters of ``list``; a look at the JSON, without building it."""
    if state is None and kind is None and tag is None:
        return True
    try:
        wire: Any = parse_json(data, "the file")
    except RecordError:
        return True  # reading it says what is wrong
    if not isinstance(wire, dict):
        return True
    tags = wire.get("tags", ())
    return (
        (state is None or wire.get("state", state) == state)
        and (kind is None or wire.get("type", kind) == kind)
        and (tag is None or not isinstance(tags, list) or tag in tags)
    )

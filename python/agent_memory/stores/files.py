"""Records as a folder of files, one per version: readable with any editor, and with none of ours (SPEC section 16.1).

``<root>/<32 hex>/000001.json`` holds the first version of the record ``mem:<32 hex>`` in canonical JSON, and so on
without a gap.  Versions are added, never changed, except that a redaction replaces every one by the tombstone.  Beside
the record folders lies one more, ``.staging``, with the writers' lock and the files that are not finished.

Nothing is cached, so several processes may use one folder.  Readers take no lock.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from agent_memory.errors import StoreError
from agent_memory.ports import RecordStore, check_append, check_id, matches, unknown_id
from agent_memory.records import MemoryRecord, RecordState, RecordType
from agent_memory.stores import durable
from agent_memory.stores.lock import ProcessLock
from agent_memory.stores.payload import check_payload, check_record, read_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

__all__ = ["FileRecordStore"]

STAGING: Final = ".staging"
"""Name of the folder, inside the root, for the lock and for files that are not finished."""

_VERSION: Final = re.compile(r"[0-9]{6,}\.json", re.ASCII)
_FOLDER: Final = re.compile(r"[0-9a-f]{32}", re.ASCII)
_READ_FLAGS: Final = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)
_TRIES: Final = 5
"""How often a version that vanishes while it is read is looked up again: a failed transaction was taken back."""
_NOT_THE_FILE: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""Failures to read that say nothing about the file, so that leaving the record out would be a lie."""

_Numbers: TypeAlias = "list[int]"  # inside the class, ``list`` is a method
_Paths: TypeAlias = "list[Path]"


class FileRecordStore(RecordStore):
    """A store in a folder.  Usable from many threads and processes; it lists in the order (created_at, id).

    Args:
        root: the folder that holds the record folders; made when it is missing.
        timeout: seconds to wait for another writer before a StoreError, 0 or more.

    Raises:
        StoreError: ``root`` is a file, or cannot be made.
    """

    def __init__(self, root: str | os.PathLike[str], *, timeout: float = 30.0) -> None:
        self._root = Path(root)
        try:
            self._root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise durable.failure(error, f"cannot keep records in {self._root}") from error
        self._staging = self._root / STAGING
        self._lock = ProcessLock(self._staging / "lock", timeout)
        self._written: list[Path] = []
        self._unsynced: dict[Path, None] = {}

    # ------------------------------------------------------------------------------------------------------- reading

    def get(self, record_id: str) -> MemoryRecord:
        return self._newest(check_id(record_id))[1]

    def history(self, record_id: str) -> tuple[MemoryRecord, ...]:
        check_id(record_id)
        for _ in range(_TRIES):
            number, newest = self._newest(record_id)
            if newest.redacted:  # nothing older is ever served beside a tombstone, even one half written
                return (newest,) * number
            older = tuple(self._version(record_id, earlier) for earlier in range(1, number))
            if not any(version.redacted for version in older):
                return (*older, newest)
        raise StoreError(f"record {record_id} holds a tombstone that a later version follows; redact it again")

    def list(
        self,
        *,
        state: RecordState | None = None,
        type: RecordType | None = None,
        tag: str | None = None,
    ) -> tuple[MemoryRecord, ...]:
        found = [record for record in self._readable() if matches(record, state, type, tag)]
        found.sort(key=lambda record: (record.created_at, record.id))
        return tuple(found)

    def payloads(self) -> Iterator[bytes]:
        """Canonical bytes of the newest version of every record, in the order of :meth:`list`, without building any."""
        found: list[tuple[str, str, bytes]] = []
        for record_id in self._ids():
            with _left_out_if_damaged():
                where, data = self._newest_bytes(record_id)
                born, payload = check_payload(data, record_id, str(where))
                found.append((born, record_id, payload))
        found.sort()
        return (payload for _, _, payload in found)

    def damaged(self) -> tuple[tuple[str, str], ...]:
        """What cannot be read or does not belong, as (path, what it is), sorted.  Reads every version."""
        found: list[tuple[str, str]] = []
        for path in _entries(self._root):
            if path.name.startswith("."):
                continue
            if _FOLDER.fullmatch(path.name) is None or path.is_symlink() or not path.is_dir():
                found.append((str(path), "is no record folder; move it out of here"))
            else:
                found.extend(self._damage_in(path))
        return tuple(sorted(found))

    def _damage_in(self, folder: Path) -> Iterator[tuple[str, str]]:
        record_id = f"mem:{folder.name}"
        newest: MemoryRecord | None = None
        for path in sorted(_entries(folder), reverse=True):
            if not _is_version(path.name):
                if not path.name.startswith(".") or path.name.startswith(durable.TEMP_PREFIX):
                    yield str(path), "is no version of a record; remove it"
                continue
            try:
                record = read_record(_read(path), record_id, "the file")
            except OSError as error:
                yield str(path), str(durable.failure(error, "cannot be read"))
            except StoreError as error:
                yield str(path), str(error)
            else:
                newest = newest or record
                if newest.redacted and not record.redacted:
                    yield str(path), "holds content of a redacted record; redact it again to finish"
        try:
            self._numbers(folder)
        except StoreError as error:
            yield str(folder), str(error)

    def _ids(self) -> Iterator[str]:
        for path in _entries(self._root):
            if _FOLDER.fullmatch(path.name) is not None:
                yield f"mem:{path.name}"

    def _readable(self) -> Iterator[MemoryRecord]:
        for record_id in self._ids():
            with _left_out_if_damaged():
                yield self._newest(record_id)[1]

    def _folder(self, record_id: str) -> Path:
        return self._root / record_id.removeprefix("mem:")

    def _present(self, folder: Path) -> _Numbers:
        """The numbers of the versions in ``folder``, ascending, gaps and all; empty when it is not there."""
        if folder.is_symlink():
            raise durable.failure(OSError(errno.ELOOP, ""), f"cannot read {folder}")
        try:
            return sorted(int(path.stem) for path in _entries(folder) if _is_version(path.name))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise durable.failure(error, f"cannot read {folder}") from error

    def _numbers(self, folder: Path) -> _Numbers:
        """The numbers of the versions in ``folder``, 1 to n; empty when it is not there.  StoreError for a gap."""
        numbers = self._present(folder)
        if numbers and numbers[-1] != len(numbers):
            missing = next(number for number in range(1, numbers[-1]) if number not in numbers)
            raise StoreError(f"{folder / _name(missing)} is missing while later versions are there; restore it")
        return numbers

    def _newest_bytes(self, record_id: str) -> tuple[Path, bytes]:
        folder = self._folder(record_id)
        for _ in range(_TRIES):
            numbers = self._numbers(folder)
            if not numbers:
                raise unknown_id(record_id)
            path = folder / _name(numbers[-1])
            try:
                return path, _read(path)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise durable.failure(error, f"cannot read {path}") from error
        raise StoreError(f"{folder} changes too fast to be read; try again")

    def _newest(self, record_id: str) -> tuple[int, MemoryRecord]:
        path, data = self._newest_bytes(record_id)
        return int(path.stem), read_record(data, record_id, str(path))

    def _version(self, record_id: str, number: int) -> MemoryRecord:
        path = self._folder(record_id) / _name(number)
        try:
            return read_record(_read(path), record_id, str(path))
        except OSError as error:
            raise durable.failure(error, f"cannot read {path}") from error

    # ------------------------------------------------------------------------------------------------------- writing

    def put(self, record: MemoryRecord) -> None:
        with self.transaction():
            self._append(record)

    def put_many(self, records: Iterable[MemoryRecord]) -> None:
        with self.transaction():
            for record in records:
                self._append(record)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Keeps other writers out, in this and other processes; re-entrant in its thread.

        Each folder is synced once, at the end of the outermost block.  When a block raises, the versions written in it
        are removed again; a redaction is not undone.  A reader may see versions before the block ends.

        Raises:
            StoreError: another writer holds the lock longer than the timeout, or the disk failed.
        """
        outermost = self._lock.acquire()
        mark = len(self._written)
        try:
            yield
            if outermost:
                self._sync()
        except BaseException:
            self._take_back(mark)
            raise
        finally:
            if outermost:
                self._written.clear()
                self._unsynced.clear()
            self._lock.release()

    def redact(self, record_id: str, reason: str, *, now: datetime | None = None) -> MemoryRecord:
        """Replace every version of a record by one tombstone, which is returned; the number of versions stays.

        The newest goes first, so that a redaction that is cut short serves nothing of the content; calling this again
        finishes it.  Whatever else lies in the record's folder, and every unfinished file, is removed.

        Raises:
            StoreError: an unknown or malformed id, no version that can be read, or a failing disk.
            RecordError: no reason, or it is redacted already.
        """
        check_id(record_id)
        with self.transaction():
            folder = self._folder(record_id)
            numbers = self._present(folder)
            if not numbers:
                raise unknown_id(record_id)
            tombstone = self._tombstone(record_id, numbers[::-1], reason, now)
            payload = tombstone.canonical_bytes()
            try:
                for number in range(max(numbers), 0, -1):
                    durable.replace(folder / _name(number), payload, self._staging)
                for path in _entries(folder):
                    if not _is_version(path.name):
                        durable.remove(path)
                durable.sweep(self._staging)
                durable.sync_dir(folder)
            except OSError as error:
                raise durable.failure(error, f"{record_id} is not wholly redacted; redact it again") from error
            return tombstone

    def _tombstone(self, record_id: str, numbers: _Numbers, reason: str, now: datetime | None) -> MemoryRecord:
        """The tombstone to write: that of the newest version that can be read, or the one a cut redaction began."""
        versions: list[MemoryRecord] = []
        for number in numbers:
            with contextlib.suppress(StoreError):
                versions.append(self._version(record_id, number))
        if not versions:
            raise StoreError(
                f"no version in {self._folder(record_id)} can be read, so nothing is known that a tombstone keeps; "
                "delete the folder to destroy its content"
            )
        newest = versions[0]
        finished = len(versions) == max(numbers) and all(version == newest for version in versions)
        if newest.redacted and not finished:
            return newest
        return MemoryRecord.tombstone(newest, reason=reason, now=now)

    def _append(self, record: MemoryRecord) -> None:
        payload = check_record(record).canonical_bytes()
        folder = self._folder(record.id)
        while True:
            held = self._numbers(folder)
            check_append(self._version(record.id, held[-1]) if held else None, record)
            path = folder / _name(len(held) + 1)
            try:
                if not held and durable.make_dir(folder):
                    self._unsynced[self._root] = None
                    self._written.append(folder)
                durable.write_new(path, payload, self._staging)
            except FileExistsError:
                if folder.is_dir():
                    continue  # a writer that does not know the lock took this number
                raise StoreError(f"{folder} is in the way of a record folder; move it out of here") from None
            except OSError as error:
                raise durable.failure(error, f"cannot write {path}") from error
            self._written.append(path)
            self._unsynced[folder] = None
            return

    def _sync(self) -> None:
        for folder in self._unsynced:
            try:
                durable.sync_dir(folder)
            except OSError as error:
                raise durable.failure(error, f"cannot write {folder}") from error

    def _take_back(self, mark: int) -> None:
        """Remove what was written since ``mark``, newest first, except where another writer has built on it."""
        while len(self._written) > mark:
            path = self._written.pop()
            try:
                if _is_version(path.name):
                    if not (path.parent / _name(int(path.stem) + 1)).exists():
                        durable.remove(path)
                elif not any(_entries(path)):
                    durable.remove_dir(path)
                    self._unsynced.pop(path, None)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise durable.failure(error, f"cannot take back {path} after a failed write") from error


@contextmanager
def _left_out_if_damaged() -> Iterator[None]:
    """Swallow the StoreError of a record that cannot be read, not one that says nothing about the record."""
    try:
        yield
    except StoreError as error:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno in _NOT_THE_FILE:
            raise


def _entries(folder: Path) -> _Paths:
    return list(folder.iterdir())


def _read(path: Path) -> bytes:
    with os.fdopen(os.open(path, _READ_FLAGS), "rb") as file:
        return file.read()


def _name(number: int) -> str:
    return f"{number:06d}.json"


def _is_version(name: str) -> bool:
    return _VERSION.fullmatch(name) is not None and name == _name(int(name[:-5])) and name != _name(0)

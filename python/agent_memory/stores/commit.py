"""Bringing a transaction to the disk, all of it or nothing (SPEC section 16.1).

One appended version is a link, which is atomic by itself.  Anything more is written down in the journal first.  From
the moment the journal stands, a crash cannot stop it: whoever opens the folder next, or takes its lock, finishes it.  A
write that fails is taken back instead: the journal gets the name ``undo``, which turns its meaning round in one step.
The one thing that cannot be taken back is a redaction that has begun, so redactions come last, after all they need of
the disk has been got, and are finished rather than undone.

The caller holds the lock of the folder.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from agent_memory.errors import StoreError
from agent_memory.ports import check_append

from . import durable
from .buffer import Write
from .changelog import ChangeLog
from .journal import decode, encode
from .layout import STAGING, entries, exists, is_version, numbers_in, read, stands, version_name
from .payload import read_record

__all__ = ["Committer"]


class Committer:
    """Writes the transactions of one folder.

    Args:
        root: the folder of the record folders.
        log: is told of every change before and after it becomes visible.

    Attributes:
        folder: the root, which stays open to be synced.
    """

    def __init__(self, root: Path, log: ChangeLog) -> None:
        self._root = root
        self._log = log
        self._swept = False
        self.folder = durable.KeptFile(root, durable.open_folder)
        self._staging = root / STAGING
        self._prefix = f"{root}{os.sep}"
        self._unfinished = durable.Staging(str(self._staging))
        self._journal = self._staging / "journal"
        self._undo = self._staging / "undo"
        self._names = (str(self._journal), str(self._undo))  # asked for before every read

    @property
    def pending(self) -> bool:
        """Whether a transaction is being written now, or was left unfinished."""
        journal, undo = self._names
        return stands(journal) or stands(undo)

    def write(self, writes: Sequence[Write]) -> None:
        """Do the steps of a transaction.

        Raises:
            StoreError: nothing of it is done, nor will be; or, and then it says so, the disk let it neither be finished
                nor taken back: what was meant for all at once is finished before anything is served again.
        """
        if not writes:
            return
        if len(writes) == 1 and writes[0].number:
            self._write_one(writes[0])
            return
        try:
            durable.replace(self._journal, encode(writes), self._staging)
            durable.sync_dir(self._staging)
        except BaseException as error:
            self._forget_journal(error)
            self._fail(error)
        applying = _Applying(self.folder, self._unfinished, self._log)
        try:
            applying.apply(writes)
        except BaseException as error:
            if not applying.final and self._take_back(applying.made):
                self._fail(error)
            self._insist(writes, error)
        with contextlib.suppress(OSError):  # left behind, it is found to be done by whoever takes the lock next
            self._finish(self._journal)

    def recover(self) -> None:
        """Finish, or take back, what a crash or a failing disk left unfinished; quick when there is nothing.

        The first time, unfinished files are removed too: they may hold what is erased later.

        Raises:
            StoreError: the disk does not let it be finished, or the journal is of a format unknown here.
        """
        if not self.pending and self._swept:
            return
        try:
            if exists(self._undo):
                self._remove(self._made_by(decode(read(self._undo), str(self._undo)) or ()))
                self._finish(self._undo)
            if exists(self._journal):
                writes = decode(read(self._journal), str(self._journal))
                if writes is not None:
                    _Applying(self.folder, self._unfinished, self._log, again=True).apply(writes)
                self._finish(self._journal)
            durable.sweep(self._staging)
            self._swept = True
        except OSError as error:
            raise durable.failure(error, f"cannot finish what was being written to {self._root}") from error

    def _write_one(self, write: Write) -> None:
        """One version, in a straight line: this is the put whose price is compared with that of the disk."""
        record_id, number, payload = write
        folder = self._prefix + record_id[4:]
        made: list[str] = []
        try:
            while True:
                path = _version(folder, number)
                try:
                    self._log.note(record_id, number)
                    if number == 1 and self._log.make_folder(folder):
                        made.append(folder)
                    durable.write_new(folder, path, payload, self._unfinished)
                    break
                except FileExistsError:
                    _check_taken(folder, path, write)
                    number += 1
            made.append(path)
            durable.sync_dir(folder)
            if number == 1:
                durable.sync_kept(self.folder, self._log.root_seen)
            self._log.done({record_id: number})
        except BaseException as error:
            try:
                self._remove(made)
            except OSError as worse:
                doing = f"cannot take back a failed write to {self._root}, look whether the record is there"
                raise durable.failure(worse, doing) from error
            self._fail(error)

    def _fail(self, error: BaseException) -> NoReturn:
        if isinstance(error, OSError):
            raise durable.failure(error, f"cannot write to {self._root}") from error
        raise error

    def _finish(self, journal: Path) -> None:
        durable.remove(journal)
        durable.sync_dir(self._staging)

    def _forget_journal(self, error: BaseException) -> None:
        """Remove a journal of which nothing has been done."""
        try:
            if exists(self._journal):
                self._finish(self._journal)
        except OSError:
            if exists(self._journal):
                raise StoreError(
                    f"cannot write to {self._root}, nor take back what was begun: the disk is failing; whether the "
                    "write counts is seen when the memory is opened again"
                ) from error

    def _take_back(self, made: Sequence[str]) -> bool:
        """Undo what was made; False when it must be finished after all."""
        try:
            durable.rename(self._journal, self._undo)
        except OSError:
            return False
        with contextlib.suppress(OSError):
            durable.sync_dir(self._staging)
        with contextlib.suppress(OSError):  # what fails here is done by whoever takes the lock next, before any read
            self._remove(made)
            self._finish(self._undo)
        return True

    def _insist(self, writes: Sequence[Write], error: BaseException) -> None:
        """Finish what cannot be taken back.  The journal is durable, so only an erasure has to say it is not done."""
        try:
            _Applying(self.folder, self._unfinished, self._log, again=True).apply(writes)
        except OSError as again:
            if any(not write.number for write in writes):
                doing = f"the erasure in {self._root} has begun and is not done; opening the memory again finishes it"
                raise durable.failure(again, doing) from error
        if not isinstance(error, (OSError, StoreError)):
            raise error  # an interrupt: what it interrupted is done

    def _made_by(self, writes: Sequence[Write]) -> Sequence[str]:
        """The files that a transaction cut short had made."""
        made: dict[str, None] = {}
        for write in writes:
            folder = _folder(str(self._root), write.id)
            number = write.number
            if number == 1:
                made[folder] = None
            while number and exists(path := _version(folder, number)):
                if path not in made and read(path) == write.payload:
                    made[path] = None
                    break
                number += 1
        return tuple(made)

    def _remove(self, made: Sequence[str]) -> None:
        """Remove files and folders, newest first, except where a writer that knows no lock has built on them."""
        touched: dict[Path, None] = {}
        for path in map(Path, reversed(made)):
            if not is_version(path.name):
                if exists(path) and not any(entries(path)):
                    durable.remove_dir(path)
                    touched.pop(path, None)
                    touched[self._root] = None
            elif exists(path) and not exists(path.with_name(version_name(int(path.stem) + 1))):
                durable.remove(path)
                touched[path.parent] = None
        for folder in touched:
            durable.sync_dir(folder)


class _Applying:
    """One run through the steps of a transaction.

    Args:
        root, staging, log: the open root, its folder for what is not finished, and the log that is told of changes.
        again: some of the steps may be done already, maybe all.

    Attributes:
        made: the files and folders it made, in order.
        final: whether content has been erased, so that there is no way back.
    """

    def __init__(
        self, root: durable.KeptFile, staging: durable.Staging, log: ChangeLog, *, again: bool = False
    ) -> None:
        self._open_root = root
        self._root = root.path
        self._staging = staging
        self._log = log
        self._again = again
        self._taken: dict[str, int] = {}
        self._unsynced: dict[str, None] = {}
        self._unsynced_root = False
        self.made: list[str] = []
        self.final = False

    def apply(self, writes: Sequence[Write]) -> None:
        for write in writes:
            if write.number:
                self._append(write)
        self._sync()
        redactions = {write.id: write.payload for write in writes if not write.number}
        if redactions:
            self._redact(redactions)
        numbers = {} if redactions else self._taken
        self._log.done({write.id: numbers.get(write.id, 0) for write in writes})

    def _append(self, write: Write) -> None:
        """Give a version its number, or the next one that a writer without the lock has left free."""
        folder = _folder(self._root, write.id)
        number = max(write.number, self._taken.get(write.id, 0) + 1)
        if self._again and number > 1 and not exists(_version(folder, number - 1)):
            number = max(numbers_in(folder), default=0) + 1  # somebody put an older folder back: leave no gap
        while True:
            path = _version(folder, number)
            if self._again and exists(path):
                there = read(path)
                if there == write.payload:
                    self._unsynced[folder] = None
                    self._unsynced_root = True
                    break
                if _is_tombstone(there, write.id):
                    return  # redacted since: nothing is written over a tombstone
            elif self._link(folder, path, number, write):
                break
            number += 1
        self._taken[write.id] = number

    def _link(self, folder: str, path: str, number: int, write: Write) -> bool:
        """Create the file of a version; False when the number is taken."""
        try:
            self._log.note(write.id, number)
            if number == 1:
                self._unsynced_root = True
                if self._log.make_folder(folder):
                    self.made.append(folder)
            durable.write_new(folder, path, write.payload, self._staging)
        except FileExistsError:
            _check_taken(folder, path, write)
            return False
        self.made.append(path)
        self._unsynced[folder] = None
        return True

    def _redact(self, redactions: dict[str, bytes]) -> None:
        ready: list[tuple[str, str]] = []
        try:
            for record_id, payload in redactions.items():
                self._log.note(record_id, 0)
                folder = _folder(self._root, record_id)
                for number in range(max(numbers_in(folder), default=0), 0, -1):
                    path = _version(folder, number)
                    if not _holds(path, payload):
                        ready.append((durable.stage(payload, self._staging.path), path))
            for temp, path in ready:
                durable.rename(temp, path)
                self.final = True
        except BaseException:
            for temp, _ in ready:
                with contextlib.suppress(OSError):  # it holds a tombstone, or is not there any more
                    durable.remove(temp)
            raise
        self.final = True
        for record_id in redactions:
            folder = _folder(self._root, record_id)
            self._unsynced[folder] = None
            for entry in entries(Path(folder)) if exists(folder) else ():
                if not is_version(entry.name) and not entry.is_dir():
                    durable.remove(entry)
        durable.sweep(self._staging.path)
        self._sync()

    def _sync(self) -> None:
        for folder in self._unsynced:
            try:
                durable.sync_dir(folder)
            except FileNotFoundError:  # somebody removed it
                continue
        if self._unsynced_root:
            durable.sync_kept(self._open_root)
        self._unsynced.clear()
        self._unsynced_root = False


def _check_taken(folder: str, path: str, write: Write) -> None:
    """StoreError unless the next number may be tried in ``folder`` now that ``path`` is taken."""
    if not os.path.isdir(folder):  # noqa: PTH112 - a string
        raise StoreError(f"{folder} is in the way of a record folder; move it out of here") from None
    newest = read_record(read(path), write.id, path)
    check_append(newest, read_record(write.payload, write.id, "the new version"))


def _folder(root: str, record_id: str) -> str:
    return f"{root}{os.sep}{record_id[4:]}"


def _version(folder: str, number: int) -> str:
    return f"{folder}{os.sep}{version_name(number)}"


def _holds(path: str, payload: bytes) -> bool:
    try:
        return read(path) == payload
    except OSError:  # missing, or damaged: it is replaced
        return False


def _is_tombstone(data: bytes, record_id: str) -> bool:
    try:
        return read_record(data, record_id, "the file").redacted
    except StoreError:
        return False

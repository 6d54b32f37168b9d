"""A whole memory in another place: moved between kinds of stores, or backed up while it is in use (SPEC section 16).

Either is built in a folder of its own beside the destination, ``.tmp-<name of the destination>``, and takes the
destination's name when it is whole and on the disk, so that there is never half a copy where somebody would look for a
memory.  What a run that was killed left in that folder is removed by the next one.  Called by the command line.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .doctor import NON_CANONICAL, UNREADABLE, Finding, check_path, examine, versions
from .errors import StoreError
from .places import as_path, sidecar_folder
from .ports import RecordStore
from .records import MemoryRecord
from .stores import durable, open_store
from .stores.lock import ProcessLock
from .stores.payload import read_record

__all__ = ["Copied", "back_up", "migrate"]

_CARRIED: Final = ("salience.json",)
"""Sidecars that go along; the others are made again."""
_BATCH: Final = 256
"""Versions written in one transaction."""
_LOCKS: Final = ("lock", "lock.next")
"""Files of the lock in a folder where a copy is built."""

_Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Copied:
    """How much was copied: ``records``, and ``versions`` of all of them together."""

    records: int
    versions: int


def migrate(
    source: str | os.PathLike[str], destination: str | os.PathLike[str], *, progress: _Progress | None = None
) -> Copied:
    """Copy the memory at ``source``, every version of every record, to a new memory at ``destination``.

    Tombstones and touch counts go along.  The bytes of each version, as they lie in either memory, are compared.  Other
    writers of ``source`` wait meanwhile.  ``progress`` is called with records done and records in all.

    Raises:
        StoreError: ``source`` is no memory, or holds something unreadable or a version that is not in canonical
            spelling, which no other kind of store would keep; ``destination`` exists, or the disk failed; nothing is
            left at ``destination``.
    """
    origin, target = as_path(source), as_path(destination)
    with closing(_open(origin)) as store:
        findings = examine(origin)
        unreadable = [finding for finding in findings if finding.kind in UNREADABLE]
        if unreadable:
            raise StoreError(
                f"{origin} has {len(unreadable)} places that cannot be read, so it cannot be copied whole; "
                "`agent-memory doctor` names them"
            )
        for finding in findings:
            if finding.kind == NON_CANONICAL:
                raise _other_spelling(finding.where)
        with _taking_the_name_of(target, apart_from=origin) as place:
            with closing(open_store(place)) as new, store.transaction():
                _check_free_beside(place, target)
                copied = _copy(store, new, progress)
                _compare(origin, place)
            _carry_sidecars(origin, place)
    return copied


def back_up(path: str | os.PathLike[str], destination: str | os.PathLike[str]) -> None:
    """Copy the memory at ``path`` to ``destination`` as it is at one moment, while others go on using it.

    The copy is of the same kind: a folder of a folder, a database of a database.  Touch counts go along.

    Raises:
        StoreError: ``path`` is no memory, ``destination`` exists, or the disk failed; nothing is left there.
    """
    origin, target = as_path(path), as_path(destination)
    with closing(_open(origin)) as store, _taking_the_name_of(target, apart_from=origin) as place:
        where = place
        if origin.is_dir():
            with suppress(FileExistsError):
                place.mkdir()
            where = place / "records"
        elif place.is_dir():
            raise StoreError(f"{target} is a folder, and {origin} is one file; give another path")
        _check_free_beside(place, target)
        capability = getattr(store, "backup", None)
        if callable(capability):
            capability(where)
        else:
            with closing(type(store)(where)) as new, store.transaction():  # type: ignore[call-arg]
                _copy(store, new, None)
                _compare(origin, place)
        _carry_sidecars(origin, place)


def _open(path: Path) -> RecordStore:
    """The store of a memory that must be there."""
    check_path(path)
    return open_store(path)


def _copy(source: RecordStore, target: RecordStore, progress: _Progress | None) -> Copied:
    ids = [record.id for record in source.list()]
    versions = 0
    waiting: dict[str, tuple[MemoryRecord, ...]] = {}
    held = 0
    for done, record_id in enumerate(ids, 1):
        waiting[record_id] = source.history(record_id)
        held += len(waiting[record_id])
        if held >= _BATCH or done == len(ids):
            _write(target, waiting)
            versions, held, waiting = versions + held, 0, {}
            if progress is not None:
                progress(done, len(ids))
    if sorted(record.id for record in target.list()) != sorted(ids):
        raise StoreError("the copy does not list what the original does; nothing was kept of it")
    return Copied(records=len(ids), versions=versions)


def _write(target: RecordStore, histories: dict[str, tuple[MemoryRecord, ...]]) -> None:
    target.put_many(version for held in histories.values() for version in held)
    for record_id, held in histories.items():
        written = [version.canonical_bytes() for version in target.history(record_id)]
        if written != [version.canonical_bytes() for version in held]:
            raise StoreError(f"the copy of {record_id} is not what was copied; nothing was kept of it")


def _compare(origin: Path, place: Path) -> None:
    """Raise StoreError unless every version has the same bytes in both memories, as they lie on the disk.

    Content that a redaction left behind has been replaced by the tombstone, and may differ.
    """
    copies: dict[tuple[str, int], tuple[bytes, bool]] = {}
    for item in versions(place):
        if isinstance(item, Finding):
            raise StoreError(f"the copy is damaged ({item.where} {item.what}); nothing was kept of it")
        redacted = read_record(item.data, item.record_id, "the copy").redacted
        copies[item.record_id, item.number] = hashlib.sha256(item.data).digest(), redacted
    for item in versions(origin):
        if isinstance(item, Finding):
            continue  # nothing that the store reads: it was looked at before, and copied otherwise
        digest, redacted = copies.pop((item.record_id, item.number), (b"", False))
        if digest != hashlib.sha256(item.data).digest():
            record = read_record(item.data, item.record_id, item.where)
            if record.canonical_bytes() != item.data:
                raise _other_spelling(item.where)
            if record.redacted or not redacted:
                raise StoreError(f"the copy of {item.where} is not what was copied; nothing was kept of it")
    if copies:
        raise StoreError("the copy holds versions that the original does not; nothing was kept of it")


def _other_spelling(where: str) -> StoreError:
    return StoreError(
        f"{where} is valid but not in canonical spelling, so a copy would have other bytes; nothing was copied: "
        "back the memory up instead, or put the canonical bytes of that record in its place first"
    )


def _carry_sidecars(origin: Path, place: Path) -> None:
    """Copy the sidecars that cannot be made again."""
    for name in _CARRIED:
        from_, to = sidecar_folder(origin) / name, sidecar_folder(place) / name
        try:
            if from_.is_file():
                to.parent.mkdir(exist_ok=True)
                durable.replace(to, from_.read_bytes())
                durable.sync_dir(to.parent)
        except OSError as error:
            raise durable.failure(error, f"cannot copy {from_}") from error


# ------------------------------------------------------------------ never half


@contextmanager
def _taking_the_name_of(target: Path, *, apart_from: Path) -> Iterator[Path]:
    """A path beside ``target`` to build a memory at; when the block ends well the memory there becomes ``target``.

    Raises:
        StoreError: ``target`` exists, or lies inside the memory ``apart_from``; whatever fails, nothing is left there.
    """
    _check_free(target, apart_from)
    folder = target.with_name(f"{durable.TEMP_PREFIX}{target.name}")
    with _alone_in(folder, target):
        place = folder / target.name
        try:
            if target.is_dir():  # what exists decides which store it is, so it decides here
                place.mkdir()
            yield place
            _check_free(target, apart_from)
            _move(place, target)
            durable.sync_dir(target.parent)
        except BaseException as error:
            left = _empty(folder)
            if left:
                raise StoreError(f"{error}; what was copied so far is still at {left}: remove it") from error
            if isinstance(error, OSError):
                raise durable.failure(error, f"cannot write {target}") from error
            raise


@contextmanager
def _alone_in(folder: Path, target: Path) -> Iterator[None]:
    """The folder to build the copy in, empty, for this run alone; removed at the end.

    A lock in it says that a run is alive, and the operating system frees the lock of one that is killed.

    Raises:
        StoreError: another run builds there, or what lies there is not ours.
    """
    lock = ProcessLock(folder / _LOCKS[0], 0)
    try:
        if os.path.lexists(folder) and (folder.is_symlink() or not folder.is_dir() or not _is_ours(folder)):
            raise StoreError(f"{folder} is in the way and is no unfinished copy; remove it, or give another path")
        folder.mkdir(exist_ok=True)
        try:
            lock.acquire()
        except StoreError as error:
            if isinstance(error.__cause__, OSError):
                raise
            raise StoreError(f"another run is copying to {target}; nothing was copied: wait for it to end") from None
    except OSError as error:
        raise durable.failure(error, f"cannot write {target}") from error
    try:
        if left := _empty(folder):
            raise StoreError(f"what an earlier run left at {left} cannot be removed; remove it, or give another path")
        yield
    finally:
        _empty(folder)
        if os.name != "nt":
            _drop(folder)  # while nobody else can hold the lock
        lock.release()
        lock.close()
        if os.name == "nt":
            _drop(folder)  # there an open file cannot be removed


def _is_ours(folder: Path) -> bool:
    """Whether a folder is one that an earlier run made: it has a lock, or nothing in it yet."""
    names = {path.name for path in folder.iterdir()}
    return not names or not names.isdisjoint(_LOCKS)


def _empty(folder: Path) -> str:
    """Remove what was built, not the locks; what could not be removed, else nothing."""
    left = []
    for path in folder.iterdir():
        if path.name in _LOCKS:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink(missing_ok=True)
        if os.path.lexists(path):
            left.append(str(path))
    return ", ".join(left)


def _drop(folder: Path) -> None:
    """Remove the locks and the folder; another run that has just come keeps it."""
    with suppress(OSError):
        for name in reversed(_LOCKS):
            (folder / name).unlink(missing_ok=True)
        folder.rmdir()


def _check_free(target: Path, apart_from: Path) -> None:
    if not target.name or target.name == "..":
        raise StoreError(f"{target} has no name to give to a copy; give a path that ends in one")
    within = target.parent.resolve()
    if apart_from.is_dir() and within.is_relative_to(apart_from.resolve()):
        raise StoreError(f"{target} is inside the memory {apart_from}; give a path outside of it")
    if _is_taken(target):
        raise StoreError(f"{target} exists; give a path that is free, or an empty folder")
    if not within.is_dir():
        raise StoreError(f"{target.parent} is no folder; create it first")


def _check_free_beside(place: Path, target: Path) -> None:
    """Raise StoreError when sidecars of an earlier database would become those of the one being built."""
    if not place.is_dir() and _is_taken(_beside(target)):
        raise StoreError(f"{_beside(target)} is left from another memory; remove it, or give another path")


def _is_taken(path: Path) -> bool:
    """Whether anything but an empty folder is there."""
    return os.path.lexists(path) and (path.is_symlink() or not path.is_dir() or any(path.iterdir()))


def _beside(path: Path) -> Path:
    """Where the sidecars of a database at ``path`` would lie."""
    return path.with_name(path.name + ".d")


def _move(place: Path, target: Path) -> None:
    moved: list[tuple[Path, Path]] = []
    try:
        for old, new in ((_beside(place), _beside(target)), (place, target)):  # the memory itself last
            if old.exists():
                if new.is_dir():
                    new.rmdir()
                durable.rename(old, new)
                moved.append((old, new))
    except BaseException:
        for old, new in moved:
            durable.rename(new, old)
        raise

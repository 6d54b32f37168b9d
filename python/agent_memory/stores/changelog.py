"""What was written to a folder of records, in order: the file behind the change cursor (SPEC section 16.1).

``.staging/changes`` is only added to, under the lock, and is not synced.  Its first line is ``<generation> <time>``.
Then there are lines of three kinds, of three fields each:

- ``<the 32 hex digits of the id> <number> <time>``, a change, written *before* it becomes visible.  The number is that
  of the version, or 0 for a redaction or a record that is gone.
- ``<the 32 hex digits> 0<number> <state>``, written when a change is done: the newest number, and a digest of what the
  folder looks like then.  A folder that looks otherwise later was changed by a writer who knows nothing of this file,
  whatever the clock says; a change that is followed by no such line may not be visible yet.
- ``<state><state> 000 <time>``, what the root looked like before and after a record folder was made in it.  A root
  that looks like the end of no such chain was changed by somebody else.

A process compares the file with the folders at its first question, and when the root says that somebody else was here.
A file that is torn or has grown out of proportion is replaced by a new one with another generation, and cursors of the
old one are worth nothing.
"""

from __future__ import annotations

import os
import re
import secrets
import time
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, TypeAlias

from agent_memory.errors import StoreError

from . import durable
from .layout import STAGING, exists, is_folder_name, numbers_in, version_name

__all__ = ["ChangeLog"]

_HEAD: Final = re.compile(rb"([0-9a-f]{32}) ([0-9]{1,20})\n")
_LINE: Final = re.compile(rb"([0-9a-f]{32}) ([0-9]{1,12}) ([0-9]{1,20})\n")
_CURSOR: Final = re.compile(r"([0-9a-f]{32})-([0-9]{1,18})-([0-9a-f]{8})", re.ASCII)
_STEP: Final = "000"
_CHECKED: Final = 64
"""A cursor carries a checksum of so many bytes before it, and so notices a file that lost its end and grew again."""

_LARGE: Final = 1 << 20
_LINES_PER_RECORD: Final = 32
"""Beyond this size and this proportion the file is begun anew."""

_Stamp: TypeAlias = tuple[int, int]
"""The newest number in a folder and a digest of its state; (0, 0) for a folder that is not there."""
_Answer: TypeAlias = tuple[str, tuple[str, ...] | None]


class _Line(NamedTuple):
    name: str
    number: str
    value: int
    start: int

    @property
    def is_change(self) -> bool:
        return self.number == "0" or self.number[0] != "0"


class _Seen(NamedTuple):
    """What the last answer was given on: while both stay, nothing has changed."""

    cursor: str
    file: tuple[int, int, int]
    root: str


class _Torn(Exception):
    """The file is not what this module writes."""


class ChangeLog:
    """The change log of one folder.

    Attributes:
        file: the log, which stays open between two writes.
        root_seen: how the root looked when :meth:`make_folder` had made a folder in it; None when it did not look.
    """

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._prefix = f"{self._root}{os.sep}"
        self._path = root / STAGING / "changes"
        self.file = durable.KeptFile(self._path, durable.open_to_append)
        self._seen: _Seen | None = None
        self._size = 0
        self._steps: list[bytes] = []
        self.root_seen: os.stat_result | None = None

    # ------------------------------------------------------------------------------- writing, all of it under the lock

    def note(self, record_id: str, number: int) -> None:
        """A change that is about to become visible; nothing is done before anybody has asked for a cursor."""
        try:
            self._size = durable.append(self.file, _line(record_id[4:], number))
        except FileNotFoundError:
            self._size = 0

    def make_folder(self, path: str) -> bool:
        """``durable.make_dir`` for the folder of a record whose first version was just noted."""
        self.root_seen = None
        if not self._size:
            return durable.make_dir(path)
        before = self._root_state()
        made = durable.make_dir(path)
        if made:
            self._steps.append(f"{before}{self._root_state()} {_STEP} {time.time_ns()}\n".encode())
        return made

    def done(self, newest: dict[str, int]) -> None:
        """What was noted of these records is visible now; with the newest number of each, or 0 to look it up."""
        lines, self._steps = self._steps, []
        size, self._size = self._size, 0
        if not size:
            return
        for record_id, number in newest.items():
            name = record_id[4:]
            lines.append(self._stamp(name, number or self._newest(name)))
        try:
            durable.append(self.file, b"".join(lines), size)
        except OSError:  # then the records are told of once more
            return

    # --------------------------------------------------------------------------------------------------------- reading

    def is_current(self, cursor: str | None) -> bool:
        """Whether ``cursor`` was the last answer and nothing has happened since.  Needs no lock."""
        seen = self._seen
        if seen is None or cursor != seen.cursor:
            return False
        try:
            return seen.file == self._stat() and seen.root == self._root_state()
        except OSError:
            return False

    def peek(self, cursor: str | None) -> _Answer | None:
        """The answer of :meth:`since`, without the lock; None when there is something that only its holder can do."""
        try:
            with self._path.open("rb") as file:
                log = _Log(file)
                lines = self._follow(log)
                return None if lines is None or _unfinished(lines) else self._answer(log, cursor, self._last(lines))
        except (OSError, _Torn):
            return None

    def look(self, cursor: str | None) -> _Answer:
        """What can be said without writing.  The cursor stays before what may not be visible yet, and what strangers
        wrote is told again the next time.

        Raises:
            OSError: the folder cannot be read.
        """
        try:
            with self._path.open("rb") as file:
                log = _Log(file)
                foreign = self._compare(log.lines(log.begin)) if self._follow(log) is None else []
                start = log.place(cursor)
                lines = log.lines(log.begin if start is None else start)
                waiting = _unfinished(lines)
                present = log.cursor(min(waiting.values(), default=log.end))
        except (FileNotFoundError, PermissionError, _Torn):
            return "", None
        if start is None:
            return present, None
        told = [line.name for line in lines if line.is_change and line.name not in waiting]
        told += [name for name, number in foreign if number or name not in waiting]
        return present, _ids(told)

    def since(self, cursor: str | None) -> _Answer:
        """The present cursor, and the ids changed since ``cursor``, or None.  Under the lock.

        Raises:
            OSError: the file cannot be read or written.
        """
        try:
            return self._since(cursor)
        except (FileNotFoundError, _Torn):
            self._begin()
            return self._since(cursor)

    def _since(self, cursor: str | None) -> _Answer:
        with self._path.open("rb") as file:
            log = _Log(file)
            lines = self._follow(log)
            if lines is not None:
                return self._answer(log, cursor, self._last(lines))
            root = self._root_state()
            foreign = self._compare(log.lines(log.begin))
            if foreign:
                data = [line for name, number in foreign for line in (_line(name, number), self._stamp(name, number))]
                durable.append(self.file, b"".join(data))
            return self._answer(_Log(file), cursor, root)

    def _answer(self, log: _Log, cursor: str | None, root: str) -> _Answer:
        start, present = log.place(cursor), log.cursor(log.end)
        told = None if start is None else _ids(line.name for line in log.lines(start) if line.is_change)
        self._seen = _Seen(present, log.stat, root)
        return present, told

    def _follow(self, log: _Log) -> list[_Line] | None:
        """The lines since the last answer here; None when there was none, or they do not explain the root."""
        seen = self._seen
        start = None if seen is None else log.place(seen.cursor)
        if seen is None or start is None:
            return None
        root = self._root_state()
        lines = log.lines(start)
        return lines if root in _chain(seen.root, lines) else None

    def _last(self, lines: list[_Line]) -> str:
        return _chain(self._seen.root, lines)[-1] if self._seen is not None else self._root_state()

    def _compare(self, lines: list[_Line]) -> list[tuple[str, int]]:
        """What the folders hold and the lines do not tell: names, with the newest number."""
        told: dict[str, _Stamp | None] = {}
        for line in lines:
            if line.is_change:
                told.setdefault(line.name, None)
            elif line.number != _STEP:
                told[line.name] = (int(line.number), line.value)
        found = 0
        foreign: list[tuple[str, int]] = []
        for name in os.listdir(self._root):  # noqa: PTH208 - no paths are needed
            if not is_folder_name(name):
                continue
            found += 1
            stamp = told.pop(name, None)
            if stamp is None or self._is_other(name, stamp):
                number = self._newest(name)
                if number or stamp is not None:
                    foreign.append((name, number))
        foreign += ((name, 0) for name, stamp in told.items() if stamp != (0, 0))
        if len(lines) * 64 > _LARGE and len(lines) > _LINES_PER_RECORD * (found + 1):
            raise _Torn
        return foreign

    def _begin(self) -> None:
        """Begin a new generation, in which everything that is here now has been told."""
        data = [b"%s %d\n" % (secrets.token_hex(16).encode(), time.time_ns())]
        names = filter(is_folder_name, os.listdir(self._root))  # noqa: PTH208
        data += (self._stamp(name, self._newest(name)) for name in names)
        self.file.close()
        durable.replace(self._path, b"".join(data), self._path.parent)
        self._seen = None

    # -------------------------------------------------------------------------------------------- how the folders look

    def _stat(self) -> tuple[int, int, int]:
        return _about(self._path.stat())

    def _root_state(self) -> str:
        self.root_seen = about = os.stat(self._root)  # noqa: PTH116 - no path is needed
        return f"{_digest(about.st_mtime_ns, about.st_nlink):016x}"

    def _stamp(self, name: str, number: int) -> bytes:
        return b"%s 0%d %d\n" % (name.encode(), number, self._state(name, number))

    def _state(self, name: str, number: int) -> int:
        """A digest of the times of a folder and of which file its newest version is; 0 when they are not there."""
        folder = self._prefix + name
        try:
            about = os.lstat(folder)
            file = os.lstat(f"{folder}{os.sep}{version_name(number)}").st_ino if number else 0
        except OSError:
            return 0
        return _digest(about.st_mtime_ns, about.st_ctime_ns, file)

    def _is_other(self, name: str, stamp: _Stamp) -> bool:
        """Whether a folder looks otherwise than it was told; times are too coarse to show every new version."""
        number, state = stamp
        following = f"{self._root}{os.sep}{name}{os.sep}{version_name(number + 1)}"
        return self._state(name, number) != state or exists(following)

    def _newest(self, name: str) -> int:
        try:
            return max(numbers_in(f"{self._root}{os.sep}{name}"), default=0)
        except StoreError:  # it is no folder, or cannot be read: nothing in it is served
            return 0


class _Log:
    """The file, open for reading, as long as it is now."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.stat = _about(os.fstat(file.fileno()))
        self.end = self.stat[1]
        file.seek(0)
        head = _HEAD.fullmatch(file.readline(_CHECKED))
        if head is None:
            raise _Torn
        self._generation = head[1].decode()
        self.begin = file.tell()

    def lines(self, start: int) -> list[_Line]:
        """The lines from ``start`` to the end."""
        self._file.seek(start)
        data = self._file.read(max(0, self.end - start))
        lines, at = [], 0
        for found in _LINE.finditer(data):
            if found.start() != at:
                raise _Torn
            name, number, value = found.groups()
            lines.append(_Line(name.decode(), number.decode(), int(value), start + at))
            at = found.end()
        if at != len(data):
            raise _Torn
        return lines

    def place(self, cursor: str | None) -> int | None:
        """Where a cursor stands; None when it belongs to another file, or to an end that was lost."""
        told = None if cursor is None else _CURSOR.fullmatch(cursor)
        if told is None or told[1] != self._generation:
            return None
        place = int(told[2])
        return place if place <= self.end and self._checksum(place) == told[3] else None

    def cursor(self, place: int) -> str:
        return f"{self._generation}-{place}-{self._checksum(place)}"

    def _checksum(self, end: int) -> str:
        start = max(0, end - _CHECKED)
        self._file.seek(start)
        return f"{zlib.crc32(self._file.read(end - start)):08x}"


def _line(name: str, number: int) -> bytes:
    return b"%s %d %d\n" % (name.encode(), number, time.time_ns())


def _ids(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"mem:{name}" for name in names))


def _about(about: os.stat_result) -> tuple[int, int, int]:
    return about.st_ino, about.st_size, about.st_mtime_ns


def _digest(first: int, second: int, third: int = 0) -> int:
    """64 bits that change with each of the numbers.  Nobody has to be kept from finding others with the same ones."""
    return (first * 0x9E3779B97F4A7C15 + second * 0xC2B2AE3D27D4EB4F + third * 0x165667B19E3779F9) & 0xFFFFFFFFFFFFFFFF


def _unfinished(lines: Iterable[_Line]) -> dict[str, int]:
    """The names whose last change may not be visible yet, and where in the file that change stands."""
    waiting: dict[str, int] = {}
    for line in lines:
        if line.is_change:
            waiting.setdefault(line.name, line.start)
        elif line.number != _STEP:
            waiting.pop(line.name, None)
    return waiting


def _chain(root: str, lines: Iterable[_Line]) -> list[str]:
    """What the root looked like in turn, beginning with ``root``, as far as the lines tell."""
    states = [root]
    for line in lines:
        if line.number == _STEP and line.name[:16] == states[-1]:
            states.append(line.name[16:])
    return states

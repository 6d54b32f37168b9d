"""The doctor: says what is wrong with a memory on disk, and removes what can be lost (``agent-memory doctor``).

:func:`examine` reads every version of every record and what lies beside them, without opening the store: nothing is
finished, made or locked by it, so that a memory looks afterwards as it did before.  :func:`repair` removes unfinished
files and sidecars that can be made again; it never touches a record.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from agent_memory.errors import StoreError
from agent_memory.places import as_path

from .finding import KINDS, NON_CANONICAL, UNREADABLE, Finding
from .judging import Census
from .reading import check_path, versions
from .sidecars import beside, remove
from .waiting import Others, writers_waiting
from .words import present_cursor

__all__ = ["KINDS", "NON_CANONICAL", "UNREADABLE", "Finding", "check_path", "examine", "repair", "versions"]

_MOMENT: Final = 0.2
"""Seconds between two looks where writers cannot be made to wait."""
_PASSING: Final = frozenset({"leftover", "interrupted"})
"""Kinds that a write has while it is going on."""
_UNSERVED: Final = UNREADABLE | {"foreign", "interrupted"}
"""Kinds because of which a store may not serve a record, so that a catalogue rightly lacks it."""


def examine(path: str | os.PathLike[str]) -> tuple[Finding, ...]:
    """Everything that is wrong with the memory at ``path``, a folder or a database; sorted, empty when nothing is.

    What looks wrong is looked at a second time, in a folder while writers wait, so that a write that was just going on
    is no finding.  Who may not lock the folder is told of unfinished files that are there at both times.

    Raises:
        StoreError: there is no memory, or it cannot be read at all.
    """
    place = as_path(path)
    check_path(place)
    found = _look(place)
    if not found:
        return ()
    with writers_waiting(place) as others:
        if others is Others.UNKNOWN:
            time.sleep(_MOMENT)
        before, found = found, _look(place)
    if others is not Others.WAIT:  # unfinished files may be those of somebody who is at it
        kept = before if others is Others.UNKNOWN else set()  # what stays while nobody is known to write is left over
        found = {finding for finding in found if finding.kind not in _PASSING or finding in kept}
    return tuple(sorted(found))


def repair(path: str | os.PathLike[str], findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Remove what those of ``findings`` name that are repairable and still true; the ones that were repaired.

    Raises:
        StoreError: there is no memory, something could not be removed, or another process writes all the time.
    """
    place = as_path(path)
    wanted = {finding for finding in findings if finding.repairable}
    if not wanted:
        return ()
    check_path(place)
    with writers_waiting(place) as others:
        if others is Others.UNKNOWN:
            raise StoreError(f"no permission to lock {place}; nothing was repaired: do it as the owner of the memory")
        if others is Others.WRITE:
            raise StoreError(f"another process is writing to {place}; nothing was repaired: try again")
        repaired = sorted(finding for finding in _look(place) if finding in wanted)
        for finding in repaired:
            remove(finding)
    return tuple(repaired)


def _look(path: Path) -> set[Finding]:
    found: set[Finding] = set()
    census = Census()
    present = present_cursor(path)
    for item in versions(path):
        if isinstance(item, Finding):
            found.add(item)
        else:
            found.update(census.take(item))
    found.update(census.finish())
    sound = not any(finding.kind in _UNSERVED for finding in found)
    found.update(beside(path, census.newest, present, sound=sound))
    return found

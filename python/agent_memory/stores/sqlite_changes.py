"""What changed in an SQLite file since a cursor, whoever wrote it (SPEC section 16.2).

Triggers (:mod:`agent_memory.stores.schema`) note the id of every row that is written, under ascending numbers.  Writers
take turns, so numbers ascend in the order of commits and no lower one ever appears later.  A cursor names the file's
generation, the last number and that entry's random mark: in another file, in a copy put back from a backup, or after a
transaction that was rolled back, the entry is another one, and the cursor is known to be foreign.
"""

from __future__ import annotations

import re
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from agent_memory.wire import is_record_id

from .schema import meta, set_meta

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .database import Database

__all__ = ["KEPT", "SLACK", "changes", "prune"]

KEPT: Final = 10_000
"""Newest entries that are never pruned, so that a cursor among them stays known."""
SLACK: Final = 50_000
"""Entries beside two for each record that are kept before all of them are compared."""
_WINDOWS: Final = 4
"""Windows of ``KEPT`` entries pruned at a time."""

_CURSOR: Final = re.compile(r"([0-9a-f]{16}) ([0-9]{1,18}) (-?[0-9]{1,19})", re.ASCII)
_PRUNED: Final = re.compile(r"([0-9]{1,18}) ([0-9]{1,18})", re.ASCII)
# generation and entries are of one moment, since one statement reads them
_LAST: Final = (
    "SELECT 0, value, 0 FROM agent_memory_meta WHERE name = 'generation' UNION ALL "
    "SELECT change, record_id, mark FROM agent_memory_changes "
    "WHERE change = (SELECT MAX(change) FROM agent_memory_changes)"
)
_SINCE: Final = (
    "SELECT 0, value, 0 FROM agent_memory_meta WHERE name = 'generation' UNION ALL "
    "SELECT change, record_id, mark FROM agent_memory_changes WHERE change >= ?"
)
_GREATEST: Final = "SELECT MAX(change) FROM agent_memory_changes"
_PRUNE: Final = (
    "DELETE FROM agent_memory_changes WHERE change <= ? "
    "AND change NOT IN (SELECT MAX(change) FROM agent_memory_changes GROUP BY record_id)"
)
_PRUNE_WINDOW: Final = (
    "DELETE FROM agent_memory_changes WHERE change > ? AND change <= ? AND change NOT IN "
    "(SELECT MAX(change) FROM agent_memory_changes WHERE change > ? AND change <= ? GROUP BY record_id)"
)


def changes(database: Database, since: str | None) -> tuple[str, tuple[str, ...] | None]:
    """As :meth:`agent_memory.ports.RecordStore.changes`.  One look at the end of the log when nothing changed."""
    parts = _CURSOR.fullmatch(since) if since is not None else None
    if parts is not None:
        number, mark = int(parts[2]), int(parts[3])
        generation, entries = _entries(database, _SINCE, [number])
        known = not number or (entries and entries[0][0] == number and entries[0][2] == mark)
        if generation == parts[1] and known:
            new = entries[1:] if number else entries
            ids = dict.fromkeys(record_id.decode("utf-8", "replace") for _, record_id, _ in new if _is_text(record_id))
            return _cursor(generation, entries), tuple(record_id for record_id in ids if is_record_id(record_id))
    return _cursor(*_entries(database, _LAST)), None


def prune(database: Database, *, whole: bool) -> None:
    """Drop entries for ids that have a newer one.

    No cursor misses anything by that: whoever has not seen the older entry has not seen the newer one either.  A cursor
    at an entry that is gone is answered as too old.

    Entries are compared with those near them, a bounded number of windows at a time, so that no put waits long; with
    ``whole`` with all others too, when at least half of them must be superfluous, for there are fewer records.
    """
    for _ in range(_WINDOWS):
        through, held = _pruned(database)
        if _number(database, _GREATEST) - through < 2 * KEPT:
            break
        with database.transaction():
            through, held = _pruned(database)
            window = through, through + KEPT
            database.execute(_PRUNE_WINDOW, [*window, *window])
            left = _number(
                database, "SELECT COUNT(*) FROM agent_memory_changes WHERE change > ? AND change <= ?", window
            )
            set_meta(database, "pruned", f"{window[1]} {held + left}")
    through, held = _pruned(database)
    if whole and held > 2 * _number(database, "SELECT MAX(seq) FROM records") + SLACK:
        with database.transaction():
            through, held = _pruned(database)
            database.execute(_PRUNE, [through])
            left = _number(database, "SELECT COUNT(*) FROM agent_memory_changes WHERE change <= ?", [through])
            set_meta(database, "pruned", f"{through} {left}")


def _pruned(database: Database) -> tuple[int, int]:
    """Up to which entry windows were pruned, and how many are left of those."""
    parts = _PRUNED.fullmatch(meta(database, "pruned") or "")
    return (int(parts[1]), int(parts[2])) if parts is not None else (0, 0)


def _number(database: Database, sql: str, values: Iterable[int] = ()) -> int:
    value = database.read(sql, values)[0][0]
    return value if isinstance(value, int) else 0  # any program may write to these columns


def _entries(database: Database, sql: str, values: Iterable[int] = ()) -> tuple[str, list[tuple[int, Any, int]]]:
    """The file's generation, and entries (number, id, mark) in order."""
    rows = database.read(sql, values)
    rows.sort(key=itemgetter(0))
    return rows[0][1].decode(), rows[1:]


def _is_text(value: object) -> bool:
    return isinstance(value, bytes)  # as which this package reads text


def _cursor(generation: str, entries: list[tuple[int, Any, int]]) -> str:
    number, _, mark = entries[-1] if entries else (0, None, 0)
    return f"{generation} {number} {mark}"

"""Consolidation inside a memory: only what changed since the last time is looked at again (SPEC section 12.7).

A memory keeps the kernel's columns of its records, in step through the store's change cursor, and a *mark*: how far the
passes have come.  The mark outlives the process in a sidecar.  Losing it, or finding one of other operators or
thresholds, costs one consolidation that looks at everything.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from . import kernel
from .clock import now_utc
from .door import Door
from .errors import RecordError
from .pinned import EVERYTHING, Pinned
from .pipeline.consolidate import read_columns, run_passes
from .pipeline.consolidate.operators import ConsolidationConfig, ConsolidationOperators, candidates_of
from .pipeline.consolidate.rehearsal import Rehearsal
from .pipeline.report import ConsolidationReport
from .ports import RecordStore
from .stores import durable
from .wire import is_record_id, parse_json

__all__ = ["MARK", "Upkeep"]

MARK: Final = "consolidated.json"
"""Name of the sidecar that holds the mark."""
_ROUNDS: Final = 8
"""How often the passes look at what they themselves wrote before the rest is left to the next consolidation."""
_WRITE_AFTER: Final = 64
"""Records looked at before the mark is written again: losing it costs looking at that many once more."""


@dataclass(frozen=True, slots=True)
class _Mark:
    """How far the passes have come.

    Attributes:
        rules: by which operators and thresholds, as text.
        cursor: what changed in the store since then has not been looked at; None: nothing has been.
        again: pairs of ids to look at again all the same, because an operator failed on them.
    """

    rules: str
    cursor: str | None = None
    again: frozenset[frozenset[str]] = frozenset()

    def to_bytes(self) -> bytes:
        again = sorted(sorted(pair) for pair in self.again)
        return kernel.canonical_json({"again": again, "cursor": self.cursor, "rules": self.rules})

    @classmethod
    def from_bytes(cls, data: bytes, rules: str) -> Self:
        """The mark in a sidecar; one that says nothing when it is damaged, or was made by other rules."""
        try:
            wire = parse_json(data, MARK)
        except RecordError:
            return cls(rules)
        if not isinstance(wire, dict) or wire.get("rules") != rules:
            return cls(rules)
        cursor, again = wire.get("cursor"), wire.get("again")
        if not isinstance(cursor, str) or not isinstance(again, list) or not all(map(_is_pair, again)):
            return cls(rules)
        return cls(rules, cursor, frozenset(map(frozenset, again)))


class Upkeep:
    """Runs the passes over one memory.  For one thread at a time.

    Args:
        door: where versions are written.
        store: the store behind it.
        operators, config: as for ``consolidate``.
        folder: the memory's folder of sidecars, or None to keep the mark in memory only.
        pinned: what the passes may look at.
    """

    def __init__(
        self,
        *,
        door: Door,
        store: RecordStore,
        operators: ConsolidationOperators,
        config: ConsolidationConfig,
        folder: Path | None,
        pinned: Pinned = EVERYTHING,
    ) -> None:
        self._door = door
        self._store = store
        self._operators = operators
        self._config = config
        self._path = None if folder is None else folder / MARK
        self._columns: kernel.Columns | None = None
        self._seen: str | None = None
        self._pinned = pinned
        self._mark = self._read_mark(_rules(operators, config, pinned))
        self._unwritten = 0

    def run(
        self,
        *,
        full: bool = False,
        dry_run: bool = False,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> ConsolidationReport:
        """Consolidate what changed, until nothing more follows from it, or with ``full`` everything.

        With ``dry_run`` nothing is written, and what the report tells of is still to be done.

        Raises:
            StoreError: the store failed; nothing was kept.
        """
        reports: list[ConsolidationReport] = []
        moment = now_utc()
        with contextlib.ExitStack() as stack:
            target: RecordStore = self._door
            if dry_run:
                target = Rehearsal(self._store)
            else:
                stack.enter_context(self._door.transaction())
            cursor, changed = self._catch_up(progress)
            again = self._mark.again
            columns, self._columns = self._columns, None  # not to be used again if the passes fail
            assert columns is not None
            about = None if full or changed is None else set(changed)
            within = self._within(columns)
            if within is not None:
                everything = (record.id for record in self._store.list()) if about is None else about
                about = set(filter(within, everything))
            looked_at = len(columns) if about is None else len(about) + len(again)
            failed = set[frozenset[str]]()
            while len(reports) < _ROUNDS and (about is None or about or again):
                outcome = run_passes(
                    target,
                    columns,
                    operators=self._operators,
                    now=moment,
                    config=self._config,
                    progress=progress,
                    about=about,
                    again=again,
                    within=within,
                )
                reports.append(outcome.report)
                failed |= outcome.unanswered
                about, again = set(outcome.report.touched), frozenset()
            if isinstance(target, Rehearsal):
                _take_back(columns, target, self._store)
        self._columns = columns
        if not dry_run:
            self._advance(_Mark(self._mark.rules, cursor, frozenset(failed)), looked_at)
        return _joined(reports)

    def _within(self, columns: kernel.Columns) -> Callable[[str], bool] | None:
        """Whether the passes may look at a record; None when they may look at every one."""
        if not self._pinned.isolates:
            return None
        return lambda record_id: record_id in columns and self._pinned.sees_scope(columns.scope_of(record_id))

    def close(self) -> None:
        """Write the mark, if that has not been done.  A failure is none: the mark can be lost."""
        self._write_mark()

    # ------------------------------------------------------------------ in step

    def _catch_up(self, progress: Callable[[str, int, int], None] | None) -> tuple[str, tuple[str, ...] | None]:
        """Bring the columns up to date; the present cursor, and what changed since the mark, None for anything."""
        if type(self._store).changes is RecordStore.changes:  # such a store cannot tell: everything may have changed
            self._columns = read_columns(self._store, progress)
            return "", None
        cursor, changed = self._store.changes(self._mark.cursor)
        fresh: tuple[str, ...] | None = None
        if self._columns is not None:
            fresh = changed if self._seen == self._mark.cursor else self._store.changes(self._seen)[1]
        if self._columns is None or fresh is None:
            self._columns = read_columns(self._store, progress)
        else:
            _refresh(self._columns, fresh, self._store)
        self._seen = cursor
        return cursor, changed

    def _advance(self, mark: _Mark, looked_at: int) -> None:
        self._mark = mark
        self._unwritten += looked_at
        if self._unwritten >= _WRITE_AFTER:
            self._write_mark()

    # ------------------------------------------------------------------ the sidecar

    def _read_mark(self, rules: str) -> _Mark:
        try:
            return _Mark(rules) if self._path is None else _Mark.from_bytes(self._path.read_bytes(), rules)
        except OSError:
            return _Mark(rules)

    def _write_mark(self) -> None:
        if self._path is None or not self._unwritten:
            return
        with contextlib.suppress(OSError):  # then more is looked at again, that is all
            durable.replace(self._path, self._mark.to_bytes())
            self._unwritten = 0


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(is_record_id, value))


def _refresh(columns: kernel.Columns, record_ids: tuple[str, ...], store: RecordStore) -> None:
    """Take in the present versions of records that changed."""
    newest = store.get_many(record_ids)
    columns.update(record.canonical_bytes() for record in newest.values())
    columns.remove(record_id for record_id in record_ids if record_id not in newest)


def _take_back(columns: kernel.Columns, rehearsal: Rehearsal, store: RecordStore) -> None:
    """Forget what was only rehearsed."""
    _refresh(columns, tuple(rehearsal.written), store)


def _joined(reports: list[ConsolidationReport]) -> ConsolidationReport:
    """Several rounds as one report."""
    return ConsolidationReport(
        actions=tuple(action for report in reports for action in report.actions),
        rejections=tuple(rejection for report in reports for rejection in report.rejections),
        touched=tuple(sorted({record_id for report in reports for record_id in report.touched})),
    )


def _rules(operators: ConsolidationOperators, config: ConsolidationConfig, pinned: Pinned) -> str:
    """By what the passes judge, and what, as text: another text means that everything is to be judged anew."""
    parts: list[Any] = [kernel.build_info()["boundary"], config]
    if pinned.isolates:
        parts.append(pinned.scope.consolidation)
    for operator in (operators.near_dup, operators.contradiction, operators.resolver):
        kind = type(operator)
        settings = getattr(operator, "__dict__", {}).items()
        plain = sorted(
            (name, value)
            for name, value in settings
            if not name.startswith("_") and isinstance(value, bool | int | float | str)
        )
        parts += [f"{kind.__module__}.{kind.__qualname__}", plain]
    parts += [candidates_of(operators.near_dup).value, candidates_of(operators.contradiction).value]
    return kernel.digest([repr(part) for part in parts])

"""What the commands print: one place for stdout and stderr, and the forms in which records are shown."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from .escape import one_line, shown_lines, to_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_memory.records import MemoryRecord

__all__ = ["Screen", "body_lines", "brief_lines", "detail_lines", "head", "short_id", "table_lines"]

_MARGIN = "     "
_BRIEF = 600
_BRIEF_LINES = 8
_PAUSE = 0.05
"""Seconds between two looks of a progress bar: whoever reports each of a million pairs is not held up by it."""


@dataclass(frozen=True, slots=True)
class Screen:
    """Stdout and stderr of one command.  With ``json`` stdout carries one JSON document and nothing else.

    ``scope`` is what the command is pinned to, and told with its answer.
    """

    json: bool = False
    scope: Mapping[str, str] = field(default_factory=dict)

    def answer(self, facts: dict[str, Any], lines: Callable[[], Iterable[str]]) -> None:
        """Print the answer of a command: ``facts`` as JSON, or the ``lines`` for people."""
        if self.json:
            encoding = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "")
            told = {**facts, "scope": dict(self.scope)} if self.scope else facts
            click.echo(to_json(told, ascii_only=not encoding.startswith("utf")))
            return
        for line in lines():
            click.echo(line)
        if self.scope:
            fields = (f"{name.removesuffix('_id')} {value}" for name, value in self.scope.items())
            self.note(f"scope: {', '.join(fields)}")

    def note(self, text: str) -> None:
        """Say something beside the answer, on stderr."""
        click.echo(one_line(text), err=True)

    def error(self, kind: str, message: str) -> None:
        """Say what went wrong: a line on stderr, and with ``json`` an object on stdout."""
        if self.json:
            self.answer({"error": {"type": kind, "message": message}}, list)
        click.echo(f"{click.style('error:', fg='red', bold=True)} {one_line(message)}", err=True)

    @contextmanager
    def progress(self) -> Iterator[Callable[[str, int, int | None], None]]:
        """A bar on stderr while that is a terminal: call what it gives with a title, how much is done, and of what.

        A total of 0 or None is one that is not known yet.
        """
        if not sys.stderr.isatty():
            yield lambda _title, _done, _total: None
            return
        from rich import progress
        from rich.console import Console

        columns = (
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(),
            progress.TaskProgressColumn(),
            progress.TimeElapsedColumn(),
        )
        with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("", total=None)
            shown, due = "", 0.0

            def advance(title: str, done: int, total: int | None) -> None:
                nonlocal task, shown, due
                if title == shown and time.monotonic() < due and done != total:
                    return
                if title != shown:  # a task of its own: a total that is known cannot be taken back
                    bar.remove_task(task)
                    task = bar.add_task(one_line(title), total=None)
                bar.update(task, completed=done, total=total or None)
                shown, due = title, time.monotonic() + _PAUSE

            yield advance


def short_id(record_id: str) -> str:
    """The first part of an id: enough to type, and short enough to read."""
    return record_id[:16]


def head(record: MemoryRecord) -> str:
    """A record in a line, without its text: id, type, date, and its state where that is not active."""
    parts = [click.style(short_id(record.id), bold=True), record.type.value, f"{record.event_time:%Y-%m-%d}"]
    if record.redacted:
        parts.append(click.style("redacted", fg="red"))
    elif record.transition is not None:
        parts.append(click.style("disputed", fg="yellow"))
    elif record.state.value != "active":
        parts.append(click.style(record.state.value, dim=True))
    if record.flagged:
        parts.append(click.style("flagged", fg="yellow"))
    return " · ".join(parts)


def body_lines(text: str, *, margin: str = _MARGIN) -> Iterator[str]:
    """A text behind a margin, so that no line of it can pass for output of ours."""
    bar = click.style("│", dim=True)
    for line in shown_lines(text):
        yield f"{margin}{bar} {line}"


def brief_lines(record: MemoryRecord, *, margin: str = _MARGIN) -> Iterator[str]:
    """The beginning of a record's text, as :func:`body_lines`, with a note where there is more."""
    lines = record.body[:_BRIEF].split("\n")
    yield from body_lines("\n".join(lines[:_BRIEF_LINES]), margin=margin)
    if len(record.body) > _BRIEF or len(lines) > _BRIEF_LINES:
        yield margin + click.style(f"(cut; agent-memory show {short_id(record.id)} has all of it)", dim=True)


def detail_lines(record: MemoryRecord, *, margin: str = _MARGIN) -> Iterator[str]:
    """Tags, source and author of a record, those that it has."""
    parts = []
    if record.tags:
        parts.append(f"tags: {', '.join(map(one_line, record.tags))}")
    if record.provenance.ref:
        parts.append(f"source: {one_line(record.provenance.ref)}")
    if record.author:
        parts.append(f"author: {one_line(record.author)}")
    if parts:
        yield margin + click.style("   ".join(parts), dim=True)


def table_lines(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Rows in columns, the last as it comes.  On a terminal there is a heading, and a row is cut to the width.

    Cells must have passed :func:`one_line`, and all but the last be plain ASCII.
    """
    held = list(rows)
    widths = [max(map(len, cells)) for cells in zip(columns, *held, strict=True)][:-1]

    def joined(row: tuple[str, ...], last: str) -> str:
        return "  ".join((*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), last))

    if not sys.stdout.isatty():
        yield from (joined(row, row[-1]) for row in held)
        return
    from rich.cells import cell_len, set_cell_size

    room = max(10, shutil.get_terminal_size().columns - len(joined(columns, "")))
    yield click.style(joined(columns, columns[-1]), dim=True)
    for row in held:
        yield joined(row, row[-1] if cell_len(row[-1]) <= room else set_cell_size(row[-1], room - 1) + "…")

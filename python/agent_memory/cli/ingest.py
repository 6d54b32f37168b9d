"""``ingest``: every memory in a text, Markdown or JSON Lines file."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from agent_memory.errors import AgentMemoryError, StoreError
from agent_memory.reading import FORMATS, BadLine, Entry, format_of, read

from .escape import one_line
from .report import Settle, Told, in_words, report_facts, report_lines, tell
from .settings import SOME_REFUSED, Settings, command
from .upkeep import settling

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_memory.memory import Memory

__all__ = ["COMMANDS"]

_BATCH = 256
_BLOCK = 1 << 16
_REJECTED_SHOWN = 20
_UNUSED_NAMED = 20


@dataclass(slots=True)
class _Tally:
    """What became of the file."""

    accepted: int = 0
    deduped: int = 0
    rejected: list[BadLine] = field(default_factory=list)
    unused: Counter[str] = field(default_factory=Counter)
    unused_others: int = 0
    line: int = 0
    consolidation: Told | None = None
    seconds: float = 0.0

    def count_unused(self, names: tuple[str, ...]) -> None:
        for name in names:
            if name in self.unused or len(self.unused) < _UNUSED_NAMED:
                self.unused[name] += 1
            else:
                self.unused_others += 1


@click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))
@click.option(
    "--format", "format_name", type=click.Choice(tuple(FORMATS)), help="What FILE holds.  [default: by suffix]"
)
@click.option("--source", metavar="SOURCE", help="Source of what names none itself.")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="A tag for all of it; repeat for more.")
@click.option("--type", "mtype", metavar="TYPE", help="Type of what names none itself: fact, episode or procedure.")
@click.option("--no-consolidate", is_flag=True, help="Do not consolidate at the end.")
def ingest(
    settings: Settings,
    *,
    file: str,
    format_name: str | None,
    source: str | None,
    tags: tuple[str, ...],
    mtype: str | None,
    no_consolidate: bool,
) -> None:
    """Remember everything in FILE ("-" is stdin): a paragraph, bullet or JSON line each.

    Lines that cannot be taken are reported with their numbers; the rest is taken, and the exit code is 3.
    """
    format_name = format_name or format_of(file)
    if format_name is None:
        raise click.UsageError(f"what {file!r} holds cannot be told from its name; say it with --format")
    defaults = {name: value for name, value in (("source", source), ("mtype", mtype)) if value is not None}
    tally = _Tally()
    begun = time.perf_counter()
    with _opened(file) as (stream, size), settings.screen.progress() as advance:
        entries = read(_blocks(stream, lambda done: advance(f"reading {file}", done, size)), format_name)
        first = list(islice(entries, 1))  # a file that cannot be read at all leaves no memory behind
        entries = (_with_defaults(entry, defaults, tags) for entry in chain(first, entries))
        with settings.open(create=True, auto_consolidate=False) as memory:
            _take(memory, entries, tally)
            if not no_consolidate and tally.accepted:
                tally.consolidation = tell(memory, memory.consolidate(progress=in_words(advance)))
    tally.seconds = time.perf_counter() - begun
    settings.screen.answer(_facts(file, format_name, tally), lambda: _lines(file, tally, settling(settings)))
    if tally.rejected:
        click.get_current_context().exit(SOME_REFUSED)


@contextmanager
def _opened(file: str) -> Iterator[tuple[IO[bytes], int | None]]:
    """The file's bytes, and how many there are, where that is known."""
    if file == "-":
        yield sys.stdin.buffer, None
        return
    with ExitStack() as stack:
        try:
            stream = stack.enter_context(Path(file).open("rb"))
        except OSError as error:
            raise StoreError(f"{file} cannot be read: {error.strerror}") from None
        yield stream, Path(file).stat().st_size or None


def _blocks(stream: IO[bytes], advance: Callable[[int], None]) -> Iterator[bytes]:
    done = 0
    read_some = getattr(stream, "read1", stream.read)  # what a pipe has now, without waiting for a whole block
    while block := read_some(_BLOCK):
        yield block
        done += len(block)
        advance(done)


def _with_defaults(entry: Entry | BadLine, defaults: dict[str, str], tags: tuple[str, ...]) -> Entry | BadLine:
    if isinstance(entry, BadLine):
        return entry
    item: dict[str, object] = {**defaults, **entry.item}
    if tags:
        own = item.get("tags", ())
        item["tags"] = [*tags, *(own if isinstance(own, list) else ())]
    return Entry(entry.line, item, entry.unused)


def _take(memory: Memory, entries: Iterator[Entry | BadLine], tally: _Tally) -> None:
    while batch := list(islice(entries, _BATCH)):
        good = [entry for entry in batch if isinstance(entry, Entry)]
        try:
            results = memory.remember_many([entry.item for entry in good])
        except StoreError as error:
            raise StoreError(f"{error}; what stands up to line {tally.line} was taken, nothing after it") from None
        rejected = [entry for entry in batch if isinstance(entry, BadLine)]
        for entry, result in zip(good, results, strict=True):
            tally.count_unused(entry.unused)
            if isinstance(result, AgentMemoryError):
                rejected.append(BadLine(entry.line, str(result)))
            elif result.blocked:
                rejected.append(BadLine(entry.line, str(result.note)))
            elif result.record_id is None:
                rejected.append(BadLine(entry.line, "nothing in it to remember"))
            elif result.deduped:
                tally.deduped += 1
            else:
                tally.accepted += 1
        tally.rejected.extend(sorted(rejected, key=lambda bad: bad.line))
        tally.line = max(entry.line for entry in batch)


def _facts(file: str, format_name: str, tally: _Tally) -> dict[str, Any]:
    return {
        "file": file,
        "format": format_name,
        "accepted": tally.accepted,
        "deduped": tally.deduped,
        "rejected": [{"line": bad.line, "reason": bad.reason} for bad in tally.rejected],
        "fields_not_used": dict(sorted(tally.unused.items())),
        "seconds": round(tally.seconds, 3),
        "records_per_second": round(_rate(tally), 1),
        "consolidation": None if tally.consolidation is None else report_facts(tally.consolidation.report),
    }


def _rate(tally: _Tally) -> float:
    return (tally.accepted + tally.deduped) / tally.seconds if tally.seconds else 0.0


def _lines(file: str, tally: _Tally, settle: Settle) -> Iterator[str]:
    yield (
        f"{one_line(file)}: {tally.accepted} accepted, {tally.deduped} known already, {len(tally.rejected)} rejected"
        f" in {tally.seconds:.2f} s ({_rate(tally):,.0f} records/s)"
    )
    for bad in tally.rejected[:_REJECTED_SHOWN]:
        yield f"  line {bad.line}: {one_line(bad.reason)}"
    if len(tally.rejected) > _REJECTED_SHOWN:
        yield f"  ({len(tally.rejected) - _REJECTED_SHOWN} more; --json lists all)"
    if tally.unused:
        names = ", ".join(f"{one_line(name[:60])} ({count})" for name, count in sorted(tally.unused.items()))
        others = f", and others ({tally.unused_others})" if tally.unused_others else ""
        yield f"fields not used: {names}{others}"
    if tally.consolidation is not None and tally.consolidation.report.actions:
        yield "consolidated:"
        yield from report_lines(tally.consolidation, settle)


COMMANDS = (command("ingest")(ingest),)

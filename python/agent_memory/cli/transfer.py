"""``export`` and ``load``: a memory as one file that its agent signs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from agent_memory.errors import StoreError

from .escape import one_line
from .render import short_id
from .settings import Settings, command, damage

__all__ = ["COMMANDS"]

_LISTED = 20


@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Replace FILE when it exists.")
def export(settings: Settings, file: Path, force: bool) -> None:
    """Write the memory to FILE, signed when there is an --identity."""
    with settings.open() as memory:
        if file.exists() and not force:
            raise StoreError(f"{file} exists; choose another name, or --force to replace it")
        written = memory.export(file, partial=True)
        damaged = damage(memory)
    if damaged:
        settings.screen.note(
            f"left out: what cannot be read, in {len(damaged)} places; `agent-memory status` names them"
        )

    def lines() -> Iterator[str]:
        yield f"{len(written.records)} records written to {one_line(str(file))}"
        yield f"signed by {written.agent}" if written.signature else "not signed: there is no --identity to sign with"

    settings.screen.answer(
        {
            "file": str(file),
            "records": len(written.records),
            "agent": written.agent,
            "signed": bool(written.signature),
            "damaged": damaged,
        },
        lines,
    )


@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--no-verify", is_flag=True, help="Take an unsigned file, and check no signature in it.")
@click.option("--expected-agent", metavar="ADDRESS", help="Refuse the file of any other agent.")
def load(settings: Settings, file: Path, no_verify: bool, expected_agent: str | None) -> None:
    """Take an exported FILE into the memory; what is there already is left as it is."""
    from agent_memory.memory import Memory

    # Verified before anything is made: a refused file leaves no memory behind.
    memory = Memory.load(
        file,
        path=settings.path,
        verify=not no_verify,
        expected_agent=expected_agent,
        identity=settings.identity,
        **settings.pins,
    )
    with memory:
        report = memory.load_report
    assert report is not None

    def lines() -> Iterator[str]:
        checked = "without checking signatures" if no_verify else "signatures verified"
        yield f"{len(report.loaded)} records loaded, {checked}; {len(report.skipped)} were here already"
        for record_id, what in report.changed[:_LISTED]:
            yield f"  {short_id(record_id)}  {what}"
        if len(report.changed) > _LISTED:
            yield f"  ({len(report.changed) - _LISTED} more; --json lists all)"
        for record_id in report.collisions[:_LISTED]:
            yield f"  {short_id(record_id)}  skipped, though it has another scope or key here"
        if report.outside:
            yield f"  {report.outside} left out: they do not belong to the scope that is given; load them without it"

    settings.screen.answer(
        {
            "file": str(file),
            "verified": not no_verify,
            "loaded": list(report.loaded),
            "skipped": list(report.skipped),
            "changed": [{"record_id": record_id, "what": what} for record_id, what in report.changed],
            "collisions": list(report.collisions),
            "outside": report.outside,
        },
        lines,
    )


COMMANDS = (command("export")(export), command("load")(load))

"""``doctor``, ``migrate`` and ``backup``: what a memory is kept in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .escape import one_line
from .settings import FINDINGS, Settings, command

if TYPE_CHECKING:
    from agent_memory.doctor import Finding

__all__ = ["COMMANDS"]

_LISTED = 50


@click.option("--repair", is_flag=True, help="Remove unfinished files and damaged sidecars; never touches a record.")
def doctor(settings: Settings, repair: bool) -> None:
    """Say what is wrong with the memory; nothing is changed without --repair.

    The exit code is 6 when something is wrong.
    """
    from agent_memory import doctor as doctors

    findings = doctors.examine(settings.path)
    repaired: tuple[Finding, ...] = ()
    if repair:
        repaired = doctors.repair(settings.path, findings)
        findings = tuple(finding for finding in findings if finding not in repaired)
    wrong = [finding for finding in findings if not finding.note]
    settings.screen.answer(
        {
            "path": settings.path,
            "ok": not wrong,
            "findings": [asdict(finding) for finding in findings],
            "repaired": [asdict(finding) for finding in repaired],
        },
        lambda: _report(findings, repaired, len(wrong)),
    )
    if wrong:
        click.get_current_context().exit(FINDINGS)


def _report(findings: tuple[Finding, ...], repaired: tuple[Finding, ...], wrong: int) -> Iterator[str]:
    from agent_memory.doctor import KINDS

    for finding in repaired:
        yield f"{click.style('repaired', fg='green')}  {one_line(finding.where)}"
    for kind, meaning in KINDS.items():
        found = [finding for finding in findings if finding.kind == kind]
        if not found:
            continue
        yield f"{click.style(kind, bold=True)}: {meaning} ({len(found)})"
        for finding in found[:_LISTED]:
            mark = "note: " if finding.note else ""
            yield f"  {one_line(finding.where)}"
            yield f"      {mark}{one_line(finding.what)}"
        if len(found) > _LISTED:
            yield f"  ({len(found) - _LISTED} more; --json lists all)"
    if not wrong:
        yield click.style("nothing is wrong", fg="green", bold=True)
        return
    yield click.style(f"{wrong} found", fg="red", bold=True)
    repairable = sum(finding.repairable for finding in findings)
    if repairable:
        yield f"agent-memory doctor --repair removes {repairable} of them, without loss"


@click.argument("source", metavar="SRC", type=click.Path(path_type=Path))
@click.argument("destination", metavar="DST", type=click.Path(path_type=Path))
def migrate(settings: Settings, source: Path, destination: Path) -> None:
    """Copy the memory SRC to a new one at DST, a folder or a .db file, with every version.

    --path is not used.  Each version is compared to the byte; a copy that fails leaves nothing.
    """
    from agent_memory.migration import migrate as copy

    with settings.screen.progress() as advance:
        copied = copy(source, destination, progress=lambda done, total: advance("copying", done, total))
    settings.screen.answer(
        {"source": str(source), "destination": str(destination), **asdict(copied)},
        lambda: [
            f"{copied.records} records in {copied.versions} versions copied and compared to the byte",
            f"they are at {one_line(str(destination))}",
        ],
    )


@click.argument("destination", metavar="DST", type=click.Path(path_type=Path))
def backup(settings: Settings, destination: Path) -> None:
    """Copy the memory to DST as it is at this moment, while others go on using it."""
    from agent_memory.migration import back_up

    back_up(settings.path, destination)
    settings.screen.answer(
        {"source": settings.path, "destination": str(destination)},
        lambda: [f"{one_line(settings.path)} backed up to {one_line(str(destination))}"],
    )


COMMANDS = (command("doctor")(doctor), command("migrate")(migrate), command("backup")(backup))

"""``consolidate`` and ``resolve``: tending what is remembered."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator

import click

from .escape import one_line
from .ids import full_id
from .render import body_lines, head, short_id
from .report import in_words, report_facts, report_lines, tell
from .settings import Settings, command

__all__ = ["COMMANDS", "settling"]


@click.option("--dry-run", is_flag=True, help="Say what would be done, and write nothing.")
@click.option("--full", is_flag=True, help="Look at everything, not only at what changed since the last time.")
def consolidate(settings: Settings, *, dry_run: bool, full: bool) -> None:
    """Merge what says the same, open disputes over what clashes, draw rules from repeated episodes."""
    with settings.open() as memory, settings.screen.progress() as advance:
        report = memory.consolidate(full=full, dry_run=dry_run, progress=in_words(advance))
        told = tell(memory, report, dry_run=dry_run, whole=settings.json)
    facts = {
        "dry_run": dry_run,
        "full": full,
        **report_facts(report),
        "records": [record.model_dump() for record in told.records.values()] if settings.json else [],
    }
    settings.screen.answer(facts, lambda: report_lines(told, settling(settings)))


def settling(settings: Settings) -> Callable[[str, str], str]:
    """What gives the command that settles a dispute in this memory, of the ids of the winner and the loser."""
    places = [
        (name, value)
        for name, value, variable in (
            ("--path", None if settings.path == Settings().path else settings.path, "AGENT_MEMORY_PATH"),
            ("--identity", settings.identity, "AGENT_MEMORY_IDENTITY"),
            ("--project", settings.project, "AGENT_MEMORY_PROJECT"),
            ("--user", settings.user, "AGENT_MEMORY_USER"),
            ("--agent", settings.agent, "AGENT_MEMORY_AGENT"),
        )
        if value is not None and value != os.environ.get(variable)
    ]
    where = "".join(f"{name} {shlex.quote(value)} " for name, value in places)

    def settle(winner: str, loser: str) -> str:
        return one_line(f"agent-memory {where}resolve {short_id(winner)} {short_id(loser)} --reason '...'")

    return settle


@click.argument("winner", metavar="WINNER")
@click.argument("loser", metavar="LOSER")
@click.option("--reason", metavar="TEXT", required=True, help="Why WINNER holds; kept with the loser.")
def resolve(settings: Settings, winner: str, loser: str, reason: str) -> None:
    """Settle a dispute: WINNER holds, LOSER is kept as history with the reason."""
    with settings.open() as memory:
        winner_id, loser_id = full_id(memory, winner), full_id(memory, loser)
        memory.resolve(loser_id, winner_id, reason)
        won, lost = memory.get(winner_id), memory.get(loser_id)

    def lines() -> Iterator[str]:
        yield f"holds: {head(won)}"
        yield from body_lines(won.body)
        yield f"kept as history: {head(lost)}"
        yield from body_lines(lost.body)

    settings.screen.answer({"winner": won.model_dump(), "loser": lost.model_dump()}, lines)


COMMANDS = (command("consolidate")(consolidate), command("resolve")(resolve))

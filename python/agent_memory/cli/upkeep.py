"""``consolidate`` and ``resolve``: tending what is remembered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import click

from .escape import one_line
from .ids import full_id
from .render import body_lines, head, short_id
from .settings import Settings, command

if TYPE_CHECKING:
    from agent_memory.pipeline import ConsolidationReport

__all__ = ["COMMANDS", "SAID", "report_facts", "report_lines"]

SAID: Final[dict[tuple[str, str], str]] = {
    ("heal", "reopen"): "records returned to active: their dispute had lost its other side",
    ("dedup.exact", "supersede"): "exact copies folded into the record that stays",
    ("dedup.near", "supersede"): "records merged with others that say the same",
    ("contradiction", "transition"): "disputes opened",
    ("resolution", "resolve"): "disputes settled",
    ("promotion", "create-rule"): "rules drawn from repeated episodes",
    ("promotion", "extend-rule"): "rules that later episodes joined",
    ("rule-flags", "follow-evidence"): "rules whose evidence was followed to what it was folded into",
    ("rule-flags", "flag"): "rules flagged: their evidence no longer holds",
    ("rule-flags", "unflag"): "rules no longer flagged",
}
_LISTED = 20


def consolidate(settings: Settings) -> None:
    """Merge what says the same, open disputes over what clashes, draw rules from repeated episodes."""
    with settings.open() as memory, settings.screen.progress() as advance:
        report = memory.consolidate(progress=advance)
    settings.screen.answer(report_facts(report), lambda: report_lines(report))


def report_facts(report: ConsolidationReport) -> dict[str, Any]:
    """A consolidation report as JSON."""
    return {
        "actions": [
            {
                "pass": action.pass_name,
                "action": action.action,
                "record_ids": list(action.record_ids),
                "before": list(action.before),
                "after": list(action.after),
                "reason": action.reason,
            }
            for action in report.actions
        ],
        "rejections": [
            {"pass": rejection.pass_name, "detail": rejection.detail, "error": rejection.error}
            for rejection in report.rejections
        ],
    }


def report_lines(report: ConsolidationReport) -> Iterator[str]:
    """A consolidation report for people: what was done how often, then each action with its reason."""
    if not report.actions:
        yield "nothing to consolidate"
    counts = Counter((action.pass_name, action.action) for action in report.actions)
    for key, count in counts.items():
        yield f"{SAID[key]}: {count}"
    for action in report.actions[:_LISTED]:
        ids = ", ".join(map(short_id, action.record_ids[:4])) + (" ..." if len(action.record_ids) > 4 else "")
        yield f"  {click.style(action.pass_name, dim=True)}  {ids}: {one_line(action.reason)}"
    if len(report.actions) > _LISTED:
        yield f"  ({len(report.actions) - _LISTED} more; --json lists all)"
    if report.rejections:
        yield f"proposals refused or put off to the next pass: {len(report.rejections)}; --json lists them"


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

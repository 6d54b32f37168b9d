"""``credit`` and ``slash``: how what was remembered turned out."""

from __future__ import annotations

from collections.abc import Iterator

import click

from .ids import full_id
from .render import body_lines, head, short_id
from .settings import Settings, command

__all__ = ["COMMANDS"]

_LISTED = 20


@click.argument("record", metavar="ID")
@click.option("--bad", is_flag=True, help="It served badly; without this it served well.")
@click.option("--weight", type=int, default=1, show_default=True, help="How many outcomes this one counts for.")
@click.option("--reason", metavar="TEXT", help="What came of it; kept with the record.")
@click.option("--by", metavar="NAME", help="Who says so.  [default: the --identity]")
def credit(settings: Settings, record: str, *, bad: bool, weight: int, reason: str | None, by: str | None) -> None:
    """Credit an outcome to the record ID: recall weighs it from then on."""
    with settings.open() as memory:
        credited = memory.credit(full_id(memory, record), good=not bad, weight=weight, reason=reason, by=by)
    standing = credited.standing
    assert standing is not None

    def lines() -> Iterator[str]:
        yield f"{standing.good} good, {standing.bad} bad: {head(credited)}"
        yield from body_lines(credited.body)

    settings.screen.answer(
        {"record_id": credited.id, "standing": standing.to_wire(), "record": credited.model_dump()}, lines
    )


@click.argument("source", metavar="SOURCE")
@click.option("--reason", metavar="TEXT", required=True, help="Why; kept with every record it reaches.")
@click.option("--by", metavar="NAME", help="Who says so.  [default: the --identity]")
def slash(settings: Settings, source: str, reason: str, by: str | None) -> None:
    """Forfeit the standing of SOURCE: of all that came from it or from below it, and all that was drawn from that."""
    with settings.open() as memory:
        report = memory.slash(source, reason, by=by)

    def lines() -> Iterator[str]:
        yield f"{len(report.matched)} records of it slashed, and {len(report.derived)} drawn from them"
        for record_id in (*report.matched, *report.derived)[:_LISTED]:
            yield f"  {short_id(record_id)}"
        more = len(report.matched) + len(report.derived) - _LISTED
        if more > 0:
            yield f"  ({more} more; --json lists all)"
        if report.outside:
            yield f"  and {report.outside} drawn from them outside the scope that is given"

    settings.screen.answer(
        {"matched": list(report.matched), "derived": list(report.derived), "outside": report.outside}, lines
    )


COMMANDS = (command("credit")(credit), command("slash")(slash))

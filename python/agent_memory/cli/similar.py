"""``similar``: pairs of records that are alike and stand apart, with what keeps them apart."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from typing import TYPE_CHECKING, Any, Final

import click

from .escape import one_line
from .render import brief_lines, detail_lines, head
from .settings import Settings, command

if TYPE_CHECKING:
    from agent_memory.records import MemoryRecord

__all__ = ["COMMANDS"]

_DOING: Final = {"read": "reading records", "compare": "comparing texts"}
_MARGIN: Final = "        "
_REASON: Final = 300
"""Characters of a reason that are shown."""


class _Threshold(click.FloatRange):
    """A range that NaN is not in, as no comparison has it outside."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if isnan(number):
            self.fail("nan is not in the range 0<x<=1.", param, ctx)
        return number


@click.option(
    "--threshold",
    type=_Threshold(0, 1, min_open=True),
    default=0.6,
    show_default=True,
    help="How alike, as trigram similarity.",
)
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Show this many at most.")
def similar(settings: Settings, *, threshold: float, limit: int) -> None:
    """List records that are alike and were not merged, most alike first, and what keeps them apart."""
    from agent_memory.similar import may_merge, why_apart

    with settings.open() as memory, settings.screen.progress() as advance:
        found = memory.similar(
            threshold,
            limit=limit + 1,
            progress=lambda name, done, total: advance(_DOING.get(name, name), done, total),
        )
    shown = found[:limit]
    facts = {
        "threshold": threshold,
        "pairs": [
            {
                "similarity": alike,
                "apart": list(why_apart(a, b)),
                "may_merge": may_merge(a, b),
                "records": [a.model_dump(), b.model_dump()],
            }
            for a, b, alike in shown
        ],
        "more": len(found) > limit,
    }

    def lines() -> Iterator[str]:
        if not shown:
            yield f"no two active records of one type and owner are {threshold:g} alike or more"
        for number, (a, b, alike) in enumerate(shown, 1):
            yield f"{number}. {click.style(f'{alike:.3f} alike', bold=True)}"
            yield from _side("A", a)
            yield from _side("B", b)
            yield from _apart(a, b)
        if len(found) > limit:
            yield f"(there are more; --limit shows more than {limit})"

    settings.screen.answer(facts, lines)


def _side(name: str, record: MemoryRecord) -> Iterator[str]:
    yield f"   {name}. {head(record)}"
    yield from brief_lines(record, margin=_MARGIN)
    yield from detail_lines(record, margin=_MARGIN)


def _apart(a: MemoryRecord, b: MemoryRecord) -> Iterator[str]:
    """What keeps the two apart, or that nothing does; nothing where neither can be said."""
    from agent_memory.similar import may_merge, why_apart

    reasons = why_apart(a, b)
    for reason in reasons:
        text = one_line(reason)
        yield f"   apart: {text if len(text) <= _REASON else text[:_REASON] + '...'}"
    if not reasons and may_merge(a, b):
        yield "   not merged yet: agent-memory consolidate may do it"


COMMANDS = (command("similar")(similar),)

"""A consolidation report for people: what was done, with the texts it was done to, and what was not done and why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import click

from .escape import one_line
from .render import brief_lines, detail_lines, head, short_id

if TYPE_CHECKING:
    from agent_memory.memory import Memory
    from agent_memory.pipeline import Action, ConsolidationReport
    from agent_memory.records import MemoryRecord

__all__ = ["PASSES", "SAID", "Settle", "Told", "in_words", "report_facts", "report_lines", "tell"]

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
"""Everything a consolidation does, as (pass, action), in words."""
PASSES: Final[dict[str, str]] = {
    "read": "reading records",
    "heal": "mending disputes",
    "dedup.exact": "finding exact copies",
    "dedup.near": "finding what says the same",
    "contradiction": "finding what clashes",
    "resolution": "settling disputes",
    "promotion": "finding what recurs",
    "rule-flags": "checking rules",
}
"""What a pass is doing, in words."""
_EXACT: Final = "dedup.exact"
_MERGES: Final = (_EXACT, "dedup.near")
_LISTED: Final = 20
"""Things of one kind that are listed."""
_PARTS: Final = 10
"""Records that are listed under one of them."""
_FURTHER: Final = re.compile(r"(\d+) further pairs", re.ASCII)
_ID: Final = re.compile(r"mem:[0-9a-f]{32}", re.ASCII)

Settle = Callable[[str, str], str]
"""The command line that settles a dispute, of the ids of the winner and the loser."""


def in_words(advance: Callable[[str, int, int | None], None]) -> Callable[[str, int, int], None]:
    """A ``progress`` for a consolidation that tells ``advance`` in words what is being done."""
    return lambda name, done, total: advance(PASSES.get(name, name), done, total)


@dataclass(frozen=True, slots=True)
class _Thing:
    """One thing that was done: to which records, with which others, which of those as exact copies, and why."""

    ids: tuple[str, ...]
    others: tuple[str, ...]
    reason: str
    copies: frozenset[str] = frozenset()

    @property
    def listed(self) -> tuple[str, ...]:
        return (*self.ids, *self.others[:_PARTS])


@dataclass(frozen=True, slots=True)
class Told:
    """A report with the records it names, those that are in the memory and are to be shown.

    Attributes:
        dry_run: whether nothing of it was written.
    """

    report: ConsolidationReport
    dry_run: bool = False
    records: Mapping[str, MemoryRecord] = field(default_factory=dict)


def tell(memory: Memory, report: ConsolidationReport, *, dry_run: bool = False, whole: bool = False) -> Told:
    """Read the records that a report names: those that people are shown, or with ``whole`` all of them."""
    things = [thing for found in _things(report).values() for thing in (found if whole else found[:_LISTED])]
    named = dict.fromkeys(
        record_id for thing in things for record_id in ((*thing.ids, *thing.others) if whole else thing.listed)
    )
    held = memory.store.get_many(named)
    return Told(report, dry_run, {record_id: held[record_id] for record_id in named if record_id in held})


# ------------------------------------------------------------------ as JSON


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
                "related": list(action.related),
            }
            for action in report.actions
        ],
        "rejections": [
            {"pass": rejection.pass_name, "detail": rejection.detail, "error": rejection.error}
            for rejection in report.rejections
        ],
    }


# ------------------------------------------------------------------ for people


def report_lines(told: Told, settle: Settle) -> Iterator[str]:
    """What was done how often, then each of it with its texts, then what was refused or put off."""
    report = told.report
    if told.dry_run:
        yield _warning("dry run: nothing was written. A consolidation now would do this:")
    if not report.actions:
        yield "nothing to consolidate"
    counts = Counter((action.pass_name, action.action) for action in report.actions)
    for key, said in SAID.items():
        if counts[key]:
            yield f"{said}: {counts[key]}"
    for key, things in _things(report).items():
        for thing in things[:_LISTED]:
            yield ""
            yield from _shown(key, thing, told, settle)
        if len(things) > _LISTED:
            yield f"({len(things) - _LISTED} more of these; --json lists all)"
    if report.actions and report.rejections:
        yield ""
    yield from _refused(report)
    if told.dry_run and report.actions:
        yield _warning("dry run: nothing was written")


def _warning(text: str) -> str:
    return click.style(text, fg="yellow", bold=True)


def _things(report: ConsolidationReport) -> dict[tuple[str, str], list[_Thing]]:
    """What was done, by (pass, action) in the order of the passes; all that was folded into one record is one thing."""
    found: dict[tuple[str, str], list[_Thing]] = {key: [] for key in SAID}
    for action in report.actions:
        key = (action.pass_name, action.action)
        if action.pass_name not in _MERGES:
            found[key].append(_Thing(action.record_ids, action.related, action.reason))
    found["dedup.near", "supersede"] = _merges(report.actions)
    return {key: things for key, things in found.items() if things}


def _merges(actions: Iterable[Action]) -> list[_Thing]:
    """What was folded into each record that stays, through whatever it was folded into on the way."""
    into: dict[str, str] = {}
    copies: set[str] = set()
    for action in actions:
        if action.pass_name in _MERGES:
            into.update(dict.fromkeys(action.record_ids, action.related[0]))
            if action.pass_name == _EXACT:
                copies.update(action.record_ids)
    parts: dict[str, list[str]] = {}
    for record_id, last in into.items():
        stays = last
        while stays in into:  # no record is folded into one that is there no more, so this ends
            stays = into[stays]
        parts.setdefault(stays, []).append(record_id)
    return [_Thing((stays,), tuple(ids), "", frozenset(copies.intersection(ids))) for stays, ids in parts.items()]


def _shown(key: tuple[str, str], thing: _Thing, told: Told, settle: Settle) -> Iterator[str]:
    if key[0] in _MERGES:
        return _merge(thing, told)
    if key[0] == "contradiction":
        return _dispute(thing, told, settle)
    if key[0] == "promotion":
        return _rule(thing, told, new=key[1] == "create-rule")
    if key[0] == "resolution":
        return _record_lines(
            thing.ids, told, (f"settled: {one_line(thing.reason)}; this one holds:", "kept as history:")
        )
    return _record_lines(thing.ids, told, (f"{one_line(thing.reason)}:",))


def _merge(thing: _Thing, told: Told) -> Iterator[str]:
    (stays,) = thing.ids
    if stays in told.records:
        yield "would stay:" if told.dry_run else "stays:"
        yield from _record(stays, told)
        yield "  would be folded into it:" if told.dry_run else "  folded into it:"
    else:
        yield "one new record would stand for these, which say the same:"
    for part in thing.others[:_PARTS]:
        if part in thing.copies and stays in told.records:
            yield from _record(part, told, margin="    ", note=" · an exact copy", text=False)
        elif part in told.records:  # what a dry run would only have made on the way says nothing new
            yield from _record(part, told, margin="    ")
    yield from _more(thing.others)


def _dispute(thing: _Thing, told: Told, settle: Settle) -> Iterator[str]:
    disputed = "would be disputed:" if told.dry_run else "disputed, and not settled:"
    yield f"{click.style(disputed, fg='yellow', bold=True)} {one_line(thing.reason)}"
    for side, record_id in zip("AB", thing.ids, strict=False):
        yield from _record(record_id, told, margin=f"  {side}. ")
    first, second = thing.ids
    for side, winner, loser in (("A", first, second), ("B", second, first)):
        yield click.style(f"  {'then, ' if told.dry_run else ''}if {side} holds: {settle(winner, loser)}", dim=True)


def _rule(thing: _Thing, told: Told, *, new: bool) -> Iterator[str]:
    (rule,) = thing.ids
    if rule in told.records:
        yield "rule:"
        yield from _record(rule, told)
        yield "  " + ("drawn from:" if new else "would be joined by:" if told.dry_run else "joined by:")
    else:
        yield "a new rule would be drawn from:"
    for episode in thing.others[:_PARTS]:
        yield from _record(episode, told, margin="    ")
    yield from _more(thing.others)


def _record_lines(record_ids: Sequence[str], told: Told, titles: Sequence[str]) -> Iterator[str]:
    for title, record_id in zip(titles, record_ids, strict=False):
        yield title
        yield from _record(record_id, told)


def _record(record_id: str, told: Told, *, margin: str = "  ", note: str = "", text: bool = True) -> Iterator[str]:
    """A record: a line about it, and unless ``text`` is false what it says."""
    record = told.records.get(record_id)
    if record is None:
        yield f"{margin}{short_id(record_id)} · {'not written yet' if told.dry_run else 'not in this memory'}"
        return
    indent = " " * len(margin) + "  "
    yield f"{margin}{head(record)}{note}"
    if text:
        yield from brief_lines(record, margin=indent)
    yield from detail_lines(record, margin=indent)


def _more(others: Sequence[str]) -> Iterator[str]:
    if len(others) > _PARTS:
        yield f"    ({len(others) - _PARTS} more; --json lists all)"


def _refused(report: ConsolidationReport) -> Iterator[str]:
    """How often something was refused or put off, by reason."""
    reasons: Counter[tuple[str, str]] = Counter()
    for rejection in report.rejections:
        further = _FURTHER.fullmatch(rejection.detail)
        reasons[rejection.pass_name, _ID.sub("mem:...", rejection.error)] += int(further[1]) if further else 1
    if reasons:
        yield f"refused or put off, and not done: {reasons.total()}"
    for (name, error), count in reasons.most_common(_LISTED):
        yield f"  {count} while {one_line(PASSES.get(name, name))}: {one_line(error)}"
    if len(reasons) > _LISTED:
        yield f"  ({len(reasons) - _LISTED} more reasons; --json lists all)"

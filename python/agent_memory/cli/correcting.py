"""``history``, ``revert`` and ``retire``: what a key said over time, and taking it back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import click

from .escape import one_line
from .ids import full_id
from .render import body_lines, detail_lines, head
from .settings import Settings, command

if TYPE_CHECKING:
    from agent_memory.corrections.story import History
    from agent_memory.memory import Memory
    from agent_memory.records import MemoryRecord
    from agent_memory.verdict import RememberResult

__all__ = ["COMMANDS", "verdict_facts"]

_MARKED: Final = re.compile(r"mem:[0-9a-f]{6,32}", re.ASCII)
_BARE: Final = re.compile(r"[0-9a-f]{6,32}", re.ASCII)


def verdict_facts(verdict: RememberResult) -> dict[str, Any]:
    """A verdict as JSON, without what is told elsewhere: the stages of a write and the consolidation it set off."""
    facts = asdict(verdict)
    for name in ("ingest", "consolidation", "consolidation_error"):
        del facts[name]
    return facts


@click.argument("subject", metavar="KEY|ID")
@click.option("--user-id", metavar="ID", help="Of a key: only what is this user's, or everybody's.")
@click.option("--agent-id", metavar="ID", help="Of a key: only what is this agent's, or everybody's.")
def history(settings: Settings, subject: str, **scope: str | None) -> None:
    """Tell everything that was said under KEY, or what became of the record ID.

    What begins with "mem:" is an id; what a key is called is a key; a bare beginning of an id will do otherwise.
    """
    with settings.open() as memory:
        key, record_id = _named(memory, subject, **scope)
        story = memory.history(key=key, record_id=record_id, **scope)
    settings.screen.answer(
        {
            "key": key,
            "record_id": record_id,
            "current_id": story.current_id,
            "blocked": [record.id for record in story.blocked],
            "records": [record.model_dump() for record in story.records],
            "versions": [version.model_dump() for version in story],
        },
        lambda: _told(story),
    )


def _named(memory: Memory, subject: str, **scope: str | None) -> tuple[str | None, str | None]:
    """The key, or the id, that is meant; which of the two it is, when it could be either, is what the memory has."""
    if _MARKED.fullmatch(subject.strip().lower()):
        return None, full_id(memory, subject)
    if _BARE.fullmatch(subject.strip().lower()) and not memory.history(key=subject, **scope):
        return None, full_id(memory, subject)
    return subject, None


def _told(story: History) -> Iterator[str]:
    if not story:
        yield "nothing was ever said under this key"
    if story.key is None:
        yield from _versions(story)
        return
    blocked = {record.id for record in story.blocked}
    for number, record in enumerate(story.records, 1):
        yield f"{number}. {head(record)} · {_fate(record, blocked=record.id in blocked)}"
        yield from body_lines(record.body)
        yield from detail_lines(record)


def _fate(record: MemoryRecord, *, blocked: bool) -> str:
    if record.state.is_live:
        return click.style("stands", fg="green", bold=True)
    reason = one_line(record.state_reason or record.state.value)
    return click.style(f"blocked, {reason}", fg="yellow") if blocked else reason


def _versions(story: History) -> Iterator[str]:
    newest = story[-1]
    yield head(newest)
    yield from body_lines(newest.body, margin="  ")
    for number, version in enumerate(story, 1):
        reason = f": {one_line(version.state_reason)}" if version.state_reason else ""
        yield f"  {number}. {version.updated_at:%Y-%m-%d %H:%M:%S} UTC  {version.state.value}{reason}"


@click.argument("key", metavar="KEY")
@click.option("--user-id", metavar="ID", help="The user whose key it is.")
@click.option("--agent-id", metavar="ID", help="The agent whose key it is.")
@click.option("--session-id", metavar="ID", help="The conversation it is reverted in.")
def revert(settings: Settings, key: str, **scope: str | None) -> None:
    """Let the previous value of KEY stand again."""
    with settings.open() as memory:
        verdict = memory.revert(key, **scope)
        record = memory.get(verdict.record_id or "")
    settings.screen.answer(
        {**verdict_facts(verdict), "record": record.model_dump()}, lambda: _done("stands again", record, verdict)
    )


@click.argument("subject", metavar="KEY|ID")
@click.option("--reason", metavar="TEXT", required=True, help="Why; kept with the record.")
@click.option("--user-id", metavar="ID", help="The user whose key it is.")
@click.option("--agent-id", metavar="ID", help="The agent whose key it is.")
def retire(settings: Settings, subject: str, *, reason: str, **scope: str | None) -> None:
    """Archive what stands under KEY, or the record ID: out of recall, and kept."""
    with settings.open() as memory:
        key, record_id = _named(memory, subject, **scope)
        verdict = memory.retire(reason=reason, key=key, record_id=record_id, **scope)
        record = memory.get(verdict.record_id or "")
    settings.screen.answer(
        {**verdict_facts(verdict), "record": record.model_dump()}, lambda: _done("retired", record, verdict)
    )


def _done(what: str, record: MemoryRecord, verdict: RememberResult) -> Iterator[str]:
    yield f"{what}: {head(record)}"
    yield from body_lines(record.body)
    if verdict.note:
        yield click.style(f"note: {one_line(verdict.note)}", dim=True)


COMMANDS = (command("history")(history), command("revert")(revert), command("retire")(retire))

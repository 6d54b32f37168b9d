"""``remember``: one memory from the command line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click

from agent_memory.errors import ArgumentError
from agent_memory.reading import MAX_BYTES

from .render import body_lines, head
from .settings import Settings, command

__all__ = ["COMMANDS"]


@click.argument("words", metavar="TEXT...", nargs=-1, required=True)
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="A tag; repeat for more.")
@click.option("--source", metavar="SOURCE", help="Who or what it came from, such as crm/alice.")
@click.option("--type", "mtype", metavar="TYPE", help="fact, episode or procedure (or semantic, episodic, procedural).")
@click.option("--value", type=float, help="Importance, from 1 to 1000000.")
@click.option("--occurred-at", metavar="TIME", help="When it happened, such as 2026-01-31T09:30:00Z.")
@click.option("--author", metavar="NAME", help="Who said it.")
@click.option("--user-id", metavar="ID", help="The user whose memory it is.")
@click.option("--agent-id", metavar="ID", help="The agent whose memory it is.")
@click.option("--session-id", metavar="ID", help="The conversation it belongs to.")
def remember(settings: Settings, words: tuple[str, ...], tags: tuple[str, ...], **marks: Any) -> None:
    """Remember TEXT; several words need no quotes.  "-" reads it from stdin."""
    text = _from_stdin() if words == ("-",) else " ".join(words)
    with settings.open(create=True) as memory:
        result = memory.remember(text, tags=tags or None, **marks)
        record = None if result.record_id is None else memory.get(result.record_id)

    def lines() -> Iterator[str]:
        if record is None:
            yield "nothing in it to remember"
            return
        yield f"{'known already, now reinforced' if result.deduped else 'remembered'}: {head(record)}"
        yield from body_lines(record.body)

    settings.screen.answer(
        {
            "record_id": result.record_id,
            "deduped": result.deduped,
            "record": None if record is None else record.model_dump(),
        },
        lines,
    )


def _from_stdin() -> str:
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ArgumentError(f"the text on stdin is longer than {MAX_BYTES:,} bytes; use `agent-memory ingest -`")
    try:
        return data.decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise ArgumentError(f"the text on stdin is not UTF-8 (byte {error.start + 1})") from None


COMMANDS = (command("remember")(remember),)

"""``remember``: one memory from the command line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click

from agent_memory.errors import ArgumentError
from agent_memory.reading import MAX_BYTES

from .correcting import verdict_facts
from .ids import full_id
from .render import body_lines, head
from .settings import BLOCKED, Settings, command

__all__ = ["COMMANDS"]


@click.argument("words", metavar="TEXT...", nargs=-1, required=True)
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="A tag; repeat for more.")
@click.option("--source", metavar="SOURCE", help="Who or what it came from, such as crm/alice.")
@click.option("--type", "mtype", metavar="TYPE", help="fact, episode or procedure (or semantic, episodic, procedural).")
@click.option("--key", metavar="KEY", help="What it gives the value of, such as billing-api::region; corrects that.")
@click.option("--object", metavar="VALUE", help="The value itself, such as frankfurt; with --key.")
@click.option("--reaffirm", is_flag=True, help="A value that was corrected holds again.")
@click.option("--derived-from", metavar="ID", multiple=True, help="A record it was built from; repeat for more.")
@click.option("--value", type=float, help="Importance, from 1 to 1000000.")
@click.option("--occurred-at", metavar="TIME", help="When it happened, such as 2026-01-31T09:30:00Z.")
@click.option("--author", metavar="NAME", help="Who said it.")
@click.option("--user-id", metavar="ID", help="The user whose memory it is.")
@click.option("--agent-id", metavar="ID", help="The agent whose memory it is.")
@click.option("--session-id", metavar="ID", help="The conversation it belongs to.")
def remember(
    settings: Settings, words: tuple[str, ...], tags: tuple[str, ...], derived_from: tuple[str, ...], **marks: Any
) -> None:
    """Remember TEXT; several words need no quotes.  "-" reads it from stdin.

    When a value that was corrected is merely said again it is kept as history, and the exit code is 4.
    """
    text = _from_stdin() if words == ("-",) else " ".join(words)
    with settings.open(create=True) as memory:
        lineage = [full_id(memory, typed) for typed in derived_from]
        result = memory.remember(text, tags=tags or None, derived_from=lineage or None, **marks)
        record = None if result.record_id is None else memory.get(result.record_id)

    def lines() -> Iterator[str]:
        if record is None:
            yield "nothing in it to remember"
            return
        done = "known already, now reinforced" if result.deduped else "remembered"
        yield f"{'kept as history' if result.blocked else done}: {head(record)}"
        yield from body_lines(record.body)

    settings.screen.answer({**verdict_facts(result), "record": None if record is None else record.model_dump()}, lines)
    if result.note:
        settings.screen.note(result.note)
    if result.blocked:
        click.get_current_context().exit(BLOCKED)


def _from_stdin() -> str:
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ArgumentError(f"the text on stdin is longer than {MAX_BYTES:,} bytes; use `agent-memory ingest -`")
    try:
        return data.decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise ArgumentError(f"the text on stdin is not UTF-8 (byte {error.start + 1})") from None


COMMANDS = (command("remember")(remember),)

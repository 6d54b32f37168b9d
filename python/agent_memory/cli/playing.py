"""``demo``: the story the package ships, played on a real memory in a folder of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agent_memory.errors import StoreError

from .escape import one_line
from .render import body_lines, detail_lines, head
from .settings import Settings, command

if TYPE_CHECKING:
    from agent_memory.demo import Step

__all__ = ["COMMANDS"]

_WIDTH = 100


@click.option("--keep", metavar="DIR", type=click.Path(path_type=Path), help="Play in DIR, a new folder, and keep it.")
def demo(settings: Settings, keep: Path | None) -> None:
    """See what the memory does, step by step, on a notebook that ships with it.

    Takes place in a temporary folder that is removed at the end; --path is not touched.
    """
    from agent_memory.demo import story

    facts: list[dict[str, Any]] = []
    with _folder(keep) as folder:
        for number, step in enumerate(story(folder), 1):
            facts.append({"step": number, "title": step.title, **step.facts})
            if not settings.json:
                for line in _played(number, step):
                    click.echo(line)
    where = None if keep is None else str(keep)

    def summary() -> Iterator[str]:
        yield click.style(f"{len(facts)} steps, every claim checked while it was made.", fg="green", bold=True)
        if where is None:
            yield "The folder it took place in is gone. Keep it with: agent-memory demo --keep DIR"
        else:
            yield f"Look around: agent-memory --path {one_line(where)}/memory list"

    settings.screen.answer({"steps": facts, "kept": where, "ok": True}, summary)


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="agent-memory-demo-") as name:
            yield Path(name)
        return
    if keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise StoreError(f"{keep} exists and is not an empty folder; name a new one to keep the demo in")
    keep.mkdir(parents=True, exist_ok=True)
    yield keep


def _played(number: int, step: Step) -> Iterator[str]:
    yield click.style(f"{number}. {step.title}", bold=True)
    yield click.wrap_text(step.words, width=_WIDTH, initial_indent="   ", subsequent_indent="   ")
    for item in step.shown:
        if isinstance(item, str):
            yield f"     {one_line(item)}"
        else:
            yield f"     {head(item)}"
            yield from body_lines(item.body, margin="       ")
            yield from detail_lines(item, margin="       ")
    yield ""


COMMANDS = (command("demo")(demo),)

"""The command group: its global options, its commands, and the one place where an error becomes an exit code."""

from __future__ import annotations

import errno
from typing import Any

import click

from agent_memory.errors import AgentMemoryError

from . import (
    asking,
    correcting,
    evaluating,
    ingest,
    outcomes,
    playing,
    serving,
    similar,
    stores,
    transfer,
    upkeep,
    writing,
)
from .settings import REFUSED, Settings, global_options

__all__ = ["app"]


class _Guarded(click.Group):
    """Turns every failure of the memory into one line on stderr and exit code 1; with --json also into JSON."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except AgentMemoryError as error:
            failure: Exception = error
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            failure = error
        ctx.find_object(Settings).fail(failure)  # type: ignore[union-attr]
        return ctx.exit(REFUSED)


@click.group(cls=_Guarded, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@global_options(environment=True)
def app() -> None:
    """One agent's memory as a file the agent owns.

    Global options may stand before or after the command.
    """


for _module in (
    writing,
    correcting,
    ingest,
    asking,
    evaluating,
    outcomes,
    upkeep,
    similar,
    transfer,
    stores,
    serving,
    playing,
):
    for _command in _module.COMMANDS:
        app.add_command(_command)

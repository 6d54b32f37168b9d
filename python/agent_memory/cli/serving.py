"""``mcp``: the memory as tools for a model."""

from __future__ import annotations

import click

from agent_memory.errors import AgentMemoryError

from .settings import REFUSED, Settings, command

__all__ = ["COMMANDS"]


def mcp(settings: Settings) -> None:
    """Serve the memory as tools for a model, over stdin and stdout (Model Context Protocol).

    It is made when it is not there.  --project, --user, --agent and --session pin its scope: a call may narrow it and
    never leave it.
    """
    leave = click.get_current_context().exit
    quiet = Settings()  # stdout belongs to the protocol, whatever --json says
    try:
        from agent_memory.mcp.server import serve
    except ImportError as error:
        quiet.screen.error("", f"the tool server needs mcp 2.3 or newer: pip install 'mcp>=2.3,<3' ({error})")
        leave(REFUSED)
    try:
        with settings.open(create=True) as memory:
            code = serve(memory)
    except (AgentMemoryError, OSError) as error:
        quiet.fail(error)
        leave(REFUSED)
    leave(code)


COMMANDS = (command("mcp")(mcp),)

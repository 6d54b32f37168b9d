"""The command line: a face over :class:`agent_memory.Memory` that holds no rule of its own.

click and rich are imported when a command runs, never by ``import agent_memory``.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run ``agent-memory`` with the arguments of the process; exits with the codes docs/cli.md lists."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets its escape; no memory is worth a traceback.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        from .app import app

        app(prog_name="agent-memory")
    except KeyboardInterrupt:  # while modules are imported; later ones click answers itself, in the same way
        sys.stderr.write("Aborted!\n")
        sys.exit(1)

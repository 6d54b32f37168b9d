"""``python -m agent_memory.cli``: the same as ``agent-memory``."""

from . import main

main()

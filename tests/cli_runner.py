"""Running ``agent-memory`` in the tests: in this process through click's runner, or as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from agent_memory.cli.app import app


@dataclass(frozen=True)
class Outcome:
    """Exit code, stdout and stderr of a run."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run(*arguments: str | Path, stdin: str | bytes | None = None, env: dict[str, str] | None = None) -> Outcome:
    """Run a command in this process; an exception that would end in a traceback is raised."""
    clean = {f"AGENT_MEMORY_{name}": None for name in ("PATH", "IDENTITY", "PROJECT", "USER", "AGENT", "SESSION")}
    result = CliRunner().invoke(
        app, [str(argument) for argument in arguments], input=stdin, env={**clean, **(env or {})}
    )
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Outcome(result.exit_code, result.stdout, result.stderr)


def ok(*arguments: str | Path, **more: Any) -> Outcome:
    """Run a command that must succeed."""
    outcome = run(*arguments, **more)
    assert outcome.code == 0, outcome
    return outcome


def process(
    *arguments: str | Path, stdin: bytes | None = None, env: dict[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a command as a process of its own."""
    command: Sequence[str] = [sys.executable, "-m", "agent_memory.cli", *map(str, arguments)]
    return subprocess.run(
        command, input=stdin, capture_output=True, check=False, timeout=120, cwd=cwd, env={**os.environ, **(env or {})}
    )

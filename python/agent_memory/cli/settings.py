"""The global options, accepted before and after a command, and the opening of the memory they name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

import click

from agent_memory.errors import StoreError

from .render import Screen

if TYPE_CHECKING:
    from agent_memory.memory import Memory

__all__ = ["BLOCKED", "FINDINGS", "REFUSED", "SOME_REFUSED", "Settings", "command", "damage", "global_options"]

REFUSED: Final = 1
"""Exit code: the memory refused; nothing was written."""
SOME_REFUSED: Final = 3
"""Exit code: lines of an ingested file were rejected, the rest was taken."""
BLOCKED: Final = 4
"""Exit code: what was to be remembered is kept as history and does not stand; the note says what to do."""
FINDINGS: Final = 6
"""Exit code: the doctor found something wrong."""

_PINS: Final = (
    ("project", "NAME", "Stay within this project: what is written belongs to it, and no other's is seen."),
    ("user", "ID", "Stay within what is this user's, or everybody's."),
    ("agent", "ID", "Stay within what is this agent's, or everybody's."),
    ("session", "ID", "Stamp what is written with this conversation."),
)
_P = ParamSpec("_P")
_R = TypeVar("_R")


@dataclass(slots=True)
class Settings:
    """What the global options say."""

    path: str = "./memory"
    json: bool = False
    identity: str | None = None
    project: str | None = None
    user: str | None = None
    agent: str | None = None
    session: str | None = None

    @property
    def pins(self) -> dict[str, Any]:
        """The scope every command is pinned to, as a memory takes it: the fields that are given."""
        named = {"project": self.project, "user_id": self.user, "agent_id": self.agent, "session_id": self.session}
        return {name: value for name, value in named.items() if value is not None}

    @property
    def screen(self) -> Screen:
        return Screen(json=self.json, scope=self.pins)

    def open(self, *, create: bool = False, **options: Any) -> AbstractContextManager[Memory]:
        """The memory at ``path``.

        Raises:
            StoreError: there is none and ``create`` is false; none was made.
        """
        from agent_memory.memory import Memory

        if not create and not _holds_memory(Path(self.path)):
            raise StoreError(
                f"there is no memory at {self.path}; name another with --path, or remember something first"
            )
        return Memory(self.path, identity=self.identity, **self.pins, **options)

    def fail(self, error: Exception) -> None:
        """Say what went wrong, in one line."""
        message = str(error)
        if isinstance(error, OSError) and error.strerror:
            message = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        self.screen.error(type(error).__name__, message)


def damage(memory: Memory) -> list[dict[str, str]]:
    """What the memory's store cannot read and therefore leaves out of everything: ``where``, and ``what`` it is."""
    damaged = getattr(memory.store, "damaged", None)
    return [{"where": where, "what": what} for where, what in damaged()] if callable(damaged) else []


def _holds_memory(path: Path) -> bool:
    """Whether something that may be a memory is there: a file, or a folder with records in it."""
    return path.is_file() or (path / "records").is_dir()


def _setter(name: str) -> Callable[[click.Context, click.Parameter, Any], Any]:
    def remember(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
        settings = ctx.ensure_object(Settings)
        if param.name and ctx.get_parameter_source(param.name) is not click.core.ParameterSource.DEFAULT:
            setattr(settings, name, value)
        return value

    return remember


def _show_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from agent_memory import __version__

        click.echo(f"agent-memory {__version__}")
        ctx.exit()


def global_options(*, environment: bool = False) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Add the options every command takes; ``environment`` also reads their variables."""

    def option(*names: str, setting: str, variable: str | None = None, **more: Any) -> Callable[[Any], Any]:
        return click.option(
            *names,
            f"global_{setting}",
            callback=_setter(setting),
            expose_value=False,
            is_eager=True,
            envvar=variable if environment else None,
            show_envvar=environment,
            **more,
        )

    def add(function: Callable[_P, _R]) -> Callable[_P, _R]:
        options = (
            option(
                "--path",
                setting="path",
                variable="AGENT_MEMORY_PATH",
                metavar="PATH",
                help="Where the memory is.  [default: ./memory]",
            ),
            option("--json", setting="json", is_flag=True, help="One JSON document on stdout; notes go to stderr."),
            option(
                "--identity",
                setting="identity",
                variable="AGENT_MEMORY_IDENTITY",
                metavar="KEYFILE",
                help="Sign as the agent whose keys these are; the file is made on first use.",
            ),
            *(
                option(f"--{name}", setting=name, variable=f"AGENT_MEMORY_{name.upper()}", metavar=metavar, help=told)
                for name, metavar, told in _PINS
            ),
            click.option(
                "--version",
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_show_version,
                help="Show the version and exit.",
            ),
        )
        for decorate in reversed(options):
            function = decorate(function)
        return function

    return add


def command(name: str) -> Callable[[Callable[..., None]], click.Command]:
    """Make a command of a function whose first argument is the :class:`Settings`."""

    def decorate(function: Callable[..., None]) -> click.Command:
        @functools.wraps(function)
        def run(*args: Any, **options: Any) -> None:
            function(click.get_current_context().ensure_object(Settings), *args, **options)

        return click.command(name)(global_options()(run))

    return decorate

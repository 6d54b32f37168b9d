"""The server: a call is checked, run beside the event loop, and answered, and nothing it may be given ends the process.

Nothing is printed to stdout but the protocol, and what is logged to stderr names tools and kinds of errors, no content.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import ValidationError

from agent_memory import __version__
from agent_memory.errors import AgentMemoryError

from .arguments import Arguments, explain, lean
from .face import Face, in_words
from .results import Result
from .tools import INSTRUCTIONS, TOOLS, ToolFacts
from .wire import serve_lines

if TYPE_CHECKING:
    from agent_memory.memory import Memory

__all__ = ["build_server", "serve"]

_READERS: Final = 8
"""Calls that read at the same time."""

_log = logging.getLogger("agent_memory.mcp")


class _MemoryTool(Tool):
    """A tool that refuses what does not fit in words, and never lets an exception through to the SDK."""

    async def run(self, arguments: dict[str, Any], context: Any, convert_result: bool = False) -> Any:  # noqa: ARG002
        try:
            checked = self.fn_metadata.arg_model.model_validate(arguments)
        except ValidationError as error:
            return _refusal(explain(self.name, error, self.parameters["properties"]))
        try:
            result: Result = await self.fn(checked)
        except (AgentMemoryError, OSError) as error:
            return _refusal(in_words(error))
        except Exception as error:
            _log.error("fault in %s: %s at %s", self.name, type(error).__name__, _where(error))
            return _refusal(in_words(error))
        return CallToolResult(
            content=[TextContent(type="text", text=result.model_dump_json())],
            structured_content=result.model_dump(mode="json"),
        )


class _StdioServer(MCPServer[None]):
    """An ``MCPServer`` whose stdio answers messages that cannot be read, and ends in order on a signal."""

    async def run_stdio_async(self) -> None:
        server = self._lowlevel_server
        await serve_lines(lambda read, write: server.run(read, write, server.create_initialization_options()))


def build_server(face: Face, *, at_end: Callable[[], None] = lambda: None) -> MCPServer[None]:
    """A server with the tools of ``face``.

    Args:
        at_end: called, beside the event loop, when the server ends.
    """
    readers = anyio.CapacityLimiter(_READERS)
    writer = anyio.CapacityLimiter(1)  # hands out its place in the order of asking, so writes keep theirs

    def tool(facts: ToolFacts) -> Tool:
        call: Callable[[Arguments], Result] = getattr(face, facts.name)
        limiter = readers if facts.reads_only else writer

        def beside(arguments: Arguments) -> Awaitable[Result]:
            return anyio.to_thread.run_sync(call, arguments, limiter=limiter)

        return _MemoryTool(
            fn=beside,
            name=facts.name,
            title=facts.title,
            description=facts.description,
            parameters=facts.arguments.announced(),
            fn_metadata=FuncMetadata(arg_model=facts.arguments, output_schema=lean(facts.result.model_json_schema())),
            is_async=True,
            context_kwarg=None,
            annotations=ToolAnnotations(
                title=facts.title,
                read_only_hint=facts.reads_only,
                destructive_hint=facts.destructive,
                idempotent_hint=facts.idempotent,
                open_world_hint=False,
            ),
        )

    @asynccontextmanager
    async def lifespan(_: MCPServer[None]) -> AsyncIterator[None]:
        try:
            yield None
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(at_end)

    return _StdioServer(
        "agent-memory",
        title="Agent memory",
        instructions=INSTRUCTIONS,
        version=__version__,
        tools=[tool(facts) for facts in TOOLS],
        lifespan=lifespan,
        log_level="CRITICAL",
    )


def serve(memory: Memory) -> int:
    """Serve a memory over stdin and stdout until stdin ends or a signal comes, then close it.

    Returns:
        0, or 1 when something could not be saved or the server failed.
    """
    _log_without_content()
    face = Face(memory, version=__version__)
    in_order = False

    def close() -> None:
        nonlocal in_order
        face.close()
        in_order = True

    try:
        build_server(face, at_end=close).run()
    except BaseException as error:
        _log.error("the server failed: %s at %s", type(error).__name__, _where(error))
        with contextlib.suppress(Exception):
            face.close()  # closing twice is allowed
    if face.pending:
        _log.error("%d writes could not be saved and are lost", face.pending)
    return 0 if in_order and not face.pending else 1


def _refusal(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def _where(error: BaseException) -> str:
    """Where an exception was raised, without what it says."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    return " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames))


def _log_without_content() -> None:
    """Log our own lines to stderr.  The SDK's are dropped: they repeat arguments and what exceptions say."""
    logging.getLogger().addHandler(logging.NullHandler())
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("agent-memory mcp: %(message)s"))
    _log.addHandler(handler)
    _log.propagate = False
    _log.setLevel(logging.INFO)

"""Lines in, lines out: what reads stdin for the SDK, answers messages it could not read, and ends in order on a signal.

The SDK drops a line it cannot read, and whoever sent it waits for good; here it is answered.  And its reader, blocked
in a read of stdin, would keep a signal from ending the process; here a thread of its own reads, which may stay behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final, cast

import anyio
import mcp.types as protocol
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

__all__ = ["request_id", "serve_lines"]

MAX_LINE: Final = 4_000_000
"""Bytes of one message; the largest that is of use, a text of 100,000 characters in escapes, has a fifth of that."""
_CHUNK: Final = 65_536
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.?)*(?:"|\Z)|[{}\[\]:,]|[^\s"{}\[\]:,]+', re.DOTALL)


async def serve_lines(run: Callable[[Any, Any], Awaitable[None]]) -> None:
    """Serve stdin and stdout with ``run``, which is given the streams of messages in and out."""
    lines = _Lines()
    async with stdio_server(stdin=cast("anyio.AsyncFile[str]", lines)) as (read, write):
        lines.answer = write.send
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_until_signal, lines)
            lines.start()
            await run(read, write)
            tasks.cancel_scope.cancel()


class _Lines:
    """The lines of stdin, those that hold a message the SDK can read.  The others are answered here."""

    def __init__(self) -> None:
        self.answer: Callable[[SessionMessage], Awaitable[None]] | None = None
        self._into, self._out = anyio.create_memory_object_stream[bytes | None](64)

    def start(self) -> None:
        loop = asyncio.get_running_loop()

        def hand_over(line: bytes | None) -> None:
            asyncio.run_coroutine_threadsafe(self._into.send(line), loop).result()

        threading.Thread(target=_read, args=(hand_over,), name="stdin", daemon=True).start()

    def end(self) -> None:
        """Let the lines end here: what has been read is still handed on, and nothing more is."""
        self._into.close()

    async def __aiter__(self) -> AsyncIterator[str]:
        async with self._out:
            async for line in self._out:
                if line is None:
                    return
                text = line.decode("utf-8", errors="replace")
                if not text.strip():
                    continue
                if len(line) > MAX_LINE:
                    await self._refuse(text, f"the message is longer than {MAX_LINE:,} bytes")
                    continue
                try:
                    protocol.jsonrpc_message_adapter.validate_json(text, by_name=False)
                except ValueError:
                    await self._refuse(
                        text,
                        "the message is no JSON-RPC that can be read: broken JSON, half a surrogate pair, a number of "
                        "thousands of digits, or nesting too deep. Nothing was done",
                    )
                else:
                    yield text

    async def _refuse(self, text: str, message: str) -> None:
        assert self.answer is not None
        error = protocol.ErrorData(code=protocol.PARSE_ERROR, message=message)
        await self.answer(SessionMessage(protocol.JSONRPCError(jsonrpc="2.0", id=request_id(text), error=error)))


def _read(hand_over: Callable[[bytes | None], None]) -> None:
    """Hand over every line of stdin, then None.  Of a line that is too long, its beginning and that it is."""
    rest = b""
    with contextlib.suppress(Exception):  # nobody listens any more; there is nothing left to do and nobody to tell
        while chunk := os.read(sys.stdin.fileno(), _CHUNK):
            *lines, tail = chunk.split(b"\n")
            for line in lines:
                hand_over(rest + line)
                rest = b""
            if len(rest) <= MAX_LINE:
                rest += tail
        if rest.strip():
            hand_over(rest)
        hand_over(None)


async def _until_signal(lines: _Lines) -> None:
    """End the lines when the process is told to end, so that all is closed as it is when stdin ends."""
    if sys.platform == "win32":
        return
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            lines.end()
            return  # a second signal ends the process at once


def request_id(text: str) -> str | int | None:
    """The id of a message, found in text that may not be JSON as a whole; None when there is none.

    Looks at the members of the outermost object alone, in time linear in the text.
    """
    depth, before = 0, ("", "")
    for match in _TOKEN.finditer(text):
        part = match[0]
        if depth == 1 and before == ('"id"', ":"):
            if re.fullmatch(r"-?[0-9]{1,18}", part):
                return int(part)
            return part[1:-1] if re.fullmatch(r'"[ -!#-\[\]-~]{1,200}"', part) else None
        depth += (part in "{[") - (part in "}]")
        before = (before[1], part)
    return None

"""Talking to the tool server in the tests: the SDK's own client over stdio, and bare lines for what no client sends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Self

import jsonschema
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

COMMAND = (sys.executable, "-m", "agent_memory.cli", "mcp")


class Talk:
    """A connection: calls a tool, checks the answer against its schema, and gives the answer."""

    def __init__(self, client: Client, pid: int, schemas: dict[str, Any]) -> None:
        self.client = client
        self.pid = pid
        self.schemas = schemas

    async def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result.content[0].text
        jsonschema.validate(result.structured_content, self.schemas[tool])
        assert json.loads(result.content[0].text) == result.structured_content
        return result.structured_content

    async def refused(self, tool: str, **arguments: Any) -> str:
        """Call a tool that must answer with an error, and give its words."""
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error, result.structured_content
        text = result.content[0].text
        assert "Traceback" not in text
        assert "internal error" not in text
        return text

    @contextmanager
    def full_disk(self) -> Iterator[None]:
        """No file of the server grows while this lasts."""
        import resource

        _, hard = resource.prlimit(self.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (0, hard))
        try:
            yield
        finally:
            resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (hard, hard))


@asynccontextmanager
async def talking(
    folder: Path, *options: str, mode: str = "auto", env: dict[str, str] | None = None
) -> AsyncIterator[Talk]:
    """The SDK's client on a server of its own, on the memory ``folder / "memory"`` unless ``options`` say otherwise."""
    told = folder / f"pid-{time.monotonic_ns()}"
    if "--path" not in options:
        options = ("--path", str(folder / "memory"), *options)
    server = StdioServerParameters(
        command="/bin/sh", args=["-c", f'echo $$ > "{told}"; exec "$0" "$@"', *COMMAND, *options], env=env
    )
    with (folder / "stderr").open("a") as errlog:
        async with Client(stdio_client(server, errlog=errlog), mode=mode, read_timeout_seconds=60) as client:
            schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
            yield Talk(client, int(told.read_text()), schemas)


class Lines:
    """A server as a process, spoken to in bare lines of the older protocol."""

    def __init__(self, *options: str, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(env or {})},
        )
        self.last = 0

    def __enter__(self) -> Self:
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "lines", "version": "1"}}
        assert "result" in self.ask("initialize", hello)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def send(self, message: Any) -> None:
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def read(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def ask(self, method: str, params: Any) -> Any:
        self.last += 1
        self.send({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        answer = self.read()
        assert answer["id"] == self.last
        return answer

    def call(self, tool: str, **arguments: Any) -> Any:
        return self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]

    def raw_call(self, tool: str, arguments: bytes) -> Any:
        """A call whose arguments are given as the bytes of their JSON."""
        self.last += 1
        self.send(
            b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"%b","arguments":%b},"id":%d}'
            % (tool.encode(), arguments, self.last)
        )
        answer = self.read()
        assert answer["id"] == self.last
        return answer

    def end(self, how: int | None = None) -> tuple[int, bytes, bytes]:
        """End the server by closing its stdin, or with a signal; gives its exit code and what else it printed."""
        if how is not None:
            self.process.send_signal(how)
            out = self.process.stdout.read() if self.process.stdout else b""
            err = self.process.stderr.read() if self.process.stderr else b""
            return self.process.wait(30), out, err
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err

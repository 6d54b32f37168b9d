"""What the tool server announces, and what it says to arguments that do not fit, which write nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the tool server needs agent-memory[mcp]")

import anyio
import jsonschema
from mcp import Client

from agent_memory import Memory
from agent_memory.mcp.face import Face
from agent_memory.mcp.server import build_server
from mcp_client import Talk

SEED = """
text key tags mtype value object source user_id agent_id reaffirm session_id derived_from
""".split()
VERDICT = """
record_id deduped blocked policy current_id superseded_id note lineage_dropped persisted persist_error project
""".split()


def played(memory: Memory, play: Callable[[Talk], Awaitable[None]]) -> None:
    """Play on a server in this process."""

    async def run() -> None:
        async with Client(build_server(Face(memory, version="1"))) as client:
            schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
            await play(Talk(client, 0, schemas))

    anyio.run(run)


def announced() -> dict[str, Any]:
    tools: dict[str, Any] = {}

    async def look(talk: Talk) -> None:
        tools.update({tool.name: tool for tool in (await talk.client.list_tools()).tools})

    with Memory(None) as memory:
        played(memory, look)
    return tools


TOOLS = announced()


# ------------------------------------------------------------------ what is announced


def test_the_tools_are_these() -> None:
    assert list(TOOLS) == ["remember", "recall", "history", "resolve", "credit", "redact", "status"]


def test_remember_takes_the_arguments_and_gives_the_verdict_it_is_known_for() -> None:
    taken = TOOLS["remember"].input_schema["properties"]
    assert sorted(taken) == sorted([*SEED, "occurred_at", "author"])
    assert TOOLS["remember"].input_schema["required"] == ["text"]
    assert set(VERDICT) <= set(TOOLS["remember"].output_schema["properties"])
    assert set(VERDICT) <= set(TOOLS["remember"].output_schema["required"])


@pytest.mark.parametrize("name", TOOLS)
def test_a_schema_is_valid_closed_and_says_what_every_argument_is(name: str) -> None:
    tool = TOOLS[name]
    for schema in (tool.input_schema, tool.output_schema):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
    for argument, schema in tool.input_schema["properties"].items():
        assert len(schema["description"]) > 20, argument
    assert set(tool.output_schema["required"]) >= {"project", "user_id", "agent_id", "session_id"}


@pytest.mark.parametrize("name", TOOLS)
def test_a_description_says_enough_and_not_too_much(name: str) -> None:
    description = TOOLS[name].description
    assert 100 < len(description) < 2_000
    assert "  " not in description
    assert "``" not in str(TOOLS[name].input_schema)


def test_the_annotations_say_what_a_tool_may_do() -> None:
    hints = {name: tool.annotations for name, tool in TOOLS.items()}
    assert {name for name, hint in hints.items() if hint.read_only_hint} == {"recall", "history", "status"}
    assert {name for name, hint in hints.items() if hint.destructive_hint} == {"redact"}
    assert {name for name, hint in hints.items() if hint.idempotent_hint} == {"recall", "history", "status", "redact"}
    assert not any(hint.open_world_hint for hint in hints.values())


PAGE = Path(__file__).parent.parent / "docs" / "mcp.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")
def test_the_page_names_every_tool_argument_and_field_of_a_verdict() -> None:
    text = PAGE.read_text("utf-8")
    rows = {row[0]: row[2] for row in re.findall(r"^\| `(\w+)` \| (.*?) \| (.*) \|$", text, flags=re.MULTILINE)}
    for name, tool in TOOLS.items():
        assert set(re.findall(r"`(\w+)`", rows[name])) == set(tool.input_schema["properties"]), name
    scope = {"project", "user_id", "agent_id", "session_id"}
    described = set(re.findall(r"`(\w+)`", text[text.index("## What `remember` answers") :]))
    assert set(TOOLS["remember"].output_schema["properties"]) - scope <= described


def test_importing_the_package_or_the_command_line_does_not_import_the_sdk() -> None:
    code = "import agent_memory, agent_memory.cli.app, sys; print([n for n in ('mcp', 'pydantic') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_without_the_sdk_the_command_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['mcp'] = None\n"
        f"sys.argv = ['agent-memory', 'mcp', '--path', {str(tmp_path / 'm')!r}]\n"
        "from agent_memory.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "pip install 'mcp>=2.3,<3'" in done.stderr
    assert not (tmp_path / "m").exists()


# ------------------------------------------------------------------ arguments that do not fit

BIG = "x" * 1_000_000
UNKNOWN = "mem:" + "0" * 32
HOSTILE: list[tuple[str, dict[str, Any], str]] = [
    ("remember", {}, "text is missing"),
    ("remember", {"text": ""}, "empty"),
    ("remember", {"text": " \n\t"}, "empty"),
    ("remember", {"text": None}, "text must be text"),
    ("remember", {"text": 5}, "text must be text"),
    ("remember", {"text": ["a"]}, "text must be text"),
    ("remember", {"text": {"a": 1}}, "text must be text"),
    ("remember", {"text": BIG}, "text is too long: at most 100,000 characters; split it"),
    ("remember", {"text": "a", "key": BIG}, "key is too long: at most 1,000"),
    ("remember", {"text": "a", "source": BIG}, "source is too long"),
    ("remember", {"text": "a", "tags": "one"}, "tags must be a list"),
    ("remember", {"text": "a", "tags": [1]}, r"tags\[0\] must be text"),
    ("remember", {"text": "a", "tags": [BIG]}, r"tags\[0\] is too long"),
    ("remember", {"text": "a", "tags": ["t"] * 5_000}, "tags has too many entries: at most 100"),
    ("remember", {"text": "a", "tags": [""]}, "tags"),
    ("remember", {"text": "a", "value": "5"}, "value must be a number"),
    ("remember", {"text": "a", "value": True}, "value must be a number"),
    ("remember", {"text": "a", "value": 10**400}, "value must lie between 1 and 1000000"),
    ("remember", {"text": "a", "value": 0}, "value must lie between 1 and 1000000"),
    ("remember", {"text": "a", "mtype": "rule"}, "mtype must be one of"),
    ("remember", {"text": "a", "key": "a::b", "reaffirm": "yes"}, "reaffirm must be true or false"),
    ("remember", {"text": "a", "key": "a::b", "reaffirm": 1}, "reaffirm must be true or false"),
    ("remember", {"text": "a", "key": ""}, "key"),
    ("remember", {"text": "a", "object": "v"}, "key"),
    ("remember", {"text": "a", "key": "a::b", "object": ""}, "object"),
    ("remember", {"text": "a", "derived_from": UNKNOWN}, "derived_from must be a list"),
    ("remember", {"text": "a", "derived_from": [{"id": UNKNOWN}]}, r"derived_from\[0\] must be text"),
    ("remember", {"text": "a", "occurred_at": "yesterday"}, "occurred_at"),
    ("remember", {"text": "a", "occurred_at": "2026-01-01T00:00:00"}, "timezone"),
    ("remember", {"text": "a", "occurred_at": 10**400}, "occurred_at must be text"),
    ("remember", {"text": "a", "user_id": "bob"}, "pinned to user_id"),
    ("remember", {"text": "a", "project": "theirs"}, "'project' is no argument of it"),
    ("remember", {"text": "a", "sources": "crm"}, r"'sources' is no argument of it \(did you mean source\?\)"),
    ("remember", {"text": "a", BIG: 1}, "is no argument of it"),
    ("remember", {"text": "a", "x\x00\x1b[2J\u202e": 1}, "is no argument of it"),
    ("recall", {}, "query is missing"),
    ("recall", {"query": 5}, "query must be text"),
    ("recall", {"query": BIG}, "query is too long"),
    ("recall", {"query": "a", "budget_tokens": -1}, "budget_tokens must be 0 or more"),
    ("recall", {"query": "a", "budget_tokens": 10**400}, "budget_tokens must be 100,000 or less"),
    ("recall", {"query": "a", "budget_tokens": 1.5}, "budget_tokens must be a whole number"),
    ("recall", {"query": "a", "user_id": "bob"}, "pinned to user_id"),
    ("recall", {"query": "a", "user_id": ""}, "user_id is empty"),
    ("history", {}, "either key or record_id"),
    ("history", {"key": "a::b", "record_id": UNKNOWN}, "either key or record_id"),
    ("history", {"record_id": UNKNOWN}, "unknown"),
    ("history", {"record_id": "mem:../../etc"}, "malformed"),
    ("history", {"key": "a::b", "user_id": "bob"}, "pinned to user_id"),
    ("resolve", {"winner_id": UNKNOWN, "reason": "r"}, "loser_id is missing"),
    ("resolve", {"winner_id": UNKNOWN, "loser_id": UNKNOWN, "reason": "r"}, "same record"),
    ("resolve", {"winner_id": UNKNOWN, "loser_id": "mem:" + "1" * 32, "reason": "r"}, "unknown"),
    ("resolve", {"winner_id": UNKNOWN, "loser_id": "mem:" + "1" * 32, "reason": " "}, "reason"),
    ("credit", {"record_id": UNKNOWN}, "unknown"),
    ("credit", {"record_id": UNKNOWN, "weight": 0}, "weight"),
    ("credit", {"record_id": UNKNOWN, "weight": 10**400}, "weight"),
    ("credit", {"record_id": UNKNOWN, "good": 0}, "good must be true or false"),
    ("redact", {"record_id": UNKNOWN}, "reason is missing"),
    ("redact", {"record_id": UNKNOWN, "reason": ""}, "reason"),
    ("redact", {"record_id": UNKNOWN, "reason": "asked"}, "unknown"),
    ("redact", {"record_id": "*", "reason": "asked"}, "malformed"),
    ("status", {"path": "/etc"}, "'path' is no argument of it"),
]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"), HOSTILE, ids=[f"{number}-{tool}" for number, (tool, _, _) in enumerate(HOSTILE)]
)
def test_what_does_not_fit_is_refused_in_words_and_nothing_is_written(
    tool: str, arguments: dict[str, Any], said: str
) -> None:
    async def play(talk: Talk) -> None:
        text = await talk.refused(tool, **arguments)
        assert re.search(said, text), text
        assert len(text) < 1_000
        assert text.isprintable(), "a message is one line, and shows nothing that could act on a terminal"
        assert (await talk("status"))["records"] == 0

    with Memory(None, project="ours", user_id="alice") as memory:
        played(memory, play)
        assert memory.list() == ()


def test_text_that_looks_like_json_is_text() -> None:
    async def play(talk: Talk) -> None:
        for text in ("null", "[1, 2]", '{"a": 1}', '"quoted"', "true", "12"):
            answer = await talk("remember", text=f"The flag of {text} is set.", source=text, key="a::b", object=text)
            assert answer["persisted"], answer
            (found,) = (await talk("recall", query=f"flag set {text}"))["records"]
            assert (found["source"], found["object"]) == (text, text)

    with Memory(None, auto_consolidate=False) as memory:
        played(memory, play)


def test_control_characters_in_a_text_are_kept_and_forge_nothing() -> None:
    text = "line one\nline two\x00\x1b[31m\u202e \u0303end"

    async def play(talk: Talk) -> None:
        await talk("remember", text=text)
        (found,) = (await talk("recall", query="line one two"))["records"]
        assert found["text"] == text

    with Memory(None) as memory:
        played(memory, play)


# ------------------------------------------------------------------ scope


def test_another_scope_cannot_be_read_changed_or_destroyed_by_its_ids(tmp_path: Path) -> None:
    path = tmp_path / "m"
    with Memory(path, project="theirs") as memory:
        one = memory.remember("The vault code is stored in the green safe.").record_id
        two = memory.remember("The vault opens at nine.").record_id
        before = [record.canonical_bytes() for record in memory.list()]

    async def play(talk: Talk) -> None:
        said = [
            await talk.refused("history", record_id=one),
            await talk.refused("resolve", winner_id=one, loser_id=two, reason="mine"),
            await talk.refused("credit", record_id=one),
            await talk.refused("redact", record_id=one, reason="mine"),
        ]
        assert all("unknown" in text for text in said)
        assert not any(word in text for text in said for word in ("vault", "safe", "theirs"))
        assert (await talk("recall", query="vault", include_archived=True, include_history=True))["records"] == []
        status = await talk("status")
        assert (status["records"], status["project"]) == (0, "ours")
        answer = await talk("remember", text="A conclusion.", derived_from=[one])
        assert one in answer["note"]

    with Memory(path, project="ours") as memory:
        played(memory, play)
    with Memory(path, project="theirs") as memory:
        assert [record.canonical_bytes() for record in memory.list()] == before


def test_every_answer_names_the_scope_it_worked_in() -> None:
    async def play(talk: Talk) -> None:
        answer = await talk("remember", text="The pier is red.", user_id="alice", session_id="s1")
        assert [answer[name] for name in ("project", "user_id", "agent_id", "session_id")] == ["p", "alice", "a", "s1"]
        answer = await talk("recall", query="pier")
        assert [answer[name] for name in ("project", "user_id", "agent_id", "session_id")] == ["p", None, "a", None]
        assert len(answer["records"]) == 1
        assert (await talk("recall", query="pier", user_id="bob"))["records"] == []
        assert (await talk("credit", record_id=answer["records"][0]["record_id"]))["project"] == "p"

    with Memory(None, project="p", agent_id="a") as memory:
        played(memory, play)

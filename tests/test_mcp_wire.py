"""The tool server's lines: what cannot be read is answered, stdout carries nothing else, and the end is in order."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the tool server needs agent-memory[mcp]")

from agent_memory import Memory
from agent_memory.mcp.wire import MAX_LINE, request_id
from mcp_client import Lines


def bodies(path: Path) -> list[str]:
    with Memory(path) as memory:
        return [record.body for record in memory.list()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"id":7,"params":{"id":8}}', 7),
        ('{"params":{"id":8,"x":["id",{"id":9}]},"id":"a-1"}', "a-1"),
        ('{"params":"\\"id\\":3","id": 4}', 4),
        ('{"params":{"id":8}}', None),
        ('{"id":[1]}', None),
        ('{"id":1.5}', None),
        ('{"id":"a\\u0022"}', None),
        ('{"x":"id","id', None),
        ("[" * 100_000 + ',"id":3', None),
        ('{"x":"' + '\\"' * 100_000, None),
        ("nonsense", None),
        ("", None),
    ],
)
def test_the_id_of_a_broken_message_is_found(text: str, expected: str | int | None) -> None:
    started = time.perf_counter()
    assert request_id(text) == expected
    assert time.perf_counter() - started < 1


UNREADABLE = {
    "half a surrogate pair": b'{"text":"\\ud83d"}',
    "a number of five thousand digits": b'{"text":"x","value":1' + b"0" * 5_000 + b"}",
    "nesting a hundred thousand deep": b'{"text":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "a bare control character": b'{"text":"a\x01b"}',
    "more than a line may have": b'{"text":"' + b"a" * (MAX_LINE + 100_000) + b'"}',
}
REFUSED = {
    "not a number": b'{"text":"x","value":NaN}',
    "infinity": b'{"text":"x","value":1e999}',
    "ten to the four hundred": b'{"text":"x","value":1' + b"0" * 400 + b"}",
    "a megabyte": b'{"text":"' + b"a" * 1_000_000 + b'"}',
    "nesting a hundred deep": b'{"text":"x","tags":' + b"[" * 100 + b"]" * 100 + b"}",
    "arguments that are a list": b'["text"]',
    "arguments that are text": b'"text"',
    "bytes that are no UTF-8 in a time": b'{"text":"x","occurred_at":"\xff\xfe"}',
}


def test_a_message_that_cannot_be_read_is_answered_and_the_server_lives(tmp_path: Path) -> None:
    with Lines("--path", str(tmp_path / "m")) as server:
        for what, arguments in UNREADABLE.items():
            answer = server.raw_call("remember", arguments)
            assert answer["error"]["code"] == -32700, what
            assert "Nothing was done" in answer["error"]["message"] or "longer than" in answer["error"]["message"]
        for what, arguments in REFUSED.items():
            answer = server.raw_call("remember", arguments)
            assert "error" in answer or answer["result"]["isError"], what
            if "value" in arguments.decode("utf-8", "replace"):
                assert "value must lie between 1 and 1000000" in answer["result"]["content"][0]["text"]
            assert len(json.dumps(answer)) < 2_000, what
        for line in (b"nonsense", b"[]", b"null", b"\xff\xff", b'{"id":{"a":1}', b'{"params":{"id":1}'):
            server.send(line)
            assert server.read()["id"] is None
        server.send(b"")
        assert not server.call("remember", text="The lighthouse is white.")["isError"]
        code, out, err = server.end()
    assert (code, out, err) == (0, b"", b"")
    assert bodies(tmp_path / "m") == ["The lighthouse is white."]


@pytest.mark.parametrize("how", [None, signal.SIGTERM, signal.SIGINT], ids=["stdin ends", "SIGTERM", "SIGINT"])
def test_the_memory_is_closed_in_order_however_the_server_ends(tmp_path: Path, how: int | None) -> None:
    with Lines("--path", str(tmp_path / "m")) as server:
        server.call("remember", text="The lighthouse is white.")
        server.call("recall", query="lighthouse")
        code, out, err = server.end(how)
    assert (code, out, err) == (0, b"", b"")
    touched = json.loads((tmp_path / "m" / "salience.json").read_text())["scores"]
    assert [score["touches"] for score in touched.values()] == [1]


def test_a_signal_in_the_middle_of_many_calls_loses_no_answered_write(tmp_path: Path) -> None:
    with Lines("--path", str(tmp_path / "m.db")) as server:
        for number in range(200):
            call = {"name": "remember", "arguments": {"text": f"Entry {number} of the log.", "mtype": "episodic"}}
            server.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call})
        first = server.read()
        code, out, err = server.end(signal.SIGTERM)
    answers = [first, *map(json.loads, out.splitlines())]
    assert (code, err) == (0, b"")
    landed = {f"Entry {answer['id']} of the log." for answer in answers if "result" in answer}
    assert landed
    assert landed <= set(bodies(tmp_path / "m.db"))


def test_a_slow_write_does_not_hold_up_a_ping(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "m.db"
    with Lines("--path", str(path)) as server:
        server.call("remember", text="The lighthouse is white.")
        blocker = sqlite3.connect(path)
        blocker.execute("BEGIN IMMEDIATE")
        slow = {"name": "remember", "arguments": {"text": "The pier is red."}}
        server.send({"jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": slow})
        time.sleep(0.3)
        started = time.perf_counter()
        server.ask("ping", {})
        assert time.perf_counter() - started < 0.5
        server.ask("tools/list", {})
        assert time.perf_counter() - started < 1
        blocker.rollback()
        blocker.close()
        answer = server.read()
        assert answer["id"] == "slow"
        assert answer["result"]["structuredContent"]["persisted"]


def test_writes_that_arrive_together_are_made_in_the_order_of_arrival(tmp_path: Path) -> None:
    with Lines("--path", str(tmp_path / "m.db")) as server:
        for number in range(30):
            call = {"name": "remember", "arguments": {"text": f"Entry {number} of the log.", "mtype": "episodic"}}
            server.send({"jsonrpc": "2.0", "id": f"w{number}", "method": "tools/call", "params": call})
        answers = [server.read() for _ in range(30)]
        assert all(answer["result"]["structuredContent"]["persisted"] for answer in answers)
    with Memory(tmp_path / "m.db", auto_consolidate=False) as memory:
        records = [record for record in memory.list() if record.type.value == "episode"]
    assert [record.body for record in records] == [f"Entry {number} of the log." for number in range(30)]


def test_nothing_of_a_memory_is_logged(tmp_path: Path) -> None:
    with Lines("--path", str(tmp_path / "m"), env={"PYTHONWARNINGS": "default", "PYTHONASYNCIODEBUG": "1"}) as server:
        server.call("remember", text="xyzzy", source="plugh")
        server.call("remember", text="xyzzy", plugh="xyzzy")
        server.call("xyzzy")
        server.ask("xyzzy/plugh", {"xyzzy": "plugh"})
        server.ask("tools/call", {"name": 5, "arguments": "xyzzy"})
        server.raw_call("remember", b'{"text":"xyzzy \\ud800"}')
        _, out, err = server.end()
    assert out == b""
    assert b"xyzzy" not in err
    assert b"plugh" not in err


def test_a_memory_that_cannot_be_opened_is_said_on_stderr_and_stdout_stays_empty(tmp_path: Path) -> None:
    (tmp_path / "m").write_text("no memory")
    server = Lines("--path", str(tmp_path / "m"), "--json")
    code, out, err = server.end()
    assert code == 1
    assert out == b""
    assert b"error:" in err
    assert b"Traceback" not in err

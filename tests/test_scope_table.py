"""No argument of any public method widens a pinned memory: a row for each method, and for each thing it takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent_memory import (
    AgentMemoryError,
    InMemoryRecordStore,
    Memory,
    MemoryFile,
    MemoryRecord,
    RecordState,
    RecordType,
    begin_transition,
)
from plain_store import T0, said

SECRET = "Zebra"
"""Stands in every text, tag, key, object and source of the others."""
KEY = "team::editor"


@dataclass
class House:
    """A store with what alice may see and what is outside, and the arguments a caller of hers may think of."""

    store: InMemoryRecordStore
    outside: dict[str, tuple[MemoryRecord, ...]]
    folder: Path

    @property
    def ids(self) -> list[str]:
        return sorted(self.outside)

    def untouched(self) -> bool:
        return {record_id: self.store.history(record_id) for record_id in self.outside} == self.outside

    def file(self) -> Path:
        """An export of the others, and of records that name them."""
        path = self.folder / "theirs.json"
        late = said(f"{SECRET} comes late.", user_id="bob", project="p", days=2)
        wide = said(f"{SECRET} for all.", days=3, supersedes=self.ids[0])
        records = [self.store.get(record_id) for record_id in self.ids]
        path.write_bytes(MemoryFile.create([*records, late, wide]).canonical_bytes())
        return path


PINS = ({"user_id": "alice"}, {"project": "p", "user_id": "alice"}, {"agent_id": "a1", "user_id": "alice"})
OTHERS: tuple[dict[str, Any], ...] = (
    {"user_id": "bob"},
    {"project": "p", "user_id": "bob"},
    {"project": "q", "user_id": "bob", "agent_id": "a2"},
    {"user_id": "bob", "session_id": "s"},
)


@pytest.fixture(params=PINS, ids="+".join)
def pins(request: pytest.FixtureRequest) -> dict[str, str]:
    return dict(request.param)


@pytest.fixture
def house(tmp_path: Path) -> House:
    store = InMemoryRecordStore()
    for number, place in enumerate(OTHERS):
        at = number / 24
        marks = {"tags": (SECRET,), "key": f"{SECRET}::key", "object": SECRET, "days": at, **place}
        store.put(said(f"{SECRET} prefers tea.", **marks))
        store.put(said(f"{SECRET} is there.", key=KEY, object=SECRET, days=at, **place))
        for day in range(3):
            store.put(said(f"{SECRET} left.", kind=RecordType.EPISODE, days=at + day, tags=(SECRET,), **place))
        sides = [said(f"The {SECRET} host is {city}.", days=at, **place) for city in ("Paris", "Oslo")]
        store.put_many(begin_transition(*sides, reason="x", now=T0))
        store.put(said(f"{SECRET} is old.", days=at - 4000, **place))
    outside = {record.id: store.history(record.id) for record in store.list()}
    store.put(said("The editor is Vim.", key=KEY, object="Vim"))
    return House(store, outside, tmp_path)


WIDENING = (
    {"user_id": "bob"},
    {"agent_id": "a2"},
    {"user_id": "bob", "agent_id": "a2"},
    {"user_id": None},
    {"session_id": "s"},
)
Call = Callable[[Memory, House], Any]


def each_id(call: Callable[..., Any]) -> list[Call]:
    return [lambda memory, house, n=n: call(memory, house.ids[n]) for n in range(0, 24, 2)]


def widened(call: Callable[..., Any]) -> list[Call]:
    return [lambda memory, house, more=more: call(memory, house, **more) for more in WIDENING]


def put(memory: Memory, record_id: str) -> None:
    memory.store.put(said(f"{SECRET} put.", user_id="bob"))
    memory.store.put(memory.store.get(record_id))


TABLE: dict[str, list[Call]] = {
    "remember": [
        *widened(lambda m, h, **more: m.remember(f"{SECRET} prefers tea.", **more)),
        lambda m, h: m.remember("Coffee then.", key=f"{SECRET}::key", object="Coffee"),
        lambda m, h: m.remember("From theirs.", derived_from=h.ids),
        lambda m, h: m.remember("Again.", key=KEY, object=SECRET, reaffirm=True),
    ],
    "remember_many": [
        *widened(lambda m, h, **more: m.remember_many([{"text": f"{SECRET} left.", **more}])),
        lambda m, h: m.remember_many([{"text": "Theirs.", "project": "q"}, {"text": "x", "scope": {}}]),
    ],
    "recall": [
        *widened(lambda m, h, **more: m.recall(SECRET, include_history=True, include_archived=True, **more)),
        lambda m, h: m.recall("", budget_tokens=10**9),
    ],
    "get": [*each_id(lambda m, i: m.get(i)), *widened(lambda m, h, **more: m.get(h.ids[0], **no_session(more)))],
    "history": [
        *each_id(lambda m, i: m.history(i)),
        *widened(lambda m, h, **more: m.history(h.ids[0], **no_session(more))),
        *widened(lambda m, h, **more: m.history(key=f"{SECRET}::key", **no_session(more))),
        lambda m, h: m.history(key=KEY),
    ],
    "list": [
        lambda m, h: m.list(),
        lambda m, h: [m.list(state=state) for state in RecordState],
        lambda m, h: [m.list(type=kind) for kind in RecordType],
        lambda m, h: m.list(tag=SECRET),
        *widened(lambda m, h, **more: m.list(**no_session(more))),
    ],
    "status": [lambda m, h: m.status()],
    "similar": [lambda m, h: m.similar(0.01, limit=None)],
    "consolidate": [
        lambda m, h: m.consolidate(),
        lambda m, h: m.consolidate(full=True),
        lambda m, h: m.consolidate(full=True, dry_run=True),
    ],
    "decay": [lambda m, h: m.decay()],
    "resolve": [lambda m, h, a=a, b=b: m.resolve(h.ids[a], h.ids[b], "x") for a in range(24) for b in (0, 7)],
    "redact": [
        *each_id(lambda m, i: m.redact(i, "x")),
        *each_id(lambda m, i: m.redact(i, "x", cascade=False)),
    ],
    "retire": [
        *each_id(lambda m, i: m.retire(i, "x")),
        *widened(lambda m, h, **more: m.retire(h.ids[0], "x", **no_session(more))),
        *widened(lambda m, h, **more: m.retire(key=f"{SECRET}::key", reason="x", **no_session(more))),
        lambda m, h: m.retire(key=KEY, reason="x"),
    ],
    "revert": widened(lambda m, h, **more: m.revert(f"{SECRET}::key", **more)),
    "credit": [*each_id(lambda m, i: m.credit(i)), *each_id(lambda m, i: m.credit(i, good=False, weight=9))],
    "slash": [lambda m, h: m.slash("talk-1", "x"), lambda m, h: m.slash("talk", "x", by="bob")],
    "export": [lambda m, h: m.export(h.folder / "mine.json"), lambda m, h: m.export(h.folder / "m.json", partial=True)],
    "load_file": [lambda m, h: m.load_file(h.file(), verify=False)],
    "store": [lambda m, h: m.store.list(), *each_id(lambda m, i: m.store.get(i)), *each_id(put)],
    "scope": [lambda m, h: m.scope],
    "agent": [lambda m, h: m.agent],
    "load_report": [lambda m, h: m.load_report],
    "close": [lambda m, h: m.close()],
}
ELSEWHERE = {"load"}
"""Opens another memory: below."""


def no_session(more: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in more.items() if name != "session_id"}


def test_the_table_has_a_row_for_every_public_name_of_a_memory() -> None:
    public = {name for name, _ in inspect.getmembers(Memory) if not name.startswith("_")}
    assert TABLE.keys() | ELSEWHERE == public


@pytest.mark.parametrize("name", sorted(TABLE))
def test_nothing_outside_is_shown_or_changed(name: str, house: House, pins: dict[str, str]) -> None:
    memory = Memory(store=house.store, auto_consolidate=False, **pins)
    for call in TABLE[name]:
        before = {record.id for record in house.store.list()}
        try:
            answer = call(memory, house)
        except AgentMemoryError as error:
            answer = str(error).replace(f"'{SECRET}::key'", "")
        shown = repr(answer)
        made = {record.id for record in house.store.list()} - before
        for record_id in house.outside:
            asked = (isinstance(answer, str) and "unknown record id" in answer) or name in {"remember", "load_file"}
            assert asked or record_id not in shown
        assert all(house.store.get(record_id).scope.user_id == "alice" for record_id in made)
        assert "bob" not in shown.replace("names 'bob'", "")
        assert house.untouched()


@pytest.mark.parametrize("name", ["recall", "get", "history", "list", "status", "similar", "export"])
def test_no_word_of_what_is_outside_is_in_an_answer(name: str, house: House, pins: dict[str, str]) -> None:
    memory = Memory(store=house.store, auto_consolidate=False, **pins)
    for call in TABLE[name]:
        try:
            answer = call(memory, house)
        except AgentMemoryError as error:
            answer = str(error)
        if name == "recall" and not isinstance(answer, str):
            answer = answer.records
        if name == "history" and not isinstance(answer, str):
            answer = tuple(answer)
        assert SECRET not in repr(answer)


def test_a_memory_loaded_with_a_pin_takes_nothing_of_the_others(house: House, pins: dict[str, str]) -> None:
    with Memory.load(house.file(), verify=False, **pins) as memory:
        assert memory.load_report is not None
        assert (memory.load_report.loaded, memory.load_report.outside) == ((), len(house.outside) + 2)
        assert memory.list() == ()


@pytest.mark.parametrize("name", ["user_id", "agent_id", "session_id"])
def test_every_method_that_takes_a_field_of_the_scope_refuses_to_leave_the_pin(name: str, house: House) -> None:
    memory = Memory(store=house.store, auto_consolidate=False, **{name: "mine"})
    required = {"text": "x", "query": "x", "key": "k", "subject": "k", "record_id": None, "reason": "r"}
    tried = 0
    for method, function in inspect.getmembers(Memory, inspect.isfunction):
        parameters = inspect.signature(function).parameters
        if method.startswith("_") or name not in parameters:
            continue
        if method == "get":
            arguments: dict[str, Any] = {"record_id": house.ids[0]}
        elif "subject" in parameters:
            arguments = {"subject": "k", **({"reason": "r"} if "reason" in parameters else {})}
        else:
            arguments = {
                parameter: required[parameter]
                for parameter, spec in list(parameters.items())[1:]
                if spec.default is inspect.Parameter.empty
            }
        if name == "session_id" and method == "recall":
            continue  # sessions share their memory, so a recall may ask for any
        with pytest.raises(AgentMemoryError, match=rf"pinned to {name}"):
            getattr(memory, method)(**arguments, **{name: "other"})
        tried += 1
    assert tried >= (2 if name == "session_id" else 6)

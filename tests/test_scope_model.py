"""Visibility against a plain model: what a pinned memory lists, recalls and reaches, over random scopes and queries.

The model is written from the specification (sections 3.2, 3.3 and 14.2) and shares no code with what it judges.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent_memory import InMemoryRecordStore, Memory, MemoryRecord, Provenance, RecordType, StoreError
from agent_memory.extension import Extension, Scope
from plain_store import T0, said

NAMES = ("project", "user_id", "agent_id", "session_id")
_values = st.none() | st.sampled_from(["x", "y", "é"])
places = st.fixed_dictionaries(dict.fromkeys(NAMES, _values))
"""A field each, or None."""
pins = st.fixed_dictionaries(dict.fromkeys(NAMES, st.none() | st.sampled_from(["x", "y"])))
narrowing = st.fixed_dictionaries(dict.fromkeys(NAMES[1:], st.none() | st.sampled_from(["x", "y"])))
written = st.lists(st.tuples(places, st.none() | st.sampled_from(["k", "l"]), st.booleans()), max_size=12)
"""Records: whose, under which key, and whether let go."""


def matches(place: dict[str, str | None], query: dict[str, str | None], names: Iterable[str]) -> bool:
    for name in names:
        if place[name] is not None and query.get(name) is not None and place[name] != query[name]:
            return False
    return True


def narrower(place: dict[str, str | None], other: dict[str, str | None]) -> bool:
    """Whether ``place`` sets everything ``other`` sets, to the same, and more; the session does not count."""
    mine = {(name, place[name]) for name in NAMES[:3] if place[name] is not None}
    theirs = {(name, other[name]) for name in NAMES[:3] if other[name] is not None}
    return theirs < mine


def stored(items: list[tuple[dict[str, str | None], str | None, bool]]) -> tuple[InMemoryRecordStore, dict[str, Any]]:
    store = InMemoryRecordStore()
    model: dict[str, Any] = {}
    for number, (place, key, gone) in enumerate(items):
        record = said("The zebra is here.", days=number, key=key, **place)
        if gone:
            record = record.evolve({"state": "archived"})
        store.put(record)
        model[record.id] = (place, key, gone)
    return store, model


def given_fields(place: dict[str, str | None]) -> dict[str, Any]:
    return {name: value for name, value in place.items() if value is not None}


@given(written, pins)
def test_what_is_listed_and_reached_is_what_the_model_says(items: list[Any], pin: dict[str, str | None]) -> None:
    store, model = stored(items)
    memory = Memory(store=store, auto_consolidate=False, **given_fields(pin))
    inside = {record_id for record_id, (place, _, _) in model.items() if matches(place, pin, NAMES[:3])}
    assert {record.id for record in memory.list()} == inside
    assert memory.status()["records"] == len(inside)
    for record_id in model:
        try:
            reached = memory.get(record_id).id == record_id and len(memory.history(record_id)) == 1
        except StoreError:
            reached = False
        assert reached == (record_id in inside)


@given(written, pins, narrowing)
def test_what_is_recalled_is_what_the_model_says(
    items: list[Any], pin: dict[str, str | None], narrow: dict[str, str | None]
) -> None:
    store, model = stored(items)
    memory = Memory(store=store, auto_consolidate=False, **given_fields(pin))
    contradicts = any(
        pin[name] is not None and narrow[name] is not None and pin[name] != narrow[name] for name in NAMES[1:3]
    )
    try:
        found = set(memory.recall("zebra", budget_tokens=10_000, **given_fields(narrow)).ids)
    except ValueError:
        assert contradicts
        return
    assert not contradicts
    query = {name: pin[name] if pin[name] is not None else narrow.get(name) for name in NAMES[:3]}
    query["session_id"] = narrow["session_id"]
    seen = {
        record_id: (place, key)
        for record_id, (place, key, gone) in model.items()
        if not gone and matches(place, query, NAMES)
    }
    expected = {
        record_id
        for record_id, (place, key) in seen.items()
        if key is None or not any(other_key == key and narrower(other, place) for other, other_key in seen.values())
    }
    assert found == expected


@given(written, pins, narrowing)
def test_a_write_is_seen_by_whom_the_model_says(
    items: list[Any], pin: dict[str, str | None], narrow: dict[str, str | None]
) -> None:
    store, _ = stored(items)
    memory = Memory(store=store, auto_consolidate=False, **given_fields(pin))
    before = {record.id: store.history(record.id) for record in store.list()}
    contradicts = any(
        pin[name] is not None and narrow[name] is not None and pin[name] != narrow[name] for name in NAMES[1:]
    )
    try:
        made = memory.remember("The lion is there.", key="k", object="lion", **given_fields(narrow)).record_id
    except ValueError:
        assert contradicts
        assert {record.id: store.history(record.id) for record in store.list()} == before
        return
    assert not contradicts
    assert made is not None
    stamped = {name: pin[name] if pin[name] is not None else narrow.get(name) for name in NAMES}
    assert {name: getattr(store.get(made).scope, name) for name in NAMES} == stamped
    for record_id, versions in before.items():
        scope = versions[-1].scope
        if any(getattr(scope, name) != stamped[name] for name in NAMES[:3]):
            assert store.history(record_id) == versions


@given(st.lists(places, min_size=1, max_size=3), pins)
def test_a_merge_without_scope_is_seen_by_whom_all_its_parts_belong_to(
    parts: list[dict[str, str | None]], pin: dict[str, str | None]
) -> None:
    """As the peer writes merges."""
    store = InMemoryRecordStore()
    records = [said(f"Part {number}.", days=number, **place) for number, place in enumerate(parts)]
    merge = MemoryRecord.create(
        RecordType.FACT,
        "Whole.",
        Provenance(kind="consolidation"),
        evidence=[record.id for record in records],
        created_at=T0,
        extension=Extension(scope=Scope()),
    )
    store.put_many([*records, merge])
    memory = Memory(store=store, auto_consolidate=False, **given_fields(pin))
    places_of = {tuple(place[name] for name in NAMES[:3]) for place in parts}
    pinned = any(pin[name] is not None for name in NAMES[:3])
    expected = not pinned or (len(places_of) == 1 and matches(parts[0], pin, NAMES[:3]))
    assert (merge.id in {record.id for record in memory.list()}) == expected

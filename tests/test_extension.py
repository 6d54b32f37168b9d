"""The ``agent_memory`` field: one form per member, present only when set, signed and no part of the id."""

from __future__ import annotations

import math
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory import errors, kernel
from agent_memory.extension import MAX_COUNT, NO_EXTENSION, UNSCOPED, Extension, Scope, Standing
from strategies import extensions, scopes, standings

FIRST, SECOND = "mem:" + "1" * 32, "mem:" + "2" * 32


@given(extensions)
def test_an_extension_survives_the_wire(extension: Extension) -> None:
    wire = extension.to_wire()
    assert bool(wire) == bool(extension)
    if wire:
        assert Extension.from_wire(wire) == extension
        assert kernel.canonical_json(wire)
    assert len({extension, pickle.loads(pickle.dumps(extension))}) == 1


@given(scopes)
def test_a_scope_survives_the_wire(scope: Scope) -> None:
    wire = scope.to_wire()
    if wire:
        assert Scope.from_wire(wire) == scope
    assert scope.without_session() == Scope(project=scope.project, user_id=scope.user_id, agent_id=scope.agent_id) or (
        scope.session_id is None and not scope.extra
    )
    assert scope.without_session().consolidation == scope.consolidation


@given(standings)
def test_a_standing_survives_the_wire(standing: Standing) -> None:
    assert Standing.from_wire(standing.to_wire()) == standing


def test_nothing_set_is_nothing_written() -> None:
    assert Extension().to_wire() == {}
    assert not Extension()
    assert Extension() == NO_EXTENSION
    assert Scope().to_wire() == {}
    assert Scope() == UNSCOPED


def test_what_equals_its_default_is_not_written() -> None:
    for extension in (
        Extension(value=1),
        Extension(value=1.00001),
        Extension(scope=Scope()),
        Extension(declared=False),
    ):
        assert extension.to_wire() == {}
        assert extension == NO_EXTENSION


def test_a_standing_of_nothing_is_a_standing() -> None:
    assert Extension(standing=Standing()).to_wire() == {"standing": {"good": 0, "bad": 0}}


@given(st.floats(1, 1_000_000))
def test_importance_is_held_with_four_decimals(value: float) -> None:
    extension = Extension(value=value)
    assert math.isclose(extension.value, value, abs_tol=0.00005001)
    wire = extension.to_wire()
    assert (Extension.from_wire(wire).value if wire else 1.0) == extension.value


@pytest.mark.parametrize("value", [0.9999, 0, -1, 1_000_000.0001, 10**400, float("nan"), float("inf")])
def test_importance_has_a_range(value: float) -> None:
    with pytest.raises(errors.RecordValueError, match="value"):
        Extension(value=value)


@pytest.mark.parametrize("value", [None, True, "2", [], {}])
def test_importance_is_a_number(value: Any) -> None:
    with pytest.raises(errors.RecordTypeError, match="value"):
        Extension(value=value)


def test_further_records_are_sorted_and_named_once() -> None:
    extension = Extension(supersedes_also=(SECOND, FIRST, SECOND))
    assert extension.supersedes_also == (FIRST, SECOND)
    assert extension.to_wire() == {"supersedes_also": [FIRST, SECOND]}


@pytest.mark.parametrize("ids", [("x",), ("mem:",), ("mem:" + "A" * 32,), (FIRST + "\n",), ("",)])
def test_further_records_are_ids(ids: tuple[str, ...]) -> None:
    with pytest.raises(errors.RecordError, match="supersedes_also"):
        Extension(supersedes_also=ids)


@pytest.mark.parametrize("ids", [FIRST, 5, None, {FIRST: 1}, b"x"])
def test_further_records_are_a_list(ids: Any) -> None:
    with pytest.raises(errors.RecordTypeError, match="supersedes_also"):
        Extension(supersedes_also=ids)


@pytest.mark.parametrize("name", ["key", "object", "author"])
@pytest.mark.parametrize("value", ["", 5, True, [], {}])
def test_texts_are_non_empty_texts(name: str, value: Any) -> None:
    with pytest.raises(errors.RecordError, match=name):
        Extension(**{name: value})


@pytest.mark.parametrize("name", ["project", "user_id", "agent_id", "session_id"])
@pytest.mark.parametrize("value", ["", 5, True, [], {}])
def test_a_scope_holds_non_empty_texts(name: str, value: Any) -> None:
    with pytest.raises(errors.RecordError, match=name):
        Scope(**{name: value})


@pytest.mark.parametrize("value", [-1, MAX_COUNT + 1])
def test_counts_have_a_range(value: int) -> None:
    for build in (lambda: Standing(good=value), lambda: Standing(bad=value)):
        with pytest.raises(errors.RecordValueError):
            build()


@pytest.mark.parametrize("value", [None, True, 1.0, "1", []])
def test_counts_are_whole_numbers(value: Any) -> None:
    for build in (lambda: Standing(good=value), lambda: Standing(bad=value)):
        with pytest.raises(errors.RecordTypeError):
            build()


@pytest.mark.parametrize(("name", "value"), [("scope", {}), ("scope", None), ("standing", {}), ("declared", 1)])
def test_members_have_their_types(name: str, value: Any) -> None:
    with pytest.raises(errors.RecordTypeError, match=name):
        Extension(**{name: value})


def test_a_change_is_a_new_extension() -> None:
    first = Extension(key="k", author="user")
    second = first.evolve(key=None, value=2)
    assert (first.key, second.key, second.author, second.value) == ("k", None, "user", 2.0)
    with pytest.raises(AttributeError):
        first.key = "other"  # type: ignore[misc]


def test_sessions_share_a_consolidation_scope() -> None:
    one = Scope(project="p", user_id="u", session_id="1")
    two = Scope(project="p", user_id="u", session_id="2")
    assert one.consolidation == two.consolidation == ("p", "u", None)
    assert one.without_session() == two.without_session()

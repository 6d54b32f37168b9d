"""Hypothesis strategies for what a record may hold, all of Unicode included."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from agent_memory import kernel
from agent_memory.extension import MAX_COUNT, Extension, Outcome, Scope, Standing
from agent_memory.records import MemoryRecord, Provenance, RecordState, RecordType, Transition

__all__ = [
    "extensions",
    "ids",
    "json_values",
    "outcomes",
    "plain_records",
    "provenances",
    "records",
    "scopes",
    "standings",
    "texts",
    "times",
    "unknown",
]

_TROUBLE = st.sampled_from(
    [
        "\n\u0303",  # an escape beside a combining mark
        '"\u0301',
        "\\\u0300",
        "\x00\x1f\x7f\u2028\u2029",
        "e\u0301",  # composes
        "\u0958",  # a composition exclusion: decomposes and stays so
        "\u1100\u1161\u11a8",  # Hangul jamo
        "\u212a\u2126\u212b",  # singletons
        "\u0301\u0323",  # marks in the wrong order
        "\u0897\u0301",  # a mark newer than Unicode 14
        "\U0001f389\uff45",  # UTF-16 order is not code point order
        "\u200d\ufeff",
    ]
)
_short = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
texts = st.one_of(_short, _TROUBLE, st.tuples(_short, _TROUBLE, _short).map("".join))
"""Any text that has an encoding."""
_some_text = texts.filter(bool)
_bodies = texts.filter(lambda text: bool(text) and not text.isspace())
ids = st.binary(min_size=16, max_size=16).map(lambda raw: "mem:" + raw.hex())
times = st.datetimes(datetime(1000, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001
_integers = st.one_of(st.integers(), st.integers(-(10**400), 10**400))


def _objects(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(texts, values, max_size=3).filter(lambda found: _distinct(found.keys()))


def _distinct(keys: Any) -> bool:
    """Whether no two keys are equal after normalisation."""
    return len({kernel.nfc(key) for key in keys}) == len(keys)


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), _integers, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), _objects(inner)),
    max_leaves=8,
)
"""Anything canonical JSON can hold."""


_shallow = st.one_of(
    st.none(), _integers, texts, st.lists(texts, max_size=2), st.dictionaries(texts, st.booleans(), max_size=1)
)


def unknown(known: frozenset[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Unknown members beside the ``known`` ones."""
    return st.dictionaries(texts.filter(lambda name: name not in known), _shallow, max_size=2).filter(_distinct)


provenances = st.builds(
    Provenance,
    kind=_some_text,
    ref=st.none() | texts,
    agent=st.none() | texts,
    extra=st.just({}) | unknown(frozenset(("kind", "ref", "agent"))),
)
_plain_provenances = st.builds(Provenance, kind=_some_text, ref=st.none() | texts, agent=st.none() | texts)
scopes = st.builds(
    Scope,
    project=st.none() | _some_text,
    user_id=st.none() | _some_text,
    agent_id=st.none() | _some_text,
    session_id=st.none() | _some_text,
    extra=st.just({}) | unknown(frozenset(("project", "user_id", "agent_id", "session_id"))),
)
standings = st.builds(Standing, st.integers(0, MAX_COUNT), st.integers(0, MAX_COUNT))
outcomes = st.builds(Outcome, at=times, reason=_bodies, by=st.none() | _some_text)


def _extension(standing: Standing | None, outcome: Outcome | None, **members: Any) -> Extension:
    """An outcome is nothing without a standing."""
    return Extension(standing=standing, outcome=None if standing is None else outcome, **members)


extensions = st.builds(
    _extension,
    key=st.none() | _some_text,
    object=st.none() | _some_text,
    value=st.just(1.0) | st.floats(1, 1_000_000),
    scope=st.just(Scope()) | scopes,
    standing=st.none() | standings,
    outcome=st.none() | outcomes,
    author=st.none() | _some_text,
    supersedes_also=st.just(()) | st.lists(ids, max_size=3).map(tuple),
    declared=st.booleans(),
    typed=st.booleans(),
    extra=st.just({}) | unknown(frozenset(Extension.__slots__)),
)


@st.composite
def plain_records(draw: st.DrawFn) -> MemoryRecord:
    """Records that the peer can write too: no extension, nothing unknown inside provenance or transition."""
    return draw(_records(_plain_provenances, st.just(Extension()), st.just({}), st.just({})))


@st.composite
def _records(
    draw: st.DrawFn,
    provenance: st.SearchStrategy[Provenance],
    extension: st.SearchStrategy[Extension],
    transition_extra: st.SearchStrategy[dict[str, Any]],
    extra: st.SearchStrategy[dict[str, Any]],
) -> MemoryRecord:
    kind = draw(st.sampled_from(RecordType))
    is_rule = kind is RecordType.RULE
    born = MemoryRecord.create(
        kind,
        draw(_bodies),
        draw(provenance),
        slots=draw(st.just({}) | st.dictionaries(texts, texts, max_size=3).filter(_distinct)),
        confidence=draw(st.floats(0, 1)),
        evidence=draw(st.lists(ids, min_size=is_rule, max_size=3)),
        supersedes=draw(st.none() | ids),
        tags=draw(st.lists(_some_text, max_size=3)),
        created_at=draw(times),
        occurred_at=draw(st.none() | times),
        extra=draw(extra),
        extension=draw(extension),
    )
    if draw(st.integers(0, 9)) == 0:
        return MemoryRecord.tombstone(born, reason=draw(_bodies), now=draw(times))
    state = draw(st.sampled_from(RecordState))
    later: dict[str, Any] = {"state": state, "updated_at": draw(times), "state_reason": draw(st.none() | texts)}
    other = draw(ids.filter(lambda found: found != born.id))
    if state is RecordState.TRANSITIONAL:
        sides = draw(st.sampled_from([(born.id, other), (other, born.id)]))
        later["transition"] = Transition(sides=sides, reason=draw(_some_text), extra=draw(transition_extra))
    if state is RecordState.SUPERSEDED or (state is RecordState.ARCHIVED and draw(st.booleans())):
        later["superseded_by"] = other
    if is_rule:
        later["flagged"] = draw(st.booleans())
        later["flag_reason"] = draw(st.none() | texts)
    return born.evolve(later)


records = _records(
    provenances,
    st.just(Extension()) | extensions,
    st.just({}) | unknown(frozenset(("sides", "reason"))),
    st.just({}) | unknown(MemoryRecord._KNOWN),
)
"""Any record there can be: every state, every extension member, unknown members at every level, tombstones."""

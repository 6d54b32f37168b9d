"""Plain records: what is told plain is canonical, alive and where it belongs, in both kernels alike."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent_memory import MemoryRecord, Provenance, RecordError, RecordType
from agent_memory._native import plain_record as native
from agent_memory.kernel.reference.plain import plain_record as reference
from agent_memory.wire import parse_json
from strategies import records

_PLAIN = MemoryRecord.create(
    RecordType.FACT, "The café is open.", Provenance(kind="conversation"), tags=["a"], slots={"k": "v"}
)


def _both(data: bytes, record_id: str) -> str | None:
    told = native(data, record_id)
    assert told == reference(data, record_id)
    return told


def _wire(**changes: Any) -> bytes:
    wire = {**json.loads(_PLAIN.canonical_bytes()), **changes}
    return json.dumps(wire, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


@given(records)
def test_what_is_plain_is_a_record_in_its_own_canonical_bytes(record: MemoryRecord) -> None:
    data = record.canonical_bytes()
    born = _both(data, record.id)
    if born is not None:
        assert born == record.model_dump()["created_at"]
        assert MemoryRecord.model_validate(parse_json(data, "it")).canonical_bytes() == data
        assert not record.redacted


@given(records, st.data())
def test_one_byte_changed_is_told_alike(record: MemoryRecord, data: st.DataObject) -> None:
    spelled = bytearray(record.canonical_bytes())
    place = data.draw(st.integers(0, len(spelled) - 1))
    spelled[place] = data.draw(st.integers(0, 255))
    if _both(bytes(spelled), record.id) is not None:
        with contextlib.suppress(RecordError):  # well spelled, of this id, and still no record
            assert MemoryRecord.model_validate(parse_json(bytes(spelled), "it")).canonical_bytes() == bytes(spelled)


@given(st.binary(max_size=60))
def test_any_bytes_are_told_alike(data: bytes) -> None:
    assert _both(data, _PLAIN.id) is None


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)))
def test_unknown_fields_of_any_shape_are_told_alike(value: Any) -> None:
    _both(_wire(zz=value), _PLAIN.id)


def test_what_a_record_is_written_as_is_plain() -> None:
    assert _both(_PLAIN.canonical_bytes(), _PLAIN.id) is not None
    assert _both(_wire(), _PLAIN.id) is not None


def test_what_is_unusual_is_not_plain() -> None:
    data = _PLAIN.canonical_bytes()
    deep: Any = 0
    for _ in range(300):
        deep = [deep]
    unusual = [
        b"",
        b"{}",
        data + b" ",
        b" " + data,
        data[:-1],
        data.replace(b'"body"', b'"\\u0062ody"'),
        data.replace("café".encode(), "cafe\u0301".encode()),
        data.replace("café".encode(), b"caf\\u00e9"),
        data.replace("café".encode(), b"caf\xff"),
        _wire(redacted=True),
        _wire(body="Another text."),
        _wire(id="mem:" + "0" * 32),
        _wire(zz=1.5),
        _wire(zz=10**18),
        _wire(zz=deep),
        _wire(**{"z\nz": 1}),
        _wire(created_at=5),
        data.replace(b'"tags":', b'"tags":[],"tags":'),
    ]
    assert [_both(bytes_, _PLAIN.id) for bytes_ in unusual] == [None] * len(unusual)
    assert _both(data, "mem:" + "0" * 32) is None
    assert _both(data, "") is None

"""The doctor on records taken together: disputes, links, scopes, keys, signatures, and what the peer reads."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import fg_agent_memory as peer
import pytest
from fg_agent_id import KeyPair

from agent_memory import Memory, MemoryRecord, Provenance, archive, begin_transition, supersede
from agent_memory.records import RecordState
from agent_memory.signing import address_of
from contracts import NOON, SECRET, make
from doctor_memories import fill, look, the_one
from plain_store import said, source


@pytest.fixture(params=["memory", "memory.db"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / str(request.param)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "memory"


def test_a_hanging_dispute(place: Path) -> None:
    first, second = make("first"), make("second", minute=1)
    left, right = begin_transition(first, second, reason="they clash")
    fill(place, left, right)
    assert look(place) == []
    fill(place, archive(right, reason="gone"))
    found = the_one(place)
    assert found.kind == "dispute"
    assert second.id in found.what
    with Memory(place) as memory:
        memory.consolidate()
    assert look(place) == []


def test_a_dispute_with_a_record_that_is_not_there(place: Path) -> None:
    left, _ = begin_transition(make("first"), make("second", minute=1), reason="they clash")
    fill(place, left)
    assert the_one(place).kind == "dispute"


def test_links_that_lead_nowhere_are_notes(place: Path) -> None:
    old = make("old")
    new = make("new", minute=1).evolve({"supersedes": old.id})
    fill(
        place,
        new,
        supersede(
            make("other", minute=2), make("x", minute=3).evolve({"supersedes": make("other", minute=2).id}), reason="r"
        ),
    )
    found = look(place)
    assert [finding.kind for finding in found] == ["lineage", "lineage"]
    assert all(finding.note for finding in found)
    assert any(old.id in finding.what for finding in found)


def test_links_that_lead_in_a_circle(place: Path) -> None:
    a, b, c = (make(name, minute=minute) for minute, name in enumerate("abc"))
    fill(
        place,
        a.evolve({"state": RecordState.SUPERSEDED, "superseded_by": b.id}),
        b.evolve({"state": RecordState.SUPERSEDED, "superseded_by": a.id}),
        c.evolve({"state": RecordState.SUPERSEDED, "superseded_by": a.id}),
    )
    found = look(place)
    assert [(finding.kind, finding.note) for finding in found] == [("lineage", False)] * 2


def test_merges_that_do_not_say_whose_they_are(place: Path) -> None:
    made_by = Provenance(kind="consolidation")
    mine, yours, nobodys = said("mine", user_id="me"), said("yours", user_id="you"), said("nobody's")
    clean = said("from nobody's", by=made_by, evidence=(nobodys.id,))
    own = said("scoped", by=made_by, evidence=(mine.id,), user_id="me")
    fill(place, mine, yours, nobodys, clean, own)
    assert look(place) == []
    lone = said("from mine", by=made_by, evidence=(mine.id,))
    fill(place, lone)
    found = the_one(place)
    assert (found.kind, lone.id.removeprefix("mem:") in found.where) == ("scope", True)
    mixed = said("from both", by=made_by, evidence=(mine.id, yours.id))
    fill(place, archive(lone, reason="x"), mixed)
    assert {finding.kind for finding in look(place)} == {"scope"}
    assert any("several" in finding.what for finding in look(place))


def test_a_merge_of_what_was_erased_is_no_finding(place: Path) -> None:
    mine = said("mine", user_id="me")
    merged = said("merged", by=Provenance(kind="consolidation"), evidence=(mine.id,))
    fill(place, MemoryRecord.tombstone(mine, reason="asked for"), merged)
    assert look(place) == []


def test_two_records_that_stand_under_one_key(place: Path) -> None:
    first, second = said("first", key="a::b"), said("second", key="a::b", days=1)
    fill(place, first, said("elsewhere", key="a::b", user_id="u"), said("retired", key="a::b", days=2))
    fill(place, archive(said("retired", key="a::b", days=2), reason="r"))
    assert look(place) == []
    fill(place, second)
    found = look(place)
    assert [finding.kind for finding in found] == ["key", "key"]
    assert all(first.id in finding.what and second.id in finding.what for finding in found)
    assert "a::b" not in repr(found)


def test_the_two_sides_of_a_dispute_may_share_a_key(place: Path) -> None:
    first, second = said("first", key="a::b"), said("second", key="a::b", days=1)
    fill(place, *begin_transition(first, second, reason="both were loaded"))
    assert look(place) == []


def test_signatures_that_do_not_verify(place: Path) -> None:
    keys = KeyPair.generate()
    address = address_of(keys)
    sound, changed, half, odd = (said(name, days=days).sign(keys, address) for days, name in enumerate("abcd"))
    bad = [
        changed.model_copy({"tags": ("added",)}),
        half.model_copy({"signature": ""}),
        odd.model_copy({"signed_by": "amp:key:nonsense"}),
    ]
    fill(place, sound, *bad)
    found = look(place)
    assert [finding.kind for finding in found] == ["signature"] * 3
    assert all(any(record.id.removeprefix("mem:") in finding.where for finding in found) for record in bad)


@pytest.mark.parametrize("text", ["a\n\u0303b", "tab\t\u0308x", "\x1f\u0307", "\r\u0301"])
def test_what_the_peer_cannot_read(place: Path, text: str) -> None:
    record = make(f"{SECRET} {text}")
    fill(place, record, make("plain é 東京 “quoted”", minute=1))
    found = the_one(place)
    assert (found.kind, found.repairable) == ("peer", False)
    theirs = peer.FileRecordStore(place / "records") if place.is_dir() else peer.SQLiteRecordStore(place)
    with pytest.raises(peer.AgentMemoryError):
        theirs.get(record.id)


def test_a_number_too_long_for_the_peer(folder: Path) -> None:
    fill(folder, make("n", extra={"n": 10**5000}), make("9" * 5000, minute=1))
    assert the_one(folder).kind == "peer"


def test_what_the_peer_reads_is_no_finding(place: Path) -> None:
    marks = [make(f"q{quote}\u0301\u0300\u0303", minute=n, tags=("a\\\u0300",)) for n, quote in enumerate('"\\/')]
    scoped = said("with all of ours", key="k", object="o", value=3.5, user_id="u", author="me")
    fill(place, *marks, scoped, said("late", days=365_000), said("early", created_at=NOON - timedelta(days=370_000)))
    assert look(place) == []
    theirs = peer.FileRecordStore(place / "records") if place.is_dir() else peer.SQLiteRecordStore(place)
    assert len(theirs.list()) == 6


def test_old_versions_are_read_too(place: Path) -> None:
    record = said("x")
    fill(place, record.model_copy({"signed_by": "amp:key:x", "signature": "AA=="}), record)
    found = the_one(place)
    assert found.kind == "signature"
    assert "1" in found.where


def test_the_source_of_a_record_is_not_quoted(place: Path) -> None:
    fill(
        place, said("x", by=source(SECRET), key=SECRET, object=SECRET, tags=(SECRET,)), said(SECRET, key=SECRET, days=1)
    )
    assert [finding.kind for finding in look(place)] == ["key", "key"]

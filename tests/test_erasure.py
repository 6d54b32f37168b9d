"""Redaction: content gone everywhere it spread, and nobody else's memory gone with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_memory import (
    AgentMemoryError,
    Extension,
    InMemoryRecordStore,
    Memory,
    MemoryRecord,
    Provenance,
    RecordError,
    RecordState,
    RecordType,
    StoreError,
    archive,
    begin_transition,
    supersede,
)

SECRET = "The prod key is sk-live-abc123 for everyone"


def fact(body: str, *evidence: str) -> MemoryRecord:
    return MemoryRecord.create(RecordType.FACT, body, Provenance(kind="conversation"), evidence=evidence)


@pytest.mark.parametrize("place", ["memory", "memory.db"])
def test_a_redacted_text_is_in_no_file_of_the_memory(tmp_path: Path, place: str) -> None:
    with Memory(tmp_path / place, auto_consolidate=False) as memory:
        record_id = str(memory.remember(SECRET, tags=["sk-live-tag"], source="sk-live-source").record_id)
        memory.remember(SECRET, tags=["more"], source="sk-live-source")
        memory.recall("prod key")
        tombstone = memory.redact(record_id, "leaked credential")
        assert tombstone.redacted
        assert tombstone.redaction_reason == "leaked credential"
        assert memory.recall("prod key", include_history=True, include_archived=True).ids == ()
        assert len(memory.history(record_id)) == 2
        for path in tmp_path.rglob("*"):
            if path.is_file():
                assert b"sk-live" not in path.read_bytes(), path
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert b"sk-live" not in path.read_bytes(), path


def test_what_was_drawn_from_a_redacted_record_goes_with_it() -> None:
    store = InMemoryRecordStore()
    first = fact(SECRET)
    summary = fact("A summary of the key.", first.id)
    about = fact("A note about the summary.", summary.id)
    rule = MemoryRecord.create(RecordType.RULE, "Rotate keys.", Provenance(kind="consolidation"), evidence=(about.id,))
    other = fact("Nothing to do with it.")
    store.put_many([first, summary, about, rule, other])
    memory = Memory(store=store)
    memory.redact(first.id, "leaked")
    assert [memory.get(record.id).redacted for record in (first, summary, about, rule, other)] == [True] * 4 + [False]


def test_without_cascade_only_the_record_itself_goes() -> None:
    store = InMemoryRecordStore()
    first = fact(SECRET)
    summary = fact("A summary.", first.id)
    store.put_many([first, summary])
    memory = Memory(store=store)
    memory.redact(first.id, "leaked", cascade=False)
    assert (memory.get(first.id).redacted, memory.get(summary.id).redacted) == (True, False)


def test_the_other_side_of_a_redacted_dispute_returns_to_active() -> None:
    memory = Memory(None, auto_consolidate=False)
    a = str(memory.remember("The deploy needs approval.").record_id)
    b = str(memory.remember("The deploy needs no approval.").record_id)
    memory.consolidate()
    memory.redact(a, "said in confidence")
    assert memory.get(b).state is RecordState.ACTIVE
    assert memory.status()["open_contradictions"] == 0


def test_what_another_source_said_survives_the_erasure_of_a_merge() -> None:
    memory = Memory(None, auto_consolidate=False)
    alice = str(memory.remember("Sandro prefers small focused files.", source="alice", tags=["style"]).record_id)
    bob = str(memory.remember("Sandro prefers small, focused files!", source="bob").record_id)
    memory.consolidate()
    merged = memory.get(str(memory.get(alice).superseded_by))
    assert set(merged.evidence) == {alice, bob}
    memory.redact(bob, "bob asked for it")
    assert [memory.get(record_id).redacted for record_id in (bob, merged.id, alice)] == [True, True, False]
    live = memory.list(state=RecordState.ACTIVE)
    assert [(record.body, record.provenance.ref, record.tags) for record in live] == [
        ("Sandro prefers small focused files.", "alice", ("style",))
    ]
    assert live[0].evidence == (alice,)
    assert memory.recall("sandro files").ids == (live[0].id,)


def test_copies_of_one_source_are_erased_together() -> None:
    memory = Memory(None, auto_consolidate=False)
    ids = [
        str(memory.remember(text, source="bob").record_id)
        for text in ("Bob prefers small focused files.", "Bob prefers small, focused files!")
    ]
    memory.consolidate()
    memory.redact(ids[0], "bob asked for it")
    assert all(record.redacted for record in memory.list())


def test_an_unkeyed_copy_folded_into_a_keyed_record_is_erased_with_it() -> None:
    store = InMemoryRecordStore()
    said = Provenance(kind="conversation", ref="bob")
    keyed = MemoryRecord.create("fact", "Bob prefers small focused files.", said, extension=Extension(key="bob::files"))
    loose = MemoryRecord.create("fact", "Bob prefers small, focused files!", said)
    store.put_many([keyed, loose])
    memory = Memory(store=store)
    memory.consolidate()
    assert memory.get(loose.id).superseded_by == keyed.id
    memory.redact(keyed.id, "bob asked for it")
    assert [memory.get(record.id).redacted for record in (keyed, loose)] == [True, True]


@pytest.mark.parametrize("kind", ["conversation", "correction"])
def test_what_a_keyed_correction_replaced_is_not_erased_with_it(kind: str) -> None:
    bobs = MemoryRecord.create("fact", "The office is in Cork.", Provenance(kind="conversation", ref="bob"))
    alices = MemoryRecord.create(
        "fact",
        "The office is in Dublin.",
        Provenance(kind=kind, ref="alice"),
        supersedes=bobs.id,
        extension=Extension(key="office::city"),
    )
    store = InMemoryRecordStore()
    store.put_many([bobs, alices, supersede(bobs, alices, reason="moved")])
    memory = Memory(store=store, auto_consolidate=False)
    memory.redact(alices.id, "alice asked for it")
    assert [memory.get(record.id).redacted for record in (alices, bobs)] == [True, False]
    (live,) = memory.list(state=RecordState.ACTIVE)
    assert (live.body, live.provenance.ref, live.evidence) == (bobs.body, "bob", (bobs.id,))


def test_an_erasure_leaves_no_half_dispute_behind() -> None:
    said = [fact("The deploy is safe."), fact("The deploy is risky.")]
    side, gone = begin_transition(*said, reason="clash")
    store = InMemoryRecordStore()
    store.put_many([side, archive(gone, reason="by a program that left the other side in dispute")])
    memory = Memory(store=store, auto_consolidate=False)
    memory.redact(gone.id, "said in confidence")
    healed = memory.get(side.id)
    assert healed.state is RecordState.ACTIVE
    assert gone.id in str(healed.state_reason)


def test_a_corrected_value_is_not_erased_with_its_correction() -> None:
    memory = Memory(None, auto_consolidate=False)
    a = str(memory.remember("The staging database is Postgres.", source="x").record_id)
    b = str(memory.remember("The staging database is MySQL.", source="y").record_id)
    memory.consolidate()
    memory.resolve(a, b, "ticket")
    memory.redact(b, "wrong place")
    assert not memory.get(a).redacted
    assert [record.body for record in memory.list(state=RecordState.ACTIVE)] == ["The staging database is Postgres."]


def test_redaction_is_final_and_needs_a_reason_and_a_store_that_can(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "memory")
    record_id = str(memory.remember(SECRET).record_id)
    with pytest.raises(ValueError, match="reason"):
        memory.redact(record_id, " ")
    memory.redact(record_id, "once")
    with pytest.raises(RecordError, match="already"):
        memory.redact(record_id, "twice")
    with pytest.raises(StoreError, match="unknown"):
        memory.redact("mem:" + "0" * 32, "nothing there")
    with pytest.raises(AgentMemoryError):
        memory.store.put(memory.history(record_id)[0].model_copy({"redaction_reason": "other"}))

    class Bare(InMemoryRecordStore):
        redact = None  # type: ignore[assignment]

    bare = Memory(store=Bare())
    held = str(bare.remember("Held hostage.").record_id)
    with pytest.raises(StoreError, match="redact"):
        bare.redact(held, "cannot")


def test_a_redacted_text_may_be_remembered_anew() -> None:
    memory = Memory(None)
    first = str(memory.remember("Say it again.").record_id)
    memory.redact(first, "too early")
    again = memory.remember("Say it again.")
    assert not again.deduped
    assert again.record_id != first


def test_an_export_holds_the_tombstone_only(tmp_path: Path) -> None:
    memory = Memory(None, identity=tmp_path / "key")
    record_id = str(memory.remember(SECRET).record_id)
    memory.redact(record_id, "leaked")
    memory.export(tmp_path / "brain.json")
    assert b"sk-live" not in (tmp_path / "brain.json").read_bytes()
    assert Memory.load(tmp_path / "brain.json").get(record_id).redacted


def episodes(memory: Memory, count: int) -> list[str]:
    return [
        str(memory.remember(f"Deploy {day} failed.", mtype="episodic", tags=["deploy", "failure"]).record_id)
        for day in range(count)
    ]


def test_a_rule_that_stood_is_drawn_again_from_the_episodes_that_survive() -> None:
    memory = Memory(None, auto_consolidate=False)
    ids = episodes(memory, 5)
    memory.consolidate()
    (rule,) = memory.list(type=RecordType.RULE)
    memory.redact(ids[0], "asked to")
    assert memory.get(rule.id).redacted
    (again,) = memory.list(type=RecordType.RULE, state=RecordState.ACTIVE)
    assert set(again.evidence) == set(ids[1:])
    assert (again.tags, again.body) == (rule.tags, rule.body)
    assert memory.consolidate().actions == ()


def test_a_rule_is_not_drawn_again_from_too_few() -> None:
    memory = Memory(None, auto_consolidate=False)
    ids = episodes(memory, 3)
    memory.consolidate()
    memory.redact(ids[0], "asked to")
    assert memory.consolidate().actions == ()
    assert memory.list(type=RecordType.RULE, state=RecordState.ACTIVE) == ()


def test_a_rule_that_had_been_retired_stays_so() -> None:
    store = InMemoryRecordStore()
    memory = Memory(store=store, auto_consolidate=False)
    ids = episodes(memory, 5)
    memory.consolidate()
    (rule,) = memory.list(type=RecordType.RULE)
    store.put(archive(rule, reason="nobody wants it"))
    memory.redact(ids[0], "asked to")
    assert memory.consolidate().actions == ()
    assert memory.list(type=RecordType.RULE, state=RecordState.ACTIVE) == ()

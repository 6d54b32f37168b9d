"""A memory pinned to a scope: what it stamps, what it shows, what it refuses, and how."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_memory import (
    AgentMemoryError,
    ArgumentError,
    ArgumentTypeError,
    ConsolidationOperators,
    DecayConfig,
    Extension,
    HeuristicContradictionOperator,
    InMemoryRecordStore,
    Memory,
    MemoryFile,
    MemoryRecord,
    Operator,
    Proposal,
    ProposalKind,
    Provenance,
    RecordState,
    RecordType,
    RememberResult,
    Scope,
    StoreError,
    TrigramNearDupOperator,
    begin_transition,
)
from agent_memory.pinned import EVERYTHING, Pinned
from agent_memory.pipeline import Candidates
from agent_memory.records import Transition
from agent_memory.view import View
from plain_store import T0, said

FIELDS = ("project", "user_id", "agent_id")


@pytest.fixture
def store() -> Iterator[InMemoryRecordStore]:
    held = InMemoryRecordStore()
    yield held
    held.close()


def opened(store: InMemoryRecordStore, **more: Any) -> Memory:
    return Memory(store=store, auto_consolidate=False, **more)


def only(memory: Memory, query: str, **more: Any) -> list[str]:
    return [item.record.body for item in memory.recall(query, **more)]


def born(store: InMemoryRecordStore, result: RememberResult | AgentMemoryError) -> MemoryRecord:
    assert isinstance(result, RememberResult)
    assert result.record_id is not None
    return store.get(result.record_id)


class TestStamping:
    def test_what_a_pinned_memory_writes_has_every_pinned_field(self, store: InMemoryRecordStore) -> None:
        memory = opened(store, project="p", user_id="u", agent_id="a", session_id="s")
        scope = Scope(project="p", user_id="u", agent_id="a", session_id="s")
        assert born(store, memory.remember("One.")).scope == scope
        (many,) = memory.remember_many([{"text": "Two."}])
        assert born(store, many).scope == scope

    def test_a_call_may_name_what_is_not_pinned(self, store: InMemoryRecordStore) -> None:
        memory = opened(store, project="p")
        record = born(store, memory.remember("One.", user_id="u", session_id="s"))
        assert record.scope == Scope(project="p", user_id="u", session_id="s")

    def test_naming_the_pinned_value_again_is_no_contradiction(self, store: InMemoryRecordStore) -> None:
        memory = opened(store, user_id="e\u0301")
        assert born(store, memory.remember("One.", user_id="\u00e9")).scope.user_id == "\u00e9"

    def test_an_unpinned_memory_stamps_nothing(self, store: InMemoryRecordStore) -> None:
        assert "agent_memory" not in born(store, opened(store).remember("One.")).model_dump()

    def test_an_extractor_cannot_write_for_somebody_else(self, store: InMemoryRecordStore) -> None:
        class ForBob(Operator):
            def propose(self, text: str, provenance: Provenance) -> tuple[Proposal, ...]:
                return tuple(
                    Proposal(
                        kind=ProposalKind.CREATE,
                        record=MemoryRecord.create(
                            RecordType.FACT, text, provenance, extension=Extension(scope=Scope(user_id=user))
                        ),
                    )
                    for user in ("bob", "alice")
                )

        report = opened(store, user_id="alice", extractor=ForBob()).remember("The locker is blue.").ingest
        assert len(report.accepted) == 1
        assert "user_id" in report.rejected[0].error
        assert [record.scope.user_id for record in store.list()] == ["alice"]

    def test_equal_texts_of_two_users_are_two_records_even_when_born_together(
        self, store: InMemoryRecordStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("agent_memory.records.now_utc", lambda: T0)
        made = [opened(store, user_id=user).remember("The locker is blue.") for user in ("alice", "bob")]
        assert [result.deduped for result in made] == [False, False]
        assert len({result.record_id for result in made}) == 2


class TestRefusing:
    @pytest.mark.parametrize("name", ["user_id", "agent_id", "session_id"])
    def test_a_write_that_contradicts_a_pin_is_refused_and_names_the_field_and_both(
        self, store: InMemoryRecordStore, name: str
    ) -> None:
        memory = opened(store, **{name: "mine"})
        with pytest.raises(ArgumentError, match=rf"pinned to {name} 'mine'.*'other'.*leave {name} out"):
            memory.remember("One.", **{name: "other"})
        (refused,) = memory.remember_many([{"text": "One.", name: "other"}])
        assert isinstance(refused, ArgumentError)
        assert store.list() == ()

    @pytest.mark.parametrize("name", ["user_id", "agent_id"])
    def test_a_read_that_contradicts_a_pin_is_refused(self, store: InMemoryRecordStore, name: str) -> None:
        memory = opened(store, **{name: "mine"})
        for call in (lambda **more: memory.recall("x", **more), memory.list):
            with pytest.raises(ArgumentError, match=name):
                call(**{name: "other"})

    def test_an_error_repeats_no_more_than_the_beginning_of_an_argument(self, store: InMemoryRecordStore) -> None:
        with pytest.raises(ArgumentError) as caught:
            opened(store, user_id="mine").recall("x", user_id="y" * 1_000_000)
        assert len(str(caught.value)) < 400

    @pytest.mark.parametrize("name", ["project", "user_id", "agent_id", "session_id"])
    @pytest.mark.parametrize("wrong", [5, "", "  ", b"x", ["x"], "\ud800", True])
    def test_a_pin_that_is_no_text_is_refused_by_name(
        self, store: InMemoryRecordStore, name: str, wrong: object
    ) -> None:
        with pytest.raises(ArgumentError, match=name):
            opened(store, **{name: wrong})

    @pytest.mark.parametrize("wrong", [5, "", "\ud800", ["x"]])
    def test_a_wrong_argument_of_a_recall_is_refused_by_name(self, store: InMemoryRecordStore, wrong: Any) -> None:
        for name in ("user_id", "agent_id", "session_id"):
            with pytest.raises(ArgumentError, match=name):
                opened(store).recall("x", **{name: wrong})

    @pytest.mark.parametrize("wrong", ["user_id", 5, None])
    def test_required_fields_are_a_list(self, store: InMemoryRecordStore, wrong: Any) -> None:
        with pytest.raises(ArgumentTypeError, match="require_scope"):
            opened(store, require_scope=wrong)

    @pytest.mark.parametrize("wrong", ["session_id", "user", 5])
    def test_only_fields_that_keep_apart_can_be_required(self, store: InMemoryRecordStore, wrong: Any) -> None:
        with pytest.raises(ArgumentError, match="project, user_id, agent_id"):
            opened(store, require_scope=[wrong])

    def test_a_required_project_has_to_be_pinned_for_no_call_can_name_it(self, store: InMemoryRecordStore) -> None:
        with pytest.raises(ArgumentError, match="project"):
            opened(store, require_scope=["project"])
        assert opened(store, require_scope=["project"], project="p").list() == ()


class TestRequiring:
    def test_a_call_that_leaves_it_out_is_refused_and_told_what_to_do(self, store: InMemoryRecordStore) -> None:
        memory = opened(store, require_scope=["user_id"])
        with pytest.raises(ArgumentError, match=r"requires user_id; name it .*, or open the memory with it"):
            memory.remember("One.")
        made = memory.remember("The locker is blue.", user_id="alice").record_id
        assert made is not None
        refusals = [
            lambda: memory.recall("locker"),
            memory.list,
            memory.status,
            memory.similar,
            lambda: memory.get(made),
            lambda: memory.history(made),
            lambda: memory.history(key="k"),
            lambda: memory.redact(made, "r"),
            lambda: memory.resolve(made, "mem:" + "0" * 32, "r"),
            lambda: memory.credit(made),
            lambda: memory.slash("s", "r"),
            lambda: memory.retire(made, "r"),
            lambda: memory.revert("k"),
        ]
        for call in refusals:
            with pytest.raises(ArgumentError, match="user_id"):
                call()
        assert store.get(made).state is RecordState.ACTIVE
        assert only(memory, "locker", user_id="alice") == ["The locker is blue."]
        assert only(memory, "locker", user_id="bob") == []
        assert memory.get(made, user_id="alice").id == made
        assert len(memory.list(user_id="alice")) == 1

    def test_upkeep_does_without(self, store: InMemoryRecordStore) -> None:
        memory = opened(store, require_scope=["user_id"])
        memory.consolidate()
        memory.decay()

    def test_a_pin_satisfies_it(self, store: InMemoryRecordStore) -> None:
        memory = opened(store, user_id="alice", require_scope=["user_id"])
        memory.remember("The locker is blue.")
        assert len(memory.list()) == 1


class TestSessions:
    def test_sessions_share_their_memory_and_a_recall_that_names_one_filters(self, store: InMemoryRecordStore) -> None:
        first, second = opened(store, session_id="1"), opened(store, session_id="2")
        first.remember("The locker is blue.")
        second.remember("The locker is tall.")
        opened(store).remember("The locker is old.")
        assert sorted(only(first, "locker")) == ["The locker is blue.", "The locker is old.", "The locker is tall."]
        assert sorted(only(first, "locker", session_id="2")) == ["The locker is old.", "The locker is tall."]
        assert len(first.list()) == 3


class TestKeys:
    def test_one_key_of_two_users_and_two_projects_is_four_keys(self, store: InMemoryRecordStore) -> None:
        places = [{"project": p, "user_id": u} for p in ("p", "q") for u in ("alice", "bob")]
        memories = [opened(store, **place) for place in places]
        for number, memory in enumerate(memories):
            memory.remember(f"The port is 800{number}.", key="api::port", object=f"800{number}")
        for number, memory in enumerate(memories):
            memory.remember(f"The port is 900{number}.", key="api::port", object=f"900{number}")
            memory.consolidate(full=True)
        for number, memory in enumerate(memories):
            assert only(memory, "port") == [f"The port is 900{number}."]
            assert {record.object for record in memory.list()} == {f"800{number}", f"900{number}"}
            assert {record.object for record in memory.history(key="api::port")} == {f"800{number}", f"900{number}"}
            assert "80" + f"0{number}" not in [item.record.object for item in memory.recall("port")]
        memories[0].revert("api::port")
        assert only(memories[0], "port") == ["The port is 8000."]
        for number, memory in enumerate(memories[1:], 1):
            assert only(memory, "port") == [f"The port is 900{number}."]
        memories[1].retire(key="api::port", reason="closed")
        assert only(memories[1], "port") == []
        assert only(memories[2], "port") == ["The port is 9002."]

    def test_the_most_specific_value_of_a_key_wins(self, store: InMemoryRecordStore) -> None:
        opened(store).remember("The editor is Vim.", key="team::editor", object="Vim")
        opened(store, project="p").remember("The editor is Emacs.", key="team::editor", object="Emacs")
        opened(store, project="p", user_id="alice").remember("The editor is Ed.", key="team::editor", object="Ed")
        assert only(opened(store, project="p", user_id="alice"), "editor") == ["The editor is Ed."]
        assert only(opened(store, project="p", user_id="bob"), "editor") == ["The editor is Emacs."]
        assert only(opened(store, project="q"), "editor") == ["The editor is Vim."]
        assert only(opened(store, project="p"), "editor", user_id="alice") == ["The editor is Ed."]

    def test_a_value_in_no_narrower_scope_hides_nothing(self, store: InMemoryRecordStore) -> None:
        opened(store, project="p").remember("The editor is Emacs.", key="team::editor", object="Emacs")
        opened(store, user_id="alice").remember("The editor is Ed.", key="team::editor", object="Ed")
        assert len(only(opened(store, project="p", user_id="alice"), "editor")) == 2

    def test_a_narrower_value_hides_the_same_within_one_session(self, store: InMemoryRecordStore) -> None:
        opened(store).remember("The editor is Vim.", key="team::editor", object="Vim")
        opened(store, user_id="alice", session_id="1").remember("The editor is Ed.", key="team::editor", object="Ed")
        alice = opened(store, user_id="alice")
        assert only(alice, "editor") == ["The editor is Ed."]
        assert only(alice, "editor", session_id="2") == ["The editor is Vim."]

    def test_a_value_that_was_let_go_hides_nothing(self, store: InMemoryRecordStore) -> None:
        opened(store).remember("The editor is Vim.", key="team::editor", object="Vim")
        alice = opened(store, user_id="alice")
        alice.remember("The editor is Ed.", key="team::editor", object="Ed")
        alice.retire(key="team::editor", reason="no more")
        assert only(alice, "editor") == ["The editor is Vim."]


class TestTending:
    @pytest.fixture
    def two(self, store: InMemoryRecordStore) -> tuple[Memory, Memory]:
        users = opened(store, user_id="alice"), opened(store, user_id="bob")
        for memory in users:
            for day in ("Monday", "Tuesday", "Friday"):
                memory.remember(f"The deploy failed on {day}.", mtype="episode", tags=["deploy"])
            memory.remember("The staging database is Postgres.")
            memory.remember("The staging database is MySQL.")
            memory.remember("The office has a coffee machine.", source="a")
            memory.remember("The office has the coffee machine.", source="b")
        return users

    def test_consolidation_touches_nothing_outside(
        self, store: InMemoryRecordStore, two: tuple[Memory, Memory]
    ) -> None:
        alice, bob = two
        others = {record.id: store.history(record.id) for record in bob.list()}
        report = alice.consolidate()
        assert {action.pass_name for action in report.actions} >= {"dedup.near", "contradiction", "promotion"}
        assert {record.id: store.history(record.id) for record in bob.list()} == others
        named = {record_id for action in report.actions for record_id in (*action.record_ids, *action.related)}
        assert named.isdisjoint(others)
        assert not alice.consolidate(full=True).actions
        assert bob.consolidate().actions
        assert not opened(store).consolidate(full=True).actions

    def test_no_operator_is_shown_what_is_outside(self, store: InMemoryRecordStore, two: tuple[Memory, Memory]) -> None:
        seen: set[str | None] = set()

        class Watching(TrigramNearDupOperator):
            candidates = Candidates.RELATED

            def propose_merge(self, a: MemoryRecord, b: MemoryRecord, **more: Any) -> None:
                seen.update((a.scope.user_id, b.scope.user_id))

        operators = ConsolidationOperators(near_dup=Watching(), contradiction=HeuristicContradictionOperator())
        opened(store, user_id="alice", operators=operators).consolidate(full=True)
        assert seen == {"alice"}

    def test_a_dispute_that_hangs_outside_is_left_to_its_own(self, store: InMemoryRecordStore) -> None:
        partner = "mem:" + "b" * 32
        sides = [said(f"Of {user}.", user_id=user) for user in ("alice", "bob")]
        for side in sides:
            transition = Transition(sides=(side.id, partner), reason="x")
            store.put(side.evolve({"state": "transitional", "transition": transition}))
        opened(store, user_id="alice").consolidate(full=True)
        assert [store.get(side.id).state.value for side in sides] == ["active", "transitional"]

    def test_a_rule_outside_is_not_swept_though_its_evidence_is_everybodys(self, store: InMemoryRecordStore) -> None:
        shared = said("Everybody's.").evolve({"state": "archived"})
        rules = [
            said(f"Always, says {user}.", kind=RecordType.RULE, evidence=[shared.id], user_id=user)
            for user in ("alice", "bob")
        ]
        store.put_many([shared, *rules])
        opened(store, user_id="alice").consolidate(full=True)
        assert [store.get(rule.id).flagged for rule in rules] == [True, False]

    def test_what_hangs_on_a_tombstone_of_nobody_stays_with_whom_it_belongs_to(
        self, store: InMemoryRecordStore
    ) -> None:
        stone = MemoryRecord.tombstone(said("Gone."), reason="x")
        part, copy = said("A part.", project="q"), said("It is whole.", project="q", days=1)
        merge = MemoryRecord.create(
            RecordType.FACT, "It is whole.", Provenance(kind="consolidation"), evidence=[stone.id, part.id]
        )
        store.put_many([stone, part, copy, merge])
        assert opened(store, project="p").consolidate(full=True).actions == ()
        assert opened(store, project="q").consolidate(full=True).actions

    def test_decay_archives_nothing_outside_and_protects_for_all(self, store: InMemoryRecordStore) -> None:
        mine, other = (said(f"Of {user}.", user_id=user) for user in ("alice", "bob"))
        shared = said("Everybody's.")
        rule = said("Always.", kind=RecordType.RULE, evidence=[shared.id], user_id="bob")
        store.put_many([mine, other, shared, rule])
        config = DecayConfig(half_life_days=0.001)
        report = opened(store, user_id="alice", decay_config=config).decay()
        assert [action.record_ids for action in report.archived] == [(mine.id,)]
        assert [action.record_ids for action in report.protected] == [(shared.id,)]
        assert set(report.saliences) == {mine.id, shared.id}

    def test_a_dispute_outside_cannot_be_resolved_nor_a_record_redacted(self, store: InMemoryRecordStore) -> None:
        sides = begin_transition(said("It is up.", user_id="bob"), said("It is down.", user_id="bob"), reason="x")
        store.put_many(sides)
        alice = opened(store, user_id="alice")
        for call in (
            lambda: alice.resolve(sides[0].id, sides[1].id, "mine"),
            lambda: alice.redact(sides[0].id, "mine"),
            lambda: alice.credit(sides[0].id),
            lambda: alice.retire(sides[0].id, "mine"),
            lambda: alice.get(sides[0].id),
            lambda: alice.history(sides[0].id),
        ):
            with pytest.raises(StoreError, match="unknown record id"):
                call()
        assert store.list() == sides

    def test_an_unknown_id_and_one_outside_are_answered_alike(self, store: InMemoryRecordStore) -> None:
        outside = said("Of bob.", user_id="bob")
        store.put(outside)
        unknown = "mem:" + "0" * 32
        alice = opened(store, user_id="alice")
        for call in (alice.get, alice.history, lambda record_id: alice.redact(record_id, "r"), alice.credit):
            told = []
            for record_id in (outside.id, unknown):
                with pytest.raises(StoreError) as caught:
                    call(record_id)
                told.append(str(caught.value).replace(record_id, "ID"))
            assert told[0] == told[1]

    def test_a_redaction_follows_lineage_outside_and_a_tombstone_is_nobodys(self, store: InMemoryRecordStore) -> None:
        mine = said("My code is 1234.", user_id="alice")
        drawn = said("Alice's code is 1234.", evidence=[mine.id], user_id="bob")
        store.put_many([mine, drawn])
        alice = opened(store, user_id="alice")
        assert alice.redact(mine.id, "asked to").redacted
        assert store.get(drawn.id).redacted
        assert alice.list() == opened(store, user_id="bob").list() == ()
        assert len(opened(store).list()) == 2


class TestMoving:
    def test_an_export_holds_what_may_be_seen(self, store: InMemoryRecordStore, tmp_path: Path) -> None:
        for user in ("alice", "bob"):
            opened(store, user_id=user).remember(f"The locker of {user} is blue.")
        opened(store).remember("The office has lockers.")
        file = opened(store, user_id="alice").export(tmp_path / "x.json")
        assert sorted(record.scope.user_id or "" for record in file.records) == ["", "alice"]
        assert b"bob" not in (tmp_path / "x.json").read_bytes()

    def test_a_load_takes_what_has_the_pinned_fields_and_counts_the_rest(
        self, store: InMemoryRecordStore, tmp_path: Path
    ) -> None:
        scopes: list[dict[str, Any]] = [
            {"user_id": "alice", "project": "p"},
            {"user_id": "bob"},
            {},
            {"user_id": "alice"},
        ]
        records = [said(f"Number {number}.", **scope) for number, scope in enumerate(scopes)]
        path = tmp_path / "x.json"
        path.write_bytes(MemoryFile.create(records).canonical_bytes())
        memory = opened(store, user_id="alice")
        report = memory.load_file(path, verify=False)
        assert report.loaded == tuple(sorted((records[0].id, records[3].id)))
        assert (report.outside, report.skipped) == (2, ())
        assert opened(InMemoryRecordStore()).load_file(path, verify=False).outside == 0

    def test_a_load_answers_nothing_about_an_id_held_outside(self, store: InMemoryRecordStore, tmp_path: Path) -> None:
        record = said("Twice.", user_id="bob")
        store.put(record)
        path = tmp_path / "x.json"
        path.write_bytes(MemoryFile.create([record.model_copy({"scope": Scope(user_id="alice")})]).canonical_bytes())
        report = opened(store, user_id="alice").load_file(path, verify=False)
        assert (report.loaded, report.skipped, report.collisions, report.outside) == ((), (), (), 1)

    def test_half_a_dispute_that_is_loaded_pulls_nobody_else_in(
        self, store: InMemoryRecordStore, tmp_path: Path
    ) -> None:
        other = said("It is up.", user_id="bob")
        store.put(other)
        half = said("It is down.", user_id="alice")
        half = half.evolve({"state": "transitional", "transition": Transition(sides=(half.id, other.id), reason="x")})
        path = tmp_path / "x.json"
        path.write_bytes(MemoryFile.create([half]).canonical_bytes())
        opened(store).load_file(path, verify=False)
        assert store.history(other.id) == (other,)
        assert store.get(half.id).state is RecordState.ACTIVE


class TestTheStoreOfAPinnedMemory:
    def test_it_shows_and_takes_what_is_inside(self, store: InMemoryRecordStore) -> None:
        mine, other = (said(f"Of {user}.", user_id=user) for user in ("alice", "bob"))
        store.put(other)
        memory = opened(store, user_id="alice")
        view = memory.store
        assert isinstance(view, View)
        view.put(mine)
        assert view.list() == tuple(view) == (mine,)
        assert list(view.payloads()) == [mine.canonical_bytes()]
        assert view.get_many([mine.id, other.id]) == {mine.id: mine}
        for record in (other, said("Everybody's.")):
            with pytest.raises(StoreError, match="another scope"):
                view.put(record)
        with pytest.raises(StoreError, match="unknown"):
            view.get(other.id)
        assert not callable(getattr(view, "redact", None))

    def test_an_unpinned_one_is_the_store_itself(self, store: InMemoryRecordStore) -> None:
        assert opened(store).store is opened(store, session_id="1").store is store

    def test_a_merge_of_the_peer_belongs_to_whom_its_parts_belong(self, store: InMemoryRecordStore) -> None:
        parts = [said(f"Part {number}.", user_id="bob") for number in range(2)]
        merge = MemoryRecord.create(
            RecordType.FACT, "Whole.", Provenance(kind="consolidation"), evidence=[part.id for part in parts]
        )
        store.put_many([*parts, merge])
        assert opened(store, user_id="alice").list() == ()
        assert len(opened(store, user_id="bob").list()) == 3

    def test_status_counts_what_is_inside_and_says_where_that_is(self, store: InMemoryRecordStore) -> None:
        opened(store, user_id="bob").remember("The locker is blue.")
        status = opened(store, project="p", user_id="alice", session_id="s").status()
        assert status["records"] == 0
        assert status["scope"] == {"project": "p", "user_id": "alice", "session_id": "s"}
        assert opened(store).status()["scope"] == {}


def test_what_pins_nothing_sees_and_takes_everything() -> None:
    record = said("x", user_id="bob", days=1)
    assert EVERYTHING.sees(record, lambda ids: {})
    assert EVERYTHING.takes(record.scope)
    assert record.created_at == T0 + timedelta(days=1)


@pytest.mark.parametrize("name", FIELDS)
def test_a_required_field_is_taken_by_a_load_only_when_it_is_there(name: str) -> None:
    pinned = Pinned.read(project="p", require_scope=["user_id"])
    assert pinned.takes(Scope(project="p", user_id="u"))
    assert not pinned.takes(Scope(project="p"))
    assert not pinned.takes(Scope(project="q", user_id="u"))

"""Promotion and the flag sweep: rules come from episodes, grow with them, and are flagged without them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from agent_memory import (
    ConsolidationConfig,
    ConsolidationReport,
    MemoryRecord,
    RecordState,
    RecordType,
    archive,
    consolidate,
    supersede,
)
from plain_store import NOW, PlainStore, picture, said, source

GONE = "mem:" + "0" * 32


def episodes(days: range, **fields: Any) -> list[MemoryRecord]:
    fields.setdefault("tags", ["deploy", "failure"])
    return [said(f"Deploy {n} failed.", kind=RecordType.EPISODE, days=n, **fields) for n in days]


def run(store: PlainStore, days: int = 0, threshold: int = 3) -> ConsolidationReport:
    config = ConsolidationConfig(promotion_threshold=threshold)
    return consolidate(store, config=config, now=NOW + timedelta(days=days))


def rules(store: PlainStore) -> tuple[MemoryRecord, ...]:
    return store.list(type=RecordType.RULE)


class TestPromotion:
    def test_enough_episodes_of_one_signature_make_a_rule_with_all_as_evidence(self) -> None:
        seen = episodes(range(4))
        store = PlainStore(*seen)
        (action,) = run(store).by_pass("promotion")
        (rule,) = rules(store)
        assert set(rule.evidence) == {episode.id for episode in seen}
        assert (rule.tags, rule.provenance.kind, rule.created_at) == (("deploy", "failure"), "consolidation", NOW)
        assert (action.action, action.record_ids, action.before, action.after) == (
            "create-rule", (rule.id,), (), ("active",)
        )  # fmt: skip

    def test_the_rule_names_its_signature_and_quotes_no_episode(self) -> None:
        store = PlainStore(*episodes(range(3)))
        run(store)
        (rule,) = rules(store)
        assert "deploy, failure" in rule.body
        assert "Deploy" not in rule.body

    def test_fewer_make_none(self) -> None:
        store = PlainStore(*episodes(range(2)))
        run(store)
        assert rules(store) == ()
        run(store, threshold=2)
        assert len(rules(store)) == 1

    def test_the_order_and_repetition_of_tags_do_not_matter(self) -> None:
        store = PlainStore(
            *episodes(range(1), tags=["a", "b"]),
            *episodes(range(1, 2), tags=["b", "a"]),
            *episodes(range(2, 3), tags=["b", "a", "a"]),
        )
        run(store)
        assert [rule.tags for rule in rules(store)] == [("a", "b")]

    def test_without_tags_the_slot_keys_are_the_signature(self) -> None:
        seen = [
            said(f"Deploy {n} failed.", kind=RecordType.EPISODE, days=n, slots={"deploy": str(n)}) for n in range(3)
        ]
        store = PlainStore(*seen)
        run(store)
        assert [rule.tags for rule in rules(store)] == [("deploy",)]

    def test_without_either_nothing_is_promoted(self) -> None:
        store = PlainStore(*episodes(range(5), tags=[]))
        assert run(store).actions == ()

    def test_facts_are_not_promoted(self) -> None:
        store = PlainStore(*(said(f"Port {n} is open.", tags=["t"]) for n in range(5)))
        assert run(store).by_pass("promotion") == ()

    def test_each_scope_has_its_own_rules(self) -> None:
        store = PlainStore(*episodes(range(2), user_id="ann"), *episodes(range(2, 4), user_id="bob"))
        run(store)
        assert rules(store) == ()
        store = PlainStore(*episodes(range(3), user_id="ann"), *episodes(range(3, 6), user_id="bob"))
        run(store)
        assert {rule.scope.user_id for rule in rules(store)} == {"ann", "bob"}
        assert len({rule.id for rule in rules(store)}) == 2

    def test_sessions_share_a_rule_and_it_belongs_to_none(self) -> None:
        store = PlainStore(*(episodes(range(n, n + 1), session_id=str(n))[0] for n in range(3)))
        run(store)
        (rule,) = rules(store)
        assert rule.scope.session_id is None

    def test_repetition_counts_by_day(self) -> None:
        same_day = [said("Deploy failed.", kind=RecordType.EPISODE, tags=["t"], by=source(str(n))) for n in range(3)]
        store = PlainStore(*same_day)
        run(store)
        assert rules(store) == ()
        other_days = [said("Deploy failed.", kind=RecordType.EPISODE, tags=["t"], days=n) for n in range(3)]
        store = PlainStore(*other_days)
        run(store)
        assert len(rules(store)) == 1


class TestLaterEpisodes:
    def test_a_second_pass_changes_nothing(self) -> None:
        store = PlainStore(*episodes(range(3)))
        run(store)
        before = picture(store)
        assert run(store, days=1).actions == ()
        assert picture(store) == before

    def test_later_episodes_join_the_rule_as_a_new_version(self) -> None:
        store = PlainStore(*episodes(range(3)))
        run(store)
        (later,) = episodes(range(9, 10))
        store.put(later)
        (action,) = run(store, days=1).by_pass("promotion")
        (rule,) = rules(store)
        assert later.id in rule.evidence
        assert len(rule.evidence) == 4
        assert len(store.history(rule.id)) == 2
        assert (action.action, action.record_ids) == ("extend-rule", (rule.id,))

    def test_a_retired_rule_is_not_promoted_again_from_the_same_evidence(self) -> None:
        store = PlainStore(*episodes(range(3)))
        run(store)
        (rule,) = rules(store)
        store.put(archive(rule, reason="not a rule", now=NOW))
        store.put(*episodes(range(3, 4)))
        assert run(store, days=1).actions == ()
        for later in episodes(range(4, 6)):
            store.put(later)
        run(store, days=2)
        (again,) = store.list(type=RecordType.RULE, state=RecordState.ACTIVE)
        assert len(again.evidence) == 3
        assert not set(again.evidence) & set(rule.evidence)

    def test_the_evidence_of_a_redacted_rule_is_spent(self) -> None:
        store = PlainStore(*episodes(range(4)))
        run(store)
        (rule,) = rules(store)
        gone = rule.evidence[0]
        for record_id in (rule.id, gone):
            store.versions[record_id] = [MemoryRecord.tombstone(store.get(record_id), reason="asked to", now=NOW)]
        assert run(store).actions == ()
        for later in episodes(range(4, 7)):
            store.put(later)
        run(store, days=2)
        (again,) = store.list(type=RecordType.RULE, state=RecordState.ACTIVE)
        assert not set(again.evidence) & set(rule.evidence)


class TestFlags:
    def _rule(self, *evidence: str, **fields: Any) -> MemoryRecord:
        return said("It keeps happening.", kind=RecordType.RULE, evidence=evidence, **fields)

    def test_a_rule_without_live_evidence_is_flagged_and_with_it_cleared(self) -> None:
        seen = said("It happened.", kind=RecordType.EPISODE)
        store = PlainStore(archive(seen, reason="x", now=NOW), self._rule(seen.id))
        (action,) = run(store).by_pass("rule-flags")
        (rule,) = rules(store)
        assert rule.flagged
        assert "archived or superseded" in (rule.flag_reason or "")
        assert (action.action, action.before, action.after) == ("flag", ("active",), ("active",))
        again = said("It happened again.", kind=RecordType.EPISODE)
        store.put(again)
        store.put(rule.evolve({"evidence": [seen.id, again.id]}))
        (action,) = run(store, days=1).by_pass("rule-flags")
        assert action.action == "unflag"
        assert (rules(store)[0].flagged, rules(store)[0].flag_reason) == (False, None)

    def test_missing_evidence_alone_flags_a_rule_once(self) -> None:
        store = PlainStore(self._rule(GONE))
        run(store)
        (rule,) = rules(store)
        assert rule.flagged
        assert "no live evidence" in (rule.flag_reason or "")
        assert run(store, days=1).actions == ()

    def test_missing_evidence_beside_live_evidence_flags_nothing(self) -> None:
        seen = said("It happened.", kind=RecordType.EPISODE)
        rule = self._rule(seen.id, GONE)
        store = PlainStore(seen, rule)
        assert run(store).actions == ()
        assert store.history(rule.id) == (rule,)
        flagged = self._rule(seen.id, GONE).evolve({"flagged": True, "flag_reason": "x"})
        store = PlainStore(seen, flagged)
        assert [action.action for action in run(store).actions] == ["unflag"]

    @pytest.mark.parametrize("state", [RecordState.ACTIVE, RecordState.ARCHIVED])
    def test_retired_rules_are_not_swept(self, state: RecordState) -> None:
        rule = self._rule(GONE)
        if state is RecordState.ARCHIVED:
            rule = archive(rule, reason="x", now=NOW)
        assert bool(run(PlainStore(rule)).actions) == (state is RecordState.ACTIVE)

    def test_evidence_folded_into_a_copy_is_followed_there(self) -> None:
        seen = [said("It happened.", kind=RecordType.EPISODE, by=source(ref)) for ref in "ab"]
        store = PlainStore(*seen, *(self._rule(record.id) for record in seen))
        store = PlainStore(*seen, self._rule(*(record.id for record in seen)))
        report = run(store)
        (kept,) = store.list(type=RecordType.EPISODE, state=RecordState.ACTIVE)
        (rule,) = rules(store)
        assert rule.evidence == (kept.id,)
        assert [action.action for action in report.by_pass("rule-flags")] == ["follow-evidence"]

    def test_evidence_merged_into_another_record_is_followed_there(self) -> None:
        facts = [said("Sandro prefers small files" + end) for end in ("", "!", "!!")]
        store = PlainStore(*facts, self._rule(facts[0].id))
        run(store)
        (merged,) = store.list(type=RecordType.FACT, state=RecordState.ACTIVE)
        (rule,) = rules(store)
        assert (rule.evidence, rule.flagged) == ((merged.id,), False)

    def test_evidence_that_was_corrected_is_not_followed(self) -> None:
        old = said("Sandro lives in Boston.")
        new = said("Sandro lives in Austin.", supersedes=old.id)
        store = PlainStore(new, supersede(old, new, reason="moved", now=NOW), self._rule(old.id))
        run(store)
        (rule,) = rules(store)
        assert (rule.evidence, rule.flagged) == ((old.id,), True)

    def test_a_rule_gets_one_version_for_both(self) -> None:
        gone = archive(said("Another thing."), reason="x", now=NOW)
        seen = [said("It happened.", kind=RecordType.EPISODE, by=source(ref)) for ref in "ab"]
        rule = self._rule(gone.id, *(record.id for record in seen)).evolve({"flagged": True, "flag_reason": "x"})
        store = PlainStore(gone, *seen, rule)
        run(store)
        assert len(store.history(rule.id)) == 2

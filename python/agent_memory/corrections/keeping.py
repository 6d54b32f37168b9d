"""Carrying out what was decided, through the door that writes (spec/corrections.md sections 17.5 to 17.9).

Every method is to be called inside the door's transaction: what it decides by is then what stands when it writes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from agent_memory.door import Door
from agent_memory.errors import ArgumentError, RecordError
from agent_memory.extension import ConsolidationScope, Scope
from agent_memory.lifecycle import archive, born_archived, partner_of, reopen_alone, resolve_transition, supersede
from agent_memory.lineage import at_free_id
from agent_memory.pipeline.report import IngestReport, Rejection
from agent_memory.pipeline.scoping import visible
from agent_memory.records import MemoryRecord, Provenance, RecordState, RecordType
from agent_memory.verdict import RememberResult

from . import wording
from .decision import Decision, Outcome, Under, decide, standing_of
from .ledger import Fate, Ledger, Line, drawn_line, key_digest, place_of, same_value, text_digest
from .story import History
from .wording import Policy

__all__ = ["Corrections"]

_STAGE: Final = "write"


class Corrections:
    """What was said under keys, and what is said next.

    Args:
        door: where it is written.
        guard: whether retired values are kept from coming back.
    """

    def __init__(self, door: Door, *, guard: bool = True) -> None:
        self._door = door
        self._guard = guard

    def under(self, key: str, scope: ConsolidationScope) -> Under:
        """What is under a key in a scope."""
        ledger = Ledger(self._door.lines("place", [place_of(key, scope)]))
        live = standing_of(tuple(self._door.get_many(ledger.live).values()))
        return Under(ledger, live, self._stating(live[0], ledger) if live else None)

    def _stating(self, last: MemoryRecord, ledger: Ledger) -> MemoryRecord | None:
        """The newest record of a value that has an object; ``last`` is the value's last record."""
        if last.object is not None:
            return last
        stating = [line for line in ledger.value_of(last.id).lines if line.object is not None]
        if not stating:
            return None
        return self._door.get(max(stating, key=lambda line: (line.born, line.record_id)).record_id)

    # ------------------------------------------------------------------ writes under a key

    def keep(self, write: MemoryRecord, *, reaffirm: bool, now: datetime) -> tuple[RememberResult, str | None]:
        """Write a new record that has a key; what came of it, and the id of the record to reinforce, if one is."""
        assert write.key is not None
        under = self.under(write.key, write.scope.consolidation)
        decision = decide(write, under, guard=self._guard, reaffirm=reaffirm)
        standing = under.standing
        if decision.outcome is Outcome.REINFORCES:
            assert decision.repeats is not None
            assert standing is not None
            found = IngestReport(accepted=(), deduped=(decision.repeats,), rejected=())
            result = RememberResult(
                record_id=decision.repeats,
                deduped=True,
                ingest=found,
                current_id=standing.id,
                project=write.scope.project,
            )
            return result, decision.repeats
        if decision.outcome is Outcome.BACKFILLS:
            assert standing is not None
            note = wording.backfill_note(standing.id)
            return self._block(write, Policy.BACKFILL, standing.id, standing.id, under.ledger.blocked, note), None
        if decision.outcome is Outcome.ECHOES:
            assert decision.repeats is not None
            current = None if standing is None else standing.id
            note = wording.echo_note(current)
            return self._block(write, Policy.ECHO_GUARD, decision.repeats, current, under.ledger.blocked, note), None
        return self._land(write, under, decision, now), None

    def _land(self, write: MemoryRecord, under: Under, decision: Decision, now: datetime) -> RememberResult:
        standing = under.standing
        restates = decision.outcome is Outcome.RESTATES
        marked = False
        also: set[str] = set()
        extra: list[MemoryRecord] = []
        versions: list[MemoryRecord] = []
        if standing is not None:
            partner = self._partner(standing)
            if partner is not None:
                reason = wording.SETTLED.format(standing.id, standing.id)
                standing, loser = resolve_transition(standing, partner, reason=reason, now=now)
                versions += [standing, loser]
            extra = [held for held in under.live[1:] if partner is None or held.id != partner.id]
            marked = restates and not same_value(drawn_line(standing), drawn_line(write))
            if marked:
                also.add(standing.id)
        if not restates:
            values = [under.ledger.value_of(held.id) for held in under.live]
            displaced = {said for value in values for said in under.ledger.wordings(value)}
            gone = {record.id for record in versions}
            copies = self._copies(displaced - {text_digest(write.body, write.scope.consolidation)})
            extra += [copy for copy in copies if copy.id not in gone]
        also.update(record.id for record in extra)
        changes: dict[str, Any] = self._evidence(write, decision.repeats)
        if standing is not None and not marked:
            changes["supersedes"] = standing.id
        if also:
            changes["supersedes_also"] = tuple(also)
        new = self._placed(write.evolve(changes) if changes else write)
        versions.append(new)
        reason = (wording.RESTATED if restates else wording.CORRECTED).format(new.id)
        for old in (*(() if standing is None else (standing,)), *extra):
            versions.append(supersede(old, new, reason=reason, now=now))
        versions += self._left_alone(extra, versions, now)
        self._door.put_many(versions)
        dropped = _lineage_dropped(standing, new, under.ledger)
        notes = [
            *([wording.missing_object_note()] if standing and new.object is None and under.stated else []),
            *([wording.lineage_note(dropped)] if dropped else []),
        ]
        return RememberResult(
            record_id=new.id,
            deduped=False,
            ingest=IngestReport(accepted=(new.id,), deduped=(), rejected=()),
            current_id=new.id,
            superseded_id=None if standing is None else standing.id,
            note="; ".join(notes) or None,
            lineage_dropped=dropped,
            project=new.scope.project,
        )

    def _block(
        self,
        write: MemoryRecord,
        policy: Policy,
        about: str,
        current: str | None,
        before: Iterable[Line],
        note: str,
    ) -> RememberResult:
        """Keep a write as history, born archived; one that was kept before is not kept twice."""
        kept = self._kept_before(write, policy, before)
        if kept is None:
            born = self._placed(write).evolve(self._evidence(write, about if policy is Policy.ECHO_GUARD else None))
            reason = wording.blocked_reason(policy, about)
            kept = born_archived(born, reason=reason, superseded_by=current)
            self._door.put(kept)
            deduped = False
        else:
            deduped = True
        refused = Rejection(pass_name=_STAGE, detail=f"create {kept.id}", error=note)
        return RememberResult(
            record_id=kept.id,
            deduped=deduped,
            ingest=IngestReport(accepted=(), deduped=(), rejected=(refused,)),
            blocked=True,
            policy=policy.value,
            current_id=current,
            note=note,
            project=write.scope.project,
        )

    def _kept_before(self, write: MemoryRecord, policy: Policy, before: Iterable[Line]) -> MemoryRecord | None:
        own = drawn_line(write)
        ids = sorted(line.record_id for line in before if (line.said, line.object) == (own.said, own.object))
        for record in self._door.get_many(ids).values():
            blocked = wording.blocked_as(record)
            if (
                blocked is not None
                and blocked[0] is policy
                and record.provenance.ref == write.provenance.ref
                and (policy is Policy.ECHO_GUARD or record.occurred_at == write.occurred_at)
            ):
                return record
        return None

    # ------------------------------------------------------------------ writes without a key

    def echo(self, write: MemoryRecord) -> RememberResult | None:
        """Block a new record without a key that says what was retired under one; None when it does not.

        An episode is never one: it tells what happened, which a later correction does not undo.
        """
        if not self._guard or write.type is RecordType.EPISODE:
            return None
        scope = write.scope.consolidation
        said = text_digest(write.body, scope)
        lines = self._door.lines("said", [said])
        places = {line.place for line in lines if line.fate in (Fate.PAST, Fate.ECHO) and line.place is not None}
        if not places or self._copies([said]):
            return None
        repeated: list[tuple[Line, Ledger]] = []
        by_place: dict[bytes | None, list[Line]] = {}
        for line in self._door.lines("place", [place for place in places if place is not None]):
            by_place.setdefault(line.place, []).append(line)
        for held in by_place.values():
            ledger = Ledger(held)
            if any(value.stands and ledger.says(value, said, None) for value in ledger.values.values()):
                return None
            retired = ledger.retired(said, None)
            if retired is not None:
                repeated.append((retired, ledger))
        if not repeated or any(line.fate is Fate.LIVE and line.place is not None for line in lines):
            return None
        line, ledger = max(repeated, key=lambda pair: (pair[0].born, pair[0].record_id))
        standing = standing_of(tuple(self._door.get_many(ledger.live).values()))
        current = standing[0].id if standing else None
        note = wording.unkeyed_echo_note(line.record_id, current)
        before = [line for line in lines if line.fate is Fate.ECHO and line.place is None]
        return self._block(write, Policy.ECHO_GUARD, line.record_id, current, before, note)

    # ------------------------------------------------------------------ going back, and letting go

    def revert(self, key: str, scope: Scope, *, now: datetime, kind: str, agent: str | None) -> RememberResult:
        """Restore the value that the standing one displaced, or the last one that stood, as a new record.

        Raises:
            RecordError: nothing was ever displaced under the key, or what was has been redacted.
        """
        under = self.under(key, scope.consolidation)
        old = self._previous(under)
        stating = self._stating(old, under.ledger)
        restored = MemoryRecord.create(
            old.type,
            old.body,
            Provenance(kind=kind, ref=old.provenance.ref, agent=agent),
            slots=old.slots,
            confidence=old.confidence,
            tags=old.tags,
            created_at=now,
            extension=old.extension.evolve(
                scope=scope,
                object=stating and stating.object,
                standing=None,
                outcome=None,
                supersedes_also=(),
                declared=False,
            ),
        )
        # Going back is going on from the old record, whoever it came from: with it goes what was restored from it.
        restored = restored.evolve({"evidence": (old.id,)})
        result = self._land(restored, under, Decision(Outcome.LANDS), now)
        note = "; ".join(part for part in (wording.reverted_note(), result.note) if part)
        return replace(result, note=note)

    def _previous(self, under: Under) -> MemoryRecord:
        standing = under.standing
        if standing is None:
            last = [self._door.get(value.last.record_id) for value in under.ledger.values.values()]
            let_go = [record for record in last if record.superseded_by is None]
            if not last:
                raise RecordError("no value ever stood under this key in this scope, so there is none to go back to")
            return max(let_go or last, key=lambda record: (record.updated_at, record.id))
        value = under.ledger.value_of(standing.id)
        displaced = under.ledger.displaced_by(value)
        if displaced:
            return self._door.get(displaced[-1])
        for record in self._door.get_many(value.ids).values():
            before = self._door.get_many(record.replaces).values()
            if any(old.redacted for old in before):
                raise RecordError(
                    "the previous value was redacted and cannot be restored; remember what holds under the key"
                )
        older = [
            other.last
            for other in under.ledger.values.values()
            if other is not value and other.last.born <= max(line.born for line in value.lines)
        ]
        if not older:
            raise RecordError("the standing value is the first one under this key; there is none to go back to")
        return self._door.get(max(older, key=lambda line: (line.born, line.record_id)).record_id)

    def retire_key(self, key: str, scope: ConsolidationScope, *, reason: str, now: datetime) -> RememberResult:
        """Archive what stands under a key.

        Raises:
            RecordError: nothing does.
        """
        under = self.under(key, scope)
        if not under.live:
            raise RecordError("nothing stands under this key in this scope; history(key) tells what did")
        return self._retire(under.live, under.ledger, reason, now)

    def retire_record(self, record: MemoryRecord, *, reason: str, now: datetime) -> RememberResult:
        """Archive a record.

        Raises:
            RecordError: it is archived or redacted already.
        """
        if record.state is RecordState.ARCHIVED:
            raise RecordError(f"{record.id} is archived already; history({record.id!r}) tells why")
        if record.key is None or not record.state.is_live:
            return self._retire((record,), None, reason, now)
        return self._retire((record,), self.under(record.key, record.scope.consolidation).ledger, reason, now)

    def _retire(
        self, live: tuple[MemoryRecord, ...], ledger: Ledger | None, reason: str, now: datetime
    ) -> RememberResult:
        values = [] if ledger is None else [ledger.value_of(held.id) for held in live]
        said = {said for value in values for said in (ledger.wordings(value) if ledger else ())}
        if wording.blocked_by(reason) is not None:
            raise ArgumentError("the reason is in our own words for a blocked write; give it in yours")
        leaving = [*live, *self._copies(said)]
        versions = [archive(record, reason=reason, now=now) for record in leaving]
        versions += self._left_alone(leaving, versions, now)
        self._door.put_many(versions)
        keyed = ledger is not None
        return RememberResult(
            record_id=live[0].id,
            deduped=False,
            ingest=IngestReport(accepted=(), deduped=(), rejected=()),
            note=wording.retired_note(keyed=keyed),
            project=live[0].scope.project,
        )

    # ------------------------------------------------------------------ the story

    def history(self, key: str, asked: Scope) -> History:
        """Everything that was said under a key, as far as ``asked`` may see it.

        Raises:
            StoreError: the store failed.
        """
        ids = [line.record_id for line in self._door.lines("key", [key_digest(key)])]
        echoes = [line.record_id for line in self._door.lines("about", ids)]
        seen = [
            record.id
            for record in self._door.get_many(dict.fromkeys((*ids, *echoes))).values()
            if visible(record.scope, asked)
        ]
        return History.of_key(key, (self._door.history(record_id) for record_id in seen))

    # ------------------------------------------------------------------ what they have in common

    def _copies(self, said: Iterable[bytes]) -> list[MemoryRecord]:
        """Live records without a key that say one of these texts, episodes aside, sorted by id."""
        lines = self._door.lines("said", said)
        ids = sorted(line.record_id for line in lines if line.place is None and line.fate is Fate.LIVE)
        return [
            record
            for record in self._door.get_many(ids).values()
            if record.state.is_live and record.type is not RecordType.EPISODE
        ]

    def _evidence(self, write: MemoryRecord, repeats: str | None) -> dict[str, Any]:
        """What it repeats as evidence of ``write``, unless the two come from two sources, each to be erased alone."""
        if repeats is None or repeats in write.evidence:
            return {}
        repeated = self._door.get(repeats)
        own, other = write.provenance.ref, repeated.provenance.ref
        if repeated.redacted or (own is not None and other is not None and own != other):
            return {}
        return {"evidence": (*write.evidence, repeats)}

    def _placed(self, record: MemoryRecord) -> MemoryRecord:
        return at_free_id(record, lambda record_id: bool(self._door.get_many([record_id])))

    def _partner(self, record: MemoryRecord) -> MemoryRecord | None:
        return partner_of(record, lambda record_id: self._door.get_many([record_id]).get(record_id))

    def _left_alone(
        self, leaving: Iterable[MemoryRecord], versions: Iterable[MemoryRecord], now: datetime
    ) -> list[MemoryRecord]:
        """The other sides of the disputes that records leave, active again, unless they leave too."""
        gone = {record.id for record in versions}
        partners = {
            partner.id: partner
            for record in leaving
            if (partner := self._partner(record)) is not None and partner.id not in gone
        }
        return [reopen_alone(partner, now=now) for partner in partners.values()]


def _lineage_dropped(old: MemoryRecord | None, new: MemoryRecord, ledger: Ledger) -> int:
    """How much of what the caller said ``old`` was derived from ``new`` lets go of."""
    if old is None or not old.declared or new.declared:
        return 0
    return len(set(old.evidence) - set(ledger.ids))

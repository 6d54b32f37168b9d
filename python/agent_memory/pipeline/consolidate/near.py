"""Near duplicates: several records that say the same become one (SPEC section 12.2).

Every proposal is about one pair and is validated as it stands.  What it joins is kept as a cluster, and later pairs are
offered with what the cluster would become; the cluster is written once, when the pass is over, so that k duplicates
make one record with all k as evidence and not a chain of merges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_memory.errors import AgentMemoryError, ProposalError
from agent_memory.lifecycle import supersede
from agent_memory.lineage import is_merge
from agent_memory.records import MemoryRecord, RecordState, RecordType

from .candidates import candidate_pairs
from .exact import fold
from .merging import absorbed, merged, stand_in
from .operators import NearDupOperator, TrigramNearDupOperator, candidates_of, keeps_words
from .validation import check_merge
from .values import precedence, strength
from .workspace import Group, Workspace, told

__all__ = ["merge_near_duplicates"]

_NAME = "dedup.near"


def merge_near_duplicates(workspace: Workspace, operator: NearDupOperator) -> None:
    """Offer the operator its candidate pairs and write what its valid proposals join."""
    left_out = 0
    for group in workspace.groups(*RecordType):
        left_out += _Merging(workspace, operator, group).run()
    if left_out:
        workspace.refuse(
            _NAME, "candidate pairs", f"up to {left_out} pairs that share only very common terms were left out"
        )


@dataclass(slots=True)
class _Cluster:
    """Records joined so far, a single one at first.

    ``form`` is what later pairs are offered as, ``words`` the record whose words the default operator keeps.
    """

    members: list[int]
    form: MemoryRecord
    words: MemoryRecord

    @property
    def pending(self) -> bool:
        return len(self.members) > 1


class _Merging:
    def __init__(self, workspace: Workspace, operator: NearDupOperator, group: Group) -> None:
        self._workspace = workspace
        self._operator = operator
        self._selects = keeps_words(operator)
        self._scope, _, self._records = group
        self._clusters = [_Cluster([position], record, record) for position, record in enumerate(self._records)]
        self._pending_ids: dict[str, None] = {}

    def run(self) -> int:
        """Merge the group; how many candidate pairs a bound left out, at most."""
        operator, config = self._operator, self._workspace.config
        threshold = operator.threshold if isinstance(operator, TrigramNearDupOperator) else config.near_dup_threshold
        pairs = candidate_pairs(candidates_of(operator), self._records, threshold=threshold)
        asked: set[tuple[int, int, int, int]] = set()
        reached = -1
        for first, second in pairs:
            if first != reached:
                reached = first
                self._workspace.progress(_NAME, first, len(self._records))
            a, b = self._clusters[first], self._clusters[second]
            if a is b:
                continue
            if b.form.id < a.form.id:
                a, b = b, a
            question = (a.members[0], len(a.members), b.members[0], len(b.members))
            if question not in asked:
                asked.add(question)
                self._offer(a, b)
        pending = {min(cluster.members): cluster for cluster in self._clusters if cluster.pending}
        for first in sorted(pending):
            self._write(pending[first])
        return pairs.left_out

    # ------------------------------------------------------------------ one pair

    def _offer(self, a: _Cluster, b: _Cluster) -> None:
        try:
            proposal = self._operator.propose_merge(a.form, b.form, now=self._workspace.now)
            if proposal is None:
                return
            record = check_merge(proposal, a.form, b.form, self._scope)
            if self._selects:
                words = max(a.words, b.words, key=_claim)
                self._join(a, b, stand_in(words, (a.form, b.form)), words)
            else:
                self._check_id(record, a, b)
                form = self._proposed([*a.members, *b.members], record, without=(a, b))
                self._join(a, b, form, form)
        except Exception as error:  # noqa: BLE001, RUF100 - whatever an operator does is its own affair, and reported
            self._workspace.refuse(_NAME, f"pair {a.form.id} {b.form.id}", told(error))

    def _check_id(self, record: MemoryRecord, a: _Cluster, b: _Cluster) -> None:
        """Refuse a record that exists: only a merge of this very pair may come out as one of its sides."""
        if any(side.form.id == record.id and (side.pending or is_merge(side.form)) for side in (a, b)):
            return
        held = self._workspace.records.get(record.id)
        if held is not None and self._workspace.scope_of(held) == self._scope:
            raise ProposalError(f"record {record.id} exists already; a merge must be a new record")

    def _join(self, a: _Cluster, b: _Cluster, form: MemoryRecord, words: MemoryRecord) -> None:
        for cluster in (a, b):
            self._pending_ids.pop(cluster.form.id, None)
        self._pending_ids[form.id] = None
        larger, smaller = (a, b) if len(a.members) >= len(b.members) else (b, a)
        for position in smaller.members:
            self._clusters[position] = larger
        larger.members.extend(smaller.members)
        larger.form, larger.words = form, words

    # ------------------------------------------------------------------ what a cluster becomes

    def _of(self, members: Sequence[int]) -> list[MemoryRecord]:
        return [self._records[position] for position in sorted(members)]

    def _proposed(self, members: Sequence[int], record: MemoryRecord, *, without: Sequence[_Cluster]) -> MemoryRecord:
        """What a custom operator's proposal makes of all members.

        A record with a key stays itself, and an earlier merge whose words are proposed takes in the rest.
        """
        records = self._of(members)
        keyed = [member for member in records if member.key is not None]
        if keyed:
            return max(keyed, key=precedence)
        words = (record.body, record.slots)
        merges = [member for member in records if is_merge(member) and (member.body, member.slots) == words]
        if merges:
            return self._absorbed(max(merges, key=precedence), records)
        reserved = self._pending_ids.keys() - {cluster.form.id for cluster in without}
        return self._workspace.at_free_id(merged(records, record, self._scope, self._workspace.now), reserved)

    def _selected(self, cluster: _Cluster) -> MemoryRecord:
        """What the default operator's proposals make of a cluster."""
        if cluster.words.key is not None:
            return cluster.words
        records = self._of(cluster.members)
        if is_merge(cluster.words):
            return self._absorbed(cluster.words, records)
        return self._workspace.at_free_id(merged(records, None, self._scope, self._workspace.now))

    def _absorbed(self, merge: MemoryRecord, records: Sequence[MemoryRecord]) -> MemoryRecord:
        return absorbed(merge, [record for record in records if record is not merge], self._workspace.now)

    def _write(self, cluster: _Cluster) -> None:
        records = self._of(cluster.members)
        try:
            form = self._selected(cluster) if self._selects else cluster.form
            retired = [record for record in records if record.id != form.id]
            if form.key is not None:
                reason = f"near duplicate of {form.id}, which has a key"
                fold(self._workspace, form, retired, pass_name=_NAME, reason=reason)
                return
            reason = f"merged into {form.id}"
            moved = [supersede(record, form, reason=reason, now=self._workspace.now) for record in retired]
        except AgentMemoryError as error:
            self._workspace.refuse(_NAME, f"cluster of {' '.join(record.id for record in records)}", told(error))
            return
        self._workspace.stage(form, *moved)
        for record in retired:
            self._workspace.act(
                _NAME,
                "supersede",
                [record.id],
                before=[RecordState.ACTIVE],
                after=[RecordState.SUPERSEDED],
                reason=reason,
            )


def _claim(record: MemoryRecord) -> tuple[bool, bool, tuple[object, ...]]:
    """What decides whose words the default operator keeps: a key, an earlier merge, then strength."""
    return (record.key is not None, is_merge(record), strength(record))

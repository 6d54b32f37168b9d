"""Near duplicates: several records that say the same become one (SPEC section 12.2).

Every proposal is about one pair and is validated as it stands.  What it joins is kept as a cluster, and later pairs are
offered with what the cluster would become; the cluster is written once, when the pass is over, so that k duplicates
make one record with all k as evidence and not a chain of merges.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from agent_memory.errors import AgentMemoryError, ProposalError
from agent_memory.extension import ConsolidationScope
from agent_memory.lifecycle import supersede
from agent_memory.lineage import is_merge
from agent_memory.proposals import Proposal
from agent_memory.records import MemoryRecord, RecordState

from .exact import fold
from .merging import absorbed, merged, stand_in
from .operators import Candidates, NearDupOperator, TrigramNearDupOperator, candidates_of, keeps_words
from .partners import Partners
from .validation import check_merge
from .values import precedence, strength
from .workspace import Workspace, told

__all__ = ["merge_near_duplicates"]

_NAME = "dedup.near"


def merge_near_duplicates(workspace: Workspace, operator: NearDupOperator) -> None:
    """Offer the operator its candidate pairs and write what its valid proposals join."""
    kind = candidates_of(operator)
    default = operator if isinstance(operator, TrigramNearDupOperator) else None
    if kind is Candidates.SAME_TERMS:
        certain = default is not None and default.lossless and keeps_words(operator)
        blocks = workspace.columns.same_terms(workspace.about, statement=certain)
        for done, block in enumerate(workspace.reading(blocks)):
            workspace.progress(_NAME, done, len(blocks))
            merging = _Merging(workspace, operator)
            merging.sweep(list(workspace.find(block)), fitting=certain)
            merging.write()
        return
    threshold = workspace.config.near_dup_threshold if default is None else default.threshold
    pairs = workspace.columns.pairs(kind.value, threshold=threshold, about=workspace.about)
    merging = _Merging(workspace, operator)
    for first, second in workspace.reading(pairs):
        workspace.progress(_NAME, pairs.done, pairs.total)
        merging.consider(first, second)
    merging.write()
    if pairs.left_out and workspace.about is None:
        workspace.refuse(
            _NAME, "candidate pairs", f"up to {pairs.left_out} pairs that share only very common terms were left out"
        )


class _Taken(ProposalError):
    """The id of a merge is a record's: at another moment, which is part of it, it would not have been."""


@dataclass(slots=True)
class _Cluster:
    """Records joined so far, a single one at first.

    ``form`` is what later pairs are offered as, ``words`` the record whose words the default operator keeps;
    ``concerned`` whether this consolidation is about one of them.
    """

    members: list[str]
    form: MemoryRecord
    words: MemoryRecord
    concerned: bool

    @property
    def pending(self) -> bool:
        return len(self.members) > 1

    @property
    def state(self) -> tuple[str, int]:
        """What tells one form of it from another: it only ever grows."""
        return self.members[0], len(self.members)


class _Merging:
    """The clusters of a block, or of a whole pass."""

    def __init__(self, workspace: Workspace, operator: NearDupOperator) -> None:
        self._workspace = workspace
        self._operator = operator
        self._selects = keeps_words(operator)
        self._clusters: dict[str, _Cluster] = {}
        self._pending_ids: dict[str, None] = {}
        self._asked: set[tuple[tuple[str, int], tuple[str, int]]] = set()
        self._partners: Partners | None = None

    def sweep(self, block: Sequence[str], *, fitting: bool) -> None:
        """Consider every pair of a block whose ids are sorted; with ``fitting``, those that fit by key and object.

        A cluster that has been offered, as it is now, to all that follow is not offered again from its later members.
        """
        if fitting:
            self._partners = Partners(self._cluster(member).form for member in block)
        swept: set[tuple[str, int]] = set()
        for position, first in enumerate(block):
            if self._cluster(first).state in swept:
                continue
            place = self._next(position, first, len(block))
            while place is not None:
                self.consider(first, block[place])
                place = self._next(place, first, len(block))
            swept.add(self._cluster(first).state)

    def _next(self, place: int, first: str, end: int) -> int | None:
        if self._partners is not None:
            return self._partners.after(place, self._cluster(first).form)
        return place + 1 if place + 1 < end else None

    def consider(self, first: str, second: str) -> None:
        """Offer a pair, each side as what it would have become by now; the same two forms once.

        Two records of which neither has been joined with anything come here once, and are not kept in mind.
        """
        a, b = self._cluster(first), self._cluster(second)
        if a is b or not (a.concerned or b.concerned or self._workspace.wants(a.members, b.members)):
            return
        if b.form.id < a.form.id:
            a, b = b, a
        if a.pending or b.pending:
            question = (a.state, b.state)
            if question in self._asked:
                return
            self._asked.add(question)
        self._offer(a, b)

    def write(self) -> None:
        """Write what the clusters of several records have become."""
        pending = {id(cluster): cluster for cluster in self._clusters.values() if cluster.pending}
        for cluster in pending.values():
            self._write(cluster)

    def _cluster(self, record_id: str) -> _Cluster:
        cluster = self._clusters.get(record_id)
        if cluster is None:
            record = self._workspace.before(record_id)
            assert record is not None, "only what could be read is considered"
            concerned = self._workspace.is_changed(record_id)
            cluster = self._clusters[record_id] = _Cluster([record_id], record, record, concerned)
        return cluster

    # ------------------------------------------------------------------ one pair

    def _offer(self, a: _Cluster, b: _Cluster) -> None:
        if self._selects:
            proposal = self._operator.propose_merge(a.form, b.form, now=self._workspace.now)
        else:
            proposal = self._workspace.asks(_NAME, a.form, b.form, self._ask)
        if proposal is None:
            return
        try:
            scope = self._scope(a.form)
            record = check_merge(proposal, a.form, b.form, scope)
            if self._selects:
                words = max(a.words, b.words, key=_claim)
                self._join(a, b, stand_in(words, (a.form, b.form)), words)
            else:
                self._check_id(record, a, b, scope)
                form = self._proposed([*a.members, *b.members], record, scope, without=(a, b))
                self._join(a, b, form, form)
        except Exception as error:  # noqa: BLE001, RUF100 - whatever an operator does is its own affair, and reported
            self._workspace.failed(_NAME, a.form, b.form, error, again=isinstance(error, _Taken))

    def _ask(self, a: MemoryRecord, b: MemoryRecord) -> Proposal | None:
        return self._operator.propose_merge(a, b, now=self._workspace.now)

    def _scope(self, record: MemoryRecord) -> ConsolidationScope:
        scope = self._workspace.scope_of(record) if record.id in self._clusters else record.scope.consolidation
        assert scope is not None, "what spans several scopes is in no pair"
        return scope

    def _check_id(self, record: MemoryRecord, a: _Cluster, b: _Cluster, scope: ConsolidationScope) -> None:
        """Refuse a record that exists: only a merge of this very pair may come out as one of its sides."""
        if any(side.form.id == record.id and (side.pending or is_merge(side.form)) for side in (a, b)):
            return
        held = self._workspace.get(record.id)
        if held is not None and self._workspace.scope_of(held) == scope:
            raise _Taken(f"record {record.id} exists already; a merge must be a new record")

    def _join(self, a: _Cluster, b: _Cluster, form: MemoryRecord, words: MemoryRecord) -> None:
        for cluster in (a, b):
            self._pending_ids.pop(cluster.form.id, None)
            if self._partners is not None:
                self._partners.grown(cluster.members, cluster.form, form)
        self._pending_ids[form.id] = None
        larger, smaller = (a, b) if len(a.members) >= len(b.members) else (b, a)
        for member in smaller.members:
            self._clusters[member] = larger
        larger.members.extend(smaller.members)
        larger.form, larger.words = form, words
        larger.concerned = True  # what it has become has been compared with nothing

    # ------------------------------------------------------------------ what a cluster becomes

    def _of(self, members: Iterable[str]) -> list[MemoryRecord]:
        found = map(self._workspace.before, sorted(members))
        return [record for record in found if record is not None]

    def _proposed(
        self, members: Collection[str], record: MemoryRecord, scope: ConsolidationScope, *, without: Sequence[_Cluster]
    ) -> MemoryRecord:
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
        return self._workspace.at_free_id(merged(records, record, scope, self._workspace.now), reserved)

    def _selected(self, cluster: _Cluster) -> MemoryRecord:
        """What the default operator's proposals make of a cluster."""
        if cluster.words.key is not None:
            return cluster.words
        records = self._of(cluster.members)
        if is_merge(cluster.words):
            return self._absorbed(cluster.words, records)
        return self._workspace.at_free_id(merged(records, None, self._scope(records[0]), self._workspace.now))

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
                related=[form.id],
            )


def _claim(record: MemoryRecord) -> tuple[bool, bool, tuple[object, ...]]:
    """What decides whose words the default operator keeps: a key, an earlier merge, then strength."""
    return (record.key is not None, is_merge(record), strength(record))

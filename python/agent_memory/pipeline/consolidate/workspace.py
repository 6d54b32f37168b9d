"""What the passes of one consolidation share: the records, read once, the writes, and the report (SPEC section 12).

A pass asks for groups of records and hands back versions.  Versions are seen by the passes at once and reach the store,
in order, at the end of the pass; what the store made of them (it may sign) is read back then.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime

from agent_memory import lineage
from agent_memory.errors import AgentMemoryError
from agent_memory.extension import ConsolidationScope
from agent_memory.pipeline.report import CONSOLIDATION_ACTIONS, Action, ConsolidationReport, Rejection
from agent_memory.pipeline.scoping import effective_scope
from agent_memory.ports import RecordStore
from agent_memory.records import MemoryRecord, RecordState, RecordType

from .operators import ConsolidationConfig

__all__ = ["Group", "Progress", "Workspace", "told"]

Progress = Callable[[str, int, int], None]
"""Called with the name of the pass, how many records are done, and of how many."""

Group = tuple[ConsolidationScope, RecordType, Sequence[MemoryRecord]]


class Workspace:
    """The newest version of every record, and what is done to them.

    Attributes:
        records: by id; never changed but by :meth:`stage` and :meth:`flush`.
        now: the moment of this consolidation; every version written has it.
        config: what the passes are measured by.
    """

    def __init__(
        self, store: RecordStore, *, now: datetime, config: ConsolidationConfig, progress: Progress | None
    ) -> None:
        self._store = store
        self._progress = progress
        self._staged: list[MemoryRecord] = []
        self._touched: set[str] = set()
        self._actions: list[Action] = []
        self._rejections: list[Rejection] = []
        self._scopes: dict[str, ConsolidationScope | None] = {}
        self.now = now
        self.config = config
        self.records: dict[str, MemoryRecord] = {record.id: record for record in store.list()}

    # ------------------------------------------------------------------ reading

    def find(self, record_ids: Iterable[str]) -> dict[str, MemoryRecord]:
        """The records of those ids that exist."""
        return {record_id: self.records[record_id] for record_id in record_ids if record_id in self.records}

    def scope_of(self, record: MemoryRecord) -> ConsolidationScope | None:
        """The consolidation scope a record is treated as having, or None when it spans several."""
        if record.id not in self._scopes:
            scope = effective_scope(record, self.find)
            self._scopes[record.id] = None if scope is None else scope.consolidation
        return self._scopes[record.id]

    def groups(self, *types: RecordType) -> list[Group]:
        """The active records of the given types by scope and type, each group sorted by id, in a fixed order."""
        members: defaultdict[tuple[ConsolidationScope, RecordType], list[MemoryRecord]] = defaultdict(list)
        for record in self.records.values():
            if record.state is RecordState.ACTIVE and record.type in types:
                scope = self.scope_of(record)
                if scope is not None:
                    members[scope, record.type].append(record)
        order = sorted(
            members, key=lambda group: (group[1].value, [(part is not None, part or "") for part in group[0]])
        )
        return [(*group, sorted(members[group], key=lambda record: record.id)) for group in order]

    @property
    def rule_tombstones(self) -> list[MemoryRecord]:
        """The redacted rules.  They have lost what they said and for whom, not what they were drawn from."""
        return [record for record in self.records.values() if record.redacted and record.type is RecordType.RULE]

    # ------------------------------------------------------------------ writing

    def stage(self, *versions: MemoryRecord) -> None:
        """Take versions to be written, in this order."""
        self._staged.extend(versions)
        self.records.update((version.id, version) for version in versions)
        self._touched.update(version.id for version in versions)

    def flush(self) -> None:
        """Write what is staged and read back what the store holds now.  Raises StoreError when the store fails."""
        if not self._staged:
            return
        staged, self._staged = self._staged, []
        self._store.put_many(staged)
        self.records.update(self._store.get_many(dict.fromkeys(version.id for version in staged)))

    def at_free_id(self, record: MemoryRecord, reserved: Collection[str] = ()) -> MemoryRecord:
        """``record``, born as many milliseconds later as it takes for its id to be free and not ``reserved``."""
        return lineage.at_free_id(record, lambda record_id: record_id in self.records or record_id in reserved)

    # ------------------------------------------------------------------ reporting

    def act(
        self,
        pass_name: str,
        action: str,
        record_ids: Iterable[str],
        *,
        before: Iterable[RecordState],
        after: Iterable[RecordState],
        reason: str,
    ) -> None:
        """Report something done, one of :data:`CONSOLIDATION_ACTIONS`."""
        assert (pass_name, action) in CONSOLIDATION_ACTIONS
        self._actions.append(
            Action(
                pass_name=pass_name,
                action=action,
                record_ids=tuple(record_ids),
                before=tuple(state.value for state in before),
                after=tuple(state.value for state in after),
                reason=reason,
            )
        )

    def refuse(self, pass_name: str, detail: str, error: str) -> None:
        """Report something refused or put off."""
        self._rejections.append(Rejection(pass_name=pass_name, detail=detail, error=error))

    def progress(self, pass_name: str, done: int, total: int) -> None:
        """Tell whoever waits how far a pass is."""
        if self._progress is not None:
            self._progress(pass_name, done, total)

    def report(self) -> ConsolidationReport:
        """What was done so far."""
        return ConsolidationReport(
            actions=tuple(self._actions), rejections=tuple(self._rejections), touched=tuple(sorted(self._touched))
        )


def told(error: Exception) -> str:
    """An error as a report may show it: ours in full, an operator's by class alone, since it may quote a record."""
    if isinstance(error, AgentMemoryError):
        return str(error)
    return f"the operator raised {type(error).__name__}; the pair is left as it is"

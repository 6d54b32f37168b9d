"""What the passes of one consolidation share: the records, the writes, and the report (SPEC section 12).

A pass asks the columns which records belong together, and for those alone are records built.  It hands back versions,
which the passes see at once and which reach the store, and the columns, in order, at the end of the pass.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Final, TypeVar

from agent_memory import kernel, lineage
from agent_memory.errors import AgentMemoryError
from agent_memory.extension import ConsolidationScope
from agent_memory.frozen import twin
from agent_memory.pipeline.report import CONSOLIDATION_ACTIONS, Action, ConsolidationReport, Rejection
from agent_memory.ports import RecordStore
from agent_memory.records import MemoryRecord, RecordState

from .operators import ConsolidationConfig

__all__ = ["Progress", "Workspace", "told"]

Progress = Callable[[str, int, int], None]
"""Called with the name of the pass, how many records are done, and of how many."""

_AHEAD: Final = 512
"""Blocks or pairs whose records are read together."""
_HELD: Final = 16_384
"""Records kept in memory at most, but for those of one batch of blocks or pairs."""
_Answer = TypeVar("_Answer")
_Ids = TypeVar("_Ids", bound=Sequence[str])


class Workspace:
    """The newest version of every record, and what is done to them.

    Args:
        store: where records are read and written.
        columns: what is known of the same records without reading them; kept in step with what is written.
        about: the ids this consolidation is about, to which what it writes is added; None for all.
        again: pairs of ids it is about besides.
        within: whether the record of an id may be looked at, where not every one may; ``about`` is then not None.

    Attributes:
        now: the moment of this consolidation; every version written has it.
        config: what the passes are measured by.
        unanswered: the pairs of ids an operator failed on, to be asked about again.
    """

    def __init__(
        self,
        store: RecordStore,
        columns: kernel.Columns,
        *,
        now: datetime,
        config: ConsolidationConfig,
        progress: Progress | None,
        about: Collection[str] | None = None,
        again: Collection[frozenset[str]] = (),
        within: Callable[[str], bool] | None = None,
    ) -> None:
        self._store = store
        self._progress = progress
        self._staged: list[MemoryRecord] = []
        self._newest: dict[str, MemoryRecord] = {}
        self._held: dict[str, MemoryRecord] = {}
        self._touched: set[str] = set()
        self._actions: list[Action] = []
        self._rejections: list[Rejection] = []
        self._within = within
        self.columns = columns
        self._changed = None if about is None else self._affected(about)
        self._again = frozenset(again)
        self.now = now
        self.config = config
        self.unanswered: set[frozenset[str]] = set()

    # ------------------------------------------------------------------ reading

    @property
    def about(self) -> set[str] | None:
        """The ids to look around; None for all.  Not every pair of theirs is wanted: see :meth:`wants`."""
        return None if self._changed is None else self._changed.union(*self._again)

    def is_within(self, record_id: str) -> bool:
        """Whether a record may be looked at, and changed, for itself."""
        return self._within is None or self._within(record_id)

    def is_changed(self, record_id: str) -> bool:
        """Whether this consolidation is about a record, whatever it is paired with."""
        return self._changed is None or record_id in self._changed

    def wants(self, first: Collection[str], second: Collection[str]) -> bool:
        """Whether one of two sets of records makes a pair with the other that is to be asked about again."""
        return any(len(pair.intersection(first)) == len(pair.intersection(second)) == 1 for pair in self._again)

    def get(self, record_id: str) -> MemoryRecord | None:
        """The newest version of a record, or None when there is none that can be read."""
        return self._newest.get(record_id) or self.before(record_id)

    def find(self, record_ids: Iterable[str]) -> dict[str, MemoryRecord]:
        """The newest versions of those ids that can be read."""
        wanted = dict.fromkeys(record_ids)
        self._read(wanted)
        return {record_id: record for record_id in wanted if (record := self.get(record_id)) is not None}

    def before(self, record_id: str) -> MemoryRecord | None:
        """The version a record had when the pass began, or None when there is none that can be read."""
        self._read((record_id,))
        return self._held.get(record_id)

    def reading(self, items: Iterable[_Ids]) -> Iterator[_Ids]:
        """The items, each some ids.  Records are read a good many at a time, and let go when they are too many."""
        waiting = iter(items)
        while batch := list(islice(waiting, _AHEAD)):
            if len(self._held) > _HELD:
                self._held.clear()
            self._read(dict.fromkeys(record_id for ids in batch for record_id in ids))
            yield from batch

    def _read(self, record_ids: Iterable[str]) -> None:
        unread = [record_id for record_id in record_ids if record_id not in self._held and record_id in self.columns]
        if unread:
            self._held.update(self._store.get_many(unread))

    def scope_of(self, record: MemoryRecord) -> ConsolidationScope | None:
        """The consolidation scope a record is treated as having, or None when it spans several."""
        return self.columns.scope_of(record.id)

    # ------------------------------------------------------------------ writing

    def stage(self, *versions: MemoryRecord) -> None:
        """Take versions to be written, in this order."""
        self._staged.extend(versions)
        self._newest.update((version.id, version) for version in versions)

    def flush(self) -> None:
        """Write what is staged.  Raises StoreError when the store fails."""
        staged, self._staged = self._staged, []
        newest, self._newest = self._newest, {}
        if not staged:
            return
        self._store.put_many(staged)
        self._held.update(newest)  # what the store may have done, signing them, is nothing to the passes
        self.columns.update(version.canonical_bytes() for version in newest.values())
        self._touched.update(newest)
        if self._changed is not None:
            self._changed.update(self._affected(newest))

    def _affected(self, record_ids: Iterable[str]) -> set[str]:
        return set(filter(self._within, self.columns.affected(record_ids)))

    def at_free_id(self, record: MemoryRecord, reserved: Collection[str] = ()) -> MemoryRecord:
        """``record``, born as many milliseconds later as it takes for its id to be free and not ``reserved``."""
        return lineage.at_free_id(
            record, lambda record_id: record_id in self.columns or record_id in self._newest or record_id in reserved
        )

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
        related: Iterable[str] = (),
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
                related=tuple(related),
            )
        )

    def refuse(self, pass_name: str, detail: str, error: str) -> None:
        """Report something refused or put off."""
        self._rejections.append(Rejection(pass_name=pass_name, detail=detail, error=error))

    def asks(
        self, pass_name: str, a: MemoryRecord, b: MemoryRecord, ask: Callable[[MemoryRecord, MemoryRecord], _Answer]
    ) -> _Answer | None:
        """What an operator answers about a pair; None when it breaks down, which is reported and asked again.

        It gets records of its own, so that it cannot change those the passes go on with.
        """
        try:
            return ask(twin(a), twin(b))
        except Exception as error:  # noqa: BLE001, RUF100 - whatever an operator does is its own affair, and reported
            self.failed(pass_name, a, b, error, again=True)
            return None

    def failed(
        self, pass_name: str, a: MemoryRecord, b: MemoryRecord, error: Exception, *, again: bool = False
    ) -> None:
        """Report that an operator did not deal with a pair as it may; ``again`` has it asked the next time, too."""
        self.refuse(pass_name, f"pair {a.id} {b.id}", told(error))
        if again or not isinstance(error, AgentMemoryError):
            self.unanswered.add(frozenset((a.id, b.id)))

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

"""The tools, as blocking calls on a memory: arguments in, results out.

Called by the server, off its event loop: reads from several threads at once, writes one after the other.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from agent_memory.clock import now_utc
from agent_memory.entry import Entry
from agent_memory.errors import AgentMemoryError, ArgumentError
from agent_memory.extension import SCOPE_FIELDS
from agent_memory.pinned import Pinned

from .kept import SAVE_FAILURES, KeptWrites, Outcome
from .results import (
    Consolidated,
    Credited,
    Dispute,
    Found,
    FoundRecord,
    History,
    Landed,
    Record,
    Redacted,
    Remembered,
    Resolved,
    Status,
    Verdict,
    Version,
)

if TYPE_CHECKING:
    from agent_memory.intake import RememberResult
    from agent_memory.memory import Memory

    from .arguments import (
        Arguments,
        CreditArguments,
        HistoryArguments,
        NarrowedArguments,
        RecallArguments,
        RedactArguments,
        RememberArguments,
        ResolveArguments,
        StatusArguments,
    )

__all__ = ["Face", "in_words"]

_NARROWING: Final = ("user_id", "agent_id", "session_id")
_UNTOLD: Final = 100
"""Verdicts of kept writes that wait to be told; older ones are dropped."""


class Face:
    """A memory behind tools.

    Args:
        memory: the face's own from now on; :meth:`close` closes it.
        version: of the package.
    """

    def __init__(self, memory: Memory, *, version: str) -> None:
        self._memory = memory
        self._pinned = Pinned.read(**memory.scope)
        self._version = version
        self._writing = threading.Lock()
        self._kept: KeptWrites[dict[str, Any]] = KeptWrites()
        self._untold: list[Landed] = []

    # ------------------------------------------------------------------ writing

    def remember(self, arguments: RememberArguments) -> Remembered:
        """Keep a memory; when it cannot be saved, keep the write and say so."""
        write = arguments.given()
        self._check(arguments, write)
        with self._writing:
            self._retry()
            if self._kept:  # an earlier one could still not be saved, and the order is to be kept
                return self._put_off(arguments, write, None)
            try:
                result = self._memory.remember(**write)
            except SAVE_FAILURES as error:
                return self._put_off(arguments, write, error)
            report = result.consolidation
            return Remembered(
                **self._told(arguments),
                **_verdict(result),
                kept_as=None,
                consolidation=None
                if report is None
                else Consolidated(
                    merged=len(report.by_pass("dedup.exact")) + len(report.by_pass("dedup.near")),
                    disputes=[
                        Dispute(record_ids=list(action.record_ids), reason=action.reason)
                        for action in report.by_pass("contradiction")
                    ],
                    rules=sum(action.action == "create-rule" for action in report.by_pass("promotion")),
                ),
                consolidation_error=result.consolidation_error,
            )

    def resolve(self, arguments: ResolveArguments) -> Resolved:
        """Settle a dispute."""
        with self._writing:
            self._retry()
            self._memory.resolve(arguments.loser_id, arguments.winner_id, arguments.reason)
            return Resolved(
                **self._told(arguments),
                winner=Record.of(self._memory.get(arguments.winner_id)),
                loser=Record.of(self._memory.get(arguments.loser_id)),
            )

    def credit(self, arguments: CreditArguments) -> Credited:
        """Count an outcome for a record."""
        with self._writing:
            self._retry()
            standing = self._memory.credit(
                arguments.record_id, good=arguments.good, weight=arguments.weight, reason=arguments.reason
            ).standing
            return Credited(
                **self._told(arguments),
                record_id=arguments.record_id,
                good=0 if standing is None else standing.good,
                bad=0 if standing is None else standing.bad,
            )

    def redact(self, arguments: RedactArguments) -> Redacted:
        """Destroy what a record says."""
        with self._writing:
            self._retry()
            tombstone = self._memory.redact(arguments.record_id, arguments.reason, cascade=arguments.cascade)
            return Redacted(
                **self._told(arguments),
                record_id=tombstone.id,
                redacted=tombstone.redacted,
                erasure_pending=self._memory.status()["erasure_pending"],
            )

    # ------------------------------------------------------------------ reading

    def recall(self, arguments: RecallArguments) -> Found:
        """Find what is relevant."""
        found = self._memory.recall(
            arguments.query,
            budget_tokens=arguments.budget_tokens,
            include_history=arguments.include_history,
            include_archived=arguments.include_archived,
            **_narrowing(arguments),
        )
        return Found(
            **self._scope(arguments),
            records=[FoundRecord.found(item) for item in found],
            total_tokens=found.block.total_tokens,
            budget_tokens=arguments.budget_tokens,
        )

    def history(self, arguments: HistoryArguments) -> History:
        """Tell the whole story of a key or of a record."""
        if (arguments.key is None) == (arguments.record_id is None):
            raise ArgumentError("give either key or record_id, and not both")
        scope = self._scope(arguments)
        story = self._memory.history(
            key=arguments.key,
            record_id=arguments.record_id,
            user_id=arguments.user_id,
            agent_id=arguments.agent_id,
        )
        numbers: Counter[str] = Counter()
        versions = []
        for record in story:
            numbers[record.id] += 1
            versions.append(Version.of(record, numbers[record.id]))
        return History(
            **scope,
            key=story.key,
            current_id=story.current_id,
            records=[Record.of(record) for record in story.records],
            versions=versions,
        )

    def status(self, arguments: StatusArguments) -> Status:
        """Count what is there."""
        facts = self._memory.status()
        return Status(
            **self._scope(arguments),
            **{
                name: facts[name]
                for name in (
                    "records",
                    "by_state",
                    "by_type",
                    "open_contradictions",
                    "damaged",
                    "erasure_pending",
                    "path",
                    "agent",
                )
            },
            pending_writes=self.pending,
            pending_error=self._kept.error,
            version=self._version,
        )

    # ------------------------------------------------------------------ the end

    @property
    def pending(self) -> int:
        """How many writes wait to be saved."""
        return len(self._kept)

    def close(self) -> None:
        """Try what is kept once more and close the memory.  What is :attr:`pending` then is lost.

        Raises:
            StoreError: the memory could not write what it held back.
        """
        with self._writing:
            try:
                self._retry()
            finally:
                self._memory.close()

    # ------------------------------------------------------------------ writes that could not be saved

    def _check(self, arguments: RememberArguments, write: dict[str, Any]) -> None:
        """Refuse at once what a retry would refuse: a write is kept only when it could be saved on a better day."""
        Entry.read(**write)
        self._scope(arguments)

    def _put_off(self, arguments: RememberArguments, write: dict[str, Any], error: Exception | None) -> Remembered:
        # Said now and saved later, it must not pass for newer than what others say in between.
        dated = {"occurred_at": now_utc(), **write}
        why = self._kept.error if error is None else in_words(error)
        number = self._kept.keep(dated, why or "")
        if number is None:
            note = (
                f"NOT SAVED AND NOT KEPT: {self._kept.limit} earlier writes wait already. Tell the user, and say this "
                "again once status shows pending_writes 0"
            )
        else:
            note = (
                f"Not saved. Kept in the server as number {number} and tried again, in order, with the next write and "
                "when the server stops; landed will then name it. No need to repeat it. If the error persists, tell "
                "the user"
            )
        return Remembered(
            **self._told(arguments),
            record_id=None,
            deduped=False,
            blocked=False,
            policy=None,
            current_id=None,
            superseded_id=None,
            note=note,
            lineage_dropped=0,
            persisted=False,
            persist_error=why,
            kept_as=number,
            consolidation=None,
            consolidation_error=None,
        )

    def _retry(self) -> None:
        for outcome in self._kept.retry(lambda write: self._memory.remember(**write)):
            self._untold.append(_landed(outcome))
        del self._untold[:-_UNTOLD]

    def _told(self, arguments: Arguments) -> dict[str, Any]:
        """What every result of a write begins with; what it tells of earlier writes is told once."""
        landed, self._untold = self._untold, []
        return {**self._scope(arguments), "pending_writes": self.pending, "landed": landed}

    def _scope(self, arguments: Arguments) -> dict[str, Any]:
        """The scope of a call, for its result.  Refuses one that contradicts what the memory is pinned to."""
        scope = self._pinned.stamp(**{name: getattr(arguments, name, None) for name in _NARROWING})
        return {name: getattr(scope, name) for name in SCOPE_FIELDS}


def _narrowing(arguments: NarrowedArguments) -> dict[str, Any]:
    return {name: value for name in _NARROWING if (value := getattr(arguments, name)) is not None}


def _verdict(result: RememberResult) -> dict[str, Any]:
    return {name: getattr(result, name) for name in Verdict.model_fields}


def _landed(outcome: Outcome[RememberResult]) -> Landed:
    if isinstance(outcome.verdict, Exception):
        return Landed(kept_as=outcome.number, verdict=None, error=in_words(outcome.verdict))
    return Landed(kept_as=outcome.number, verdict=Verdict(**_verdict(outcome.verdict)), error=None)


def in_words(error: Exception) -> str:
    """What a model is told of a failure: what was wrong and what to do, and of a fault of ours only that it was one."""
    if isinstance(error, OSError):
        return f"the memory could not be read or written: {error.strerror or type(error).__name__}"
    if isinstance(error, AgentMemoryError):
        return str(error)
    return f"internal error ({type(error).__name__}); the server goes on"

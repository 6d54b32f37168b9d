"""The porcelain: an agent's memory in two calls, ``remember`` and ``recall``, and the few that tend it.

``Memory`` orchestrates and decides nothing: what a record is, how it may change, what merges, what is found, is decided
by the modules below it, and the same for whoever calls them.  It writes through one door.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from . import standing
from .clock import now_utc
from .corrections.story import History, named
from .counts import counted
from .entry import Entry, batches
from .errors import AgentMemoryError, ArgumentError, LifecycleError, RecordError, StoreError
from .intake import RememberResult
from .loading import LoadReport, plan_load
from .memory_file import MemoryFile
from .opened import Opened
from .pinned import scope_field
from .pipeline import (
    ConsolidationReport,
    DecayReport,
    decay,
    resolve,
)
from .places import as_path, remove_foreign_index
from .recall_result import RecallResult
from .recalling import Asked
from .records import MemoryRecord, RecordState, RecordType
from .redaction import redact_record
from .similar import SimilarPairs, similar_pairs
from .standing import SlashReport
from .transfer import export_records, read_memory_file
from .wire import check_reason

if TYPE_CHECKING:
    pass

__all__ = ["Memory", "RememberResult"]


class Memory(Opened):
    """An agent's memory.

    Usable from several threads.  While one consolidates, the others get, list and recall what was committed before; in
    a memory without a path they wait for its end.  What writes waits everywhere, and :meth:`status` and :meth:`export`.
    Close it, or use it as a context manager, so that touch counts are written.  What it is opened with is told at
    :meth:`__init__`.
    """

    # ------------------------------------------------------------------ remember

    def remember(
        self,
        text: str,
        *,
        tags: Iterable[str] | None = None,
        source: str | None = None,
        mtype: str | None = None,
        value: float | None = None,
        occurred_at: datetime | str | None = None,
        author: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        key: str | None = None,
        object: str | None = None,
        reaffirm: bool = False,
        derived_from: Iterable[str] | None = None,
    ) -> RememberResult:
        """Remember a text.  The arguments are those of :class:`agent_memory.entry.Entry`.

        A text that a live record says already (same scope, type and source) reinforces that record: it is touched, and
        gets a new version only when a tag, evidence or a greater value comes with the repetition.

        With a ``key`` a new value corrects the one that stood, and a value that was corrected does not come back by
        being said again: the result is then ``blocked`` and its ``note`` says what to do (spec/corrections.md).

        Raises:
            ArgumentError: an argument is not what it may be (also a ValueError or TypeError); nothing is written.
            StoreError: it could not be written; nothing was.

        A consolidation that this call sets off and that fails is told in the result, for the text is remembered.
        """
        entry = Entry.read(
            text,
            tags=tags,
            source=source,
            mtype=mtype,
            value=value,
            occurred_at=occurred_at,
            author=author,
            user_id=user_id,
            agent_id=agent_id,
            session_id=session_id,
            key=key,
            object=object,
            reaffirm=reaffirm,
            derived_from=derived_from,
        )
        with self._writing():
            return self._consolidate_if_due(self._take_in(entry))

    def remember_many(
        self,
        items: Iterable[str | Mapping[str, Any]],
        *,
        progress: Callable[[int], None] | None = None,
    ) -> list[RememberResult | AgentMemoryError]:
        """Remember many texts: each a str, or a mapping of the arguments of :meth:`remember` with ``text`` among them.

        Faster than one by one: items are written in transactions of up to 256, and consolidation runs once, at the end.
        ``progress`` is called with the number of items done so far.

        Returns:
            One entry per item, in order: its result, or the error it was refused with; the others are still taken.

        Raises:
            ArgumentTypeError: ``items`` is one text or mapping, or not iterable.
            StoreError: the store failed; the items of earlier transactions are kept, those of the last are not.
        """
        results: list[RememberResult | AgentMemoryError] = []
        for batch in batches(items):
            with self._writing(), self._door.transaction():
                results += [item if isinstance(item, AgentMemoryError) else self._attempt(item) for item in batch]
            if progress is not None:
                progress(len(results))
        with self._writing():
            last = next((at for at in reversed(range(len(results))) if isinstance(results[at], RememberResult)), None)
            if last is not None:
                results[last] = self._consolidate_if_due(results[last])  # type: ignore[arg-type]
        return results

    def _attempt(self, entry: Entry) -> RememberResult | AgentMemoryError:
        try:
            return self._take_in(entry)
        except StoreError:
            raise
        except AgentMemoryError as error:
            return error

    def _take_in(self, entry: Entry) -> RememberResult:
        with self._door.transaction():
            with self._asking():
                result = self._intake.take(entry)
            self._door.after_commit(lambda: self._count_accepted(len(result.ingest.accepted)))
        return result

    def _count_accepted(self, count: int) -> None:
        self._accepted_since_pass += count

    def revert(
        self,
        key: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
    ) -> RememberResult:
        """Let the previous value of a key stand again, as a new record derived from the old one.

        Raises:
            ArgumentError: ``key`` is no key, or a scope that contradicts what the memory is pinned to.
            RecordError: there is no previous value, or it has been redacted.
            StoreError: the store failed; nothing was written.
        """
        place = self._pinned.stamp(user_id=user_id, agent_id=agent_id, session_id=session_id)
        name, _ = named(None, key=key)
        with self._writing(), self._door.transaction():
            return self._corrections.revert(name or "", place, now=now_utc(), kind=self._source_kind, agent=self._agent)

    def retire(
        self,
        subject: str | None = None,
        reason: str = "",
        *,
        key: str | None = None,
        record_id: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> RememberResult:
        """Archive what stands under a key, or one record: it is out of recall, and kept.

        What stood under a key does not come back by being said again, only with ``reaffirm=True`` or by
        :meth:`revert`.

        Args:
            subject: a key, or the id of a record; or give it as ``key`` or ``record_id``.
            reason: why; kept with the record.

        Raises:
            ArgumentError: no reason, not one subject, or a scope that contradicts what the memory is pinned to.
            RecordError: nothing stands under the key, or the record is archived already.
            StoreError: an unknown id, or the store failed; nothing was written.
        """
        check_reason(reason, "retiring", ArgumentError)
        name, wanted = named(subject, key=key, record_id=record_id)
        place = self._pinned.stamp(user_id=user_id, agent_id=agent_id)
        with self._writing(), self._door.transaction():
            if name is not None:
                return self._corrections.retire_key(name, place.consolidation, reason=reason, now=now_utc())
            record = self._readable(user_id=user_id, agent_id=agent_id).get(wanted or "")
            return self._corrections.retire_record(record, reason=reason, now=now_utc())

    # ------------------------------------------------------------------ recall and reading

    def recall(
        self,
        query: str,
        *,
        budget_tokens: int = 2000,
        include_history: bool = False,
        include_archived: bool = False,
        touch: bool = True,
        types: Iterable[RecordType | str] | None = None,
        tags: Iterable[str] | None = None,
        min_score: float = 0.0,
        limit: int | None = None,
        as_of: datetime | str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
    ) -> RecallResult:
        """Find what is relevant to ``query``, whole records within ``budget_tokens`` (about 4 characters a token).

        Both sides of a dispute come together or not at all.  Each record returned is touched; no record changes.

        Args:
            include_history: also what was superseded, behind what replaced it.
            include_archived: also what was archived.
            touch: False leaves no trace of this recall.
            types, tags: only records of one of these types, and with all of these tags, are found.
            min_score: only records of at least this score are found; nothing is an answer too.
            limit: most records returned.
            as_of: a moment, as an aware datetime or ISO 8601 text: what would have been found then, in the versions of
                then.  What was erased since is gone, and counted.  Takes a pass over the memory, and touches nothing.
            user_id, agent_id, session_id: narrow it to what is theirs or everybody's.

        Raises:
            ArgumentError: an argument of the wrong type (also a TypeError) or out of range (also a ValueError), or a
                field that contradicts what the memory is pinned to, or is required and left out.
            StoreError: the store failed.
        """
        asked = Asked.read(
            query,
            budget_tokens=budget_tokens,
            include_history=include_history,
            include_archived=include_archived,
            touch=touch,
            types=types,
            tags=tags,
            min_score=min_score,
            limit=limit,
            as_of=as_of,
            scope=self._pinned.asked(user_id=user_id, agent_id=agent_id, session_id=session_id),
        )
        self._check_open()
        return self._recalling.recall(asked)

    def get(self, record_id: str, *, user_id: str | None = None, agent_id: str | None = None) -> MemoryRecord:
        """The newest version of a record.

        Raises:
            StoreError: an unknown or malformed id; one outside what the memory is pinned to is unknown.
            ArgumentError: a field contradicts what the memory is pinned to, or is required and left out.
        """
        return self._readable(user_id=user_id, agent_id=agent_id).get(record_id)

    def history(
        self,
        subject: str | None = None,
        *,
        key: str | None = None,
        record_id: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> History:
        """Every version of a record, or of all that was ever said under a key, in the order they were written.

        Args:
            subject: a key, or the id of a record; or give it as ``key`` or ``record_id``.
            user_id, agent_id: narrow it to what is theirs or everybody's.

        Raises:
            ArgumentError: not one subject, or a scope that contradicts what the memory is pinned to.
            StoreError: an unknown or malformed id.
        """
        name, wanted = named(subject, key=key, record_id=record_id)
        if name is None:
            return History(self._readable(user_id=user_id, agent_id=agent_id).history(wanted or ""))
        asked = self._pinned.asked(user_id=user_id, agent_id=agent_id)
        with self._open():
            self._door.refresh()
            return self._corrections.history(name, asked)

    def list(
        self,
        *,
        state: RecordState | None = None,
        type: RecordType | None = None,
        tag: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> tuple[MemoryRecord, ...]:
        """The newest version of every record that passes all given filters, of what is in scope."""
        return self._readable(user_id=user_id, agent_id=agent_id).list(state=state, type=type, tag=tag)

    def status(self) -> dict[str, Any]:
        """Counts: ``records``, ``by_state``, ``by_type``, ``open_contradictions``; and ``path``, ``agent``, ``scope``.

        ``damaged`` counts the files or rows that cannot be read or do not belong, which nothing else shows;
        ``erasure_pending`` is True while another process's reader keeps redacted bytes in a log.
        """
        with self._open():
            return {
                **counted(self._readable().list()),
                "damaged": len(self._damaged()),
                "erasure_pending": any(
                    getattr(place, "erasure_pending", False) for place in (self._store, self._catalogue)
                ),
                "path": None if self._path is None else str(self._path),
                "agent": self._agent,
                "scope": self.scope,
            }

    # ------------------------------------------------------------------ tending

    def consolidate(
        self,
        *,
        full: bool = False,
        dry_run: bool = False,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> ConsolidationReport:
        """Merge what says the same, open disputes over what clashes, draw rules from repeated episodes.

        Only what changed since the last time is looked at, which leaves nothing to do for one that looks at everything;
        so does the first one of other operators or thresholds.

        Args:
            full: look at everything all the same: when an operator would judge otherwise than it did.
            dry_run: give the report and write nothing.
            progress: called with the name of the pass, how many records are done, and of how many; what it raises
                ends the consolidation, and nothing of it is kept.

        Operators and ``progress`` may read this memory, and are refused when they write or close it.

        Raises:
            StoreError: the store failed; nothing of the pass was kept.
        """
        with self._writing():
            if not dry_run:
                self._accepted_since_pass = 0
            with self._asking():
                report = self._upkeep.run(full=full, dry_run=dry_run, progress=progress)
            if dry_run:
                return report
            merged = [record_id for action in report.by_pass("dedup.near") for record_id in action.record_ids]
            for part in self._store.get_many(merged).values():
                if part.superseded_by is not None:
                    self._touches.carry(part.id, part.superseded_by)
            return report

    def similar(
        self,
        threshold: float = 0.6,
        *,
        limit: int | None = 100,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> SimilarPairs:
        """Pairs of active records that are alike and stand apart all the same, most alike first.

        As :func:`agent_memory.similar.similar_pairs`, which see for the arguments and what is raised.
        """
        return similar_pairs(self._readable(), threshold=threshold, limit=limit, progress=progress)

    def _consolidate_if_due(self, result: RememberResult) -> RememberResult:
        if self._consolidate_every is None or self._accepted_since_pass < self._consolidate_every:
            return result
        try:
            return replace(result, consolidation=self.consolidate())
        except AgentMemoryError as error:
            return replace(result, consolidation_error=str(error))

    def decay(self) -> DecayReport:
        """Archive what has not been used for long; report what is protected.  Nothing is deleted."""
        with self._writing():
            return decay(self._door, scores=self._touches.scores(), config=self._decay_config, only=self._within)

    def resolve(self, record_id: str, winner_id: str, reason: str) -> None:
        """Settle a dispute: ``record_id`` lost, ``winner_id`` holds; the loser stays as history with the reason.

        Raises:
            ArgumentError: an empty reason (also a ValueError).
            RecordError: the two are one, or not the two sides of an open dispute.
            StoreError: an unknown id.
        """
        check_reason(reason, "a resolution", ArgumentError)
        if record_id == winner_id:
            raise RecordError("loser and winner are the same record; name both sides of the dispute")
        with self._writing(), self._door.transaction():
            view = self._readable()
            view.get(record_id), view.get(winner_id)
            try:
                resolve(self._door, winner_id=winner_id, loser_id=record_id, reason=reason)
            except LifecycleError as error:
                raise RecordError(f"there is no such dispute to resolve: {error}") from None

    def credit(
        self, record_id: str, good: bool = True, weight: int = 1, *, reason: str | None = None, by: str | None = None
    ) -> MemoryRecord:
        """Credit an outcome to a record: what was recalled served well, or badly.  Recall weighs it from then on.

        As :func:`agent_memory.standing.credit`, which see for what is raised; ``by`` is the memory's agent by default.
        """
        with self._writing():
            self._pinned.check_required()
            return standing.credit(
                self._door,
                record_id,
                good=good,
                weight=weight,
                reason=reason,
                by=self._agent if by is None else by,
                now=now_utc(),
                within=self._within,
            )

    def slash(self, source: str, reason: str, *, by: str | None = None) -> SlashReport:
        """Forfeit the standing of all that came from a source or from below it, and of all that was drawn from it.

        As :func:`agent_memory.standing.slash`, which see; ``by`` is the memory's agent by default.
        """
        name = scope_field("source", source)
        if name is None:
            raise ArgumentError("source is missing; name who or what is to lose its standing")
        with self._writing():
            self._pinned.check_required()
            who = self._agent if by is None else by
            return standing.slash(self._door, name, reason, by=who, now=now_utc(), within=self._within)

    def redact(self, record_id: str, reason: str, *, cascade: bool = True) -> MemoryRecord:
        """Destroy what a record says, in every version of it, and with ``cascade`` in everything drawn from it.

        Returns the tombstone of ``record_id``: its id and links remain, nothing it said does.

        Raises:
            ArgumentError: an empty reason (also a ValueError).
            RecordError: the record, and all that was drawn from it, is redacted already.
            StoreError: an unknown id, a store that cannot redact, or one that failed; asking again finishes.
        """
        check_reason(reason, "a redaction", ArgumentError)
        with self._writing():
            self._pinned.check_required()
            if self._path is not None:
                remove_foreign_index(self._path)
            return redact_record(
                record_id,
                reason,
                door=self._door,
                store=self._store,
                touches=self._touches,
                may_erase=self._within,
                cascade=cascade,
                promotion_threshold=self._config.promotion_threshold,
                now=now_utc(),
            )

    # ------------------------------------------------------------------ portability

    def export(self, path: str | os.PathLike[str], *, partial: bool = False) -> MemoryFile:
        """Write the newest version of every record to one canonical JSON file, signed when there is an identity.

        Of a pinned memory, the records it may see.

        Args:
            path: where to; what stands there is replaced.
            partial: whether to go on without the records that cannot be read, where there are any.

        Raises:
            ArgumentError: ``path`` lies inside the memory.
            StoreError: a record cannot be read, or the file could not be written; what stood there before still does.
        """
        target = as_path(path)
        if self._path is not None and target.resolve().is_relative_to(self._path.resolve()):
            raise ArgumentError("an export must not lie inside the memory it is of; choose a place outside")
        with self._open():
            if not partial and (damaged := self._damaged()):
                raise StoreError(
                    f"{len(damaged)} files or rows of this memory cannot be read, so an export would lack records; "
                    "run `agent-memory doctor`, or export with partial=True"
                )
            records = self._readable().list()
        return export_records(path, records, keys=self._keys, agent=self._agent)

    @classmethod
    def load(
        cls,
        file_path: str | os.PathLike[str],
        *,
        path: str | os.PathLike[str] | None = None,
        verify: bool = True,
        expected_agent: str | None = None,
        **memory_kwargs: Any,
    ) -> Self:
        """Open the memory at ``path`` (default: in memory) and take an exported file into it; see :meth:`load_file`.

        The file is read and verified before anything is made at ``path``.
        """
        file = read_memory_file(file_path, verify=verify, expected_agent=expected_agent)
        memory = cls(path, **memory_kwargs)
        try:
            memory.load_report = memory._take_file(file)
        except BaseException:
            memory.close()
            raise
        return memory

    load_report: LoadReport | None = None
    """What :meth:`load` did, for a memory opened by it."""

    def load_file(
        self, file_path: str | os.PathLike[str], *, verify: bool = True, expected_agent: str | None = None
    ) -> LoadReport:
        """Take an exported file into this memory.  Ids that are here are skipped, never overwritten.

        Args:
            verify: require the file's signature and check every record that names a signer.
            expected_agent: address whose file it must be; None accepts any signer.

        Raises:
            RecordError: not a memory file, damaged, unsigned while ``verify``, or another agent's.
            SignatureMismatch: a signature does not match; also a ``fg_agent_id.SignatureError``.
            StoreError: the file cannot be read, or the store failed.  In every case nothing is written.
        """
        return self._take_file(read_memory_file(file_path, verify=verify, expected_agent=expected_agent))

    def _take_file(self, file: MemoryFile) -> LoadReport:
        with self._writing(), self._door.transaction():
            here = {record.id: record for record in self._store.list()}
            plan = plan_load(here, file, now=now_utc(), pinned=self._pinned)
            self._door.put_as_is(plan.births)
            self._door.put_many(plan.moves)
        return plan.report

"""The porcelain: an agent's memory in two calls, ``remember`` and ``recall``, and the few that tend it.

``Memory`` orchestrates and decides nothing: what a record is, how it may change, what merges, what is found, is decided
by the modules below it, and the same for whoever calls them.  It owns the store, the search indexes and the touch
counts, holds one lock over them, and writes through one door.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from . import signing, stores
from .clock import now_utc
from .door import Door
from .entry import Entry
from .erasure import plan_erasure
from .errors import AgentMemoryError, ArgumentError, ArgumentTypeError, LifecycleError, RecordError, StoreError
from .fields import RESERVED_KINDS
from .identity import open_identity
from .intake import Intake, RememberResult
from .loading import LoadReport, plan_load
from .memory_file import MemoryFile
from .pipeline import (
    ConsolidationConfig,
    ConsolidationOperators,
    ConsolidationReport,
    DecayConfig,
    DecayReport,
    VerbatimExtractor,
    decay,
    resolve,
)
from .pipeline.recall import retrieve
from .places import as_path, make_sidecar_folder, remove_foreign_index, sidecar_folder
from .ports import Operator, RecordStore, SearchIndex
from .recall_result import RecallResult
from .records import MemoryRecord, Provenance, RecordState, RecordType
from .similar import SimilarPairs, similar_pairs
from .touches import Touches, Unmoved
from .transfer import read_memory_file, write_memory_file
from .upkeep import Upkeep
from .wire import check_reason

if TYPE_CHECKING:
    from fg_agent_id import KeyPair

__all__ = ["Memory", "RememberResult"]

_BATCH: Final = 256
"""Items of ``remember_many`` in one transaction."""


class Memory:
    """An agent's memory.

    Args:
        path: a directory, a ``.db``/``.sqlite`` file, or None for a memory that is gone when the process ends.  What
            exists there decides; else the suffix does.
        store: a store to use instead of ``path``; then nothing is made on disk.
        indexes: search indexes to use instead of the default one; they hear of what is written from now on, and
            whoever gives them has filled them with what was there.
        extractor: turns text into proposed records; by default the text becomes one record, word for
            word but for white space around it.  It may read this memory; writing or closing it is refused.
        operators: what consolidation proposes with; the default has no resolver, so a dispute stays open until
            :meth:`resolve`.
        consolidation_config, decay_config: see there.
        identity: a ``fg_agent_id.KeyPair``, or the path of a keyfile, made on first use; new records are then signed.
        source_kind: ``provenance.kind`` of what is remembered.
        auto_consolidate: whether ``remember`` consolidates after every ``auto_consolidate_every`` (1 or more) records
            it accepted.

    Usable from several threads.  While one consolidates, the others get, list and recall what was committed before; in
    a memory without a path they wait for its end.  What writes waits everywhere, and :meth:`status` and :meth:`export`.
    Close it, or use it as a context manager, so that touch counts are written.

    Raises:
        StoreError: ``path`` is no memory, or cannot be read or made.
        ArgumentError: an argument outside its range.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = "./memory",
        *,
        store: RecordStore | None = None,
        indexes: Sequence[SearchIndex] | None = None,
        extractor: Operator | None = None,
        operators: ConsolidationOperators | None = None,
        consolidation_config: ConsolidationConfig | None = None,
        decay_config: DecayConfig | None = None,
        identity: KeyPair | str | os.PathLike[str] | None = None,
        source_kind: str = "conversation",
        auto_consolidate: bool = True,
        auto_consolidate_every: int = 4,
    ) -> None:
        if isinstance(auto_consolidate_every, bool) or not isinstance(auto_consolidate_every, int):
            raise ArgumentTypeError("auto_consolidate_every must be a whole number")
        if auto_consolidate_every < 1:
            raise ArgumentError("auto_consolidate_every must be 1 or more; use auto_consolidate=False to turn it off")
        for name, given, kind in (
            ("store", store, RecordStore),
            ("extractor", extractor, Operator),
            ("operators", operators, ConsolidationOperators),
            ("consolidation_config", consolidation_config, ConsolidationConfig),
            ("decay_config", decay_config, DecayConfig),
            *((f"indexes[{position}]", index, SearchIndex) for position, index in enumerate(indexes or ())),
        ):
            if given is not None and not isinstance(given, kind):
                raise ArgumentTypeError(f"{name} must be a {kind.__name__} or None, not {type(given).__name__}")
        if source_kind in RESERVED_KINDS:
            raise ArgumentError(f"source_kind must not be {source_kind!r}: only the memory itself makes such records")
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._path = None if store is not None or path is None else as_path(path)
        self._keys = open_identity(identity)
        self._agent = None if self._keys is None else signing.address_of(self._keys)
        Provenance(kind=source_kind)  # refuses a kind that no record could have
        self._config = consolidation_config or ConsolidationConfig()
        self._decay_config = decay_config or DecayConfig()
        self._consolidate_every = auto_consolidate_every if auto_consolidate else None
        self._accepted_since_pass = 0
        self._closed = False
        self._asks = False

        self._store = stores.open_store(self._path) if store is None else store
        sidecars = None if self._path is None else sidecar_folder(self._path)
        from .catalogue import open_catalogue  # brings SQLite in, which importing the package does not

        if sidecars is not None and not make_sidecar_folder(sidecars):
            sidecars = None  # a memory that cannot be written is read all the same
        self._touches = Touches(None if sidecars is None else sidecars / "salience.json")
        self._catalogue = open_catalogue(sidecars, self._store)
        self._indexes: tuple[SearchIndex, ...] = (self._catalogue,) if indexes is None else tuple(indexes)
        self._door = Door(
            self._store,
            keys=self._keys,
            address=self._agent,
            catalogue=self._catalogue,
            indexes=indexes or (),
        )
        self._upkeep = Upkeep(
            door=self._door,
            store=self._store,
            operators=operators or ConsolidationOperators.without_resolver(self._config),
            config=self._config,
            folder=sidecars,
        )
        self._intake = Intake(
            door=self._door,
            touches=self._touches,
            extractor=extractor or VerbatimExtractor(),
            source_kind=source_kind,
            agent=self._agent,
        )

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
    ) -> RememberResult:
        """Remember a text.  The arguments are those of :class:`agent_memory.entry.Entry`.

        A text that a live record says already (same scope, type and source) reinforces that record: it is touched, and
        gets a new version only when a tag or a greater value comes with the repetition.

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
        if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
            raise ArgumentTypeError(f"items must be a list of texts or mappings, not {type(items).__name__}")
        results: list[RememberResult | AgentMemoryError] = []
        batch: list[Entry | AgentMemoryError] = []

        def take_batch() -> None:
            with self._writing(), self._door.transaction():
                results.extend(item if isinstance(item, AgentMemoryError) else self._attempt(item) for item in batch)
            batch.clear()
            if progress is not None:
                progress(len(results))

        for item in items:
            try:
                batch.append(Entry.read_item(item))
            except AgentMemoryError as error:
                batch.append(error)
            if len(batch) == _BATCH:
                take_batch()
        if batch:
            take_batch()
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

    # ------------------------------------------------------------------ recall and reading

    def recall(
        self,
        query: str,
        *,
        budget_tokens: int = 2000,
        include_history: bool = False,
        include_archived: bool = False,
        touch: bool = True,
    ) -> RecallResult:
        """Find what is relevant to ``query``, whole records within ``budget_tokens`` (about 4 characters a token).

        Both sides of a dispute come together or not at all.  ``include_history`` adds what was superseded behind what
        replaced it, ``include_archived`` what was archived.  Each record returned is touched, unless ``touch`` is
        False; no record changes.

        Raises:
            ArgumentError: ``query`` is no text or the budget no number of 0 or more.
        """
        if not isinstance(query, str):
            raise ArgumentTypeError(f"query must be a str, not {type(query).__name__}")
        if isinstance(budget_tokens, bool) or not isinstance(budget_tokens, int) or budget_tokens < 0:
            raise ArgumentError("budget_tokens must be a whole number, 0 or more")
        self._check_open()
        self._door.refresh()
        block = retrieve(
            query,
            store=self._store,
            indexes=self._indexes,
            budget_tokens=budget_tokens,
            include_history=include_history,
            include_archived=include_archived,
            touches=self._touches if touch else Unmoved(self._touches),
        )
        self._touches.flush_if_due()
        return RecallResult(block=block)

    def get(self, record_id: str) -> MemoryRecord:
        """The newest version of a record.  Raises StoreError for an unknown or malformed id."""
        self._check_open()
        return self._store.get(record_id)

    def history(self, record_id: str) -> tuple[MemoryRecord, ...]:
        """Every version of a record, oldest first.  Raises as :meth:`get`."""
        self._check_open()
        return self._store.history(record_id)

    def list(
        self, *, state: RecordState | None = None, type: RecordType | None = None, tag: str | None = None
    ) -> tuple[MemoryRecord, ...]:
        """The newest version of every record that passes all given filters."""
        self._check_open()
        return self._store.list(state=state, type=type, tag=tag)

    def status(self) -> dict[str, Any]:
        """Counts: ``records``, ``by_state``, ``by_type``, ``open_contradictions``; and ``path`` and ``agent``.

        ``damaged`` counts the files or rows that cannot be read or do not belong, which nothing else shows;
        ``erasure_pending`` is True while another process's reader keeps redacted bytes in a log.
        """
        with self._open():
            records = self._store.list()
            damaged = len(self._damaged())
            pending = any(getattr(place, "erasure_pending", False) for place in (self._store, self._catalogue))
        disputes = {frozenset(record.transition.sides) for record in records if record.transition is not None}
        return {
            "records": len(records),
            "by_state": dict(sorted(Counter(record.state.value for record in records).items())),
            "by_type": dict(sorted(Counter(record.type.value for record in records).items())),
            "open_contradictions": len(disputes),
            "damaged": damaged,
            "erasure_pending": pending,
            "path": None if self._path is None else str(self._path),
            "agent": self._agent,
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
        self._check_open()
        return similar_pairs(self._store, threshold=threshold, limit=limit, progress=progress)

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
            return decay(self._door, scores=self._touches.scores(), config=self._decay_config)

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
        with self._writing():
            try:
                resolve(self._door, winner_id=winner_id, loser_id=record_id, reason=reason)
            except LifecycleError as error:
                raise RecordError(f"there is no such dispute to resolve: {error}") from None

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
            redact = getattr(self._store, "redact", None)
            if not callable(redact):
                raise StoreError(f"{type(self._store).__name__} cannot redact; it offers no redact()")
            if self._path is not None:
                remove_foreign_index(self._path)
            with self._door.transaction():
                newest = {record.id: record for record in (*self._store.list(), self._store.get(record_id))}
                plan = plan_erasure(
                    newest,
                    [record_id],
                    cascade=cascade,
                    now=now_utc(),
                    promotion_threshold=self._config.promotion_threshold,
                )
                if not plan.erased:  # done before; what was left to do after that is done again
                    self._touches.forget(plan.reached)
                # What is carried on goes first and what was asked for last: should a store without transactions fail on
                # the way, nothing is lost, and asking again finishes.
                self._door.put_many((*plan.reopened, *plan.recreated))
                self._door.redact(lambda erased: redact(erased, reason), plan.erased[::-1] or (record_id,))
            try:
                self._touches.forget(plan.reached)
            except StoreError as error:
                raise StoreError(
                    f"{record_id} is redacted, but how often it was recalled is still noted; redact it again to remove "
                    f"that: {error}"
                ) from error
            return self._store.get(record_id)

    # ------------------------------------------------------------------ portability

    def export(self, path: str | os.PathLike[str], *, partial: bool = False) -> MemoryFile:
        """Write the newest version of every record to one canonical JSON file, signed when there is an identity.

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
            records = sorted(self._store.list(), key=lambda record: (record.created_at, record.id))
        file = MemoryFile.create(records, agent=self._agent)
        if self._keys is not None:
            file = file.sign(self._keys)
        write_memory_file(path, file)
        return file

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
            plan = plan_load(here, file, now=now_utc())
            self._door.put_as_is(plan.births)
            self._door.put_many(plan.moves)
        return plan.report

    # ------------------------------------------------------------------ the memory itself

    @property
    def store(self) -> RecordStore:
        """The store this memory writes to.  Versions put there directly bypass its indexes and signatures."""
        return self._store

    @property
    def agent(self) -> str | None:
        """The agent address this memory signs with, or None."""
        return self._agent

    def close(self) -> None:
        """Write what is held back and release the store and the indexes.  Closing twice is allowed.

        In a forked child it does nothing: what is held back is the parent's to write.
        """
        if self._is_forked:
            return
        with self._lock:
            if self._closed:
                return
            self._check_unasked()
            self._closed = True
            try:
                self._upkeep.close()
                self._touches.close()
            finally:
                for index in {*self._indexes, self._catalogue}:
                    index.close()
                self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _damaged(self) -> tuple[tuple[str, str], ...]:
        """What the store cannot read, as (where, what)."""
        damaged: Callable[[], tuple[tuple[str, str], ...]] = getattr(self._store, "damaged", tuple)
        return damaged()

    @property
    def _is_forked(self) -> bool:
        """Whether the process that opened the files of this memory is another, of which this one is a forked child."""
        return self._path is not None and self._process != os.getpid()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("this memory is closed; open it again with Memory(path)")
        if self._is_forked:
            raise StoreError("this memory was opened before this process was forked; open it again here")

    @contextmanager
    def _open(self) -> Iterator[None]:
        """The lock over all that writes, for a memory that is not closed.  What only reads takes none."""
        self._check_open()  # a lock that was held when this process was forked is never given back here
        with self._lock:
            self._check_open()
            yield

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """As :meth:`_open`, for what writes: refused to an operator, extractor or callback that is being asked."""
        with self._open():
            self._check_unasked()
            yield

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """While code of the caller's is asked, which may read this memory; the lock is held."""
        self._asks = True
        try:
            yield
        finally:
            self._asks = False

    def _check_unasked(self) -> None:
        if self._asks:
            raise StoreError(
                "a memory cannot be written or closed by an operator, extractor or progress callback it is asking: "
                "these may read it; write when the call that asks has returned"
            )

"""The porcelain: an agent's memory in two calls, ``remember`` and ``recall``, and the few that tend it.

``Memory`` orchestrates and decides nothing: what a record is, how it may change, what merges, what is found, is decided
by the modules below it, and the same for whoever calls them.  It owns the store, the search indexes and the touch
counts, holds one lock over them, and writes through one door.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from . import signing, stores
from .clock import now_utc
from .door import Door
from .entry import Entry
from .erasure import plan_erasure
from .errors import AgentMemoryError, ArgumentError, ArgumentTypeError, LifecycleError, RecordError, StoreError
from .holders import Holders
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
    consolidate,
    decay,
    resolve,
)
from .pipeline.recall import retrieve
from .places import as_path, sidecar_folder
from .ports import Operator, RecordStore, SearchIndex
from .recalled import RecallResult
from .records import MemoryRecord, Provenance, RecordState, RecordType
from .touches import Touches, Unmoved
from .transfer import read_memory_file, write_memory_file

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
        indexes: search indexes to use instead of the default one, which is built from the store on opening.
        extractor: turns text into proposed records; by default the text becomes one record, word for word.
        operators: what consolidation proposes with; the default has no resolver, so a dispute stays open until
            :meth:`resolve`.
        consolidation_config, decay_config: see there.
        identity: a ``fg_agent_id.KeyPair``, or the path of a keyfile, made on first use; new records are then signed.
        source_kind: ``provenance.kind`` of what is remembered.
        auto_consolidate: whether ``remember`` consolidates after every ``auto_consolidate_every`` (1 or more) records
            it accepted.

    Usable from several threads.  Close it, or use it as a context manager, so that touch counts are written.

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
        self._lock = threading.RLock()
        self._path = None if store is not None or path is None else as_path(path)
        self._keys = open_identity(identity)
        self._agent = None if self._keys is None else signing.address_of(self._keys)
        Provenance(kind=source_kind)  # refuses a kind that no record could have
        self._config = consolidation_config or ConsolidationConfig()
        self._operators = operators or ConsolidationOperators.without_resolver(self._config)
        self._decay_config = decay_config or DecayConfig()
        self._consolidate_every = auto_consolidate_every if auto_consolidate else None
        self._accepted_since_pass = 0
        self._closed = False

        self._store = stores.open_store(self._path) if store is None else store
        sidecar = None if self._path is None else sidecar_folder(self._path) / "salience.json"
        self._touches = Touches(sidecar, self._store)
        records = self._store.list()
        holders = Holders(records)
        self._indexes: tuple[SearchIndex, ...]
        if indexes is None:
            self._indexes = (_default_index(),)
            self._indexes[0].index_many(records)
        else:
            self._indexes = tuple(indexes)
        self._door = Door(
            self._store,
            keys=self._keys,
            address=self._agent,
            holders=holders,
            indexes=self._indexes,
        )
        self._intake = Intake(
            door=self._door,
            holders=holders,
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
        with self._open():
            result = self._take_in(entry)
            report = self._consolidate_if_due()
        if report is None:
            return result
        return RememberResult(
            record_id=result.record_id, deduped=result.deduped, ingest=result.ingest, consolidation=report
        )

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
            StoreError: the store failed; the items of earlier transactions are kept, those of the last are not.
        """
        results: list[RememberResult | AgentMemoryError] = []
        batch: list[Entry | AgentMemoryError] = []

        def take_batch() -> None:
            with self._open(), self._door.transaction():
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
        with self._open():
            self._consolidate_if_due()
        return results

    def _attempt(self, entry: Entry) -> RememberResult | AgentMemoryError:
        try:
            return self._take_in(entry)
        except StoreError:
            raise
        except AgentMemoryError as error:
            return error

    def _take_in(self, entry: Entry) -> RememberResult:
        result = self._intake.take(entry)
        self._accepted_since_pass += len(result.ingest.accepted)
        return result

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
        with self._open():
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
        with self._open():
            return self._store.get(record_id)

    def history(self, record_id: str) -> tuple[MemoryRecord, ...]:
        """Every version of a record, oldest first.  Raises as :meth:`get`."""
        with self._open():
            return self._store.history(record_id)

    def list(
        self, *, state: RecordState | None = None, type: RecordType | None = None, tag: str | None = None
    ) -> tuple[MemoryRecord, ...]:
        """The newest version of every record that passes all given filters."""
        with self._open():
            return self._store.list(state=state, type=type, tag=tag)

    def status(self) -> dict[str, Any]:
        """Counts: ``records``, ``by_state``, ``by_type``, ``open_contradictions``; and ``path`` and ``agent``.

        ``erasure_pending`` is True while another process's reader keeps redacted bytes in the store's log.
        """
        with self._open():
            records = self._store.list()
        disputes = {frozenset(record.transition.sides) for record in records if record.transition is not None}
        return {
            "records": len(records),
            "by_state": dict(sorted(Counter(record.state.value for record in records).items())),
            "by_type": dict(sorted(Counter(record.type.value for record in records).items())),
            "open_contradictions": len(disputes),
            "erasure_pending": bool(getattr(self._store, "erasure_pending", False)),
            "path": None if self._path is None else str(self._path),
            "agent": self._agent,
        }

    # ------------------------------------------------------------------ tending

    def consolidate(self, *, progress: Callable[[str, int, int], None] | None = None) -> ConsolidationReport:
        """Merge what says the same, open disputes over what clashes, draw rules from repeated episodes.

        Raises:
            StoreError: the store failed; nothing of the pass was kept.
        """
        with self._open():
            self._accepted_since_pass = 0
            return consolidate(self._door, operators=self._operators, config=self._config, progress=progress)

    def _consolidate_if_due(self) -> ConsolidationReport | None:
        if self._consolidate_every is None or self._accepted_since_pass < self._consolidate_every:
            return None
        return self.consolidate()

    def decay(self) -> DecayReport:
        """Archive what has not been used for long; report what is protected.  Nothing is deleted."""
        with self._open():
            return decay(self._door, scores=self._touches.scores(), config=self._decay_config)

    def resolve(self, record_id: str, winner_id: str, reason: str) -> None:
        """Settle a dispute: ``record_id`` lost, ``winner_id`` holds; the loser stays as history with the reason.

        Raises:
            ArgumentError: an empty reason (also a ValueError).
            RecordError: the two are one, or not the two sides of an open dispute.
            StoreError: an unknown id.
        """
        if not isinstance(reason, str) or not reason.strip():
            raise ArgumentError("a resolution needs a reason: non-empty text")
        if record_id == winner_id:
            raise RecordError("loser and winner are the same record; name both sides of the dispute")
        with self._open():
            try:
                resolve(self._door, winner_id=winner_id, loser_id=record_id, reason=reason)
            except LifecycleError as error:
                raise RecordError(f"there is no such dispute to resolve: {error}") from None

    def redact(self, record_id: str, reason: str, *, cascade: bool = True) -> MemoryRecord:
        """Destroy what a record says, in every version of it, and with ``cascade`` in everything drawn from it.

        Returns the tombstone of ``record_id``: its id and links remain, nothing it said does.

        Raises:
            ArgumentError: an empty reason (also a ValueError).
            RecordError: the record is redacted already.
            StoreError: an unknown id, or a store that cannot redact.
        """
        if not isinstance(reason, str) or not reason.strip():
            raise ArgumentError("a redaction needs a reason: non-empty text that does not repeat the content")
        with self._open():
            redact = getattr(self._store, "redact", None)
            if not callable(redact):
                raise StoreError(f"{type(self._store).__name__} cannot redact; it offers no redact()")
            with self._door.transaction():
                if self._store.get(record_id).redacted:
                    raise RecordError(f"record {record_id} is redacted already; a tombstone is final")
                newest = {record.id: record for record in self._store.list()}
                plan = plan_erasure(newest, [record_id], cascade=cascade, now=now_utc())
                self._door.redact(lambda erased: redact(erased, reason), plan.erased)
                self._door.put_many((*plan.reopened, *plan.recreated))
            self._touches.forget(frozenset(plan.erased))
            return self._store.get(record_id)

    # ------------------------------------------------------------------ portability

    def export(self, path: str | os.PathLike[str]) -> MemoryFile:
        """Write the newest version of every record to one canonical JSON file, signed when there is an identity.

        Raises:
            StoreError: the file could not be written; what stood there before still does.
        """
        with self._open():
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
        memory.load_report = memory._take_file(file)
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
        with self._open(), self._door.transaction():
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
        """Write what is held back and release the store and the indexes.  Closing twice is allowed."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            try:
                self._touches.flush()
            finally:
                for index in self._indexes:
                    index.close()
                self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open(self) -> threading.RLock:
        """The lock, for a memory that is not closed."""
        if self._closed:
            raise StoreError("this memory is closed; open it again with Memory(path)")
        return self._lock


def _default_index() -> SearchIndex:
    from .search import SQLiteSearchIndex

    return SQLiteSearchIndex()

"""A memory that is open: its store, what follows the store, the lock over them, and the scope it is pinned to.

Put together here and closed here.  What can be done with it is in :mod:`agent_memory.memory`, which derives from it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self

from . import signing, stores
from .corrections.keeping import Corrections
from .corrections.ledger import Fate, key_digest
from .door import Door
from .errors import ArgumentError, ArgumentTypeError, StoreError
from .fields import RESERVED_KINDS
from .identity import open_identity
from .intake import Intake
from .pinned import Pinned
from .pipeline import ConsolidationConfig, ConsolidationOperators, DecayConfig, VerbatimExtractor
from .places import as_path, make_sidecar_folder, sidecar_folder
from .ports import Operator, RecordStore, SearchIndex
from .recalling import Recalling
from .records import MemoryRecord, Provenance
from .search.lexical import SNAPSHOT, LexicalIndex
from .touches import Touches
from .upkeep import Upkeep
from .view import view_of

if TYPE_CHECKING:
    from fg_agent_id import KeyPair

__all__ = ["Opened"]


class Opened:
    """An open memory.  Usable from several threads."""

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
        project: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        require_scope: Iterable[str] = (),
        echo_guard: bool = True,
    ) -> None:
        """Open the memory at ``path``, or make it.

        Args:
            path: a directory, a ``.db``/``.sqlite`` file, or None for a memory that is gone when the process ends.
                What exists there decides; else the suffix does.
            store: a store to use instead of ``path``; then nothing is made on disk.
            indexes: search indexes to use instead of the default one; they hear of what is written from now on, and
                whoever gives them has filled them with what was there.
            extractor: turns text into proposed records; by default the text becomes one record, word for
                word but for white space around it.  It may read this memory; writing or closing it is refused.
            operators: what consolidation proposes with; the default has no resolver, so a dispute stays open until
                :meth:`resolve`.
            consolidation_config, decay_config: see there; without a ``decay_config`` half-lives differ by kind.
            identity: a ``fg_agent_id.KeyPair``, or the path of a keyfile, made on first use; new records are then
                signed.
            source_kind: ``provenance.kind`` of what is remembered.
            auto_consolidate: whether ``remember`` consolidates after every ``auto_consolidate_every`` (1 or more)
                records it accepted.
            project, user_id, agent_id, session_id: the scope the memory is pinned to: what it writes is stamped with
                it, and what belongs to another project, user or agent does not exist for it.  A call may narrow it.
            require_scope: names of ``project``, ``user_id``, ``agent_id`` that every call must name unless they are
                pinned; only consolidation and decay, which keep scopes apart by themselves, do without.
            echo_guard: whether a value that was corrected is kept from coming back by being said again.

        Raises:
            StoreError: ``path`` is no memory, or cannot be read or made.
            ArgumentError: an argument outside its range.
        """
        self._pinned = Pinned.read(
            project=project, user_id=user_id, agent_id=agent_id, session_id=session_id, require_scope=require_scope
        )
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
        if not isinstance(echo_guard, bool):
            raise ArgumentTypeError(f"echo_guard must be True or False, not {type(echo_guard).__name__}")
        if source_kind in RESERVED_KINDS:
            raise ArgumentError(f"source_kind must not be {source_kind!r}: only the memory itself makes such records")
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._path = None if store is not None or path is None else as_path(path)
        self._keys = open_identity(identity)
        self._agent = None if self._keys is None else signing.address_of(self._keys)
        Provenance(kind=source_kind)  # refuses a kind that no record could have
        self._config = consolidation_config or ConsolidationConfig()
        self._decay_config = decay_config or DecayConfig.by_kind()
        self._consolidate_every = auto_consolidate_every if auto_consolidate else None
        self._accepted_since_pass = 0
        self._closed = False
        self._asks = False

        self._store = stores.open_store(self._path) if store is None else store
        self._view = view_of(self._store, self._pinned)
        sidecars = None if self._path is None else sidecar_folder(self._path)
        from .catalogue import open_catalogue  # brings SQLite in, which importing the package does not

        if sidecars is not None and not make_sidecar_folder(sidecars):
            sidecars = None  # a memory that cannot be written is read all the same
        self._touches = Touches(None if sidecars is None else sidecars / "salience.json")
        self._catalogue = open_catalogue(sidecars, self._store)
        finder: LexicalIndex | None = None
        if indexes is None:
            finder = LexicalIndex(self._store, None if sidecars is None else sidecars / SNAPSHOT)
        self._followers: tuple[SearchIndex, ...] = (self._catalogue, *(indexes or () if finder is None else (finder,)))
        self._door = Door(
            self._store,
            keys=self._keys,
            address=self._agent,
            catalogue=self._catalogue,
            finder=finder,
            indexes=indexes or (),
        )
        self._recalling = Recalling(
            store=self._store,
            view=self._view,
            door=self._door,
            touches=self._touches,
            finder=finder,
            indexes=tuple(indexes or ()),
            holders=self._holders,
        )
        self._upkeep = Upkeep(
            door=self._door,
            store=self._store,
            operators=operators or ConsolidationOperators.without_resolver(self._config),
            config=self._config,
            folder=sidecars,
            pinned=self._pinned,
        )
        self._source_kind = source_kind
        self._corrections = Corrections(self._door, guard=echo_guard)
        self._intake = Intake(
            door=self._door,
            touches=self._touches,
            extractor=extractor or VerbatimExtractor(),
            source_kind=source_kind,
            agent=self._agent,
            pinned=self._pinned,
            corrections=self._corrections,
        )

    # ------------------------------------------------------------------ the memory itself

    @property
    def store(self) -> RecordStore:
        """The store this memory writes to, or what a pinned memory may see of it.

        Versions put there directly bypass its indexes and signatures.
        """
        return self._view

    @property
    def agent(self) -> str | None:
        """The agent address this memory signs with, or None."""
        return self._agent

    @property
    def scope(self) -> dict[str, str]:
        """The fields this memory is pinned to, by name; empty when it is pinned to nothing."""
        return self._pinned.as_facts

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
                for index in self._followers:
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

    def _within(self, record: MemoryRecord) -> bool:
        """Whether a record lies in what this memory is pinned to."""
        return self._pinned.sees(record, self._store.get_many)

    def _readable(self, *, user_id: str | None = None, agent_id: str | None = None) -> RecordStore:
        """What a call may read that names no more of a scope than this."""
        self._check_open()
        asked = self._pinned.asked(user_id=user_id, agent_id=agent_id)
        return self._view if user_id is None and agent_id is None else view_of(self._store, Pinned(asked))

    def _holders(self, key: str) -> Iterable[MemoryRecord]:
        """The live records that hold a key, in whatever scope, as far as the catalogue has come."""
        lines = self._catalogue.lines("key", [key_digest(key)]).values()
        return self._store.get_many(line.record_id for line in lines if line.fate is Fate.LIVE).values()

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

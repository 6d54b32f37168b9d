"""Recall as a memory does it: through its native index, or through the indexes it was given, now or as of a moment.

Called by :class:`agent_memory.memory.Memory`; what is relevant, what may be shown and what fits is decided below.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from typing import Any, Self

from .clock import now_utc, read_time
from .door import Door
from .errors import AgentMemoryError, ArgumentError, ArgumentTypeError
from .extension import Scope
from .pipeline.answer import answer
from .pipeline.recall import RetrievedBlock, retrieve
from .ports import RecordStore, SearchIndex
from .recall_result import RecallResult
from .records import MemoryRecord, RecordType
from .search.lexical import LexicalIndex
from .stores.memory import InMemoryRecordStore
from .touches import Touches, Unmoved
from .wire import check_text_list

__all__ = ["Asked", "Recalling"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The arguments of a recall, checked.

    Attributes:
        query: text.
        budget_tokens: about four characters each, 0 or more.
        include_history, include_archived: also superseded; also archived records.
        touch: whether what is returned is counted as used.
        types: only records of these types are found; None for any.
        tags: only records with all of these tags are found.
        min_score: only records of at least this score are found, 0 or more.
        limit: most records returned, 0 or more; None for any number.
        as_of: the moment whose state of the memory is asked for; None for the present.
        scope: whose memory is asked for; None for everybody's.

    Raises:
        ArgumentError: an argument of the wrong type (also a TypeError) or outside its range (also a ValueError).
    """

    query: str
    budget_tokens: int
    include_history: bool = False
    include_archived: bool = False
    touch: bool = True
    types: tuple[RecordType, ...] | None = None
    tags: tuple[str, ...] = ()
    min_score: float = 0.0
    limit: int | None = None
    as_of: datetime | None = None
    scope: Scope | None = None

    @classmethod
    def read(
        cls,
        query: object,
        *,
        budget_tokens: object,
        types: Iterable[RecordType | str] | None = None,
        tags: Iterable[str] | None = None,
        min_score: object = 0.0,
        limit: object = None,
        as_of: datetime | str | None = None,
        **others: Any,
    ) -> Self:
        """Check the arguments of ``Memory.recall``."""
        if not isinstance(query, str):
            raise ArgumentTypeError(f"query must be a str, not {type(query).__name__}")
        if isinstance(budget_tokens, bool) or not isinstance(budget_tokens, int) or budget_tokens < 0:
            raise ArgumentError("budget_tokens must be a whole number, 0 or more")
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
            raise ArgumentError("limit must be a whole number, 0 or more, or None")
        if isinstance(min_score, bool) or not isinstance(min_score, int | float):
            raise ArgumentTypeError(f"min_score must be a number, not {type(min_score).__name__}")
        if not (isfinite(min_score) and min_score >= 0):
            raise ArgumentError("min_score must be a number, 0 or more")
        try:
            return cls(
                query=query,
                budget_tokens=budget_tokens,
                types=None if types is None else _types(types),
                tags=() if tags is None else check_text_list(tags, "tags"),
                min_score=float(min_score),
                limit=limit,
                as_of=None if as_of is None else read_time(as_of, "as_of"),
                **others,
            )
        except ArgumentError:
            raise
        except AgentMemoryError as error:
            kind = ArgumentTypeError if isinstance(error, TypeError) else ArgumentError
            raise kind(str(error)) from None

    @property
    def plain(self) -> bool:
        """Whether it asks for nothing that only the native index can tell."""
        return self.types is None and not self.tags and not self.min_score and self.limit is None


class Recalling:
    """Answers queries over one memory.

    Args:
        store: has the records.
        view: what the memory may see of them.
        door: keeps the indexes in step.
        touches: how often records were used, and where that is counted.
        finder: the native index of the store, or None when the memory was given ``indexes``.
        indexes: those.
        holders: the live records that have a key.
    """

    def __init__(
        self,
        *,
        store: RecordStore,
        view: RecordStore,
        door: Door,
        touches: Touches,
        finder: LexicalIndex | None,
        indexes: Sequence[SearchIndex],
        holders: Callable[[str], Iterable[MemoryRecord]],
    ) -> None:
        self._store = store
        self._view = view
        self._door = door
        self._touches = touches
        self._finder = finder
        self._indexes = indexes
        self._holders = holders

    def recall(self, asked: Asked) -> RecallResult:
        """What is found.

        Raises:
            ArgumentError: it asks for what only the native index can tell, and the memory has other indexes.
            StoreError: the store failed.
        """
        if asked.as_of is not None:
            return self._as_of(asked, asked.as_of)
        self._door.refresh()
        block = self._through_indexes(asked) if self._finder is None else self._through_finder(asked, self._finder)
        self._touches.flush_if_due()
        return RecallResult(block=block)

    def _through_finder(self, asked: Asked, finder: LexicalIndex) -> RetrievedBlock:
        finder.set_touches(self._touches.moved())
        block = answer(
            asked.query,
            index=finder,
            store=self._store,
            refresh=self._door.refresh,
            now=now_utc(),
            **_common(asked),
        )
        for record_id in block.ids if asked.touch else ():
            self._touches.touch(record_id)
        return block

    def _through_indexes(self, asked: Asked) -> RetrievedBlock:
        if not asked.plain:
            raise ArgumentError(
                "types, tags, min_score and limit need the memory's own index; this one was opened with other indexes"
            )
        return retrieve(
            asked.query,
            store=self._store,
            indexes=self._indexes,
            budget_tokens=asked.budget_tokens,
            include_history=asked.include_history,
            include_archived=asked.include_archived,
            touches=self._touches if asked.touch else Unmoved(self._touches),
            scope=asked.scope,
            holders=self._holders,
        )

    def _as_of(self, asked: Asked, moment: datetime) -> RecallResult:
        """What would have been found then: every record in the version it had; what was erased since is gone."""
        versions, erased = _versions(self._view, moment)
        then = InMemoryRecordStore()
        then.put_many(versions)
        index = LexicalIndex(then)
        block = answer(asked.query, index=index, store=then, refresh=index.follow, now=moment, **_common(asked))
        return RecallResult(block=block, as_of=moment, erased_since=erased)


def _common(asked: Asked) -> dict[str, Any]:
    return {
        "budget_tokens": asked.budget_tokens,
        "include_history": asked.include_history,
        "include_archived": asked.include_archived,
        "scope": asked.scope,
        "types": asked.types,
        "tags": asked.tags,
        "min_score": asked.min_score,
        "limit": asked.limit,
    }


def _versions(store: RecordStore, moment: datetime) -> tuple[list[MemoryRecord], int]:
    """The version each record had at a moment, and how many records of then have been erased since."""
    found: list[MemoryRecord] = []
    erased = 0
    for record in store.list():
        if record.created_at > moment:
            continue
        if record.redacted:
            erased += record.updated_at > moment
        elif record.updated_at <= moment:
            found.append(record)
        else:
            then = [version for version in store.history(record.id) if version.updated_at <= moment]
            found += then[-1:]
    return found, erased


def _types(types: Collection[RecordType | str] | Iterable[RecordType | str]) -> tuple[RecordType, ...]:
    if isinstance(types, str):
        raise ArgumentTypeError("types must be a list of record types, not one text")
    try:
        return tuple(RecordType(kind) for kind in types)
    except ValueError:
        raise ArgumentError(f"types must be among {', '.join(RecordType)}") from None

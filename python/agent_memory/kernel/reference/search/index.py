"""The recall index in plain Python: what the compiled one must answer (spec/recall.md).

It holds copies of what records say, never the truth; whoever keeps it tells it every new version.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Self

from .analyser import Analyser
from .config import DEFAULT, Config
from .entry import Entry, Tombstone, read
from .packing import Packing, Row
from .ranking import raw_scores, weight
from .snapshot import pack, unpack
from .visibility import Asked, Scope, Visibility

__all__ = ["Index", "Row"]

_Session = tuple[str | None, str | None, str | None, str | None]


class Index:
    """Finds, scores and packs records.  For one thread at a time.

    Args:
        config: the language and the constants of ranking.
    """

    def __init__(self, config: Config = DEFAULT) -> None:
        self.config = config
        self.analyser = Analyser(config.language)
        self._entries: dict[str, Entry] = {}
        self._tombstones: dict[str, Tombstone] = {}
        self._postings: dict[str, dict[str, int]] = {}
        self._length = 0
        self._weights: dict[tuple[int, int], int] = {}
        self._mean = 1
        self._authors: dict[str, int] = {}
        self._names: dict[str, str] = {}
        self._author_terms: dict[str, int] = {}
        self._sessions: dict[_Session, list[tuple[int, int, str]]] = {}
        self._holders: dict[str, set[str]] = {}
        self._retired: dict[str, set[str]] = {}
        self._touches: dict[str, int] = {}

    # ------------------------------------------------------------------ what it holds

    def __len__(self) -> int:
        """How many records it holds; tombstones do not count."""
        return len(self._entries)

    def __contains__(self, record_id: object) -> bool:
        return record_id in self._entries

    def update(self, payloads: Iterable[bytes]) -> None:
        """Add records, or replace what is held of them, given the canonical bytes of their newest versions.

        Of a redacted record only its id and links are kept.
        """
        for payload in payloads:
            self.add(read(payload, self.analyser))

    def remove(self, record_ids: Iterable[str]) -> None:
        """Forget records wholly, touches included.  An id that is not held is no error."""
        for record_id in record_ids:
            self._forget(record_id)
            self._touches.pop(record_id, None)

    def set_touches(self, touches: Mapping[str, int]) -> None:
        """Set how often records were recalled, 0 or more; others keep their counts."""
        self._touches.update(touches)

    def add(self, item: Entry | Tombstone) -> None:
        """Take in what was read of a record."""
        self._forget(item.id)
        if item.superseded_by is not None:
            self._retired.setdefault(item.superseded_by, set()).add(item.id)
        if isinstance(item, Tombstone):
            self._tombstones[item.id] = item
            self._touches.pop(item.id, None)
            return
        self._entries[item.id] = item
        for term, count in item.terms.items():
            self._postings.setdefault(term, {})[item.id] = count
        self._count(item.length)
        if item.author:
            self._add_author(item.author, 1)
        if item.scope[3] is not None:
            insort(self._sessions.setdefault(item.scope, []), item.order)
        if item.key is not None and item.live:
            self._holders.setdefault(item.key, set()).add(item.id)

    def _forget(self, record_id: str) -> None:
        item = self._entries.pop(record_id, None) or self._tombstones.pop(record_id, None)
        if item is None:
            return
        if item.superseded_by is not None:
            _discard(self._retired, item.superseded_by, record_id)
        if isinstance(item, Tombstone):
            return
        for term in item.terms:
            held = self._postings[term]
            del held[record_id]
            if not held:
                del self._postings[term]
        self._count(-item.length)
        if item.author:
            self._add_author(item.author, -1)
        if item.scope[3] is not None:
            members = self._sessions[item.scope]
            del members[bisect_left(members, item.order)]
            if not members:
                del self._sessions[item.scope]
        if item.key is not None and item.live:
            _discard(self._holders, item.key, record_id)

    def _count(self, length: int) -> None:
        """Keep the average length, in quarters of a term: rounded, so that it seldom changes."""
        self._length += length
        records = max(1, len(self._entries))
        mean = max(1, (8 * self._length + records) // (2 * records))
        if mean != self._mean:
            self._mean = mean
            self._weights.clear()

    def _add_author(self, author: str, change: int) -> None:
        known = self._authors.get(author, 0)
        self._authors[author] = known + change
        if known and known + change:
            return
        for term in set(self.analyser.terms(author)):
            self._author_terms[term] = self._author_terms.get(term, 0) + change
            if not self._author_terms[term]:
                del self._author_terms[term]
        if known:
            del self._authors[author]
            self._names.pop(author, None)
            return
        words = self.analyser.words(author)
        name = next((word for word in words if not self.analyser.is_stop_word(word)), None)
        if name is not None:
            self._names[author] = name

    # ------------------------------------------------------------------ what ranking and packing ask

    def entry(self, record_id: str) -> Entry:
        """What is held of a record known to be here."""
        return self._entries[record_id]

    def find(self, record_id: str) -> Entry | Tombstone | None:
        """What is held of an id."""
        return self._entries.get(record_id) or self._tombstones.get(record_id)

    def retired_by(self, record_id: str) -> list[str]:
        """The ids whose record names this one as its successor, sorted."""
        return sorted(self._retired.get(record_id, ()))

    def holders(self, key: str) -> Iterator[Entry]:
        """The live records under a key."""
        return (self._entries[record_id] for record_id in self._holders.get(key, ()))

    def touches(self, record_id: str) -> int:
        """How often a record was recalled."""
        return self._touches.get(record_id, 0)

    def holding(self, term: str) -> int:
        """How many records have a term."""
        return len(self._postings.get(term, ()))

    def counts(self, term: str) -> Mapping[str, int]:
        """How often each record has a term that is here."""
        return self._postings[term]

    def weight(self, count: int, length: int) -> int:
        """As :func:`~.ranking.weight`, for the average length of now."""
        found = self._weights.get((count, length))
        if found is None:
            found = self._weights[count, length] = weight(count, length, self._mean, self.config)
        return found

    def names(self) -> Iterable[tuple[str, str]]:
        """The known authors, each with the word that names it."""
        return self._names.items()

    def names_author(self, term: str) -> bool:
        """Whether a term is part of the name of a known author."""
        return term in self._author_terms

    def neighbours(self, record_id: str) -> Iterator[tuple[str, int]]:
        """The records around this one in its session, each with the hundredths of an impact it is lent."""
        entry = self._entries[record_id]
        if entry.scope[3] is None:
            return
        members = self._sessions[entry.scope]
        place = bisect_left(members, entry.order)
        for distance, share in enumerate(self.config.context, start=1):
            if place - distance >= 0:
                yield members[place - distance][2], share
            if place + distance < len(members):
                yield members[place + distance][2], share

    # ------------------------------------------------------------------ what it answers

    def candidates(self, query: str, k: int) -> list[tuple[str, float]]:
        """At most ``k`` (id, raw score) pairs of records in any state but redacted, best first, then by id."""
        if k <= 0:
            return []
        return sorted(raw_scores(self, query).items(), key=lambda item: (-item[1], item[0]))[:k]

    def recall(
        self,
        query: str,
        *,
        now: int,
        budget: int,
        k: int = 128,
        scope: Scope | None = None,
        include_archived: bool = False,
        include_history: bool = False,
        types: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        min_score: float = 0.0,
        limit: int | None = None,
    ) -> list[Row]:
        """The whole read stage: what is relevant to ``query``, best first, as many whole records as fit.

        Args:
            query: text, of which 65,536 characters are read.
            now: the moment recency is measured to, in milliseconds since 1970.
            budget: tokens of about four characters.
            k: how many candidates are considered.
            scope: (project, user_id, agent_id, session_id) asked for, None in it for any; None for everybody's.
            include_archived, include_history: also archived; also superseded records.
            types: only records of one of these types are found; None for any.
            tags: only records with all of these tags are found.
            min_score: records of a lower score are not found.
            limit: how many rows there may be; None for any number.
        """
        most = len(self) + len(self._tombstones) if limit is None else limit
        if k <= 0 or budget <= 0 or most <= 0:
            return []
        asked = Asked(
            scope=scope,
            archived=include_archived,
            history=include_history,
            types=None if types is None else frozenset(types),
            tags=frozenset(tags or ()),
        )
        visibility = Visibility(self, asked)
        best = self._best(query, k, visibility)
        packing = Packing(self, visibility, now=now, budget=budget, limit=most, min_score=min_score)
        return packing.pack(best)

    # ------------------------------------------------------------------ as bytes

    def snapshot(self, cursor: str, epoch: int) -> bytes:
        """All of it as bytes, with the change cursor and the erasure epoch of the store that it reflects."""
        parts = (list(self._entries.values()), list(self._tombstones.values()), self._touches)
        return pack(parts, config=self.config, cursor=cursor, epoch=epoch)

    @classmethod
    def restore(cls, data: bytes, config: Config = DEFAULT) -> tuple[Self, str, int] | None:
        """Index, cursor and epoch of a snapshot; None for one that is damaged, of another version or configuration."""
        found = unpack(data, config)
        if found is None:
            return None
        (entries, tombstones, touches), cursor, epoch = found
        index = cls(config)
        for entry in entries:
            index.add(entry)
        for tombstone in tombstones:
            index.add(tombstone)
        index.set_touches(touches)
        return index, cursor, epoch

    # ------------------------------------------------------------------ how

    def _best(self, query: str, k: int, visibility: Visibility) -> dict[str, float]:
        """Relevance by id of the ``k`` best records that may be shown: their raw scores divided by the best."""
        chosen: dict[str, float] = {}
        for record_id, raw in self.candidates(query, len(self)):
            if visibility.found(self._entries[record_id]):
                chosen[record_id] = raw
                if len(chosen) == k:
                    break
        best = max(chosen.values(), default=1.0)
        return {record_id: raw / best for record_id, raw in chosen.items()}


def _discard(sets: dict[str, set[str]], key: str, item: str) -> None:
    sets[key].discard(item)
    if not sets[key]:
        del sets[key]

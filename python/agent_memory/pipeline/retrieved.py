"""The values a recall returns, each record with why it is there (SPEC sections 14.1 and 14.4)."""

from __future__ import annotations

import threading
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Final, Literal, Self

from agent_memory.records import MemoryRecord

__all__ = ["Reason", "RetrievedBlock", "RetrievedRecord", "ScoreFactors", "TouchCounts", "approx_tokens"]

_CHARACTERS_A_TOKEN: Final = 4

ReasonKind = Literal["match", "partner", "predecessor", "cut"]


class Reason(str):
    """Why a record was returned: text for people, with the same as attributes for programs.

    Attributes:
        kind: ``match`` (found by the query), ``partner`` (other side of a dispute), ``predecessor`` (replaced by a
            record that is returned), ``cut`` (some of its predecessors did not fit).
        of: the id the reason refers to, or None for a match.
        relevance: 0 to 1 for a match, else None.
    """

    __slots__ = ("kind", "of", "relevance")
    kind: ReasonKind
    of: str | None
    relevance: float | None

    def __new__(cls, text: str, *, kind: ReasonKind, of: str | None = None, relevance: float | None = None) -> Self:
        reason = super().__new__(cls, text)
        reason.kind = kind
        reason.of = of
        reason.relevance = relevance
        return reason

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        return (str(self),), {"kind": self.kind, "of": self.of, "relevance": self.relevance}

    @classmethod
    def match(cls, relevance: float) -> Self:
        """Found by the query."""
        return cls(f"matches the query (relevance {relevance:.4f})", kind="match", relevance=relevance)

    @classmethod
    def partner(cls, of: str) -> Self:
        """The other side of the dispute ``of`` is in."""
        return cls(f"other side of the transition with {of}", kind="partner", of=of)

    @classmethod
    def predecessor(cls, of: str) -> Self:
        """Replaced by ``of``."""
        return cls(f"superseded predecessor of {of}", kind="predecessor", of=of)

    @classmethod
    def cut(cls, count: int, of: str) -> Self:
        """``count`` predecessors of ``of`` were left out."""
        return cls(f"{count} older predecessors of {of} did not fit the budget", kind="cut", of=of)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreFactors:
    """What a score is the product of; each is 0 or more.

    Attributes:
        relevance: 0 to 1, how well it matches.
        state: active 1.0, transitional 0.8, superseded 0.3, archived 0.1.
        recency: 0.5^(days since its last version / 30), never below 0.1.
        salience: 1 + n / (n + 5) for n touches.
        confidence: the record's, 0 to 1.
        importance: 1 + ln(value).
        standing: 0.5 + (good + 1) / (good + bad + 2); 1 without outcomes.
    """

    relevance: float
    state: float
    recency: float
    salience: float
    confidence: float
    importance: float
    standing: float

    def product(self) -> float:
        """The score."""
        result = 1.0
        for item in fields(self):
            result *= getattr(self, item.name)
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievedRecord:
    """A record with its score.

    Attributes:
        record: as the store holds it.
        score: the product of ``factors``, 0 or more.
        tokens: what it costs of the budget, 1 or more.
        reasons: why it is here; each is a :class:`Reason`.
        factors: what the score is made of; None for one built by hand.
    """

    record: MemoryRecord
    score: float
    tokens: int
    reasons: tuple[str, ...]
    factors: ScoreFactors | None = None

    @property
    def relevance(self) -> float:
        """The relevance its score was made with; 0 when that is not known."""
        return 0.0 if self.factors is None else self.factors.relevance

    def with_reason(self, reason: Reason) -> Self:
        """The same with one more reason."""
        return replace(self, reasons=(*self.reasons, reason))


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievedBlock:
    """What one recall returns.

    Attributes:
        query: as it was asked.
        records: best first; the other side of a dispute and predecessors follow the record they belong to.
        budget_tokens, total_tokens: what was allowed and what the records cost.
    """

    query: str
    records: tuple[RetrievedRecord, ...] = ()
    budget_tokens: int = 0
    total_tokens: int = 0

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the records, in order."""
        return tuple(item.record.id for item in self.records)


class TouchCounts:
    """How often records were recalled, in memory only.  Usable from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}

    def touch(self, record_id: str, *, now: datetime | None = None) -> None:  # noqa: ARG002 - for counts that keep times
        """Count one recall of a record."""
        with self._lock:
            self._counts[record_id] = self._counts.get(record_id, 0) + 1

    def count(self, record_id: str) -> int:
        """How often it was recalled; 0 for an id never touched."""
        return self._counts.get(record_id, 0)


def approx_tokens(record: MemoryRecord) -> int:
    """What a record costs of a budget: a token for every four characters of its text, 1 or more."""
    return max(1, len(record.body) // _CHARACTERS_A_TOKEN)

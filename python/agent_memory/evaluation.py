"""How much of what should be found is found: figures for a user's own queries.  Pure functions, no I/O.

A *question* is a query with what its answer needs: records, by id or by text.  Each of these counts once, however many
records say it.  A record that was folded into another as a copy or a part of a merge is found when that one is; one
that was corrected is not.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from .errors import ArgumentError
from .lineage import carries
from .records import MemoryRecord
from .wire import is_record_id

__all__ = ["Answer", "Catch", "Evaluation", "Expectations", "Question", "catch", "evaluate"]

_MATCHES: Final = ("equal", "contains")
_FIELDS: Final = ("query", "ids", "texts", "match")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A query and what should be found.

    Attributes:
        query: text.
        ids: ids of records.
        texts: texts of records; together with ``ids`` one or more.
        contains: whether a record says a text when its body contains it; else it has to be its body.
    """

    query: str
    ids: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    contains: bool = False

    @classmethod
    def read(cls, wire: object) -> Self:
        """A question from a JSON object: ``query``, ``ids`` and ``texts`` (a text or a list each), ``match``.

        Raises:
            ArgumentError: it is none; the message says why.
        """
        if not isinstance(wire, Mapping):
            raise ArgumentError("a question must be a JSON object")
        unknown = [name for name in wire if name not in _FIELDS]
        if unknown:
            raise ArgumentError(f"a question has no field {unknown[0]!r}; it has {', '.join(_FIELDS)}")
        query, match = wire.get("query"), wire.get("match", "equal")
        if not isinstance(query, str) or not query.strip():
            raise ArgumentError("query must be text, and not empty")
        if match not in _MATCHES:
            raise ArgumentError("match must be 'equal' or 'contains'")
        ids, texts = _texts(wire, "ids"), _texts(wire, "texts")
        wrong = next((item for item in ids if not is_record_id(item)), None)
        if wrong is not None:
            raise ArgumentError("ids must be whole record ids: 'mem:' and 32 lower-case hex digits")
        if not ids and not texts:
            raise ArgumentError("a question needs ids or texts: what should be found")
        return cls(query=query, ids=ids, texts=texts, contains=match == "contains")


class Expectations:
    """What questions expect, among the records of a memory.

    Args:
        records: the newest versions of all of them; redacted ones are passed over.
    """

    def __init__(self, records: Iterable[MemoryRecord]) -> None:
        self._records = {record.id: record for record in records if not record.redacted}
        self._by_body: defaultdict[str, set[str]] = defaultdict(set)
        for record in self._records.values():
            self._by_body[record.body].add(record.id)

    def of(self, question: Question) -> tuple[frozenset[str], ...]:
        """For each id and each text, the ids of the records any of which will do; none when it is not in the memory."""
        said = [self._with({record_id} & self._records.keys()) for record_id in dict.fromkeys(question.ids)]
        for text in dict.fromkeys(question.texts):
            if question.contains:
                said.append(self._with({record.id for record in self._records.values() if text in record.body}))
            else:
                said.append(self._with(self._by_body.get(text, set())))
        return tuple(said)

    def _with(self, record_ids: Collection[str]) -> frozenset[str]:
        """The records, and what they were folded into."""
        found = set(record_ids)
        for record_id in record_ids:
            part = self._records[record_id]
            while part.superseded_by is not None and part.superseded_by not in found:
                whole = self._records.get(part.superseded_by)
                if whole is None or not carries(whole, part):
                    break
                found.add(whole.id)
                part = whole
        return frozenset(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one question found.

    Attributes:
        expected: for each thing expected, the ids that will do.
        ranked: ids that were found, best first.
        within: ids that were found within the budget.
    """

    expected: tuple[frozenset[str], ...]
    ranked: Sequence[str]
    within: Collection[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Catch:
    """What became of each thing a question expected.

    Attributes:
        ranks: at which rank it was found, from 1; None where it was not.
        within: how many were found within the budget.
    """

    ranks: tuple[int | None, ...]
    within: int

    def recall(self, k: int) -> float:
        """The share of what was expected that is among the first ``k``."""
        return self._count(k) / len(self.ranks)

    def hit(self, k: int) -> float:
        """1 when anything expected is among the first ``k``, else 0."""
        return float(self._count(k) > 0)

    def ndcg(self, k: int) -> float:
        """Discounted cumulative gain of the first ``k``, divided by the best there could be.

        A rank at which something expected is found for the first time gains 1 / log2(rank + 1).
        """
        gain = sum(1 / math.log2(rank + 1) for rank in {rank for rank in self.ranks if rank is not None and rank <= k})
        return gain / sum(1 / math.log2(rank + 1) for rank in range(1, min(k, len(self.ranks)) + 1))

    @property
    def evidence(self) -> float:
        """The share of what was expected that was found within the budget."""
        return self.within / len(self.ranks)

    def _count(self, k: int) -> int:
        return sum(rank is not None and rank <= k for rank in self.ranks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Means over all questions, each from 0 to 1.

    Attributes:
        questions: how many there are.
        expected: how many things they expect; ``missing`` of these are not in the memory and count as not found.
        recall, hit, ndcg: by how many of the first answers are looked at; see :class:`Catch`.
        evidence: within the budget.
    """

    questions: int
    expected: int
    missing: int
    recall: dict[int, float]
    hit: dict[int, float]
    ndcg: dict[int, float]
    evidence: float


def catch(answer: Answer) -> Catch:
    """What became of what a question expected; one thing or more."""
    ranks = {record_id: rank for rank, record_id in reversed(list(enumerate(answer.ranked, 1)))}
    found = [[ranks[record_id] for record_id in will_do if record_id in ranks] for will_do in answer.expected]
    within = frozenset(answer.within)
    return Catch(
        ranks=tuple(min(places, default=None) for places in found),
        within=sum(not within.isdisjoint(will_do) for will_do in answer.expected),
    )


def evaluate(answers: Sequence[Answer], ks: Sequence[int]) -> Evaluation:
    """The figures of some answers, for the first ``k`` of each ``k`` of ``ks``, 1 or more.

    Raises:
        ArgumentError: there are no answers.
    """
    if not answers:
        raise ArgumentError("there are no questions to evaluate")
    caught = [catch(answer) for answer in answers]
    count = len(answers)
    return Evaluation(
        questions=count,
        expected=sum(len(answer.expected) for answer in answers),
        missing=sum(not will_do for answer in answers for will_do in answer.expected),
        recall={k: sum(item.recall(k) for item in caught) / count for k in ks},
        hit={k: sum(item.hit(k) for item in caught) / count for k in ks},
        ndcg={k: sum(item.ndcg(k) for item in caught) / count for k in ks},
        evidence=sum(item.evidence for item in caught) / count,
    )


def _texts(wire: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = wire.get(name, ())
    found = (value,) if isinstance(value, str) else value
    if not isinstance(found, list | tuple) or not all(isinstance(item, str) and item for item in found):
        raise ArgumentError(f"{name} must be a text or a list of texts, none of them empty")
    return tuple(found)

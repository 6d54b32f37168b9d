"""Who proposes in a consolidation, and the default proposers, which need no model (SPEC sections 12.2 to 12.5).

An operator judges one pair of records at a time and writes nothing.  What it proposes is validated by the engine, so
one that is wrong, hostile or broken costs a line in the report and changes no record.  A subclass of a default operator
counts as an operator of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from math import inf, isnan
from typing import Any, ClassVar, Final, Self

from agent_memory.errors import ArgumentError, ArgumentTypeError
from agent_memory.fields import CONSOLIDATION, CORRECTION_KIND
from agent_memory.proposals import Proposal, ProposalKind
from agent_memory.records import MemoryRecord, Provenance, RecordType
from agent_memory.text import analyse, reaches, same_statement, trigram_overlap

from .values import agree, disagreement, fitting, precedence

__all__ = [
    "CORRECTION_KIND",
    "Candidates",
    "ConsolidationConfig",
    "ConsolidationOperators",
    "ContradictionOperator",
    "HeuristicContradictionOperator",
    "HeuristicResolutionOperator",
    "NearDupOperator",
    "ResolutionOperator",
    "TrigramNearDupOperator",
    "candidates_of",
    "default_operators",
    "disputes_all",
    "keeps_words",
]

_CLAIMS: Final = (RecordType.FACT, RecordType.PROCEDURE)


class Candidates(StrEnum):
    """Which pairs an operator wants to judge; always within one consolidation scope and one type."""

    SAME_TERMS = "same-terms"
    """Equal sequences of content terms."""
    SIMILAR = "similar"
    """Trigram Jaccard at or above the threshold; every such pair."""
    RELATED = "related"
    """A content term or a slot key in common; bounded for terms that very many records share."""
    OPPOSED = "opposed"
    """Opposite polarity and half of the content terms shared, or a slot or key that disagrees; every such pair."""


class NearDupOperator(ABC):
    """Proposes to merge two records that say the same.

    ``candidates`` declares the pairs it wants; an operator that declares nothing gets :attr:`Candidates.RELATED`.
    """

    candidates: Candidates = Candidates.RELATED
    _keeps_words: ClassVar[bool] = False

    @abstractmethod
    def propose_merge(self, a: MemoryRecord, b: MemoryRecord, *, now: datetime) -> Proposal | None:
        """A supersede proposal whose record replaces one or both sides and has both as evidence, or None."""


class ContradictionOperator(ABC):
    """Proposes a dispute between two records that cannot both hold; ``candidates`` as :class:`NearDupOperator`."""

    candidates: Candidates = Candidates.RELATED
    _disputes_all: ClassVar[bool] = False

    @abstractmethod
    def propose_contradiction(self, a: MemoryRecord, b: MemoryRecord) -> Proposal | None:
        """A transition proposal that names exactly the two sides, with a reason, or None."""


class ResolutionOperator(ABC):
    """Names the winner of a dispute."""

    @abstractmethod
    def propose_winner(self, a: MemoryRecord, b: MemoryRecord) -> tuple[str, str] | None:
        """(id of the winner, reason), or None to leave the dispute open."""


class TrigramNearDupOperator(NearDupOperator):
    """Merges two records whose texts are similar and, unless told otherwise, lose nothing by it.

    Args:
        threshold: least trigram Jaccard similarity; above 1 it means never.
        lossless: also require that both say the same statement, that no slot, key, object or unknown field differs,
            and that neither is an episode or a rule.  False leaves the bare similarity.

    Raises:
        ArgumentError: a threshold that is no number, or not a number at all (NaN).
    """

    candidates = Candidates.SAME_TERMS
    _keeps_words = True

    def __init_subclass__(cls, **arguments: Any) -> None:
        """A subclass judges for itself: what holds of this class's judgement is not inherited."""
        super().__init_subclass__(**arguments)
        if cls._keeps_words:
            cls._keeps_words = False
            _declare_anew(cls, TrigramNearDupOperator)

    def __init__(self, *, threshold: float = 0.6, lossless: bool = True) -> None:
        self.threshold = _threshold(threshold, "threshold")
        self.lossless = lossless
        if self._keeps_words and not lossless:
            self.candidates = Candidates.SIMILAR

    def propose_merge(self, a: MemoryRecord, b: MemoryRecord, *, now: datetime) -> Proposal | None:
        """As the class says; the record has the words of the stronger side, or of the one that has a key."""
        if a.type is not b.type or a.type is RecordType.RULE or (self.lossless and not _have_the_same(a, b)):
            return None
        if not reaches(*trigram_overlap(a.body, b.body), self.threshold):
            return None
        if self.lossless and not same_statement(analyse(a.body), analyse(b.body)):
            return None
        kept, other = (a, b) if precedence(a) >= precedence(b) else (b, a)
        evidence = sorted((a.id, b.id))
        record = MemoryRecord.create(
            kept.type,
            kept.body,
            Provenance(kind=CONSOLIDATION),
            slots=kept.slots,
            confidence=kept.confidence,
            evidence=evidence,
            supersedes=other.id,
            created_at=now,
        )
        return Proposal(kind=ProposalKind.SUPERSEDE, record=record, reason="both say the same")


class HeuristicContradictionOperator(ContradictionOperator):
    """Disputes two facts, or two procedures, of which one denies the other or gives one slot or key another value."""

    candidates = Candidates.OPPOSED
    _disputes_all = True

    def __init_subclass__(cls, **arguments: Any) -> None:
        """A subclass judges for itself: what holds of this class's judgement is not inherited."""
        super().__init_subclass__(**arguments)
        if cls._disputes_all:
            cls._disputes_all = False
            _declare_anew(cls, HeuristicContradictionOperator)

    def propose_contradiction(self, a: MemoryRecord, b: MemoryRecord) -> Proposal | None:
        if a.type is not b.type or a.type not in _CLAIMS:
            return None
        reason = disagreement(a, b)
        if reason is None:
            return None
        return Proposal(kind=ProposalKind.TRANSITION, target_id=a.id, other_id=b.id, reason=reason)


class HeuristicResolutionOperator(ResolutionOperator):
    """A correction beats what is none; of one kind of provenance and the same slot keys, the newer holds; else nobody.

    Newer is the later event time, then the later creation.
    """

    def propose_winner(self, a: MemoryRecord, b: MemoryRecord) -> tuple[str, str] | None:
        corrections = [side for side in (a, b) if side.provenance.kind == CORRECTION_KIND]
        if len(corrections) == 1:
            return corrections[0].id, "an explicit correction beats what it corrects"
        if a.provenance.kind != b.provenance.kind or a.slots.keys() != b.slots.keys():
            return None
        if a.event_time != b.event_time:
            winner = a if a.event_time > b.event_time else b
            return winner.id, "the newer event holds: same kind of provenance, later event time"
        if a.created_at != b.created_at:
            winner = a if a.created_at > b.created_at else b
            return winner.id, "the newer record holds: same kind of provenance and event time, created later"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationConfig:
    """What a consolidation is measured by.

    Attributes:
        near_dup_threshold: least trigram similarity of a near duplicate; above 1 it means never.
        promotion_threshold: episodes of one signature that make a rule, 1 or more.

    Raises:
        ArgumentError: a value outside its range.
    """

    near_dup_threshold: float = 0.6
    promotion_threshold: int = 3

    def __post_init__(self) -> None:
        _threshold(self.near_dup_threshold, "near_dup_threshold")
        if isinstance(self.promotion_threshold, bool) or not isinstance(self.promotion_threshold, int):
            raise ArgumentTypeError("promotion_threshold must be a whole number")
        if self.promotion_threshold < 1:
            raise ArgumentError("promotion_threshold must be 1 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationOperators:
    """The operators of a consolidation; without ``resolver``, disputes stay open.

    Raises:
        ArgumentTypeError: an operator that is none of its kind.
    """

    near_dup: NearDupOperator = field(default_factory=TrigramNearDupOperator)
    contradiction: ContradictionOperator = field(default_factory=HeuristicContradictionOperator)
    resolver: ResolutionOperator | None = None

    def __post_init__(self) -> None:
        for name, operator, kind in (
            ("near_dup", self.near_dup, NearDupOperator),
            ("contradiction", self.contradiction, ContradictionOperator),
            ("resolver", self.resolver, ResolutionOperator),
        ):
            if not isinstance(operator, kind) and not (name == "resolver" and operator is None):
                raise ArgumentTypeError(f"{name} must be a {kind.__name__}, not {type(operator).__name__}")

    @classmethod
    def without_resolver(cls, config: ConsolidationConfig | None = None) -> Self:
        """The defaults, with disputes left to whoever owns the memory."""
        threshold = (config or ConsolidationConfig()).near_dup_threshold
        return cls(near_dup=TrigramNearDupOperator(threshold=threshold))


def default_operators(config: ConsolidationConfig | None = None) -> ConsolidationOperators:
    """The defaults, with the resolver, so that ``consolidate(store)`` settles what it can by itself."""
    threshold = (config or ConsolidationConfig()).near_dup_threshold
    return ConsolidationOperators(
        near_dup=TrigramNearDupOperator(threshold=threshold), resolver=HeuristicResolutionOperator()
    )


def candidates_of(operator: NearDupOperator | ContradictionOperator) -> Candidates:
    """The pairs an operator wants.

    Raises:
        ArgumentError: it declares something that is no :class:`Candidates`.
    """
    try:
        return Candidates(getattr(operator, "candidates", Candidates.RELATED))
    except ValueError:
        name = type(operator).__name__
        raise ArgumentError(f"{name}.candidates must be one of {', '.join(Candidates)}") from None


def keeps_words(operator: NearDupOperator) -> bool:
    """Whether an operator only ever chooses between words that are there: its merges need not be built to go on."""
    return getattr(operator, "_keeps_words", False)


def disputes_all(operator: ContradictionOperator) -> bool:
    """Whether an operator disputes every pair it is shown, so that it need not be asked about a pair that waits."""
    return getattr(operator, "_disputes_all", False)


def _declare_anew(kind: type[NearDupOperator | ContradictionOperator], default: type) -> None:
    """Undo the declaration of candidates that ``kind`` has from a default operator and not of its own."""
    if "candidates" not in vars(kind) and kind.candidates is vars(default)["candidates"]:
        kind.candidates = Candidates.RELATED


def _have_the_same(a: MemoryRecord, b: MemoryRecord) -> bool:
    """Whether nothing beside the texts of two claims would be lost."""
    if a.key is not None and b.key is not None and a.body != b.body:
        return False  # both stay in their own words
    return (
        a.type in _CLAIMS
        and a.slots == b.slots
        and fitting(a, b)
        and agree(a.extra, b.extra)
        and agree(a.extension.extra, b.extension.extra)
    )


def _threshold(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ArgumentTypeError(f"{name} must be a number, not {type(value).__name__}")
    if isnan(value) or value == -inf:
        raise ArgumentError(f"{name} must be a number that similarities can be compared with; above 1 means never")
    return float(value)

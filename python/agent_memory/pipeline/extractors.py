"""The two extractors that need no model: the text as it stands, and one record a sentence (SPEC section 11.1).

An extractor only proposes; :mod:`agent_memory.pipeline.ingest` decides what becomes a record.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent_memory.fields import check_confidence
from agent_memory.ports import Operator
from agent_memory.proposals import Proposal, ProposalKind
from agent_memory.records import MemoryRecord, Provenance, RecordType
from agent_memory.text import classify_sentence, infer_slots, split_sentences
from agent_memory.wire import check_text_list

__all__ = ["HeuristicExtractor", "VerbatimExtractor"]


class VerbatimExtractor(Operator):
    """Proposes the whole text, stripped, as one fact, with the slot its wording fills; nothing for blank text.

    Args:
        tags: given to every record.
        confidence: 0 to 1.

    Raises:
        RecordError: tags that are no texts, or a confidence outside its range.
    """

    def __init__(self, *, tags: Iterable[str] = (), confidence: float = 0.9) -> None:
        self._tags = check_text_list(tags, "tags")
        self._confidence = check_confidence(confidence)

    def propose(self, text: str, provenance: Provenance) -> tuple[Proposal, ...]:
        body = text.strip()
        if not body:
            return ()
        return (_create(RecordType.FACT, body, provenance, self._confidence, self._tags),)


class HeuristicExtractor(Operator):
    """Proposes a fact or an episode for each sentence that states something; never a rule.

    Args:
        confidence: 0 to 1.
        tags: given to every record.

    Raises:
        RecordError: as :class:`VerbatimExtractor`.
    """

    def __init__(self, *, confidence: float = 0.5, tags: Iterable[str] = ()) -> None:
        self._confidence = check_confidence(confidence)
        self._tags = check_text_list(tags, "tags")

    def propose(self, text: str, provenance: Provenance) -> tuple[Proposal, ...]:
        return tuple(
            _create(RecordType(kind), sentence, provenance, self._confidence, self._tags)
            for sentence in split_sentences(text)
            if (kind := classify_sentence(sentence)) is not None
        )


def _create(kind: RecordType, body: str, provenance: Provenance, confidence: float, tags: tuple[str, ...]) -> Proposal:
    slots = infer_slots(body) if kind is RecordType.FACT else {}
    record = MemoryRecord.create(kind, body, provenance, slots=slots, confidence=confidence, tags=tags)
    return Proposal(kind=ProposalKind.CREATE, record=record)

"""What a write under a key does (spec/corrections.md sections 17.5 and 17.6).  Pure: nothing is read or written here.

The order of the questions is the rule: is it about the past; does the value stand already; was it retired; or is it
new.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from agent_memory.records import MemoryRecord

from .ledger import Ledger, drawn_line
from .values import restates_object

__all__ = ["Decision", "Outcome", "Under", "decide", "standing_of"]


class Outcome(Enum):
    """What becomes of a write under a key."""

    LANDS = "lands"
    """It is the key's value from now on, and whatever stood is corrected."""
    RESTATES = "restates"
    """It says the value that stands in other words, and takes its place."""
    REINFORCES = "reinforces"
    """It says nothing new: the record that says it is reinforced."""
    ECHOES = "echoes"
    """It says a retired value again, and is blocked."""
    BACKFILLS = "backfills"
    """It is about the time before the value that stands, and is blocked."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do with a write.

    Attributes:
        outcome: what becomes of it.
        repeats: the record it says again, if it says one again; of a reinforcement, the one to reinforce.
    """

    outcome: Outcome
    repeats: str | None = None


@dataclass(frozen=True, slots=True)
class Under:
    """What is under the key of a write.

    Attributes:
        ledger: everything that was said under it.
        live: the records that hold it, the standing one first.
        stated: the newest record of the standing value that has an object, or None.
    """

    ledger: Ledger
    live: tuple[MemoryRecord, ...] = ()
    stated: MemoryRecord | None = None

    @property
    def standing(self) -> MemoryRecord | None:
        return self.live[0] if self.live else None


def standing_of(live: tuple[MemoryRecord, ...]) -> tuple[MemoryRecord, ...]:
    """The holders of a key, the standing one first: the later event time, then the greater id."""
    return tuple(sorted(live, key=lambda record: (record.event_time, record.id), reverse=True))


def decide(write: MemoryRecord, under: Under, *, guard: bool = True, reaffirm: bool = False) -> Decision:
    """What ``write``, a new record with a key, does.

    Args:
        write: as it would be written; ``occurred_at`` is set only when the caller gave it.
        under: what is there already.
        guard: whether retired values are kept from coming back.
        reaffirm: whether the caller means a retired value to hold again.
    """
    standing = under.standing
    line = drawn_line(write)
    if standing is not None and write.occurred_at is not None and write.occurred_at < standing.event_time:
        return Decision(Outcome.BACKFILLS, standing.id)
    for held in under.live:
        if _same_words(write, held):
            return Decision(Outcome.REINFORCES, held.id)
    if standing is not None:
        value = under.ledger.value_of(standing.id)
        if under.ledger.says(value, line.said, line.object) or _states_again(write, under):
            return Decision(Outcome.RESTATES, standing.id)
        for held in under.live[1:]:  # the other side of a dispute: it is not retired, and saying it decides for it
            if under.ledger.says(under.ledger.value_of(held.id), line.said, line.object):
                return Decision(Outcome.LANDS, held.id)
    retired = under.ledger.retired(line.said, line.object)
    if retired is not None:
        echo = guard and not reaffirm
        return Decision(Outcome.ECHOES if echo else Outcome.LANDS, retired.record_id)
    return Decision(Outcome.LANDS)


def _same_words(write: MemoryRecord, held: MemoryRecord) -> bool:
    """Whether a write says what ``held`` says in the same words, and brings nothing that only a record could keep."""
    a, b = drawn_line(write), drawn_line(held)
    return (
        a.said == b.said
        and a.object in (None, b.object)
        and write.provenance.ref in (None, held.provenance.ref)
        and write.type is held.type
    )


def _states_again(write: MemoryRecord, under: Under) -> bool:
    """Whether a write without an object still states that of the standing value."""
    stated = under.stated
    if write.object is not None or stated is None or stated.object is None:
        return False
    return restates_object(write.body, stated.object, stated.body)

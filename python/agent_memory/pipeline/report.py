"""What the pipeline says it did: plain values, the same for the same input (SPEC sections 11 to 13).

Reports name ids, states and rules.  They never quote a body, a slot, a tag, a key or an object, because they end up in
logs and outlive an erasure.  The one exception is a reason that an operator gave, which is kept as it was given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agent_memory.frozen import EMPTY_DICT, FrozenDict

__all__ = ["CONSOLIDATION_ACTIONS", "Action", "ConsolidationReport", "DecayReport", "IngestReport", "Rejection"]

CONSOLIDATION_ACTIONS: Final = (
    ("heal", "reopen"),
    ("dedup.exact", "supersede"),
    ("dedup.near", "supersede"),
    ("contradiction", "transition"),
    ("resolution", "resolve"),
    ("promotion", "create-rule"),
    ("promotion", "extend-rule"),
    ("rule-flags", "follow-evidence"),
    ("rule-flags", "flag"),
    ("rule-flags", "unflag"),
)
"""Everything a consolidation does, as (pass, action), in the order of the passes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One thing that was done, or deliberately left undone.

    Attributes:
        pass_name: the pass, such as ``dedup.near`` or ``decay``.
        action: the verb, such as ``supersede``, ``transition``, ``create-rule`` or ``protect``.
        record_ids: the records it was done to.
        before, after: their states, in the same order; ``before`` is empty for a record that is new.
        reason: why; names ids and rules.
        related: what it was done with: the record a copy was folded into, the episodes that a rule was drawn from or
            that joined it.
    """

    pass_name: str
    action: str
    record_ids: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    reason: str
    related: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A proposal that was refused, or put off; nothing of it was written.

    Attributes:
        pass_name: the pass, or ``write`` for the write stage.
        detail: what was refused: the kind of proposal and the ids.
        error: why.
    """

    pass_name: str
    detail: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """What a write did.

    Attributes:
        accepted: ids of new records, in order.
        deduped: ids of records that said it already and were touched, in order, one per repetition.
        rejected: proposals that were refused.
    """

    accepted: tuple[str, ...] = ()
    deduped: tuple[str, ...] = ()
    rejected: tuple[Rejection, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationReport:
    """What a consolidation did, pass by pass, in the order it was done.

    Attributes:
        actions: what was written.
        rejections: what was refused or deferred.
        touched: ids of all records that got a version, sorted.
    """

    actions: tuple[Action, ...]
    rejections: tuple[Rejection, ...]
    touched: tuple[str, ...] = ()

    def by_pass(self, name: str) -> tuple[Action, ...]:
        """The actions of one pass: ``heal``, ``dedup.exact``, ``dedup.near``, ``contradiction``, ``resolution``,
        ``promotion`` or ``rule-flags``."""
        return tuple(action for action in self.actions if action.pass_name == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecayReport:
    """What a decay did.

    Attributes:
        archived: one action per record archived.
        protected: one action per record that had faded and was kept, with the rule that keeps it.
        saliences: the salience of every record that was looked at, by id; 0 or more.
    """

    archived: tuple[Action, ...]
    protected: tuple[Action, ...]
    saliences: Mapping[str, float] = EMPTY_DICT

    def __post_init__(self) -> None:
        object.__setattr__(self, "saliences", FrozenDict(self.saliences))

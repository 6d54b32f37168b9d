"""Resolution: a resolver names the winner of a dispute, and the loser stays as history (SPEC section 12.4)."""

from __future__ import annotations

from datetime import datetime

from agent_memory.lifecycle import resolve_transition
from agent_memory.ports import RecordStore
from agent_memory.records import MemoryRecord, RecordState

from .operators import ResolutionOperator
from .validation import check_winner
from .workspace import Workspace

__all__ = ["resolve", "settle_disputes"]

_NAME = "resolution"


def settle_disputes(workspace: Workspace, resolver: ResolutionOperator) -> None:
    """Ask the resolver about every open dispute, in the order of the lesser ids, and write its valid verdicts."""
    about = workspace.about
    disputes = [pair for pair in workspace.columns.disputes() if about is None or not about.isdisjoint(pair)]
    for done, (first, second) in enumerate(workspace.reading(disputes)):
        workspace.progress(_NAME, done, len(disputes))
        a, b = workspace.get(first), workspace.get(second)
        if a is None or b is None:
            continue
        verdict = workspace.asks(_NAME, a, b, resolver.propose_winner)
        if verdict is None:
            continue
        try:
            winner, loser, reason = check_winner(verdict, a, b)
            settled = resolve_transition(winner, loser, reason=reason, now=workspace.now)
        except Exception as error:  # noqa: BLE001, RUF100 - whatever an operator does is its own affair, and reported
            workspace.failed(_NAME, a, b, error)
            continue
        workspace.stage(*settled)
        workspace.act(
            _NAME,
            "resolve",
            [winner.id, loser.id],
            before=[RecordState.TRANSITIONAL] * 2,
            after=[RecordState.ACTIVE, RecordState.SUPERSEDED],
            reason=reason,
        )


def resolve(
    store: RecordStore, *, winner_id: str, loser_id: str, reason: str, now: datetime | None = None
) -> tuple[MemoryRecord, MemoryRecord]:
    """Settle one dispute by hand: (the winner, active again; the loser, superseded by it).

    Raises:
        StoreError: an unknown or malformed id.
        LifecycleError: they are not the two sides of one open dispute, or there is no reason.
    """
    with store.transaction():
        settled = resolve_transition(store.get(winner_id), store.get(loser_id), reason=reason, now=now)
        store.put_many(settled)
        return store.get(winner_id), store.get(loser_id)

"""The passes of a consolidation, in their fixed order, in one transaction (SPEC section 12)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from agent_memory.clock import now_utc, truncate
from agent_memory.pipeline.report import ConsolidationReport
from agent_memory.ports import RecordStore

from .contradiction import open_disputes
from .exact import merge_exact_duplicates
from .flags import sweep_rule_flags
from .heal import heal
from .near import merge_near_duplicates
from .operators import ConsolidationConfig, ConsolidationOperators, candidates_of, default_operators
from .promotion import promote_episodes
from .resolution import settle_disputes
from .workspace import Progress, Workspace

__all__ = ["consolidate"]


def consolidate(
    store: RecordStore,
    *,
    operators: ConsolidationOperators | None = None,
    now: datetime | None = None,
    config: ConsolidationConfig | None = None,
    progress: Progress | None = None,
) -> ConsolidationReport:
    """Merge what says the same, open disputes over what clashes, settle them, draw rules from what recurs.

    The same store, operators, clock and config give the same report and the same records.

    Args:
        operators: who proposes; default :func:`default_operators`, which settles disputes where it can.
        now: the moment every version written has; default the present.
        config: thresholds; those of ``operators`` that have their own keep it.
        progress: called with the name of the pass, how many records are done, and of how many.

    Raises:
        RecordError: ``now`` is naive.
        ArgumentError: an operator declares candidates that do not exist.
        StoreError: the store failed; one that has transactions keeps nothing of this consolidation.
    """
    moment = now_utc() if now is None else truncate(now, "now")
    settings = ConsolidationConfig() if config is None else config
    chosen = default_operators(settings) if operators is None else operators
    for operator in (chosen.near_dup, chosen.contradiction):
        candidates_of(operator)  # refuses a wrong declaration before anything is written
    with store.transaction():
        workspace = Workspace(store, now=moment, config=settings, progress=progress)
        for name, run in _passes(workspace, chosen):
            total = len(workspace.records)
            workspace.progress(name, 0, total)
            run()
            workspace.flush()
            workspace.progress(name, total, total)
    return workspace.report()


def _passes(workspace: Workspace, operators: ConsolidationOperators) -> list[tuple[str, Callable[[], None]]]:
    resolver = operators.resolver
    passes: list[tuple[str, Callable[[], None]]] = [
        ("heal", lambda: heal(workspace)),
        ("dedup.exact", lambda: merge_exact_duplicates(workspace)),
        ("dedup.near", lambda: merge_near_duplicates(workspace, operators.near_dup)),
        ("contradiction", lambda: open_disputes(workspace, operators.contradiction)),
    ]
    if resolver is not None:
        passes.append(("resolution", lambda: settle_disputes(workspace, resolver)))
    passes += [
        ("promotion", lambda: promote_episodes(workspace)),
        ("rule-flags", lambda: sweep_rule_flags(workspace)),
    ]
    return passes

"""The passes of a consolidation, in their fixed order, in one transaction (SPEC section 12)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

from agent_memory import kernel
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
from .rehearsal import Rehearsal
from .resolution import settle_disputes
from .workspace import Progress, Workspace

__all__ = ["Outcome", "consolidate", "read_columns", "run_passes"]

_BATCH: Final = 4096
"""Records whose bytes are handed to the kernel together."""


def consolidate(
    store: RecordStore,
    *,
    operators: ConsolidationOperators | None = None,
    now: datetime | None = None,
    config: ConsolidationConfig | None = None,
    progress: Progress | None = None,
    dry_run: bool = False,
) -> ConsolidationReport:
    """Merge what says the same, open disputes over what clashes, settle them, draw rules from what recurs.

    The same store, operators, clock and config give the same report and the same records.  Operators and ``progress``
    may read the store and must not write it: the passes go on with what they have read.

    Args:
        operators: who proposes; default :func:`default_operators`, which settles disputes where it can.
        now: the moment every version written has; default the present.
        config: thresholds; those of ``operators`` that have their own keep it.
        progress: called with the name of the pass, how many records are done, and of how many; first with ``read``, of
            which the second number is 0 until it is known.
            What it raises ends the consolidation, and nothing of it is kept.
        dry_run: give the report and write nothing.

    Raises:
        RecordError: ``now`` is naive.
        ArgumentError: an operator declares candidates that do not exist.
        StoreError: the store failed; one that has transactions keeps nothing of this consolidation.
    """
    moment = now_utc() if now is None else truncate(now, "now")
    settings = ConsolidationConfig() if config is None else config
    chosen = default_operators(settings) if operators is None else operators
    target = Rehearsal(store) if dry_run else store
    with target.transaction():
        columns = read_columns(store, progress)
        return run_passes(target, columns, operators=chosen, now=moment, config=settings, progress=progress).report


def read_columns(store: RecordStore, progress: Progress | None = None) -> kernel.Columns:
    """Columns of all records of ``store`` that can be read.  Raises StoreError when the store fails."""
    columns = kernel.Columns()
    told = progress or (lambda *_: None)
    told("read", 0, 0)
    for batch in _batches(store.payloads()):
        columns.update(batch)
        told("read", len(columns), 0)
    told("read", len(columns), len(columns))
    return columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the passes did.

    Attributes:
        report: what is told of it.
        unanswered: pairs of ids to look at again, because an operator failed on them.
    """

    report: ConsolidationReport
    unanswered: frozenset[frozenset[str]]


def run_passes(
    store: RecordStore,
    columns: kernel.Columns,
    *,
    operators: ConsolidationOperators,
    now: datetime,
    config: ConsolidationConfig,
    progress: Progress | None = None,
    about: Collection[str] | None = None,
    again: Collection[frozenset[str]] = (),
    within: Callable[[str], bool] | None = None,
) -> Outcome:
    """Run every pass over what ``columns`` knows of ``store``, inside a transaction of the caller's.

    ``about`` are the ids of what changed since passes last ran to their end: what none of those takes part in, and
    what was looked at then, is not looked at again, except the pairs of ids in ``again``.  None for everything.

    ``within`` says of an id whether its record may be looked at, when ``about`` names such records alone.  What is
    outside is left as it is, and no operator sees it.

    ``columns`` are kept in step with what is written.  When this raises they are not to be used any more.

    Raises as :func:`consolidate`.
    """
    for operator in (operators.near_dup, operators.contradiction):
        candidates_of(operator)  # refuses a wrong declaration before anything is written
    workspace = Workspace(
        store, columns, now=now, config=config, progress=progress, about=about, again=again, within=within
    )
    for name, run in _passes(workspace, operators):
        total = len(columns)
        workspace.progress(name, 0, total)
        run()
        workspace.flush()
        workspace.progress(name, total, total)
    return Outcome(report=workspace.report(), unanswered=frozenset(workspace.unanswered))


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


def _batches(payloads: Iterable[bytes]) -> Iterator[list[bytes]]:
    waiting = iter(payloads)
    while batch := list(islice(waiting, _BATCH)):
        yield batch

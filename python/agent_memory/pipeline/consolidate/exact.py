"""Exact duplicates: equal type, text and slots; the strongest copy stays and names the others (SPEC section 12.1).

No record is made and nothing becomes evidence, for a text that another source also said is not derived from it.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent_memory.lifecycle import supersede
from agent_memory.lineage import same_source
from agent_memory.records import MemoryRecord, RecordState

from .values import precedence, summed_standing
from .workspace import Workspace

__all__ = ["fold", "merge_exact_duplicates"]

_NAME = "dedup.exact"


def merge_exact_duplicates(workspace: Workspace) -> None:
    """Fold every active copy into the strongest one that has its key and object, if it has any."""
    blocks = workspace.columns.copies(workspace.about)
    for done, block in enumerate(workspace.reading(blocks)):
        workspace.progress(_NAME, done, len(blocks))
        for keeper, folded in _keepers(list(workspace.find(block).values())):
            fold(workspace, keeper, folded, pass_name=_NAME, reason=f"exact duplicate of {keeper.id}")


def fold(
    workspace: Workspace, keeper: MemoryRecord, copies: Sequence[MemoryRecord], *, pass_name: str, reason: str
) -> None:
    """Retire copies in favour of a record that stays as it is and names them as replaced.

    What a copy was reinforced with (tags, value, standing, evidence) passes over when it has the keeper's source and
    user: then both are erased together, and nothing outlives its source.
    """
    mates = [copy for copy in copies if same_source(copy, keeper)]
    also = {*keeper.supersedes_also, *(copy.id for copy in copies)} - {keeper.supersedes}
    everyone = [keeper, *mates]
    kept = keeper.evolve(
        {
            "supersedes_also": tuple(sorted(also)),
            "tags": tuple(dict.fromkeys(tag for record in everyone for tag in record.tags)),
            "value": max(record.value for record in everyone),
            "standing": summed_standing(everyone),
            "evidence": tuple(
                dict.fromkeys(item for record in everyone for item in record.evidence if item != keeper.id)
            ),
            "declared": any(record.declared for record in everyone),
            "typed": any(record.typed for record in everyone),
            "updated_at": workspace.now,
        }
    )
    workspace.stage(kept, *(supersede(copy, kept, reason=reason, now=workspace.now) for copy in copies))
    for copy in copies:
        workspace.act(
            pass_name,
            "supersede",
            [copy.id],
            before=[RecordState.ACTIVE],
            after=[RecordState.SUPERSEDED],
            reason=reason,
            related=[keeper.id],
        )


def _keepers(equal: Sequence[MemoryRecord]) -> list[tuple[MemoryRecord, list[MemoryRecord]]]:
    """Each record that stays, with the copies that fold into it, sorted by id."""
    keepers: dict[str, tuple[MemoryRecord, list[MemoryRecord]]] = {}
    first: dict[tuple[str | None, str | None], str] = {}  # the keeper of a key and object; None: of any
    for record in sorted(equal, key=precedence, reverse=True):
        keeper = first.get((record.key, record.object))
        if keeper is not None:
            keepers[keeper][1].append(record)
            continue
        keepers[record.id] = (record, [])
        for key in {record.key, None}:
            for object_ in {record.object, None}:
                first.setdefault((key, object_), record.id)
    return [(keeper, sorted(folded, key=lambda copy: copy.id)) for keeper, folded in keepers.values() if folded]

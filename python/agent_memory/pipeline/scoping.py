"""Whose memory a record is, and who may see it (SPEC sections 3.2, 12.9 and 14.2).

Scopes are read from records, never guessed, with one exception: a record made by consolidation that names no scope, as
the peer writes them, belongs to whom its evidence belongs to.  Otherwise a merge of one user's notes would be
everybody's.  Called by consolidation and recall.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from agent_memory.extension import SCOPE_FIELDS, UNSCOPED, Scope
from agent_memory.fields import CONSOLIDATION
from agent_memory.records import MemoryRecord

__all__ = ["effective_scope", "hides", "visible"]


def effective_scope(record: MemoryRecord, find: Callable[[Iterable[str]], Mapping[str, MemoryRecord]]) -> Scope | None:
    """The scope ``record`` is treated as having, or None when its evidence comes from different scopes.

    ``find`` answers the newest versions of ids it knows.  Evidence that is missing or redacted says nothing; a record
    all of whose known evidence is redacted has no known scope.
    """
    if not _borrows(record):
        return record.scope
    found: dict[tuple[str | None, ...], Scope] = {}
    erased = False
    seen = {record.id}
    waiting = [record]
    while waiting:
        for item in find(waiting.pop().evidence).values():
            if item.id in seen:
                continue
            seen.add(item.id)
            if item.redacted:
                erased = True
            elif _borrows(item):
                waiting.append(item)
            else:
                found[(*item.scope.consolidation, item.scope.session_id)] = item.scope
    if not found:
        return None if erased else record.scope
    scopes = tuple(found.values())
    if any(scope.consolidation != scopes[0].consolidation for scope in scopes):
        return None
    return scopes[0] if len(scopes) == 1 else scopes[0].without_session()


def _borrows(record: MemoryRecord) -> bool:
    return record.provenance.kind == CONSOLIDATION and record.scope == UNSCOPED and bool(record.evidence)


def visible(scope: Scope | None, query: Scope | None) -> bool:
    """Whether a record of ``scope`` may be shown to ``query``: each of its fields is unset or equal to the query's.

    A field the query leaves out does not filter.  A record whose scope is not known (None) is shown only to a query
    that pins neither project, user nor agent.
    """
    if query is None:
        return True
    if scope is None:
        return query.consolidation == UNSCOPED.consolidation
    for name in SCOPE_FIELDS:
        own, asked = getattr(scope, name), getattr(query, name)
        if own is not None and asked is not None and own != asked:
            return False
    return True


def hides(narrow: Scope, wide: Scope) -> bool:
    """Whether a value in scope ``narrow`` hides the same key's value in ``wide``: the fields of ``wide`` are a proper
    subset of its own.  Sessions share a scope and do not count."""
    pairs = [pair for pair in zip(wide.consolidation, narrow.consolidation, strict=True) if pair[0] is not None]
    return narrow.consolidation != wide.consolidation and all(own == other for own, other in pairs)

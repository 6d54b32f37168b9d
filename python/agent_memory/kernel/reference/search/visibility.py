"""What one recall may show, by the columns of the index (spec/recall.md section 6.1; SPEC section 14.2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .entry import Entry, Tombstone

if TYPE_CHECKING:
    from .index import Index

__all__ = ["Asked", "Scope", "Visibility"]

Scope = tuple[str | None, str | None, str | None, str | None]
"""(project, user_id, agent_id, session_id); None in it stands for everybody's, or for any."""
_UNSCOPED: Scope = (None, None, None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a recall asks for; the arguments of :meth:`~.index.Index.recall`."""

    scope: Scope | None = None
    archived: bool = False
    history: bool = False
    types: frozenset[str] | None = None
    tags: frozenset[str] = field(default_factory=frozenset)


class Visibility:
    """The records a recall may show."""

    def __init__(self, index: Index, asked: Asked) -> None:
        self._index = index
        self._asked = asked

    def found(self, entry: Entry) -> bool:
        """Whether a record may be shown for itself."""
        asked = self._asked
        return (
            self._state_allows(entry)
            and (asked.types is None or entry.type in asked.types)
            and asked.tags.issubset(entry.tags)
            and _visible(self._scope_of(entry), asked.scope)
            and not self._is_hidden(entry)
        )

    def may_accompany(self, entry: Entry) -> bool:
        """Whether a record may be shown with one that is shown: sessions do not keep the two apart."""
        asked = self._asked.scope
        return _visible(self._scope_of(entry), None if asked is None else (*asked[:3], None))

    def partner(self, entry: Entry) -> Entry | None:
        """The other side of a record's dispute, when both say so."""
        if entry.partner is None:
            return None
        other = self._index.find(entry.partner)
        return other if isinstance(other, Entry) and other.partner == entry.id else None

    def predecessors(self, entry: Entry) -> list[tuple[Entry, str]]:
        """What a record replaced, however far back, newest first, each with its successor's id."""
        if not self._asked.history:
            return []
        found: list[tuple[Entry, str]] = []
        seen = {entry.id}
        waiting: list[Entry | Tombstone] = [entry]
        while waiting:
            successor = waiting.pop()
            for old_id in dict.fromkeys((*successor.replaces, *self._index.retired_by(successor.id))):
                old = self._index.find(old_id)
                if old is None or old_id in seen:
                    continue
                seen.add(old_id)
                waiting.append(old)
                if isinstance(old, Entry) and not old.live and self._state_allows(old) and self.may_accompany(old):
                    found.append((old, successor.id))
        return sorted(found, key=lambda item: (item[0].created_at, item[0].id), reverse=True)

    def _state_allows(self, entry: Entry) -> bool:
        if entry.state == "superseded":
            return self._asked.history
        return entry.state != "archived" or self._asked.archived

    def _scope_of(self, entry: Entry) -> Scope | None:
        """Whose a record is; what consolidation made without saying whose belongs to whom its evidence belongs to."""
        if not entry.borrowed:
            return entry.scope
        found: set[Scope] = set()
        erased = False
        seen = {entry.id}
        waiting = [entry]
        while waiting:
            for record_id in waiting.pop().borrowed:
                item = self._index.find(record_id)
                if item is None or record_id in seen:
                    continue
                seen.add(record_id)
                if isinstance(item, Tombstone):
                    erased = True
                elif item.borrowed:
                    waiting.append(item)
                else:
                    found.add(item.scope)
        if not found:
            return None if erased else entry.scope
        owners = {scope[:3] for scope in found}
        if len(owners) > 1:
            return None
        return found.pop() if len(found) == 1 else (*owners.pop(), None)

    def _is_hidden(self, entry: Entry) -> bool:
        """Whether a value under the same key, in a narrower scope that may be shown, stands for this one."""
        if entry.key is None or not entry.live:
            return False
        return any(
            _hides(holder.scope, entry.scope) and _visible(holder.scope, self._asked.scope)
            for holder in self._index.holders(entry.key)
        )


def _visible(scope: Scope | None, asked: Scope | None) -> bool:
    if asked is None:
        return True
    if scope is None:
        return asked[:3] == _UNSCOPED[:3]
    return all(own is None or want is None or own == want for own, want in zip(scope, asked, strict=True))


def _hides(narrow: Scope, wide: Scope) -> bool:
    pairs = [pair for pair in zip(wide[:3], narrow[:3], strict=True) if pair[0] is not None]
    return narrow[:3] != wide[:3] and all(own == other for own, other in pairs)

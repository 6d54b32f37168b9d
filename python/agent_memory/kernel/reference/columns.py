"""What consolidation knows of every record without building it, and what it asks of that (spec/kernel.md, Columns).

Plain dictionaries, and every question answered from the beginning.  The compiled kernel keeps indexes instead, so that
what is asked about a few records costs what those few touch; the answers are the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable

from agent_memory.errors import ArgumentError, ArgumentTypeError

from .near_dup import checked_text, checked_threshold, items
from .pairs import KINDS, Pairs
from .rows import ACTIVE, LIVE, Group, Row, Scope, read_row
from .text import statement_key

__all__ = ["Columns"]

About = Collection[str] | None
"""The ids a question is about; None for all."""


class Columns:
    """The newest versions of records, as columns.

    Answers name records by id.  What is sorted is sorted by group first: by type, then by scope, an unset part before a
    set one.  A question *about* some ids is answered with what at least one of those takes part in.
    """

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._changes = 0

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, record_id: object) -> bool:
        return record_id in self._rows

    # ------------------------------------------------------------------ keeping in step

    def update(self, payloads: Iterable[bytes], /) -> None:
        """Take in the newest versions of records, as canonical bytes, in place of what is known of them.

        Raises RecordError, and takes in nothing, for bytes that are not a record's; ArgumentTypeError for anything but
        bytes.
        """
        given = [checked_bytes(item, f"payloads[{index}]") for index, item in enumerate(items(payloads, "payloads"))]
        rows = [read_row(payload) for payload in given]
        self._changes += 1
        self._rows.update((row.id, row) for row in rows)

    def remove(self, record_ids: Iterable[str], /) -> None:
        """Forget records.  Ids that are not known are passed over."""
        forgotten = checked_texts(record_ids, "record_ids")
        self._changes += 1
        for record_id in forgotten:
            self._rows.pop(record_id, None)

    # ------------------------------------------------------------------ whose a record is

    def scope_of(self, record_id: str, /) -> Scope | None:
        """The consolidation scope a record is treated as having; None when it spans several, or is not known."""
        row = self._rows.get(checked_text(record_id, "record_id"))
        return None if row is None else self._scope(row)

    def affected(self, record_ids: Iterable[str], /) -> list[str]:
        """The ids given, and those of the records whose scope hangs on them, sorted."""
        reached = set(checked_texts(record_ids, "record_ids"))
        waiting = list(reached)
        while waiting:
            changed = waiting.pop()
            for row in self._rows.values():
                if row.borrows and changed in row.evidence and row.id not in reached:
                    reached.add(row.id)
                    waiting.append(row.id)
        return sorted(reached)

    def _scope(self, row: Row) -> Scope | None:
        """Its own, or that of its evidence, however far: what is erased says nothing, what differs makes None."""
        if not row.borrows:
            return row.scope
        found: set[Scope] = set()
        erased = False
        seen, waiting = {row.id}, [row]
        while waiting:
            for record_id in waiting.pop().evidence:
                item = self._rows.get(record_id)
                if item is None or item.id in seen:
                    continue
                seen.add(item.id)
                if item.redacted:
                    erased = True
                elif item.borrows:
                    waiting.append(item)
                else:
                    found.add(item.scope)
        if not found:
            return None if erased else row.scope
        return found.pop() if len(found) == 1 else None

    def _groups(self, *types: str) -> list[tuple[Group, list[Row]]]:
        """The active records of some types, or of all, by group, each group sorted by id."""
        members: defaultdict[Group, list[Row]] = defaultdict(list)
        for row in self._rows.values():
            if row.state == ACTIVE and (not types or row.type in types):
                scope = self._scope(row)
                if scope is not None:
                    members[row.type, scope].append(row)
        return [(group, sorted(members[group], key=lambda row: row.id)) for group in sorted(members, key=_group_order)]

    # ------------------------------------------------------------------ disputes

    def hanging(self) -> list[str]:
        """The sides of disputes whose other side is not in the same dispute, sorted."""
        return sorted(row.id for row in self._rows.values() if row.sides is not None and self._partner(row) is None)

    def disputes(self) -> list[tuple[str, str]]:
        """The two sides of every other dispute, the lesser id first, sorted."""
        pairs = ((row.id, self._partner(row)) for row in self._rows.values())
        return sorted((own, other) for own, other in pairs if other is not None and own < other)

    def _partner(self, row: Row) -> str | None:
        if row.sides is None:
            return None
        other = row.sides[1] if row.sides[0] == row.id else row.sides[0]
        held = self._rows.get(other)
        return other if held is not None and held.id != row.id and held.sides == row.sides else None

    # ------------------------------------------------------------------ what says the same

    def copies(self, about: About = None) -> list[list[str]]:
        """Active records of one group with equal bodies and slots and, for episodes, days: two or more, sorted by id.

        Records that all have a key are together only when it is the same.
        """
        return self._blocks(about, lambda row: (row.body, _sorted(row.slots), row.day), apart=True)

    def same_terms(self, about: About = None, *, statement: bool = False) -> list[list[str]]:
        """Active records of one group with equal sequences of content terms: two or more, sorted by id.

        With ``statement``, only those that have equal slots and may be the same statement are together: their
        ``statement_key`` is equal too; and records that all have a key only when it is the same.
        """
        if statement:
            return self._blocks(about, lambda row: (statement_key(row.analysis), _sorted(row.slots)), apart=True)
        return self._blocks(about, lambda row: (row.analysis.terms, row.analysis.bare))

    def _blocks(self, about: About, label: Callable[[Row], Hashable], *, apart: bool = False) -> list[list[str]]:
        """Ids with one label, for labels that several have, in the order of their first ids.

        With ``apart``, a block in which everybody has a key is cut up by key: what is said under two keys is never one.
        """
        wanted = _wanted(about)
        found: list[list[str]] = []
        for _, rows in self._groups():
            labelled: defaultdict[Hashable, list[Row]] = defaultdict(list)
            for row in rows:
                labelled[label(row)].append(row)
            blocks: defaultdict[Hashable, list[str]] = defaultdict(list)
            for name, block in labelled.items():
                cut = apart and all(row.key is not None for row in block)
                for row in block:
                    blocks[name, row.key if cut else None].append(row.id)
            found += sorted(
                block
                for block in blocks.values()
                if len(block) > 1 and (wanted is None or not wanted.isdisjoint(block))
            )
        return found

    # ------------------------------------------------------------------ pairs

    def pairs(
        self,
        kind: str,
        /,
        *,
        types: Collection[str] = (),
        threshold: float = 0.6,
        about: About = None,
        once: bool = False,
    ) -> Pairs:
        """The pairs of ``kind`` (``similar``, ``related`` or ``opposed``) among active records of one group.

        Args:
            types: the types of records; none given means all.
            threshold: the similarity that ``similar`` pairs reach; 0 or less means every pair, above 1 none.
            once: a record is in one pair only; further pairs with it are counted instead.

        When records were taken in or forgotten since, asking for the next pair raises ArgumentError.  Raises that for
        another kind, too, and for NaN.
        """
        if kind not in KINDS:
            raise ArgumentError(f"pairs are of kind {', '.join(KINDS)}, not another")
        least, changes = checked_threshold(threshold), self._changes
        groups = [rows for _, rows in self._groups(*checked_texts(types, "types"))]

        def check() -> None:
            if self._changes != changes:
                raise ArgumentError("the columns were changed while their pairs were read: ask for the pairs again")

        return Pairs(kind, groups, check, threshold=least, about=_wanted(about), once=once)

    # ------------------------------------------------------------------ rules

    def recurring(self, least: int, about: About = None) -> list[tuple[Scope, tuple[str, ...], list[str], list[str]]]:
        """What happened again and again: (scope, signature, active episodes, rules of consolidation), sorted.

        Those signatures that ``least`` episodes have, or one or more while a live rule stands for it.  A rule takes
        part in what it stands for, and in that of the episodes it was drawn from, wherever it stands by now.
        """
        wanted = self._drawn_from(_wanted(about))
        rules: defaultdict[tuple[Scope, tuple[str, ...]], list[Row]] = defaultdict(list)
        for row in self._rows.values():
            scope = self._scope(row) if row.type == "rule" and row.made and not row.redacted else None
            if scope is not None:
                rules[scope, row.signature].append(row)
        found: list[tuple[Scope, tuple[str, ...], list[str], list[str]]] = []
        for (_, scope), rows in self._groups("episode"):
            episodes: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
            for row in rows:
                if row.signature:
                    episodes[row.signature].append(row.id)
            for signature in sorted(episodes):
                known, ids = rules.get((scope, signature), []), episodes[signature]
                if len(ids) < least and not any(rule.state in LIVE for rule in known):
                    continue
                standing = sorted(rule.id for rule in known)
                if wanted is None or not wanted.isdisjoint((*ids, *standing)):
                    found.append((scope, signature, ids, standing))
        return found

    def _drawn_from(self, wanted: frozenset[str] | None) -> frozenset[str] | None:
        """Those ids, and the evidence of the rules of consolidation among them."""
        if wanted is None:
            return None
        drawn = (row for row in map(self._rows.get, wanted) if row is not None and row.type == "rule" and row.made)
        return wanted.union(*(row.evidence for row in drawn))

    def erased_evidence(self) -> list[str]:
        """What the redacted rules were drawn from, sorted."""
        erased = (row for row in self._rows.values() if row.type == "rule" and row.redacted)
        return sorted({record_id for row in erased for record_id in row.evidence})

    def rules(self, about: About = None) -> list[str]:
        """The live rules, sorted; about some ids: those, and rules whose evidence one of them is, or is where evidence
        leads to that was superseded."""
        live = sorted(row.id for row in self._rows.values() if row.type == "rule" and row.state in LIVE)
        wanted = _wanted(about)
        if wanted is None:
            return live
        return [record_id for record_id in live if not wanted.isdisjoint(self._leads_to(self._rows[record_id]))]

    def _leads_to(self, rule: Row) -> set[str]:
        reached: set[str] = set()
        for record_id in rule.evidence:
            step: str | None = record_id
            while step is not None and step not in reached:
                reached.add(step)
                row = self._rows.get(step)
                step = None if row is None else row.superseded_by
        return reached | {rule.id}


def _sorted(slots: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(slots.items()))


def _wanted(about: About) -> frozenset[str] | None:
    return None if about is None else frozenset(checked_texts(about, "about"))


def checked_texts(values: Iterable[str], name: str) -> list[str]:
    """The texts, if they are some."""
    return [checked_text(value, f"{name}[{index}]") for index, value in enumerate(items(values, name))]


def checked_bytes(value: object, name: str) -> bytes:
    """The bytes, if they are some."""
    if not isinstance(value, bytes):
        raise ArgumentTypeError(f"{name} is of type '{type(value).__name__}': it must be bytes")
    return value


def _group_order(group: Group) -> tuple[object, ...]:
    kind, scope = group
    return (kind, [(part is not None, part or "") for part in scope])

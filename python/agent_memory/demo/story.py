"""The steps of the demo.  Each does something real, checks what it is about to claim, and only then says it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Final

from agent_memory.errors import AgentMemoryError
from agent_memory.memory import Memory
from agent_memory.memory_file import MemoryFile
from agent_memory.pipeline import ConsolidationReport
from agent_memory.reading import Entry, read
from agent_memory.records import MemoryRecord, RecordState, RecordType

__all__ = ["BrokenPromise", "Step", "notebook", "story"]

_QUESTION: Final = "Where does the nightly backup of the orders database go?"
_DISPUTED: Final = "Which database does staging run?"
_REASON: Final = "checked on the host: the move to MySQL was finished on 25 March"
_SECRET: Final = "Tangerine-Locomotive-41"  # noqa: S105 - invented, and what the last step destroys
_BUDGET: Final = 300


class BrokenPromise(AgentMemoryError):
    """A step of the demo did not show what it says."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: what happened, in words; the lines and records that show it; the same as plain data."""

    title: str
    words: str
    shown: tuple[str | MemoryRecord, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)


def notebook() -> list[dict[str, object]]:
    """The notes that ship with the package, as arguments of ``Memory.remember``."""
    data = resources.files(__package__).joinpath("notebook.jsonl").read_bytes()
    notes = []
    for entry in read([data], "jsonl"):
        _must(isinstance(entry, Entry), "every line of the notebook can be read")
        if isinstance(entry, Entry):
            notes.append(entry.item)
    return notes


def story(folder: Path) -> Iterator[Step]:
    """Play the demo in ``folder``, an empty one.

    Raises:
        BrokenPromise: a step did not show what it says.
    """
    place = folder / "memory"
    identity = folder / "harbour.key"
    export = folder / "harbour.memory.json"
    with Memory(place, identity=identity, auto_consolidate=False) as memory:
        yield _remember(memory)
        yield _recall(memory)
        report = memory.consolidate()
        yield _merged(memory, report)
        winner, loser = _sides(memory, report)
        yield _disputed(memory, winner, loser)
        yield _resolved(memory, winner, loser)
        yield _rule(memory, report)
        yield _export(memory, export, folder / "second")
        yield _tampered(memory, export, folder)
        yield _redacted(memory, place, export, folder / "after.memory.json")
        expected = memory.status()
    yield _reopened(place, identity, expected)


def _must(holds: bool, claim: str) -> None:
    if not holds:
        raise BrokenPromise(f"the demo claims that {claim}, and that did not happen")


def _remember(memory: Memory) -> Step:
    notes = notebook()
    results = memory.remember_many(notes)
    again = memory.remember_many(notes)
    ids = {result.record_id for result in results if not isinstance(result, AgentMemoryError)}
    known = [result for result in again if not isinstance(result, AgentMemoryError) and result.deduped]
    records = memory.list()
    _must(len(ids) == len(notes) == len(records), "every note becomes a record")
    _must(len(known) == len(notes), "the same notes said again add nothing")
    for record in records:
        record.verify()
        _must(record.signed_by == memory.agent, "every record is signed by the agent")
    return Step(
        "An agent takes its notes",
        f"{len(notes)} notes of an operations team were remembered, each with an id made from its content and signed "
        "by the agent. Saying all of them a second time added nothing.",
        (f"agent: {memory.agent}", *_examples(records)),
        {"notes": len(notes), "agent": memory.agent, "added_by_repeating": len(memory.list()) - len(records)},
    )


def _examples(records: tuple[MemoryRecord, ...]) -> tuple[MemoryRecord, ...]:
    return tuple(record for record in records if record.type is RecordType.PROCEDURE)[:2]


def _recall(memory: Memory) -> Step:
    result = memory.recall(_QUESTION, budget_tokens=_BUDGET)
    _must(len(result) > 0, "the question finds something")
    best = result.records[0]
    spent = sum(item.tokens for item in result)
    _must("cold bucket in Dublin" in best.record.body, "the best answer is the note about the backup")
    _must(spent <= _BUDGET, "the answer fits its token budget")
    return Step(
        "A question finds its note",
        f'Asked "{_QUESTION}" with room for {_BUDGET} tokens, the memory gave {len(result)} whole records of {spent} '
        f"tokens together. The best one, with a score of {best.score:.3f}:",
        (best.record,),
        {"query": _QUESTION, "best": best.record.id, "tokens": spent, "budget": _BUDGET},
    )


def _merged(memory: Memory, report: ConsolidationReport) -> Step:
    retired_ids = sorted({record_id for action in report.by_pass("dedup.near") for record_id in action.record_ids})
    versions = {record_id: memory.get(record_id) for record_id in retired_ids}
    retired = [record for record in versions.values() if record.state is RecordState.SUPERSEDED]
    _must(len(retired) == 2, "two notes that say the same were merged")
    merged = memory.get(retired[0].superseded_by or "")
    _must(all(record.superseded_by == merged.id for record in retired), "both lead to the merged record")
    _must(set(merged.evidence) == {record.id for record in retired}, "the merged record names both as evidence")
    _must(set(merged.tags) == {tag for record in retired for tag in record.tags}, "no tag was lost")
    return Step(
        "What was said twice becomes one record",
        "Two notes differ in nothing but an article. Consolidation merged them; both stay as history under their ids, "
        "and the new record names them as its evidence and has the tags of both.",
        (merged, "it replaces, and keeps:", *retired),
        {"merged": merged.id, "history": [record.id for record in retired]},
    )


def _sides(memory: Memory, report: ConsolidationReport) -> tuple[MemoryRecord, MemoryRecord]:
    """The side of the dispute that will win, and the other."""
    actions = report.by_pass("contradiction")
    _must(len(actions) == 1, "exactly one contradiction is found")
    sides = sorted((memory.get(record_id) for record_id in actions[0].record_ids), key=lambda side: side.event_time)
    _must(len(sides) == 2, "a contradiction has two sides")
    return sides[1], sides[0]


def _disputed(memory: Memory, newer: MemoryRecord, older: MemoryRecord) -> Step:
    _must(newer.state is older.state is RecordState.TRANSITIONAL, "both sides are open")
    _must(newer.transition == older.transition and newer.transition is not None, "either side leads to the other")
    result = memory.recall(_DISPUTED)
    _must({newer.id, older.id} <= set(result.ids), "a question gets both sides")
    _must(result.as_prompt_block().count("[disputed:") == 2, "a model is told of the dispute at both sides")
    lines = [line for line in result.as_prompt_block().splitlines() if "[disputed:" in line]
    return Step(
        "A contradiction is shown from both sides",
        "Two notes cannot both be true. Nothing is overwritten and nothing guessed: both are marked as disputed, and "
        f'whoever asks "{_DISPUTED}" gets both. This is what a model reads:',
        tuple(lines),
        {"sides": sorted((newer.id, older.id)), "query": _DISPUTED},
    )


def _resolved(memory: Memory, winner: MemoryRecord, loser: MemoryRecord) -> Step:
    memory.resolve(loser.id, winner.id, _REASON)
    won, lost = memory.get(winner.id), memory.get(loser.id)
    _must(won.state is RecordState.ACTIVE, "the winner is active again")
    _must(lost.state is RecordState.SUPERSEDED and lost.superseded_by == won.id, "the loser leads to the winner")
    _must(lost.state_reason == _REASON, "the loser keeps the reason")
    now_found = memory.recall(_DISPUTED, touch=False).ids
    _must(won.id in now_found and lost.id not in now_found, "only the winner is recalled")
    with_history = memory.recall(_DISPUTED, include_history=True, touch=False).ids
    _must({won.id, lost.id} <= set(with_history), "the loser is recalled when history is asked for")
    birth = memory.history(lost.id)[0]
    birth.verify()
    return Step(
        "A person settles it, and the loser is not erased",
        f'Resolved with a reason: "{lost.state_reason}". A question now gets the winner alone. The loser keeps its '
        f"id, the reason, and its {len(memory.history(lost.id))} versions, the first still with the agent's signature.",
        (won, lost),
        {"winner": won.id, "loser": lost.id, "reason": lost.state_reason},
    )


def _rule(memory: Memory, report: ConsolidationReport) -> Step:
    created = [action for action in report.by_pass("promotion") if action.action == "create-rule"]
    _must(len(created) == 1, "one rule is drawn")
    rules = memory.list(type=RecordType.RULE)
    _must(len(rules) == 1, "the memory holds that rule")
    rule = rules[0]
    evidence = [memory.get(record_id) for record_id in rule.evidence]
    _must(len(evidence) == 3, "the rule has three episodes as evidence")
    _must(all(record.type is RecordType.EPISODE for record in evidence), "its evidence are episodes")
    _must(all(record.state is RecordState.ACTIVE for record in evidence), "the episodes themselves stay")
    return Step(
        "Three episodes become a rule",
        "Three times something happened under the same tags. Consolidation drew one rule from them; it carries the "
        "three as its evidence and would be flagged if all of them were withdrawn.",
        (rule, "its evidence:", *evidence),
        {"rule": rule.id, "evidence": list(rule.evidence)},
    )


def _export(memory: Memory, export: Path, second: Path) -> Step:
    written = memory.export(export)
    written.verify()
    with Memory.load(export, path=second, expected_agent=memory.agent) as loaded:
        _must(set(loaded.list()) == set(memory.list()), "a memory loaded from the export has equal records")
    return Step(
        "The whole memory is one signed file",
        f"Exported {len(written.records)} records to {export.name}, {export.stat().st_size:,} bytes, signed by the "
        "agent. A second memory was started from it; signatures were verified and all records are equal.",
        (),
        {"file": export.name, "records": len(written.records), "bytes": export.stat().st_size},
    )


def _tampered(memory: Memory, export: Path, folder: Path) -> Step:
    original = export.read_bytes()

    def changed_word(file: dict[str, Any]) -> None:
        _record_with(file, "35 days")["body"] = "The nightly backup of the orders database is kept nowhere."

    def changed_with_new_id(file: dict[str, Any]) -> None:
        record = _record_with(file, "35 days")
        record["body"] = "The nightly backup of the orders database is kept nowhere."
        del record["id"], record["signed_by"], record["signature"]
        record.update(MemoryRecord.model_validate(record).model_dump())

    def dropped_record(file: dict[str, Any]) -> None:
        file["records"].remove(_record_with(file, "35 days"))

    def stripped_signature(file: dict[str, Any]) -> None:
        file["signature"] = ""

    forgeries: dict[str, Callable[[dict[str, Any]], None]] = {
        "a body changed": changed_word,
        "a body changed, its id recalculated": changed_with_new_id,
        "a record left out": dropped_record,
        "the signature stripped": stripped_signature,
    }
    refusals: dict[str, str] = {}
    for name, forge in forgeries.items():
        file = json.loads(original)
        forge(file)
        copy = folder / "tampered.memory.json"
        copy.write_text(json.dumps(file), encoding="utf-8")
        target = folder / "never"
        try:
            Memory.load(copy, path=target, expected_agent=memory.agent).close()
        except AgentMemoryError as error:
            refusals[name] = f"{type(error).__name__}: {error}"
        finally:
            copy.unlink()
        _must(name in refusals, f"a copy with {name} is refused")
        _must(not target.exists(), "a refused file leaves nothing behind")
    MemoryFile.model_validate(json.loads(original)).verify()
    return Step(
        "A tampered copy is refused",
        f"{len(forgeries)} forged copies of the export, {len(refusals)} refusals, and nothing written for any of them:",
        tuple(f"{name} → {reason.replace(str(folder), '...')}" for name, reason in refusals.items()),
        {"refused": {name: reason.partition(":")[0] for name, reason in refusals.items()}},
    )


def _record_with(file: dict[str, Any], text: str) -> dict[str, Any]:
    found: dict[str, Any] = next(record for record in file["records"] if text in record["body"])
    return found


def _redacted(memory: Memory, place: Path, earlier: Path, later: Path) -> Step:
    secret = next(record for record in memory.list() if _SECRET in record.body)
    before = _files_holding(place, _SECRET)
    _must(bool(before), "the password stood in the memory's files")
    tombstone = memory.redact(secret.id, "a password was noted by mistake")
    _must(tombstone.id == secret.id and tombstone.redacted, "the id leads to a tombstone")
    _must(not _files_holding(place, _SECRET), "no file of the memory holds the password")
    found = memory.recall(
        "audit account for the vendor portal", include_archived=True, include_history=True, touch=False
    )
    _must(all("harbour-audit" not in item.record.body for item in found), "no question brings it back")
    _must(all(version.redacted for version in memory.history(secret.id)), "no version of it is left")
    memory.export(later)
    _must(_SECRET.encode() not in later.read_bytes(), "a new export holds the tombstone only")
    _must(_SECRET.encode() in earlier.read_bytes(), "the earlier export is a copy that redaction does not reach")
    return Step(
        "A secret is redacted, down to the bytes",
        f"A password had been noted. Before, {len(before)} of the memory's files held it; now none does, nor does "
        "a new export. The id stays as a tombstone. The export made earlier is a copy, for its owner to delete.",
        (tombstone,),
        {"tombstone": tombstone.id, "files_before": len(before), "files_after": 0},
    )


def _files_holding(place: Path, text: str) -> list[Path]:
    return [path for path in sorted(place.rglob("*")) if path.is_file() and text.encode() in path.read_bytes()]


def _reopened(place: Path, identity: Path, expected: dict[str, Any]) -> Step:
    with Memory(place, identity=identity) as memory:
        _must(memory.status() == expected, "a memory opened again is the one that was closed")
        result = memory.recall(_QUESTION, budget_tokens=_BUDGET, touch=False)
        _must("cold bucket in Dublin" in result.records[0].record.body, "and it answers as before")
    return Step(
        "Closed and opened again, it is the same memory",
        f"{expected['records']} records, as before: "
        + ", ".join(f"{count} {state}" for state, count in expected["by_state"].items())
        + ".",
        (),
        {"status": {key: value for key, value in expected.items() if key != "path"}},
    )

"""``recall``, ``list``, ``show`` and ``status``: reading what is there.  None of them makes a memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from agent_memory.clock import time_to_wire
from agent_memory.errors import AgentMemoryError
from agent_memory.extension import SCOPE_FIELDS

from .escape import one_line, shown_lines
from .ids import full_id
from .render import body_lines, detail_lines, head, short_id, table_lines
from .settings import Settings, command, damage

if TYPE_CHECKING:
    from agent_memory.pipeline.recall import RetrievedRecord
    from agent_memory.records import MemoryRecord

__all__ = ["COMMANDS"]

_STATES = ("active", "transitional", "superseded", "archived")
_TYPES = ("fact", "episode", "procedure", "rule")
_SIDE = "   "


@click.argument("words", metavar="QUERY...", nargs=-1, required=True)
@click.option("--budget", type=click.IntRange(min=0), default=2000, show_default=True, help="Tokens for all of it.")
@click.option("--limit", type=click.IntRange(min=1), help="Show this many answers at most; a dispute counts as one.")
@click.option("--history", is_flag=True, help="Also what was superseded, behind what replaced it.")
@click.option("--archived", is_flag=True, help="Also what was archived.")
@click.option("--type", "types", type=click.Choice(_TYPES), multiple=True, help="Only this type; may be repeated.")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="Only with this tag; may be repeated.")
@click.option("--min-score", type=click.FloatRange(min=0), default=0.0, help="Only what scores at least this.")
@click.option("--as-of", metavar="TIME", help="As the memory was then: 2026-01-31T09:30:00Z.")
@click.option("--explain", is_flag=True, help="Show how each record came to its score.")
@click.option("--no-touch", is_flag=True, help="Leave no trace: do not count this as a use of what is found.")
@click.option("--prompt", is_flag=True, help="Print the block of text that goes into a model's prompt.")
def recall(
    settings: Settings,
    *,
    words: tuple[str, ...],
    budget: int,
    limit: int | None,
    history: bool,
    archived: bool,
    types: tuple[str, ...],
    tags: tuple[str, ...],
    min_score: float,
    as_of: str | None,
    explain: bool,
    no_touch: bool,
    prompt: bool,
) -> None:
    """Find what is relevant to QUERY; several words need no quotes."""
    query = " ".join(words)
    with settings.open() as memory:
        result = memory.recall(
            query,
            budget_tokens=budget,
            include_history=history,
            include_archived=archived,
            touch=not no_touch,
            types=types or None,
            tags=tags or None,
            min_score=min_score,
            as_of=as_of,
        )
    answers = _answers(result.records)[:limit]
    found = [item for answer in answers for item in answer]
    facts: dict[str, Any] = {
        "query": query,
        "budget_tokens": budget,
        "total_tokens": sum(item.tokens for item in found),
        "records": [_retrieved(item) for item in found],
    }
    if prompt:
        shown = type(result)(block=replace(result.block, records=tuple(found)))
        facts["prompt"] = block = shown.as_prompt_block()
        settings.screen.answer(facts, lambda: shown_lines(block))
    else:
        if result.as_of is not None:
            facts["as_of"], facts["erased_since"] = time_to_wire(result.as_of), result.erased_since
        settings.screen.answer(facts, lambda: _recalled(answers, explain=explain, erased=result.erased_since))


def _retrieved(item: RetrievedRecord) -> dict[str, Any]:
    return {
        "record": item.record.model_dump(),
        "score": item.score,
        "tokens": item.tokens,
        "reasons": [str(reason) for reason in item.reasons],
        "factors": None if item.factors is None else asdict(item.factors),
    }


def _answers(items: Sequence[RetrievedRecord]) -> list[tuple[RetrievedRecord, ...]]:
    """What was recalled, best first, the two sides of a dispute as one answer."""
    by_id = {item.record.id: item for item in items}
    answers: list[tuple[RetrievedRecord, ...]] = []
    for item in items:
        if by_id.pop(item.record.id, None) is None:
            continue
        transition = item.record.transition
        partner = None if transition is None else by_id.pop(transition.other(item.record.id), None)
        answers.append((item,) if partner is None else (item, partner))
    return answers


def _recalled(
    answers: Sequence[tuple[RetrievedRecord, ...]], *, explain: bool = False, erased: int = 0
) -> Iterator[str]:
    if erased:
        yield click.style(f"{erased} records of that time have been erased since", dim=True)
    if not answers:
        yield "nothing relevant is remembered"
    for number, answer in enumerate(answers, 1):
        first = answer[0]
        if len(answer) == 1:
            yield f"{number}. {_scored(first)}"
            yield from _text_of(first.record, "     ")
            yield from _why(first, "     ") if explain else ()
            continue
        a, b = (item.record for item in answer)
        reason = a.transition.reason if a.transition else ""
        disputed = click.style("disputed, and not settled:", fg="yellow", bold=True)
        yield f"{number}. {disputed} {one_line(reason)}"
        for side, item in zip("AB", answer, strict=True):
            yield f"{_SIDE}{side}. {_scored(item)}"
            yield from _text_of(item.record, "        ")
            yield from _why(item, "        ") if explain else ()
        command_line = f"agent-memory resolve {short_id(a.id)} {short_id(b.id)} --reason '...'"
        yield _SIDE + click.style(f"if A holds: {command_line}", dim=True)


def _why(item: RetrievedRecord, margin: str) -> Iterator[str]:
    factors = {} if item.factors is None else asdict(item.factors)
    yield margin + click.style(" × ".join(f"{name} {value:.3f}" for name, value in factors.items()), dim=True)
    yield from (margin + click.style(one_line(reason), dim=True) for reason in item.reasons)


def _scored(item: RetrievedRecord) -> str:
    return f"{head(item.record)} · score {item.score:.3f}"


def _text_of(record: MemoryRecord, margin: str) -> Iterator[str]:
    yield from body_lines(record.body, margin=margin)
    yield from detail_lines(record, margin=margin)


@click.option("--state", type=click.Choice(_STATES), help="Only those in this state; transitional is disputed.")
@click.option("--type", "type_name", type=click.Choice(_TYPES), help="Only those of this type.")
@click.option("--tag", metavar="TAG", help="Only those with this tag.")
@click.option("--limit", type=click.IntRange(min=1), help="Show this many at most, the newest.")
def list_records(
    settings: Settings, state: str | None, type_name: str | None, tag: str | None, limit: int | None
) -> None:
    """List records, oldest first; on a terminal each is cut to one line."""
    from agent_memory.records import RecordState, RecordType

    with settings.open() as memory:
        records = memory.list(
            state=None if state is None else RecordState(state),
            type=None if type_name is None else RecordType(type_name),
            tag=tag,
        )
    ordered = sorted(records, key=lambda record: (record.event_time, record.created_at, record.id))
    shown = ordered if limit is None else ordered[-limit:]
    settings.screen.answer(
        {"total": len(ordered), "records": [record.model_dump() for record in shown]},
        lambda: _listed(shown, len(ordered)),
    )


def _listed(records: Sequence[MemoryRecord], total: int) -> Iterator[str]:
    if not records:
        yield "no records"
        return
    yield from table_lines(
        ("id", "type", "date", "state", "text"),
        (
            (
                short_id(record.id),
                record.type.value,
                f"{record.event_time:%Y-%m-%d}",
                "disputed" if record.transition else record.state.value,
                one_line(record.body),
            )
            for record in records
        ),
    )
    if len(records) < total:
        yield f"({total - len(records)} older ones not shown)"


@click.argument("record_id", metavar="ID")
def show(settings: Settings, record_id: str) -> None:
    """Show the record ID: what it says, its history, its evidence, its dispute."""
    with settings.open() as memory:
        record = memory.get(full_id(memory, record_id))
        versions = memory.history(record.id)
        evidence = memory.store.get_many(record.evidence)
        other = None
        if record.transition is not None:
            other = memory.store.get_many([record.transition.other(record.id)]).get(record.transition.other(record.id))
    signature = _signature(versions)
    settings.screen.answer(
        {
            "record": record.model_dump(),
            "signature": signature,
            "history": [version.model_dump() for version in versions],
            "evidence": [evidence[key].model_dump() if key in evidence else {"id": key} for key in record.evidence],
            "dispute": None if other is None else other.model_dump(),
        },
        lambda: _shown(record, versions, evidence, other, signature),
    )


def _signature(versions: Sequence[MemoryRecord]) -> str:
    """Whether the signature on the newest signed version holds: what a record was signed as stays in its history."""
    for version in reversed(versions):
        if version.signed_by:
            try:
                version.verify()
            except AgentMemoryError:
                return f"does not verify (version of {version.updated_at:%Y-%m-%d %H:%M:%S})"
            return f"valid, by {version.signed_by}"
    return "none"


def _shown(
    record: MemoryRecord,
    versions: Sequence[MemoryRecord],
    evidence: dict[str, MemoryRecord],
    other: MemoryRecord | None,
    signature: str,
) -> Iterator[str]:
    yield head(record)
    yield from body_lines(record.body, margin="  ")
    fields = {
        "id": record.id,
        "state": record.state.value + (f": {record.state_reason}" if record.state_reason else ""),
        "tags": ", ".join(record.tags),
        "slots": ", ".join(f"{subject} = {value}" for subject, value in sorted(record.slots.items())),
        "source": record.provenance.ref or "",
        "learned by": record.provenance.kind,
        "author": record.author or "",
        "scope": ", ".join(f"{name} {value}" for name in SCOPE_FIELDS if (value := getattr(record.scope, name))),
        "importance": f"{record.value:g}" if record.value != 1 else "",
        "confidence": f"{record.confidence:g}",
        "happened": f"{record.occurred_at:%Y-%m-%d %H:%M:%S} UTC" if record.occurred_at else "",
        "written": f"{record.created_at:%Y-%m-%d %H:%M:%S} UTC",
        "signature": signature,
        "flag": record.flag_reason or "",
        "redaction": record.redaction_reason or "",
        "replaces": ", ".join(record.replaces),
        "replaced by": record.superseded_by or "",
    }
    for name, value in fields.items():
        if value:
            yield f"  {click.style(f'{name:<11}', dim=True)} {one_line(value)}"
    if other is not None:
        yield "  " + click.style("in dispute with", fg="yellow")
        yield f"    {head(other)}"
        yield from body_lines(other.body, margin="      ")
    if record.evidence:
        yield "  evidence"
    for key in record.evidence:
        yield f"    {head(evidence[key]) if key in evidence else f'{short_id(key)} · not in this memory'}"
        if key in evidence:
            yield from body_lines(evidence[key].body, margin="      ")
    yield "  history"
    for number, version in enumerate(versions, 1):
        reason = f": {one_line(version.state_reason)}" if version.state_reason else ""
        yield f"    {number}. {version.updated_at:%Y-%m-%d %H:%M:%S} UTC  {version.state.value}{reason}"


def status(settings: Settings) -> None:
    """Count what is remembered, and name what cannot be read."""
    with settings.open() as memory:
        facts = {**memory.status(), "damaged": damage(memory)}

    def lines() -> Iterator[str]:
        yield f"memory         {one_line(str(facts['path']))}"
        yield f"agent          {facts['agent'] or 'none; records are not signed'}"
        if facts["scope"]:
            yield f"scope          {', '.join(f'{name} {one_line(value)}' for name, value in facts['scope'].items())}"
        yield f"records        {facts['records']}"
        for name in ("by_state", "by_type"):
            counts = "  ".join(f"{key} {count}" for key, count in facts[name].items())
            yield f"{name.replace('_', ' '):<14} {counts or '-'}"
        yield f"open disputes  {facts['open_contradictions']}"
        if facts["erasure_pending"]:
            yield (
                click.style("erasure", fg="red", bold=True)
                + "        pending: another process still reads redacted bytes"
            )
        if facts["damaged"]:
            yield click.style("damaged", fg="red", bold=True) + "        not readable, and left out of everything else:"
        for place in facts["damaged"]:
            yield f"  {one_line(place['where'])}: {one_line(place['what'])}"

    settings.screen.answer(facts, lines)


COMMANDS = (
    command("recall")(recall),
    command("list")(list_records),
    command("show")(show),
    command("status")(status),
)

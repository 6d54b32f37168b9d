"""``eval``: how much of what a user's own questions need is found."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from agent_memory.errors import ArgumentError, StoreError

from .escape import one_line
from .settings import Settings, command

if TYPE_CHECKING:
    from agent_memory.evaluation import Answer, Evaluation, Question
    from agent_memory.memory import Memory

__all__ = ["COMMANDS"]

_EVERYTHING: Final = 10**9
"""A budget that cuts nothing off."""
_MISSED: Final = 10
"""Questions that found nothing, of which the query is shown."""
_QUERY: Final = 90
"""Characters of such a query."""


def _counts(_ctx: click.Context, _param: click.Parameter, value: str) -> tuple[int, ...]:
    try:
        found = sorted({int(part) for part in value.split(",")})
    except ValueError:
        found = []
    if not found or found[0] < 1:
        raise click.BadParameter("give numbers of 1 or more, such as 5,10,20")
    return tuple(found)


@click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))
@click.option(
    "--k",
    "ks",
    metavar="K,K...",
    default="5,10,20",
    show_default=True,
    callback=_counts,
    help="How many of the first answers are looked at.",
)
@click.option(
    "--budget",
    type=click.IntRange(min=0),
    default=1000,
    show_default=True,
    help="Tokens in which evidence has to be found.",
)
def evaluate(settings: Settings, *, file: str, ks: tuple[int, ...], budget: int) -> None:
    """Ask the questions in FILE ("-" is stdin) and say how much of what they need is found.

    A line is {"query": ..., "ids": [...], "texts": [...]}. Nothing is touched or changed.
    """
    from agent_memory import evaluation

    questions = list(_questions(file))
    with settings.open() as memory, settings.screen.progress() as advance:
        expectations = evaluation.Expectations(memory.list())
        answers = []
        for number, (_, question) in enumerate(questions):
            advance("asking", number, len(questions))
            answers.append(_asked(memory, question, expectations.of(question), budget))
    figures = evaluation.evaluate(answers, ks)
    caught = [evaluation.catch(answer) for answer in answers]
    facts = {
        "budget_tokens": budget,
        **asdict(figures),
        "answers": [
            {
                "line": line,
                "query": question.query,
                "ranks": list(item.ranks),
                "within": item.within,
                "missing": sum(not will_do for will_do in answer.expected),
            }
            for (line, question), answer, item in zip(questions, answers, caught, strict=True)
        ],
    }
    missed = [asked for asked, item in zip(questions, caught, strict=True) if not item.hit(max(ks))]
    settings.screen.answer(facts, lambda: _lines(figures, ks, budget, missed))


def _questions(file: str) -> Iterator[tuple[int, Question]]:
    """The questions of a file, each with the number of its line.  One bad line, and there is nothing to evaluate."""
    from agent_memory.evaluation import Question
    from agent_memory.reading.lines import split_lines

    try:
        with nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb") as stream:
            data = stream.read()
    except OSError as error:
        raise StoreError(f"{file} cannot be read: {error.strerror}") from None
    for line in split_lines([data]):
        if line.blank:
            continue
        try:
            if line.problem is not None:
                raise ArgumentError(line.problem)
            yield line.number, Question.read(json.loads(line.text))
        except (ValueError, RecursionError) as error:
            why = error if isinstance(error, ArgumentError) else "it is no JSON"
            raise ArgumentError(f"line {line.number}: {why}") from None


def _asked(memory: Memory, question: Question, expected: tuple[frozenset[str], ...], budget: int) -> Answer:
    from agent_memory.evaluation import Answer

    ranked = memory.recall(question.query, budget_tokens=_EVERYTHING, touch=False).ids
    within = memory.recall(question.query, budget_tokens=budget, touch=False).ids
    return Answer(expected=expected, ranked=ranked, within=within)


def _lines(figures: Evaluation, ks: tuple[int, ...], budget: int, missed: list[tuple[int, Question]]) -> Iterator[str]:
    yield f"{figures.questions} questions, {figures.expected} records expected"
    if figures.missing:
        yield click.style(
            f"{figures.missing} of them are not in this memory, and count as not found", fg="yellow", bold=True
        )
    yield ""
    yield click.style(f"{'first':>8}{'recall':>10}{'hit':>10}{'nDCG':>10}", dim=True)
    for k in ks:
        yield f"{k:>8}{figures.recall[k]:>10.3f}{figures.hit[k]:>10.3f}{figures.ndcg[k]:>10.3f}"
    yield ""
    yield f"{figures.evidence:.3f} of what was expected within {budget:,} tokens"
    if missed:
        yield f"{len(missed)} questions found nothing of it among the first {max(ks)}:"
    for line, question in missed[:_MISSED]:
        query = one_line(question.query)
        yield f"  line {line}: {query if len(query) <= _QUERY else query[:_QUERY] + '...'}"
    if len(missed) > _MISSED:
        yield f"  ({len(missed) - _MISSED} more; --json lists all)"


COMMANDS: tuple[Any, ...] = (command("eval")(evaluate),)

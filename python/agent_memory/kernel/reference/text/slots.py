"""The subject and value of a sentence that says what something is (spec/text.md section 7)."""

from __future__ import annotations

import re
from functools import lru_cache

from .analyse import analyse
from .characters import DIGIT, category, is_lower
from .sentences import split_sentences
from .tokens import fold, prepare, scan
from .words import (
    ADVERBS,
    CONDITIONS,
    COPULAS,
    HEDGES,
    IRREGULAR_PARTICIPLES,
    MODALS,
    NEGATORS_ENGLISH,
    NEGATORS_OTHER,
    NO_SUBJECT,
    VALUE_PREPOSITIONS,
)

_CLAUSE_END = re.compile(
    rf";|\s[—-]+\s(?!{DIGIT})|\s*\(|,?\s+(?:which|who|because|although|though|but|since|unless|until|while)\s|,\s*(?:so|and)\s",
    re.IGNORECASE,
)

_LONGEST = 400  # characters; a longer sentence names no one thing


def infer_slots(body: str) -> dict[str, str]:
    """The one slot ``body`` fills, ``{subject terms: value terms}``, or nothing.

    Only a present copula makes one ("X is Y"), without negation, about a subject of two content words or more, with
    a value that names something: it has a capital or a digit and starts with no preposition or participle.
    """
    if analyse(body).negated:
        return {}
    found = [slot for sentence in split_sentences(body) if (slot := _slot(sentence))]
    return dict(found) if len(found) == 1 else {}


def slot_values_clash(x: str, y: str) -> bool:
    """Whether two values of one slot contradict each other.

    Values are compared by all their word runs and symbols.  They clash when these differ, unless one value contains
    the other's as a stretch ("Postgres" / "Postgres 14"): that is more detail.  A stretch plus a negator ("not on" /
    "on") is no detail.  Values without any run are compared as they are.
    """
    left, right = _runs(x), _runs(y)
    if not left or not right:
        return bool(left or right) or prepare(x).strip() != prepare(y).strip()
    if len(left) > len(right):
        left, right = right, left
    size = len(left)
    for start in range(len(right) - size + 1):
        if right[start : start + size] == left:
            added = right[:start] + right[start + size :]
            return any(run in NEGATORS_ENGLISH or run in NEGATORS_OTHER for run in added)
    return True


def _runs(value: str) -> tuple[str, ...]:
    return _remembered_runs(value) if len(value) <= _LONGEST else _read_runs(value)


def _read_runs(value: str) -> tuple[str, ...]:
    return tuple(fold(token.text) for token in scan(value).tokens if token.kind != "mark")


_remembered_runs = lru_cache(maxsize=4096)(_read_runs)


def _slot(sentence: str) -> tuple[str, str] | None:
    if len(sentence) > _LONGEST:
        return None
    scanned = scan(sentence)
    words = [fold(token.text) for token in scanned.tokens]
    copula = next((i for i, word in enumerate(words) if word in ("is", "are")), 0)
    if copula < 2 or scanned.text.rstrip().endswith("?"):
        return None
    before = words[:copula]
    if before[0] in NO_SUBJECT or not MODALS.union(HEDGES, COPULAS).isdisjoint(before):
        return None
    if not CONDITIONS.isdisjoint(words[copula:]):
        return None
    value = _CLAUSE_END.split(scanned.text[scanned.tokens[copula].end :], maxsplit=1)[0]
    subject = analyse(scanned.text[: scanned.tokens[copula].start]).terms
    named = analyse(value).terms
    if len(subject) < 2 or not named or not _names(value):
        return None
    return " ".join(subject), " ".join(named)


def _names(value: str) -> bool:
    tokens = scan(value).tokens
    words = [fold(token.text) for token in tokens]
    if "than" in words or not {"is", "are", "was", "were"}.isdisjoint(words):
        return False
    if not any(category(char) in ("Lu", "Lt") or category(char)[0] == "N" for char in value):
        return False
    first = next((i for i, word in enumerate(words) if word not in ADVERBS), None)
    if first is None:
        return False
    word = words[first]
    if word in VALUE_PREPOSITIONS:
        return False
    participle = word in IRREGULAR_PARTICIPLES or (word.endswith(("ing", "ed")) and len(word) >= 5)
    return not (participle and is_lower(tokens[first].text[0]))

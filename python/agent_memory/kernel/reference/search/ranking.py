"""Raw scores: BM25 in whole numbers, what a session lends, what a query's intent multiplies (spec/recall.md section 5).

Sums are of integers, so no order of evaluation changes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, log
from typing import TYPE_CHECKING, Final

from .config import Config
from .english import FIRST_PERSON
from .entry import Entry
from .intent import Intent, intent_of

if TYPE_CHECKING:
    from .index import Index

__all__ = ["idf", "multiplied", "raw_scores", "weight"]

UNIT: Final = 65_536
"""One, in the fixed-point numbers of ranking."""


def idf(records: int, holding: int) -> int:
    """How telling a term is that ``holding`` of ``records`` records have, in units of 1/65536, 1 or more."""
    rarity = log(1.0 + (records - holding + 0.5) / (holding + 0.5))
    return max(1, floor(UNIT * rarity + 0.5))


def weight(count: int, length: int, mean: int, config: Config) -> int:
    """What a term that occurs ``count`` times counts in a record of ``length``, in units of 1/65536.

    ``mean`` is the average length in quarters of a term, 1 or more.
    """
    relative = length / (mean / 4.0)
    damped = count + config.k1 * (1.0 - config.b + config.b * relative)
    return floor(UNIT * (count * (config.k1 + 1.0) / damped) + 0.5)


def raw_scores(index: Index, query: str) -> dict[str, float]:
    """The raw score, above 0, of every record that has a term of the query or is lent one."""
    terms = [term for term in dict.fromkeys(index.analyser.terms(query, query=True)) if index.holding(term)]
    sums: dict[str, int] = {}
    for term in terms[: index.config.query_terms]:
        for record_id, impact in _impacts(index, term).items():
            sums[record_id] = sums.get(record_id, 0) + impact
    if not sums:
        return {}
    intent = intent_of(query, index.analyser, index.names())
    return {
        record_id: multiplied(impact, index.entry(record_id), intent, index.config)
        for record_id, impact in sums.items()
    }


def _impacts(index: Index, term: str) -> dict[str, int]:
    """What one term is worth in each record, its own and what neighbours lend together."""
    config = index.config
    held = index.counts(term)
    rarity = idf(len(index), len(held))
    own = {
        record_id: max(1, index.weight(count, index.entry(record_id).length) * rarity // UNIT)
        for record_id, count in held.items()
    }
    if term in FIRST_PERSON or index.names_author(term) or _is_common(len(held), len(index), config):
        return own
    lent = _lent(index, own)
    if not lent:
        return own
    together = {}
    for record_id in own.keys() | lent.keys():
        one, other = own.get(record_id, 0), lent.get(record_id, 0)
        distinct = len(index.entry(record_id).terms)
        if 0 < config.context_length < distinct:
            other = other * config.context_length // distinct
        together[record_id] = max(one, other) + min(one, other) * config.overlap // 100
    return {record_id: impact for record_id, impact in together.items() if impact}


def _is_common(holding: int, records: int, config: Config) -> bool:
    return config.context_share > 0 and holding > config.context_floor and holding * config.context_share > records


def _lent(index: Index, own: Mapping[str, int]) -> dict[str, int]:
    """The best that a neighbour in its session lends to each record."""
    lent: dict[str, int] = {}
    for record_id, impact in own.items():
        for neighbour, share in index.neighbours(record_id):
            lent[neighbour] = max(lent.get(neighbour, 0), impact * share // 100)
    return lent


def multiplied(impact: int, entry: Entry, intent: Intent, config: Config) -> float:
    """The raw score: the sum of impacts times what applies, in this order."""
    raw = float(impact)
    if intent.author is not None and entry.author == intent.author:
        raw *= config.author
    if intent.own and entry.author == "user":
        raw *= config.own
    if entry.question:
        raw *= config.question
    if intent.when and entry.timely:
        raw *= config.when
    if intent.span is not None and intent.span.holds(entry.event_at, config.date_days):
        raw *= config.date
    return raw

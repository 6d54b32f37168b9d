"""A deterministic corpus for the benchmarks: what an operations team's assistant might be told, seeded.

Facts, episodes and procedures over a vocabulary with a long tail, with exact copies, near copies, denials and changed
values among them, and a few scripts besides Latin.  ``make(count)`` gives the same records for a seed everywhere.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

_PEOPLE = ("Ines", "Tomasz", "Haruka", "Priya", "Lars", "Nino", "Omar", "Lucia", "Kofi", "Elena")
_PLACES = ("staging", "production", "canary", "sandbox", "preview")
_PARTS = ("database", "cache", "queue", "gateway", "scheduler", "proxy", "registry", "broker")
_PRODUCTS = ("Postgres", "MySQL", "Redis", "Kafka", "Nginx", "Envoy", "SQLite", "Vault", "Consul", "ClickHouse")
_DEEDS = ("deployed", "restarted", "migrated", "patched", "benchmarked", "reviewed", "scaled")
_ENDS = ("succeeded", "failed", "timed out", "was reverted", "completed")
_OTHER_SCRIPTS = (
    "サービス{word}は{product}で動作しています {tail}",
    "Сервис {word} работает на {product}, ответственный {person} {tail}",
    "服务{word}使用{product}数据库 {tail}",
    "სერვისი {word} მუშაობს {product}-ზე {tail}",
    "{person} préfère le thé à la menthe 🍵 {tail}",
)
_BORN = datetime(2026, 1, 1, tzinfo=UTC)


def make(count: int, seed: int = 7) -> list[dict[str, Any]]:
    """``count`` dicts with type, body, tags, created_at, confidence and ref."""
    chance = random.Random(seed)
    vocabulary = _words(max(2000, count), chance)
    facts: list[str] = []
    made = []
    for number in range(count):
        body, kind, tags = _one(chance, vocabulary, facts)
        if kind == "fact":
            facts.append(body)
        made.append(
            {
                "type": kind,
                "body": body,
                "tags": tags,
                "created_at": _BORN + timedelta(seconds=37 * number, milliseconds=chance.randrange(1000)),
                "confidence": chance.choice((0.5, 0.7, 0.9, 0.9, 1.0)),
                "ref": f"chat:{chance.randrange(500)}",
            }
        )
    return made


def _words(count: int, chance: random.Random) -> list[str]:
    syllables = [consonant + vowel for consonant in "bcdfghjklmnprstvwz" for vowel in "aeiou"]
    words: dict[str, None] = {}
    while len(words) < count:
        words["".join(chance.choice(syllables) for _ in range(chance.choice((2, 2, 3, 3, 4))))] = None
    return list(words)


def _one(chance: random.Random, vocabulary: list[str], facts: list[str]) -> tuple[str, str, tuple[str, ...]]:
    def word() -> str:  # the first words are said far more often than the last ones
        return vocabulary[min(int(9 * (chance.paretovariate(0.7) - 1)), len(vocabulary) - 1)]

    def tail(least: int, most: int) -> str:
        return " ".join(word() for _ in range(chance.randint(least, most)))

    drawn = chance.random()
    person, product = chance.choice(_PEOPLE), chance.choice(_PRODUCTS)
    if facts and drawn < 0.04:
        return chance.choice(facts), "fact", ()
    if facts and drawn < 0.12:
        words = chance.choice(facts).split()
        words.insert(chance.randrange(len(words)), word())
        return " ".join(words), "fact", ()
    if facts and drawn < 0.16:
        return chance.choice(facts).replace(" is ", " is not ", 1), "fact", ()
    if drawn < 0.36:
        project = vocabulary[chance.randrange(len(vocabulary) // 30)]
        body = f"{person} {chance.choice(_DEEDS)} the {project} {chance.choice(_PARTS)} and it {chance.choice(_ENDS)}"
        return f"{body}: {tail(2, 18)}", "episode", ("ops", f"project-{project}")
    if drawn < 0.42:
        return f"To roll out {word()}-{word()}: first {tail(4, 4)}, then {tail(5, 5)}", "procedure", ()
    if drawn < 0.47:
        line = chance.choice(_OTHER_SCRIPTS)
        return line.format(word=word(), person=person, product=product, tail=tail(2, 12)), "fact", ()
    if drawn < 0.75:
        place, version = chance.choice(_PLACES), f"{chance.randint(1, 30)}.{chance.randint(0, 9)}"
        return f"The {place} {word()}-{word()} {chance.choice(_PARTS)} is {product} {version}", "fact", ()
    return f"Note on {word()}-{word()}: {tail(5, 30)}", "fact", (chance.choice(_PLACES),)

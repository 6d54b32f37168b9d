"""The English words that ranking treats in a way of their own (spec/recall.md sections 3.3 and 5.3)."""

from __future__ import annotations

from typing import Final

__all__ = ["AMBIGUOUS_MONTHS", "BEFORE_MONTH", "FIRST_PERSON", "MONTHS", "STOP_WORDS", "TIME_WORDS"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FIRST_PERSON: Final = _words("i me my mine myself we us our ours ourselves")
"""Never stop words: who asks with them asks about the user."""

STOP_WORDS: Final = _words(
    "a about am an and are as at be been but by can could did do does doing for from had has have having he her "
    "hers him his how if in into is it its itself just no nor not of off on or out she so some such than that the "
    "their theirs them then there these they this those to too up very was were what when where which who whom "
    "whose why will with would you your yours"
)

MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
            "september sep sept", "october oct", "november nov", "december dec",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
"""Number of a month by its name."""
AMBIGUOUS_MONTHS: Final = _words("may march mar jan sep dec")
"""Words and names too: a month only beside a number or after one of :data:`BEFORE_MONTH`."""
BEFORE_MONTH: Final = _words("in of during by since")

TIME_WORDS: Final = (
    _words(
        "yesterday today tomorrow tonight ago last next week weekend month year monday tuesday wednesday thursday "
        "friday saturday sunday recently morning evening night"
    )
    | MONTHS.keys()
)
"""A record with one of these tells a time."""

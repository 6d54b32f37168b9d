"""What the contracts are written with: records to store, and checks whose failures name the promise that broke."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Never, TypeVar

from agent_memory.errors import AgentMemoryError, StoreError
from agent_memory.extension import Extension, Scope
from agent_memory.records import MemoryRecord, Provenance, RecordType

__all__ = [
    "MALFORMED",
    "SECRET",
    "UNKNOWN",
    "Interrupted",
    "demand",
    "equal",
    "make",
    "passes_through",
    "refused",
    "skip",
    "together",
    "trouble",
    "undisturbed",
]

_T = TypeVar("_T")

_NOON: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
UNKNOWN: Final = "mem:" + "0" * 32
"""A well-formed id that no record here has."""
MALFORMED: Final = ("", "mem:", "not-an-id", "mem:../escape", "mem:" + "A" * 32, "mem:" + "0" * 31 + "\n", "mem:*")
"""What is not the form of a record id."""
SECRET: Final = "sk-live-4242-xyzzy"  # noqa: S105 - a text like any other
"""A text to be found again wherever it was not removed."""
_TROUBLE: Final = (
    "\n\u0303 tilde",
    '"\u0301',
    "\\\u0300",
    "\x00\x1f\u2028",
    "東京\U0001f389",
    "e\u0301",
    "'); --",
    " ",
)


class Interrupted(Exception):
    """What ends a transaction that is to be taken back."""


def make(body: str = "The sky over Austin is clear.", *, minute: int = 0, **fields: Any) -> MemoryRecord:
    """A new record, born ``minute`` minutes after noon."""
    fields.setdefault("created_at", _NOON + timedelta(minutes=minute))
    kind = fields.pop("type", RecordType.FACT)
    return MemoryRecord.create(kind, body, Provenance(kind="conversation", ref="session-42"), **fields)


def trouble() -> list[MemoryRecord]:
    """Records that a store which re-spells, re-orders or coerces what it stores will change."""
    records = []
    for minute, text in enumerate(_TROUBLE):
        members: dict[str, Any] = {"object": text, "value": 3.5, "scope": Scope(project="p", user_id="u")}
        extension = Extension(key=f"sky::{minute}", **members)
        tags, slots = (f"t{text}", "a"), {f"s{text}": text}
        records.append(make(f"x{text}", minute=minute, tags=tags, slots=slots, extension=extension))
    future = {"future": {"deep": [1, None, True, {"n": 10**40, "z": "", "a": []}]}}
    records.append(make("From a later version of the format.", extra=future))
    records.append(make("Known for sure: no.", confidence=0.1234, occurred_at=_NOON - timedelta(days=9999)))
    return records


def skip(reason: str) -> Never:
    """Leave a test out, in the way pytest and unittest both know."""
    from unittest import SkipTest

    raise SkipTest(reason)


def demand(condition: object, promise: str) -> None:
    """Fail with ``promise`` unless ``condition`` holds."""
    if not condition:
        raise AssertionError(promise)


def equal(actual: object, expected: object, promise: str) -> None:
    """Fail with ``promise`` and both values unless they are equal."""
    if actual != expected:
        raise AssertionError(f"{promise}\n  expected: {_shown(expected)}\n  but got:  {_shown(actual)}")


def refused(act: Callable[[], object], promise: str, *, error: type[AgentMemoryError] = StoreError) -> AgentMemoryError:
    """The ``error`` that ``act`` must raise; anything else fails with ``promise``."""
    try:
        answer = act()
    except error as refusal:
        return refusal
    except Exception as other:
        raise AssertionError(
            f"{promise}\n  expected: {error.__name__}\n  but got:  {type(other).__name__}: {other}"
        ) from other
    raise AssertionError(f"{promise}\n  expected: {error.__name__}\n  but got:  {_shown(answer)}")


def passes_through(act: Callable[[], object], expected: type[BaseException]) -> None:
    """Run ``act``, in which the caller raises ``expected``: a store must let it pass."""
    try:
        act()
    except expected:
        return
    except StoreError as error:
        raise AssertionError(
            f"an exception of the caller passes through a transaction unchanged, not as {error!r}"
        ) from error
    raise AssertionError("an exception of the caller passes through a transaction; this one was swallowed")


def undisturbed(act: Callable[[], _T], promise: str) -> _T:
    """What ``act`` answers; when it raises, that fails with ``promise``."""
    try:
        return act()
    except Exception as error:
        raise AssertionError(f"{promise}\n  but it raised {type(error).__name__}: {error}") from error


def together(acts: Iterable[Callable[[], object]], promise: str) -> None:
    """Run every act in a thread of its own, all at once; what one raises fails with ``promise``."""
    errors: list[BaseException] = []
    waiting = list(acts)
    barrier = threading.Barrier(len(waiting))

    def run(act: Callable[[], object]) -> None:
        try:
            barrier.wait(timeout=60)
            act()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(act,), daemon=True) for act in waiting]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    demand(not any(thread.is_alive() for thread in threads), f"{promise}\n  but a thread hangs")
    if errors:
        raise AssertionError(f"{promise}\n  but {len(errors)} raised; the first: {errors[0]!r}") from errors[0]


def _shown(value: object) -> str:
    """A value in a line: records by what tells one version from another, long values cut."""
    if isinstance(value, MemoryRecord):
        return f"<{value.id} {value.state.value}{' redacted' if value.redacted else ''}: {value.body[:40]!r}>"
    if isinstance(value, tuple | list) and value:
        inside = ", ".join(map(_shown, value[:6])) + (f", … {len(value)} in all" if len(value) > 6 else "")
        return f"({inside})"
    text = repr(value)
    return text if len(text) <= 300 else text[:300] + "…"

"""Times as records hold them: aware, in UTC, whole milliseconds (SPEC section 2.3).

On the wire a time is exactly ``YYYY-MM-DDTHH:MM:SS.mmmZ``.  Years below 1000 have no such form and are refused.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from .errors import RecordTypeError, RecordValueError

__all__ = ["MILLISECOND", "milliseconds", "now_utc", "read_time", "time_from_wire", "time_to_wire", "truncate"]

MILLISECOND: Final = timedelta(milliseconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TWO: Final = tuple(f"{number:02}" for number in range(60))
_THREE: Final = tuple(f"{number:03}" for number in range(1000))
_WIRE: Final = re.compile(
    r"[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}\.[0-9]{3}Z", re.ASCII
).fullmatch


def now_utc() -> datetime:
    """The present, truncated to milliseconds."""
    return truncate(datetime.now(UTC), "now")


def truncate(value: object, field: str) -> datetime:
    """``value`` in UTC, truncated to milliseconds.

    Raises:
        RecordTypeError: not a datetime.
        RecordValueError: naive, or a year below 1000.
    """
    if not isinstance(value, datetime):
        raise RecordTypeError(f"{field} must be a datetime with a timezone, not {type(value).__name__}")
    zone = value.tzinfo
    if zone is not UTC:
        if zone is None or value.utcoffset() is None:
            raise RecordValueError(
                f"{field} has no timezone; give an aware datetime, such as datetime.now(timezone.utc)"
            )
        try:
            value = value.astimezone(UTC)
        except OverflowError:
            raise RecordValueError(f"{field} falls outside the years 1000 to 9999 in UTC") from None
    if value.year < 1000:
        raise RecordValueError(f"{field} is before the year 1000, which has no wire form")
    excess = value.microsecond % 1000
    if excess:
        value = value.replace(microsecond=value.microsecond - excess)
    if value.fold or value.__class__ is not datetime:  # nothing of a subclass's own behaviour stays
        day = (value.year, value.month, value.day)
        value = datetime(*day, value.hour, value.minute, value.second, value.microsecond, tzinfo=UTC)
    return value


def read_time(value: object, field: str) -> datetime:
    """A time a caller gave: a datetime, or text in ISO 8601 with a timezone.  Truncated to milliseconds.

    Raises:
        RecordTypeError, RecordValueError: as :func:`truncate`, and for text that is not ISO 8601.
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise RecordValueError(
                f"{field} is not an ISO 8601 time; write it like 2026-01-31T09:30:00Z, timezone included"
            ) from None
    return truncate(value, field)


def milliseconds(value: datetime) -> int:
    """A time that :func:`truncate` returned, in milliseconds since 1970."""
    return (value - _EPOCH) // MILLISECOND


def time_to_wire(value: datetime) -> str:
    """The wire form of a time that :func:`truncate` returned."""
    # isoformat() takes three times as long, and this is done for every record that is built.
    day = f"{value.year}-{_TWO[value.month]}-{_TWO[value.day]}"
    clock = f"{_TWO[value.hour]}:{_TWO[value.minute]}:{_TWO[value.second]}"
    return f"{day}T{clock}.{_THREE[value.microsecond // 1000]}Z"


def time_from_wire(text: object, field: str) -> datetime:
    """Read a wire time, in exactly the wire form.

    Raises:
        RecordTypeError: not text.
        RecordValueError: any other spelling, or a date that does not exist.
    """
    if not isinstance(text, str):
        raise RecordTypeError(f"{field} must be text such as 2026-01-31T09:30:00.000Z, not {type(text).__name__}")
    if _WIRE(text) is not None:
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            pass
    raise RecordValueError(
        f"{field} is not a wire time; the form is 2026-01-31T09:30:00.000Z, milliseconds and Z included"
    )

"""Dates as a chat model copies them out of a text: YYYY, YYYY-MM or YYYY-MM-DD. Pure."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

_DATE = re.compile(r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d))?)?(?:T.*)?")
_DECEMBER = 12


class _Span(NamedTuple):
    """The days that a date means, without the last one."""

    begin: date
    end: date


def first_moment(said: object, text: str) -> datetime | None:
    """When a date begins, if it is one whose year the text gives."""
    span = _span(said, text)
    return _midnight(span.begin) if span else None


def moment_after(said: object, text: str) -> datetime | None:
    """When a date is over, if it is one whose year the text gives."""
    span = _span(said, text)
    return _midnight(span.end) if span else None


def _span(said: object, text: str) -> _Span | None:
    parts = _DATE.fullmatch(said.strip()) if isinstance(said, str) else None
    if parts is None or parts["year"] not in text:
        return None
    year, month, day = int(parts["year"]), int(parts["month"] or 0), int(parts["day"] or 0)
    try:
        if not parts["month"]:
            return _Span(date(year, 1, 1), date(year + 1, 1, 1))
        if not parts["day"]:
            after = date(year + 1, 1, 1) if month == _DECEMBER else date(year, month + 1, 1)
            return _Span(date(year, month, 1), after)
        return _Span(date(year, month, day), date(year, month, day) + timedelta(days=1))
    except (ValueError, OverflowError):  # the 31st of June
        return None


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)

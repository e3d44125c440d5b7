"""Times as people type them: ISO 8601, or how long ago."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from bearinmind.errors import InvalidTime
from bearinmind.remember.admit import check_moment

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_AGO = re.compile(r"(\d{1,9})([mhdw])")
_DATE = re.compile(r"\d{4}-")
_HINT = "Use ISO 8601, such as 2026-11-15 or 2026-11-15T09:30:00+01:00 (UTC when no zone is given)"


def parse(text: str, what: str) -> datetime:
    """The moment that an ISO 8601 date or time names, in UTC."""
    return check_moment(_from_iso(text, what, f"{_HINT}."), what)


def parse_past(text: str, what: str, now: datetime) -> datetime:
    """The same; also `30m`, `12h`, `3d` or `2w`, which count back from now."""
    ago = _AGO.fullmatch(text.strip())
    if ago is None:
        hint = f"{_HINT}, or how long ago: 30m, 12h, 3d, 2w."
        return check_moment(_from_iso(text, what, hint), what)
    try:
        return check_moment(now - timedelta(**{_UNITS[ago[2]]: int(ago[1])}), what)
    except OverflowError:
        raise InvalidTime(f"{what} {text!r} lies before the year 1") from None


def parse_coming(text: str, what: str, now: datetime) -> datetime:
    """The moment that an ISO 8601 date or time names, or one as long from now as `12h` or `90d`."""
    if _AGO.fullmatch(text.strip()) is None:
        hint = f"{_HINT}, or how long from now: 12h, 90d."
        return check_moment(_from_iso(text, what, hint), what)
    try:
        return check_moment(now + parse_span(text, what), what)
    except OverflowError:
        raise InvalidTime(f"{what} {text!r} lies behind the year 9999") from None


def parse_span(text: str, what: str) -> timedelta:
    """How long `30m`, `12h`, `3d` or `2w` is."""
    span = _AGO.fullmatch(text.strip())
    if span is None:
        raise InvalidTime(f"{what} {text!r} is not a span of time", hint="Use 30m, 12h, 3d or 2w.")
    try:
        return timedelta(**{_UNITS[span[2]]: int(span[1])})
    except OverflowError:
        raise InvalidTime(f"{what} {text!r} is longer than all of history") from None


def is_time(text: str) -> bool:
    """Whether a text is meant as a time rather than as an id."""
    return bool(_AGO.fullmatch(text.strip()) or _DATE.match(text.strip()))


def anchor(text: str) -> datetime | str:
    """What a timeline goes around: a moment, or the id of a memory."""
    return parse_past(text, "the moment", datetime.now(UTC)) if is_time(text) else text


def _from_iso(text: str, what: str, hint: str) -> datetime:
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidTime(f"{what} {text!r} is not a time", hint=hint) from None

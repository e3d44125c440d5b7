"""Times as people type them: ISO 8601, how long ago, or `yesterday`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from bearinmind.errors import InvalidTime
from bearinmind.remember.admit import SPAN, SPAN_UNITS, check_moment, span_before_now

_DATE = re.compile(r"\d{4}-")
_HINT = "Use ISO 8601, such as 2026-11-15 or 2026-11-15T09:30:00+01:00 (UTC when no zone is given)"


def parse(text: str, what: str, hint: str = f"{_HINT}.") -> datetime:
    """The moment that an ISO 8601 date or time names, in UTC."""
    try:
        return check_moment(datetime.fromisoformat(text.strip()), what)
    except ValueError:
        raise InvalidTime(f"{what} {text!r} is not a time", hint=hint) from None


def parse_past(text: str, what: str, now: datetime) -> datetime:
    """A moment in ISO 8601, or before now: `3d`, `2 weeks ago`, `yesterday` at this time."""
    span = span_before_now(text)
    if span is None:
        return parse(text, what, f"{_HINT}, or how long ago: 30m, 12h, 3d, 2w, yesterday.")
    try:
        return check_moment(now - _length(span), what)
    except OverflowError:
        raise InvalidTime(f"{what} {text!r} lies before the year 1") from None


def parse_coming(text: str, what: str, now: datetime) -> datetime:
    """A moment in ISO 8601, or as long from now as `12h` or `90d`."""
    span = SPAN.fullmatch(text.strip())
    if span is None:
        return parse(text, what, f"{_HINT}, or how long from now: 12h, 90d.")
    try:
        return check_moment(now + _length(span), what)
    except OverflowError:
        raise InvalidTime(f"{what} {text!r} lies after the year 9999") from None


def parse_span(text: str, what: str) -> timedelta:
    """How long `30m`, `12h`, `3d` or `2w` is."""
    span = SPAN.fullmatch(text.strip())
    if span is None:
        raise InvalidTime(f"{what} {text!r} is not a span of time", hint="Use 30m, 12h, 3d or 2w.")
    try:
        return _length(span)
    except OverflowError:
        raise InvalidTime(f"{what} {text!r} is longer than all of history") from None


def is_time(text: str) -> bool:
    """Whether a text is meant as a time rather than as an id."""
    return bool(span_before_now(text) or _DATE.match(text.strip()))


def anchor(text: str) -> datetime | str:
    """What a timeline goes around: a moment, or the id of a memory."""
    return parse_past(text, "the moment", datetime.now(UTC)) if is_time(text) else text


def _length(span: re.Match[str]) -> timedelta:
    return timedelta(**{SPAN_UNITS[span[2]]: int(span[1])})


def day_in_words(moment: datetime) -> str:
    """The day of a moment: 12 June 2025."""
    return f"{moment.day} {moment:%B %Y}"


def span_in_words(since: datetime | None, until: datetime | None) -> str:
    """From when until when something held; None is not known, or still holds."""
    begin = f"from {day_in_words(since)} " if since else ""
    return f"{begin}until {day_in_words(until) if until else 'now'}"

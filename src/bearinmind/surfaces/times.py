"""Times that are yet to come, as people type them, and times in words."""

from __future__ import annotations

from datetime import datetime, timedelta

from bearinmind.errors import InvalidTime
from bearinmind.remember.admit import SPAN, TIME_HINT, check_moment, span_length


def parse_coming(text: str, what: str, now: datetime) -> datetime:
    """A moment in ISO 8601, or as long from now as `12h` or `90d`."""
    span = SPAN.fullmatch(text.strip())
    if span is None:
        return check_moment(text, what, f"{TIME_HINT}, or how long from now: 12h, 90d.")
    try:
        return check_moment(now + span_length(span), what)
    except OverflowError:
        raise InvalidTime(f"{what} {text!r} lies after the year 9999") from None


def parse_span(text: str, what: str) -> timedelta:
    """How long `30m`, `12h`, `3d` or `2w` is."""
    span = SPAN.fullmatch(text.strip())
    if span is None:
        raise InvalidTime(f"{what} {text!r} is not a span of time", hint="Use 30m, 12h, 3d or 2w.")
    try:
        return span_length(span)
    except OverflowError:
        raise InvalidTime(f"{what} {text!r} is longer than all of history") from None


def day_in_words(moment: datetime) -> str:
    """The day of a moment: 12 June 2025."""
    return f"{moment.day} {moment:%B %Y}"


def span_in_words(since: datetime | None, until: datetime | None) -> str:
    """From when until when something held; None is not known, or still holds."""
    begin = f"from {day_in_words(since)} " if since else ""
    return f"{begin}until {day_in_words(until) if until else 'now'}"

"""Times as people type them: ISO 8601, how long ago, or `yesterday`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from bearinmind.errors import InvalidTime
from bearinmind.remember.admit import check_moment

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_SPAN = re.compile(r"(\d{1,9})([mhdw])")
_DATE = re.compile(r"\d{4}-")
_AGO = re.compile(r"(?P<count>\d{1,6}|an?|one) (?P<unit>minute|hour|day|week)s? ago")
#: Words for a moment before now.
_WORDS = {
    "yesterday": "1d",
    "last week": "1w",
    "last month": "30d",
    "last year": "365d",
}
_HINT = "Use ISO 8601, such as 2026-11-15 or 2026-11-15T09:30:00+01:00 (UTC when no zone is given)"


def parse(text: str, what: str, hint: str = f"{_HINT}.") -> datetime:
    """The moment that an ISO 8601 date or time names, in UTC."""
    try:
        return check_moment(datetime.fromisoformat(text.strip()), what)
    except ValueError:
        raise InvalidTime(f"{what} {text!r} is not a time", hint=hint) from None


def parse_past(text: str, what: str, now: datetime) -> datetime:
    """A moment in ISO 8601, or before now: `3d`, `2 weeks ago`, `yesterday` at this time."""
    span = _SPAN.fullmatch(_as_span(text))
    if span is None:
        return parse(text, what, f"{_HINT}, or how long ago: 30m, 12h, 3d, 2w, yesterday.")
    try:
        return check_moment(now - _length(span), what)
    except OverflowError:
        raise InvalidTime(f"{what} {text!r} lies before the year 1") from None


def parse_coming(text: str, what: str, now: datetime) -> datetime:
    """A moment in ISO 8601, or as long from now as `12h` or `90d`."""
    span = _SPAN.fullmatch(text.strip())
    if span is None:
        return parse(text, what, f"{_HINT}, or how long from now: 12h, 90d.")
    try:
        return check_moment(now + _length(span), what)
    except OverflowError:
        raise InvalidTime(f"{what} {text!r} lies after the year 9999") from None


def parse_span(text: str, what: str) -> timedelta:
    """How long `30m`, `12h`, `3d` or `2w` is."""
    span = _SPAN.fullmatch(text.strip())
    if span is None:
        raise InvalidTime(f"{what} {text!r} is not a span of time", hint="Use 30m, 12h, 3d or 2w.")
    try:
        return _length(span)
    except OverflowError:
        raise InvalidTime(f"{what} {text!r} is longer than all of history") from None


def _as_span(text: str) -> str:
    """How long ago a text says, in the short form; any other text as it is."""
    words = " ".join(text.casefold().split())
    if ago := _AGO.fullmatch(words):
        count = ago["count"] if ago["count"].isdigit() else "1"
        return count + ago["unit"][0]
    return _WORDS.get(words, words)


def is_time(text: str) -> bool:
    """Whether a text is meant as a time rather than as an id."""
    return bool(_SPAN.fullmatch(_as_span(text)) or _DATE.match(text.strip()))


def anchor(text: str) -> datetime | str:
    """What a timeline goes around: a moment, or the id of a memory."""
    return parse_past(text, "the moment", datetime.now(UTC)) if is_time(text) else text


def _length(span: re.Match[str]) -> timedelta:
    return timedelta(**{_UNITS[span[2]]: int(span[1])})


def day_in_words(moment: datetime) -> str:
    """The day of a moment: 12 June 2025."""
    return f"{moment.day} {moment:%B %Y}"


def span_in_words(since: datetime | None, until: datetime | None) -> str:
    """From when until when something held; None is not known, or still holds."""
    begin = f"from {day_in_words(since)} " if since else ""
    return f"{begin}until {day_in_words(until) if until else 'now'}"

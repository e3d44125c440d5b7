"""Times that are yet to come, as people type them, and times in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from bearinmind.errors import InvalidTime
from bearinmind.outdates.verdicts import begins
from bearinmind.remember.admit import SPAN, TIME_HINT, check_moment, span_length
from bearinmind.types import Hit, Memory


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


def day_in_words(moment: datetime, beside: Iterable[datetime | None] = ()) -> str:
    """The day of a moment: 12 June 2025; with the time if another one is on that day too."""
    day = f"{moment.day} {moment:%B %Y}"
    near = [each for each in beside if each and each != moment and each.date() == moment.date()]
    if not near:
        return day
    minute = f"{moment:%H:%M}"
    is_shared = any(f"{each:%H:%M}" == minute for each in near)
    return f"{day} {moment:%H:%M:%S} UTC" if is_shared else f"{day} {minute} UTC"


def span_in_words(
    since: datetime | None, until: datetime | None, beside: Iterable[datetime | None] = ()
) -> str:
    """From when until when something held; None is not known, or still holds."""
    beside = (since, until, *beside)
    begin = f"from {day_in_words(since, beside)} " if since else ""
    return f"{begin}until {day_in_words(until, beside) if until else 'now'}"


def earlier_states(hit: Hit, *, with_begin: bool = False) -> Iterator[tuple[str, Memory]]:
    """The earlier states of a hit, each behind the words for when it held."""
    spans = [(begins(state.memory)[0], state.outdated.until) for state in hit.earlier]
    moments = [moment for span in spans for moment in span]
    for (since, until), state in zip(spans, hit.earlier, strict=True):
        begin = since if with_begin and since < until else None
        yield span_in_words(begin, until, moments), state.memory

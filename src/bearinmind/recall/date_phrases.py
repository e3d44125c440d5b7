"""English phrases that name a time, and the span that each of them means. Pure."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import NamedTuple

from dateutil import parser
from dateutil.relativedelta import MO, relativedelta, weekday

from bearinmind.trace import Span

_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december)\b"
)
_ABBREVIATED = rf"(?:{_MONTH}|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?)"
_DAY = r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?\b"
_YEAR = r"(?:19|20)\d\d\b(?!\.\d|[-:/]\w)"  # 2024.1 is a version, 2023:80 a port
_SEASON = r"(?:spring|summer|autumn|fall|winter)\b"
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day\b"
_UNIT = r"(?:hour|day|week|month|year)"
_COUNT = r"(?:\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten)"
_VAGUE = r"(?:a\s+)?(?:few|several|couple(?:\s+of)?)"
_COUNTED = (  # "in 2000 ms" is no year
    r"(?:ms|s|sec|seconds|minutes|hours|days|bytes|[kmg]i?b|tokens|words|characters|lines|rows|"
    r"records|entries|items|files|users|people|requests|connections|calls|jobs|tests|steps|times|"
    r"points|messages|memories|euros?|dollars|kr|km|met(?:er|re)s|mm|px|pixels)\b"
)
_PHRASE = re.compile(
    rf"""(?:(?<![\w./:\#-])|(?<=mid-)|(?<=late-)|(?<=early-))(?:
      (?P<day>(?:19|20)\d\d-[01]\d-[0-3]\d(?![-:\w])
        | {_DAY}\s+(?:of\s+)?{_ABBREVIATED}(?:,?\s*{_YEAR})?
        | {_ABBREVIATED}\s+{_DAY}(?:,?\s*{_YEAR})?)
    | (?P<month>{_ABBREVIATED},?\s+(?:of\s+)?{_YEAR} | (?:19|20)\d\d-(?:0[1-9]|1[0-2])(?![-:\w])
        | (?:last\s+)?{_MONTH})
    | (?P<quarter>q[1-4]\s+(?:of\s+)?{_YEAR} | {_YEAR}\s+q[1-4]\b)
    | (?P<season>(?:last\s+)?{_SEASON}(?:\s+(?:of\s+)?{_YEAR})?)
    | (?P<year>{_YEAR}(?!\s+{_COUNTED}))
    | (?P<ago>(?P<ago_count>{_COUNT}|{_VAGUE})\s+(?P<ago_unit>{_UNIT})s?\s+ago\b)
    | (?P<rolling>the\s+(?:last|past)\s+(?:(?P<count>{_COUNT}|{_VAGUE})\s+)?(?P<unit>{_UNIT})s?\b
        (?!\s+of\b))
    | (?P<calendar>(?:last|previous|past|this)\s+(?:week|month|year)\b(?!\s+of\b)
        | this\s+(?:morning|afternoon|evening)\b | last\s+(?:night|weekend|{_WEEKDAY})
        | (?:the\s+day\s+before\s+)?yesterday\b | today\b)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
# The words before a date say how it is meant: "since", "the first week of".
_LEAD = re.compile(
    r"""(?:\b(?P<lead>in|on|during|since|until|till|before|after|by|from|as\ of|of|for|between
        |around|throughout|through)\s+)?(?:the\s+)?(?:year\s+)?
    (?:\b(?P<part>early|mid|late|beginning|start|middle|end|(?:first|second|third|fourth)\s+(?:week|half))
        (?:\s+of(?:\s+the)?)?[\s-]+)?$""",
    re.IGNORECASE | re.VERBOSE,
)
_DISTANCE = re.compile(
    rf"(?:\b(?P<count>{_COUNT})\s+)?\b(?P<unit>{_UNIT}|weekend|{_WEEKDAY})s?\s+$", re.IGNORECASE
)
_TO = r"\s*(and|to|until|till|through|[-\u2013])\s*(?:the\s+)?"
_RANGE = re.compile(_TO, re.IGNORECASE)
_GOES_ON = re.compile(r"\s+(?:to|until|till|through)\b", re.IGNORECASE)  # "from May to the move"
_LAST_HALF = re.compile(  # "between the launch and May 2025"
    r"\b(?:between\b[^.;?!]*\sand|from\b[^.;?!]*\sto)\s+(?:the\s+)?$", re.IGNORECASE
)
# "3 and 9 May 2025" and "May 3 to 9": both days are given the month.
_DAYS_OF_A_MONTH = re.compile(
    rf"(?<![\w./:#-])({_DAY}){_TO}(?={_DAY}\s+(?:of\s+)?({_ABBREVIATED}(?:,?\s*{_YEAR})?))",
    re.IGNORECASE,
)
_MONTH_WITH_DAYS = re.compile(
    rf"(?<![\w./:#-])({_ABBREVIATED})\s+({_DAY}){_TO}"
    rf"(?={_DAY}(?:,?\s*{_YEAR}|\s*(?:[,.;?!)]|$)))",  # not "on May 3 and 9 services failed"
    re.IGNORECASE,
)
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NAMES_YEAR = re.compile(r"\d{4}|last", re.IGNORECASE)
_AROUND = frozenset({"before", "after", "until", "till", "by"})  # they begin no range
_VAGUE_COUNT = 5  # "a few weeks" are at most so many
_FIRST_MONTHS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # of the north
_UNITS = {
    "hour": relativedelta(hours=1),
    "day": relativedelta(days=1),
    "week": relativedelta(weeks=1),
    "month": relativedelta(months=1),
    "year": relativedelta(years=1),
    "quarter": relativedelta(months=3),
    "season": relativedelta(months=3),
}
_PARTS = {  # shares of a span
    **dict.fromkeys(("early", "beginning", "start"), (0.0, 0.4)),
    **dict.fromkeys(("mid", "middle"), (0.3, 0.7)),
    **dict.fromkeys(("late", "end"), (0.6, 1.0)),
}
_ORDINALS = ("first", "second", "third", "fourth")
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


_Bounds = tuple[datetime, datetime]  # from, to; the end is not part of it


class DatePhrase(NamedTuple):
    """A phrase that names a time."""

    words: str
    lead: str  #: the preposition in front of it, in lower case; empty where there is none
    span: Span
    absolute: bool  #: whether it is a date of the calendar, and not counted from now
    has_year: bool  #: whether it says which year it means


def date_phrases(text: str, now: datetime, *, past: bool) -> list[DatePhrase]:
    """The times that a text names, in its order; none of them begins in the future.

    A month or a day without a year is read only in a text about the past: elsewhere it may as
    well be the next one. Nor is half of a range read: it would name another time.
    """
    text = spelled_out(text)
    phrases: list[DatePhrase] = []
    last: DatePhrase | None = None
    end = 0
    for match in _PHRASE.finditer(text):
        before = _LEAD.search(text, 0, match.start())
        assert before  # noqa: S101 it may be empty
        begin = before.start("part") if before["part"] else match.start()
        is_range = last and last.lead not in _AROUND and _RANGE.fullmatch(text, end, begin)
        first = last if is_range else None
        last = _phrase(text, match, before, now, past=past, within=first.lead if first else "")
        if first and last:
            phrases.remove(first)
            last = _joined(first, last, text[end : match.end()])
        elif last and not last.lead and _LAST_HALF.search(text, 0, begin):
            last = None
        phrases += [last] if last else []
        end = match.end()
    return [
        each
        for each in phrases
        if each.lead != "between" and (past or each.has_year or not each.absolute)
        if each.span.start is None or each.span.start <= now
    ]


def spelled_out(text: str) -> str:
    """A text in which both days of "3 and 9 May" have their month."""
    text = _DAYS_OF_A_MONTH.sub(r"\1 \3 \2 ", text)
    return _MONTH_WITH_DAYS.sub(r"\1 \2 \3 \1 ", text)


def _joined(first: DatePhrase, last: DatePhrase, words: str) -> DatePhrase:
    """From the one to the other; the year that one of them does not name is the other's."""
    start, end = first.span.start, last.span.end
    year = relativedelta(years=1)
    if start and first.absolute and not first.has_year:
        start += relativedelta(year=end.year)
        start -= year if start >= end else relativedelta()
    elif start and first.absolute and last.absolute and not last.has_year:
        end += relativedelta(year=start.year)
        end += year if end <= start else relativedelta()
    if start and start >= end:  # "between 2025 and 2023"
        start, end = last.span.start, first.span.end
    return DatePhrase(
        words=first.words + words,
        lead="during" if first.lead in {"", "between", "from", "since"} else first.lead,
        span=Span(start, end),
        absolute=last.absolute,
        has_year=first.has_year or last.has_year,
    )


def _phrase(
    text: str,
    match: re.Match[str],
    before: re.Match[str],
    now: datetime,
    *,
    past: bool,
    within: str,
) -> DatePhrase | None:
    """The phrase of a match with the words before it, unless it names no time after all.

    `within` is the preposition before the first half of a range.
    """
    lead, part = (before["lead"] or "").lower(), (before["part"] or "").lower()
    absolute = match.lastgroup in _UNITS
    if absolute and not _is_date(match, lead or part or within):
        return None
    bounds = _date(match, now) if absolute else _counted(match, now, past=past)
    if bounds is None:
        return None
    start, end = _part(bounds, part)
    if lead == "from" and _GOES_ON.match(text, match.end()):
        lead = "between"
    distance = _DISTANCE.search(text, 0, before.start("lead")) if lead == "before" else None
    if distance:  # "two weeks before 11 August": what is about it may be as late as that day
        start, lead = _back(start, distance["unit"].lower(), distance["count"]), "in"
    words = text[(distance or before).start() : match.end()].strip()
    has_year = bool(_NAMES_YEAR.search(match[0]))
    return DatePhrase(words, lead, _towards(lead, start, end, now), absolute, has_year)


def _is_date(match: re.Match[str], lead: str) -> bool:
    """Whether what looks like a date is one, and no number, name or verb."""
    kind, words = match.lastgroup, match[0]
    if kind == "year":
        return lead not in {"", "on"}  # "port 2023", "on 2023"
    if kind == "month" and "-" in words:
        return bool(lead)  # "2025-03" may be the number of an invoice
    has_year = re.search(r"\d{4}", words)
    if kind in {"month", "season"} and not has_year and not words.lower().startswith("last"):
        return bool(lead)  # "May Lind", "spring cleaning"
    if words.startswith("may") or (words.startswith("May") and not has_year):
        return bool(lead or re.search(r"\d(?:st|nd|rd|th)", words))  # "May 5 people attend?"
    return True


def _date(match: re.Match[str], now: datetime) -> _Bounds | None:
    """A date of the calendar, in the latest year that fits if it names none."""
    kind, name = match.lastgroup or "", match[0].lower().removeprefix("last ")
    last = len(name) < len(match[0])
    year = re.search(r"(?:19|20)\d\d", name)
    start = now.replace(month=1, day=1, hour=0, minute=0, second=0, microsecond=0)
    if kind in {"day", "month"}:
        try:
            start = parser.parse(name, default=start)
        except (ValueError, OverflowError):  # the 31st of June
            return None
    else:
        quarter = re.search(r"q([1-4])", name)
        month = 3 * int(quarter[1]) - 2 if quarter else _FIRST_MONTHS.get(name.split()[0], 1)
        start = start.replace(year=int(year[0]) if year else now.year, month=month)
    width = _UNITS[kind]
    if not year and (start + width if last else start) > now:
        start -= relativedelta(years=1)
    return start, start + width


def _counted(match: re.Match[str], now: datetime, *, past: bool) -> _Bounds | None:
    """A time that is counted from now: "two weeks ago", "last month"."""
    if match["ago"]:
        unit, count = match["ago_unit"].lower(), match["ago_count"]
        earliest = _back(now, unit, count)
        exact = _number(count) is not None
        return _around(earliest, unit) if exact else (earliest, _back(now, unit, "one"))
    if match["rolling"]:
        return _back(now, match["unit"].lower(), match["count"] or "one"), now
    which, _, unit = match[0].lower().rpartition(" ")
    if unit in {"week", "month", "year"}:
        return _around(now if which == "this" else _back(now, unit, "one"), unit)
    today = _around(now, "day")
    if unit == "today" or which == "this":
        return today if past else None
    if unit in {"yesterday", "night"}:
        return _around(_back(now, "day", "two" if "before" in which else "one"), "day")
    start = _back(today[0], unit)
    return start, start + timedelta(days=2 if unit == "weekend" else 1)


def _back(moment: datetime, unit: str, count: str | None = None) -> datetime:
    """The moment so many units earlier, or the weekday before it."""
    day = "saturday" if unit == "weekend" else unit
    if day in _WEEKDAYS:
        return moment + relativedelta(days=-1, weekday=weekday(_WEEKDAYS.index(day), -1))
    number = _number(count or "one") or _VAGUE_COUNT
    return moment - number * _UNITS[unit]


def _number(count: str) -> int | None:
    """A number in digits or in a word; None where it is vague."""
    if count.isdecimal():
        return int(count)
    word = "one" if count.lower() in {"a", "an"} else count.lower()
    return _NUMBERS.index(word) + 1 if word in _NUMBERS else None


def _around(moment: datetime, unit: str) -> _Bounds:
    """The hour, day, week, month or year of the calendar that holds a moment."""
    start = moment.replace(minute=0, second=0, microsecond=0)
    if unit != "hour":
        start = start.replace(hour=0)
    if unit == "week":
        start += relativedelta(weekday=MO(-1))
    if unit in {"month", "year"}:
        start = start.replace(day=1)
    if unit == "year":
        start = start.replace(month=1)
    return start, start + _UNITS[unit]


def _part(bounds: _Bounds, part: str) -> _Bounds:
    """The part of a time that "early" or "second week" takes."""
    start, end = bounds
    if part in _PARTS:
        first, last = _PARTS[part]
        return start + first * (end - start), start + last * (end - start)
    if part:
        ordinal, unit = part.split()
        width = timedelta(weeks=1) if unit == "week" else (end - start) / 2
        start += _ORDINALS.index(ordinal) * width
        return start, start + width
    return bounds


def _towards(lead: str, start: datetime, end: datetime, now: datetime) -> Span:
    """The span that a preposition makes of a time: "since" it, "before" it, or within it."""
    if lead == "since":
        return Span(start, now)
    if lead == "after":
        return Span(end, now)
    if lead == "before":
        return Span(None, start)
    return Span(None, end) if lead in {"until", "till", "by"} else Span(start, end)

"""Memories whose time is over, by what they say themselves. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta

from recollect.curate.proposing import STALENESS, Find
from recollect.proposals import ProposalKind
from recollect.types import Memory

_MONTHS = "january february march april may june july august september october november december"
_MONTH = {name[:3]: number for number, name in enumerate(_MONTHS.split(), start=1)}
_ISO = r"(?P<iso>\d{4}-\d{2}-\d{2})"
_NAMED = "|".join(rf"{name[:3]}(?:{name[3:]})?" for name in _MONTHS.split())
_DAY_FIRST = rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?P<month>{_NAMED})\.?,?\s+(?P<year>\d{{4}})"
_MONTH_FIRST = (
    rf"(?P<month2>{_NAMED})\.?\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year2>\d{{4}})"
)
_UNTIL = re.compile(
    rf"\b(?:until|till|through|valid to|expires? on|ends? on|expire[ds]? at)\s+(?:the\s+)?"
    rf"(?:{_ISO}|{_DAY_FIRST}|{_MONTH_FIRST})\b",
    re.IGNORECASE,
)
_TEMPORARY = re.compile(
    r"\b(?:for now|for the moment|for the time being|temporar(?:y|ily)|at the moment|right now|"
    r"this (?:week|sprint|morning|afternoon)|today|tomorrow|tonight|work in progress|wip|todo|"
    r"not yet)\b",
    re.IGNORECASE,
)


def stale(memory: Memory, now: datetime, temporary_days: int) -> Iterator[Find]:
    """What a memory says of its own end, when that is past."""
    ended = said_end(memory.content)
    if ended is not None and memory.valid_to is None:
        if ended <= now:
            yield Find(
                kind=ProposalKind.EXPIRE,
                origin=STALENESS,
                memories=(memory,),
                reason=f"it says itself that it held until {ended - timedelta(days=1):%Y-%m-%d}",
                change={"valid_to": ended.isoformat()},
            )
        return
    passing = _TEMPORARY.search(memory.content)
    days = (now - memory.updated_at).days
    if passing and memory.valid_to is None and days >= temporary_days:
        yield Find(
            kind=ProposalKind.REVIEW,
            origin=STALENESS,
            memories=(memory,),
            reason=f'it says "{passing[0].lower()}" and was written {days} days ago',
            evidence={"days": days, "limit_days": temporary_days},
        )


def said_end(text: str) -> datetime | None:
    """The moment from which a text says that it holds no more; None when it says nothing so.

    It is the end of the last day that is named, in UTC. Of several dates nobody can say which.
    """
    found = [*_UNTIL.finditer(text)]
    if len(found) != 1:
        return None
    try:
        day = _date(found[0])
    except ValueError:  # the 31st of February
        return None
    return datetime.combine(day, time(), UTC) + timedelta(days=1)


def _date(found: re.Match[str]) -> date:
    if found["iso"]:
        return date.fromisoformat(found["iso"])
    day, month, year = (found[name] or found[f"{name}2"] for name in ("day", "month", "year"))
    return date(int(year), _MONTH[month[:3].lower()], int(day))

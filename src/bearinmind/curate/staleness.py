"""Memories whose time is over, by what they say themselves. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta

from bearinmind.curate.proposing import STALENESS, Find
from bearinmind.proposals import ProposalKind
from bearinmind.types import Memory

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
# Not where somebody quotes the word, nor where something began "from today" on.
_TEMPORARY = re.compile(
    r"(?<![\"'`\u2018\u201c])\b(?:for now|for the moment|for the time being|temporar(?:y|ily)|"
    r"at the moment|right now|this (?:week|sprint|morning|afternoon))\b",
    re.IGNORECASE,
)
_SHORTLY = re.compile(
    r"\b(?:will|going to)\b(?:(?!\b(?:from|since|until)\b)[^.;!?]){0,200}"
    r"\b(?:today|tomorrow|tonight)\b",
    re.IGNORECASE,
)
_NOTHING_BEHIND = re.compile(r"[\s.!)\]\"'`]*")


def stale(memory: Memory, now: datetime, temporary_days: int) -> Iterator[Find]:
    """What a memory says of its own end, when that is past."""
    if memory.valid_to is not None:
        return
    found = [*_UNTIL.finditer(memory.content)]
    ended = said_end(memory.content)
    if ended is not None:
        if ended <= now:
            yield _over(memory, ended, is_whole=_is_whole(memory.content, found[0]))
        return
    passing = _TEMPORARY.search(memory.content) or _SHORTLY.search(memory.content)
    days = (now - memory.updated_at).days
    if passing and days >= temporary_days:
        yield Find(
            kind=ProposalKind.REVIEW,
            origin=STALENESS,
            memories=(memory,),
            reason=f"it is about something temporary, and was written {days} days ago",
            evidence={"days": days, "limit_days": temporary_days},
        )


def _over(memory: Memory, ended: datetime, *, is_whole: bool) -> Find:
    """That a memory be ended, or be looked at when more is said in it than what ended."""
    last = f"{ended - timedelta(days=1):%Y-%m-%d}"
    if is_whole:
        return Find(
            kind=ProposalKind.EXPIRE,
            origin=STALENESS,
            memories=(memory,),
            reason=f"it says itself that it held until {last}",
            change={"valid_to": ended.isoformat()},
        )
    return Find(
        kind=ProposalKind.REVIEW,
        origin=STALENESS,
        memories=(memory,),
        reason=f"something in it held until {last}",
        evidence={"until": last},
    )


def _is_whole(text: str, end: re.Match[str]) -> bool:
    """Whether a text is one sentence, of which this is the end."""
    behind = _NOTHING_BEHIND.fullmatch(text, end.end())
    return behind is not None and not re.search(r"[.;!?]\s", text[: end.start()])


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

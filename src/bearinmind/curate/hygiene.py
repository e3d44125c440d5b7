"""Finds what is untidy or out of date in a store, and what to do about it. Nothing is changed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from bearinmind.curate.candidates import HYGIENE, STALENESS, Finding
from bearinmind.curate.differences import read
from bearinmind.curate.duplicates import Similarity
from bearinmind.proposals import ProposalKind
from bearinmind.protocols import Store, every_memory
from bearinmind.text.analysis import fingerprint, fold
from bearinmind.types import Filter, Link, Memory, MemoryId, Scope, State

_FRAGMENT = re.compile(r"\bpart\s+\d+\s*(?:of|/)\s*\d+\b|\(\d+/\d+\)", re.IGNORECASE)
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
_LEAST_WORDS = 2  # that say something


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """One kind of untidiness, and the memories or links that have it."""

    name: str
    meaning: str
    remedy: str
    memories: tuple[MemoryId, ...] = ()
    links: tuple[Link, ...] = ()

    @property
    def count(self) -> int:
        """How often it was found."""
        return len(self.links) or len(self.memories)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """How much was checked, and what was found."""

    memories: int  #: that are live
    links: int
    found: tuple[Issue, ...]  #: every kind, also those of which there is none


def report(
    store: Store, scope: Scope, now: datetime, content_limit: int, categories: Sequence[str]
) -> Report:
    """Everything that is untidy among the memories of a user, by the limits of the settings."""
    memories = [*every_memory(store, Filter(scope=scope, now=now))]
    links = [link for link in store.all_links(scope) if link.removed_at is None]
    readable = [memory for memory in memories if not memory.sensitive]
    ids = [memory.id for memory in readable]
    issues = (
        *_text_issues(readable, content_limit, categories),
        *_link_issues(store, scope, memories, links, now),
        Issue(
            name="never embedded",
            meaning="they have no vector: semantic recall does not find them",
            remedy="bearinmind work; bearinmind doctor says why it fails",
            memories=tuple(Similarity(store, scope, now).unembedded(ids)),
        ),
    )
    return Report(memories=len(memories), links=len(links), found=issues)


def _text_issues(
    memories: Sequence[Memory], content_limit: int, categories: Sequence[str]
) -> Iterator[Issue]:
    twins = category_twins(memories, categories)
    yield Issue(
        name="category twins",
        meaning="their category is another spelling of a configured one",
        remedy="bearinmind curate --propose",
        memories=tuple(id_ for id_, _ in twins),
    )
    known = {*categories, *(m.category for m in memories if m.id in dict(twins))}
    yield Issue(
        name="unknown categories",
        meaning="their category is not a configured one: filters by category miss them",
        remedy="bearinmind update ID --category NAME, or add it to `categories`",
        memories=tuple(m.id for m in memories if m.category not in known),
    )
    yield Issue(
        name="exact twins",
        meaning="another memory has the very same text",
        remedy="bearinmind curate --propose",
        memories=_exact_twins(memories),
    )
    yield Issue(
        name="oversize",
        meaning=f"they are longer than {content_limit:,} characters",
        remedy="split them by meaning into memories that each stand alone",
        memories=tuple(m.id for m in memories if len(m.content) > content_limit),
    )
    yield Issue(
        name="fragments",
        meaning='they are "part N of M" of something: alone they say little',
        remedy="write down what the whole says, and delete them",
        memories=tuple(m.id for m in memories if _FRAGMENT.search(m.content)),
    )
    yield Issue(
        name="empty-ish",
        meaning="hardly a word in them says anything",
        remedy="bearinmind update ID, or bearinmind delete ID",
        memories=tuple(m.id for m in memories if len(read(m.content)) < _LEAST_WORDS),
    )


def _link_issues(
    store: Store, scope: Scope, memories: Sequence[Memory], links: Sequence[Link], now: datetime
) -> Iterator[Issue]:
    every = Filter(scope=scope, now=now, states=frozenset(State) - {State.DELETED})
    present = {memory.id for memory in every_memory(store, every)}
    dangling = tuple(link for link in links if {link.source, link.target} - present)
    yield Issue(
        name="dangling links",
        meaning="a memory at one of their ends is deleted or gone",
        remedy="bearinmind link SOURCE KIND TARGET --remove, or bearinmind restore ID",
        links=dangling,
    )
    linked = {
        id_ for link in links if link not in {*dangling} for id_ in (link.source, link.target)
    }
    yield Issue(
        name="orphans",
        meaning="no tag, no keyword and no link leads to them, only their own words",
        remedy="bearinmind update ID --tag NAME",
        memories=tuple(
            m.id for m in memories if not m.tags and not m.keywords and m.id not in linked
        ),
    )


def category_twins(
    memories: Iterable[Memory], categories: Sequence[str]
) -> list[tuple[MemoryId, str]]:
    """Memories with another spelling of a configured category, and that category."""
    by_fold = {_folded(name): name for name in reversed(categories)}
    return [
        (memory.id, by_fold[_folded(memory.category)])
        for memory in memories
        if memory.category not in categories and _folded(memory.category) in by_fold
    ]


def mend_categories(
    memories: Mapping[MemoryId, Memory], categories: Sequence[str]
) -> list[Finding]:
    """The proposals that each of these memories get the configured spelling."""
    return [
        Finding(
            kind=ProposalKind.UPDATE,
            origin=HYGIENE,
            memories=(memories[id_],),
            reason=f"its category {memories[id_].category!r} is another spelling of {category!r}",
            change={"category": category},
        )
        for id_, category in category_twins(memories.values(), categories)
    ]


def _folded(category: str) -> str:
    plain = fold(category).strip()
    return plain[:-3] + "y" if plain.endswith("ies") else plain.removesuffix("s")


def _exact_twins(memories: Iterable[Memory]) -> tuple[MemoryId, ...]:
    by_text: defaultdict[bytes, list[MemoryId]] = defaultdict(list)
    for memory in memories:
        by_text[fingerprint(memory.content)].append(memory.id)
    return tuple(id_ for group in by_text.values() if len(group) > 1 for id_ in group[1:])


def stale(memory: Memory, now: datetime, temporary_days: int) -> Iterator[Finding]:
    """The proposal to end or check a memory whose text says that it holds no more."""
    if memory.valid_to is not None:
        return
    ended = said_end(memory.content)
    if ended is not None:
        if ended <= now:
            yield _ended(memory, ended)
        return
    passing = _TEMPORARY.search(memory.content) or _SHORTLY.search(memory.content)
    days = (now - memory.updated_at).days
    if passing and days >= temporary_days:
        yield Finding(
            kind=ProposalKind.REVIEW,
            origin=STALENESS,
            memories=(memory,),
            reason=f"it is about something temporary, and was written {days} days ago",
            evidence={"days": days, "limit_days": temporary_days},
        )


def _ended(memory: Memory, ended: datetime) -> Finding:
    """The proposal to end a memory, or to look at it when it says more than what ended."""
    last = f"{ended - timedelta(days=1):%Y-%m-%d}"
    text, until = memory.content, _UNTIL.search(memory.content)
    # It is one sentence, which ends in the date.
    if (
        until
        and _NOTHING_BEHIND.fullmatch(text, until.end())
        and not re.search(r"[.;!?]\s", text[: until.start()])
    ):
        return Finding(
            kind=ProposalKind.EXPIRE,
            origin=STALENESS,
            memories=(memory,),
            reason=f"it says itself that it held until {last}",
            change={"valid_to": ended.isoformat()},
        )
    return Finding(
        kind=ProposalKind.REVIEW,
        origin=STALENESS,
        memories=(memory,),
        reason=f"something in it held until {last}",
        evidence={"until": last},
    )


def said_end(text: str) -> datetime | None:
    """The end of the last day on which a text says that it holds, in UTC.

    None when it names no such day, or several.
    """
    dates = [*_UNTIL.finditer(text)]
    if len(dates) != 1:
        return None
    [match] = dates
    day, month, year = (match[name] or match[f"{name}2"] for name in ("day", "month", "year"))
    try:
        if match["iso"]:
            last = date.fromisoformat(match["iso"])
        else:
            last = date(int(year), _MONTH[month[:3].lower()], int(day))
    except ValueError:  # the 31st of February
        return None
    return datetime.combine(last, time(), UTC) + timedelta(days=1)

"""Admission: a draft becomes canonical, or an error names the value, the limit and the remedy."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from bearinmind import errors
from bearinmind.types import Draft, Memory, Provenance, UserId

#: The base set of the specification; more can be configured.
BASE_CATEGORIES = ("facts", "preferences", "projects", "people", "decisions")

CONTENT_LIMIT = 1_400  # characters: five memories fit an injection of 8,000 bytes
TAG_LIMIT = 64  # characters
TAGS_LIMIT = 32
KEYWORD_LIMIT = 64  # characters
KEYWORDS_LIMIT = 64
PROVENANCE_LIMIT = 300  # characters: a long path or address
USER_LIMIT = 64  # characters
EARLIEST = datetime(1, 1, 2, tzinfo=UTC)  # a day's room for time zones at either end
LATEST = datetime(9999, 12, 30, tzinfo=UTC)
CLOCK_SKEW = timedelta(days=1)  # how far ahead another machine's clock may be

TIME_HINT = errors.InvalidTime.hint.removesuffix(".")
_PAST_HINT = f"{TIME_HINT}, or how long ago: 30m, 12h, 3d, 2w, yesterday."
_DATE = re.compile(r"\d{4}-")
SPAN = re.compile(r"(\d{1,9})([mhdw])")  #: how long ago
_SPAN_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_AGO = re.compile(r"(?P<count>\d{1,6}|an?|one) (?P<unit>minute|hour|day|week)s? ago")
_AGO_WORDS = {"yesterday": "1d", "last week": "1w", "last month": "30d", "last year": "365d"}

_DRAFT_FIELDS = tuple(each.name for each in fields(Draft))
_IRREGULAR = {"person": "people", "persons": "people"}
# Every control character but tab and line ends, and halves of characters that lost the other half.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
# Names that no two users can confuse and that fit into a path: none is "..".
_USER = re.compile(f"(?=.*[A-Za-z0-9])[A-Za-z0-9._@-]{{1,{USER_LIMIT}}}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What may be configured about admission."""

    content_limit: int = CONTENT_LIMIT
    categories: tuple[str, ...] = BASE_CATEGORIES


def admit(draft: Draft, rules: Rules, now: datetime) -> Draft:
    """The canonical form of a draft, or an error for the first thing that is wrong."""
    created_at = check_time(draft.created_at, "created_at")
    if created_at is not None and created_at > now + CLOCK_SKEW:
        raise errors.InvalidTime(f"created_at {created_at.isoformat()} lies in the future")
    valid_from = check_time(draft.valid_from, "valid_from")
    valid_to = check_time(draft.valid_to, "valid_to")
    if valid_from is not None and valid_to is not None and valid_from >= valid_to:
        raise errors.InvalidTime(
            f"valid_to {valid_to.isoformat()} is not after valid_from {valid_from.isoformat()}",
            hint="Swap the two times; an update with `always_valid` takes stored ones away.",
        )
    return replace(
        draft,
        content=check_content(draft.content, rules.content_limit),
        category=check_category(draft.category, rules.categories),
        tags=check_tags(draft.tags),
        keywords=check_keywords(draft.keywords),
        importance=check_importance(draft.importance),
        created_at=created_at,
        valid_from=valid_from,
        valid_to=valid_to,
        provenance=check_provenance(draft.provenance),
    )


def check_text(text: str, what: str) -> str:
    """Text in Unicode's composed form, with one kind of line end and no surrounding space."""
    forbidden = _FORBIDDEN.search(text)
    if forbidden:
        kind = "lone surrogate" if forbidden.group() >= "\ud800" else "control character"
        raise errors.InvalidText(
            f"{what} has the {kind} U+{ord(forbidden.group()):04X} at position {forbidden.start()}"
        )
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def check_content(content: str, limit: int) -> str:
    """The content of a memory: some text, not too much."""
    text = check_text(content, "the content")
    if not text:
        raise errors.EmptyContent
    if len(text) > limit:
        raise errors.ContentTooLong(
            f"the content has {len(text):,} characters; a memory has at most {limit:,}"
        )
    return text


def check_category(category: str, categories: Iterable[str]) -> str:
    """The configured category that is meant; singular, plural and case are the same."""
    known = {_category_key(name): name for name in categories}
    configured = known.get(_category_key(category))
    if configured is None:
        raise errors.UnknownCategory(
            f"{category!r} is not a category",
            hint=f"Use one of {', '.join(known.values())}, or add it to the `categories` setting.",
        )
    return configured


def _category_key(category: str) -> str:
    key = "-".join(category.casefold().split())
    key = _IRREGULAR.get(key, key)
    if key.endswith("ies"):
        return key[:-3] + "y"
    return key.removesuffix("s")


def check_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Lower-case tags without spaces, each once, in the order given."""
    seen = dict.fromkeys(check_tag(tag) for tag in tags)
    if len(seen) > TAGS_LIMIT:
        raise errors.InvalidTag(
            f"{len(seen)} tags were given; a memory has at most {TAGS_LIMIT}",
            hint="Keep the tags that you would filter by; put other words into keywords.",
        )
    return tuple(seen)


def check_tag(tag: str) -> str:
    """One tag in canonical form."""
    text = "-".join(check_text(tag, "a tag").casefold().split())
    if not text or "," in text:
        raise errors.InvalidTag(
            f"{tag!r} is not a tag", hint="A tag is a word without commas, such as `billing`."
        )
    if len(text) > TAG_LIMIT:
        raise errors.InvalidTag(
            f"the tag {text[:20]!r}... has {len(text):,} characters; a tag has at most {TAG_LIMIT}",
            hint="Shorten the tag; what needs more words belongs into the content.",
        )
    return text


def check_keywords(keywords: Iterable[str]) -> tuple[str, ...]:
    """Other words under which a memory should be found, each once."""
    seen = dict.fromkeys(" ".join(check_text(word, "a keyword").split()) for word in keywords)
    seen.pop("", None)
    if len(seen) > KEYWORDS_LIMIT:
        raise errors.InvalidKeyword(
            f"{len(seen)} keywords were given; a memory has at most {KEYWORDS_LIMIT}",
            hint="Keep the words that a question would use and the content does not.",
        )
    for word in seen:
        if len(word) > KEYWORD_LIMIT:
            raise errors.InvalidKeyword(
                f"the keyword {word[:20]!r}... has {len(word):,} characters; "
                f"a keyword has at most {KEYWORD_LIMIT}",
                hint="Give words or short phrases, separated by commas.",
            )
    return tuple(seen)


def check_importance(importance: float) -> float:
    """A number from 0 to 1."""
    if isinstance(importance, bool) or not isinstance(importance, int | float):
        raise errors.InvalidImportance(f"{importance!r} is not a number")
    if not math.isfinite(importance) or not 0 <= importance <= 1:
        raise errors.InvalidImportance(f"importance {importance!r} is not between 0 and 1")
    return float(importance)


def check_time(time: datetime | str | None, what: str) -> datetime | None:
    """A moment in UTC, if one is given."""
    return None if time is None else check_moment(time, what)


def span_before_now(text: str) -> re.Match[str] | None:
    """How long ago a text says: a number and its unit."""
    words = " ".join(text.casefold().split())
    if ago := _AGO.fullmatch(words):
        count = ago["count"] if ago["count"].isdigit() else "1"
        words = count + ago["unit"][0]
    return SPAN.fullmatch(_AGO_WORDS.get(words, words))


def span_length(span: re.Match[str]) -> timedelta:
    """How long a `SPAN` is; raises `OverflowError` when that is too long."""
    return timedelta(**{_SPAN_UNITS[span[2]]: int(span[1])})


def is_time(text: str) -> bool:
    """Whether a text is meant as a time rather than as an id."""
    return bool(span_before_now(text) or _DATE.match(text.strip()))


def check_past(time: datetime | str | None, what: str, now: datetime) -> datetime | None:
    """A moment in UTC, or before now: `3d`, `2 weeks ago`, `yesterday` at this time."""
    span = span_before_now(time) if isinstance(time, str) else None
    if span is None:
        return None if time is None else check_moment(time, what, _PAST_HINT)
    try:
        return check_moment(now - span_length(span), what)
    except OverflowError:
        raise errors.InvalidTime(f"{what} {time!r} lies before the year 1") from None


def check_moment(time: datetime | str, what: str, hint: str = "") -> datetime:
    """A moment in UTC, or its text in ISO 8601; without a zone it is taken to be in UTC already."""
    if isinstance(time, str):
        try:
            time = datetime.fromisoformat(time.strip())
        except ValueError:
            raise errors.InvalidTime(f"{what} {time!r} is not a time", hint=hint) from None
    aware = time if time.tzinfo else time.replace(tzinfo=UTC)
    try:
        moment = aware.astimezone(UTC)
    except OverflowError:
        moment = None
    if moment is None or not EARLIEST <= moment <= LATEST:
        raise errors.InvalidTime(
            f"{what} {time.isoformat()} is not between {EARLIEST.date()} and {LATEST.date()}"
        )
    return moment


def check_provenance(provenance: Provenance) -> Provenance:
    """Provenance with blanks left out."""
    return replace(
        provenance,
        agent=check_origin(provenance.agent, "agent"),
        session=check_origin(provenance.session, "session"),
        project=check_origin(provenance.project, "project"),
        source=check_origin(provenance.source, "source"),
    )


def check_origin(value: str | None, what: str) -> str | None:
    """One field of provenance; None when it is blank."""
    text = check_text(value, what) if value is not None else ""
    if len(text) > PROVENANCE_LIMIT:
        raise errors.InvalidProvenance(
            f"{what} has {len(text):,} characters; it may have {PROVENANCE_LIMIT}",
            hint="Give a name, a path or an address, not the thing itself.",
        )
    return text or None


def check_user(name: str) -> UserId:
    """The name of a user; case counts."""
    if not _USER.fullmatch(name):
        shown = repr(name) if len(name) <= USER_LIMIT else f"{name[:20]!r}..."
        raise errors.InvalidUser(f"{shown} cannot be the name of a user")
    return UserId(name)


def draft_values(source: Draft | Memory) -> dict[str, Any]:
    """The values that a draft and a memory have in common, by the names of their fields."""
    return {name: getattr(source, name) for name in _DRAFT_FIELDS}

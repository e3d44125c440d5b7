"""What a chat model says is in memories, held against their texts. Pure.

Nothing is believed: what is not of the right form, answers for no memory that was sent, or is not
in the very text that it is said to be from, is dropped and counted; what is right beside it stays.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from bearinmind.concepts import ConceptName, Extraction, Kind, Mention, Role, Statement
from bearinmind.models.chat import json_objects
from bearinmind.text.analysis import FUNCTION_WORDS
from bearinmind.text.names import LONGEST_NAME, folded, name_of, words

_DATE = re.compile(r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d))?)?(?:T.*)?")
_DECEMBER = 12


class _Span(NamedTuple):
    """The days that a date means, without the last one."""

    begin: date
    end: date


def first_moment(said: object, text: str) -> datetime | None:
    """When a date begins, if it is one whose year the text gives."""
    span = _span(said, text)
    return _midnight(span.begin) if span else None


def moment_after(said: object, text: str) -> datetime | None:
    """When a date is over, if it is one whose year the text gives."""
    span = _span(said, text)
    return _midnight(span.end) if span else None


def _span(said: object, text: str) -> _Span | None:
    parts = _DATE.fullmatch(said.strip()) if isinstance(said, str) else None
    if parts is None or parts["year"] not in text:
        return None
    year, month, day = int(parts["year"]), int(parts["month"] or 0), int(parts["day"] or 0)
    try:
        if not parts["month"]:
            return _Span(date(year, 1, 1), date(year + 1, 1, 1))
        if not parts["day"]:
            after = date(year + 1, 1, 1) if month == _DECEMBER else date(year, month + 1, 1)
            return _Span(date(year, month, 1), after)
        return _Span(date(year, month, day), date(year, month, day) + timedelta(days=1))
    except (ValueError, OverflowError):  # the 31st of June
        return None


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


MOST_ENTITIES = 40  # of a memory; nobody names more in so few words
MOST_TRIPLES = 40
LONGEST_LABEL = 120  # characters
LONGEST_TYPE = 5  # words
_WEIGHT = 0.8  # of a statement: a model reads well, and now and then too much
_POSSESSIVE = re.compile(r"['\u2019][sS]?$")
_NOT_WORDS = re.compile(r"[\W_]+")
_KINDS = {str(kind): kind for kind in Kind} | {"organization": Kind.ORGANISATION}


class Flaw(StrEnum):
    """Why something that a model said is dropped."""

    FOREIGN = "about no memory that was sent"
    TWICE = "answered twice, and differently"
    MALFORMED = "of the wrong form"
    NOT_IN_TEXT = "not in the text"
    NOT_A_NAME = "not a name"
    TOO_LONG = "too long"
    TOO_MANY = "too many"
    LOOSE = "between things that are not both named"
    NO_DATE = "a date that the text does not give"


class Reading(NamedTuple):
    """What is left of an answer."""

    found: dict[str, Extraction]  #: by tag
    flaws: Counter[Flaw]


def read(said: str, by_tag: Mapping[str, str]) -> Reading:
    """What a model found in texts that it was sent by these tags."""
    found: dict[str, Extraction] = {}
    flaws: Counter[Flaw] = Counter()
    for tag, item in _answers(said, by_tag, flaws).items():
        extraction = _extraction(item, by_tag[tag], flaws)
        if extraction is not None:
            found[tag] = extraction
    return Reading(found, flaws)


def _answers(said: str, tags: Mapping[str, str], flaws: Counter[Flaw]) -> dict[str, dict[str, Any]]:
    """The answer for each tag that has exactly one."""
    items: list[Any] = []
    for found in json_objects(said):
        inner = found.get("memories")
        items += inner if isinstance(inner, list) else [found] if "id" in found else []
    answers: dict[str, dict[str, Any]] = {}
    twice: set[str] = set()
    for item in items:
        tag = item.get("id") if isinstance(item, dict) else None
        if not isinstance(tag, str) or tag not in tags:
            flaws[Flaw.FOREIGN] += 1
        elif answers.setdefault(tag, item) != item:
            twice.add(tag)
    flaws[Flaw.TWICE] += len(twice)
    return {tag: item for tag, item in answers.items() if tag not in twice}


def _extraction(item: dict[str, Any], text: str, flaws: Counter[Flaw]) -> Extraction | None:
    """What a memory mentions and states; None when the answer cannot be read at all."""
    entities, triples = item.get("entities"), item.get("triples", [])
    if not isinstance(entities, list) or not isinstance(triples, list):
        flaws[Flaw.MALFORMED] += 1
        return None
    mentions = _mentions(_at_most(MOST_ENTITIES, entities, flaws), text, flaws)
    about = item.get("about")
    subject = mentions.get(name_of(about)) if isinstance(about, str) else None
    if subject is not None:
        mentions[subject.name] = subject._replace(role=Role.SUBJECT)
    stated: dict[tuple[ConceptName, str, ConceptName], Statement] = {}
    for triple in _at_most(MOST_TRIPLES, triples, flaws):
        statement = _statement(triple, mentions, text, flaws)
        if statement is not None:
            key = (statement.source.name, statement.type, statement.target.name)
            stated.setdefault(key, statement)
    return Extraction(tuple(mentions.values()), tuple(stated.values()))


def _at_most(most: int, items: Sequence[Any], flaws: Counter[Flaw]) -> Sequence[Any]:
    flaws[Flaw.TOO_MANY] += max(0, len(items) - most)
    return items[:most]


def _mentions(
    entities: Sequence[Any], text: str, flaws: Counter[Flaw]
) -> dict[ConceptName, Mention]:
    """The entities that the text does name."""
    found = words(text)
    spelled = [folded(word.surface) for word in found]
    mentions: dict[ConceptName, Mention] = {}
    for entity in entities:
        said = entity.get("name") if isinstance(entity, dict) else None
        if not isinstance(said, str):
            flaws[Flaw.MALFORMED] += 1
            continue
        name = name_of(said[: 2 * LONGEST_LABEL])
        flaw = _flaw_of(name, said)
        place = None if flaw else _place(name.split(" "), spelled)
        if place is None:
            flaws[flaw or Flaw.NOT_IN_TEXT] += 1
            continue
        end = found[place + name.count(" ")].end
        label = _POSSESSIVE.sub("", text[found[place].start : end])
        mentions.setdefault(name, Mention(name, Role.NAME, _kind(entity.get("kind")), label))
    return mentions


def _flaw_of(name: ConceptName, said: str) -> Flaw | None:
    """What is wrong with a name, whatever the text."""
    parts = name.split(" ")
    if len(said) > LONGEST_LABEL or len(parts) > LONGEST_NAME:
        return Flaw.TOO_LONG
    if len(name) < 2 or name.isdigit() or FUNCTION_WORDS.issuperset(parts):  # noqa: PLR2004
        return Flaw.NOT_A_NAME
    return None


def _place(parts: list[str], spelled: list[str]) -> int | None:
    """Where in a text's words a run of words stands first."""
    for place in range(len(spelled) - len(parts) + 1):
        if spelled[place : place + len(parts)] == parts:
            return place
    return None


def _kind(said: object) -> Kind:
    return _KINDS.get(said.strip().lower(), Kind.NAME) if isinstance(said, str) else Kind.NAME


def _statement(
    triple: object, mentions: Mapping[ConceptName, Mention], text: str, flaws: Counter[Flaw]
) -> Statement | None:
    """A triple between two of the mentions."""
    fields = triple if isinstance(triple, dict) else {}
    said = [fields.get(name) for name in ("source", "type", "target")]
    if not all(isinstance(part, str) for part in said):
        flaws[Flaw.MALFORMED] += 1
        return None
    source, type_, target = map(str, said)
    relation = canonical_type(type_)
    if not relation:
        flaws[Flaw.TOO_LONG if type_.strip() else Flaw.MALFORMED] += 1
        return None
    ends = [mentions.get(name_of(end[:LONGEST_LABEL])) for end in (source, target)]
    if ends[0] is None or ends[1] is None or ends[0].name == ends[1].name:
        flaws[Flaw.LOOSE] += 1
        return None
    begun = first_moment(fields.get("valid_from"), text)
    ended = moment_after(fields.get("valid_to"), text)
    given = sum(bool(fields.get(name)) for name in ("valid_from", "valid_to"))
    flaws[Flaw.NO_DATE] += given - sum(moment is not None for moment in (begun, ended))
    if begun and ended and begun >= ended:
        flaws[Flaw.NO_DATE] += 2
        begun = ended = None
    return Statement(ends[0], relation, ends[1], _WEIGHT, begun, ended)


def canonical_type(said: str) -> str:
    """The words of a relation's type in lower case; empty when they are none, or too many."""
    if len(said) > LONGEST_LABEL:
        return ""
    parts = _NOT_WORDS.sub(" ", said).lower().split()
    return " ".join(parts) if len(parts) <= LONGEST_TYPE else ""

"""Checks what a chat model found in memories against their texts. Pure.

What has the wrong form, is about no memory that was sent, or is not in the text that it is said to
be from, is dropped and counted; the rest is kept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from bearinmind.concepts import ConceptName, Extraction, Kind, Mention, Role, Statement
from bearinmind.models.chat import json_objects
from bearinmind.text.analysis import FUNCTION_WORDS
from bearinmind.text.names import LONGEST_NAME, folded, name_of, words

_DATE = re.compile(r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d))?)?(?:T.*)?")
_DECEMBER = 12


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


class CheckedAnswer(NamedTuple):
    """What is left of an answer."""

    extractions: dict[str, Extraction]  #: by tag
    flaws: Counter[Flaw]


def check_answer(answer: str, by_tag: Mapping[str, str]) -> CheckedAnswer:
    """What a model found in texts that it was sent by these tags."""
    extractions: dict[str, Extraction] = {}
    flaws: Counter[Flaw] = Counter()
    for tag, item in _items(answer, by_tag, flaws).items():
        extraction = _extraction(item, by_tag[tag], flaws)
        if extraction is not None:
            extractions[tag] = extraction
    return CheckedAnswer(extractions, flaws)


def _items(answer: str, tags: Mapping[str, str], flaws: Counter[Flaw]) -> dict[str, dict[str, Any]]:
    """The item of the answer for each tag that has exactly one."""
    items: list[Any] = []
    for value in json_objects(answer):
        inner = value.get("memories")
        items += inner if isinstance(inner, list) else [value] if "id" in value else []
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
    text_words = words(text)
    spelled = [folded(word.surface) for word in text_words]
    mentions: dict[ConceptName, Mention] = {}
    for entity in entities:
        named = entity.get("name") if isinstance(entity, dict) else None
        if not isinstance(named, str):
            flaws[Flaw.MALFORMED] += 1
            continue
        name = name_of(named[: 2 * LONGEST_LABEL])
        flaw = _flaw_of(name, named)
        place = None if flaw else _place(name.split(" "), spelled)
        if place is None:
            flaws[flaw or Flaw.NOT_IN_TEXT] += 1
            continue
        end = text_words[place + name.count(" ")].end
        label = _POSSESSIVE.sub("", text[text_words[place].start : end])
        kind = _KINDS.get(str(entity.get("kind")).strip().lower(), Kind.NAME)
        mentions.setdefault(name, Mention(name, Role.NAME, kind, label))
    return mentions


def _flaw_of(name: ConceptName, label: str) -> Flaw | None:
    """What is wrong with a name, whatever the text."""
    parts = name.split(" ")
    if len(label) > LONGEST_LABEL or len(parts) > LONGEST_NAME:
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


def _statement(
    triple: object, mentions: Mapping[ConceptName, Mention], text: str, flaws: Counter[Flaw]
) -> Statement | None:
    """A triple between two of the mentions."""
    fields = triple if isinstance(triple, dict) else {}
    parts = [fields.get(name) for name in ("source", "type", "target")]
    if not all(isinstance(part, str) for part in parts):
        flaws[Flaw.MALFORMED] += 1
        return None
    source, type_, target = map(str, parts)
    relation = canonical_type(type_)
    if not relation:
        flaws[Flaw.TOO_LONG if type_.strip() else Flaw.MALFORMED] += 1
        return None
    ends = [mentions.get(name_of(end[:LONGEST_LABEL])) for end in (source, target)]
    if ends[0] is None or ends[1] is None or ends[0].name == ends[1].name:
        flaws[Flaw.LOOSE] += 1
        return None
    begun = _days(fields.get("valid_from"), text)[0]
    ended = _days(fields.get("valid_to"), text)[1]
    given = sum(bool(fields.get(name)) for name in ("valid_from", "valid_to"))
    flaws[Flaw.NO_DATE] += given - sum(moment is not None for moment in (begun, ended))
    if begun and ended and begun >= ended:
        flaws[Flaw.NO_DATE] += 2
        begun = ended = None
    return Statement(ends[0], relation, ends[1], _WEIGHT, begun, ended)


def canonical_type(type_: str) -> str:
    """The words of a relation's type in lower case; empty when there are none, or too many."""
    if len(type_) > LONGEST_LABEL:
        return ""
    parts = _NOT_WORDS.sub(" ", type_).lower().split()
    return " ".join(parts) if len(parts) <= LONGEST_TYPE else ""


def _days(value: object, text: str) -> tuple[datetime, datetime] | tuple[None, None]:
    """When a date begins and when it is over, if it is one whose year the text gives."""
    parts = _DATE.fullmatch(value.strip()) if isinstance(value, str) else None
    if parts is None or parts["year"] not in text:
        return None, None
    year, month, day = int(parts["year"]), int(parts["month"] or 1), int(parts["day"] or 1)
    try:
        begin = datetime(year, month, day, tzinfo=UTC)
        if parts["day"]:
            return begin, begin + timedelta(days=1)
        if parts["month"] and month < _DECEMBER:
            return begin, begin.replace(month=month + 1)
        return begin, begin.replace(year=year + 1, month=1)
    except (ValueError, OverflowError):  # the 31st of June
        return None, None

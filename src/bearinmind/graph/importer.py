"""Imports relations and mentions that were extracted elsewhere.

A line is one JSON object: what was found in a memory, or one relation with its evidence.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple, TypeVar

from bearinmind import errors
from bearinmind.concepts import ConceptName, Kind, Mention, Role, Statement
from bearinmind.protocols import Store
from bearinmind.text import ids
from bearinmind.text.names import name_of
from bearinmind.types import ID_LENGTH, Memory, MemoryId, Scope

BATCH = 200  # lines of one transaction
ORIGIN = "import"  #: of a relation that was imported, not extracted here
LONGEST_LABEL = 200  #: characters of a concept; what is longer is a sentence
LONGEST_TYPE = 60  #: characters of a relation's type

#: The number of a line with its text, or with why it cannot be read.
Line = tuple[int, str | bytes | errors.MindError]
Part = TypeVar("Part")

_PARTS = ("triples", "subjects", "entities")  # in a memory
_ENDS = 3  # of a triple: source, type, target
_HINT = (
    'A line is {"memory": ID, "triples": [[source, type, target], ...], "entities": [...]} '
    'or {"source": ..., "type": ..., "target": ..., "evidence": [ID, ...]}.'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BadLine:
    """A line that was not imported, and why."""

    line: int
    code: str
    message: str


@dataclass(slots=True)
class GraphImported:
    """How much an import added to the graph."""

    lines: int = 0
    relations: int = 0  #: that were new
    mentions: int = 0  #: that were new
    unusable: int = 0  #: triples and entities that name nothing, or join a concept to itself
    bad: int = 0
    problems: list[BadLine] = field(default_factory=list)


class ParsedLine(NamedTuple):
    """What a line says, and the ids of the memories that say so."""

    memories: tuple[str, ...]
    mentions: tuple[Mention, ...]  #: each concept once; of those that it is about, as that
    statements: tuple[Statement, ...]
    unusable: int = 0  #: triples and entities that name nothing, or join a concept to itself


class _Unusable(Exception):
    """One of many triples says nothing; the others may."""


@dataclass(slots=True, kw_only=True)
class GraphImport:
    """Adds numbered lines to the graph; a wrong line is left out and reported."""

    store: Store
    scope: Scope
    now: datetime
    find: Callable[[str], Memory]
    refuse_in_clear: Callable[[str, str], None]
    masked: Callable[[str], str]
    same_as: Mapping[str, str]
    advance: Callable[[int], None]
    _result: GraphImported = field(init=False, default_factory=GraphImported)
    _waiting: list[tuple[ParsedLine, tuple[MemoryId, ...]]] = field(
        init=False, default_factory=list
    )

    def __call__(self, lines: Iterable[Line]) -> GraphImported:
        """Import numbered lines."""
        for number, line in lines:
            try:
                self._waiting.append(self._read(line))
            except (errors.InvalidInput, errors.NotFound, errors.Conflict) as exc:
                self._result.bad += 1
                message = self.masked(exc.message)  # some messages quote what they refuse
                problem = BadLine(line=number, code=exc.code, message=message)
                self._result.problems.append(problem)
            if len(self._waiting) >= BATCH:
                self._flush()
        self._flush()
        return self._result

    def _read(
        self, line: str | bytes | errors.MindError
    ) -> tuple[ParsedLine, tuple[MemoryId, ...]]:
        if isinstance(line, errors.MindError):
            raise line
        parsed = parse_line(line)
        types = [statement.type for statement in parsed.statements]
        for text in [*types, *(mention.label for mention in parsed.mentions)]:
            self.refuse_in_clear("a concept", text)
        return parsed, tuple(self._memory(id_).id for id_ in parsed.memories)

    def _memory(self, text: str) -> Memory:
        """The memory with this id; a beginning such as 17 may mean anything elsewhere."""
        id_ = ids.normalise(self.same_as.get(text, text))
        if len(id_) != ID_LENGTH:
            raise errors.InvalidRecord(f"{text!r} is not the whole id of a memory")
        memory = self.find(id_)
        if memory.sensitive:
            raise errors.InvalidRecord(
                f"memory {memory.id} is sensitive", hint="Nothing of it is kept in the graph."
            )
        if memory.deleted_at is not None:
            raise errors.InvalidRecord(
                f"memory {memory.id} is deleted", hint="Restore it first, or leave the line out."
            )
        return memory

    def _flush(self) -> None:
        batch, self._waiting = self._waiting, []
        if not batch:
            return
        stated: list[tuple[Statement, tuple[MemoryId, ...]]] = []
        mentions: dict[MemoryId, list[Mention]] = {}
        for parsed, memories in batch:
            stated += [(statement, memories) for statement in parsed.statements]
            for id_ in memories:
                mentions.setdefault(id_, []).extend(parsed.mentions)
            self._result.unusable += parsed.unusable
        self._result.mentions += self.store.add_mentions(self.scope, mentions, given=True)
        self._result.relations += self.store.add_statements(self.scope, stated, self.now, ORIGIN)
        self._result.lines += len(batch)
        self.advance(len(batch))


def parse_line(line: str | bytes) -> ParsedLine:
    """What a line says; an `InvalidRecord` names the first thing that is wrong."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as exc:
        raise errors.InvalidRecord(f"the line is not JSON: {exc}", hint=_HINT) from None
    if not isinstance(value, dict):
        raise errors.InvalidRecord("the line is not a JSON object", hint=_HINT)
    if "source" not in value and "target" not in value:
        return _of_memory(value)
    try:
        return _relation(value)
    except _Unusable as exc:
        raise errors.InvalidRecord(str(exc), hint=_HINT) from None


def _of_memory(value: Mapping[str, object]) -> ParsedLine:
    memory = value.get("memory", value.get("id"))
    if memory is None or isinstance(memory, bool) or not isinstance(memory, str | int):
        raise errors.InvalidRecord("the line names no memory", hint=_HINT)
    if value.keys().isdisjoint(_PARTS):
        raise errors.InvalidRecord("the line has no triples, subjects or entities", hint=_HINT)
    triples, subjects, entities = (_list(value, key) for key in _PARTS)
    statements = [*_usable(_triple, triples)]
    about = [*_usable(partial(_mention, what="a subject"), subjects)]
    named = [*_usable(partial(_mention, what="an entity"), entities)]
    mentions = [*(each._replace(role=Role.SUBJECT) for each in about), *named]
    parts = len(triples) + len(subjects) + len(entities)
    unusable = parts - len(statements) - len(mentions)
    return _parsed((str(memory),), statements, mentions)._replace(unusable=unusable)


def _usable(read: Callable[[object], Part], values: Iterable[object]) -> Iterator[Part]:
    for value in values:
        with contextlib.suppress(_Unusable):
            yield read(value)


def _relation(value: Mapping[str, object]) -> ParsedLine:
    statement = Statement(
        source=_mention(value.get("source"), "the source"),
        type=_type(value.get("type")),
        target=_mention(value.get("target"), "the target"),
        weight=_weight(value.get("weight")),
        valid_from=_moment(value.get("valid_from"), "valid_from"),
        valid_to=_moment(value.get("valid_to"), "valid_to"),
    )
    begin, end = statement.valid_from, statement.valid_to
    if begin is not None and end is not None and begin >= end:
        raise errors.InvalidRecord(
            f"valid_to {end.isoformat()} is not after valid_from {begin.isoformat()}"
        )
    evidence = tuple(_text(id_, "an id of the evidence") for id_ in _list(value, "evidence"))
    return _parsed(evidence, [_checked(statement)], [])


def _parsed(
    memories: tuple[str, ...], statements: list[Statement], named: list[Mention]
) -> ParsedLine:
    ends = [end for each in statements for end in (each.source, each.target)]
    mentions: dict[ConceptName, Mention] = {}
    for mention in sorted([*ends, *named], key=lambda each: each.role is not Role.SUBJECT):
        mentions.setdefault(mention.name, mention)
    return ParsedLine(tuple(dict.fromkeys(memories)), tuple(mentions.values()), tuple(statements))


def _triple(value: object) -> Statement:
    if not isinstance(value, list) or len(value) != _ENDS:
        raise errors.InvalidRecord(
            f"a triple is a list of source, type and target, not {_shown(value)}", hint=_HINT
        )
    source, type_, target = value
    statement = Statement(
        source=_mention(source, "the source of a triple"),
        type=_type(type_),
        target=_mention(target, "the target of a triple"),
    )
    return _checked(statement)


def _checked(statement: Statement) -> Statement:
    if statement.source.name == statement.target.name:
        raise _Unusable(f"{statement.source.label!r} {statement.type} itself")
    return statement


# ---- the parts of a line -----------------------------------------------------------------------


def _mention(value: object, what: str) -> Mention:
    label = _text(value, what)
    name = name_of(label)
    if not name:
        raise _Unusable(f"{what} {label!r} has no word in it")
    if len(label) > LONGEST_LABEL:
        raise _Unusable(
            f"{what} {_shown(label)} has {len(label):,} characters; "
            f"a concept has at most {LONGEST_LABEL}"
        )
    return Mention(name=name, role=Role.NAME, kind=Kind.NAME, label=label)


def _type(value: object) -> str:
    words = _text(value, "the type").lower()
    if len(words) > LONGEST_TYPE:
        raise _Unusable(
            f"the type {_shown(words)} has {len(words):,} characters; {LONGEST_TYPE} at most"
        )
    return words


def _weight(value: object) -> float:
    if value is None:
        return 1.0
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise errors.InvalidRecord(
            f"the weight {_shown(value)} is not a number above 0 and up to 1"
        )
    return float(value)


def _moment(value: object, what: str) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(_text(value, what))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise errors.InvalidRecord(
            f"{what} {_shown(value)} is not a time",
            hint="Use ISO 8601, such as 2026-11-15 or 2026-11-15T09:30:00+01:00.",
        ) from None


def _list(value: Mapping[str, object], key: str) -> list[object]:
    items = value.get(key)
    if items is None:
        return []
    if not isinstance(items, list):
        raise errors.InvalidRecord(f"{key} is not a list: {_shown(items)}", hint=_HINT)
    return items


def _text(value: object, what: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise errors.InvalidRecord(f"{what} is not a text: {_shown(value)}", hint=_HINT)
    text = " ".join(value.split())
    if not text.isprintable():
        raise errors.InvalidRecord(f"{what} {_shown(value)} holds a control character")
    return text


def _shown(value: object, longest: int = 60) -> str:
    """The beginning of a value."""
    text = repr(value)
    return text if len(text) <= longest else f"{text[:longest]}…"

"""Imports relations and mentions that were extracted elsewhere."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

from bearinmind.concepts import ConceptName, Kind, Mention, Role, Statement
from bearinmind.errors import (
    Conflict,
    InvalidInput,
    InvalidRecord,
    MindError,
    NotFound,
    SecretInClearField,
)
from bearinmind.protocols import Store
from bearinmind.text import ids
from bearinmind.text.names import name_of
from bearinmind.types import Memory, MemoryId, Scope

LONGEST_LABEL = 200  #: characters of a concept; what is longer is a sentence
LONGEST_TYPE = 60  #: characters of a relation's type

Part = TypeVar("Part")

_FOUND = ("triples", "subjects", "entities")  # in a memory
_ENDS = 3  # of a triple: source, type, target
_HINT = (
    'A line is {"memory": ID, "triples": [[source, type, target], ...], "entities": [...]} '
    'or {"source": ..., "type": ..., "target": ..., "evidence": [ID, ...]}.'
)


class Given(NamedTuple):
    """What a line says, and the memories that say so, by the ids that the line has."""

    memories: tuple[str, ...]
    mentions: tuple[Mention, ...]  #: each concept once; of those that it is about, as that
    statements: tuple[Statement, ...]
    unusable: int = 0  #: triples and entities that name nothing, or join a concept to itself


class _Unusable(Exception):
    """One of many triples says nothing; the others may."""


def read(line: str | bytes) -> Given:
    """What a line of given triples says.

    Raises:
        InvalidRecord: it cannot be read; the first thing that is wrong is named.
    """
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as exc:
        raise InvalidRecord(f"the line is not JSON: {exc}", hint=_HINT) from None
    if not isinstance(value, dict):
        raise InvalidRecord("the line is not a JSON object", hint=_HINT)
    if "source" not in value and "target" not in value:
        return _of_memory(value)
    try:
        return _relation(value)
    except _Unusable as exc:
        raise InvalidRecord(str(exc), hint=_HINT) from None


def _of_memory(value: Mapping[str, object]) -> Given:
    memory = value.get("memory", value.get("id"))
    if memory is None or isinstance(memory, bool) or not isinstance(memory, str | int):
        raise InvalidRecord("the line names no memory", hint=_HINT)
    if value.keys().isdisjoint(_FOUND):
        raise InvalidRecord("the line has no triples, subjects or entities", hint=_HINT)
    triples, subjects, entities = (_list(value, key) for key in _FOUND)
    statements = [*_usable(_triple, triples)]
    named = [*_usable(_subject, subjects), *_usable(_entity, entities)]
    told = len(triples) + len(subjects) + len(entities)
    given = _given((str(memory),), statements, named)
    return given._replace(unusable=told - len(statements) - len(named))


def _usable(read: Callable[[object], Part], values: Iterable[object]) -> Iterator[Part]:
    for value in values:
        with contextlib.suppress(_Unusable):
            yield read(value)


def _relation(value: Mapping[str, object]) -> Given:
    statement = Statement(
        source=_mention(value.get("source"), "the source"),
        type=_type(value.get("type")),
        target=_mention(value.get("target"), "the target"),
        weight=_weight(value.get("weight")),
        valid_from=_moment(value.get("valid_from"), "valid_from"),
        valid_to=_moment(value.get("valid_to"), "valid_to"),
    )
    _check_span(statement)
    evidence = tuple(_text(id_, "an id of the evidence") for id_ in _list(value, "evidence"))
    return _given(evidence, [_checked(statement)], [])


def _given(memories: tuple[str, ...], statements: list[Statement], named: list[Mention]) -> Given:
    ends = [end for each in statements for end in (each.source, each.target)]
    mentions: dict[ConceptName, Mention] = {}
    for mention in sorted([*ends, *named], key=lambda each: each.role is not Role.SUBJECT):
        mentions.setdefault(mention.name, mention)
    return Given(tuple(dict.fromkeys(memories)), tuple(mentions.values()), tuple(statements))


def _subject(value: object) -> Mention:
    return _mention(value, "a subject")._replace(role=Role.SUBJECT)


def _entity(value: object) -> Mention:
    return _mention(value, "an entity")


def _triple(value: object) -> Statement:
    if not isinstance(value, list) or len(value) != _ENDS:
        raise InvalidRecord(
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


def _check_span(statement: Statement) -> None:
    begin, end = statement.valid_from, statement.valid_to
    if begin is not None and end is not None and begin >= end:
        raise InvalidRecord(
            f"valid_to {end.isoformat()} is not after valid_from {begin.isoformat()}"
        )


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
        raise InvalidRecord(f"the weight {_shown(value)} is not a number above 0 and up to 1")
    return float(value)


def _moment(value: object, what: str) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(_text(value, what))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidRecord(
            f"{what} {_shown(value)} is not a time",
            hint="Use ISO 8601, such as 2026-11-15 or 2026-11-15T09:30:00+01:00.",
        ) from None


def _list(value: Mapping[str, object], key: str) -> list[object]:
    found = value.get(key)
    if found is None:
        return []
    if not isinstance(found, list):
        raise InvalidRecord(f"{key} is not a list: {_shown(found)}", hint=_HINT)
    return found


def _text(value: object, what: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidRecord(f"{what} is not a text: {_shown(value)}", hint=_HINT)
    text = " ".join(value.split())
    if not text.isprintable():
        raise InvalidRecord(f"{what} {_shown(value)} holds a control character")
    return text


def _shown(value: object, longest: int = 60) -> str:
    """The beginning of what was given."""
    text = repr(value)
    return text if len(text) <= longest else f"{text[:longest]}…"


BATCH = 200  # lines of one transaction

ORIGIN = "import"  #: of a relation that was imported, not extracted here

#: The number of a line with its text, or with why it cannot be read.
Line = tuple[int, str | bytes | MindError]


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


class GraphImport:
    """Adds numbered lines to the graph; a wrong line is left out and reported."""

    def __init__(
        self,
        store: Store,
        scope: Scope,
        now: datetime,
        *,
        find: Callable[[str], Memory],
        secret_kinds: Callable[[str], Sequence[str]],
        masked: Callable[[str], str],
        same_as: Mapping[str, str] | None = None,
        advance: Callable[[int], None] | None = None,
    ) -> None:
        self._store = store
        self._scope = scope
        self._now = now
        self._find = find
        self._secret_kinds = secret_kinds
        self._masked = masked
        self._same_as = same_as or {}
        self._advance = advance or (lambda _: None)
        self._result = GraphImported()
        self._waiting: list[tuple[Given, tuple[MemoryId, ...]]] = []

    def __call__(self, lines: Iterable[Line]) -> GraphImported:
        """Import numbered lines."""
        for number, line in lines:
            try:
                self._waiting.append(self._read(line))
            except (InvalidInput, NotFound, Conflict) as exc:
                self._refuse(number, exc)
            if len(self._waiting) >= BATCH:
                self._flush()
        self._flush()
        return self._result

    def _read(self, line: str | bytes | MindError) -> tuple[Given, tuple[MemoryId, ...]]:
        if isinstance(line, MindError):
            raise line
        given = read(line)
        self._refuse_secrets(given)
        return given, tuple(self._memory(id_).id for id_ in given.memories)

    def _refuse_secrets(self, given: Given) -> None:
        """Concepts are stored in clear, so none may hold a secret.

        Raises:
            SecretInClearField: with the kind of the secret.
        """
        types = [statement.type for statement in given.statements]
        for text in [*types, *(mention.label for mention in given.mentions)]:
            kinds = self._secret_kinds(text)
            if kinds:
                raise SecretInClearField(f"a concept holds what looks like: {kinds[0]}")

    def _memory(self, text: str) -> Memory:
        """The memory with this id; a beginning such as 17 may mean anything elsewhere."""
        id_ = ids.normalise(self._same_as.get(text, text))
        if len(id_) != ids.LENGTH:
            raise InvalidRecord(f"{text!r} is not the whole id of a memory")
        memory = self._find(id_)
        if memory.sensitive:
            raise InvalidRecord(
                f"memory {memory.id} is sensitive", hint="Nothing of it is kept in the graph."
            )
        if memory.deleted_at is not None:
            raise InvalidRecord(
                f"memory {memory.id} is deleted", hint="Restore it first, or leave the line out."
            )
        return memory

    def _refuse(self, number: int, error: MindError) -> None:
        self._result.bad += 1
        message = self._masked(error.message)  # some messages quote what they refuse
        self._result.problems.append(BadLine(line=number, code=error.code, message=message))

    def _flush(self) -> None:
        batch, self._waiting = self._waiting, []
        if not batch:
            return
        stated: list[tuple[Statement, tuple[MemoryId, ...]]] = []
        mentions: dict[MemoryId, list[Mention]] = {}
        for given, memories in batch:
            stated += [(statement, memories) for statement in given.statements]
            for id_ in memories:
                mentions.setdefault(id_, []).extend(given.mentions)
            self._result.unusable += given.unusable
        self._result.mentions += self._store.add_mentions(self._scope, mentions, given=True)
        self._result.relations += self._store.add_statements(self._scope, stated, self._now, ORIGIN)
        self._result.lines += len(batch)
        self._advance(len(batch))

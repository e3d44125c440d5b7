"""Rows of a store: how those of one owner are read and written, and the nouns that they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache, partial
from typing import Any, TypeVar

from bearinmind.changes import ConflictKind, Subject, SubjectKind, SyncConflict
from bearinmind.protocols import LexicalMatch
from bearinmind.store.database import NOTHING, Database, Parameters, Row, Transaction
from bearinmind.text.sql_statements import SHARED
from bearinmind.types import (
    Decider,
    Filter,
    Judgement,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Provenance,
    Right,
    Scope,
    Share,
    Space,
    Trust,
    UserId,
    owner_of,
)

Noun = TypeVar("Noun")
NOT_YET = 2**63 - 1  # as in schema.sql
#: The fields that say when something ended: None is "not yet".
_ENDS = ("disabled_at", "ended_at", "expires_at", "removed_at", "resolved_at", "revoked_at")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_ENTRY = slice(19, 25)  # the `entry` fragment, behind the `columns`


def from_time(time: datetime | None) -> int | None:
    """Microseconds since 1970."""
    return None if time is None else (time - _EPOCH) // _MICROSECOND


def to_time(microseconds: int) -> datetime:
    """The moment, in UTC."""
    return _EPOCH + timedelta(0, 0, microseconds)


def to_optional_time(microseconds: int | None) -> datetime | None:
    """The moment, if there is one."""
    return None if microseconds is None else to_time(microseconds)


def to_end(microseconds: int) -> datetime | None:
    """When something ended; None when it has not yet."""
    return None if microseconds == NOT_YET else to_time(microseconds)


def from_end(time: datetime | None) -> int:
    """When something ended, as microseconds since 1970; None is "not yet"."""
    return NOT_YET if time is None else (time - _EPOCH) // _MICROSECOND


def from_day(day: date) -> int:
    """Days since 1970."""
    return (day - _EPOCH.date()).days


def from_noun(noun: object) -> dict[str, Any]:
    """The fields of a noun as parameters, times as microseconds; not for hot paths."""
    parameters = {name: getattr(noun, name) for name in type(noun).__annotations__}
    for name, value in parameters.items():
        if name in _ENDS:
            parameters[name] = from_end(value)
        elif isinstance(value, datetime):
            parameters[name] = from_time(value)
    return parameters


#: How a column becomes the field of that name, where it is not the value itself.
_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys((*_ENDS, "retracted_at", "undone_at"), to_end),
    **dict.fromkeys(("at", "created_at", "decided_at", "merged_at"), to_optional_time),
    **dict.fromkeys(("pulled_at", "pushed_at", "shared_at", "recorded_at"), to_optional_time),
    **dict.fromkeys(("valid_from", "valid_to"), to_optional_time),
}


def to_noun(noun: type[Noun], row: Sequence[Any], **converters: Callable[[Any], Any]) -> Noun:
    """A noun from its fields, in their order, some by converters; not for hot paths."""
    converters = _CONVERTERS | converters
    fields = zip(noun.__annotations__, row, strict=True)
    return noun(**{x: converters[x](value) if x in converters else value for x, value in fields})


def moment(as_of: datetime | None) -> int:
    """A moment as microseconds; None is the last moment before "not yet"."""
    return NOT_YET - 1 if as_of is None else (as_of - _EPOCH) // _MICROSECOND


def to_memory(row: Sequence[Any]) -> Memory:
    """A row of the `columns` fragment as a memory; of a copy, with the name of its owner."""
    created_at = to_time(row[8])
    return Memory(
        id=MemoryId(row[0]),
        owner=owner_of(row[1]),
        content=row[2],
        category=row[3],
        tags=_to_words(row[4]) if isinstance(row[4], str) else tuple(row[4]),
        keywords=_to_words(row[5]) if isinstance(row[5], str) else tuple(row[5]),
        importance=row[6],
        sensitive=bool(row[7]),
        created_at=created_at,
        updated_at=created_at if row[9] == row[8] else to_time(row[9]),
        deleted_at=to_optional_time(row[10]),
        valid_from=to_optional_time(row[11]),
        valid_to=to_optional_time(row[12]),
        provenance=_to_provenance(*row[13:18]),
        version=row[18],
    )


def to_lexical_match(row: Sequence[Any]) -> LexicalMatch:
    """A row of `columns` and `entry` as a match; its memory is made when it is needed."""
    return LexicalMatch._make((row[0], row[2], *row[_ENTRY], partial(to_memory, row)))


#: The columns of the fragment `version_columns`, in their order.
VERSION_COLUMNS = (
    *("id", "version", "content", "content_hash", "category", "tags", "keywords", "importance"),
    *("sensitive", "created_at", "updated_at", "replaced_at", "deleted_at", "valid_from"),
    *("valid_to", "agent", "session", "project", "source", "trust"),
)


def from_memory(memory: Memory, replaced_at: datetime | None) -> dict[str, Any]:
    """A memory as the parameters of `insert_memory`."""
    return {
        "id": memory.id,
        "version": memory.version,
        "content": memory.content,
        "category": memory.category,
        "tags": [*memory.tags],
        "keywords": [*memory.keywords],
        "importance": memory.importance,
        "sensitive": memory.sensitive,
        "created_at": from_time(memory.created_at),
        "updated_at": from_time(memory.updated_at),
        "replaced_at": from_end(replaced_at),
        "deleted_at": from_time(memory.deleted_at),
        "valid_from": from_time(memory.valid_from),
        "valid_to": from_time(memory.valid_to),
        "agent": memory.provenance.agent,
        "session": memory.provenance.session,
        "project": memory.provenance.project,
        "source": memory.provenance.source,
        "trust": memory.provenance.trust,
    }


def as_known(memory: Memory, said: bytes) -> dict[str, Any]:
    """A memory by the hash of what it says, as the parameters of `known`."""
    return {"id": memory.id, "content_hash": said, "created_at": from_time(memory.created_at)}


@lru_cache(maxsize=4_096)  # the best memories come up again and again, and have many
def to_link(row: tuple[Any, ...]) -> Link:
    """A row of links as a link."""
    source, target, kind, created_at, removed_at, judgement = row
    return Link(
        source=MemoryId(source),
        target=MemoryId(target),
        kind=LinkKind(kind),
        created_at=to_time(created_at),
        removed_at=to_end(removed_at),
        judgement=_to_judgement(judgement) if judgement else None,
    )


def from_link(link: Link) -> dict[str, Any]:
    """A link as parameters."""
    judgement = json.dumps(asdict(link.judgement)) if link.judgement else None
    return from_noun(link) | {"judgement": judgement}


def _to_judgement(text: str) -> Judgement:
    fields = json.loads(text)
    by, evidence = Decider(fields.pop("by")), tuple(fields.pop("evidence", ()))
    return Judgement(by=by, evidence=evidence, **fields)


def to_share(row: Sequence[Any]) -> Share:
    """A row of the `share` fragment as a share."""
    owner, reader, memory, tag, can_write, created_at, ended_at = row
    return Share(
        owner=UserId(owner),
        reader=UserId(reader),
        right=Right.WRITE if can_write else Right.READ,
        memory=memory,
        tag=tag,
        created_at=to_time(created_at),
        ended_at=to_end(ended_at),
    )


def from_share(share: Share) -> dict[str, Any]:
    """A share as parameters."""
    return from_noun(share) | {"can_write": share.right is Right.WRITE}


def to_conflict(row: Sequence[Any]) -> SyncConflict:
    """A row of the `conflict` fragment as a conflict."""
    number, kind, subject_kind, name, served, other, detail, at, resolved_at = row
    return SyncConflict(
        number=number,
        kind=ConflictKind(kind),
        subject=Subject(SubjectKind(subject_kind), name),
        served=served,
        other=other,
        detail=detail,
        at=to_time(at),
        resolved_at=to_end(resolved_at),
    )


def from_conflict(conflict: SyncConflict) -> dict[str, Any]:
    """A conflict as parameters; one without a number gets the next."""
    kind, name = conflict.subject
    named = {"number": conflict.number or None, "subject_kind": kind, "subject_name": name}
    return from_noun(conflict) | named


def from_prefix(prefix: str) -> dict[str, Any]:
    """The two parameters between which all ids with a prefix lie."""
    return {"prefix": prefix, "end": prefix[:-1] + chr(ord(prefix[-1]) + 1)}


@lru_cache(maxsize=64)
def to_space(description: str) -> Space:
    """A vector space from its description."""
    return Space(**json.loads(description))


def from_space(space: Space) -> str:
    """The description of a vector space."""
    return json.dumps(asdict(space), ensure_ascii=False)


def from_place(filter: Filter) -> dict[str, Any]:
    """A filter as the parameters of the `held` fragment: whose, when, and for whom."""
    reader = {} if filter.reader is None else {"reader": filter.reader}
    return {"owner": filter.scope.user, "moment": moment(filter.as_of), **reader}


def from_filter(filter: Filter) -> dict[str, Any]:
    """A filter as the parameters of the `admitted` and `state` fragments."""
    return from_place(filter) | {
        "now": from_time(filter.now),
        "categories": sorted(filter.categories) or None,
        "tags": sorted(filter.tags) or None,
        "created_from": from_time(filter.created_from),
        "created_to": from_time(filter.created_to),
        "session": filter.session,
        "project": filter.project,
        "agent": filter.agent,
    }


def from_filter_and_states(filter: Filter) -> dict[str, Any]:
    """A filter with its states, as the parameters of the `state` fragment."""
    return from_filter(filter) | {"states": sorted(filter.states)}


# Fifty memories are read on every recall, and most share their tags and provenance with others.


@lru_cache(maxsize=4_096)
def _to_words(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


@lru_cache(maxsize=4_096)
def _to_provenance(
    agent: str | None, session: str | None, project: str | None, source: str | None, trust: str
) -> Provenance:
    return Provenance(
        agent=agent, session=session, project=project, source=source, trust=Trust(trust)
    )


# ---- reading and writing rows --------------------------------------------------------------------


def form_of(statement: str, parameters: Parameters) -> str:
    """The name of the form of a statement that serves these parameters.

    With a reader among them it is the form that shows only what is shared with the reader. A
    statement without such a form does not exist then, and so cannot run for a reader by mistake.
    """
    return statement + SHARED if "reader" in parameters else statement


@dataclass(frozen=True, slots=True)
class Owned:
    """A write transaction of one owner, who is a parameter of every statement."""

    transaction: Transaction
    owner: UserId

    def rows(self, statement: str, parameters: Parameters = NOTHING) -> list[Row]:
        return self.transaction.rows(statement, self._placed(parameters))

    def row(self, statement: str, parameters: Parameters = NOTHING) -> Row | None:
        return self.transaction.row(statement, self._placed(parameters))

    def rows_of_each(self, statement: str, each: Sequence[Parameters]) -> list[list[Row]]:
        return self.transaction.rows_of_each(statement, [*map(self._placed, each)])

    def change(self, statement: str, parameters: Parameters = NOTHING) -> int:
        return self.transaction.change(statement, self._placed(parameters))

    def change_each(self, statement: str, each: Sequence[Parameters]) -> int:
        return self.transaction.change_each(statement, [*map(self._placed, each)])

    def insert(self, statement: str, each: Sequence[Parameters]) -> None:
        self.transaction.insert(statement, [*map(self._placed, each)])

    def numbers(self, count: int) -> Sequence[int | None]:
        return self.transaction.numbers(self.owner, count)

    def _placed(self, parameters: Parameters) -> Parameters:
        return {**parameters, "owner": self.owner}


class OnDatabase:
    """The base of every part of a store: its database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @contextmanager
    def _writing(self, scope: Scope) -> Iterator[Owned]:
        with self._database.writing(scope.user) as transaction:
            yield Owned(transaction, scope.user)

    def _read(self, scope: Scope, statement: str, **parameters: object) -> list[Row]:
        """All rows of a statement that reads what the owner of a scope has."""
        return self._database.read(statement, {**parameters, "owner": scope.user})

    def scrub(self) -> bool:
        raise NotImplementedError

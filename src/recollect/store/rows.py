"""Translates between the nouns and the rows of a SQLite store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from recollect.types import (
    Filter,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Provenance,
    Scope,
    Space,
    Trust,
    UserId,
)

NOT_YET = 2**63 - 1  # as in schema.sql
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


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


def moment(as_of: datetime | None) -> int:
    """A point that lies inside whatever holds at that moment, or now."""
    return NOT_YET - 1 if as_of is None else (as_of - _EPOCH) // _MICROSECOND


def to_memory(row: Sequence[Any]) -> Memory:
    """A row of the `columns` fragment as a memory."""
    created_at = to_time(row[8])
    return Memory(
        id=MemoryId(row[0]),
        owner=UserId(row[1]),
        content=row[2],
        category=row[3],
        tags=_to_words(row[4]),
        keywords=_to_words(row[5]),
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


def from_memory(scope: Scope, memory: Memory, replaced_at: datetime | None) -> dict[str, Any]:
    """A memory as the parameters of `insert_memory`."""
    return {
        "owner": scope.user,
        "id": memory.id,
        "version": memory.version,
        "content": memory.content,
        "category": memory.category,
        "tags": _from_words(memory.tags),
        "keywords": _from_words(memory.keywords),
        "importance": memory.importance,
        "sensitive": memory.sensitive,
        "created_at": from_time(memory.created_at),
        "updated_at": from_time(memory.updated_at),
        "replaced_at": NOT_YET if replaced_at is None else from_time(replaced_at),
        "deleted_at": from_time(memory.deleted_at),
        "valid_from": from_time(memory.valid_from),
        "valid_to": from_time(memory.valid_to),
        "agent": memory.provenance.agent,
        "session": memory.provenance.session,
        "project": memory.provenance.project,
        "source": memory.provenance.source,
        "trust": memory.provenance.trust,
    }


def to_link(row: Sequence[Any]) -> Link:
    """A row of links as a link."""
    source, target, kind, created_at, removed_at = row
    return Link(
        source=MemoryId(source),
        target=MemoryId(target),
        kind=LinkKind(kind),
        created_at=to_time(created_at),
        removed_at=to_end(removed_at),
    )


def from_link(scope: Scope, link: Link) -> dict[str, Any]:
    """A link as parameters."""
    return {
        "owner": scope.user,
        "source": link.source,
        "target": link.target,
        "kind": link.kind,
        "created_at": from_time(link.created_at),
        "removed_at": NOT_YET if link.removed_at is None else from_time(link.removed_at),
    }


@lru_cache(maxsize=64)
def to_space(description: str) -> Space:
    """A vector space from its description."""
    return Space(**json.loads(description))


def from_space(space: Space) -> str:
    """The description of a vector space."""
    return json.dumps(asdict(space), ensure_ascii=False)


def from_filter(filter: Filter) -> dict[str, Any]:
    """A filter as the parameters of the `admitted` and `state` fragments."""
    return {
        "owner": filter.scope.user,
        "moment": moment(filter.as_of),
        "now": from_time(filter.now),
        "categories": json.dumps(sorted(filter.categories)) if filter.categories else None,
        "tags": json.dumps(sorted(filter.tags)) if filter.tags else None,
        "created_from": from_time(filter.created_from),
        "created_to": from_time(filter.created_to),
        "session": filter.session,
        "project": filter.project,
        "agent": filter.agent,
    }


def _from_words(words: tuple[str, ...]) -> str:
    return json.dumps(words, ensure_ascii=False) if words else "[]"


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

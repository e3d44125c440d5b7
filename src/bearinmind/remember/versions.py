"""What one version of a memory has to do with the next."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bearinmind import errors
from bearinmind.types import Draft, Memory, Provenance

_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What an update changes; None leaves a field as it is."""

    content: str | None = None
    category: str | None = None
    tags: tuple[str, ...] | None = None
    keywords: tuple[str, ...] | None = None
    importance: float | None = None
    sensitive: bool | None = None  #: True seals every version of it, False makes it an ordinary one
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    always_valid: bool = False  #: take the valid-from / valid-to span away
    provenance: Provenance | None = None


def next_version(memory: Memory, now: datetime) -> Memory:
    """The next version, written now; never before the last, whatever the clock says."""
    return replace(
        memory, version=memory.version + 1, updated_at=max(now, memory.updated_at + _TICK)
    )


def deleted_version(memory: Memory, now: datetime) -> Memory:
    """The next version, deleted.

    Raises:
        AlreadyDeleted: it is.
    """
    if memory.deleted_at is not None:
        raise errors.AlreadyDeleted(f"memory {memory.id} is deleted already")
    deleted = next_version(memory, now)
    return replace(deleted, deleted_at=deleted.updated_at)


def restored_version(memory: Memory, now: datetime) -> Memory:
    """The next version, there again.

    Raises:
        NotDeleted: it was not gone.
    """
    if memory.deleted_at is None:
        raise errors.NotDeleted(f"memory {memory.id} is not deleted")
    return next_version(replace(memory, deleted_at=None), now)


def draft_of(memory: Memory) -> Draft:
    """What a caller would have to say to get this version."""
    return Draft(
        content=memory.content,
        category=memory.category,
        tags=memory.tags,
        keywords=memory.keywords,
        importance=memory.importance,
        sensitive=memory.sensitive,
        created_at=memory.created_at,
        valid_from=memory.valid_from,
        valid_to=memory.valid_to,
        provenance=memory.provenance,
    )


def apply(changes: Changes, draft: Draft) -> Draft:
    """The draft with the changes made."""
    given = {
        name: value
        for name in Changes.__dataclass_fields__
        if name != "always_valid" and (value := getattr(changes, name)) is not None
    }
    spans = {"valid_from": None, "valid_to": None} if changes.always_valid else {}
    return replace(draft, **(spans | given))


def with_draft(memory: Memory, draft: Draft) -> Memory:
    """The memory with what a draft says."""
    return replace(
        memory,
        content=draft.content,
        category=draft.category,
        tags=draft.tags,
        keywords=draft.keywords,
        importance=draft.importance,
        sensitive=draft.sensitive,
        created_at=draft.created_at or memory.created_at,
        valid_from=draft.valid_from,
        valid_to=draft.valid_to,
        provenance=draft.provenance,
    )

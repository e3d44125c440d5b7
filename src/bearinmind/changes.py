"""The nouns of syncing that stores keep: what changed, under which number, and its present state.

A store that takes part numbers the changes of a scope; each thing that can change (a memory, a
link, a share, a conflict) is kept once, under the number of its last change. Replicas ask a server
for these numbers, and a replica must have seen the last one before it may change a thing. On a
replica they name what the server does not have yet.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from enum import StrEnum
from operator import attrgetter
from typing import NamedTuple

from bearinmind.errors import MindError
from bearinmind.types import (
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Provenance,
    Resolution,
    Share,
    UserId,
)

MOST_CONFLICTS = 100_000  # between machines, that are read together
_as_json = json.JSONEncoder(ensure_ascii=False).encode  # `dumps` would make one for every text


class SubjectKind(StrEnum):
    """What can change."""

    MEMORY = "memory"  #: named by its id
    LINK = "link"  #: named by its source, kind and target
    SHARE = "share"  #: named by its reader and what is shared
    CONFLICT = "conflict"  #: named by its kind, what it is about and both versions


class Subject(NamedTuple):
    """One thing that can change; its name is a JSON list of texts."""

    kind: SubjectKind
    name: str

    @property
    def parts(self) -> tuple[str, ...]:
        """What the name is made of."""
        return tuple(json.loads(self.name))

    @property
    def is_sound(self) -> bool:
        """Whether such a thing can have this name, and it is spelled as we spell it."""
        try:
            parts = json.loads(self.name)
        except (ValueError, RecursionError):
            return False
        if not isinstance(parts, list) or not all(isinstance(x, str) for x in parts):
            return False
        if self.kind is SubjectKind.CONFLICT:
            return _names_conflict(parts) and _subject(self.kind, *parts) == self
        if self.kind is SubjectKind.MEMORY:
            fits = len(parts) == 1
        else:
            middle = [*LinkKind] if self.kind is SubjectKind.LINK else ["memory", "tag"]
            fits = len(parts) == 3 and parts[1] in middle  # noqa: PLR2004 (as they are made below)
        return fits and all(parts) and _subject(self.kind, *parts) == self

    @property
    def label(self) -> str:
        """What it is, for people."""
        if self.kind is SubjectKind.CONFLICT:
            _, kind, name, *_ = self.parts
            return f"{self.kind} about {Subject(SubjectKind(kind), name).label}"
        return f"{self.kind} {' '.join(self.parts)}"


def _names_conflict(parts: list[str]) -> bool:
    """Whether a conflict can have this name; versions that it does not have are empty.

    One of decisions is about a link, and has a word of each in their place.
    """
    if len(parts) != 5 or parts[0] not in {*ConflictKind}:  # noqa: PLR2004 (as they are made below)
        return False
    conflict, kind, name, *words = parts
    if conflict == ConflictKind.DECIDED and (kind != SubjectKind.LINK or {*words} - {*Resolution}):
        return False
    about = Subject(SubjectKind(kind), name) if kind in {*SubjectKind} else None
    return about is not None and about.kind is not SubjectKind.CONFLICT and about.is_sound


def memory_subject(id: MemoryId) -> Subject:
    """A memory: every version of it."""
    return _subject(SubjectKind.MEMORY, id)


def link_subject(source: MemoryId, kind: LinkKind, target: MemoryId) -> Subject:
    """A link between two memories, whether it exists now or not."""
    return _subject(SubjectKind.LINK, source, kind, target)


def share_subject(reader: UserId, memory: MemoryId | None, tag: str | None) -> Subject:
    """A share with a reader, whether it exists now or not."""
    what = ("memory", memory) if memory is not None else ("tag", tag or "")
    return _subject(SubjectKind.SHARE, reader, *what)


def conflict_subject(conflict: SyncConflict) -> Subject:
    """A conflict between two replicas, whether it is decided or not."""
    about, versions = conflict.subject, (conflict.served, conflict.other)
    return _subject(SubjectKind.CONFLICT, conflict.kind, about.kind, about.name, *versions)


def _subject(kind: SubjectKind, *parts: str) -> Subject:
    return Subject(kind, _as_json(parts))


class Change(NamedTuple):
    """The last change of a thing, under its number."""

    subject: Subject
    number: int
    #: Of a memory that was purged: the digests of every version that it had.
    gone: tuple[str, ...] = ()
    refused: str | None = None  #: why the server does not take it, on a replica


def digest(memory: Memory) -> str:
    """The hash of a version, the same in every store, under whatever number it is kept there.

    It does not hash the secret of a sensitive version: two of one digest are the same only if
    their sealed records are equal too.
    """
    values = [*map(_plain, _hashed(memory))]
    return hashlib.sha256(_as_json(values).encode()).hexdigest()[:32]


def is_same_version(one: Memory, other: Memory) -> bool:
    """Whether two versions have the same digest; comparing them first is much quicker."""
    return one == other or digest(one) == digest(other)


#: All of a version but its number, which may differ from store to store, and its owner.
_hashed = attrgetter(
    *(x.name for x in fields(Memory) if x.name not in {"owner", "version", "provenance"}),
    *(f"provenance.{x.name}" for x in fields(Provenance)),
)


def _plain(value: object) -> object:
    """A value of a field as JSON can hold it, the same for equal values."""
    if isinstance(value, datetime):
        in_utc = value if value.tzinfo is UTC else value.astimezone(UTC)
        return in_utc.isoformat(timespec="microseconds")
    return float(value) if type(value) is int else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """The numbering of the changes of a scope."""

    epoch: str  #: another one when the numbering began anew: numbers of two are never compared
    head: int  #: the number of the last change


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """The server with which a replica syncs, and how far it has come."""

    url: str
    user: UserId  #: who the replica is there
    epoch: str = ""  #: of the server's feed; empty before the first pull
    cursor: int = 0  #: up to which number of it everything was taken
    pulled_at: datetime | None = None
    pushed_at: datetime | None = None
    pull_error: str | None = None  #: why the last attempt failed, if it did
    push_error: str | None = None
    shared_at: datetime | None = None  #: when it was last looked at what others share
    shared_error: str | None = None


class ConflictKind(StrEnum):
    """How two replicas contradicted each other."""

    EDITED = "edited"  #: both changed the same part of a memory
    PURGED = "purged"  #: one purged what the other changed; it is kept
    LINKED = "linked"  #: a link that another one makes impossible; it is dropped
    DECIDED = "decided"  #: both decided about two memories, neither knowing of the other


class SyncConflict(NamedTuple):
    """A conflict between two replicas; both versions are in the history.

    Of two decisions `served` is the later one, as a word about the first memory of the link.
    """

    number: int  #: 0 before it is kept
    kind: ConflictKind
    subject: Subject
    served: str  #: the digest of the version that is served; empty for a link
    other: str  #: the digest of the one that is not
    detail: str  #: which fields, or why
    at: datetime
    resolved_at: datetime | None = None

    @property
    def pair(self) -> frozenset[str]:
        """The two memories that were decided about; of other conflicts none."""
        return frozenset(self.subject.parts[::2] if self.kind is ConflictKind.DECIDED else ())

    def joined(self, other: SyncConflict) -> SyncConflict:
        """One conflict as two sides know it: the later state, decided if either is."""
        if self.at != other.at:
            return max(self, other, key=lambda conflict: conflict.at)
        ends = [x.resolved_at for x in (self, other) if x.resolved_at is not None]
        return self._replace(resolved_at=min(ends, default=None))


class ConflictState(NamedTuple):
    """The state of a conflict, if it is known; each store gives it a number of its own."""

    conflict: SyncConflict | None


class LinkState(NamedTuple):
    """Every link there ever was between two memories, of one kind, oldest first."""

    links: tuple[Link, ...]


class ShareState(NamedTuple):
    """The share that holds, if one does."""

    share: Share | None


class Taken(NamedTuple):
    """A change was taken; its thing has this number now."""

    number: int


class Stale(NamedTuple):
    """A change was not taken: its thing has another number than the sender knew."""

    number: int


class Refused(NamedTuple):
    """A change was not taken, and will not be as it is."""

    error: MindError


Verdict = Taken | Stale | Refused

"""The nouns of the sync room: what a replica and its server send each other, and how far they are.

`bearinmind.changes` has the nouns that stores keep: protocols need them, and are below the rooms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from bearinmind.changes import Peer, Subject, SubjectKind, SyncConflict, Verdict
from bearinmind.errors import InvalidChange, MindError
from bearinmind.protocols import History, Sealed, SubjectState, Vault
from bearinmind.types import Link, Memory, MemoryId, Right, UserId

if TYPE_CHECKING:  # numpy
    from bearinmind.protocols import Vector

PAGE_BYTES = 500_000  # of the texts of changes: any proxy lets an answer of this size through
_BESIDE_CONTENT = 500  # bytes of a version that are not its content, about
_HALF = "<f2"  # float16, little-endian
NEVER_SENT = "not sent yet"
CHANGED = "changed since it was sent"


# ---- messages ----------------------------------------------------------------------------------


class Operation(NamedTuple):
    """A state that a replica wants a subject to have."""

    subject: Subject
    base: int  #: the server's number that the replica has seen; 0: it has seen none
    state: SubjectState


class Arrived(NamedTuple):
    """A change as it comes from a server."""

    subject: Subject
    number: int
    state: SubjectState


@dataclass(frozen=True, slots=True, kw_only=True)
class SentVector:
    """The vector of the present version of a memory."""

    memory: MemoryId
    digest: str  #: of the version that it belongs to
    values: bytes  #: its numbers: float16, little-endian

    @classmethod
    def of(cls, memory: MemoryId, digest: str, vector: Vector) -> Self:
        """A vector as it is sent, as precisely as stores keep it."""
        return cls(memory=memory, digest=digest, values=vector.astype(_HALF).tobytes())

    def vector(self) -> Vector:
        """The vector, of length 1."""
        import numpy as np  # noqa: PLC0415  most messages have no vectors

        if not self.values or len(self.values) % 2:
            raise InvalidChange(f"the vector of memory {self.memory} has {len(self.values)} bytes")
        vector = np.frombuffer(self.values, _HALF).astype(np.float32)
        length = float(np.linalg.norm(vector))
        if not np.isfinite(length) or length == 0:
            raise InvalidChange(f"the vector of memory {self.memory} has no direction")
        return vector / np.float32(length)


def vectors_by_id(vectors: Sequence[SentVector]) -> dict[MemoryId, tuple[str, Vector]]:
    """Vectors as a store takes them: by memory, with the digests of their versions."""
    return {each.memory: (each.digest, each.vector()) for each in vectors}


class Pulled(NamedTuple):
    """A page of a server's changes."""

    epoch: str
    changes: tuple[Arrived, ...]
    cursor: int  #: the page ends at this number
    more: bool  #: whether there are changes behind it
    vectors: tuple[SentVector, ...] = ()  #: in the requested space


class Seen(NamedTuple):
    """The user of a replica can see this version of another user's memory."""

    owner: UserId
    id: MemoryId
    version: int
    updated_at: datetime
    right: Right
    decided: tuple[Link, ...] = ()  #: that others which the user sees outdate it, or hold beside it


class SharedPage(NamedTuple):
    """A page of what others share, by owner and then id."""

    seen: tuple[Seen, ...] = ()
    cursor: str = ""  #: where the next page begins; empty behind the last one
    unchanged: bool = False  #: the replica has exactly what there is, so nothing is listed


class SharedMemories(NamedTuple):
    """The present versions of memories of another owner."""

    memories: tuple[Memory, ...]
    settled: int  #: so many of the requested memories are answered; some cannot be seen
    vectors: tuple[SentVector, ...] = ()  #: in the requested space


def size_of(state: SubjectState) -> int:
    """About how many bytes a state takes in a message."""
    if not isinstance(state, History):
        return _BESIDE_CONTENT
    texts = sum(len(memory.content.encode()) for memory in state.versions)
    sealed = sum(len(record.ciphertext) for record in state.sealed)
    return texts + sealed * 2 + _BESIDE_CONTENT * (len(state.versions) + len(state.sealed))


# ---- protocols ---------------------------------------------------------------------------------


class Server(Protocol):
    """A server, as one user's replica sees it: their changes, and what others share with them."""

    def pull(self, epoch: str, after: int, limit: int, space: str | None = None) -> Pulled:
        """The changes behind a number; with a space key also vectors, if it is the server's too.

        With an epoch that is not the server's, or none, the page begins at the first change; the
        answer has the server's epoch.
        """

    def push(self, epoch: str, operations: Sequence[Operation]) -> Sequence[Verdict]:
        """Request changes; a verdict for each, in order.

        `FeedRestarted` is raised, and nothing taken, if the epoch is not the server's.
        """

    def shared(self, mark: str, after: str) -> SharedPage:
        """A page of what others share behind a place.

        The mark is a hash of what the replica has; if that is all of it, nothing is listed.
        """

    def shared_memories(
        self, owner: UserId, ids: Sequence[MemoryId], space: str | None = None
    ) -> SharedMemories:
        """Those of these memories that the user can see; with a space key also vectors."""


class Sealing(Protocol):
    """Seals what is sensitive, and opens it."""

    @property
    def vault(self) -> Vault:
        """What encrypts and decrypts."""

    def guard(self, memory: Memory) -> tuple[Memory, tuple[Sealed, ...]]:
        """The memory as it may be kept: sealed if it is flagged or a secret is found in it."""


# ---- reports -----------------------------------------------------------------------------------


def error_text(error: MindError) -> str:
    """What is kept of an error for `sync status`."""
    return f"{error.message} {error.hint}".strip()


class PendingChange(NamedTuple):
    """A change that the server does not have yet."""

    subject: Subject
    reason: str  #: why not


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncStatus:
    """What a replica has sent to its server, and what it has not."""

    peer: Peer
    pending: Mapping[SubjectKind, int]  #: by kind: what the server does not have yet
    refused: int  #: of those: what the server does not take as it is
    listed: tuple[PendingChange, ...]  #: the oldest of them, one by one; refused ones first
    conflicts: int  #: that nobody has resolved
    copied: Mapping[UserId, int] = field(default_factory=dict)  #: others' memories, by owner

    @property
    def waits(self) -> int:
        """How many changes the server does not have yet."""
        return sum(self.pending.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictDetail:
    """A conflict with both versions, as far as they are still there."""

    conflict: SyncConflict
    served: Memory | None = None
    other: Memory | None = None
    present: Memory | None = None  #: what is served by now

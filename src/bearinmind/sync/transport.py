"""What a replica asks of its server."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

from bearinmind.changes import Subject, Verdict
from bearinmind.protocols import SubjectState
from bearinmind.types import Memory, MemoryId, Right, UserId

if TYPE_CHECKING:  # numpy
    from bearinmind.protocols import Vector


class Operation(NamedTuple):
    """A state that a replica wants a subject to have."""

    subject: Subject
    base: int  #: the server's number that the replica has seen; 0: it has seen none
    state: SubjectState

    @property
    def key(self) -> str:
        """The same for the same operation: sent twice, it happens once."""
        said = f"{self.subject.kind} {self.subject.name} {self.base}"
        return hashlib.sha256(said.encode()).hexdigest()[:32]


class Arrived(NamedTuple):
    """A change as it comes from a server."""

    subject: Subject
    number: int
    state: SubjectState


class Pulled(NamedTuple):
    """A stretch of a server's changes."""

    epoch: str
    changes: tuple[Arrived, ...]
    cursor: int  #: everything up to this number has been told
    more: bool  #: whether there are changes behind it
    #: Vectors of present versions by memory, with the version's digest, in the space asked for.
    vectors: Mapping[MemoryId, tuple[str, Vector]] = {}


class Seen(NamedTuple):
    """That the user of a replica can see somebody else's memory, and which version of it."""

    owner: UserId
    id: MemoryId
    version: int
    updated_at: datetime
    right: Right


class SharedPage(NamedTuple):
    """A page of what others share, by owner and then id."""

    seen: tuple[Seen, ...] = ()
    cursor: str = ""  #: where the next page begins; empty behind the last one
    unchanged: bool = False  #: the replica has exactly what there is, so nothing is listed


class SharedMemories(NamedTuple):
    """What memories of another owner say."""

    memories: tuple[Memory, ...]
    settled: int  #: so many of those that were asked for are answered; some cannot be seen
    #: With the version's digest, in the space asked for.
    vectors: Mapping[MemoryId, tuple[str, Vector]] = {}


class SyncServer(Protocol):
    """A server, as one user's replica sees it: the changes of that user."""

    def pull(self, epoch: str, after: int, limit: int, space: str | None = None) -> Pulled:
        """The changes behind a number; with a space key also vectors, if it is the server's too.

        With an epoch that is not the server's, or none, it begins at the beginning; the answer says
        which epoch it is.
        """

    def push(self, epoch: str, operations: Sequence[Operation]) -> Sequence[Verdict]:
        """Ask for changes; a verdict for each, in order.

        Raises:
            FeedRestarted: the epoch is not the server's; nothing was taken.
        """


class SharingServer(Protocol):
    """What a server tells one user of others' memories."""

    def shared(self, mark: str, after: str) -> SharedPage | None:
        """A page of what others share behind a place; None from one of an earlier release.

        The mark says what the replica has; if that is all there is, nothing is listed.
        """

    def shared_memories(
        self, owner: UserId, ids: Sequence[MemoryId], space: str | None = None
    ) -> SharedMemories:
        """What those of these memories say that can be seen; with a space key also vectors."""


class Server(SyncServer, SharingServer, Protocol):
    """All that a replica asks of its server."""

"""What keeps which changes were made, and what a replica knows of its server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

from bearinmind.changes import (
    Change,
    ConflictState,
    Feed,
    LinkState,
    Peer,
    ShareState,
    Subject,
    SyncConflict,
    Verdict,
)
from bearinmind.protocols.memories import History
from bearinmind.types import MemoryId, Scope, Space

if TYPE_CHECKING:  # numpy
    from bearinmind.protocols.search import Vector


class Gone(NamedTuple):
    """A memory that was purged, or never was."""

    digests: tuple[str, ...] = ()  #: by what its versions are known again, see `purged`


SubjectState = History | Gone | LinkState | ShareState | ConflictState


class Received(NamedTuple):
    """A state that a subject is to have."""

    subject: Subject
    state: SubjectState
    expected: int  #: the number that it must have here; 0: none, it never changed or is not pending
    #: Whether the server has exactly this state, so that nothing is left to be told (a replica).
    settled: bool = False
    peer_number: int | None = None  #: the number that it has on the server (a replica)
    conflict: SyncConflict | None = None  #: to be kept and told with it


class Settled(NamedTuple):
    """That the server took what a replica told it."""

    subject: Subject
    number: int  #: under which it was pending here
    peer_number: int  #: that it has there now


class Syncing(Protocol):
    """Numbers the changes of a scope, and takes in those of others.

    Every write of a memory, a link, a share or a conflict is numbered in the same transaction, once
    a scope has a feed; numbers rise in the order in which transactions become visible.
    """

    def open_feed(self, scope: Scope, epoch: str) -> Feed:
        """Number everything that is there, and every change from now on.

        The feed that there is already, if there is one.
        """

    def feed(self, scope: Scope) -> Feed | None:
        """The feed of a scope."""

    def close_feed(self, scope: Scope) -> None:
        """Number no more changes, and forget the peer and what is known of it; memories stay."""

    def changes(self, scope: Scope, after: int, limit: int) -> list[Change]:
        """The changes behind a number, in order; each thing once, under its last number."""

    def numbers(self, scope: Scope, subjects: Sequence[Subject]) -> dict[Subject, int]:
        """The numbers of those things that have one."""

    def states(self, scope: Scope, subjects: Sequence[Subject]) -> dict[Subject, SubjectState]:
        """What stands there now for each of these things."""

    def receive(self, scope: Scope, received: Sequence[Received]) -> list[Verdict]:
        """Give each thing its state, unless it changed meanwhile; one transaction for all.

        A history that goes on where the present one ends is appended; any other one takes its
        place, whole. Two memories may say the same. A thing that is settled has no number any more,
        every other one gets the next.
        """

    def vectors_of(
        self, scope: Scope, space: Space, ids: Sequence[MemoryId]
    ) -> dict[MemoryId, Vector]:
        """The vectors of the present versions of these memories, as far as they are embedded."""

    def carry_vectors(
        self, scope: Scope, space: Space, vectors: Mapping[MemoryId, tuple[str, Vector]]
    ) -> int:
        """Take vectors that were made elsewhere, for the present versions with these digests.

        How many were taken. A version that has its vector, or another digest, is left alone; what
        was waiting to be embedded and is not needed any more leaves the queue.
        """

    # ---- a replica -----------------------------------------------------------------------------

    def peer(self, scope: Scope) -> Peer | None:
        """The server of a replica, and how far it has come with it."""

    def keep_peer(self, scope: Scope, peer: Peer) -> None:
        """Keep how far it has come. With another epoch the numbers of the server are forgotten."""

    def peer_numbers(self, scope: Scope, subjects: Sequence[Subject]) -> dict[Subject, int]:
        """The last numbers that the server gave these things, as far as any is known."""

    def settle(self, scope: Scope, settled: Sequence[Settled]) -> None:
        """Keep the server's numbers; what has not changed since it was sent is pending no more."""

    def refuse(self, scope: Scope, subject: Subject, number: int, reason: str) -> None:
        """Keep why the server does not take a change, until the thing changes again."""

    # ---- conflicts -----------------------------------------------------------------------------

    def conflicts(self, scope: Scope, limit: int, *, every: bool = False) -> list[SyncConflict]:
        """The conflicts that nobody has resolved, oldest first; with `every`, all of them."""

    def resolve_conflict(self, scope: Scope, number: int, at: datetime) -> bool:
        """Take a conflict off the list, here and wherever it is synced; False: it is not on it."""

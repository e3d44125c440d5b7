"""Keeps memories, their versions and links, and the feed of their changes."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple, Protocol

from bearinmind.changes import (
    Change,
    Feed,
    History,
    Peer,
    Received,
    Sealed,
    Settled,
    Subject,
    SubjectState,
    SyncConflict,
    Verdict,
)
from bearinmind.types import Filter, Link, LinkKind, Memory, MemoryId, Outcome, Scope, Space

if TYPE_CHECKING:  # numpy
    from bearinmind.protocols.search import Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page of a list, after a given place in it."""

    limit: int
    after: tuple[datetime, MemoryId] | None = None
    newest_first: bool = True
    by_importance: bool = False  #: the most important first; such a list has one page


def every_memory(store: Memories, filter: Filter, at_once: int = 500) -> Iterator[Memory]:
    """Every memory that a filter admits, oldest first, a page at a time."""
    page = Page(limit=at_once, newest_first=False)
    while memories := store.browse(filter, page):
        yield from memories
        page = replace(page, after=(memories[-1].created_at, memories[-1].id))


class AgentSession(NamedTuple):
    """A session of an agent, by what was remembered in it."""

    session: str
    project: str | None
    agent: str | None
    first: datetime
    last: datetime
    memories: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """What a scope holds."""

    live: int
    superseded: int
    expired: int
    deleted: int
    earlier_versions: int
    links: int
    categories: Mapping[str, int]  #: of what is live
    tags: Mapping[str, int]  #: the most used of what is live
    oldest: datetime | None
    newest: datetime | None
    not_yet_valid: int = 0  #: a list shows them with the expired ones
    # Of others' memories; a store that counts what a scope holds leaves them out.
    shared: int = 0  #: live ones that the scope's user can see
    sharers: int = 0  #: how many users these belong to

    @property
    def held(self) -> int:
        """How many memories the scope holds, in whatever state."""
        return self.live + self.superseded + self.expired + self.not_yet_valid + self.deleted


class MemoryReads(Protocol):
    """Reads memories whose ids are known."""

    def get(self, scope: Scope, id: MemoryId, as_of: datetime | None = None) -> Memory | None:
        """The version of a memory that was the present one at a moment, deleted or not."""

    def get_many(
        self, scope: Scope, ids: Sequence[MemoryId], as_of: datetime | None = None
    ) -> dict[MemoryId, Memory]:
        """The versions of memories that were the present ones at a moment, by id."""


class Memories(MemoryReads, Protocol):
    """Keeps memories and all their versions. Every write is one durable transaction.

    What is sealed under a retired key is refused with `KeyRetired`.
    """

    def put(
        self,
        scope: Scope,
        memory: Memory,
        links: Sequence[Link] = (),
        sealed: Sequence[Sealed] = (),
    ) -> Outcome:
        """Keep a new memory with its links, unless a live one has the same content."""

    def put_many(
        self, scope: Scope, histories: Sequence[History], siblings: Container[MemoryId] = ()
    ) -> list[Outcome | None]:
        """Keep many in one transaction; None where that id is stored already, in any state.

        A memory with the content of one of its siblings is kept too: their origin has both.
        """

    def replace(
        self,
        scope: Scope,
        memory: Memory,
        links: Sequence[Link] = (),
        sealed: Sequence[Sealed] = (),
        concealed: Sequence[Memory] = (),
    ) -> None:
        """Make `memory` the present version of its id, and keep these links with it.

        The version before it must be the present one. `concealed` are earlier versions that become
        sensitive: their text is overwritten, in the index too, and their vectors are removed.

        Raises `VersionConflict` when another version has become the present one meanwhile, and
        `DuplicateContent` when another live memory has the new content.
        """

    def purge(self, scope: Scope, ids: Sequence[MemoryId]) -> bool:
        """Remove these memories, their versions and their links for good; returns as `scrub`."""

    def resolve(self, scope: Scope, prefix: str, limit: int = 5) -> list[MemoryId]:
        """The ids that begin with a prefix, in order."""

    def versions(self, scope: Scope, id: MemoryId) -> list[Memory]:
        """Every version of a memory, oldest first."""

    def same_content(self, scope: Scope, memory: Memory) -> Memory | None:
        """The oldest other live memory with the same content; None for a sensitive one."""

    def browse(self, filter: Filter, page: Page) -> list[Memory]:
        """The memories that a filter admits, by creation time and then id."""

    def count(self, filter: Filter) -> int:
        """How many memories a filter admits."""

    def statistics(self, scope: Scope, now: datetime) -> Statistics:
        """Counts of what a scope holds."""

    def density(self, scope: Scope, width: timedelta) -> list[tuple[datetime, str, int]]:
        """How many live memories of each category were made in each span of time, oldest first."""

    def agent_sessions(self, scope: Scope, limit: int) -> list[AgentSession]:
        """The sessions of agents in which live memories were made, the latest first."""


class LinkReads(Protocol):
    """Reads the links between memories."""

    def has_links(self, scope: Scope) -> bool:
        """Whether a scope has any link, past or present. Most have none: a recall asks first."""

    def links(
        self, scope: Scope, ids: Sequence[MemoryId], as_of: datetime | None = None
    ) -> list[Link]:
        """The links that begin or end at these memories, oldest first."""

    def newer(
        self,
        scope: Scope,
        ids: Sequence[MemoryId],
        as_of: datetime | None = None,
        kinds: Sequence[LinkKind] = (LinkKind.SUPERSEDES,),
    ) -> list[Link]:
        """The links of these kinds above these memories, up the chains; a deleted one has none."""


class Links(LinkReads, Protocol):
    """Keeps the links between memories."""

    def add_link(self, scope: Scope, link: Link) -> None:
        """Keep a link; raises `DuplicateLink`, or `SupersedeCycle` for one against the order."""

    def remove_link(self, scope: Scope, link: Link) -> bool:
        """End a link at `link.removed_at`; False when there is no such link."""

    def change_links(self, scope: Scope, ended: Sequence[Link], new: Sequence[Link]) -> None:
        """End links as `remove_link`, then keep others as `add_link`, in one transaction."""

    def all_links(self, scope: Scope) -> Iterator[Link]:
        """Every link ever made in a scope, removed ones too."""


# ---- changes ------------------------------------------------------------------------------------


class Syncing(Protocol):
    """Numbers the changes of a scope, and takes in those of others.

    Every write of a memory, a link, a share or a conflict is numbered in the same transaction, once
    a scope has a feed; numbers rise in the order in which transactions become visible.
    """

    def open_feed(self, scope: Scope, epoch: str) -> Feed:
        """Number everything that is stored, and every change from now on; an open feed stays."""

    def feed(self, scope: Scope) -> Feed | None:
        """The feed of a scope."""

    def close_feed(self, scope: Scope) -> None:
        """Stop numbering changes, and forget the peer; memories stay."""

    def changes(self, scope: Scope, after: int, limit: int) -> list[Change]:
        """The changes after a number, in order; each thing once, under its last number."""

    def numbers(self, scope: Scope, subjects: Sequence[Subject]) -> dict[Subject, int]:
        """The numbers of those things that have one."""

    def states(self, scope: Scope, subjects: Sequence[Subject]) -> dict[Subject, SubjectState]:
        """The present state of each of these things."""

    def receive(self, scope: Scope, received: Sequence[Received]) -> list[Verdict]:
        """Give each thing its received state, unless it changed meanwhile; in one transaction.

        A history that continues the present one is appended; any other one replaces it. Two
        memories may say the same. A settled thing loses its number, any other one gets the next.
        """

    def vectors_of(
        self, scope: Scope, space: Space, ids: Sequence[MemoryId]
    ) -> dict[MemoryId, Vector]:
        """The vectors of the present versions of these memories, as far as they are embedded."""

    def carry_vectors(
        self, scope: Scope, space: Space, vectors: Mapping[MemoryId, tuple[str, Vector]]
    ) -> int:
        """Take vectors that were made elsewhere, for the present versions with these digests.

        How many were taken. A version that has its vector, or another digest, is left alone. The
        jobs to embed what was taken leave the queue.
        """

    # ---- a replica -----------------------------------------------------------------------------

    def peer(self, scope: Scope) -> Peer | None:
        """The server of a replica, and how far the replica has synced."""

    def keep_peer(self, scope: Scope, peer: Peer) -> None:
        """Keep how far the replica has synced. A new epoch forgets the server's numbers."""

    def peer_numbers(self, scope: Scope, subjects: Sequence[Subject]) -> dict[Subject, int]:
        """The last numbers that the server gave these things, as far as any is known."""

    def settle(self, scope: Scope, settled: Sequence[Settled]) -> None:
        """Keep the server's numbers; what is unchanged since it was sent is no longer pending."""

    def refuse(self, scope: Scope, subject: Subject, number: int, reason: str) -> None:
        """Keep why the server refuses a change, until the thing changes again."""

    # ---- conflicts -----------------------------------------------------------------------------

    def conflicts(self, scope: Scope, limit: int, *, every: bool = False) -> list[SyncConflict]:
        """The conflicts that are not resolved, oldest first; with `every`, all of them."""

    def resolve_conflict(self, scope: Scope, number: int, at: datetime) -> bool:
        """Resolve a conflict, here and wherever it is synced; False when it is not open."""

"""The joints: what the verbs ask of a store, a leg and a fusion, and nothing more."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from recollect.trace import LegReport
from recollect.types import (
    Filter,
    Fused,
    Link,
    Memory,
    MemoryId,
    Outcome,
    Query,
    Ranking,
    Scope,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A stretch of a list, after a given place in it."""

    limit: int
    after: tuple[datetime, MemoryId] | None = None
    newest_first: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A memory as it travels between stores: every version, the present one last."""

    versions: tuple[Memory, ...]


class LexicalMatch(NamedTuple):
    """A memory that holds terms of the query, with the `analysis.Entry` needed to rank it."""

    id: MemoryId
    content: str
    terms: str
    keywords: str
    tags: str
    category: str
    function: str
    length: int
    load: Callable[[], Memory]  #: the memory itself, made only when it is needed


class LexicalStatistics(NamedTuple):
    """What the index knows about its terms."""

    total: int  #: indexed versions of memories
    average_length: float
    frequency: Mapping[str, int]  #: term -> in how many of them it occurs


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a check of the store looked at."""

    name: str
    good: bool
    detail: str


class Memories(Protocol):
    """Keeps memories and all their versions. Every write is one durable transaction."""

    def put(self, scope: Scope, memory: Memory, links: Sequence[Link] = ()) -> Outcome:
        """Keep a new memory with its links, unless a live one has the same content."""

    def put_many(
        self, scope: Scope, histories: Sequence[History], siblings: Container[MemoryId] = ()
    ) -> list[Outcome | None]:
        """Keep many in one transaction; None where that id is stored already, in any state.

        A memory that says the same as one of its siblings is kept all the same: where they come
        from, both were.
        """

    def replace(self, scope: Scope, memory: Memory, links: Sequence[Link] = ()) -> None:
        """Make `memory` the present version of its id, and keep these links with it.

        The version before it must be the present one.

        Raises:
            VersionConflict: another version has become the present one meanwhile.
            DuplicateContent: another live memory says the same, and the version before did not.
        """

    def purge(self, scope: Scope, ids: Sequence[MemoryId]) -> bool:
        """Remove these memories, their versions and their links for good.

        False when traces of the text may remain until another process has ended its reading.
        """

    def get(self, scope: Scope, id: MemoryId, as_of: datetime | None = None) -> Memory | None:
        """The version of a memory that was the present one at a moment, deleted or not."""

    def get_many(
        self, scope: Scope, ids: Sequence[MemoryId], as_of: datetime | None = None
    ) -> dict[MemoryId, Memory]:
        """The same for many."""

    def resolve(self, scope: Scope, prefix: str, limit: int = 5) -> list[MemoryId]:
        """The ids that begin so, in order."""

    def versions(self, scope: Scope, id: MemoryId) -> list[Memory]:
        """Every version of a memory, oldest first."""

    def browse(self, filter: Filter, page: Page) -> list[Memory]:
        """The memories that a filter admits, by creation time and then id."""

    def statistics(self, scope: Scope, now: datetime) -> Statistics:
        """Counts of what a scope holds."""


class Links(Protocol):
    """Keeps the links between memories."""

    def add_link(self, scope: Scope, link: Link) -> None:
        """Keep a link.

        Raises:
            DuplicateLink: the same link is there already.
            SupersedeCycle: the target already supersedes the source, directly or not.
        """

    def remove_link(self, scope: Scope, link: Link) -> bool:
        """Close a link at `link.removed_at`; False when there is none to close."""

    def has_links(self, scope: Scope) -> bool:
        """Whether a scope has any link, past or present: most have none, and recall asks first."""

    def links(
        self, scope: Scope, ids: Sequence[MemoryId], as_of: datetime | None = None
    ) -> list[Link]:
        """The links that begin or end at these memories, oldest first."""

    def all_links(self, scope: Scope) -> Iterator[Link]:
        """Every link ever made in a scope, removed ones too."""

    def superseding(
        self, scope: Scope, ids: Sequence[MemoryId], as_of: datetime | None = None
    ) -> list[Link]:
        """The supersedes links above these memories, as far as their chains go.

        A deleted memory supersedes nothing.
        """


class LexicalSearch(Protocol):
    """Finds memories by the terms of `recollect.analysis`."""

    def lexical_statistics(self, terms: Sequence[str]) -> LexicalStatistics:
        """How frequent the terms are in the whole index."""

    def lexical_matches(
        self,
        filter: Filter,
        terms: Sequence[str],
        *,
        every: bool,
        limit: int,
    ) -> list[LexicalMatch]:
        """The best `limit` admitted memories that hold every, or any, of the terms, by BM25.

        Where any will do, a store may go by the rarest terms alone when those match at least as
        many memories as are wanted.
        """


class Store(Memories, Links, LexicalSearch, Protocol):
    """All that a store does."""

    def check(self) -> list[Finding]:
        """Look for damage; reads only."""

    def close(self) -> None:
        """Release files and connections."""


class Leg(Protocol):
    """One way of producing a ranking."""

    @property
    def name(self) -> str:
        """How the leg is called in traces."""

    def __call__(self, query: Query) -> tuple[Ranking, LegReport]:
        """The leg's ranking of at most `query.pool` memories, and how it did."""


class Fusion(Protocol):
    """Merges the legs' rankings into one; its repr is its recipe."""

    def __call__(self, rankings: Sequence[Ranking]) -> list[Fused]:
        """Every candidate of every leg, best first."""

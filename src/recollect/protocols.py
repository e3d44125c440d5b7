"""The joints: what the verbs ask of a store, a leg and a fusion, and nothing more."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

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
    Space,
    UserId,
)

if TYPE_CHECKING:  # numpy takes a tenth of a second to import, and most commands need none of it
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]  #: of length 1
    Vectors = NDArray[np.float32]  #: a row for each text, each of length 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A stretch of a list, after a given place in it."""

    limit: int
    after: tuple[datetime, MemoryId] | None = None
    newest_first: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """What a sensitive memory says from one version on, encrypted and bound to where it belongs."""

    owner: UserId
    id: MemoryId
    version: int
    key_id: str  #: which key opens it
    nonce: bytes
    ciphertext: bytes
    fingerprint: bytes  #: the same for the same text of an owner; tells nothing without the key


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A memory as it travels between stores: every version, the present one last."""

    versions: tuple[Memory, ...]
    sealed: tuple[Sealed, ...] = ()  #: what its sensitive versions say


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

    def put(
        self,
        scope: Scope,
        memory: Memory,
        links: Sequence[Link] = (),
        sealed: Sequence[Sealed] = (),
    ) -> Outcome:
        """Keep a new memory with its links, unless a live one has the same content.

        Raises:
            KeyRetired: it is sealed under a key that this store no longer takes.
        """

    def put_many(
        self, scope: Scope, histories: Sequence[History], siblings: Container[MemoryId] = ()
    ) -> list[Outcome | None]:
        """Keep many in one transaction; None where that id is stored already, in any state.

        A memory that says the same as one of its siblings is kept all the same: where they come
        from, both were.
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

        Raises:
            KeyRetired: something is sealed under a key that this store no longer takes.
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


class SpaceState(StrEnum):
    """What a vector space is for."""

    ACTIVE = "active"  #: answers semantic recall; at most one
    FILLING = "filling"  #: being embedded, to become the active one; at most one
    RETIRED = "retired"  #: its vectors are kept until they are dropped


class KnownSpace(NamedTuple):
    """A vector space of a store, and how far it is filled."""

    space: Space
    state: SpaceState
    embedded: int  #: versions of memories that have their vector
    waiting: int  #: jobs to do, those that are being done included
    dead: int  #: jobs that were given up


class Nearby(NamedTuple):
    """A memory and how alike its meaning is to the query's."""

    id: MemoryId
    cosine: float


class DenseAnswer(NamedTuple):
    """The nearest memories, and what the whole scope looks like from the query."""

    nearest: list[Nearby]  #: best first; equal ones by id
    searched: int  #: vectors that the filter admits
    mean: float  #: of the cosines of all vectors of the scope, or of a fair sample of them
    deviation: float  #: likewise, the standard deviation


class Spaces(Protocol):
    """Keeps vectors, each in the space that it belongs to.

    A version of a memory that is neither deleted nor sensitive belongs into the active space and
    into the one that is being filled: keeping it queues an `embed` job for each, in the same
    transaction. A version with the same embedded text as the one before takes its vector over.
    """

    def spaces(self) -> list[KnownSpace]:
        """Every space, the active one first, then the one being filled."""

    def use_space(self, space: Space) -> SpaceState:
        """Make sure that memories are embedded into a space.

        The first space of a store becomes the active one. Another one is filled, with a job for
        every version that belongs there, and one that was being filled before is dropped. A
        space that is active or being filled already stays what it is; when the active one is asked
        for again while another is being filled, that other one is dropped.
        """

    def activate_filled(self) -> bool:
        """Make the space being filled the active one if no job is left for it; retire the other."""

    def drop_retired(self) -> int:
        """Remove the vectors of retired spaces; how many there were."""

    def nearest(self, filter: Filter, space: Space, query: Vector, limit: int) -> DenseAnswer:
        """The admitted memories nearest to a query, by cosine.

        Like the other legs' searches it admits superseded and expired memories: recall judges
        those itself.
        """


class Job(NamedTuple):
    """A piece of background work on one version of a memory."""

    number: int
    kind: str  #: such as "embed"
    target: str  #: for "embed" the key of the space
    owner: UserId
    memory: Memory  #: the version that the work is about
    attempts: int  #: how often it was tried before


class WorkState(StrEnum):
    """Where a job stands."""

    WAITING = "waiting"
    RUNNING = "running"  #: claimed, and the claim still holds
    DEAD = "dead"  #: given up after too many attempts


class WorkCount(NamedTuple):
    """How many jobs of a kind are in a state."""

    kind: str
    target: str
    state: WorkState
    jobs: int
    last_error: str | None


class Work(Protocol):
    """The durable queue: what is in it survives any crash, and is done at least once.

    Whole store, not one scope: a worker works for every user. Only it may be given this.
    """

    def claim(self, kinds: Sequence[str], limit: int, now: datetime, until: datetime) -> list[Job]:
        """Take the oldest jobs that are due, or whose claim has run out, until a moment.

        Those for the active space come before those for the one that is being filled.
        A job whose memory was deleted for good meanwhile is gone, not claimed.
        """

    def finish_embedding(self, space: Space, jobs: Sequence[Job], vectors: Vectors) -> int:
        """Keep the vectors and remove the jobs, in one transaction; how many were new.

        A vector is kept once, whoever else did the same job meanwhile.
        """

    def give_back(
        self, jobs: Sequence[Job], error: str, due: datetime, *, dead: bool = False
    ) -> None:
        """Put claimed jobs back for another attempt at a later time, or give them up.

        Without an error they were not tried, and it counts as no attempt.
        """

    def revive(self, kind: str) -> int:
        """Make the dead jobs of a kind wait again; how many there were."""

    def work_counts(self, now: datetime) -> list[WorkCount]:
        """What is in the queue."""

    def next_due(self, now: datetime) -> datetime | None:
        """When the next job can be claimed; None when nothing waits."""


class AuditEntry(NamedTuple):
    """That somebody did something with a secret."""

    at: datetime
    owner: UserId
    action: str  #: such as "get"
    id: MemoryId | None
    version: int | None
    agent: str | None  #: who asked, as far as it is known


class Secrets(Protocol):
    """Keeps what sensitive memories say, encrypted, and who asked for it.

    What a sensitive version says is in the youngest record of its memory that is not younger than
    the version: a version that changes nothing but a tag needs no record of its own. Records come
    with their versions, by `Memories`, and go with them.
    """

    def sealed(self, scope: Scope, id: MemoryId) -> list[Sealed]:
        """Every record of a memory, oldest first."""

    def sensitive(self, scope: Scope) -> list[Memory]:
        """The sensitive memories that are not deleted, newest first."""

    def sealed_under(self) -> dict[str, int]:
        """By key id: how many records of the whole store it opens."""

    def retire_keys(self, key_ids: Sequence[str], now: datetime) -> None:
        """Take no more records that are sealed under these keys."""

    def retired_keys(self) -> frozenset[str]:
        """The keys under which no more records are taken."""

    def sealed_otherwise(self, key_id: str, after: Sealed | None, limit: int) -> list[Sealed]:
        """Records of the whole store under any other key, in an order, behind one of them."""

    def reseal(self, pairs: Sequence[tuple[Sealed, Sealed]]) -> int:
        """Put the second of each pair in the place of the first, in one transaction; how many.

        A record that is gone, or is no longer the first of its pair, is left alone.
        """

    def scrub(self) -> bool:
        """Overwrite what removed text has left behind in the file's log.

        False when another process that is just reading keeps it from being so.
        """

    def note(self, entry: AuditEntry) -> None:
        """Keep an audit entry, durably."""

    def audit(self, scope: Scope, limit: int) -> list[AuditEntry]:
        """The youngest audit entries of a scope, youngest first."""


class Vault(Protocol):
    """Encrypts and decrypts what sensitive memories say."""

    def seal(self, owner: UserId, id: MemoryId, version: int, content: str) -> Sealed:
        """Encrypt a content for one version of one memory of one owner.

        Raises:
            VaultFailure: there is no key, or it cannot be had.
        """

    def open(self, sealed: Sealed) -> str:
        """The content.

        Raises:
            VaultFailure: its key is not here, or it was sealed for something else.
        """

    def fingerprint(self, owner: UserId, content: str) -> bytes:
        """The same for the same content of an owner; tells nothing to whoever lacks the key.

        Raises:
            VaultFailure: there is no key, or it cannot be had.
        """

    def refresh(self) -> None:
        """Read the keys anew: another process may have changed them."""


class Store(Memories, Links, LexicalSearch, Spaces, Work, Secrets, Protocol):
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


class Embedder(Protocol):
    """Turns texts into vectors of one space. Opening it is cheap: the model loads when needed.

    Raises `EmbedderFailure` when it cannot; `EmbedderFailure.permanent` says that trying the same
    text again is of no use.
    """

    @property
    def space(self) -> Space:
        """What its vectors are."""

    @property
    def leaves_machine(self) -> bool:
        """Whether texts are sent to another machine."""

    def embed_memories(self, texts: Sequence[str]) -> Vectors:
        """A row for each text, as memories are embedded."""

    def embed_query(self, text: str) -> Vector:
        """A query's vector."""

    def close(self) -> None:
        """Release the model or the connections."""


class Current(NamedTuple):
    """The space that answers semantic recall, and the embedder for its queries."""

    space: Space
    embedder: Embedder
    waiting: int = 0  #: versions of memories that are to be embedded yet, as was seen last


class Unavailable(NamedTuple):
    """Why there is no semantic recall just now."""

    reason: str
    hint: str = ""
    expected: bool = False  #: nothing is wrong: it is turned off, or nothing is embedded yet


class Passage(NamedTuple):
    """A memory as a reranker sees it."""

    id: MemoryId
    text: str


class Reranker(Protocol):
    """Reads the query and each of the best memories together, and scores how well they fit."""

    @property
    def name(self) -> str:
        """How it is called in traces: its model's identity."""

    def __call__(self, query: str, passages: Sequence[Passage], seconds: float) -> Sequence[float]:
        """A score for each passage, higher is better, within a time.

        Raises:
            RerankerFailure: it could not, or not in time.
        """


class Fusion(Protocol):
    """Merges the legs' rankings into one; its repr is its recipe."""

    def __call__(self, rankings: Sequence[Ranking]) -> list[Fused]:
        """Every candidate of every leg, best first."""

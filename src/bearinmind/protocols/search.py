"""Finds memories by words and by meaning: the store, the models and the legs of a recall."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from bearinmind.protocols.graph import Connections
from bearinmind.protocols.memories import LinkReads, MemoryReads
from bearinmind.trace import LegReport
from bearinmind.types import Filter, Fused, Memory, MemoryId, Query, Ranking, Scope, Space

if TYPE_CHECKING:  # numpy takes a tenth of a second to import
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]  #: of length 1
    Vectors = NDArray[np.float32]  #: a row for each text, each of length 1


class Embedder(Protocol):
    """Turns texts into vectors of one space. Opening it is cheap: the model loads when needed.

    Raises `EmbedderFailure` on failure; `permanent` means that trying again does not help.
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


class Unavailable(NamedTuple):
    """Why there is no semantic recall just now."""

    reason: str
    hint: str = ""
    expected: bool = False  #: nothing is wrong: it is turned off, or nothing is embedded yet


class Reads(StrEnum):
    """What a model that reads two texts together tells."""

    OUTDATES = "outdates"  #: whether the second memory outdates the first
    ANSWERS = "answers"  #: whether a memory, the second text, answers a question


#: From pairs of texts: a number from 0 to 1 for each.
ReadPairs = Callable[[Reads, Sequence[tuple[str, str]]], Sequence[float]]


class Passage(NamedTuple):
    """A memory as a reranker sees it."""

    id: MemoryId
    text: str


class Reranker(Protocol):
    """Reads the query and each of the best memories together, and scores how well they fit."""

    @property
    def name(self) -> str:
        """Its name in traces: the identity of its model."""

    def __call__(self, query: str, passages: Sequence[Passage], seconds: float) -> Sequence[float]:
        """A score for each passage, higher is better, within `seconds`; or `RerankerFailure`."""


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


class LexicalSearch(Protocol):
    """Finds memories by the terms of `bearinmind.text.analysis`."""

    def lexical_statistics(self, scope: Scope, terms: Sequence[str]) -> LexicalStatistics:
        """How frequent the terms are among the scope's own memories, past versions counted."""

    def lexical_matches(
        self, filter: Filter, terms: Sequence[str], *, every: bool, limit: int
    ) -> list[LexicalMatch]:
        """The best `limit` admitted memories that hold every, or any, of the terms, by BM25.

        With any of the terms, a store may search by the rarest alone when those match at least as
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
    """A memory, and the similarity of its meaning to the query."""

    id: MemoryId
    cosine: float


class DenseAnswer(NamedTuple):
    """The nearest memories, and how similar the whole scope is to the query."""

    nearest: list[Nearby]  #: best first; equal ones by id
    searched: int  #: vectors that the filter admits; estimated where an index is searched
    mean: float  #: of the cosines of all vectors of the scope, or of a fair sample of them
    deviation: float  #: their standard deviation
    population: int  #: how many vectors the scope has; estimated where an index is searched
    how: str = ""  #: the method and why it was chosen, for the trace


class NearestSearch(Protocol):
    """Finds memories by their vectors."""

    def nearest(self, filter: Filter, space: Space, query: Vector, limit: int) -> DenseAnswer:
        """The admitted memories nearest to a query, by cosine.

        It admits superseded and expired memories, as the other legs do: recall judges them.
        """

    def cosines(
        self, filter: Filter, space: Space, query: Vector, ids: Sequence[MemoryId]
    ) -> dict[MemoryId, float]:
        """How near these memories are to a query, as far as they are admitted and embedded."""


class Meanings(NearestSearch, Protocol):
    """Finds memories by their meaning."""

    def unembedded(self, scope: Scope, space: Space, jobs: int) -> int:
        """How many present versions of a scope the next jobs are to embed."""


class Spaces(Meanings, Protocol):
    """Keeps vectors, each in the space that it belongs to.

    A version of a memory that is neither deleted nor sensitive belongs in the active space and in
    the one that is being filled: keeping it queues an `embed` job for each, in the same
    transaction. A version with the embedded text of the one before copies its vector.
    """

    def meaning_off(self) -> Unavailable | None:
        """Why vectors cannot be kept, and what to do; None when they can. Jobs to embed wait."""

    def active_space(self) -> Space | None:
        """The space that answers semantic recall, if there is one; nothing is counted."""

    def spaces(self, *, counted: bool = True) -> list[KnownSpace]:
        """Every space, the active one first, then the one being filled.

        Vectors are `counted` over all machines of a store; those that do not answer count nothing.
        """

    def use_space(self, space: Space) -> SpaceState:
        """Have memories embedded into a space.

        The first space of a store becomes the active one. Another one is filled, with a job for
        every version that belongs there, and one that was being filled before is dropped. A space
        that is active or being filled stays so. Using the active one drops the one being filled.
        """

    def activate_filled(self) -> bool:
        """Make the space being filled the active one if no job is left for it; retire the other."""

    def drop_retired(self) -> int:
        """Remove the vectors of retired spaces; how many there were."""

    def index_spaces(self) -> int:
        """Build the indexes that make recalls of some owner faster; how many. It may take long."""


class Readable(MemoryReads, LinkReads, LexicalSearch, Meanings, Connections, Protocol):
    """What a recall reads: a store, or the part of it that a reader can see."""


class Leg(Protocol):
    """A search that produces one ranking."""

    @property
    def name(self) -> str:
        """The name of the leg in traces."""

    def __call__(self, query: Query) -> tuple[Ranking, LegReport]:
        """The leg's ranking of at most `query.pool` memories, and how it did."""


class Following(Protocol):
    """A leg that continues from the rankings of the other legs."""

    @property
    def name(self) -> str:
        """The name of the leg in traces."""

    def __call__(
        self, query: Query, rankings: Sequence[Ranking], scores: Mapping[MemoryId, float]
    ) -> tuple[Ranking, LegReport]:
        """The memories that it leads to, and how it did; `scores` are those of the fusion."""


class Fusion(Protocol):
    """Merges the legs' rankings into one; its repr is its recipe."""

    def __call__(self, rankings: Sequence[Ranking]) -> Sequence[Fused]:
        """Every candidate of every leg, best first."""

    def scores(self, rankings: Sequence[Ranking]) -> Mapping[MemoryId, float]:
        """The score of every candidate of every leg, in no order."""

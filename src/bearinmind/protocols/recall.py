"""The joints of the read path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from bearinmind.protocols.graph import Connections
from bearinmind.protocols.memories import LinkReads, MemoryReads
from bearinmind.protocols.search import LexicalSearch, Meanings
from bearinmind.trace import LegReport
from bearinmind.types import Fused, MemoryId, Query, Ranking


class Readable(MemoryReads, LinkReads, LexicalSearch, Meanings, Connections, Protocol):
    """All that a recall reads: of a store, or of what somebody can see of it."""


class Leg(Protocol):
    """One way of producing a ranking."""

    @property
    def name(self) -> str:
        """How the leg is called in traces."""

    def __call__(self, query: Query) -> tuple[Ranking, LegReport]:
        """The leg's ranking of at most `query.pool` memories, and how it did."""


class Following(Protocol):
    """A leg that goes on from what the other legs found."""

    @property
    def name(self) -> str:
        """How the leg is called in traces."""

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

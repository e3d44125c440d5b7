"""Memories and the concepts that they mention as one bipartite graph in arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from bearinmind.concepts import Mentioned
from bearinmind.protocols import GraphSearch
from bearinmind.types import Filter, MemoryId

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

#: How much a mention counts as an edge; one that counts nothing is none.
Weigh = Callable[[Mentioned], float]

_WHENEVER = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class MentionGraph:
    """Edges between memories and concepts, each once, with their weights."""

    ids: tuple[MemoryId, ...]  #: the memory of each place
    concepts: int
    memory: Places  #: by edge
    concept: Places  #: by edge
    weight: Floats  #: by edge

    @classmethod
    def build(cls, mentions: Iterable[Mentioned], weigh: Weigh) -> MentionGraph:
        """The graph of these mentions."""
        memories: dict[MemoryId, int] = {}
        concepts: dict[str, int] = {}
        edges: dict[tuple[int, int], float] = {}
        for each in mentions:
            weight = weigh(each)
            if weight <= 0.0:
                continue
            memory = memories.setdefault(each.id, len(memories))
            concept = concepts.setdefault(each.concept, len(concepts))
            edges[memory, concept] = max(weight, edges.get((memory, concept), 0.0))
        ends = np.array([*edges], dtype=np.int64).reshape(-1, 2)
        return cls(
            ids=tuple(memories),
            concepts=len(concepts),
            memory=ends[:, 0],
            concept=ends[:, 1],
            weight=np.array([*edges.values()], dtype=np.float64),
        )


@dataclass(frozen=True, slots=True)
class MentionGraphs:
    """The graph of whatever a filter admits, made once for each that differs in more than `now`."""

    search: GraphSearch = field(repr=False)
    weigh: Weigh
    _made: dict[Filter, MentionGraph] = field(default_factory=dict, repr=False)

    def __call__(self, filter: Filter) -> MentionGraph:
        """The graph of the admitted memories."""
        asked = replace(filter, now=_WHENEVER)
        if asked not in self._made:
            mentions = self.search.all_mentions(filter)
            self._made[asked] = MentionGraph.build(mentions, self.weigh)
        return self._made[asked]


def plainly(_mention: Mentioned) -> float:
    """Every mention counts the same."""
    return 1.0

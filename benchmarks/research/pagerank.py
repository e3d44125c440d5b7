"""Personalised PageRank over memories and concepts, as earlier systems put a graph into recall.

A walker starts at a memory that the dense leg found, the nearer the more often; goes to a concept
that it mentions, on to a memory that mentions that one, and so forth; and begins anew now and then.
A memory's score is how often the walker is there (Page et al. 1998; HippoRAG, Gutiérrez et al.
2024, for this use).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from bearinmind.concepts import Role
from bearinmind.trace import LegReport
from bearinmind.types import Candidate, MemoryId, Query, Ranking, Step
from research.mention_graph import (
    Floats,
    MentionGraph,
    MentionGraphs,
    Places,
)

#: How often the walker goes on rather than beginning anew; HippoRAG's choice.
DAMPING = 0.5
_MANY_WAYS = "many ways"  # a walker goes by all of them; there is no one path to show
_ROUNDS = 100
_SETTLED = 1e-10  # the change in a round, over all nodes, after which it is no use to go on


def pagerank(
    graph: MentionGraph, seeds: Mapping[MemoryId, float], damping: float = DAMPING
) -> dict[MemoryId, float]:
    """The score of every memory that can be reached from the seeds, and of the seeds."""
    total = sum(seeds.values())
    if total <= 0.0:
        return {}
    known = {*graph.ids}
    outside = [id_ for id_ in seeds if id_ not in known]
    ids = (*graph.ids, *outside)
    restart = np.array([seeds.get(id_, 0.0) / total for id_ in ids])
    scores = _walked(graph, restart, damping)
    return {ids[place]: float(scores[place]) for place in np.flatnonzero(scores > 0.0)}


def _walked(graph: MentionGraph, restart: Floats, damping: float) -> Floats:
    """Power iteration: the mass on memories, once it moves no more."""
    count = len(restart)
    of_memory = _gathered(graph.memory, graph.weight, count)
    of_concept = _gathered(graph.concept, graph.weight, graph.concepts)
    up = graph.weight / of_memory[graph.memory]  # an edge's share of what its memory gives away
    down = graph.weight / of_concept[graph.concept]
    ends = of_memory == 0.0  # a memory that mentions nothing: the walker begins anew
    memories: Floats = restart
    concepts: Floats = np.zeros(graph.concepts)
    for _ in range(_ROUNDS):
        named = damping * _gathered(graph.concept, memories[graph.memory] * up, graph.concepts)
        again = damping * memories[ends].sum() + 1.0 - damping
        back = damping * _gathered(graph.memory, concepts[graph.concept] * down, count)
        found = back + again * restart
        moved = np.abs(found - memories).sum() + np.abs(named - concepts).sum()
        memories, concepts = found, named
        if moved < _SETTLED:
            break
    return memories


def _gathered(places: Places, amounts: Floats, count: int) -> Floats:
    """What arrives at each of so many places."""
    return np.bincount(places, amounts, minlength=count).astype(np.float64, copy=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRankLeg:
    """Satisfies `bearinmind.protocols.Following`. Its evidence is the share of its best score."""

    graphs: MentionGraphs
    damping: float = DAMPING
    new_alone: bool = False  #: whether what other legs proposed is left out

    @property
    def name(self) -> str:
        """How the leg is called in traces."""
        return "graph"

    def __call__(
        self, query: Query, rankings: Sequence[Ranking], scores: Mapping[MemoryId, float]
    ) -> tuple[Ranking, LegReport]:
        """The memories at which the walker is most often."""
        began = perf_counter()
        seeds = _seeds(rankings, query.pool)
        visits = pagerank(self.graphs(query.filter), seeds, self.damping)
        if self.new_alone:
            for id_ in scores:
                visits.pop(id_, None)
        found = sorted(visits.items(), key=lambda item: (-item[1], item[0]))[: query.pool]
        best = found[0][1] if found else 1.0
        ranking = Ranking(
            leg=self.name,
            candidates=tuple(
                Candidate(id_, score, score / best, score / best) for id_, score in found
            ),
            paths={id_: (Step(None, _MANY_WAYS, Role.NAME, id_),) for id_, _ in found},
            follows=True,
        )
        elapsed = (perf_counter() - began) * 1e3
        return ranking, LegReport(leg=self.name, found=len(found), milliseconds=elapsed)


def _seeds(rankings: Sequence[Ranking], count: int) -> dict[MemoryId, float]:
    """The nearest memories, each by how far it is above the mean."""
    return {
        candidate.id: candidate.score - ranking.floor
        for ranking in rankings
        if ranking.leg == "dense"
        for candidate in ranking.candidates[:count]
        if candidate.score > ranking.floor
    }

"""Other legs that use the graph, measured beside the one that is shipped.

PageRank: a walker starts at a memory that the dense leg found, the nearer the more often; goes to a
concept that it mentions, on to a memory that mentions that one, and so forth; and begins anew now
and then. A memory's score is how often the walker is there (Page et al. 1998; HippoRAG, Gutiérrez
et al. 2024, for this use).

Iterative recall: names in what was found are added to the query, and it is put again. No graph is
walked; each round costs another recall with an embedding of its own.

The graph as a reranker: it may move what another leg proposed, and bring nothing in.

Typed relations in place of plain mentions: a memory that mentions ten concepts may state something
about two of them. A view shows the shipped leg only what a memory relates, or that before all else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from time import perf_counter
from typing import cast

import numpy as np
from numpy.typing import NDArray

from bearinmind.concepts import ConceptName, Mentioned, Role
from bearinmind.protocols import Following, Fusion, GraphSearch, Leg
from bearinmind.recall.graph_leg import Spread
from bearinmind.recall.pipeline import run
from bearinmind.text.names import Text
from bearinmind.trace import LegReport
from bearinmind.types import Candidate, Filter, MemoryId, Query, Ranking, Step

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


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallAgain:
    """Satisfies `bearinmind.protocols.Following`."""

    search: GraphSearch = field(repr=False)
    legs: tuple[Leg, ...] = field(repr=False)
    fusion: Fusion
    rounds: int = 1
    finds: int = 1  #: of how many of the surest finds of a round the names are taken
    names: int = 4  #: how many of them are added in a round, the most specific first
    weight: float = 0.5  #: of what is found with them, beside what the query itself finds

    @property
    def name(self) -> str:
        """How the leg is called in traces."""
        return "graph"

    def __call__(
        self, query: Query, rankings: Sequence[Ranking], scores: Mapping[MemoryId, float]
    ) -> tuple[Ranking, LegReport]:
        """What the legs find once the names that they brought are asked for, too."""
        del rankings  # the legs are asked anew
        began = perf_counter()
        gained: dict[MemoryId, float] = {}
        added: list[ConceptName] = []
        looked_at: set[MemoryId] = set()
        for _ in range(self.rounds):
            surest = self._surest(scores, gained, looked_at)
            looked_at |= {*surest}
            new = self._names(query, surest, added)
            if not new:
                break
            added += new
            asked = replace(query, text=" ".join([query.text, *added]))
            found = self.fusion.scores([run(leg, asked)[0] for leg in self.legs])
            for id_, score in found.items():
                gained[id_] = max(gained.get(id_, 0.0), self.weight * score)
        return self._ranking(gained, added, query.pool), LegReport(
            leg=self.name,
            found=min(len(gained), query.pool),
            milliseconds=(perf_counter() - began) * 1e3,
            detail={"added": [*added]},
        )

    def _surest(
        self,
        scores: Mapping[MemoryId, float],
        gained: Mapping[MemoryId, float],
        looked_at: set[MemoryId],
    ) -> list[MemoryId]:
        """The surest finds whose names were not taken yet."""
        sums = {
            id_: scores.get(id_, 0.0) + gained.get(id_, 0.0)
            for id_ in {*scores, *gained} - looked_at
        }
        return sorted(sums, key=lambda id_: (-sums[id_], id_))[: self.finds]

    def _names(
        self, query: Query, surest: Sequence[MemoryId], added: Sequence[ConceptName]
    ) -> list[ConceptName]:
        """The most specific names in these memories that the query lacks."""
        specificity = Spread().specificity
        said = {*Text(query.text).names, *added}
        found = {
            each.concept: specificity(each.memories)
            for each in self.search.mentions_in(query.filter, surest)
            if each.concept not in said and each.memories > 1  # a name alone leads nowhere
        }
        ordered = sorted(found, key=lambda name: (-found[name], name))
        return [name for name in ordered if found[name]][: self.names]

    def _ranking(
        self, gained: Mapping[MemoryId, float], added: Sequence[ConceptName], pool: int
    ) -> Ranking:
        asked_for = ", ".join(added)  # together: which of them brought a memory is not known
        found = sorted(gained.items(), key=lambda item: (-item[1], item[0]))[:pool]
        return Ranking(
            leg=self.name,
            candidates=tuple(
                Candidate(id_, evidence, min(1.0, evidence), evidence) for id_, evidence in found
            ),
            paths={id_: (Step(None, asked_for, Role.NAME, id_),) for id_, _ in found},
            follows=True,
        )


@dataclass(frozen=True, slots=True)
class OnlyProposed:
    """A leg that goes on from the others, kept to what they found themselves."""

    leg: Following

    @property
    def name(self) -> str:
        """How the leg is called in traces."""
        return self.leg.name

    def __call__(
        self, query: Query, rankings: Sequence[Ranking], scores: Mapping[MemoryId, float]
    ) -> tuple[Ranking, LegReport]:
        """What the leg says of the memories that are candidates already."""
        ranking, report = self.leg(query, rankings, scores)
        kept = tuple(each for each in ranking.candidates if each.id in scores)
        paths = {id_: path for id_, path in ranking.paths.items() if id_ in scores}
        return replace(ranking, candidates=kept, paths=paths), replace(report, found=len(kept))


_MOST_RELATIONS = 2_000  # of all seeds of a hop together


@dataclass(frozen=True, slots=True)
class RelatedView:
    """A graph in which relations decide over what a memory leads on.

    With `alone` only concepts count that the memory relates to another; otherwise those count as
    if nobody else mentioned them, and the others as they are.
    """

    search: GraphSearch = field(repr=False)
    alone: bool = True

    def as_search(self) -> GraphSearch:
        """The view as what it is a view of."""
        return cast("GraphSearch", self)

    def __getattr__(self, name: str) -> object:
        """Whatever else is asked is answered as it is."""
        return getattr(self.search, name)

    def mentions_in(self, filter: Filter, ids: Sequence[MemoryId]) -> list[Mentioned]:
        """What these memories mention, by what they relate."""
        mentions = self.search.mentions_in(filter, ids)
        related = self._related(filter, mentions)
        if self.alone:
            return [each for each in mentions if (each.id, each.concept) in related]
        return [
            each._replace(memories=1) if (each.id, each.concept) in related else each
            for each in mentions
        ]

    def _related(
        self, filter: Filter, mentions: Sequence[Mentioned]
    ) -> set[tuple[MemoryId, ConceptName]]:
        """Each memory with the ends of the relations that it is evidence for."""
        names = {each.concept for each in mentions}
        if not names:
            return set()
        return {
            (id_, end)
            for relation in self.search.relations(filter, names, _MOST_RELATIONS)
            for id_ in relation.evidence
            for end in (relation.source, relation.target)
        }

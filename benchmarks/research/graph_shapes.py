"""Every way of using the graph in recall that is measured: docs/explanation/the-graph.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from bearinmind.concepts import Mentioned, Role
from bearinmind.protocols import GraphSearch
from bearinmind.recall.graph_leg import GraphLeg, Spread
from bearinmind.recall.pipeline import Recall
from bearinmind_bench.product import FollowingOf
from research.graph_legs import (
    MentionGraphs,
    OnlyProposed,
    PageRankLeg,
    RecallAgain,
    RelatedView,
    plainly,
)

WITHOUT = "without the graph"
SHIPPED = "as shipped"
RANKS_ALONE = "RRF without the graph"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One way: settings of the product, and what follows its legs if not what is shipped."""

    name: str
    what: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    following: FollowingOf | None = None
    adds_to: str = WITHOUT  #: the same without the graph


@dataclass(frozen=True, slots=True, kw_only=True)
class Flat(Spread):
    """Every concept tells as much as any other, until it is too common to tell anything."""

    def specificity(self, memories: int) -> float:
        """All, or nothing."""
        return 1.0 if memories < self.too_common else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Alike(Spread):
    """A memory about a concept is one that names it, and no more."""

    def worth(self, role: Role, likeness: float) -> float:
        """The same whatever it does with the concept."""
        del role
        return self.names + self.names_alike * likeness


def _graph(recall: Recall) -> GraphSearch:
    """The graph of the store itself: in a benchmark nobody shares anything."""
    return cast("GraphSearch", recall.store)


def _spread(spread: Spread) -> FollowingOf:
    return lambda recall: (GraphLeg(recall.store, spread),)


def _pagerank(*, specific: bool = False, new_alone: bool = False) -> FollowingOf:
    weigh = _by_specificity if specific else plainly
    return lambda recall: (
        PageRankLeg(graphs=MentionGraphs(_graph(recall), weigh), new_alone=new_alone),
    )


def _by_specificity(mention: Mentioned) -> float:
    return _SHIPPED.specificity(mention.memories)


def _again(rounds: int) -> FollowingOf:
    return lambda recall: (
        RecallAgain(search=_graph(recall), legs=recall.legs, fusion=recall.fusion, rounds=rounds),
    )


def _related(spread: Spread, *, alone: bool) -> FollowingOf:
    return lambda recall: (GraphLeg(RelatedView(_graph(recall), alone=alone).as_search(), spread),)


_SHIPPED = Spread()
_ABOUT_ALONE = Spread(names=0.0, names_alike=0.0)
_RRF: Mapping[str, Any] = {"fusion": "rrf"}
_LIGHT: Mapping[str, Any] = {"fusion": "rrf", "leg_weights": {"graph": 0.35}}

#: The first two are what every other one is compared with.
SHAPES = (
    Shape(
        name=WITHOUT,
        what="words and meaning, fused as shipped",
        settings={"leg_weights": {"graph": 0.0}},
    ),
    Shape(name=SHIPPED, what="one hop from the surest finds, and what the query names"),
    Shape(
        name=RANKS_ALONE,
        what="words and meaning by RRF, k = 60: what the next three add to",
        settings={"fusion": "rrf", "leg_weights": {"graph": 0.0}},
    ),
    Shape(
        name="PageRank as a leg of RRF",
        what="seeded by the dense leg's scores, k = 60, weight 1: the earlier system",
        settings=_RRF,
        following=_pagerank(),
        adds_to=RANKS_ALONE,
    ),
    Shape(
        name="PageRank as a leg of RRF, weight .35",
        what="the same, counting less",
        settings=_LIGHT,
        following=_pagerank(),
        adds_to=RANKS_ALONE,
    ),
    Shape(
        name="PageRank beside RRF, weight .35",
        what="the same, without what other legs found, so that it hardly ever matters",
        settings=_LIGHT,
        following=_pagerank(new_alone=True),
        adds_to=RANKS_ALONE,
    ),
    Shape(
        name="PageRank, added",
        what="node specificity, and shares of its best score added to calibrated evidence",
        following=_pagerank(specific=True),
    ),
    Shape(
        name="reranker of the pool",
        what="as shipped, but only what another leg proposed may gain",
        following=lambda recall: (OnlyProposed(GraphLeg(recall.store)),),
    ),
    Shape(
        name="memories about a concept alone",
        what="no memory that merely names it",
        following=_spread(_ABOUT_ALONE),
    ),
    Shape(
        name="memories that name a concept alone",
        what="nothing for a memory that is about it",
        following=_spread(Spread(about=0.0)),
    ),
    Shape(
        name="about and naming alike",
        what="a memory about a concept counts no more than one that names it",
        following=_spread(Alike()),
    ),
    Shape(
        name="from what the query names alone",
        what="nothing for what the finds lead to",
        following=_spread(Spread(hops=0)),
    ),
    Shape(
        name="from the finds alone",
        what="nothing for what the query names",
        following=_spread(Spread(named=0.0)),
    ),
    Shape(
        name="every concept counts the same",
        what="no specificity, but for concepts that are too common",
        following=_spread(Flat()),
    ),
    Shape(
        name="no concept is too common",
        what="specificity falls to nothing at 100,000 memories only",
        following=_spread(Spread(too_common=100_000)),
    ),
    Shape(
        name="two hops",
        what="and on from what was reached, half as strongly",
        following=_spread(Spread(hops=2)),
    ),
    Shape(
        name="three hops",
        what="and once more",
        following=_spread(Spread(hops=3)),
    ),
    Shape(
        name="every seed counts the same",
        what="no gating: an unsure find leads on as strongly as a sure one",
        following=_spread(Spread(power=0.0)),
    ),
    Shape(
        name="past the seed",
        what="a memory may gain more than the seed has that led to it",
        following=_spread(Spread(below=0.0)),
    ),
    Shape(
        name="without the memory's own likeness",
        what="whatever names the concept counts, however unlike the query",
        following=_spread(Spread(names_alike=0.0)),
    ),
    Shape(
        name="recalled again",
        what="names in the surest find are added to the query, which is put again",
        following=_again(rounds=1),
    ),
    Shape(
        name="recalled again, twice",
        what="and once more with those in the surest new one",
        following=_again(rounds=2),
    ),
    Shape(
        name="over relations alone",
        what="from a seed only over what it relates, to memories about the other end",
        following=_related(_ABOUT_ALONE, alone=True),
    ),
    Shape(
        name="over relations alone, to any memory",
        what="the same, to memories that merely name the other end, too",
        following=_related(_SHIPPED, alone=True),
    ),
    Shape(
        name="related concepts first",
        what="what a seed relates counts as if nobody else mentioned it",
        following=_related(_SHIPPED, alone=False),
    ),
)

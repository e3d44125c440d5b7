"""Every way of using the graph in recall that is measured: docs/explanation/the-graph.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from recollect.bench.graph_shapes.again import RecallAgain
from recollect.bench.graph_shapes.mention_graph import MentionGraphs, plainly
from recollect.bench.graph_shapes.pagerank import PageRankLeg
from recollect.bench.graph_shapes.proposed import OnlyProposed
from recollect.bench.graph_shapes.typed import RelatedView
from recollect.bench.product import FollowingOf
from recollect.protocols import Following
from recollect.recall.graph import GraphLeg, Spread
from recollect.recall.pipeline import Recall

WITHOUT = "without the graph"
SHIPPED = "as shipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One way: settings of the product, and what follows its legs if not what is shipped."""

    name: str
    what: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    following: FollowingOf | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flat(Spread):
    """Every concept tells as much as any other, until it is too common to tell anything."""

    def specificity(self, memories: int) -> float:
        """All, or nothing."""
        return 1.0 if memories < self.too_common else 0.0


def _spread(spread: Spread) -> FollowingOf:
    return lambda recall: (GraphLeg(recall.store, spread),)


def _pagerank(*, specific: bool = False, new_alone: bool = False) -> FollowingOf:
    """PageRank; its graphs are kept as long as the product that it follows in."""
    weigh = (lambda each: Spread().specificity(each.memories)) if specific else plainly
    made: dict[int, MentionGraphs] = {}

    def following(recall: Recall) -> tuple[Following, ...]:
        graphs = made.setdefault(id(recall.store), MentionGraphs(recall.store, weigh))
        return (PageRankLeg(graphs=graphs, new_alone=new_alone),)

    return following


def _again(rounds: int) -> FollowingOf:
    return lambda recall: (
        RecallAgain(search=recall.store, legs=recall.legs, fusion=recall.fusion, rounds=rounds),
    )


def _related(*, alone: bool) -> FollowingOf:
    spread = Spread(names=0.0, names_alike=0.0) if alone else Spread()
    return lambda recall: (GraphLeg(RelatedView(recall.store, alone=alone).as_search(), spread),)

"""Embeddings of concepts: seeds for a question that names nothing exactly, and synonym edges.

`near N` takes the subjects whose names are nearest to the whole question, above a floor, for named
by it. `synonyms` lets a concept of a seed lead on to memories about a subject with a near name.
Everything else is as shipped. Development queries; each arm is compared with what is shipped.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

import arms
from bearinmind.concepts import ConceptName, Mentioned, Role
from bearinmind.protocols import Embedder, GraphSearch
from bearinmind.recall.graph_leg import TOO_COMMON, GraphLeg
from bearinmind.recall.pipeline import Recall
from bearinmind.trace import LegReport
from bearinmind.types import Filter, MemoryId, Query, Ranking
from bearinmind_bench import metrics
from bearinmind_bench.corpus import EmbeddersOfRun, kept
from bearinmind_bench.metrics import HEADLINE
from bearinmind_bench.product import FollowingOf, Product
from bearinmind_bench.sweep import tunable_split
from questions import found
from questions.encoders import opened

Floats = NDArray[np.float32]
NEAR = ((1, 0.75), (1, 0.85), (3, 0.75))
SYNONYMS = (0.85, 0.9, 0.95)


@dataclass(slots=True)
class Subjects:
    """The names of what memories are about, as vectors, by owner."""

    embedder: Embedder
    _of: dict[str, tuple[list[ConceptName], Floats]] = field(default_factory=dict)
    _known: dict[str, Floats] = field(default_factory=dict)

    def near(
        self, search: GraphSearch, filter: Filter, vector: Floats, most: int, floor: float
    ) -> list[ConceptName]:
        """The subjects nearest to a vector, the nearest first."""
        names, vectors = self._vectors(search, filter)
        if not names:
            return []
        cosines = vectors @ vector
        best = np.argsort(-cosines)[:most]
        return [names[place] for place in best if cosines[place] >= floor]

    def vector(self, name: str) -> Floats:
        """The vector of a name."""
        if name not in self._known:
            self._known[name] = _unit(self.embedder.embed_memories([name]))[0]
        return self._known[name]

    def _vectors(self, search: GraphSearch, filter: Filter) -> tuple[list[ConceptName], Floats]:
        owner = str(filter.scope)
        if owner not in self._of:
            names = sorted(
                {
                    each.concept
                    for each in search.all_mentions(filter)
                    if each.role is Role.SUBJECT and each.memories < TOO_COMMON
                }
            )
            vectors = (
                _unit(self.embedder.embed_memories(names))
                if names
                else np.zeros((0, 1), np.float32)
            )
            self._of[owner] = (names, vectors)
        return self._of[owner]


def _unit(vectors: Any) -> Floats:  # noqa: ANN401  what an embedder gives
    array = np.asarray(vectors, dtype=np.float32)
    return cast("Floats", array / np.linalg.norm(array, axis=1, keepdims=True))


@dataclass(frozen=True, slots=True)
class NearSeeds:
    """The shipped leg, told that the question names the nearest subjects."""

    leg: GraphLeg
    search: GraphSearch
    subjects: Subjects
    most: int
    floor: float
    name: str = "graph"

    def __call__(
        self, query: Query, rankings: Sequence[Ranking], scores: Mapping[MemoryId, float]
    ) -> tuple[Ranking, LegReport]:
        """What it finds with the names of these subjects after the question."""
        vector = self.subjects.vector(query.text)
        near = self.subjects.near(self.search, query.filter, vector, self.most, self.floor)
        return self.leg(replace(query, text=". ".join([query.text, *near])), rankings, scores)


@dataclass(frozen=True, slots=True)
class SynonymView:
    """A graph in which a concept is mentioned where a subject with a near name is."""

    search: GraphSearch
    subjects: Subjects
    floor: float

    def __getattr__(self, name: str) -> object:
        """Whatever else is asked is answered as it is."""
        return getattr(self.search, name)

    def mentioning(
        self, filter: Filter, names: Collection[ConceptName], limit: int, role: Role | None = None
    ) -> list[Mentioned]:
        """Who mentions these concepts, or is about a synonym of one."""
        given = self.search.mentioning(filter, names, limit, role)
        for name in names:
            near = self.subjects.near(
                self.search, filter, self.subjects.vector(name), 3, self.floor
            )
            others = [other for other in near if other not in names]
            if others:
                about = self.search.mentioning(filter, others, limit, Role.SUBJECT)
                given += [each._replace(concept=name) for each in about]
        return given


def _near(subjects: Subjects, most: int, floor: float) -> FollowingOf:
    def following(recall: Recall) -> tuple[NearSeeds]:
        search = cast("GraphSearch", recall.store)
        return (NearSeeds(GraphLeg(recall.store), search, subjects, most, floor),)

    return following


def _synonyms(subjects: Subjects, floor: float) -> FollowingOf:
    def following(recall: Recall) -> tuple[GraphLeg]:
        view = SynonymView(cast("GraphSearch", recall.store), subjects, floor)
        return (GraphLeg(cast("GraphSearch", view)),)

    return following


def measure(folder: Path, choice: Sequence[str]) -> found.Found:
    """nDCG@10 of what is shipped, and how each arm differs."""
    del choice
    scores: dict[str, list[float]] = {}
    with arms.filled(folder) as (data, stored), opened("local") as embedder:
        subjects = Subjects(kept(embedder))
        tried: dict[str, FollowingOf | None] = {"as shipped": None}
        tried |= {f"near {most}, {floor}": _near(subjects, most, floor) for most, floor in NEAR}
        tried |= {f"synonyms, {floor}": _synonyms(subjects, floor) for floor in SYNONYMS}
        embedders = EmbeddersOfRun(keep_queries=True)
        queries = [query for query in data.of_split(tunable_split(data)) if query.relevant]
        for name, following in tried.items():
            product = Product(stored, {}, embedders, following=following)
            product.embed()
            scores[name] = [
                metrics.score(product.ask(query).ranked, query.relevant, data.top_grade)[HEADLINE]
                for query in queries
            ]
            if product.faults:
                raise SystemExit(f"{data.name}, {name}: {product.faults[0]}")
        embedders.close()
    base = scores.pop("as shipped")
    return {
        "split": tunable_split(data),
        "queries": len(queries),
        "as shipped": round(statistics.fmean(base), 4),
        "arms": found.compared(base, scores),
    }

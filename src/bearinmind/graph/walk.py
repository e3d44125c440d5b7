"""Walks over the concept graph: neighbours, the shortest path, what lies around, hubs.

A step leads from a concept to another by a relation that holds at the filter's moment, or by a
memory that mentions both. Every walk is bounded, and says what it left out.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from bearinmind.concepts import Concept, ConceptName, Mentioned, Relation, Role
from bearinmind.protocols import GraphSearch
from bearinmind.types import Filter, MemoryId, State

MEMORIES_EACH = 50  # the newest that mention a concept: what a hub has more of joins everything
MOST_RELATIONS = 2_000  # of all the concepts that are looked around at once


class Edge(NamedTuple):
    """One step from a concept to another."""

    source: ConceptName
    target: ConceptName
    relations: tuple[Relation, ...]  #: that join the two and hold, either way, the heaviest first
    memories: tuple[MemoryId, ...]  #: that mention both
    known: int  #: memories that mention the target at all

    @property
    def strength(self) -> float:
        """How much it says that memories mention both: little where every other one does."""
        return len(self.memories) / math.log2(2 + self.known)

    @property
    def cost(self) -> float:
        """What it costs a path to take this step: a relation little, a hub much."""
        heaviest = self.relations[0].weight if self.relations else 0.0
        return math.log2(2 + self.known) + (1.0 - heaviest)


class Surroundings(NamedTuple):
    """Every edge around some concepts, by where it begins; and what was not looked at whole."""

    edges: Mapping[ConceptName, tuple[Edge, ...]]
    partly: tuple[ConceptName, ...]  #: mentioned by more memories than were looked at


def holds(relation: Relation, moment: datetime) -> bool:
    """Whether a relation held at a moment."""
    begun = relation.valid_from is None or relation.valid_from <= moment
    return begun and (relation.valid_to is None or moment < relation.valid_to)


def look_around(
    search: GraphSearch, filter: Filter, names: Collection[ConceptName]
) -> Surroundings:
    """One step from each of these concepts, as far as the filter admits what leads there."""
    related = _related(search, filter, names)
    mentioned = search.mentioning(filter, names, MEMORIES_EACH)
    together, known = _together(search, filter, mentioned)
    unknown = {end for ends in related.values() for end in ends} - known.keys()
    known |= {
        name: concept.memories for name, concept in search.concepts(filter.scope, unknown).items()
    }
    edges = {name: _edges(name, related[name], together[name], known) for name in names}
    return Surroundings(edges=edges, partly=_partly(mentioned))


def concepts_of(search: GraphSearch, filter: Filter, names: Iterable[ConceptName]) -> list[Concept]:
    """The concepts with these names, in their order; what is none any more is left out."""
    ordered = [*names]
    concepts = search.concepts(filter.scope, ordered)
    return [concepts[name] for name in ordered if name in concepts]


def _related(
    search: GraphSearch, filter: Filter, names: Collection[ConceptName]
) -> defaultdict[ConceptName, dict[ConceptName, list[Relation]]]:
    """By concept, by what it is related to: the relations that hold, the heaviest first."""
    related: defaultdict[ConceptName, dict[ConceptName, list[Relation]]] = defaultdict(dict)
    for relation in search.relations(filter, names, MOST_RELATIONS):
        if holds(relation, filter.now) and relation.source != relation.target:
            ends = (relation.source, relation.target)
            for name, other in (ends, ends[::-1]):
                if name in names:
                    related[name].setdefault(other, []).append(relation)
    return related


def _together(
    search: GraphSearch, filter: Filter, mentioned: Iterable[Mentioned]
) -> tuple[
    defaultdict[ConceptName, dict[ConceptName, dict[MemoryId, None]]], dict[ConceptName, int]
]:
    """By concept, by what is mentioned with it: where; and how many memories mention each."""
    beginnings: dict[MemoryId, set[ConceptName]] = {}
    for mention in mentioned:
        beginnings.setdefault(mention.id, set()).add(mention.concept)
    together: defaultdict[ConceptName, dict[ConceptName, dict[MemoryId, None]]] = defaultdict(dict)
    known: dict[ConceptName, int] = {}
    for mention in search.mentions_in(filter, [*beginnings]):
        known[mention.concept] = mention.memories
        for name in beginnings[mention.id] - {mention.concept}:
            together[name].setdefault(mention.concept, {})[mention.id] = None
    return together, known


def _edges(
    name: ConceptName,
    related: Mapping[ConceptName, list[Relation]],
    together: Mapping[ConceptName, Mapping[MemoryId, None]],
    known: Mapping[ConceptName, int],
) -> tuple[Edge, ...]:
    """Relations first, the heaviest before; then what is mentioned together, by its strength."""
    edges = [
        Edge(
            source=name,
            target=target,
            relations=tuple(related.get(target, ())),
            memories=tuple(together.get(target, ())),
            known=known.get(target, 0),
        )
        for target in related.keys() | together.keys()
    ]
    weights = {edge.target: edge.relations[0].weight if edge.relations else -1.0 for edge in edges}
    return tuple(sorted(edges, key=lambda e: (-weights[e.target], -e.strength, e.target)))


def _partly(mentioned: Iterable[Mentioned]) -> tuple[ConceptName, ...]:
    looked: defaultdict[ConceptName, set[MemoryId]] = defaultdict(set)
    whole: dict[ConceptName, int] = {}
    for mention in mentioned:
        looked[mention.concept].add(mention.id)
        whole[mention.concept] = mention.memories
    full = {name for name, ids in looked.items() if len(ids) >= MEMORIES_EACH}
    return tuple(sorted(name for name in full if whole[name] > MEMORIES_EACH))


LONGEST_PATH = 4  #: steps, unless more are asked for; over more of them everything is connected
WIDEST = 60  # concepts of a level that are gone on from: those that the fewest memories mention


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A concept one step away, and what joins the two."""

    concept: Concept
    relations: tuple[Relation, ...]  #: that hold, the heaviest first
    memories: tuple[MemoryId, ...]  #: that mention both


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """What is one step away from a concept."""

    concept: Concept
    found: tuple[Neighbour, ...]  #: by relation first, then by what is mentioned with it
    left_out: int  #: how many more there are
    partly: bool  #: it is a hub, and only the newest memories that mention it were looked at


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """The shortest way from one concept to another, as far as was looked."""

    start: Concept
    goal: Concept
    longest: int
    steps: tuple[Edge, ...]  #: none when there is no way, or the two are one
    passed_over: tuple[ConceptName, ...]  #: hubs that were not gone on from
    partly: tuple[ConceptName, ...]  #: hubs of which only the newest memories were looked at

    @property
    def is_found(self) -> bool:
        """Whether there is a way."""
        return bool(self.steps) or self.start.name == self.goal.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """Two concepts and the memories that mention both."""

    one: ConceptName
    other: ConceptName
    memories: tuple[MemoryId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subgraph:
    """Concepts around a centre, and everything that joins any two of them."""

    centre: Concept
    concepts: tuple[Concept, ...]  #: the centre first, then by distance and strength
    relations: tuple[Relation, ...]
    together: tuple[Together, ...]
    left_out: int  #: concepts that were reached and had no room


# ---- one step ----------------------------------------------------------------------------------


def neighbours(search: GraphSearch, filter: Filter, concept: Concept, limit: int) -> Neighbours:
    """What is one step away: relations first, then what is mentioned with it, by specificity."""
    around = look_around(search, filter, [concept.name])
    edges = around.edges[concept.name]
    concepts = {
        each.name: each
        for each in concepts_of(search, filter, [edge.target for edge in edges[:limit]])
    }
    return Neighbours(
        concept=concept,
        found=tuple(
            Neighbour(
                concept=concepts[edge.target], relations=edge.relations, memories=edge.memories
            )
            for edge in edges[:limit]
            if edge.target in concepts
        ),
        left_out=max(0, len(edges) - limit),
        partly=bool(around.partly),
    )


# ---- from one to another -----------------------------------------------------------------------


@dataclass(slots=True)
class _Side:
    """One end of a path, and how far it has come."""

    frontier: list[ConceptName]
    costs: dict[ConceptName, float]
    arrived_by: dict[ConceptName, Edge] = field(default_factory=dict)
    passed_over: set[ConceptName] = field(default_factory=set)
    partly: set[ConceptName] = field(default_factory=set)

    def advance(self, search: GraphSearch, filter: Filter) -> None:
        """Take one more step in every direction; the cheapest way to each concept is kept."""
        around = look_around(search, filter, self.frontier)
        self.partly.update(around.partly)
        reached = self._cheapest(around)
        for edge, cost in reached.values():
            self.costs[edge.target] = cost
            self.arrived_by[edge.target] = edge
        hubs_last = sorted(reached, key=lambda name: (reached[name][0].known, name))
        self.frontier = hubs_last[:WIDEST]
        self.passed_over.update(hubs_last[WIDEST:])

    def _cheapest(self, around: Surroundings) -> dict[ConceptName, tuple[Edge, float]]:
        reached: dict[ConceptName, tuple[Edge, float]] = {}
        for name in self.frontier:
            for edge in around.edges[name]:
                cost = self.costs[name] + edge.cost
                known = reached.get(edge.target)
                if edge.target not in self.costs and (known is None or cost < known[1]):
                    reached[edge.target] = edge, cost
        return reached

    def way_to(self, name: ConceptName) -> list[Edge]:
        """The edges from this end to a concept."""
        way: list[Edge] = []
        while edge := self.arrived_by.get(name):
            way.append(edge)
            name = edge.source
        return way[::-1]


def path(
    search: GraphSearch, filter: Filter, start: Concept, goal: Concept, longest: int = LONGEST_PATH
) -> Path:
    """The shortest way between two concepts, breadth first from both ends.

    Of ways that are equally short, it is the one over relations and over the concepts that the
    fewest memories mention.
    """
    here, there = (_Side([end.name], {end.name: 0.0}) for end in (start, goal))
    meeting = here.costs.keys() & there.costs.keys()
    steps = 0
    while not meeting and steps < longest and here.frontier and there.frontier:
        side = here if len(here.frontier) <= len(there.frontier) else there
        side.advance(search, filter)
        meeting = here.costs.keys() & there.costs.keys()
        steps += 1
    way: list[Edge] = []
    if meeting:
        middle = min(meeting, key=lambda name: (here.costs[name] + there.costs[name], name))
        back = [
            edge._replace(source=edge.target, target=edge.source)
            for edge in reversed(there.way_to(middle))
        ]
        way = here.way_to(middle) + back
    return Path(
        start=start,
        goal=goal,
        longest=longest,
        steps=tuple(way),
        passed_over=tuple(sorted(here.passed_over | there.passed_over)),
        partly=tuple(sorted(here.partly | there.partly)),
    )


# ---- all around --------------------------------------------------------------------------------


def subgraph(
    search: GraphSearch, filter: Filter, centre: Concept, hops: int, limit: int
) -> Subgraph:
    """The concepts within some steps of a centre, the nearest and strongest first."""
    kept = {centre.name: None}
    frontier = [centre.name]
    left_out: set[ConceptName] = set()
    for _ in range(hops):
        reached = _next_level(look_around(search, filter, frontier), kept.keys())
        frontier = [*islice(reached, limit - len(kept))]
        kept |= dict.fromkeys(frontier)
        left_out.update(reached[len(frontier) :])
        if not frontier:
            break
        frontier = frontier[:WIDEST]
    concepts = concepts_of(search, filter, kept)
    relations, together = _among(look_around(search, filter, [*kept]))
    return Subgraph(
        centre=centre,
        concepts=tuple(concepts),
        relations=relations,
        together=together,
        left_out=len(left_out - kept.keys()),
    )


def _next_level(around: Surroundings, seen: Container[ConceptName]) -> list[ConceptName]:
    """The concepts that are new, the strongest first."""
    best: dict[ConceptName, tuple[float, float]] = {}
    for edges in around.edges.values():
        for edge in edges:
            heaviest = edge.relations[0].weight if edge.relations else 0.0
            rank = -heaviest, -edge.strength
            if edge.target not in seen:
                best[edge.target] = min(best.get(edge.target, rank), rank)
    return sorted(best, key=lambda name: (best[name], name))


def _among(around: Surroundings) -> tuple[tuple[Relation, ...], tuple[Together, ...]]:
    """What joins any two of the concepts that were looked around."""
    relations: dict[int, Relation] = {}
    together: dict[tuple[ConceptName, ConceptName], tuple[MemoryId, ...]] = {}
    for name, edges in around.edges.items():
        for edge in edges:
            if edge.target in around.edges:
                relations |= {relation.number: relation for relation in edge.relations}
                if edge.memories:
                    pair = min(name, edge.target), max(name, edge.target)
                    longer = max(together.get(pair, ()), edge.memories, key=len)
                    together[pair] = longer
    return (
        tuple(relations[number] for number in sorted(relations)),
        tuple(
            Together(one=one, other=other, memories=memories)
            for (one, other), memories in sorted(together.items())
        ),
    )


# ---- hubs --------------------------------------------------------------------------------------


def hubs(
    search: GraphSearch, filter: Filter, limit: int, *, containing: str | None = None
) -> list[Concept]:
    """The concepts that most memories mention, counted among those that the filter admits."""
    if filter.is_scope_alone and filter.states == {State.LIVE}:
        concepts = search.hubs(filter.scope, limit, containing=containing)
        return [concept for concept in concepts if concept.memories]
    mentioning: defaultdict[ConceptName, set[MemoryId]] = defaultdict(set)
    about: defaultdict[ConceptName, set[MemoryId]] = defaultdict(set)
    for mention in search.all_mentions(filter):
        if containing is None or containing in mention.concept:
            mentioning[mention.concept].add(mention.id)
            if mention.role is Role.SUBJECT:
                about[mention.concept].add(mention.id)
    most = sorted(mentioning, key=lambda name: (-len(mentioning[name]), name))[:limit]
    return [
        replace(concept, memories=len(mentioning[concept.name]), subjects=len(about[concept.name]))
        for concept in concepts_of(search, filter, most)
    ]

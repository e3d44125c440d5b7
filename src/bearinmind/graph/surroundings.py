"""What lies one step around some concepts: relations that hold, and memories that mention both."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from bearinmind.concepts import Concept, ConceptName, Mentioned, Relation
from bearinmind.protocols import GraphSearch
from bearinmind.types import Filter, MemoryId

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


def other_end(relation: Relation, name: ConceptName) -> ConceptName:
    """The end of a relation that is not this one."""
    return relation.target if relation.source == name else relation.source


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
    found = search.concepts(filter.scope, ordered)
    return [found[name] for name in ordered if name in found]


def _related(
    search: GraphSearch, filter: Filter, names: Collection[ConceptName]
) -> defaultdict[ConceptName, dict[ConceptName, list[Relation]]]:
    """By concept, by what it is related to: the relations that hold, the heaviest first."""
    found: defaultdict[ConceptName, dict[ConceptName, list[Relation]]] = defaultdict(dict)
    for relation in search.relations(filter, names, MOST_RELATIONS):
        if holds(relation, filter.now) and relation.source != relation.target:
            for name in {relation.source, relation.target}.intersection(names):
                found[name].setdefault(other_end(relation, name), []).append(relation)
    return found


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
    return tuple(sorted(edges, key=_rank))


def _rank(edge: Edge) -> tuple[float, float, ConceptName]:
    heaviest = edge.relations[0].weight if edge.relations else -1.0
    return -heaviest, -edge.strength, edge.target


def _partly(mentioned: Iterable[Mentioned]) -> tuple[ConceptName, ...]:
    looked: defaultdict[ConceptName, set[MemoryId]] = defaultdict(set)
    whole: dict[ConceptName, int] = {}
    for mention in mentioned:
        looked[mention.concept].add(mention.id)
        whole[mention.concept] = mention.memories
    full = {name for name, ids in looked.items() if len(ids) >= MEMORIES_EACH}
    return tuple(sorted(name for name in full if whole[name] > MEMORIES_EACH))

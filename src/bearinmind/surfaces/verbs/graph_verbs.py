"""The verbs of the concept graph: requests, answers, functions and rows.

Most are no tools: a recall follows the graph by itself, and people look around in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Self

from pydantic import Field

from bearinmind.app import Mind
from bearinmind.app.graph import LONGEST, MOST_HOPS
from bearinmind.concepts import Concept, ConceptName, Merge, Relation
from bearinmind.graph.lookup import ConceptCard, MemoryCard
from bearinmind.graph.walk import Edge, Neighbours, Path, Subgraph
from bearinmind.surfaces.verbs.requests import WHOLE, Count, FilterRequest, OneRequest
from bearinmind.surfaces.verbs.verb import MadeOfResult, Tool, Verb, as_data, reads, writes
from bearinmind.surfaces.verbs.verb import Request as _Request
from bearinmind.types import Memory, MemoryId

Name = Annotated[str, Field(min_length=1, max_length=1_000, description="A name, in any case.")]

# ---- requests ------------------------------------------------------------------------------------


class HubsRequest(FilterRequest):
    """Which concepts are listed."""

    limit: Count = 20
    containing: Name | None = None


class ConceptRequest(FilterRequest):
    """A concept, and how many of its memories and relations."""

    concept: Name
    limit: Count = 20


class SubgraphRequest(FilterRequest):
    """The concept around which to look, how far, and for how many."""

    centre: Name
    hops: Annotated[int, Field(ge=1, le=MOST_HOPS), WHOLE] = 1
    limit: Count = 30


class PathRequest(FilterRequest):
    """Two concepts, and how many steps a way between them may have."""

    start: Name
    goal: Name
    longest: Annotated[int, Field(ge=1, le=LONGEST), WHOLE] = 4


class AliasRequest(_Request):
    """A name that was merged into a concept."""

    alias: Name


class MergeRequest(AliasRequest):
    """Two names that are taken for one concept."""

    into: Name
    reason: Annotated[str, Field(max_length=200)] = "said so"


class MergesRequest(_Request):
    """Which merges are listed."""

    undone: bool = Field(False, description="Also those that were undone.")


# ---- answers -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class HubsAnswer(MadeOfResult):
    """Concepts, the one that most memories mention first."""

    concepts: tuple[Concept, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptAnswer(MadeOfResult):
    """A concept with its memories and its relations, past ones included."""

    concept: Concept
    relations: tuple[Relation, ...]
    others: tuple[Concept, ...]  #: at the other ends of the relations
    memories: tuple[Memory, ...]  #: those about it first, then the newest
    as_data: tuple[MemoryId, ...]

    @classmethod
    def of(cls, mind: Mind, card: ConceptCard, request: FilterRequest) -> Self:
        """What is known of a concept."""
        memories = _memories(mind, card.mentions, request)
        ends = {name for relation in card.relations for name in (relation.source, relation.target)}
        return cls(
            concept=card.concept,
            relations=card.relations,
            others=_concepts(mind, ends - {card.concept.name}),
            memories=memories,
            as_data=as_data(mind.scope.user, memories),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PathAnswer(MadeOfResult):
    """A way from a concept to another; without steps there is none, or the two are one."""

    start: Concept
    goal: Concept
    steps: tuple[Edge, ...]
    concepts: tuple[Concept, ...]  #: on the way
    memories: tuple[Memory, ...]  #: that the steps name
    as_data: tuple[MemoryId, ...]

    @classmethod
    def of(cls, mind: Mind, way: Path, request: FilterRequest) -> Self:
        """A way with its concepts and memories."""
        named = dict.fromkeys(id_ for step in way.steps for id_ in step.memories)
        memories = _memories(mind, named, request)
        return cls(
            start=way.start,
            goal=way.goal,
            steps=way.steps,
            concepts=_concepts(mind, {name for step in way.steps for name in step[:2]}),
            memories=memories,
            as_data=as_data(mind.scope.user, memories),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighboursAnswer(MadeOfResult):
    """What is one step away from a concept, with a memory for each step."""

    neighbours: Neighbours
    memories: tuple[Memory, ...]
    as_data: tuple[MemoryId, ...]

    @classmethod
    def of(cls, mind: Mind, neighbours: Neighbours, request: FilterRequest) -> Self:
        """Neighbours with a memory for each."""
        first = dict.fromkeys(id_ for each in neighbours.found for id_ in each.memories[:1])
        memories = _memories(mind, first, request)
        return cls(
            neighbours=neighbours, memories=memories, as_data=as_data(mind.scope.user, memories)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MergesAnswer(MadeOfResult):
    """The merges that hold, oldest first."""

    merges: tuple[Merge, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmergeAnswer:
    """The concept that is separate again."""

    name: ConceptName


# ---- functions -----------------------------------------------------------------------------------


def unmerge(mind: Mind, request: AliasRequest) -> UnmergeAnswer:
    """Undo a merge."""
    return UnmergeAnswer(name=ConceptName(mind.graph.unmerge(request.alias)))


def _memories(mind: Mind, ids: Iterable[MemoryId], request: FilterRequest) -> tuple[Memory, ...]:
    """These memories in their order, as they were at the moment of the request."""
    ordered = [*ids]
    held = mind.graph.memories(ordered, request.as_of) if ordered else {}
    return tuple(held[id_] for id_ in ordered if id_ in held)


def _concepts(mind: Mind, names: Collection[ConceptName]) -> tuple[Concept, ...]:
    """The concepts with these names, by name."""
    held = mind.graph.named(names)
    return tuple(held[name] for name in sorted(held))


# ---- rows ----------------------------------------------------------------------------------------

_MERGE = {"alias": "continuous integration", "into": "ci"}

GRAPH_VERBS: tuple[Verb, ...] = (
    reads(
        name="graph.hubs",
        says="The concepts that most memories mention, perhaps only those with a text in the name.",
        takes=HubsRequest,
        gives=HubsAnswer,
        path="/graph/hubs",
        tool_text=Tool(
            says="List the concepts that most memories mention.",
            fields={"containing": "part of a name", "limit": ""},
            extra=True,
        ),
    ),
    reads(
        name="graph.neighbours",
        says="What is one step away from a concept.",
        takes=ConceptRequest,
        gives=NeighboursAnswer,
        path="/graph/neighbours",
        tool_text=Tool(
            says="Show what a concept is connected to.",
            fields={"concept": "", "limit": "", "as_of": ""},
        ),
    ),
    reads(
        name="graph.concept",
        says="A concept with its memories and its relations, past ones included.",
        takes=ConceptRequest,
        gives=ConceptAnswer,
        path="/graph/concept",
        command="graph show",
    ),
    reads(
        name="graph.subgraph",
        says="The concepts within some steps of one, and what joins them.",
        takes=SubgraphRequest,
        gives=Subgraph,
        path="/graph/around",
    ),
    reads(
        name="graph.path",
        says="The shortest way from a concept to another, over relations and shared memories.",
        takes=PathRequest,
        gives=PathAnswer,
        path="/graph/path",
        tool_text=Tool(
            says="Show how two concepts are connected.",
            fields={"start": "", "goal": ""},
        ),
    ),
    reads(
        name="graph.of_memory",
        says="What a memory mentions, and the relations that it is evidence for.",
        takes=OneRequest,
        gives=MemoryCard,
        path="/memories/{id}/concepts",
        command="get",
    ),
    reads(
        name="graph.merges",
        says="Which names are taken for one concept.",
        takes=MergesRequest,
        gives=MergesAnswer,
        path="/graph/merges",
    ),
    writes(
        name="graph.merge",
        says="Treat a concept as another one; it can be undone.",
        takes=MergeRequest,
        gives=Merge,
        path="/graph/merges",
        status=HTTPStatus.CREATED,
        example=_MERGE,
    ),
    writes(
        name="graph.unmerge",
        says="Undo a merge.",
        function=unmerge,
        path="/graph/merges/end",
        example={"alias": "continuous integration"},
    ),
)

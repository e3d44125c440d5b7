"""The verbs of the concept graph: their requests, their answers, and how each is answered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from bearinmind.app import Mind
from bearinmind.app.graph import LONGEST, MOST_HOPS, MOST_REVIEWED
from bearinmind.concepts import Concept, ConceptName, Merge
from bearinmind.graph.contradictions import Contradiction
from bearinmind.graph.lookup import ConceptCard
from bearinmind.graph.walk import Neighbours, Path, Subgraph
from bearinmind.protocols import GraphCounts
from bearinmind.surfaces.verbs.answers import as_data
from bearinmind.surfaces.verbs.requests import (
    WHOLE,
    Count,
    FilterRequest,
    Nothing,
    Request,
    Word,
)
from bearinmind.types import Memory, MemoryId

Name = Annotated[Word, Field(min_length=1, description="A concept, by its name in any case.")]
Number = Annotated[int, Field(ge=1, le=2**53 - 1, description="The number of a relation."), WHOLE]


# ---- requests ------------------------------------------------------------------------------------


class ConceptRequest(FilterRequest):
    """A concept, among the memories that are meant."""

    concept: Name
    limit: Count = 20


class PathRequest(FilterRequest):
    """Two concepts between which a way is looked for."""

    start: Name
    goal: Name
    longest: Annotated[int, Field(ge=1, le=LONGEST), WHOLE] = Field(
        4, description="The most steps of a way."
    )


class SubgraphRequest(FilterRequest):
    """A concept whose surroundings are wanted."""

    centre: Name
    hops: Annotated[int, Field(ge=1, le=MOST_HOPS), WHOLE] = 1
    limit: Count = Field(30, description="The most concepts.")


class HubsRequest(FilterRequest):
    """Which concepts that many memories mention."""

    limit: Count = 20
    containing: Word | None = Field(None, description="Only with this text in their name.")


class NumberRequest(Request):
    """One relation."""

    number: Number


class UnmergeRequest(Request):
    """A name that was merged into a concept."""

    alias: Name


class MergeRequest(UnmergeRequest):
    """Two concepts that are one."""

    into: Name
    reason: Word = "said so"


class MergesRequest(Request):
    """Which merges are listed."""

    undone: bool = Field(False, description="Also those that were undone.")


class LikelyMergesRequest(Request):
    """Among which concepts likely merges are looked for."""

    limit: Annotated[int, Field(ge=1, le=MOST_REVIEWED), WHOLE] = MOST_REVIEWED
    near: bool = Field(False, description="Also concepts whose names mean nearly the same.")


# ---- answers -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighboursAnswer:
    """What is one step away from a concept, with a memory for each step."""

    neighbours: Neighbours
    memories: tuple[Memory, ...]
    as_data: tuple[MemoryId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PathAnswer:
    """A way from a concept to another, with a memory for each step."""

    found: bool
    way: Path
    memories: tuple[Memory, ...]
    as_data: tuple[MemoryId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptsAnswer:
    """Concepts, those that most memories mention first."""

    concepts: tuple[Concept, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContradictionsAnswer:
    """Relations that cannot both hold, each with what would resolve it."""

    contradictions: tuple[Contradiction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergesAnswer:
    """Concepts that are taken for one, or may be one."""

    merges: tuple[Merge, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetractAnswer:
    """The relation that is not believed any more."""

    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmergeAnswer:
    """The name of the concept that is separate again."""

    name: ConceptName


# ---- functions -----------------------------------------------------------------------------------


def neighbours(mind: Mind, request: ConceptRequest) -> NeighboursAnswer:
    """What is one step away from a concept."""
    answer = mind.graph.neighbours(**request.given())
    memories = _first_of(mind, (each.memories for each in answer.found), request)
    return NeighboursAnswer(
        neighbours=answer, memories=memories, as_data=as_data(mind.scope.user, memories)
    )


def path(mind: Mind, request: PathRequest) -> PathAnswer:
    """The shortest way between two concepts."""
    answer = mind.graph.path(**request.given())
    memories = _first_of(mind, (step.memories for step in answer.steps), request)
    return PathAnswer(
        found=answer.is_found,
        way=answer,
        memories=memories,
        as_data=as_data(mind.scope.user, memories),
    )


def concept(mind: Mind, request: ConceptRequest) -> ConceptCard:
    """A concept with its memories and relations."""
    return mind.graph.concept(**request.given())


def subgraph(mind: Mind, request: SubgraphRequest) -> Subgraph:
    """The concepts around one."""
    return mind.graph.subgraph(**request.given())


def hubs(mind: Mind, request: HubsRequest) -> ConceptsAnswer:
    """The concepts that most memories mention."""
    return ConceptsAnswer(concepts=tuple(mind.graph.hubs(**request.given())))


def counts(mind: Mind, _: Nothing) -> GraphCounts:
    """How much the graph holds."""
    return mind.graph.counts()


def contradictions(mind: Mind, request: FilterRequest) -> ContradictionsAnswer:
    """Relations that cannot both hold."""
    return ContradictionsAnswer(contradictions=tuple(mind.graph.contradictions(**request.given())))


def resolve(mind: Mind, request: NumberRequest) -> Contradiction:
    """Do what is proposed for a contradiction."""
    return mind.graph.resolve(request.number)


def retract(mind: Mind, request: NumberRequest) -> RetractAnswer:
    """Stop believing a relation."""
    mind.graph.retract(request.number)
    return RetractAnswer(number=request.number)


def unmerge(mind: Mind, request: UnmergeRequest) -> UnmergeAnswer:
    """Undo a merge."""
    return UnmergeAnswer(name=ConceptName(mind.graph.unmerge(request.alias)))


def merges(mind: Mind, request: MergesRequest) -> MergesAnswer:
    """The merges that hold."""
    return MergesAnswer(merges=tuple(mind.graph.merges(**request.given())))


def likely_merges(mind: Mind, request: LikelyMergesRequest) -> MergesAnswer:
    """Concepts that may be one."""
    return MergesAnswer(merges=tuple(mind.graph.likely_merges(**request.given())))


def _first_of(
    mind: Mind, steps: Iterable[tuple[MemoryId, ...]], request: FilterRequest
) -> tuple[Memory, ...]:
    """The first memory of each step."""
    ids = dict.fromkeys(id_ for each in steps for id_ in each[:1])
    memories = mind.graph.memories([*ids], request.as_of) if ids else {}
    return tuple(memories[id_] for id_ in ids if id_ in memories)

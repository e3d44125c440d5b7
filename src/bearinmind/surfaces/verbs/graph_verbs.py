"""The verbs of the concept graph: their requests, their answers, and how each is answered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from bearinmind.app import Mind
from bearinmind.app.graph import LONGEST
from bearinmind.concepts import Concept
from bearinmind.graph.walk import Neighbours, Path
from bearinmind.surfaces.verbs.answers import as_data
from bearinmind.surfaces.verbs.requests import WHOLE, Count, FilterRequest, Word
from bearinmind.types import Memory, MemoryId

Name = Annotated[Word, Field(min_length=1, description="A concept, by its name in any case.")]


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


class HubsRequest(FilterRequest):
    """Which concepts that many memories mention."""

    limit: Count = 20
    containing: Word | None = Field(None, description="Only with this text in their name.")


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


def hubs(mind: Mind, request: HubsRequest) -> ConceptsAnswer:
    """The concepts that most memories mention."""
    return ConceptsAnswer(concepts=tuple(mind.graph.hubs(**request.given())))


def _first_of(
    mind: Mind, steps: Iterable[tuple[MemoryId, ...]], request: FilterRequest
) -> tuple[Memory, ...]:
    """The first memory of each step."""
    ids = dict.fromkeys(id_ for each in steps for id_ in each[:1])
    memories = mind.graph.memories([*ids], request.as_of) if ids else {}
    return tuple(memories[id_] for id_ in ids if id_ in memories)

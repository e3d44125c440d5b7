"""Answers of the concept graph as plain data for `--json`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from bearinmind.concepts import Concept, Relation
from bearinmind.graph.cards import ConceptCard, MemoryCard
from bearinmind.graph.contradictions import Contradiction, End
from bearinmind.graph.surroundings import Edge
from bearinmind.graph.walk import Neighbours, Path, Subgraph
from bearinmind.protocols import GraphCounts
from bearinmind.recall.attach import one_line
from bearinmind.types import Memory, MemoryId

Data = dict[str, Any]

NO_COUNTS: Data = dict.fromkeys(GraphCounts._fields, 0)


def concept(value: Concept) -> Data:
    """A concept."""
    return dataclasses.asdict(value)


def relation(value: Relation) -> Data:
    """A relation with its times and its evidence."""
    return dataclasses.asdict(value)


def neighbours(value: Neighbours) -> Data:
    """What is one step away from a concept."""
    return {
        "concept": concept(value.concept),
        "neighbours": [
            {
                "concept": concept(each.concept),
                "relations": [relation(joining) for joining in each.relations],
                "memories": each.memories,
            }
            for each in value.found
        ],
        "left_out": value.left_out,
        "partly": value.partly,
    }


def path(value: Path) -> Data:
    """The shortest way between two concepts."""
    return {
        "from": concept(value.start),
        "to": concept(value.goal),
        "found": value.is_found,
        "steps": [_step(each) for each in value.steps],
        "longest": value.longest,
        "passed_over": value.passed_over,
        "partly": value.partly,
    }


def subgraph(value: Subgraph) -> Data:
    """Concepts and what joins them."""
    return {
        "centre": value.centre.name,
        "concepts": [concept(each) for each in value.concepts],
        "relations": [relation(each) for each in value.relations],
        "together": [dataclasses.asdict(each) for each in value.together],
        "left_out": value.left_out,
    }


def concept_card(value: ConceptCard, said: Mapping[MemoryId, Memory]) -> Data:
    """A concept with its relations and its memories."""
    return {
        "concept": concept(value.concept),
        "relations": [relation(each) for each in value.relations],
        "memories": [
            {"id": id_, "roles": roles, "line": one_line(said[id_].content)}
            for id_, roles in value.mentions.items()
            if id_ in said
        ],
    }


def memory_card(value: MemoryCard) -> Data:
    """What a memory mentions and states."""
    return {
        "concepts": [
            {"name": each.name, "label": each.label, "kind": each.kind, "role": role}
            for role, found in value.concepts.items()
            for each in found
        ],
        "relations": [relation(each) for each in value.relations],
    }


def contradiction(value: Contradiction) -> Data:
    """Two relations that cannot both hold, and what is proposed."""
    proposed = value.proposal
    return {
        "source": value.source,
        "type": value.type,
        "older": relation(value.older),
        "newer": relation(value.newer),
        "proposal": {
            "number": proposed.number,
            "do": "end" if isinstance(proposed, End) else "retract",
            "valid_to": proposed.valid_to if isinstance(proposed, End) else None,
        },
    }


def _step(edge: Edge) -> Data:
    return {
        "from": edge.source,
        "to": edge.target,
        "relations": [relation(each) for each in edge.relations],
        "memories": edge.memories,
    }

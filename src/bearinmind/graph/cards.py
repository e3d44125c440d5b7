"""All that the graph says of one concept, or of one memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bearinmind.concepts import Concept, Relation, Role
from bearinmind.graph.surroundings import MOST_RELATIONS, concepts_of
from bearinmind.protocols import GraphSearch
from bearinmind.types import Filter, MemoryId


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptCard:
    """A concept, where it is mentioned and how it relates, also in the past."""

    concept: Concept
    mentions: Mapping[MemoryId, tuple[Role, ...]]  #: those about it first, then the newest
    relations: tuple[Relation, ...]  #: all that are believed, whenever they held


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCard:
    """What a memory mentions, and the relations that it is evidence for."""

    id: MemoryId
    concepts: Mapping[Role, tuple[Concept, ...]]
    relations: tuple[Relation, ...]


def concept_card(search: GraphSearch, filter: Filter, concept: Concept, limit: int) -> ConceptCard:
    """What is known of a concept; at most so many memories and relations."""
    name = [concept.name]
    about = search.mentioning(filter, name, limit, Role.SUBJECT)
    roles: dict[MemoryId, dict[Role, None]] = {}
    for mention in [*about, *search.mentioning(filter, name, limit)]:
        roles.setdefault(mention.id, {})[mention.role] = None
    return ConceptCard(
        concept=concept,
        mentions={id_: tuple(held) for id_, held in [*roles.items()][:limit]},
        relations=tuple(search.relations(filter, name, limit)),
    )


def memory_card(search: GraphSearch, filter: Filter, id: MemoryId) -> MemoryCard:
    """What the graph has from a memory."""
    mentioned = search.mentions_in(filter, [id])
    names = {mention.concept: None for mention in mentioned}
    known = {concept.name: concept for concept in concepts_of(search, filter, names)}
    concepts = {
        role: tuple(
            known[mention.concept]
            for mention in mentioned
            if mention.role is role and mention.concept in known
        )
        for role in Role
    }
    relations = search.relations(filter, names, MOST_RELATIONS) if names else []
    return MemoryCard(
        id=id,
        concepts={role: found for role, found in concepts.items() if found},
        relations=tuple(relation for relation in relations if id in relation.evidence),
    )

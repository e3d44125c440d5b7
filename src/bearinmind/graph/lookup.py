"""Finds the concept that a person names, and what the graph knows of a concept or a memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from bearinmind.concepts import Concept, ConceptName, Relation, Role
from bearinmind.errors import ConceptNotFound
from bearinmind.graph.walk import MOST_RELATIONS, concepts_of
from bearinmind.protocols import GraphSearch
from bearinmind.text.names import name_of
from bearinmind.types import Filter, MemoryId, Scope, State

_NEAR = 3  # spellings that are offered
_COUNTED = 1_000  # memories, where a filter leaves some out
_LOOKED_AT = 200  # concepts of each part of the name
_BEGINNING = 3  # letters of a word that a misspelling mostly leaves alone


def find(search: GraphSearch, filter: Filter, text: str) -> Concept:
    """The concept that a text names, in any case, counted among the memories that a filter admits.

    A `ConceptNotFound` names the near spellings.
    """
    concept = known(search, filter.scope, text)
    everything = filter.is_scope_alone and filter.states == {State.LIVE}
    name = [concept.name]
    mentioned = search.mentioning(filter, name, 1 if everything else _COUNTED)
    if not mentioned and not search.relations(filter, name, 1):
        raise ConceptNotFound(
            f"no memory that is meant here mentions {concept.label!r}",
            hint="Leave out a filter or --as-of; `bearinmind graph hubs` shows what is mentioned.",
        )
    if everything:
        return concept
    about = {mention.id for mention in mentioned if mention.role is Role.SUBJECT}
    every = {mention.id for mention in mentioned}
    return replace(concept, memories=len(every), subjects=len(about))


def known(search: GraphSearch, scope: Scope, text: str) -> Concept:
    """The concept that a text names, also when no memory mentions it now."""
    name = name_of(text)
    concept = search.concepts(scope, [name]).get(name) if name else None
    if concept is not None:
        return concept
    near = near_spellings(search, scope, name)
    if not near:
        raise ConceptNotFound(f"no memory mentions {text!r}")
    offered = " or ".join(f"`{label}`" for label in near)
    raise ConceptNotFound(f"no memory mentions {text!r}", hint=f"Did you mean {offered}?")


def near_spellings(search: GraphSearch, scope: Scope, name: ConceptName) -> list[str]:
    """The labels of concepts that are spelled almost like this, or hold it, the nearest first."""
    import difflib  # noqa: PLC0415  most names are spelled right

    candidates: dict[str, Concept] = {}
    for word in name.split():
        # One of a word, its beginning and its end is spelled right.
        parts = (word, word[:_BEGINNING], word[-_BEGINNING:])
        for part in parts if len(word) > _BEGINNING else (word,):
            for concept in search.hubs(scope, _LOOKED_AT, containing=part):
                if concept.memories:
                    candidates[concept.name] = concept
    near = difflib.get_close_matches(name, candidates, n=_NEAR, cutoff=0.6)
    holding = [other for other in candidates if name and name in other]
    return [candidates[other].label for other in dict.fromkeys([*near, *holding])][:_NEAR]


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
        concepts={role: members for role, members in concepts.items() if members},
        relations=tuple(relation for relation in relations if id in relation.evidence),
    )

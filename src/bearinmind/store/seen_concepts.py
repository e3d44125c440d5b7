"""Concepts as somebody sees them with whom memories are shared: counted by those memories alone."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from bearinmind.concepts import Concept, ConceptName, Kind, Mentioned
from bearinmind.store import rows
from bearinmind.store.database import Database, Row
from bearinmind.types import Filter


def named(
    database: Database, filter: Filter, names: Collection[ConceptName]
) -> dict[ConceptName, Concept]:
    """Those of these names that a visible memory uses, and what they stand for.

    A name that only hidden memories use is not known, be it merged with one that others use.
    """
    found = standing(database, filter, names)
    return {
        name: concept for name, concept in found.items() if name in (concept.name, *concept.aliases)
    }


def standing(
    database: Database, filter: Filter, names: Collection[ConceptName]
) -> dict[ConceptName, Concept]:
    """What names stand for, as far as visible memories mention it by any of its names."""
    asked = rows.from_place(filter) | {"names": [*dict.fromkeys(names)]}
    by_name: dict[ConceptName, list[Row]] = {}
    for name, *row in database.read("shared_concepts", asked):
        by_name.setdefault(ConceptName(name), []).append(tuple(row))
    return {name: _concept(members) for name, members in by_name.items()}


def recounted(database: Database, filter: Filter, mentioned: list[Mentioned]) -> list[Mentioned]:
    """What memories mention, each concept as the filter's reader sees it.

    Without a reader they are what they are.
    """
    if filter.reader is None or not mentioned:
        return mentioned
    seen = standing(database, filter, {each.concept for each in mentioned})
    return [
        each._replace(concept=as_seen.name, memories=as_seen.memories, subjects=as_seen.subjects)
        for each in mentioned
        if (as_seen := seen.get(each.concept)) is not None
    ]


def _concept(members: Sequence[Row]) -> Concept:
    """A concept from the names by which it is mentioned; its own, if used, goes first."""
    in_order = sorted(members, key=lambda member: (member[1] != member[0], member[1]))
    (_, name, label, kind, *_), *others = in_order
    return Concept(
        name=ConceptName(name),
        label=label,
        kind=Kind(kind),
        memories=sum(member[4] for member in members),
        subjects=sum(member[5] for member in members),
        aliases=tuple(ConceptName(other[1]) for other in others),
    )

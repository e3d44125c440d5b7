"""Reads the concept graph of a store."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from bearinmind.concepts import Concept, ConceptName, Kind, Mentioned, Merge, Relation, Role
from bearinmind.protocols import GraphCounts
from bearinmind.store import rows
from bearinmind.store.database import Database, Parameters, Row
from bearinmind.store.rows import OnDatabase
from bearinmind.text.names import name_of
from bearinmind.types import Filter, MemoryId, Scope

#: What a role counts in `mentions.roles`; the strongest is the lowest.
ROLE_BITS = {Role.SUBJECT: 1, Role.NAME: 2, Role.TAG: 4, Role.KEYWORD: 8}
_STRONGEST = [
    next((role for role, bit in ROLE_BITS.items() if roles & bit), Role.KEYWORD)
    for roles in range(16)
]
_PAGE = 500  # versions or relations that are read at once


#: Its row, id, the roles in which it mentions a concept, and the number of that.
_Version = tuple[int, MemoryId, int, int]


class _ConceptGroup(NamedTuple):
    """A concept that is merged into no other, and the concepts that are merged into it."""

    number: int
    name: ConceptName
    memories: int
    subjects: int
    members: tuple[int, ...] = ()  #: the numbers of the concepts that are merged into it
    aliases: tuple[ConceptName, ...] = ()

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers under which it is mentioned."""
        return (self.number, *self.members)

    def mentioned(self, id: MemoryId, role: Role) -> Mentioned:
        return Mentioned(id, self.name, role, self.memories, self.subjects)

    def concept(self, label: str, kind: str) -> Concept:
        return Concept(
            name=self.name,
            label=label,
            kind=Kind(kind),
            memories=self.memories,
            subjects=self.subjects,
            aliases=self.aliases,
        )


class GraphSearchInDatabase(OnDatabase):
    """Satisfies `bearinmind.protocols.GraphSearch`, but for `read_so_far`, which is in `memories`.

    The counts of a concept are the sums over its names: a memory that mentions it by two of them
    counts twice. A memory mentions a concept in one role, the strongest that it has.
    """

    def concepts(self, scope: Scope, names: Collection[ConceptName]) -> dict[ConceptName, Concept]:
        records = self._database.read("concepts_named", _by_names(scope, names))
        return {ConceptName(name): concept for name, concept in _shown(records)}

    def hubs(self, scope: Scope, limit: int, *, containing: str | None = None) -> list[Concept]:
        part = None if containing is None else name_of(containing) or containing
        parameters = {"owner": scope.user, "limit": limit, "containing": part}
        records = self._database.read("hubs", parameters)
        return [concept for _, concept in _shown(records)]

    def mentions_in(self, filter: Filter, ids: Sequence[MemoryId]) -> list[Mentioned]:
        wanted = rows.from_filter(filter) | {"ids": [*dict.fromkeys(ids)]}
        mentioned = [*_mentioned(self._database.read("mentions_in", wanted))]
        return recount_visible(self._database, filter, mentioned)

    def mentioning(
        self, filter: Filter, names: Collection[ConceptName], limit: int, role: Role | None = None
    ) -> list[Mentioned]:
        # The newest is the one whose present version was written last.
        if filter.reader is not None:
            names = visible_concepts(self._database, filter, names)
        parameters = rows.from_filter(filter) | {"role": None if role is None else ROLE_BITS[role]}
        query = parameters | _by_names(filter.scope, names) | {"limit": limit}
        records = self._database.read("mentioning_named", query)
        standing = _concept_groups(records, 0)
        own: set[_Version] = {row[5:] for row in records if row[6] is not None}
        by_number: dict[int, list[_Version]] = {}
        for version in own | self._further(parameters, standing.values(), limit, role):
            by_number.setdefault(version[3], []).append(version)
        mentioned: list[Mentioned] = []
        for concept in standing.values():
            versions = _newest(by_number, concept)[:limit]
            name, memories, subjects = concept.name, concept.memories, concept.subjects
            mentioned += [
                Mentioned(id_, name, role or _STRONGEST[roles], memories, subjects)
                for _, id_, roles, _ in versions
            ]
        return recount_visible(self._database, filter, mentioned)

    def _further(
        self,
        parameters: Parameters,
        concepts: Collection[_ConceptGroup],
        limit: int,
        role: Role | None,
    ) -> set[_Version]:
        """The versions that mention merged concepts, and the newest that mention common ones.

        One statement for all takes a third of the time of one for each. But only one for each can
        stop at the limit.
        """
        versions: list[_Version] = []
        if rare := [n for each in concepts if each.memories <= limit for n in each.members]:
            versions += self._database.read("mentioning_these", {**parameters, "concepts": rare})
        newest = "about_newest" if role is Role.SUBJECT else "mentioning_newest"
        for number in (n for each in concepts if each.memories > limit for n in each.numbers):
            query = {**parameters, "concept": number, "limit": limit}
            versions += self._database.read(newest, query)
        return {*versions}

    def relations(
        self, filter: Filter, names: Collection[ConceptName], limit: int
    ) -> list[Relation]:
        records = self._database.read("concepts_named", _by_names(filter.scope, names))
        standing = _concept_groups(records, 1)
        numbers = [n for concept in standing.values() for n in concept.numbers]
        page = {"concepts": numbers, "limit": limit}
        return self._related(
            filter, self._database.read("relations_at", rows.from_filter(filter) | page)
        )

    def all_mentions(self, filter: Filter) -> Iterator[Mentioned]:
        parameters = rows.from_filter(filter) | {"after": 0, "limit": _PAGE}
        while page := self._database.read("mentions_after", parameters):
            yield from recount_visible(self._database, filter, [*_mentioned(page)])
            parameters["after"] = page[-1][0]

    def all_relations(self, filter: Filter) -> Iterator[Relation]:
        parameters = rows.from_filter(filter) | {"after": 0, "limit": _PAGE}
        while page := self._database.read("relations_after", parameters):
            yield from self._related(filter, page)
            parameters["after"] = page[-1][0]

    def merges(self, scope: Scope, *, undone: bool = False) -> list[Merge]:
        records = self._database.read("list_merges", {"owner": scope.user, "undone": undone})
        return [rows.to_noun(Merge, row) for row in records]

    def graph_counts(self, scope: Scope) -> GraphCounts:
        return GraphCounts(*self._database.read("graph_counts", {"owner": scope.user})[0])

    # ---- from rows to values -------------------------------------------------------------------

    def _related(self, filter: Filter, records: list[tuple[Any, ...]]) -> list[Relation]:
        """Rows of the `relation` fragment, with the evidence that the filter admits."""
        wanted = {"relations": [row[0] for row in records]}
        evidence: dict[int, list[MemoryId]] = {row[0]: [] for row in records}
        for number, id_ in self._database.read("evidence_of", rows.from_filter(filter) | wanted):
            evidence[number].append(id_)
        return [rows.to_noun(Relation, (*row, tuple(evidence[row[0]]))) for row in records]


def _concept_groups(records: Iterable[Sequence[Any]], first: int) -> dict[int, _ConceptGroup]:
    """Concepts by number, each counted with the concepts that are merged into it.

    The rows have the `concept` fragment from the column `first` on; many repeat a concept.
    """
    standing: dict[int, _ConceptGroup] = {}
    for row in records:
        if row[first] not in standing:
            number, name, memories, subjects, merged = row[first : first + 5]
            if not merged or merged == "[]":  # as of nearly all
                standing[number] = _ConceptGroup(number, name, memories, subjects)
                continue
            members = json.loads(merged) if isinstance(merged, str) else merged
            numbers, names, held, about = zip(*members, strict=True)
            total = (memories + sum(held), subjects + sum(about))
            standing[number] = _ConceptGroup(number, name, *total, numbers, tuple(sorted(names)))
    return standing


def _shown(records: list[tuple[Any, ...]]) -> Iterator[tuple[str, Concept]]:
    """Rows of a name, a `concept`, its label and its kind."""
    standing = _concept_groups(records, 1)
    for name, number, *_, label, kind in records:
        yield name, standing[number].concept(label, kind)


def _mentioned(records: list[tuple[Any, ...]]) -> Iterator[Mentioned]:
    """Rows of a version, its id, roles and a `concept`, those of a version together.

    The strongest mentions come first, equally strong ones by name.
    """
    standing = _concept_groups(records, 3)
    for (_, id_), group in groupby(records, key=itemgetter(0, 1)):
        roles: dict[int, int] = {}
        for _, _, bits, number, *_ in group:
            roles[number] = roles.get(number, 0) | bits
        mentions = [(_STRONGEST[bits], standing[number]) for number, bits in roles.items()]
        mentions.sort(key=lambda each: (ROLE_BITS[each[0]], each[1].name))
        for role, concept in mentions:
            yield concept.mentioned(id_, role)


def _newest(by_number: Mapping[int, list[_Version]], concept: _ConceptGroup) -> list[_Version]:
    """The versions that mention a concept by any of its names, each once, the newest first."""
    versions = by_number.get(concept.number, [])
    if concept.members:
        roles: dict[int, _Version] = {}
        for number in concept.numbers:
            for row, id_, bits, _ in by_number.get(number, ()):
                known = roles[row][2] if row in roles else 0
                roles[row] = (row, id_, bits | known, concept.number)
        versions = [*roles.values()]
    return sorted(versions, reverse=True)


def _by_names(scope: Scope, names: Iterable[ConceptName]) -> dict[str, Any]:
    return {"owner": scope.user, "names": [*dict.fromkeys(names)]}


def visible_concepts(
    database: Database, filter: Filter, names: Collection[ConceptName]
) -> dict[ConceptName, Concept]:
    """The names among these that a visible memory uses, and their concepts.

    A name that only hidden memories use is unknown, even when it is merged with a visible one.
    """
    concepts = resolve_visible(database, filter, names)
    return {
        name: concept
        for name, concept in concepts.items()
        if name in (concept.name, *concept.aliases)
    }


def resolve_visible(
    database: Database, filter: Filter, names: Collection[ConceptName]
) -> dict[ConceptName, Concept]:
    """The concepts of these names that visible memories mention, by any of their names."""
    parameters = rows.from_place(filter) | {"names": [*dict.fromkeys(names)]}
    by_name: dict[ConceptName, list[Row]] = {}
    for name, *row in database.read("shared_concepts", parameters):
        by_name.setdefault(ConceptName(name), []).append(tuple(row))
    return {name: _visible_concept(members) for name, members in by_name.items()}


def recount_visible(
    database: Database, filter: Filter, mentioned: list[Mentioned]
) -> list[Mentioned]:
    """What memories mention, each concept as the filter's reader sees it.

    Without a reader nothing changes.
    """
    if filter.reader is None or not mentioned:
        return mentioned
    seen = resolve_visible(database, filter, {each.concept for each in mentioned})
    return [
        each._replace(concept=as_seen.name, memories=as_seen.memories, subjects=as_seen.subjects)
        for each in mentioned
        if (as_seen := seen.get(each.concept)) is not None
    ]


def _visible_concept(members: Sequence[Row]) -> Concept:
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

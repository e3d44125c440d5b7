"""Reads the concept graph of a store in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from bearinmind.concepts import (
    Concept,
    ConceptName,
    Kind,
    Mentioned,
    Merge,
    Relation,
    Role,
    name_of,
)
from bearinmind.protocols import GraphCounts, ReadSoFar
from bearinmind.testing.holdings import Row, holds
from bearinmind.testing.queue import WorkInMemory
from bearinmind.testing.relations import KeptRelation
from bearinmind.types import Filter, MemoryId, Scope, UserId

Mentions = dict[ConceptName, frozenset[Role]]
_ROLES = [*Role]  # the strongest first


class KeptMerge(NamedTuple):
    """A merge and whose it is."""

    owner: UserId
    merge: Merge


class GraphSearchInMemory(WorkInMemory):
    """Satisfies `bearinmind.protocols.GraphSearch`."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[tuple[UserId, ConceptName], tuple[str, Kind]] = {}
        self._mentions: dict[int, Mentions] = {}
        self._relations: list[KeptRelation] = []
        self._merged: list[KeptMerge] = []

    def _standing(self, owner: UserId, name: ConceptName) -> ConceptName:
        """What a name means after merges."""
        holding = [x.merge for x in self._merged if x.owner == owner and x.merge.undone_at is None]
        into = {merge.alias: merge.into for merge in holding}
        while name in into:
            name = into[name]
        return name

    def _admitted_rows(self, filter: Filter) -> list[Row]:
        """The versions that a filter admits, in the order of writing."""
        return sorted(row for row in self._admitted(filter) if row.memory.deleted_at is None)

    # ---- concepts ------------------------------------------------------------------------------

    def _concept(self, owner: UserId, name: ConceptName) -> Concept:
        """A concept that is merged into no other."""
        own = [known for of, known in self._known if of == owner]
        names = {x for x in own if self._standing(owner, x) == name}
        return self._counted(owner, name, names, self._holdings[owner].at(None).values())

    def _counted(
        self, owner: UserId, name: ConceptName, names: set[ConceptName], rows: Iterable[Row]
    ) -> Concept:
        """A concept with these names, its own among them, counted by these versions alone."""
        said = [self._mentions.get(row.number, {}) for row in rows]
        counted = [mentions[x] for mentions in said for x in names if x in mentions]
        label, kind = self._known[owner, name]
        return Concept(
            name=name,
            label=label,
            kind=kind,
            memories=len(counted),
            subjects=sum(Role.SUBJECT in roles for roles in counted),
            aliases=tuple(sorted(names - {name})),
        )

    def _seen(self, filter: Filter, name: ConceptName) -> Concept | None:
        """A concept as the reader sees it: by the names that visible memories use."""
        owner, rows = filter.scope.user, self._held(filter)
        used = {x for row in rows for x in self._mentions.get(row.number, {})}
        names = {x for x in used if self._standing(owner, x) == name}
        if not names:
            return None
        return self._counted(owner, name if name in names else min(names), names, rows)

    def visible_concepts(
        self, filter: Filter, names: Sequence[ConceptName]
    ) -> dict[ConceptName, Concept]:
        """Those of these names that a visible memory mentions; only visible ones are counted."""
        with self._lock:
            seen = {x: self._seen(filter, self._standing(filter.scope.user, x)) for x in names}
        return {x: each for x, each in seen.items() if each and x in (each.name, *each.aliases)}

    def _as_seen(self, filter: Filter, mentioned: Iterable[Mentioned]) -> list[Mentioned]:
        """What memories mention, each concept as the filter's reader sees it."""
        if filter.reader is None:
            return [*mentioned]
        return [
            each._replace(concept=seen.name, memories=seen.memories, subjects=seen.subjects)
            for each in mentioned
            if (seen := self._seen(filter, each.concept))
        ]

    def concepts(self, scope: Scope, names: Collection[ConceptName]) -> dict[ConceptName, Concept]:
        """Those of these names that are concepts, by the name that was asked for."""
        with self._lock:
            known = [name for name in dict.fromkeys(names) if (scope.user, name) in self._known]
            return {x: self._concept(scope.user, self._standing(scope.user, x)) for x in known}

    def hubs(self, scope: Scope, limit: int, *, containing: str | None = None) -> list[Concept]:
        """The concepts that most memories mention, perhaps only those whose name holds a text."""
        part = "" if containing is None else name_of(containing) or containing
        with self._lock:
            own = [name for owner, name in self._known if owner == scope.user]
            wanted = {self._standing(scope.user, name) for name in own if part in name}
            found = [self._concept(scope.user, name) for name in wanted]
        found.sort(key=lambda concept: (-concept.memories, concept.name))
        return [concept for concept in found if concept.memories][:limit]

    # ---- mentions ------------------------------------------------------------------------------

    def _mentioned(self, row: Row) -> list[Mentioned]:
        """What a version mentions, in its strongest role each; the strongest first."""
        owner = row.memory.owner
        roles: dict[ConceptName, set[Role]] = {}
        for name, said in self._mentions.get(row.number, {}).items():
            roles.setdefault(self._standing(owner, name), set()).update(said)
        found = [
            self._mention_of(row, name, min(said, key=_ROLES.index)) for name, said in roles.items()
        ]
        return sorted(found, key=lambda each: (_ROLES.index(each.role), each.concept))

    def _mention_of(self, row: Row, name: ConceptName, role: Role) -> Mentioned:
        concept = self._concept(row.memory.owner, name)
        return Mentioned(row.memory.id, name, role, concept.memories, concept.subjects)

    def mentions_in(self, filter: Filter, ids: Sequence[MemoryId]) -> list[Mentioned]:
        """What these memories mention, as far as the filter admits them."""
        with self._lock:
            held = {row.memory.id: row for row in self._admitted_rows(filter)}
            rows = [held[id_] for id_ in dict.fromkeys(ids) if id_ in held]
            found = (mentioned for row in rows for mentioned in self._mentioned(row))
            return self._as_seen(filter, found)

    def mentioning(
        self,
        filter: Filter,
        names: Collection[ConceptName],
        limit: int,
        role: Role | None = None,
    ) -> list[Mentioned]:
        """The admitted memories that mention these concepts, at most so many each, newest first."""
        owner = filter.scope.user
        with self._lock:
            if filter.reader is not None:
                names = self.visible_concepts(filter, [*names])
            known = [name for name in names if (owner, name) in self._known]
            asked = dict.fromkeys(self._standing(owner, name) for name in known)
            newest = self._admitted_rows(filter)[::-1]
            found = (x for name in asked for x in islice(self._by(newest, name, role), limit))
            return self._as_seen(filter, found)

    def _by(self, rows: list[Row], name: ConceptName, role: Role | None) -> Iterator[Mentioned]:
        """A concept, mentioned by those of these versions that do."""
        for row in rows:
            said = self._mentions.get(row.number, {})
            meant = [x for x in said if self._standing(row.memory.owner, x) == name]
            roles = {each for x in meant for each in said[x]}
            if role in roles or (role is None and roles):
                yield self._mention_of(row, name, role or min(roles, key=_ROLES.index))

    def all_mentions(self, filter: Filter) -> Iterator[Mentioned]:
        """Every mention by an admitted memory."""
        with self._lock:
            found = (x for row in self._admitted_rows(filter) for x in self._mentioned(row))
            return iter(self._as_seen(filter, found))

    # ---- relations -----------------------------------------------------------------------------

    def _by_number(self) -> dict[int, Row]:
        return {row.number: row for row in self._rows()}

    def _believed(self, filter: Filter) -> Iterator[Relation]:
        """The relations that are believed at a filter's moment, in the order of their numbers."""
        owner = filter.scope.user
        admitted = self._admitted_rows(filter)
        rows = self._by_number()
        for kept in self._relations:
            recorded_at, retracted_at = kept.span(rows)
            by = [row.memory.id for row in admitted if kept.is_said(row, filter.as_of)]
            believed = holds(recorded_at, retracted_at, filter.as_of)
            unfounded = not kept.founded and filter.reader is None
            if kept.owner == owner and believed and (by or unfounded):
                yield Relation(
                    number=kept.number,
                    source=self._standing(owner, kept.source),
                    type=kept.type,
                    target=self._standing(owner, kept.target),
                    weight=kept.weight,
                    valid_from=kept.valid_from,
                    valid_to=kept.valid_to,
                    recorded_at=recorded_at,
                    retracted_at=retracted_at,
                    origin=kept.origin,
                    evidence=tuple(by),
                )

    def relations(
        self, filter: Filter, names: Collection[ConceptName], limit: int
    ) -> list[Relation]:
        """Relations that begin or end at these concepts, believed at the filter's moment."""
        with self._lock:
            meant = {self._standing(filter.scope.user, name) for name in names}
            found = [
                x for x in self._believed(filter) if not meant.isdisjoint((x.source, x.target))
            ]
        found.sort(key=lambda x: (-x.weight, -x.recorded_at.timestamp(), x.number))
        return found[:limit]

    def all_relations(self, filter: Filter) -> Iterator[Relation]:
        """Every relation that is believed at the filter's moment."""
        with self._lock:
            return iter([*self._believed(filter)])

    # ---- merges and counts ---------------------------------------------------------------------

    def merges(self, scope: Scope, *, undone: bool = False) -> list[Merge]:
        """The merges that hold, oldest first; with `undone` those that were undone too."""
        with self._lock:
            own = [merge for owner, merge in self._merged if owner == scope.user]
        found = [merge for merge in own if undone or merge.undone_at is None]
        return sorted(found, key=lambda merge: merge.merged_at)

    def graph_counts(self, scope: Scope) -> GraphCounts:
        """What a scope's graph holds."""
        owner = scope.user
        with self._lock:
            own = [name for of, name in self._known if of == owner]
            held = {row.number for row in self._holdings[owner].at(None).values()}
            rows = self._by_number()
            waiting = [x for x in self._jobs.values() if x.kind == "extract" and x.row in held]
            believed = [x for x in self._relations if x.owner == owner and not x.span(rows)[1]]
            return GraphCounts(
                concepts=sum(self._standing(owner, name) == name for name in own),
                mentions=sum(len(self._mentions.get(number, {})) for number in held),
                relations=len(believed),
                merges=len(self.merges(scope)),
                waiting=len(waiting),
            )

    def read_so_far(self, scope: Scope, jobs: int) -> ReadSoFar:
        """Whether there is a graph, and what is to be read by the next so many jobs."""
        with self._lock:
            held = {row.number for row in self._holdings[scope.user].at(None).values()}
            due = [job for job in self._jobs.values() if job.kind == "extract" and not job.dead]
            return ReadSoFar(
                has_concepts=any(owner == scope.user for owner, _ in self._known),
                waiting=sum(job.row in held for job in due[:jobs]),
            )

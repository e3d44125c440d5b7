"""Typed relations in place of plain mentions: the same walk over another view of the graph.

A memory that mentions ten concepts may state something about two of them. These views show the
graph leg only what a memory relates, or that before all else.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import cast

from recollect.concepts import Concept, ConceptName, Mentioned, Role
from recollect.protocols import GraphSearch
from recollect.types import Filter, MemoryId, Scope

_MOST_RELATIONS = 2_000  # of all seeds of a hop together


@dataclass(frozen=True, slots=True)
class RelatedView:
    """A graph in which relations decide over what a memory leads on.

    With `alone` only concepts count that the memory relates to another; otherwise those count as
    if nobody else mentioned them, and the others as they are.
    """

    search: GraphSearch = field(repr=False)
    alone: bool = True

    def as_search(self) -> GraphSearch:
        """The view, for a leg that asks nothing but what is answered here."""
        return cast("GraphSearch", self)

    def concepts(self, scope: Scope, names: Collection[ConceptName]) -> dict[ConceptName, Concept]:
        """Those of these names that are concepts."""
        return self.search.concepts(scope, names)

    def mentioning(
        self,
        filter: Filter,
        names: Collection[ConceptName],
        limit: int,
        role: Role | None = None,
    ) -> list[Mentioned]:
        """The memories that mention these concepts."""
        return self.search.mentioning(filter, names, limit, role)

    def mentions_in(self, filter: Filter, ids: Sequence[MemoryId]) -> list[Mentioned]:
        """What these memories mention, by what they relate."""
        mentions = self.search.mentions_in(filter, ids)
        related = self._related(filter, mentions)
        if self.alone:
            return [each for each in mentions if (each.id, each.concept) in related]
        return [
            each._replace(memories=1) if (each.id, each.concept) in related else each
            for each in mentions
        ]

    def _related(
        self, filter: Filter, mentions: Sequence[Mentioned]
    ) -> set[tuple[MemoryId, ConceptName]]:
        """Each memory with the ends of the relations that it is evidence for."""
        names = {each.concept for each in mentions}
        if not names:
            return set()
        return {
            (id_, end)
            for relation in self.search.relations(filter, names, _MOST_RELATIONS)
            for id_ in relation.evidence
            for end in (relation.source, relation.target)
        }

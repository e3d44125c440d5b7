"""Typed relations in place of plain mentions: the same walk over another view of the graph.

A memory that mentions ten concepts may state something about two of them. These views show the
graph leg only what a memory relates, or that before all else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from bearinmind.concepts import ConceptName, Mentioned
from bearinmind.protocols import GraphSearch
from bearinmind.types import Filter, MemoryId

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
        """The view as what it is a view of."""
        return cast("GraphSearch", self)

    def __getattr__(self, name: str) -> object:
        """Whatever else is asked is answered as it is."""
        return getattr(self.search, name)

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

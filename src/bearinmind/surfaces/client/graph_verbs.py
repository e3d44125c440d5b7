"""The verbs of the concept graph of a server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from bearinmind.app.requests import FilterFields
from bearinmind.concepts import Concept, Merge
from bearinmind.graph.lookup import MemoryCard
from bearinmind.graph.walk import Neighbours, Subgraph
from bearinmind.models.server_calls import Steps
from bearinmind.surfaces.client.verb_calls import Group, Way, verb
from bearinmind.surfaces.verbs.graph_verbs import ConceptAnswer, PathAnswer
from bearinmind.text import ids


class GraphVerbs(Group[Way]):
    """The concepts that the memories mention, and their relations."""

    @verb
    def hubs(
        self, *, limit: int = 20, containing: str | None = None, **fields: Unpack[FilterFields]
    ) -> Steps[Sequence[Concept]]:
        """The concepts that most memories mention, perhaps only those with a text in the name."""
        return self._calls.part(
            "concepts", "graph.hubs", limit=limit, containing=containing, **fields
        )

    @verb
    def neighbours(
        self, concept: str, *, limit: int = 20, **fields: Unpack[FilterFields]
    ) -> Steps[Neighbours]:
        """What is one step away from a concept: by relation first, then by memories."""
        return self._calls.part(
            "neighbours", "graph.neighbours", concept=concept, limit=limit, **fields
        )

    @verb
    def concept(
        self, concept: str, *, limit: int = 20, **fields: Unpack[FilterFields]
    ) -> Steps[ConceptAnswer]:
        """A concept with its memories and its relations, past ones included."""
        return self._calls.answer("graph.concept", concept=concept, limit=limit, **fields)

    @verb
    def subgraph(
        self, centre: str, *, hops: int = 1, limit: int = 30, **fields: Unpack[FilterFields]
    ) -> Steps[Subgraph]:
        """The concepts within some steps of one, and what joins them."""
        return self._calls.answer("graph.subgraph", centre=centre, hops=hops, limit=limit, **fields)

    @verb
    def path(
        self, start: str, goal: str, *, longest: int = 4, **fields: Unpack[FilterFields]
    ) -> Steps[PathAnswer]:
        """The shortest way from a concept to another."""
        return self._calls.answer("graph.path", start=start, goal=goal, longest=longest, **fields)

    @verb
    def of_memory(self, id: str) -> Steps[MemoryCard]:
        """What a memory mentions, and the relations that it is evidence for."""
        return self._calls.answer("graph.of_memory", id=ids.canonical(id))

    @verb
    def merges(self, *, undone: bool = False) -> Steps[Sequence[Merge]]:
        """The merges that hold, oldest first; with `undone` also those that were undone."""
        return self._calls.part("merges", "graph.merges", undone=undone)

    @verb
    def merge(self, alias: str, into: str, *, reason: str = "said so") -> Steps[Merge]:
        """Treat a concept as another one until `unmerge`; nothing is rewritten."""
        return self._calls.answer("graph.merge", alias=alias, into=into, reason=reason)

    @verb
    def unmerge(self, alias: str) -> Steps[str]:
        """Undo a merge; the name of the concept that is separate again."""
        return self._calls.part("name", "graph.unmerge", alias=alias)

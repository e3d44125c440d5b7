"""The verbs of the concept graph."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal, NamedTuple, Unpack

from bearinmind import requests
from bearinmind.concepts import Concept, ConceptName, Merge, name_of
from bearinmind.config import Settings
from bearinmind.errors import (
    AlreadyMerged,
    ConceptNotFound,
    InvalidInput,
    InvalidQuery,
    RelationNotFound,
)
from bearinmind.graph import lazy
from bearinmind.protocols import Embedder, GraphCounts, Store
from bearinmind.recall import history
from bearinmind.recall.attach import one_line
from bearinmind.recall.parse import LARGEST_LIMIT, LARGEST_POOL, check_number
from bearinmind.requests import FilterFields
from bearinmind.types import Filter, Link, Memory, MemoryId, Scope, State

if TYPE_CHECKING:
    from bearinmind.app.graph_import import GraphImported, Line
    from bearinmind.graph.contradictions import Contradiction

Format = Literal["graphml", "json"]

LONGEST = 8  #: steps of a path that may be asked for
MOST_HOPS = 4  #: of a subgraph
MOST_REVIEWED = 2_000  #: concepts that are compared with each other

_PRESENT = (State.LIVE, State.SUPERSEDED, State.EXPIRED)


class _Past(NamedTuple):
    """What a store knows of the memories behind relations."""

    store: Store
    filter: Filter

    def superseding(self, ids: Collection[MemoryId]) -> Iterable[Link]:
        return self.store.superseding(self.filter.scope, [*ids], self.filter.as_of)

    def written(self, ids: Collection[MemoryId]) -> Mapping[MemoryId, datetime]:
        found = self.store.get_many(self.filter.scope, [*ids], self.filter.as_of)
        return {id_: memory.updated_at for id_, memory in found.items()}


class GraphVerbs:
    """What a Bear in Mind knows by the concepts that its memories mention.

    A concept is given by its name, in any case, or by a name that was merged into it. Memories that
    the filter fields do not admit are not seen; `as_of` answers with what was known then.
    """

    scope: Scope
    settings: Settings
    _store: Store
    embedder: Callable[[], Embedder | None]
    _clock: Callable[[], datetime]

    # ---- reading -------------------------------------------------------------------------------

    def graph_concept(
        self, concept: str, *, limit: int = 20, **fields: Unpack[FilterFields]
    ) -> lazy.cards.ConceptCard:
        """A concept with its memories and relations; at most `limit` of each."""
        filter_ = self._meant(fields)
        check_number("limit", limit, LARGEST_POOL)
        return lazy.cards.concept_card(
            self._store, filter_, lazy.naming.find(self._store, filter_, concept), limit
        )

    def graph_of(self, id: str) -> lazy.cards.MemoryCard:
        """What a memory mentions, and the relations that it is evidence for."""
        memory = history.find(self._store, self.scope, id)
        return lazy.cards.memory_card(self._store, self._meant({"states": [*State]}), memory.id)

    def graph_neighbours(
        self, concept: str, *, limit: int = 20, **fields: Unpack[FilterFields]
    ) -> lazy.walk.Neighbours:
        """What is one step away from a concept: by relation first, then by memories."""
        filter_ = self._meant(fields)
        check_number("limit", limit, LARGEST_POOL)
        return lazy.walk.neighbours(
            self._store, filter_, lazy.naming.find(self._store, filter_, concept), limit
        )

    def graph_path(
        self,
        start: str,
        goal: str,
        *,
        longest: int = 4,
        **fields: Unpack[FilterFields],
    ) -> lazy.walk.Path:
        """The shortest way from a concept to another, over relations and shared memories."""
        filter_ = self._meant(fields)
        check_number("longest", longest, LONGEST)
        begin = lazy.naming.find(self._store, filter_, start)
        end = lazy.naming.find(self._store, filter_, goal)
        return lazy.walk.path(self._store, filter_, begin, end, longest)

    def graph_subgraph(
        self, centre: str, *, hops: int = 1, limit: int = 30, **fields: Unpack[FilterFields]
    ) -> lazy.walk.Subgraph:
        """The concepts within some steps of one, and what joins them."""
        filter_ = self._meant(fields)
        check_number("hops", hops, MOST_HOPS)
        check_number("limit", limit, LARGEST_LIMIT)
        found = lazy.naming.find(self._store, filter_, centre)
        return lazy.walk.subgraph(self._store, filter_, found, hops, limit)

    def graph_hubs(
        self, *, limit: int = 20, containing: str | None = None, **fields: Unpack[FilterFields]
    ) -> Sequence[Concept]:
        """The concepts that most memories mention, perhaps only those with a text in their name."""
        check_number("limit", limit, LARGEST_POOL)
        part = None if containing is None else name_of(containing)
        if part == "":
            raise InvalidQuery(f"{containing!r} has no word in it", hint="Give part of a name.")
        return lazy.walk.hubs(self._store, self._meant(fields), limit, containing=part)

    def graph_memories(
        self, ids: Collection[MemoryId], as_of: datetime | None = None
    ) -> Mapping[MemoryId, Memory]:
        """The memories that an answer of the graph names, as they were at a moment."""
        return self._store.get_many(self.scope, [*ids], as_of)

    def graph_labels(self, names: Collection[ConceptName]) -> Mapping[ConceptName, str]:
        """How these concepts are written."""
        found = self._store.concepts(self.scope, names) if names else {}
        return {name: concept.label for name, concept in found.items()}

    def graph_export(
        self, to: Format, *, memories: bool = True, **fields: Unpack[FilterFields]
    ) -> Iterator[bytes]:
        """The graph as GraphML or node-link JSON, piece by piece; perhaps without memories."""
        export = lazy.export
        formats = {"graphml": export.graphml, "json": export.node_link}
        if to not in formats:
            raise InvalidInput(f"{to!r} is not a format", hint="Use graphml or json.")
        filter_ = self._meant(fields)

        def lines(ids: Sequence[MemoryId]) -> Mapping[MemoryId, str]:
            found = self._store.get_many(self.scope, ids, filter_.as_of)
            return {id_: one_line(memory.content) for id_, memory in found.items()}

        written = export.elements(self._store, filter_, lines if memories else None)
        return formats[to](written)

    def graph_counts(self) -> GraphCounts:
        """What the graph holds."""
        return self._store.graph_counts(self.scope)

    # ---- contradictions ------------------------------------------------------------------------

    def graph_contradictions(self, **fields: Unpack[FilterFields]) -> Sequence[Contradiction]:
        """Relations that cannot both hold, each with what would settle it; nothing is changed.

        Superseded memories are looked at too: what they say is the older.
        """
        filter_ = self._meant({"states": _PRESENT, **fields})
        relations = self._store.all_relations(filter_)
        functional = lazy.patterns.FUNCTIONAL
        past = _Past(self._store, filter_)
        return lazy.contradictions.contradictions(relations, functional, past)

    def graph_resolve(self, number: int) -> Contradiction:
        """Do what is proposed for the contradiction whose older relation has this number.

        What was believed before stays readable with `as_of`.
        """
        for found in self.graph_contradictions():
            if found.older.number == number:
                self._settle(found)
                return found
        raise RelationNotFound(
            f"relation {number} contradicts no newer one",
            hint="`bearinmind graph contradictions` lists those that do.",
        )

    def _settle(self, found: Contradiction) -> None:
        now, proposal = self._clock(), found.proposal
        if isinstance(proposal, lazy.contradictions.End):
            done = self._store.end_relation(self.scope, proposal.number, proposal.valid_to, now)
        else:
            done = self._store.retract(self.scope, proposal.number, now)
        if not done:
            raise RelationNotFound(f"relation {proposal.number} is not believed any more")

    def graph_retract(self, number: int) -> None:
        """Stop believing a relation; it stays readable as of before."""
        if not self._store.retract(self.scope, number, self._clock()):
            raise RelationNotFound(f"no relation that is believed has the number {number}")

    # ---- merges --------------------------------------------------------------------------------

    def graph_merge(self, alias: str, into: str, *, reason: str = "said so") -> Merge:
        """Take a concept for another one, until that is undone; nothing is rewritten."""
        names = [lazy.naming.known(self._store, self.scope, text).name for text in (alias, into)]
        if names[0] == names[1]:
            raise AlreadyMerged(
                f"{alias!r} and {into!r} are one concept already",
                hint="`bearinmind graph merges` lists what is merged.",
            )
        merge = Merge(
            alias=name_of(alias), into=names[1], reason=reason, score=1.0, merged_at=self._clock()
        )
        self._store.merge(self.scope, merge)
        return merge

    def graph_unmerge(self, alias: str) -> str:
        """Take a concept for itself again; its name."""
        name = name_of(alias)
        if not self._store.unmerge(self.scope, name, self._clock()):
            raise ConceptNotFound(
                f"{alias!r} is not merged into another concept",
                hint="`bearinmind graph merges` lists what is.",
            )
        return name

    def graph_merges(self, *, undone: bool = False) -> Sequence[Merge]:
        """The merges that hold, oldest first; with `undone` also those that were undone."""
        return self._store.merges(self.scope, undone=undone)

    def graph_likely_merges(
        self, *, limit: int = MOST_REVIEWED, near: bool = False
    ) -> Sequence[Merge]:
        """Concepts that may be one, the surest first, among those that most memories mention.

        With `near` also those whose names mean nearly the same to the embedder. Nothing is merged.
        """
        embedder = self.embedder() if near else None
        held = self._store.hubs(self.scope, check_number("limit", limit, MOST_REVIEWED))
        return lazy.canonical.Canonicaliser(embedder).review(held, self._clock())

    # ---- from elsewhere ------------------------------------------------------------------------

    def graph_import(
        self,
        lines: Iterable[Line],
        *,
        same_as: Mapping[str, str] | None = None,
        advance: Callable[[int], None] | None = None,
    ) -> GraphImported:
        """Add relations and mentions that were found elsewhere: numbered lines of JSON.

        `bearinmind.graph.triples` describes both shapes of a line. `same_as` has the ids that
        memories have here by the ids that they have in the lines, where those differ.
        """
        from bearinmind.app.graph_import import GraphImport  # noqa: PLC0415  seldom done

        taking = GraphImport(
            self._store, self.scope, self._clock(), same_as=same_as, advance=advance
        )
        return taking(lines)

    def _meant(self, fields: FilterFields) -> Filter:
        return requests.filter_of(fields, self.scope, self.settings, self._clock())

"""The concept graph: what memories mention, and how it is related."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Literal, Unpack

from bearinmind import errors
from bearinmind.app import requests
from bearinmind.app.requests import FilterFields
from bearinmind.concepts import Concept, ConceptName, Merge
from bearinmind.config import Settings
from bearinmind.graph import lookup, walk
from bearinmind.graph.lookup import MemoryCard
from bearinmind.graph.walk import Subgraph
from bearinmind.models.embedders import Embedders
from bearinmind.outdates.verdicts import MARK, is_trusted, judgement_of
from bearinmind.protocols import GraphCounts, Store
from bearinmind.recall import history
from bearinmind.recall.pipeline import LARGEST_LIMIT, LARGEST_POOL, check_number
from bearinmind.remember.admit import check_time
from bearinmind.text.analysis import one_line
from bearinmind.text.names import name_of
from bearinmind.types import Filter, Link, LinkKind, Memory, MemoryId, Scope, State

if TYPE_CHECKING:
    from bearinmind.graph.contradictions import Contradiction
    from bearinmind.graph.importer import GraphImported, Line

Format = Literal["graphml", "json"]

LONGEST = 8  #: steps of a path
MOST_HOPS = 4  #: of a subgraph
MOST_REVIEWED = 2_000  #: concepts that are compared with each other

_REPLACING = (LinkKind.SUPERSEDES, LinkKind.OUTDATES)
_PRESENT = (State.LIVE, State.SUPERSEDED, State.EXPIRED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """The concepts that the memories of one user mention.

    A concept is given by its name, in any case, or by a name that was merged into it. Memories that
    the filter fields do not admit are left out; `as_of` answers with what was known then.
    """

    store: Store
    scope: Scope
    settings: Settings
    clock: Callable[[], datetime]
    embedders: Embedders

    # ---- reads -------------------------------------------------------------------------------

    def concept(
        self, concept: str, *, limit: int = 20, **fields: Unpack[FilterFields]
    ) -> lookup.ConceptCard:
        """A concept with its memories and relations; at most `limit` of each."""
        filter_ = self._filter(fields)
        check_number("limit", limit, LARGEST_POOL)
        return lookup.concept_card(
            self.store, filter_, lookup.find(self.store, filter_, concept), limit
        )

    def of_memory(self, id: str) -> MemoryCard:
        """What a memory mentions, and the relations that it is evidence for."""
        memory = history.find(self.store, self.scope, id)
        return lookup.memory_card(self.store, self._filter({"states": [*State]}), memory.id)

    def neighbours(
        self, concept: str, *, limit: int = 20, **fields: Unpack[FilterFields]
    ) -> walk.Neighbours:
        """What is one step away from a concept: by relation first, then by memories."""
        filter_ = self._filter(fields)
        check_number("limit", limit, LARGEST_POOL)
        return walk.neighbours(
            self.store, filter_, lookup.find(self.store, filter_, concept), limit
        )

    def path(
        self, start: str, goal: str, *, longest: int = 4, **fields: Unpack[FilterFields]
    ) -> walk.Path:
        """The shortest way from a concept to another, over relations and shared memories."""
        filter_ = self._filter(fields)
        check_number("longest", longest, LONGEST)
        begin = lookup.find(self.store, filter_, start)
        end = lookup.find(self.store, filter_, goal)
        return walk.path(self.store, filter_, begin, end, longest)

    def subgraph(
        self, centre: str, *, hops: int = 1, limit: int = 30, **fields: Unpack[FilterFields]
    ) -> Subgraph:
        """The concepts within some steps of one, and what joins them."""
        filter_ = self._filter(fields)
        check_number("hops", hops, MOST_HOPS)
        check_number("limit", limit, LARGEST_LIMIT)
        concept = lookup.find(self.store, filter_, centre)
        return walk.subgraph(self.store, filter_, concept, hops, limit)

    def hubs(
        self, *, limit: int = 20, containing: str | None = None, **fields: Unpack[FilterFields]
    ) -> Sequence[Concept]:
        """The concepts that most memories mention, perhaps only those with a text in their name."""
        check_number("limit", limit, LARGEST_POOL)
        part = None if containing is None else name_of(containing)
        if part == "":
            raise errors.InvalidQuery(
                f"{containing!r} has no word in it", hint="Give part of a name."
            )
        return walk.hubs(self.store, self._filter(fields), limit, containing=part)

    def memories(
        self, ids: Collection[MemoryId], as_of: datetime | str | None = None
    ) -> Mapping[MemoryId, Memory]:
        """These memories as they are, or as they were at a moment."""
        return self.store.get_many(self.scope, [*ids], check_time(as_of, "as_of"))

    def labels(self, names: Collection[ConceptName]) -> Mapping[ConceptName, str]:
        """How these concepts are written."""
        return {name: concept.label for name, concept in self.named(names).items()}

    def named(self, names: Collection[ConceptName]) -> Mapping[ConceptName, Concept]:
        """The concepts with these names; one that was merged has the name of the other."""
        return self.store.concepts(self.scope, names) if names else {}

    def export(
        self, to: Format, *, memories: bool = True, **fields: Unpack[FilterFields]
    ) -> Iterator[bytes]:
        """The graph as GraphML or node-link JSON, piece by piece, with or without memories."""
        from bearinmind.graph import export  # noqa: PLC0415  no other verb needs it

        formats = {"graphml": export.graphml, "json": export.node_link}
        if to not in formats:
            raise errors.InvalidInput(f"{to!r} is not a format", hint="Use graphml or json.")
        filter_ = self._filter(fields)

        def lines(ids: Sequence[MemoryId]) -> Mapping[MemoryId, str]:
            held = self.store.get_many(self.scope, ids, filter_.as_of)
            return {id_: one_line(memory.content) for id_, memory in held.items()}

        return formats[to](export.elements(self.store, filter_, lines if memories else None))

    def counts(self) -> GraphCounts:
        """How many concepts, relations and mentions the graph holds."""
        return self.store.graph_counts(self.scope)

    # ---- contradictions ------------------------------------------------------------------------

    def contradictions(self, **fields: Unpack[FilterFields]) -> Sequence[Contradiction]:
        """Relations that cannot both hold, each with what would resolve it; nothing is changed.

        Superseded memories are compared too: they hold the older relation. Where one memory
        outdates another, what only the older states is outdated, whatever the type of relation.
        """
        from bearinmind.graph import contradictions, patterns  # noqa: PLC0415  seldom needed

        filter_ = self._filter({"states": _PRESENT, **fields})
        relations = self.store.all_relations(filter_)
        scope, as_of = filter_.scope, filter_.as_of

        def newer(ids: Collection[MemoryId]) -> list[Link]:
            links = self.store.newer(scope, [*ids], as_of, kinds=_REPLACING)
            ends = {id_ for link in links for id_ in (link.source, link.target)}
            memories = self.store.get_many(scope, [*ends], as_of) if ends else {}
            return [
                x for x in links if judgement_of(x).probability < MARK or is_trusted(x, memories)
            ]

        def written(ids: Collection[MemoryId]) -> dict[MemoryId, datetime]:
            memories = self.store.get_many(scope, [*ids], as_of)
            return {id_: memory.updated_at for id_, memory in memories.items()}

        return contradictions.contradictions(relations, patterns.FUNCTIONAL, newer, written)

    def resolve(self, number: int) -> Contradiction:
        """Do what is proposed for the contradiction whose older relation has this number.

        What was believed before stays readable with `as_of`.
        """
        for contradiction in self.contradictions():
            if contradiction.older.number == number:
                self._resolve(contradiction)
                return contradiction
        raise errors.RelationNotFound(
            f"relation {number} contradicts no newer one",
            hint="`bearinmind graph contradictions` lists those that do.",
        )

    def _resolve(self, contradiction: Contradiction) -> None:
        from bearinmind.graph.contradictions import End  # noqa: PLC0415  seldom needed

        now, proposal = self.clock(), contradiction.proposal
        if isinstance(proposal, End):
            done = self.store.end_relation(self.scope, proposal.number, proposal.valid_to, now)
        else:
            done = self.store.retract(self.scope, proposal.number, now)
        if not done:
            raise errors.RelationNotFound(f"relation {proposal.number} is not believed any more")

    def retract(self, number: int) -> None:
        """Stop believing a relation; it stays readable as of before."""
        if not self.store.retract(self.scope, number, self.clock()):
            raise errors.RelationNotFound(f"no relation that is believed has the number {number}")

    # ---- merges --------------------------------------------------------------------------------

    def merge(self, alias: str, into: str, *, reason: str = "said so") -> Merge:
        """Treat a concept as another one until `unmerge`; nothing is rewritten."""
        names = [lookup.known(self.store, self.scope, text).name for text in (alias, into)]
        if names[0] == names[1]:
            raise errors.AlreadyMerged(
                f"{alias!r} and {into!r} are one concept already",
                hint="`bearinmind graph merges` lists what is merged.",
            )
        merge = Merge(
            alias=name_of(alias), into=names[1], reason=reason, score=1.0, merged_at=self.clock()
        )
        self.store.merge(self.scope, merge)
        return merge

    def unmerge(self, alias: str) -> str:
        """Undo a merge; the name of the concept that is separate again."""
        name = name_of(alias)
        if not self.store.unmerge(self.scope, name, self.clock()):
            raise errors.ConceptNotFound(
                f"{alias!r} is not merged into another concept",
                hint="`bearinmind graph merges` lists what is.",
            )
        return name

    def merges(self, *, undone: bool = False) -> Sequence[Merge]:
        """The merges that hold, oldest first; with `undone` also those that were undone."""
        return self.store.merges(self.scope, undone=undone)

    def likely_merges(self, *, limit: int = MOST_REVIEWED, near: bool = False) -> Sequence[Merge]:
        """Concepts that may be one, the surest first, among those that most memories mention.

        With `near`, also those whose names the embedder puts close together. Nothing is merged.
        """
        from bearinmind.graph.canonical import review  # noqa: PLC0415  seldom needed

        embedder = self.embedders.configured() if near else None
        concepts = self.store.hubs(self.scope, check_number("limit", limit, MOST_REVIEWED))
        return review(concepts, self.clock(), embedder)

    # ---- imports ------------------------------------------------------------------------

    def import_lines(
        self,
        lines: Iterable[Line],
        *,
        same_as: Mapping[str, str] | None = None,
        advance: Callable[[int], None] | None = None,
    ) -> GraphImported:
        """Add relations and mentions from outside: numbered lines of JSON.

        `bearinmind.graph.importer` describes both shapes of a line. `same_as` maps the ids in the
        lines to the ids of memories here, where those differ.
        """
        from bearinmind.graph.importer import GraphImport  # noqa: PLC0415  seldom needed
        from bearinmind.remember import secrets  # noqa: PLC0415  seldom needed

        run = GraphImport(
            store=self.store,
            scope=self.scope,
            now=self.clock(),
            find=partial(history.find, self.store, self.scope),
            refuse_in_clear=secrets.refuse_in_clear,
            masked=secrets.masked,
            same_as=same_as or {},
            advance=advance or (lambda _: None),
        )
        return run(lines)

    def _filter(self, fields: FilterFields) -> Filter:
        return requests.filter_of(fields, self.scope, self.settings, self.clock())

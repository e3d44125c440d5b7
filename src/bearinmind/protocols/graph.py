"""Keeps the concept graph, and reads concepts out of memories."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from bearinmind.concepts import (
    Concept,
    ConceptName,
    Extraction,
    Mention,
    Mentioned,
    Merge,
    Relation,
    Role,
    Statement,
)
from bearinmind.protocols.work import Job
from bearinmind.types import Filter, Memory, MemoryId, Scope


class Extractor(Protocol):
    """Reads concepts and relations out of memories. Opening it is cheap: a model loads when needed.

    Raises `ExtractorFailure` on failure; `permanent` means that trying again does not help.
    """

    @property
    def key(self) -> str:
        """Its identity with everything that changes what it finds; at most 64 characters."""

    @property
    def leaves_machine(self) -> bool:
        """Whether texts are sent to another machine."""

    @property
    def batch(self) -> int:
        """How many memories it takes at a time."""

    def __call__(self, memories: Sequence[Memory]) -> Sequence[Extraction]:
        """What each of these memories mentions and states, in their order."""

    def close(self) -> None:
        """Release the model or the connections."""


class GraphCounts(NamedTuple):
    """What a scope's graph holds."""

    concepts: int
    mentions: int
    relations: int  #: that are believed now
    merges: int  #: that hold
    waiting: int  #: present versions that are not read yet


class ReadSoFar(NamedTuple):
    """How far the memories of a scope are read."""

    has_concepts: bool
    waiting: int  #: present versions that are to be read, among the jobs that were looked at


class Connections(Protocol):
    """Finds memories by the concepts that they mention.

    A filter that does not admit a memory hides it here too. Names are taken and given
    after merges: an alias means its concept.
    """

    def concepts(self, scope: Scope, names: Collection[ConceptName]) -> dict[ConceptName, Concept]:
        """The concepts of these names, by name."""

    def mentions_in(self, filter: Filter, ids: Sequence[MemoryId]) -> list[Mentioned]:
        """What these memories mention, as far as the filter admits them."""

    def mentioning(
        self, filter: Filter, names: Collection[ConceptName], limit: int, role: Role | None = None
    ) -> list[Mentioned]:
        """The admitted memories that mention these concepts, newest first; `limit` for each."""

    def read_so_far(self, scope: Scope, jobs: int) -> ReadSoFar:
        """Whether there is a graph, and what the next `jobs` jobs of the queue will read.

        Cheap, however large both are: every recall asks for it.
        """


class GraphSearch(Connections, Protocol):
    """Reads the graph."""

    def hubs(self, scope: Scope, limit: int, *, containing: str | None = None) -> list[Concept]:
        """The concepts that most memories mention, if given those whose name holds `containing`."""

    def relations(
        self, filter: Filter, names: Collection[ConceptName], limit: int
    ) -> list[Relation]:
        """Relations that begin or end at these concepts, believed at the filter's moment.

        Believed means recorded and not retracted then; the caller judges when it held. Of its
        evidence, at least one memory must be admitted, and only admitted ones are named; an
        imported relation may have none. The heaviest first, at most `limit` in all.
        """

    def all_mentions(self, filter: Filter) -> Iterator[Mentioned]:
        """Every mention by an admitted memory."""

    def all_relations(self, filter: Filter) -> Iterator[Relation]:
        """Every relation that is believed at the filter's moment."""

    def merges(self, scope: Scope, *, undone: bool = False) -> list[Merge]:
        """The merges that hold, oldest first; with `undone` those that were undone too."""

    def graph_counts(self, scope: Scope) -> GraphCounts:
        """What a scope's graph holds."""


class Graph(GraphSearch, Protocol):
    """Keeps the graph beside the memories.

    A version of a memory that is neither deleted nor sensitive is to be read by the extractor in
    use: keeping it queues an `extract` job whose target is the extractor's key, in the same
    transaction. A version with the text of the one before copies its mentions.
    """

    def use_extractor(self, key: str, *, again: bool = False) -> int:
        """Queue every version that this extractor has not read; how many are to be read.

        What was read before stays until it is read again; `again` queues what this one has read,
        too. With an empty key nothing more is read.
        """

    def extractor(self) -> str:
        """The key of the extractor in use; empty when there is none."""

    def finish_extraction(
        self, jobs: Sequence[Job], extractions: Sequence[Extraction], at: datetime
    ) -> None:
        """Keep what was read and remove the jobs, in one transaction.

        It replaces what was read in the same version before. A relation that is stated again
        gains evidence; one that has lost all of its evidence is retracted at that moment.
        Statements begin to be believed at the moment the version was written.
        """

    def known_names(self, scope: Scope, names: Collection[ConceptName]) -> set[ConceptName]:
        """The names among these that are concepts with a memory about them."""

    def add_mentions(
        self, scope: Scope, mentions: Mapping[MemoryId, Sequence[Mention]], *, given: bool = False
    ) -> int:
        """Add mentions to present versions of memories; how many were new.

        Reading these memories again removes them, unless they were `given` by a user.
        """

    def add_statements(
        self,
        scope: Scope,
        statements: Sequence[tuple[Statement, Sequence[MemoryId]]],
        at: datetime,
        origin: str,
    ) -> int:
        """Keep imported relations with their evidence; how many were new."""

    def retract(self, scope: Scope, number: int, at: datetime) -> bool:
        """Retract a relation; False when there is no such relation, or it is retracted already."""

    def end_relation(self, scope: Scope, number: int, valid_to: datetime, at: datetime) -> bool:
        """Retract a relation at the moment `at`, and keep it again with the end `valid_to`."""

    def merge(self, scope: Scope, merge: Merge) -> None:
        """Merge one concept into another; raises `ConceptNotFound` or `AlreadyMerged`."""

    def unmerge(self, scope: Scope, alias: ConceptName, at: datetime) -> bool:
        """Undo a merge; False when the concept is not merged."""

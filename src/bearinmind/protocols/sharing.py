"""What keeps who sees whose memories."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from bearinmind.concepts import Concept, ConceptName
from bearinmind.protocols.search import LexicalStatistics
from bearinmind.types import Filter, Memory, MemoryId, Right, Scope, Share, UserId


class Sighting(NamedTuple):
    """That somebody can see a memory of another owner; it is another one when that changed."""

    id: MemoryId
    version: int
    updated_at: datetime
    right: Right


class Shares(Protocol):
    """Keeps shares, and reads what they let others see.

    A filter with a reader admits what its scope's owner shares with the reader, whatever leg asks:
    present, neither deleted nor sensitive nor superseded. Every search that takes a filter takes
    such a one; the reads below say what others need, and count nothing that the reader cannot see.
    """

    def add_share(self, scope: Scope, share: Share) -> Share:
        """Keep a share of the scope's owner, in place of one of the same with the same reader.

        Raises:
            MemoryNotFound: the owner has no such memory.
        """

    def end_share(self, scope: Scope, share: Share) -> bool:
        """End the share of the same thing with the same reader; False when there is none."""

    def shares(self, scope: Scope) -> list[Share]:
        """What the scope's owner shares, oldest first; ended ones are left out."""

    def shared_with(self, reader: UserId) -> list[Share]:
        """What others share with somebody, by owner and then oldest first."""

    def sharers(self, reader: UserId) -> list[UserId]:
        """Who shares anything with somebody; cheap: every recall asks it."""

    def visible(self, filter: Filter, ids: Sequence[MemoryId]) -> dict[MemoryId, Memory]:
        """Those of these memories that the filter, which has a reader, admits."""

    def visible_beginning(self, filter: Filter, prefix: str, limit: int = 5) -> list[MemoryId]:
        """The ids of visible memories that begin so, in order."""

    def visible_after(self, filter: Filter, after: str, limit: int) -> list[Sighting]:
        """The visible memories whose ids come behind one, in their order."""

    def rights(self, filter: Filter, ids: Sequence[MemoryId]) -> dict[MemoryId, Right]:
        """The most that the reader may do with each of these memories, as far as visible."""

    def visible_statistics(self, filter: Filter, terms: Sequence[str]) -> LexicalStatistics:
        """How frequent terms are among what the reader can see."""

    def visible_concepts(
        self, filter: Filter, names: Sequence[ConceptName]
    ) -> dict[ConceptName, Concept]:
        """Those of these names that a visible memory mentions; only visible ones are counted."""

    def replace_shared(self, filter: Filter, memory: Memory) -> None:
        """Make `memory` the present version of its id, as the reader, who has the right to write.

        The right is looked at in the same transaction. Otherwise as `Memories.replace`.

        Raises:
            NotAllowed: the reader may not write it, or not any more.
            VersionConflict, DuplicateContent: as for the owner.
        """

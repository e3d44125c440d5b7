"""Memories by time: the user's own with those that others share, in one list.

The store is asked for the own memories and, for each user who shares anything, for what the user
can see of theirs. It enforces what can be seen, and nothing is kept from one list to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bearinmind.mirrors import owner_of
from bearinmind.protocols import Page, Store
from bearinmind.types import Filter, Memory, MemoryId, Scope, State, UserId, Whose

#: In which states others' memories are seen; what is deleted or superseded is its owner's alone.
_SEEN = frozenset({State.LIVE, State.EXPIRED})

Owner = Whose | UserId | None  #: whose memories are meant; None for all that can be seen


@dataclass(frozen=True, slots=True)
class Listing:
    """All that a user may list of what a filter admits. Made for one list."""

    store: Store
    views: tuple[Filter, ...]  #: the own memories, then those of each who shares, by name

    def browse(self, page: Page) -> list[Memory]:
        """A stretch of the list, by creation time and then id.

        Where several have a memory of one id and moment, which are copies of it, one is listed: the
        own one, or that of the first owner by name. So no place in a list is held twice.
        """
        found: dict[tuple[datetime, MemoryId], Memory] = {}
        for view in self.views:
            for memory in self.store.browse(view, page):
                found.setdefault((memory.created_at, memory.id), memory)
        places = sorted(found, reverse=page.newest_first)
        return [found[place] for place in places[: page.limit]]

    def counts(self) -> list[int]:
        """How many memories each view has."""
        return [self.store.count(view) for view in self.views]


def listing(store: Store, filter: Filter, owner: Owner = None) -> Listing:
    """What the user of a filter may list just now, of everybody or of one owner."""
    own = (filter,) if _means_own(owner, filter.scope.user) else ()
    return Listing(store, (*own, *_of_others(store, filter, owner)))


def _means_own(owner: Owner, user: UserId) -> bool:
    return owner is None or (owner in (Whose.ME, user) and owner != Whose.OTHERS)


def _of_others(store: Store, filter: Filter, owner: Owner) -> Sequence[Filter]:
    """One filter for each who shares anything, as far as that is asked for."""
    seen = filter.states & _SEEN
    if owner == Whose.ME or filter.as_of is not None or not seen:
        return []
    reader = filter.scope.user
    return [
        replace(filter, scope=Scope(user=sharer), reader=reader, states=seen)
        for sharer in store.sharers(reader)
        if owner in (None, Whose.OTHERS, owner_of(sharer))
    ]

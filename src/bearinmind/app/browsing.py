"""The verbs that go through memories by time, and count them: the own ones and those of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Unpack

from bearinmind import requests
from bearinmind.config import Settings
from bearinmind.protocols import Page, Statistics, Store
from bearinmind.recall import history, visible
from bearinmind.recall.listing import Listing, listing
from bearinmind.recall.parse import LARGEST_LIMIT, LARGEST_POOL, check_number
from bearinmind.remember.admit import check_moment
from bearinmind.requests import ListFields
from bearinmind.types import Filter, Memory, MemoryId, Scope, State, Whose

Place = tuple[datetime, MemoryId]  #: in a list of memories


class BrowsingVerbs:
    """What a Bear in Mind shows without a question.

    `owner` says whose memories are meant: `me`, `others`, or the name of one who shares some. All
    that can be seen, unless it is given.
    """

    scope: Scope
    settings: Settings
    _store: Store
    _clock: Callable[[], datetime]

    def list(
        self,
        *,
        limit: int = 20,
        after: str | Place | None = None,
        newest_first: bool = True,
        **fields: Unpack[ListFields],
    ) -> Sequence[Memory]:
        """Memories by creation time, own and shared; `after` continues behind one, or a place.

        A place is the time and the id of a memory, which may be gone by now.
        """
        page = Page(
            limit=check_number("limit", limit, LARGEST_POOL),
            after=self._place(after) if isinstance(after, str) else after,
            newest_first=newest_first,
        )
        return self._listing(fields).browse(page)

    def timeline(
        self,
        around: str | datetime,
        *,
        before: int = 5,
        after: int = 5,
        **fields: Unpack[ListFields],
    ) -> history.Timeline:
        """What was remembered before and after a memory or a moment, own and shared."""
        anchor = self._seen(around) if isinstance(around, str) else around
        return history.timeline(
            self._listing(fields).browse,
            anchor if isinstance(anchor, Memory) else check_moment(anchor, "the moment"),
            before=check_number("before", before, LARGEST_LIMIT, least=0),
            after=check_number("after", after, LARGEST_LIMIT, least=0),
        )

    def stats(self) -> Statistics:
        """Counts of what is stored, and of what others share."""
        now = self._clock()
        own = self._store.statistics(self.scope, now)
        everything = Filter(scope=self.scope, now=now)
        seen = listing(self._store, everything, Whose.OTHERS).counts()
        return replace(own, shared=sum(seen), sharers=sum(map(bool, seen)))

    def states(self, memories: Sequence[Memory]) -> dict[MemoryId, State]:
        """Where each of these memories stands now."""
        return history.states(self._store, self.scope, memories, self._clock())

    def _listing(self, fields: ListFields) -> Listing:
        return listing(self._store, self._filter(fields), requests.owner(fields))

    def _place(self, id: str) -> Place:
        last = self._seen(id)
        return last.created_at, last.id

    def _seen(self, id: str) -> Memory:
        """A memory of this user, or one that is shared."""
        return visible.find(self._store, self.scope, id, self._clock())

    def _filter(self, fields: requests.FilterFields) -> Filter:
        return requests.filter_of(fields, self.scope, self.settings, self._clock())

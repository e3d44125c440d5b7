"""Recall over what others share: the same legs and the same pipeline, over a wider view.

`Visible` reads like a store. It asks the store for the user's own memories and, for each user who
shares anything, for what the user can see of theirs, and puts the answers together. The store
enforces what can be seen; nothing here ever holds a memory that cannot.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from bearinmind.concepts import Concept, ConceptName, Mentioned, Role
from bearinmind.errors import StoreFailure
from bearinmind.protocols import (
    DenseAnswer,
    Following,
    Leg,
    LexicalMatch,
    LexicalStatistics,
    Readable,
    ReadSoFar,
    Store,
)
from bearinmind.recall import pooling
from bearinmind.recall.dense import DenseLeg
from bearinmind.recall.graph import GraphLeg
from bearinmind.recall.lexical import LexicalLeg
from bearinmind.recall.pipeline import Recall
from bearinmind.trace import Answer, LegReport
from bearinmind.types import Filter, Link, Memory, MemoryId, Query, Scope, Space, State, UserId

if TYPE_CHECKING:
    from bearinmind.protocols import Vector

SHARED = "shared"  #: how a trace calls the memories of others when they are missing
#: Of so many own vectors the mean and the deviation tell something, and others' do not count.
ENOUGH = 10


def recalled(recall: Recall, store: Store, query: Query) -> Answer:
    """The answer to a query from all that its user can see just now.

    Where nobody can say who shares what, the own memories answer, and the trace says so.
    """
    try:
        sees = seen_by(recall, store, query.filter)
    except StoreFailure as exc:
        answer = recall(query)
        error = f"{exc.code}: {exc.message}"
        report = LegReport(leg=SHARED, found=0, milliseconds=0.0, error=error)
        legs = (*answer.trace.legs, report)
        return replace(answer, trace=replace(answer.trace, legs=legs))
    return sees(query)


def seen_by(recall: Recall, store: Store, filter: Filter) -> Recall:
    """The same recall over all that the user of a filter can see just now."""
    view = visible_to(recall.store, store, filter)
    return recall if view is None else over(recall, view)


def visible_to(own: Readable, store: Store, filter: Filter) -> Visible | None:
    """What the user of a filter can see beside the own memories; None when that is nothing.

    Nothing of it may be kept for another recall: a share may end at any moment. So others' memories
    are read from the store itself, while `own` may be a copy that is a little behind.
    """
    if not _sees_others(filter):
        return None
    sharers = store.sharers(filter.scope.user)
    return Visible(own, store, sharers, filter.now) if sharers else None


def over(recall: Recall, view: Readable) -> Recall:
    """The same recall over another view. A leg that reads no store stays as it is."""
    return replace(
        recall,
        store=view,
        legs=tuple(_over(leg, view) for leg in recall.legs),
        following=tuple(_following_over(leg, view) for leg in recall.following),
    )


def _over(leg: Leg, view: Readable) -> Leg:
    if isinstance(leg, LexicalLeg):
        return replace(leg, search=view)
    return replace(leg, search=view) if isinstance(leg, DenseLeg) else leg


def _following_over(leg: Following, view: Readable) -> Following:
    return replace(leg, search=view) if isinstance(leg, GraphLeg) else leg


def _sees_others(filter: Filter) -> bool:
    """Whether a filter asks for what is live now: of others nothing else is seen."""
    return filter.as_of is None and State.LIVE in filter.states


class Visible:
    """A user's own memories with those that others share; satisfies `Readable`.

    Made for one recall. Links and supersession are the user's own: a shared memory that is
    superseded is not seen at all.
    """

    def __init__(
        self, own: Readable, store: Store, sharers: Sequence[UserId], now: datetime
    ) -> None:
        self._own = own
        self._store = store
        self._sharers = sharers
        self._now = now
        self._statistics = LexicalStatistics(0, 0.0, {})
        self._names: dict[ConceptName, tuple[ConceptName, ...]] = {}  # with the user's aliases
        self._concepts: dict[UserId, dict[ConceptName, Concept | None]] = {}  # asked for before

    def _views(self, scope: Scope) -> list[Filter]:
        """All that can be seen of others, one filter for each of them."""
        return [
            Filter(scope=Scope(user=sharer), reader=scope.user, now=self._now)
            for sharer in self._sharers
        ]

    def _filters(self, filter: Filter) -> list[Filter]:
        """The same, as far as it is asked for."""
        if not _sees_others(filter):
            return []
        reader = filter.scope.user
        return [
            replace(filter, scope=Scope(user=sharer), reader=reader) for sharer in self._sharers
        ]

    # ---- by id ---------------------------------------------------------------------------------

    def get(self, scope: Scope, id: MemoryId, as_of: datetime | None = None) -> Memory | None:
        """A memory, an own one or one that can be seen."""
        return self.get_many(scope, [id], as_of).get(id)

    def get_many(
        self, scope: Scope, ids: Sequence[MemoryId], as_of: datetime | None = None
    ) -> dict[MemoryId, Memory]:
        """The same for many; of others only as they are now."""
        found = self._own.get_many(scope, ids, as_of)
        for view in self._views(scope) if as_of is None else ():
            rest = [id_ for id_ in ids if id_ not in found]
            if rest:
                found |= self._store.visible(view, rest)
        return found

    # ---- links: the user's own -----------------------------------------------------------------

    def has_links(self, scope: Scope) -> bool:
        """Whether the user has any link."""
        return self._own.has_links(scope)

    def links(
        self, scope: Scope, ids: Sequence[MemoryId], as_of: datetime | None = None
    ) -> list[Link]:
        """The user's links at these memories."""
        return self._own.links(scope, ids, as_of)

    def superseding(
        self, scope: Scope, ids: Sequence[MemoryId], as_of: datetime | None = None
    ) -> list[Link]:
        """The user's supersedes links above these memories."""
        return self._own.superseding(scope, ids, as_of)

    # ---- by words ------------------------------------------------------------------------------

    def lexical_statistics(self, scope: Scope, terms: Sequence[str]) -> LexicalStatistics:
        """How frequent the terms are in all that can be seen."""
        own = self._own.lexical_statistics(scope, terms)
        others = [self._store.visible_statistics(view, terms) for view in self._views(scope)]
        self._statistics = pooling.added_up([own, *others], terms)
        return self._statistics

    def lexical_matches(
        self, filter: Filter, terms: Sequence[str], *, every: bool, limit: int
    ) -> list[LexicalMatch]:
        """The best matches of everybody, by BM25 over all that can be seen."""
        found = self._own.lexical_matches(filter, terms, every=every, limit=limit)
        known = {match.id for match in found}
        theirs = [
            match
            for view in self._filters(filter)
            for match in self._store.lexical_matches(view, terms, every=every, limit=limit)
            if match.id not in known
        ]
        if not theirs or len(found) + len(theirs) <= limit:
            return [*found, *theirs]
        if any(term not in self._statistics.frequency for term in terms):
            self.lexical_statistics(filter.scope, terms)
        score = {
            match.id: pooling.bm25(match, terms, self._statistics) for match in (*found, *theirs)
        }
        best = sorted((*found, *theirs), key=lambda match: (-score[match.id], match.id))
        return best[:limit]

    # ---- by meaning ----------------------------------------------------------------------------

    def nearest(self, filter: Filter, space: Space, query: Vector, limit: int) -> DenseAnswer:
        """The nearest memories of everybody, and what the whole looks like from the query.

        What stands out among the own memories is judged by these, where they are enough to tell.
        """
        own = self._own.nearest(filter, space, query, limit)
        views = self._filters(filter)
        others = [self._store.nearest(view, space, query, limit) for view in views]
        found = {near.id: near for answer in (*others, own) for near in answer.nearest}
        nearest = sorted(found.values(), key=lambda near: (-near.cosine, near.id))[:limit]
        crowd = own if own.population >= ENOUGH else pooling.pooled([own, *others])
        return crowd._replace(
            nearest=nearest,
            searched=sum(answer.searched for answer in (own, *others)),
            how=f"{own.how}, and what others share" if own.how else "own, and what others share",
        )

    def cosines(
        self, filter: Filter, space: Space, query: Vector, ids: Sequence[MemoryId]
    ) -> dict[MemoryId, float]:
        """How near these memories are, as far as they can be seen."""
        found = self._own.cosines(filter, space, query, ids)
        for view in self._filters(filter):
            rest = [id_ for id_ in ids if id_ not in found]
            if rest:
                found |= self._store.cosines(view, space, query, rest)
        return found

    # ---- by connection -------------------------------------------------------------------------

    def read_so_far(self, scope: Scope, jobs: int) -> ReadSoFar:
        """How far the own memories are read; how far others' are is not told."""
        return self._own.read_so_far(scope, jobs)._replace(has_concepts=True)

    def concepts(self, scope: Scope, names: Collection[ConceptName]) -> dict[ConceptName, Concept]:
        """What is known by these names, counted over all that can be seen.

        Merges are the user's own: a name that others take for another one is taken as it is.
        """
        found = self._known(scope, names)
        for concept in found.values():
            self._names[concept.name] = (concept.name, *concept.aliases)
        for view in self._views(scope):
            for name, theirs in self._known(view, names).items():
                found[name] = pooling.joined(found.get(name), name, theirs)
        return found

    def mentions_in(self, filter: Filter, ids: Sequence[MemoryId]) -> list[Mentioned]:
        """What these memories mention, under the user's own names for it."""
        found = self._own.mentions_in(filter, ids)
        own = {each.id for each in found}
        rest = [id_ for id_ in ids if id_ not in own]
        for view in self._filters(filter) if rest else ():
            found += self._store.mentions_in(view, rest)
        concepts = self.concepts(filter.scope, {each.concept for each in found})
        # One that is missing was taken away a moment ago.
        return [pooling.counted(x, concepts[x.concept]) for x in found if x.concept in concepts]

    def mentioning(
        self,
        filter: Filter,
        names: Collection[ConceptName],
        limit: int,
        role: Role | None = None,
    ) -> list[Mentioned]:
        """The memories that mention these concepts, own ones first, at most so many each."""
        asked = self.concepts(filter.scope, names).values()
        concepts = {concept.name: concept for concept in asked}
        found: dict[ConceptName, dict[MemoryId, Mentioned]] = {name: {} for name in concepts}
        for each in self._own.mentioning(filter, names, limit, role):
            if each.concept in found:
                found[each.concept][each.id] = each
        for view in self._filters(filter):
            for name, each in self._called(view, concepts, limit, role):
                found[name].setdefault(each.id, each)
        return [
            pooling.counted(each, concepts[name])
            for name, by_id in found.items()
            for each in [*by_id.values()][:limit]
        ]

    def _called(
        self, view: Filter, names: Collection[ConceptName], limit: int, role: Role | None
    ) -> Iterable[tuple[ConceptName, Mentioned]]:
        """Which memories of one sharer mention these concepts, whatever they are called there."""
        asked = {called: name for name in names for called in self._names.get(name, (name,))}
        known = self._known(view, [*asked])
        meant: dict[ConceptName, set[ConceptName]] = {}
        for called, concept in known.items():
            meant.setdefault(concept.name, set()).add(asked[called])
        for each in self._store.mentioning(view, [*known], limit, role) if known else ():
            for name in sorted(meant.get(each.concept, ())):
                yield name, each

    def _known(
        self, view: Filter | Scope, names: Collection[ConceptName]
    ) -> dict[ConceptName, Concept]:
        """Concepts of the user, or those that can be seen of another; each is asked for once."""
        scope = view if isinstance(view, Scope) else view.scope
        known = self._concepts.setdefault(scope.user, {})
        missing = [name for name in names if name not in known]
        if missing:
            known |= dict.fromkeys(missing)
            known |= (
                self._own.concepts(view, missing)
                if isinstance(view, Scope)
                else self._store.visible_concepts(_all_of(view), missing)
            )
        return {name: found for name in names if (found := known[name]) is not None}


def _all_of(view: Filter) -> Filter:
    """All that can be seen of somebody, whatever else is asked of a memory."""
    return Filter(scope=view.scope, reader=view.reader, now=view.now)

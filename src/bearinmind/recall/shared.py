"""Recall over what others share: the same legs and the same pipeline, over a wider view.

`Visible` reads like a store. It joins the user's own memories with those that each sharer lets the
user see. The store enforces what can be seen; nothing here ever holds a memory that cannot.

Two owners may hold one id, so it knows the memories of others by owner and id.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from bearinmind import errors
from bearinmind.concepts import Concept, ConceptName, Mentioned, Role
from bearinmind.errors import StoreFailure, StoreUnavailable
from bearinmind.protocols import (
    DenseAnswer,
    Leg,
    LexicalMatch,
    LexicalStatistics,
    Readable,
    ReadSoFar,
    Store,
)
from bearinmind.recall import history
from bearinmind.recall.dense import DenseLeg, pooled
from bearinmind.recall.graph_leg import GraphLeg
from bearinmind.recall.lexical import LexicalLeg, added_up, bm25
from bearinmind.recall.owned_ids import bare, ids_of, key_of, known_as, with_bare_ids
from bearinmind.recall.pipeline import Recall
from bearinmind.text import ids
from bearinmind.trace import Answer, LegReport
from bearinmind.types import (
    Filter,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Query,
    Right,
    Scope,
    Space,
    State,
    UserId,
    copy_name,
    is_copy,
    owner_of,
)

if TYPE_CHECKING:
    from bearinmind.protocols import Vector


#: At most so many ids of an owner are looked at to find the one to restore.
_MOST_BEGINNING = 100
SHARED = "shared"  #: how a trace calls the memories of others when they are missing
#: From so many own vectors on their mean and deviation are used, without others'.
ENOUGH = 10


def recalled(recall: Recall, store: Store, query: Query) -> Answer:
    """The answer to a query from all that its user can see just now.

    What the store cannot say of others is left out, and the trace says so: it may not know who
    shares what, or the machine that has the memories of one of them may be away.
    """
    try:
        view = visible_to(recall.store, store, query.filter)
    except StoreFailure as exc:
        return _without_shared(recall(query), exc)
    if view is None:
        return recall(query)
    with suppress(StoreUnavailable):
        answer = over(recall, view)(query)
        failures = " ".join(leg.error or "" for leg in answer.trace.legs)
        if StoreUnavailable.code not in failures:
            return with_bare_ids(answer)
    reached, lost = view.reached(query.filter.scope)
    answer = with_bare_ids(over(recall, reached)(query))
    return answer if lost is None else _without_shared(answer, lost)


def _without_shared(answer: Answer, exc: StoreFailure) -> Answer:
    """An answer that says why memories of others are missing."""
    error = f"{exc.code}: {exc.message}"
    report = LegReport(leg=SHARED, found=0, milliseconds=0.0, error=error)
    return replace(answer, trace=replace(answer.trace, legs=(*answer.trace.legs, report)))


def seen_by(recall: Recall, store: Store, filter: Filter) -> Recall:
    """The recall over all that the user of a filter can see just now."""
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
    """The recall over another view. A leg that reads no store stays as it is."""
    return replace(
        recall,
        store=view,
        legs=tuple(_over(leg, view) for leg in recall.legs),
        following=tuple(
            replace(leg, search=view) if isinstance(leg, GraphLeg) else leg
            for leg in recall.following
        ),
    )


def _over(leg: Leg, view: Readable) -> Leg:
    if isinstance(leg, LexicalLeg):
        return replace(leg, search=view)
    return replace(leg, search=view) if isinstance(leg, DenseLeg) else leg


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
        """What a filter asks for of others, one filter for each of them."""
        if not _sees_others(filter):
            return []
        reader = filter.scope.user
        return [
            replace(filter, scope=Scope(user=sharer), reader=reader) for sharer in self._sharers
        ]

    def reached(self, scope: Scope) -> tuple[Visible, StoreUnavailable | None]:
        """The same without those whose memories cannot be reached, and why they cannot."""
        sharers: list[UserId] = []
        lost = None
        for view in self._views(scope):
            try:
                self._store.visible(view, [MemoryId("")])
            except StoreUnavailable as exc:
                lost = exc
            else:
                sharers.append(view.scope.user)
        return Visible(self._own, self._store, sharers, self._now), lost

    # ---- by id ---------------------------------------------------------------------------------

    def get(self, scope: Scope, id: MemoryId, as_of: datetime | None = None) -> Memory | None:
        """A memory, an own one or one that can be seen."""
        return self.get_many(scope, [id], as_of).get(id)

    def get_many(
        self, scope: Scope, ids: Sequence[MemoryId], as_of: datetime | None = None
    ) -> dict[MemoryId, Memory]:
        """The memories, own ones or ones that can be seen; of others only as they are now."""
        memories = self._own.get_many(scope, ids, as_of)
        for view in self._views(scope) if as_of is None else ():
            theirs = ids_of(view, ids)
            seen = self._store.visible(view, theirs) if theirs else {}
            memories |= {memory.id: memory for memory in map(known_as(view), seen.values())}
        return memories

    # ---- links: the user's own, and which shared memories outdate each other -------------------

    def has_links(self, scope: Scope) -> bool:
        """Whether there may be any link."""
        return self._own.has_links(scope) or bool(self._sharers)

    def links(
        self, scope: Scope, ids: Sequence[MemoryId], as_of: datetime | None = None
    ) -> list[Link]:
        """The user's links at these memories."""
        return self._own.links(scope, ids, as_of)

    def newer(
        self,
        scope: Scope,
        ids: Sequence[MemoryId],
        as_of: datetime | None = None,
        kinds: Sequence[LinkKind] = (LinkKind.SUPERSEDES,),
    ) -> list[Link]:
        """The user's links above these memories, and the others' `outdates` that can be seen.

        A link is seen only with both of its memories: an unshared one leaves no hint.
        """
        links = self._own.newer(scope, ids, as_of, kinds)
        if LinkKind.OUTDATES in kinds and as_of is None:
            for view in self._views(scope):
                links += self._visible_outdates(view, ids)
        return links

    def _visible_outdates(self, view: Filter, ids: Sequence[MemoryId]) -> list[Link]:
        theirs = ids_of(view, ids)
        links = self._store.newer(view.scope, theirs, None, [LinkKind.OUTDATES]) if theirs else []
        ends = [*dict.fromkeys(end for link in links for end in (link.source, link.target))]
        visible = self._store.visible(view, ends) if ends else {}
        return [
            replace(link, source=key_of(view, link.source), target=key_of(view, link.target))
            for link in links
            if link.source in visible and link.target in visible
        ]

    # ---- by words ------------------------------------------------------------------------------

    def lexical_statistics(self, scope: Scope, terms: Sequence[str]) -> LexicalStatistics:
        """How frequent the terms are in all that can be seen."""
        own = self._own.lexical_statistics(scope, terms)
        others = [self._store.visible_statistics(view, terms) for view in self._views(scope)]
        self._statistics = added_up([own, *others], terms)
        return self._statistics

    def lexical_matches(
        self, filter: Filter, terms: Sequence[str], *, every: bool, limit: int
    ) -> list[LexicalMatch]:
        """The best matches of all users, by BM25 over all that can be seen."""
        own = self._own.lexical_matches(filter, terms, every=every, limit=limit)
        theirs = [
            match._replace(id=key_of(view, match.id), load=_loading(view, match))
            for view in self._filters(filter)
            for match in self._store.lexical_matches(view, terms, every=every, limit=limit)
        ]
        if not theirs or len(own) + len(theirs) <= limit:
            return [*own, *theirs]
        if any(term not in self._statistics.frequency for term in terms):
            self.lexical_statistics(filter.scope, terms)
        score = {match.id: bm25(match, terms, self._statistics) for match in (*own, *theirs)}
        best = sorted((*own, *theirs), key=lambda match: (-score[match.id], match.id))
        return best[:limit]

    # ---- by meaning ----------------------------------------------------------------------------

    def nearest(self, filter: Filter, space: Space, query: Vector, limit: int) -> DenseAnswer:
        """The nearest memories of all users, with the mean and the deviation to judge them by.

        The mean is that of the own memories, where there are enough of them.
        """
        own = self._own.nearest(filter, space, query, limit)
        views = self._filters(filter)
        others = [self._store.nearest(view, space, query, limit) for view in views]
        theirs = [
            near._replace(id=key_of(view, near.id))
            for view, answer in zip(views, others, strict=True)
            for near in answer.nearest
        ]
        nearest = sorted([*own.nearest, *theirs], key=lambda near: (-near.cosine, near.id))[:limit]
        crowd = own if own.population >= ENOUGH else pooled([own, *others])
        return crowd._replace(
            nearest=nearest,
            searched=sum(answer.searched for answer in (own, *others)),
            how=f"{own.how}, and what others share" if own.how else "own, and what others share",
        )

    def cosines(
        self, filter: Filter, space: Space, query: Vector, ids: Sequence[MemoryId]
    ) -> dict[MemoryId, float]:
        """How near these memories are, as far as they can be seen."""
        cosines = self._own.cosines(filter, space, query, ids)
        for view in self._filters(filter):
            theirs = ids_of(view, ids)
            near = self._store.cosines(view, space, query, theirs) if theirs else {}
            cosines |= {key_of(view, id_): cosine for id_, cosine in near.items()}
        return cosines

    def unembedded(self, scope: Scope, space: Space, jobs: int) -> int:
        """How many own memories are not embedded yet; of others' that is not known."""
        return self._own.unembedded(scope, space, jobs)

    # ---- by connection -------------------------------------------------------------------------

    def read_so_far(self, scope: Scope, jobs: int) -> ReadSoFar:
        """How far the own memories are read; of others' memories that is not known."""
        return self._own.read_so_far(scope, jobs)._replace(has_concepts=True)

    def concepts(self, scope: Scope, names: Collection[ConceptName]) -> dict[ConceptName, Concept]:
        """What is known by these names, counted over all that can be seen.

        Merges are the user's own: a name that others take for another one is taken as it is.
        """
        concepts = self._known(scope, names)
        for concept in concepts.values():
            self._names[concept.name] = (concept.name, *concept.aliases)
        for view in self._views(scope):
            for name, theirs in self._known(view, names).items():
                concepts[name] = joined(concepts.get(name), name, theirs)
        return concepts

    def mentions_in(self, filter: Filter, ids: Sequence[MemoryId]) -> list[Mentioned]:
        """What these memories mention, under the user's own names for it."""
        mentions = self._own.mentions_in(filter, ids)
        for view in self._filters(filter):
            theirs = ids_of(view, ids)
            read = self._store.mentions_in(view, theirs) if theirs else []
            mentions += [each._replace(id=key_of(view, each.id)) for each in read]
        concepts = self.concepts(filter.scope, {each.concept for each in mentions})
        # One that is missing was taken away a moment ago.
        return [counted(x, concepts[x.concept]) for x in mentions if x.concept in concepts]

    def mentioning(
        self, filter: Filter, names: Collection[ConceptName], limit: int, role: Role | None = None
    ) -> list[Mentioned]:
        """The memories that mention these concepts, own ones first, at most so many each."""
        known = self.concepts(filter.scope, names).values()
        concepts = {concept.name: concept for concept in known}
        mentions: dict[ConceptName, dict[MemoryId, Mentioned]] = {name: {} for name in concepts}
        for each in self._own.mentioning(filter, names, limit, role):
            if each.concept in mentions:
                mentions[each.concept][each.id] = each
        for view in self._filters(filter):
            for name, each in self._called(view, concepts, limit, role):
                mentions[name].setdefault(each.id, each)
        return [
            counted(each, concepts[name])
            for name, by_id in mentions.items()
            for each in [*by_id.values()][:limit]
        ]

    def _called(
        self, view: Filter, names: Collection[ConceptName], limit: int, role: Role | None
    ) -> Iterable[tuple[ConceptName, Mentioned]]:
        """Which memories of one sharer mention these concepts, whatever they are called there."""
        own_names = {called: name for name in names for called in self._names.get(name, (name,))}
        known = self._known(view, [*own_names])
        meant: dict[ConceptName, set[ConceptName]] = {}
        for called, concept in known.items():
            meant.setdefault(concept.name, set()).add(own_names[called])
        for each in self._store.mentioning(view, [*known], limit, role) if known else ():
            for name in sorted(meant.get(each.concept, ())):
                yield name, each._replace(id=key_of(view, each.id))

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
                else self._store.visible_concepts(
                    Filter(scope=scope, reader=view.reader, now=view.now), missing
                )
            )
        return {name: concept for name in names if (concept := known[name]) is not None}


def _loading(view: Filter, match: LexicalMatch) -> Callable[[], Memory]:
    return lambda: known_as(view)(match.load())


def joined(known: Concept | None, name: ConceptName, theirs: Concept) -> Concept:
    """A concept with what others' memories say of it; their merges stay theirs."""
    if known is None:
        return replace(theirs, name=name, aliases=())
    return replace(
        known, memories=known.memories + theirs.memories, subjects=known.subjects + theirs.subjects
    )


def counted(each: Mentioned, concept: Concept) -> Mentioned:
    """A mention under the user's name, with the counts of all that can be seen."""
    return each._replace(concept=concept.name, memories=concept.memories, subjects=concept.subjects)


def view_of(reader: UserId, owner: UserId, now: datetime) -> Filter:
    """All that an owner shares with a reader."""
    return Filter(scope=Scope(user=owner), reader=reader, now=now)


def find(store: Store, scope: Scope, text: str, now: datetime) -> Memory:
    """The memory with this id, or with the only id that begins so: an own one, else a shared one.

    With its owner (`anna:k7f29q`) it is never ambiguous. What is hidden is as if it did not exist.
    """
    try:
        return history.find(store, scope, text)
    except errors.MemoryNotFound as missing:
        seen = _beginning(store, scope.user, text, now)
        if not seen:
            raise missing from None
        return seen


def _beginning(store: Store, reader: UserId, text: str, now: datetime) -> Memory | None:
    """The only memory of other owners whose id begins so and that the reader may see."""
    named, prefix = ids.parse(text)
    matches: dict[MemoryId, Filter] = {}
    for sharer in store.sharers(reader):
        if named in (None, owner_of(sharer)):
            view = view_of(reader, sharer, now)
            visible = store.visible_beginning(view, prefix)
            matches |= {key_of(view, id_): view for id_ in visible}
    _check_one(prefix, matches)
    for key, view in matches.items():
        return store.visible(view, [bare(key)]).get(bare(key))
    return None


def _check_one(prefix: str, keys: Iterable[MemoryId]) -> None:
    """Refuse a beginning of several ids, and an id that several owners share."""
    named = sorted(keys)
    if len(named) > 1 and len({*map(bare, named)}) == 1:
        owners = " and ".join(ids.split_owner(key)[0] or "" for key in named)
        raise errors.AmbiguousId(
            f"{prefix!r} is shared with you by {owners}",
            hint=f"Put the owner before it, such as {named[0]}.",
        )
    history.check_one(prefix, named)


def check_writable(store: Store, reader: UserId, memory: Memory, now: datetime) -> Filter:
    """The view through which a reader may write another user's memory, if it may be written."""
    view = view_of(reader, memory.owner, now)
    right = store.rights(view, [memory.id]).get(memory.id)
    if right is None:
        copies = view_of(reader, copy_name(memory.owner, reader), now)  # what came from a server
        if not store.visible(copies, [memory.id]):
            raise history.not_found(memory.id)
        raise errors.NotAllowed(
            f"memory {memory.id} is {memory.owner}'s, and this machine has a copy to read",
            hint="Change it on the server that you sync with, if it is shared to be written.",
        )
    if right is not Right.WRITE:
        raise errors.NotAllowed(
            f"{memory.owner!r} shares memory {memory.id} with you to read, not to write",
            hint="Ask the owner to share it with the right to write.",
        )
    return view


def find_deleted(store: Store, reader: UserId, text: str) -> Memory | None:
    """The deleted memory of another owner that a reader may restore, if there is one.

    A user who may delete a memory may also restore it, though a deleted one cannot be seen.
    """
    named, prefix = ids.parse(text)
    writable = [
        share
        for share in store.shared_with(reader)
        if share.right is Right.WRITE and not is_copy(share.owner) and named in (None, share.owner)
    ]
    deleted: dict[MemoryId, Memory] = {}
    for owner in dict.fromkeys(share.owner for share in writable):
        shares = [share for share in writable if share.owner == owner]
        scope = Scope(user=owner)
        held = store.get_many(scope, store.resolve(scope, prefix, _MOST_BEGINNING))
        for memory in held.values():
            may_restore = any(x.memory == memory.id or x.tag in memory.tags for x in shares)
            if may_restore and memory.deleted_at is not None and not memory.sensitive:
                deleted[ids.with_owner(owner, memory.id)] = memory
    _check_one(prefix, deleted)
    return next(iter(deleted.values()), None)

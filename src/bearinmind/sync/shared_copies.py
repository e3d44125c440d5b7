"""Keeps a copy of what others share with the user of a replica, so that it can be read offline.

The copy follows what the server lists: what is not listed any more is purged, its text too. Every
round compares all of it by a mark that is made of what is here, so it does not matter at which
moment the one before ended, or who else did the same beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from bearinmind.changes import (
    Refused,
    ShareState,
    is_mirror,
    memory_subject,
    mirror_of,
    owner_of,
    share_subject,
)
from bearinmind.errors import InvalidAnswer, InvalidChange, MindError, PeerNotFound
from bearinmind.protocols import Gone, History, Received, Store
from bearinmind.sync.model import (
    Seen,
    SharedMemories,
    SharedPage,
    SharingServer,
    SyncReport,
    active_space,
    error_text,
    vectors_by_id,
)
from bearinmind.sync.server_side import mark_of, visible_to
from bearinmind.types import Filter, Memory, MemoryId, Scope, Share, State, UserId

_AT_ONCE = 100  # memories that are asked for, kept or purged together

_NOT_LISTED = "the server does not list what others share: it is of an earlier release"

_Place = tuple[UserId, MemoryId]  # whose memory it is, and its id


class CopiesUpdated(NamedTuple):
    """What an update of the copies did."""

    known: bool  #: whether the server lists what others share
    taken: int = 0  #: memories that are new here, or changed
    purged: int = 0  #: memories that are not shared any more


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedCopies:
    """Keeps the copies the same as what a server lists."""

    store: Store
    scope: Scope
    server: SharingServer
    clock: Callable[[], datetime]

    def update(self) -> CopiesUpdated:
        """Take what is shared and is not here yet, and purge what is not shared any more.

        Raises:
            InvalidAnswer, InvalidChange: the answer of the server contradicts itself.
            MindError: it does not answer, or refuses.
        """
        here = {(each.owner, each.id): each for each in held(self.store, self.scope, self.clock())}
        page = self.server.shared(mark_of(here.values()), "")
        if page is None or page.unchanged:
            return CopiesUpdated(known=page is not None)
        listed = self._without_local({(each.owner, each.id): each for each in self._all(page)})
        purged = purge(self.store, self.scope, [place for place in here if place not in listed])
        wanted = [each for place, each in listed.items() if here.get(place) != each]
        return CopiesUpdated(known=True, taken=self._take(wanted), purged=purged)

    def _all(self, page: SharedPage) -> Iterator[Seen]:
        """All that is listed, beginning with the first page."""
        while True:
            yield from page.seen
            if not page.cursor:
                return
            following = self.server.shared("", page.cursor)
            if following is None or following.unchanged or not _goes_on(page, following):
                raise InvalidAnswer("the server does not go on with what others share")
            page = following

    def _without_local(self, listed: dict[_Place, Seen]) -> dict[_Place, Seen]:
        """What the user does not see anyway, since its owner uses the same store."""
        user, now = self.scope.user, self.clock()
        sharers = {x for x in self.store.sharers(user) if not is_mirror(x)}
        local: set[_Place] = set()
        for owner in sharers & {owner for owner, _ in listed}:
            view = Filter(scope=Scope(user=owner), reader=user, now=now)
            ids = [id_ for whose, id_ in listed if whose == owner]
            local |= {(owner, id_) for id_ in self.store.visible(view, ids)}
        return {place: each for place, each in listed.items() if place not in local}

    def sync(self, report: SyncReport) -> None:
        """Update the copies; what failed is in the report and kept for `sync status`."""
        try:
            updated = self.update()
        except MindError as error:
            report.shared_error = error
            self._note(shared_error=error_text(error))
            return
        report.mirrored += updated.taken
        report.unmirrored += updated.purged
        if updated.known:
            self._note(shared_at=self.clock(), shared_error=None)
        else:
            self._note(shared_error=_NOT_LISTED)

    def _note(self, **changed: Any) -> None:  # noqa: ANN401  (fields of `Peer`)
        peer = self.store.peer(self.scope)
        if peer is not None:  # it was disconnected meanwhile otherwise
            self.store.keep_peer(self.scope, replace(peer, **changed))

    # ---- what is taken -------------------------------------------------------------------------

    def _take(self, wanted: Sequence[Seen]) -> int:
        taken = 0
        space = active_space(self.store.spaces())
        for owner in dict.fromkeys(each.owner for each in wanted):
            left = [each for each in wanted if each.owner == owner]
            while left:
                some = left[:_AT_ONCE]
                ids = [each.id for each in some]
                answer = self.server.shared_memories(owner, ids, space.space.key if space else None)
                if not 0 < answer.settled <= len(some):
                    raise InvalidAnswer(
                        f"the server answered {answer.settled} of {len(some)} shared memories"
                    )
                if self.store.peer(self.scope) is None:
                    raise PeerNotFound  # it was disconnected meanwhile, and nothing is to stay here
                self._keep(owner, some[: answer.settled], answer)
                taken += len(answer.memories)
                left = left[answer.settled :]
        return taken

    def _keep(self, owner: UserId, listed: Sequence[Seen], answer: SharedMemories) -> None:
        """Keep memories with the right to them, all or none; some may not be shared any more."""
        scope = Scope(user=mirror_of(owner, self.scope.user))
        rights = {each.id: each.right for each in listed}
        received: list[Received] = []
        for memory in answer.memories:
            _check(memory, owner, rights)
            share = Share(
                owner=scope.user,
                reader=self.scope.user,
                right=rights[memory.id],
                memory=memory.id,
                created_at=self.clock(),
            )
            subject = share_subject(share.reader, share.memory, None)
            received += [
                Received(memory_subject(memory.id), History(versions=(memory,)), 0),
                Received(subject, ShareState(share), 0),
            ]
        _receive(self.store, scope, received)
        space = active_space(self.store.spaces()) if answer.vectors else None
        if space is not None:
            self.store.carry_vectors(scope, space.space, vectors_by_id(answer.vectors))


def held(store: Store, scope: Scope, now: datetime) -> Iterator[Seen]:
    """What is here of others' memories, in the order in which a server lists it."""
    for name, sighting in visible_to(store, scope.user, _mirrors(store, scope), now):
        yield Seen(owner_of(name), *sighting)


def counted(store: Store, scope: Scope, now: datetime) -> dict[UserId, int]:
    """How many memories of whom are here."""
    states = frozenset(State)
    return {
        owner_of(name): store.count(
            Filter(scope=Scope(user=name), reader=scope.user, now=now, states=states)
        )
        for name in _mirrors(store, scope)
    }


def purge(store: Store, scope: Scope, places: Sequence[_Place]) -> int:
    """Remove memories of others from the copy, with all that is kept of them."""
    for owner in dict.fromkeys(owner for owner, _ in places):
        mirror = Scope(user=mirror_of(owner, scope.user))
        ids = [id_ for whose, id_ in places if whose == owner]
        for start in range(0, len(ids), _AT_ONCE):
            some = ids[start : start + _AT_ONCE]
            _receive(store, mirror, [Received(memory_subject(id_), Gone(), 0) for id_ in some])
    return len(places)


def _mirrors(store: Store, scope: Scope) -> list[UserId]:
    """The names under which others' memories are kept here, by who their owners are."""
    return sorted(filter(is_mirror, store.sharers(scope.user)), key=owner_of)


def _receive(store: Store, scope: Scope, received: Sequence[Received]) -> None:
    for verdict in store.receive(scope, received) if received else ():
        if isinstance(verdict, Refused):
            raise verdict.error


def _goes_on(page: SharedPage, behind: SharedPage) -> bool:
    """Whether a page comes behind another, so that there is an end to them."""
    places = [(each.owner, each.id) for each in (*page.seen[-1:], *behind.seen)]
    return bool(behind.seen) and places == sorted({*places})


def _check(memory: Memory, owner: UserId, listed: Container[MemoryId]) -> None:
    """Make sure that this can be a memory that somebody shares."""
    hidden = memory.sensitive or memory.deleted_at is not None
    if memory.owner != owner or memory.id not in listed or hidden:
        raise InvalidChange(f"the server sent memory {memory.id}, which nobody shares")

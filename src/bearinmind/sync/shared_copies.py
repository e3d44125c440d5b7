"""Keeps copies of what others share with the user of a replica, to be read offline.

The copies follow what the server lists: a memory that is not listed any more is purged with its
text. Every round compares all of them by a hash of what is here, so it does not matter when the
round before was interrupted, or whether another process does the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from bearinmind.changes import (
    LinkState,
    Refused,
    ShareState,
    link_subject,
    memory_subject,
    share_subject,
)
from bearinmind.errors import (
    InvalidAnswer,
    InvalidChange,
    MindError,
    PathNotFound,
    PeerNotFound,
)
from bearinmind.outdates.verdicts import is_decided, judgement_of
from bearinmind.protocols import Gone, History, Received, Store
from bearinmind.sync.model import (
    Seen,
    Server,
    SharedMemories,
    SharedPage,
    error_text,
    vectors_by_id,
)
from bearinmind.sync.replica import SyncReport
from bearinmind.types import (
    Filter,
    Link,
    LinkKind,
    MemoryId,
    Scope,
    Share,
    State,
    UserId,
    copy_name,
    is_copy,
    owner_of,
)

MOST_SEEN = 1_000  # memories of one page of what others share
BETWEEN = "/"  #: between an owner and an id, in the place of a list; in no name of a user
_AT_ONCE = 100  # memories that are requested, kept or purged together

_NOT_LISTED = "the server does not list what others share: it is of an earlier release"

_Key = tuple[UserId, MemoryId]  # whose memory it is, and its id


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedCopies:
    """Keeps the copies the same as what a server lists."""

    store: Store
    scope: Scope
    server: Server
    clock: Callable[[], datetime]

    def sync(self, report: SyncReport) -> None:
        """Update the copies; what failed is in the report and kept for `sync status`."""
        try:
            self._update(report)
        except PathNotFound:  # the rest of the round is none the worse
            self._note(shared_error=_NOT_LISTED)
        except MindError as error:
            report.shared_error = error
            self._note(shared_error=error_text(error))
        else:
            self._note(shared_at=self.clock(), shared_error=None)

    def _update(self, report: SyncReport) -> None:
        """Take what is shared and not here yet, and purge what is not shared any more."""
        here = {(each.owner, each.id): each for each in held(self.store, self.scope, self.clock())}
        page = self.server.shared(mark_of(here.values()), "")
        if page.unchanged:
            return
        listed = self._without_local({(each.owner, each.id): each for each in self._all(page)})
        gone = [key for key in here if key not in listed]
        dropped = purge(self.store, self.scope, gone)
        texts = {key: each._replace(decided=()) for key, each in here.items()}
        new = [x for key, x in listed.items() if texts.get(key) != x._replace(decided=())]
        report.copied += self._take(new)
        report.dropped += dropped
        for key, each in listed.items():
            known = here[key].decided if key in here else ()
            if each.decided != known:
                self._keep_decisions(each, known)

    def _all(self, page: SharedPage) -> Iterator[Seen]:
        """All that is listed, beginning with the first page."""
        while True:
            yield from page.seen
            if not page.cursor:
                return
            following = self.server.shared("", page.cursor)
            if following.unchanged or not _goes_on(page, following):
                raise InvalidAnswer("the server does not go on with what others share")
            page = following

    def _without_local(self, listed: dict[_Key, Seen]) -> dict[_Key, Seen]:
        """What is listed, except memories that the user sees in this store anyway."""
        user, now = self.scope.user, self.clock()
        sharers = {x for x in self.store.sharers(user) if not is_copy(x)}
        local: set[_Key] = set()
        for owner in sharers & {owner for owner, _ in listed}:
            view = Filter(scope=Scope(user=owner), reader=user, now=now)
            ids = [id_ for whose, id_ in listed if whose == owner]
            local |= {(owner, id_) for id_ in self.store.visible(view, ids)}
        return {
            (owner, id_): each._replace(
                decided=tuple(x for x in each.decided if (owner, x.source) in listed.keys() - local)
            )
            for (owner, id_), each in listed.items()
            if (owner, id_) not in local
        }

    def _note(self, **changed: Any) -> None:  # noqa: ANN401  (fields of `Peer`)
        peer = self.store.peer(self.scope)
        if peer is not None:  # it was disconnected meanwhile otherwise
            self.store.keep_peer(self.scope, replace(peer, **changed))

    # ---- what is taken -------------------------------------------------------------------------

    def _take(self, wanted: Sequence[Seen]) -> int:
        taken = 0
        space = self.store.active_space()
        for owner in dict.fromkeys(each.owner for each in wanted):
            left = [each for each in wanted if each.owner == owner]
            while left:
                some = left[:_AT_ONCE]
                ids = [each.id for each in some]
                answer = self.server.shared_memories(owner, ids, space.key if space else None)
                if not 0 < answer.settled <= len(some):
                    raise InvalidAnswer(
                        f"the server answered {answer.settled} of {len(some)} shared memories"
                    )
                if self.store.peer(self.scope) is None:
                    raise PeerNotFound  # it was disconnected meanwhile, so nothing may be kept
                self._keep(owner, some[: answer.settled], answer)
                taken += len(answer.memories)
                left = left[answer.settled :]
        return taken

    def _keep(self, owner: UserId, listed: Sequence[Seen], answer: SharedMemories) -> None:
        """Keep memories with the right to them, all or none; some may not be shared any more."""
        scope = Scope(user=copy_name(owner, self.scope.user))
        rights = {each.id: each.right for each in listed}
        received: list[Received] = []
        for memory in answer.memories:
            hidden = memory.sensitive or memory.deleted_at is not None
            if memory.owner != owner or memory.id not in rights or hidden:
                raise InvalidChange(f"the server sent memory {memory.id}, which nobody shares")
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
        space = self.store.active_space() if answer.vectors else None
        if space is not None:
            self.store.carry_vectors(scope, space, vectors_by_id(answer.vectors))

    def _keep_decisions(self, listed: Seen, known: Sequence[Link]) -> None:
        """Keep what the owner of a copy decided about it and others, in place of what is known."""
        states = {link_subject(x.source, x.kind, x.target): LinkState(()) for x in known}
        for link in listed.decided:
            if (link.kind, link.target) != (LinkKind.OUTDATES, listed.id):
                raise InvalidChange(f"the server sent a link of memory {listed.id} that is not its")
            states[link_subject(link.source, link.kind, link.target)] = LinkState((link,))
        scope = Scope(user=copy_name(listed.owner, self.scope.user))
        _receive(self.store, scope, [Received(*each, 0) for each in states.items()])


def held(store: Store, scope: Scope, now: datetime) -> Iterator[Seen]:
    """The copies that are here, in the order in which a server lists them."""
    for seen in visible_to(store, scope.user, _copy_names(store, scope), now):
        yield seen._replace(owner=owner_of(seen.owner))


def counted(store: Store, scope: Scope, now: datetime) -> dict[UserId, int]:
    """How many copies are here, by owner."""
    states = frozenset(State)
    return {
        owner_of(name): store.count(
            Filter(scope=Scope(user=name), reader=scope.user, now=now, states=states)
        )
        for name in _copy_names(store, scope)
    }


def purge(store: Store, scope: Scope, keys: Sequence[_Key]) -> int:
    """Remove copies of memories, with all that is kept about them; how many there were."""
    for owner in dict.fromkeys(owner for owner, _ in keys):
        copies = Scope(user=copy_name(owner, scope.user))
        ids = [id_ for whose, id_ in keys if whose == owner]
        for start in range(0, len(ids), _AT_ONCE):
            some = ids[start : start + _AT_ONCE]
            _receive(store, copies, [Received(memory_subject(id_), Gone(), 0) for id_ in some])
    return len(keys)


def _copy_names(store: Store, scope: Scope) -> list[UserId]:
    """The names under which copies are kept here, sorted by owner."""
    return sorted(filter(is_copy, store.sharers(scope.user)), key=owner_of)


def _receive(store: Store, scope: Scope, received: Sequence[Received]) -> None:
    for verdict in store.receive(scope, received) if received else ():
        if isinstance(verdict, Refused):
            raise verdict.error


def _goes_on(page: SharedPage, following: SharedPage) -> bool:
    """Whether a page comes behind another, so that the pages come to an end."""
    keys = [(each.owner, each.id) for each in (*page.seen[-1:], *following.seen)]
    return bool(following.seen) and keys == sorted({*keys})


# ---- what a reader can see of others, here and on the server -------------------------------------


def visible_to(
    store: Store, reader: UserId, owners: Iterable[UserId], now: datetime, after: str = ""
) -> Iterator[Seen]:
    """All memories of these owners, in order, that a reader can see behind a place of the list."""
    first, _, id_ = after.partition(BETWEEN)
    for owner in owners:
        if owner < first:
            continue
        last = id_ if owner == first else ""
        view = Filter(scope=Scope(user=owner), reader=reader, now=now)
        while page := store.visible_after(view, last, MOST_SEEN):
            decided = _decided(store, view, [sighting.id for sighting in page])
            yield from (Seen(owner, *each, tuple(decided.get(each.id, ()))) for each in page)
            last = page[-1].id


def _decided(store: Store, view: Filter, ids: Sequence[MemoryId]) -> dict[MemoryId, list[Link]]:
    """What was decided about each of these memories and others that the reader can see.

    It is told without the words of whoever decided: they may be of another memory.
    """
    links = [x for x in store.newer(view.scope, ids, None, [LinkKind.OUTDATES]) if is_decided(x)]
    seen = store.visible(view, [x.source for x in links]) if links else {}
    decided: dict[MemoryId, list[Link]] = {}
    for link in sorted(links, key=lambda x: x.source):
        if link.source in seen:
            judgement = replace(judgement_of(link), thing="", aspect="", evidence=())
            decided.setdefault(link.target, []).append(replace(link, judgement=judgement))
    return decided


def mark_of(seen: Iterable[Seen]) -> str:
    """A hash that is equal only for the same versions with the same rights and decisions."""
    mark = hashlib.sha256()
    for each in seen:
        at = each.updated_at.isoformat(timespec="microseconds")
        decided = [(x.source, x.created_at.timestamp(), x.judgement) for x in each.decided]
        line = f"{each.owner} {each.id} {each.version} {at} {each.right} {decided or ''}\n"
        mark.update(line.encode())
    return mark.hexdigest()[:32]

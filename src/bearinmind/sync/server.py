"""The side of the server: tells what changed, and takes changes one by one.

The history of a memory only ever grows here. A change is taken only from a replica that has seen
the last one of the same thing, so it does not matter how often, how late or in which order messages
arrive: one that was made on older knowledge is stale, and its replica merges and asks again.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from bearinmind.changes import (
    Change,
    Feed,
    Refused,
    Stale,
    Subject,
    SubjectKind,
    Verdict,
    digest,
)
from bearinmind.errors import FeedRestarted, InvalidChange, MindError
from bearinmind.protocols import (
    Gone,
    History,
    Received,
    Store,
    SubjectState,
)
from bearinmind.sync.lineage import continues
from bearinmind.sync.pages import PAGE_BYTES, active_space, size_of
from bearinmind.sync.sightings import MOST_SEEN, SharedSide
from bearinmind.sync.transport import Arrived, Operation, Pulled, SharedMemories, SharedPage
from bearinmind.types import MemoryId, Scope, UserId

if TYPE_CHECKING:  # numpy
    from bearinmind.protocols import Vector

PAGE = 200  # changes at a time, at most
_AT_ONCE = 25  # states that are read together: no more than that too many are ever in memory


def new_epoch() -> str:
    """A name for a numbering that no other one has."""
    return secrets.token_hex(8)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSide:
    """Satisfies `bearinmind.sync.transport.SyncServer` for one user of a store."""

    store: Store
    scope: Scope
    #: What may be kept: the same, or what it would have to be; raises a `MindError` otherwise.
    admit: Callable[[SubjectState], SubjectState]
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)

    def pull(self, epoch: str, after: int, limit: int, space: str | None = None) -> Pulled:
        """The changes behind a number; with a space key also vectors, if it is the server's too."""
        feed = self._feed(epoch, after)
        start = after if epoch == feed.epoch else 0
        changes = self.store.changes(self.scope, start, min(limit, PAGE) + 1)
        told = [*self._told(changes[: min(limit, PAGE)])]
        return Pulled(
            epoch=feed.epoch,
            changes=tuple(told),
            cursor=told[-1].number if told else start,
            more=len(told) < len(changes),
            vectors=self._vectors(told, space) if space else {},
        )

    def push(self, epoch: str, operations: Sequence[Operation]) -> Sequence[Verdict]:
        """Take changes; a verdict for each, in order."""
        feed = self._feed(epoch, max((each.base for each in operations), default=0))
        if epoch != feed.epoch:
            raise FeedRestarted
        subjects = [each.subject for each in operations]
        numbers = self.store.numbers(self.scope, subjects)
        present = self.store.states(self.scope, subjects)
        judged = [
            self._judged(each, numbers.get(each.subject, 0), present[each.subject])
            for each in operations
        ]
        taken = [each for each in judged if isinstance(each, Received)]
        verdicts = iter(self.store.receive(self.scope, taken) if taken else ())
        return [next(verdicts) if isinstance(each, Received) else each for each in judged]

    def shared(self, mark: str, after: str, limit: int = MOST_SEEN) -> SharedPage:
        """A page of what others share with the user behind a place."""
        return self._others().listed(mark, after, limit)

    def shared_memories(
        self, owner: UserId, ids: Sequence[MemoryId], space: str | None = None
    ) -> SharedMemories:
        """What those of these memories say that can be seen; with a space key also vectors."""
        return self._others().told(owner, ids, space)

    def _others(self) -> SharedSide:
        return SharedSide(store=self.store, reader=self.scope.user, now=self.clock())

    def _feed(self, epoch: str, seen: int) -> Feed:
        """The feed. One that has fewer changes than a replica has seen is not the one it saw.

        That is so when the store was restored from a backup: the same numbers would soon mean other
        changes. So the numbering begins anew, and every replica tells what is missing here.
        """
        feed = self.store.feed(self.scope)
        if feed is not None and epoch == feed.epoch and seen > feed.head:
            self.store.close_feed(self.scope)
            feed = None
        return feed or self.store.open_feed(self.scope, new_epoch())

    def _told(self, changes: Sequence[Change]) -> Iterator[Arrived]:
        """Changes with their states, as many as may be told at once, and one at least."""
        size = 0
        for start in range(0, len(changes), _AT_ONCE):
            some = changes[start : start + _AT_ONCE]
            states = self.store.states(self.scope, [change.subject for change in some])
            for change in some:
                state = states[change.subject]
                if size and size + size_of(state) > PAGE_BYTES:
                    return
                size += size_of(state)
                yield Arrived(change.subject, change.number, state)

    def _vectors(
        self, changes: Sequence[Arrived], key: str
    ) -> Mapping[MemoryId, tuple[str, Vector]]:
        """The vectors of what is told, if they are of the space that was asked for."""
        space = active_space(self.store.spaces(), key)
        present = {
            each.state.versions[-1].id: each.state.versions[-1]
            for each in changes
            if isinstance(each.state, History)
        }
        if space is None or not present:
            return {}
        found = self.store.vectors_of(self.scope, space.space, [*present])
        return {id_: (digest(present[id_]), vector) for id_, vector in found.items()}

    def _judged(
        self, asked: Operation, number: int, present: SubjectState
    ) -> Received | Stale | Refused:
        if asked.base != number:
            return Stale(number)
        try:
            self._check(asked, present)
        except MindError as error:
            return Refused(error)
        return Received(asked.subject, asked.state, expected=asked.base)

    def _check(self, asked: Operation, present: SubjectState) -> None:
        """Make sure that a change may be taken as it is.

        Raises:
            InvalidChange: it may not, or only if it were changed: both sides must have the same.
        """
        is_memory = asked.subject.kind is SubjectKind.MEMORY
        if is_memory != isinstance(asked.state, History | Gone):
            raise InvalidChange(f"{asked.subject} is given a {type(asked.state).__name__}")
        if isinstance(asked.state, History):
            if isinstance(present, History) and not continues(asked.state, present):
                raise InvalidChange(
                    f"{asked.subject.told} would lose versions that the server has",
                    hint="Sync again: what the server has is merged first.",
                )
            _check_order(asked.subject, asked.state)
        if self.admit(asked.state) != asked.state:
            raise InvalidChange(
                f"{asked.subject.told} would have to be changed to be kept on the server",
                hint="The server has other categories or limits, or another release: give both "
                "sides the same ones, or update the memory.",
            )


def _check_order(subject: Subject, state: History) -> None:
    """Versions rise; what an import left out may be missing between them."""
    for before, memory in pairwise(state.versions):
        if memory.version <= before.version:
            raise InvalidChange(
                f"{subject.told} has the version {memory.version} behind {before.version}"
            )

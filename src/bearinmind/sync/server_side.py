"""The side of the server: sends what changed and what others share, and takes changes one by one.

The history of a memory only ever grows here. A change is taken only from a replica that has seen
the last change of the same subject. So it does not matter how often, how late or in which order
messages arrive: a change that was made without the last one is stale, and its replica merges it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice, pairwise

from bearinmind.changes import Change, Feed, Refused, Stale, Subject, SubjectKind, Verdict, digest
from bearinmind.errors import FeedRestarted, InvalidChange, MindError
from bearinmind.protocols import Gone, History, Received, Store, SubjectState
from bearinmind.sync.merge import continues
from bearinmind.sync.model import (
    PAGE_BYTES,
    Arrived,
    Operation,
    Pulled,
    Seen,
    SentVector,
    SharedMemories,
    SharedPage,
    size_of,
)
from bearinmind.sync.shared_copies import BETWEEN, MOST_SEEN, mark_of, visible_to
from bearinmind.types import Filter, Memory, MemoryId, Scope, UserId, is_copy

PAGE = 200  # changes at a time, at most
_AT_ONCE = 25  # states that are read together: no more than that too many are ever in memory
MOST_REQUESTED = 200  # shared memories of one request


def new_epoch() -> str:
    """A name for a numbering that no other one has."""
    return secrets.token_hex(8)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSide:
    """Satisfies `bearinmind.sync.model.Server` for one user of a store."""

    store: Store
    scope: Scope
    #: What may be kept: the same, or what it would have to be; raises a `MindError` otherwise.
    admit: Callable[[SubjectState], SubjectState]
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    arrived: Callable[[Sequence[Subject]], None] = lambda _: None  #: called with what was pushed

    def pull(self, epoch: str, after: int, limit: int, space: str | None = None) -> Pulled:
        """The changes behind a number; with a space key also vectors, if it is the server's too."""
        feed = self._feed(epoch, after)
        start = after if epoch == feed.epoch else 0
        changes = self.store.changes(self.scope, start, min(limit, PAGE) + 1)
        sent = [*self._fitting(changes[: min(limit, PAGE)])]
        latest = [each.state.versions[-1] for each in sent if isinstance(each.state, History)]
        return Pulled(
            epoch=feed.epoch,
            changes=tuple(sent),
            cursor=sent[-1].number if sent else start,
            more=len(sent) < len(changes),
            vectors=_vectors(self.store, self.scope, latest, space) if space else (),
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
        self.arrived(subjects)
        return [next(verdicts) if isinstance(each, Received) else each for each in judged]

    def shared(self, mark: str, after: str, limit: int = MOST_SEEN) -> SharedPage:
        """A page of what others share behind a place; nothing if the mark is that of all of it."""
        now = self.clock()
        if not after and mark and mark == mark_of(self._seen("", now)):
            return SharedPage(unchanged=True)
        size = min(limit, MOST_SEEN)
        seen = [*islice(self._seen(after, now), size + 1)]
        last = seen[size - 1] if len(seen) > size else None
        cursor = f"{last.owner}{BETWEEN}{last.id}" if last else ""
        return SharedPage(seen=tuple(seen[:size]), cursor=cursor)

    def shared_memories(
        self, owner: UserId, ids: Sequence[MemoryId], space: str | None = None
    ) -> SharedMemories:
        """Those of these memories that the user can see; with a space key also vectors."""
        reader = self.scope.user
        view = Filter(scope=Scope(user=owner), reader=reader, now=self.clock())
        is_other = owner != reader and not is_copy(owner)
        requested = ids[:MOST_REQUESTED]
        visible = self.store.visible(view, requested) if requested and is_other else {}
        memories, settled = _fitting(visible, requested)
        vectors = _vectors(self.store, view.scope, memories, space) if space else ()
        return SharedMemories(memories, settled, vectors)

    def _seen(self, after: str, now: datetime) -> Iterator[Seen]:
        reader = self.scope.user
        owners = sorted(x for x in self.store.sharers(reader) if not is_copy(x))
        return visible_to(self.store, reader, owners, now, after)

    def _feed(self, epoch: str, seen: int) -> Feed:
        """The feed. It is numbered anew when it has fewer changes than a replica has seen.

        The store was restored from a backup then, and the same numbers would soon mean other
        changes. With a new numbering every replica sends what is missing here.
        """
        feed = self.store.feed(self.scope)
        if feed is not None and epoch == feed.epoch and seen > feed.head:
            self.store.close_feed(self.scope)
            feed = None
        return feed or self.store.open_feed(self.scope, new_epoch())

    def _fitting(self, changes: Sequence[Change]) -> Iterator[Arrived]:
        """Changes with their states, as many as one answer may hold, and one at least."""
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

    def _judged(
        self, operation: Operation, number: int, present: SubjectState
    ) -> Received | Stale | Refused:
        if operation.base != number:
            return Stale(number)
        try:
            self._check(operation, present)
        except MindError as error:
            return Refused(error)
        return Received(operation.subject, operation.state, expected=operation.base)

    def _check(self, operation: Operation, present: SubjectState) -> None:
        """Make sure that a change may be taken as it is."""
        is_memory = operation.subject.kind is SubjectKind.MEMORY
        if is_memory != isinstance(operation.state, History | Gone):
            raise InvalidChange(f"{operation.subject} is given a {type(operation.state).__name__}")
        if isinstance(operation.state, History):
            if isinstance(present, History) and not continues(operation.state, present):
                raise InvalidChange(
                    f"{operation.subject.label} would lose versions that the server has",
                    hint="Sync again: what the server has is merged first.",
                )
            for before, memory in pairwise(operation.state.versions):
                # Versions rise; what an import left out may be missing between them.
                if memory.version <= before.version:
                    raise InvalidChange(
                        f"{operation.subject.label} has the version {memory.version} behind "
                        f"{before.version}"
                    )
        if self.admit(operation.state) != operation.state:
            raise InvalidChange(
                f"{operation.subject.label} would have to be changed to be kept on the server",
                hint="The server has other categories or limits, or another release: give both "
                "sides the same ones, or update the memory.",
            )


def _fitting(
    visible: Mapping[MemoryId, Memory], requested: Sequence[MemoryId]
) -> tuple[tuple[Memory, ...], int]:
    """The first memories, as many as one answer may hold, and how many requested ids that answers.

    There is at least one, if any can be seen.
    """
    memories: list[Memory] = []
    size = 0
    for number, id_ in enumerate(requested):
        memory = visible.get(id_)
        if memory is None:
            continue
        size += size_of(History(versions=(memory,)))
        if memories and size > PAGE_BYTES:
            return tuple(memories), number
        memories.append(memory)
    return tuple(memories), len(requested)


def _vectors(
    store: Store, scope: Scope, memories: Sequence[Memory], key: str
) -> tuple[SentVector, ...]:
    """The vectors of these memories, if the active space has this key."""
    space = store.active_space() if memories else None
    if space is None or space.key != key:
        return ()
    digests = {memory.id: digest(memory) for memory in memories}
    vectors = store.vectors_of(scope, space, [*digests])
    return tuple(SentVector.of(id_, digests[id_], each) for id_, each in vectors.items())

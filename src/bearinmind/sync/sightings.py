"""What somebody can see of others' memories: listed, told, and compared by a mark."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from bearinmind.changes import digest
from bearinmind.mirrors import is_mirror
from bearinmind.protocols import History, Sighting, Store
from bearinmind.sync.pages import PAGE_BYTES, active_space, size_of
from bearinmind.sync.transport import Seen, SharedMemories, SharedPage
from bearinmind.types import Filter, Memory, MemoryId, Scope, UserId

MOST_SEEN = 1_000  # memories of one page of the list
MOST_ASKED = 200  # memories that are told at once
_BETWEEN = "/"  # in no name of a user


def seen_by(
    store: Store, reader: UserId, owners: Iterable[UserId], now: datetime, after: str = ""
) -> Iterator[tuple[UserId, Sighting]]:
    """All that a reader sees of these owners, who are in order, behind a place of the list."""
    first, _, id_ = after.partition(_BETWEEN)
    for owner in owners:
        if owner < first:
            continue
        last = id_ if owner == first else ""
        view = Filter(scope=Scope(user=owner), reader=reader, now=now)
        while page := store.visible_after(view, last, MOST_SEEN):
            yield from ((owner, sighting) for sighting in page)
            last = page[-1].id


def mark_of(seen: Iterable[Seen]) -> str:
    """The same only for those who see the same, and may do the same with it."""
    told = hashlib.sha256()
    for each in seen:
        at = each.updated_at.isoformat(timespec="microseconds")
        told.update(f"{each.owner} {each.id} {each.version} {at} {each.right}\n".encode())
    return told.hexdigest()[:32]


class _Told(NamedTuple):
    """As many of the memories that were asked for as may be told at once."""

    memories: tuple[Memory, ...]
    settled: int  #: so many of those that were asked for are answered; some cannot be seen


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedSide:
    """Tells one user of a store what others share; nothing else can be asked for."""

    store: Store
    reader: UserId
    now: datetime

    def listed(self, mark: str, after: str, limit: int = MOST_SEEN) -> SharedPage:
        """A page of the list behind a place; nothing if the mark is that of all there is."""
        if not after and mark and mark == mark_of(self._seen("")):
            return SharedPage(unchanged=True)
        size = min(limit, MOST_SEEN)
        found = [*islice(self._seen(after), size + 1)]
        more = len(found) > size
        last = found[size - 1] if more else None
        cursor = f"{last.owner}{_BETWEEN}{last.id}" if last else ""
        return SharedPage(seen=tuple(found[:size]), cursor=cursor)

    def told(
        self, owner: UserId, ids: Sequence[MemoryId], space: str | None = None
    ) -> SharedMemories:
        """What those of these memories say that can be seen, and perhaps their vectors."""
        view = Filter(scope=Scope(user=owner), reader=self.reader, now=self.now)
        is_other = owner != self.reader and not is_mirror(owner)
        asked = ids[:MOST_ASKED]
        found = self.store.visible(view, asked) if asked and is_other else {}
        memories, settled = _fitting(found, asked)
        active = active_space(self.store.spaces(), space) if space and memories else None
        if active is None:
            return SharedMemories(memories, settled)
        told = {memory.id: digest(memory) for memory in memories}
        vectors = self.store.vectors_of(view.scope, active.space, [*told])
        return SharedMemories(
            memories, settled, {id_: (told[id_], vectors[id_]) for id_ in vectors}
        )

    def _seen(self, after: str) -> Iterator[Seen]:
        owners = sorted(x for x in self.store.sharers(self.reader) if not is_mirror(x))
        for owner, sighting in seen_by(self.store, self.reader, owners, self.now, after):
            yield Seen(owner, *sighting)


def _fitting(found: dict[MemoryId, Memory], asked: Sequence[MemoryId]) -> _Told:
    """The first of those that were asked for, as many as an answer may hold, and one at least."""
    memories: list[Memory] = []
    size = 0
    for place, id_ in enumerate(asked):
        memory = found.get(id_)
        if memory is None:
            continue
        size += size_of(History(versions=(memory,)))
        if memories and size > PAGE_BYTES:
            return _Told(tuple(memories), place)
        memories.append(memory)
    return _Told(tuple(memories), len(asked))

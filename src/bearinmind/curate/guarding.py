"""The invariant: the last retrievable copy of a fact never disappears by curation.

It is looked at in the moment of the change, and once more right after it: whatever somebody else
did in between is seen then, and the change is taken back.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from bearinmind.curate.consolidate import takes_place
from bearinmind.curate.differences import compare
from bearinmind.curate.gathering import Held, hindrances, live, readers
from bearinmind.errors import AlreadyDeleted, DuplicateLink, MemoryNotFound, WouldLoseFact
from bearinmind.protocols import Store
from bearinmind.types import LinkKind, Memory, MemoryId, Scope


def check_takes_place(
    store: Store, scope: Scope, keeper: MemoryId, other: MemoryId, now: datetime
) -> tuple[Memory, Memory]:
    """The two memories, if the one can be served in place of the other and nothing is lost.

    Raises:
        WouldLoseFact: it cannot; the message says why.
        AlreadyDeleted, DuplicateLink, MemoryNotFound: there is nothing left to be done.
    """
    found = live(store, scope, [keeper, other], now)
    if keeper not in found:
        raise WouldLoseFact(f"memory {keeper} is not recalled itself: nothing would say it")
    if other not in found:
        raise _not_live(store, scope, other)
    _check(found[keeper], found[other])
    _check_below(store, scope, found[keeper], found[other])
    return found[keeper].memory, found[other].memory


def still_holds(
    store: Store, scope: Scope, keeper: MemoryId, other: MemoryId, now: datetime
) -> bool:
    """Whether a memory that is superseded now is said by the one in its place."""
    kept = live(store, scope, [keeper], now).get(keeper)
    gone = store.get(scope, other)
    if gone is None or gone.deleted_at is not None:
        return True
    if kept is None:  # a deleted memory supersedes nothing
        above = store.get(scope, keeper)
        return above is None or above.deleted_at is not None
    return takes_place(kept, Held(gone, readers(gone, store.shares(scope)))) is not None


def _check(keeper: Held, other: Held) -> None:
    pair = f"memory {keeper.memory.id} cannot stand for {other.memory.id}"
    reasons = hindrances(keeper, other)
    if reasons:
        raise WouldLoseFact(f"{pair}: {'; '.join(reasons)}")
    comparison = compare(keeper.memory.content, other.memory.content)
    if not comparison.is_same:
        said = "; ".join(map(str, comparison.differences[:3]))
        raise WouldLoseFact(f"{pair}: they differ in {said}")
    if comparison.more < 0:
        raise WouldLoseFact(f"{pair}: it says less")


def _check_below(store: Store, scope: Scope, keeper: Held, other: Held) -> None:
    """What the other memory stands for already, the keeper must stand for too."""
    for memory in _below(store, scope, other.memory.id):
        stood_for = compare(other.memory.content, memory.content).is_same
        if stood_for and not compare(keeper.memory.content, memory.content).is_same:
            raise WouldLoseFact(
                f"memory {other.memory.id} stands for {memory.id} as well, "
                f"and {keeper.memory.id} does not say that"
            )


def _below(store: Store, scope: Scope, top: MemoryId) -> Iterator[Memory]:
    """What a memory supersedes, directly or not."""
    frontier, seen = [top], {top}
    while frontier:
        links = store.links(scope, frontier)
        found = {
            link.target
            for link in links
            if link.kind is LinkKind.SUPERSEDES and link.source in frontier
        } - seen
        seen |= found
        frontier = [*found]
        if frontier:
            yield from store.get_many(scope, frontier).values()


def _not_live(store: Store, scope: Scope, id_: MemoryId) -> Exception:
    memory = store.get(scope, id_)
    if memory is None:
        return MemoryNotFound(f"memory {id_} is no longer there")
    if memory.deleted_at is not None:
        return AlreadyDeleted(f"memory {id_} is deleted already")
    return DuplicateLink(f"memory {id_} is superseded or expired already")

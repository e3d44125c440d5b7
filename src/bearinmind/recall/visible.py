"""What somebody can see of the memories of others: by id, and with which right."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from bearinmind import errors, ids
from bearinmind.mirrors import is_mirror, mirror_of
from bearinmind.protocols import Store
from bearinmind.recall import history
from bearinmind.types import Filter, Memory, MemoryId, Right, Scope, UserId

#: So many ids of an owner are looked at for one to bring back: a few letters tell more apart.
_MOST_BEGINNING = 100


def eyes(reader: UserId, owner: UserId, now: datetime) -> Filter:
    """All that an owner shares with a reader."""
    return Filter(scope=Scope(user=owner), reader=reader, now=now)


def find(store: Store, scope: Scope, text: str, now: datetime) -> Memory:
    """The memory with this id, or with the only id that begins so: an own one, else a shared one.

    What cannot be seen is not there: the error is the same.

    Raises:
        InvalidId, MemoryNotFound, AmbiguousId
    """
    try:
        return history.find(store, scope, text)
    except errors.MemoryNotFound as missing:
        seen = _beginning(store, scope.user, ids.normalise(text), now)
        if not seen:
            raise missing from None
        return seen


def _beginning(store: Store, reader: UserId, prefix: str, now: datetime) -> Memory | None:
    """The only memory of others that begins so and can be seen."""
    found: dict[MemoryId, Filter] = {}
    for owner in store.sharers(reader):
        view = eyes(reader, owner, now)
        found |= dict.fromkeys(store.visible_beginning(view, prefix), view)
    if len(found) > 1:
        raise errors.AmbiguousId(f"{prefix!r} is the beginning of {', '.join(sorted(found))}")
    for id_, view in found.items():
        return store.visible(view, [id_]).get(id_)
    return None


def check_writable(store: Store, reader: UserId, memory: Memory, now: datetime) -> Filter:
    """The view through which a reader may write another's memory, which it can see.

    Raises:
        NotAllowed: it may only be read.
        MemoryNotFound: it cannot be seen any more.
    """
    view = eyes(reader, memory.owner, now)
    right = store.rights(view, [memory.id]).get(memory.id)
    if right is None and _is_copy(store, reader, memory, now):
        raise errors.NotAllowed(
            f"memory {memory.id} is {memory.owner}'s, and this machine has a copy to read",
            hint="Change it on the server that you sync with, if it is shared to be written.",
        )
    if right is None:
        raise history.not_found(memory.id)
    if right is not Right.WRITE:
        raise errors.NotAllowed(
            f"{memory.owner!r} shares memory {memory.id} with you to read, not to write",
            hint="Ask the owner to share it with the right to write.",
        )
    return view


def _is_copy(store: Store, reader: UserId, memory: Memory, now: datetime) -> bool:
    """Whether a memory of somebody else is seen here because it came from a server."""
    mirrored = eyes(reader, mirror_of(memory.owner, reader), now)
    return bool(store.visible(mirrored, [memory.id]))


def find_deleted(store: Store, reader: UserId, text: str) -> Memory | None:
    """The deleted memory of somebody else that a reader may bring back, if there is one.

    A deleted memory cannot be seen; but who may delete one may undo it.
    """
    prefix = ids.normalise(text)
    writable = [
        share
        for share in store.shared_with(reader)
        if share.right is Right.WRITE and not is_mirror(share.owner)
    ]
    found: dict[MemoryId, Memory] = {}
    for owner in dict.fromkeys(share.owner for share in writable):
        given = [share for share in writable if share.owner == owner]
        scope = Scope(user=owner)
        for memory in _deleted(store, scope, prefix):
            if any(x.memory == memory.id or x.tag in memory.tags for x in given):
                found[memory.id] = memory
    if len(found) > 1:
        raise errors.AmbiguousId(f"{prefix!r} is the beginning of {', '.join(sorted(found))}")
    return next(iter(found.values()), None)


def _deleted(store: Store, scope: Scope, prefix: str) -> Sequence[Memory]:
    """The deleted memories of an owner that begin so."""
    held = store.get_many(scope, store.resolve(scope, prefix, _MOST_BEGINNING))
    return [m for m in held.values() if m.deleted_at is not None and not m.sensitive]

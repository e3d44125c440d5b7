"""What led to a memory, and what happened around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from bearinmind import errors, ids
from bearinmind.filters import is_expired
from bearinmind.protocols import Page, Store
from bearinmind.types import Link, LinkKind, Memory, MemoryId, Scope, State

DEEPEST = 10  # steps of a provenance walk


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step back along the provenance of a memory."""

    depth: int
    link: Link
    memory: Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Where a memory came from."""

    memory: Memory
    versions: tuple[Memory, ...]
    steps: tuple[Step, ...]
    superseded_by: tuple[Memory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """What was remembered around a moment, oldest first."""

    moment: datetime
    anchor: Memory | None
    before: tuple[Memory, ...]
    after: tuple[Memory, ...]


def find(store: Store, scope: Scope, text: str) -> Memory:
    """The memory with this id, or with the only id that begins so, deleted or not.

    Raises:
        InvalidId, MemoryNotFound, AmbiguousId
    """
    prefix = ids.normalise(text)
    found = store.resolve(scope, prefix)
    if not found:
        raise not_found(prefix)
    if len(found) > 1:
        raise errors.AmbiguousId(f"{prefix!r} is the beginning of {', '.join(found)}")
    memory = store.get(scope, found[0])
    if memory is None:
        raise errors.MemoryNotFound(f"memory {found[0]} is no longer there")
    return memory


def not_found(prefix: str) -> errors.MemoryNotFound:
    """That no memory begins so; nothing else is ever said of one that cannot be seen."""
    return errors.MemoryNotFound(f"no memory has an id that begins with {prefix!r}")


def version_of(store: Store, scope: Scope, id: MemoryId, version: int) -> Memory:
    """One version of a memory.

    Raises:
        MemoryNotFound: it has no such version.
    """
    for memory in store.versions(scope, id):
        if memory.version == version:
            return memory
    raise errors.MemoryNotFound(f"memory {id} has no version {version}")


def states(
    store: Store, scope: Scope, memories: Sequence[Memory], now: datetime
) -> dict[MemoryId, State]:
    """Where each of these memories stands at this moment.

    One of another owner that is superseded is not seen at all.
    """
    own = [memory.id for memory in memories if memory.owner == scope.user]
    links = store.superseding(scope, own)
    superseded = {link.target for link in links}
    result = {}
    for memory in memories:
        if memory.deleted_at is not None:
            result[memory.id] = State.DELETED
        elif memory.owner == scope.user and memory.id in superseded:
            result[memory.id] = State.SUPERSEDED
        elif is_expired(memory, now):
            result[memory.id] = State.EXPIRED
        else:
            result[memory.id] = State.LIVE
    return result


def timeline(
    browse: Callable[[Page], Sequence[Memory]],
    anchor: Memory | datetime,
    *,
    before: int,
    after: int,
) -> Timeline:
    """The memories of a list next to a memory or a moment, by time."""
    if isinstance(anchor, Memory):
        moment, place = anchor.created_at, (anchor.created_at, anchor.id)
    else:
        # Earlier means strictly before the moment; the empty id comes before every other.
        moment, place = anchor, (anchor, MemoryId(""))
    earlier = browse(Page(limit=before, after=place)) if before else []
    later = browse(Page(limit=after, after=place, newest_first=False)) if after else []
    return Timeline(
        moment=moment,
        anchor=anchor if isinstance(anchor, Memory) else None,
        before=tuple(reversed(earlier)),
        after=tuple(later),
    )


def why(store: Store, scope: Scope, memory: Memory, depth: int = DEEPEST) -> Why:
    """Walk back from a memory over what it derives from, what caused it and what it superseded."""
    steps: list[Step] = []
    seen = {memory.id}
    frontier = [memory.id]
    for level in range(1, depth + 1):
        links = [link for link in store.links(scope, frontier) if _origin(link, frontier)]
        origins = [_origin(link, frontier) for link in links]
        memories = store.get_many(scope, [origin for origin in origins if origin])
        frontier = []
        for link, origin in zip(links, origins, strict=True):
            if origin and origin not in seen and origin in memories:
                seen.add(origin)
                frontier.append(origin)
                steps.append(Step(depth=level, link=link, memory=memories[origin]))
        if not frontier:
            break
    newer = [link.source for link in store.superseding(scope, [memory.id])]
    found = store.get_many(scope, newer)
    return Why(
        memory=memory,
        versions=tuple(store.versions(scope, memory.id)),
        steps=tuple(steps),
        superseded_by=tuple(found[id_] for id_ in dict.fromkeys(newer) if id_ in found),
    )


def _origin(link: Link, frontier: Sequence[MemoryId]) -> MemoryId | None:
    """The end of a link that lies further back, seen from one of these memories."""
    if link.kind in (LinkKind.DERIVES_FROM, LinkKind.SUPERSEDES) and link.source in frontier:
        return link.target
    if link.kind is LinkKind.CAUSES and link.target in frontier:
        return link.source
    return None

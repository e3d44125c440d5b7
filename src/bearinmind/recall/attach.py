"""What links add to a hit: the memories that resolved it, and one-line pointers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bearinmind.protocols import Readable
from bearinmind.recall.selection import Budget, heads
from bearinmind.text.analysis import one_line
from bearinmind.types import Filter, Link, LinkKind, Memory, MemoryId, Pointer

MOST_ATTACHED = 3  # resolutions of one hit

_POINTING = frozenset({LinkKind.PART_OF, LinkKind.SEE_ALSO})
_ADDING = _POINTING | {LinkKind.RESOLVED_BY}


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachments:
    """What links add to one hit."""

    attached: tuple[Memory, ...] = ()
    pointers: tuple[Pointer, ...] = ()


NONE = Attachments()


def attachments(
    store: Readable, filter: Filter, ids: Sequence[MemoryId], budget: Budget
) -> dict[MemoryId, Attachments]:
    """What the links of these hits add to them, as far as the budget allows."""
    links = store.links(filter.scope, ids, filter.as_of) if ids else []
    links = [link for link in links if link.kind in _ADDING]
    if not links:
        return {}
    others = _others(store, filter, links)
    result = {}
    for id_ in ids:
        attached = [
            memory
            for memory in _resolutions(id_, links, others)
            if memory.id not in ids and not budget.take(memory)
        ]
        pointers = _pointers(id_, links, others)
        result[id_] = Attachments(attached=tuple(attached), pointers=tuple(pointers))
    return result


def _others(store: Readable, filter: Filter, links: Sequence[Link]) -> Mapping[MemoryId, Memory]:
    """By the id that a link names: the newest memory of its chain."""
    ids = [*dict.fromkeys(id_ for link in links for id_ in (link.source, link.target))]
    served = heads(store.newer(filter.scope, ids, filter.as_of))
    wanted = [*dict.fromkeys(served.get(id_, id_) for id_ in ids)]
    memories = store.get_many(filter.scope, wanted, filter.as_of)
    return {
        id_: memory
        for id_ in ids
        if (memory := memories.get(served.get(id_, id_))) and memory.deleted_at is None
    }


def _resolutions(
    id_: MemoryId, links: Sequence[Link], others: Mapping[MemoryId, Memory]
) -> list[Memory]:
    """The newest resolutions of a memory."""
    resolutions = [
        others[link.target]
        for link in reversed(links)
        if link.kind is LinkKind.RESOLVED_BY and link.source == id_ and link.target in others
    ]
    return [*{memory.id: memory for memory in resolutions}.values()][:MOST_ATTACHED]


def _pointers(
    id_: MemoryId, links: Sequence[Link], others: Mapping[MemoryId, Memory]
) -> list[Pointer]:
    """One line for each part-of and see-also link, in both directions."""
    pointers = []
    for link in links:
        outgoing = link.source == id_
        other = link.target if outgoing else link.source
        if link.kind in _POINTING and id_ in (link.source, link.target) and other in others:
            memory = others[other]
            if memory.id == id_:  # it points to what it superseded, and so to itself
                continue
            line = one_line(memory.content)
            pointers.append(Pointer(id=memory.id, kind=link.kind, outgoing=outgoing, line=line))
    return pointers

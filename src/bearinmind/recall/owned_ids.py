"""The ids by which a recall knows the memories of others: owner and id, as two may hold one id.

Only what it answers has the bare ids again, beside the owners.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from bearinmind.recall.history import ThingHistory
from bearinmind.text import ids
from bearinmind.trace import Answer, Dropped, OnDemand, SaysTheSame, Superseded, Trace
from bearinmind.types import Filter, Hit, Memory, MemoryId, Outdated, Scope, Step, owner_of


def key_of(view: Filter, id: MemoryId) -> MemoryId:
    """The id by which a recall knows a memory of a sharer."""
    return ids.with_owner(owner_of(view.scope.user), id)


def ids_of(view: Filter, keys: Iterable[MemoryId]) -> list[MemoryId]:
    """The bare ids of those memories that are a sharer's."""
    owner = owner_of(view.scope.user)
    split = map(ids.split_owner, keys)
    return [MemoryId(id_) for named, id_ in split if named == owner]


def known_as(view: Filter) -> Callable[[Memory], Memory]:
    """Gives a memory of a sharer the id by which a recall knows it."""
    return lambda memory: replace(memory, id=key_of(view, memory.id))


def as_seen_by(scope: Scope, memory: Memory) -> Memory:
    """A memory under the id by which a recall of a user knows it."""
    if memory.owner == scope.user:
        return memory
    return replace(memory, id=ids.with_owner(memory.owner, memory.id))


def with_bare_ids(answer: Answer) -> Answer:
    """An answer with the ids that its memories have, beside their owners.

    The trace names the owner where two memories of it have one id.
    """
    keys = [each.id for each in answer.trace.fused]
    count = Counter(bare(key) for key in keys)

    def name(key: MemoryId) -> MemoryId:
        return bare(key) if count[bare(key)] <= 1 else key

    return replace(
        answer,
        hits=tuple(_bare_hit(hit, name) for hit in answer.hits),
        weak=tuple(_bare_hit(hit, name) for hit in answer.weak),
        trace=_bare_trace(answer.trace, name),
    )


def bare_history(states: ThingHistory) -> ThingHistory:
    """A history with the ids that its memories have."""
    chains = [
        tuple(
            replace(
                state,
                memory=with_bare_id(state.memory),
                outdated=state.outdated and replace(state.outdated, by=bare(state.outdated.by)),
            )
            for state in chain
        )
        for chain in states.chains
    ]
    return replace(states, chains=tuple(chains))


def bare(key: MemoryId) -> MemoryId:
    """An id without its owner."""
    return MemoryId(ids.split_owner(key)[1])


def with_bare_id(memory: Memory) -> Memory:
    """A memory under the id that its owner gave it."""
    return replace(memory, id=bare(memory.id))


def with_each(hit: Hit, change: Callable[[Memory], Memory]) -> Hit:
    """A hit with each of its memories changed."""
    earlier = tuple(replace(state, memory=change(state.memory)) for state in hit.earlier)
    attached = tuple(map(change, hit.attached))
    return replace(hit, memory=change(hit.memory), attached=attached, earlier=earlier)


def _bare_hit(hit: Hit, name: Callable[[MemoryId], MemoryId]) -> Hit:
    def outdated(by: Outdated) -> Outdated:
        return replace(by, by=name(by.by))

    hit = with_each(hit, with_bare_id)
    return replace(
        hit,
        path=_bare_path(hit.path, name),
        earlier=tuple(replace(each, outdated=outdated(each.outdated)) for each in hit.earlier),
        outdated=hit.outdated and outdated(hit.outdated),
    )


def _bare_path(path: Iterable[Step], name: Callable[[MemoryId], MemoryId]) -> tuple[Step, ...]:
    return tuple(
        step._replace(source=step.source and name(step.source), target=name(step.target))
        for step in path
    )


def _bare_trace(trace: Trace, name: Callable[[MemoryId], MemoryId]) -> Trace:
    def dropped() -> Iterable[Dropped]:
        for id_, reason in trace.dropped:
            if isinstance(reason, Superseded | SaysTheSame):
                reason = replace(reason, by=name(reason.by))  # noqa: PLW2901  with the name it has
            yield Dropped(name(id_), reason)

    return replace(
        trace,
        fused=OnDemand(lambda: [each._replace(id=name(each.id)) for each in trace.fused]),
        judged=tuple(each._replace(id=name(each.id)) for each in trace.judged),
        dropped=OnDemand(dropped),
        paths={name(id_): _bare_path(path, name) for id_, path in trace.paths.items()},
    )

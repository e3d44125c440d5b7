"""Which candidates may be served, which are served in the place of others, which are dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from bearinmind.protocols import Readable
from bearinmind.trace import Dropped, Expired, Gone, NotAskedFor, Reason, Superseded
from bearinmind.types import Filter, Fused, Link, Memory, MemoryId, Ranking, State, is_expired

#: The parts of a filter that look at the memory alone, by the name of their field.
CONDITIONS: dict[str, Callable[[Filter, Memory], bool]] = {
    "categories": lambda f, m: not f.categories or m.category in f.categories,
    "tags": lambda f, m: f.tags.issubset(m.tags),
    "created_from": lambda f, m: f.created_from is None or m.created_at >= f.created_from,
    "created_to": lambda f, m: f.created_to is None or m.created_at < f.created_to,
    "session": lambda f, m: f.session is None or m.provenance.session == f.session,
    "project": lambda f, m: f.project is None or m.provenance.project == f.project,
    "agent": lambda f, m: f.agent is None or m.provenance.agent == f.agent,
}


def refusals(filter: Filter, memory: Memory) -> list[str]:
    """The names of the conditions that a memory does not meet."""
    return [name for name, met in CONDITIONS.items() if not met(filter, memory)]


def admits(filter: Filter, memory: Memory) -> bool:
    """Whether a memory of the scope meets every condition; its state is not looked at."""
    return not refusals(filter, memory)


class MemoryReader:
    """The memories of a recall, each read once: by a leg that had to, else from the store."""

    def __init__(self, store: Readable, filter: Filter, rankings: Sequence[Ranking]) -> None:
        self._store = store
        self._filter = filter
        self._at_hand = {id_: load for r in rankings for id_, load in r.memories.items()}
        self._read: dict[MemoryId, Memory] = {}

    def get(
        self, ids: Sequence[MemoryId], likely: Sequence[MemoryId] = ()
    ) -> dict[MemoryId, Memory]:
        """All memories read so far; these are read, and the likely ones if the store is asked."""
        read, at_hand = self._read, self._at_hand
        missing = []
        for id_ in ids:
            if id_ not in read:
                load = at_hand.get(id_)
                if load is None:
                    missing.append(id_)
                else:
                    read[id_] = load()
        if missing:
            missing += [id_ for id_ in likely if id_ not in read and id_ not in at_hand]
            read |= self._store.get_many(self._filter.scope, missing, self._filter.as_of)
        return read


class Eligibility:
    """The fused candidates as memories: the newest of each chain, and none that has expired."""

    def __init__(
        self,
        filter: Filter,
        fused: Sequence[Fused],
        superseded: Mapping[MemoryId, MemoryId],
        reader: MemoryReader,
    ) -> None:
        self._filter = filter
        self._superseded = superseded
        self.dropped: list[Dropped] = []
        self.replaced: dict[MemoryId, tuple[MemoryId, ...]] = {}
        self._serves_old = State.SUPERSEDED in filter.states
        served = {} if self._serves_old else superseded
        self.memories = reader.get([served.get(candidate.id, candidate.id) for candidate in fused])
        self.kept: list[Fused] = self._keep(fused)

    def _keep(self, fused: Sequence[Fused]) -> list[Fused]:
        """Candidates under the id that is served, each once, at its best place, in order."""
        kept: dict[MemoryId, Fused] = {}
        for candidate in fused:
            id_ = candidate.id
            if id_ in self._superseded and not self._serves_old:
                # The newest memory of the chain is served in its place, if the filter admits it.
                head = self._superseded[id_]
                served = self._refusal(head) is None and admits(self._filter, self.memories[head])
                self.dropped.append(Dropped(id_, Superseded(by=head, served=served)))
                if served:
                    self.replaced[head] = (*self.replaced.get(head, ()), id_)
                    kept.setdefault(head, candidate._replace(id=head))
                continue
            reason = self._refusal(id_)
            if reason is not None:
                self.dropped.append(Dropped(id_, reason))
            else:
                kept.setdefault(id_, candidate)
        return [*kept.values()]

    def servable(self, reader: MemoryReader, links: Sequence[Link]) -> Mapping[MemoryId, Memory]:
        """The memories of these links that may be served, those that are no candidates included."""
        ends = [*dict.fromkeys(end for link in links for end in (link.source, link.target))]
        if not ends:
            return {}
        self.memories = reader.get(ends)
        return {id_: self.memories[id_] for id_ in ends if self._refusal(id_) is None}

    def _refusal(self, id_: MemoryId) -> Reason | None:
        """Why a memory may not be served; None if it may."""
        memory = self.memories.get(id_)
        if memory is None or memory.deleted_at is not None:
            return Gone()
        if id_ in self._superseded:
            state = State.SUPERSEDED
        else:
            state = State.EXPIRED if is_expired(memory, self._filter.now) else State.LIVE
        if state in self._filter.states:
            return None
        return Expired() if state is State.EXPIRED else NotAskedFor(state=state)


def heads(links: Iterable[Link]) -> dict[MemoryId, MemoryId]:
    """For each superseded memory the newest memory of its chain.

    Where a chain branches, the branch that was linked last wins; equal times break on the id.
    """
    newer: dict[MemoryId, Link] = {}
    for link in links:
        rival = newer.get(link.target)
        if rival is None or (link.created_at, link.source) > (rival.created_at, rival.source):
            newer[link.target] = link
    newest = {}
    for id_ in newer:
        head, seen = id_, {id_}
        while head in newer and newer[head].source not in seen:
            head = newer[head].source
            seen.add(head)
        newest[id_] = head
    return newest

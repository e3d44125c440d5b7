"""Where candidates stand: which may be served, in whose place, and which are dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.filters import admits, is_expired
from recollect.protocols import Store
from recollect.trace import Dropped, Expired, Gone, Superseded
from recollect.types import Filter, Fused, Memory, MemoryId, Ranking, State


class Reading:
    """The memories of a recall, each read once: from the legs that had to, else from the store."""

    def __init__(self, store: Store, filter: Filter, rankings: Sequence[Ranking]) -> None:
        self._store = store
        self._filter = filter
        self._at_hand = {id_: load for r in rankings for id_, load in r.memories.items()}
        self._read: dict[MemoryId, Memory] = {}

    def get(self, ids: Sequence[MemoryId]) -> dict[MemoryId, Memory]:
        """All memories read so far, these among them as far as they exist."""
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
            read |= self._store.get_many(self._filter.scope, missing, self._filter.as_of)
        return read


class Standing:
    """The fused candidates as memories: the newest of each chain, and none that has expired."""

    def __init__(
        self,
        filter: Filter,
        fused: Sequence[Fused],
        served: Mapping[MemoryId, MemoryId],
        reading: Reading,
    ) -> None:
        self._filter = filter
        self.dropped: list[Dropped] = []
        self.replaced: dict[MemoryId, tuple[MemoryId, ...]] = {}
        ids = [candidate.id for candidate in fused]
        self.memories = reading.get([*ids, *(served[id_] for id_ in ids if id_ in served)])
        self.kept: list[Fused] = self._keep(fused, served)

    def _keep(self, fused: Sequence[Fused], served: Mapping[MemoryId, MemoryId]) -> list[Fused]:
        """Candidates under the id that is served, each once, at its best place, in order."""
        kept: dict[MemoryId, Fused] = {}
        for candidate in fused:
            id_ = candidate.id
            if id_ in served:
                self._stand_in(candidate, served[id_], kept)
            elif self._is_gone(id_):
                self.dropped.append(Dropped(id_, Gone()))
            elif self._is_expired(id_):
                self.dropped.append(Dropped(id_, Expired()))
            elif id_ in kept:  # one of its predecessors ranked before it
                kept[id_] = kept[id_]._replace(placings=candidate.placings)
            else:
                kept[id_] = candidate
        return [*kept.values()]

    def _stand_in(self, old: Fused, head: MemoryId, kept: dict[MemoryId, Fused]) -> None:
        """Serve the newest memory of a chain in place of an old one, if the filter lets it."""
        fit = (
            not self._is_gone(head)
            and not self._is_expired(head)
            and admits(self._filter, self.memories[head])
        )
        self.dropped.append(Dropped(old.id, Superseded(by=head, served=fit)))
        if fit:
            self.replaced[head] = (*self.replaced.get(head, ()), old.id)
            kept.setdefault(head, old._replace(id=head))

    def _is_gone(self, id_: MemoryId) -> bool:
        """Whether a memory was deleted or purged since the legs found it."""
        return id_ not in self.memories or self.memories[id_].deleted_at is not None

    def _is_expired(self, id_: MemoryId) -> bool:
        return State.EXPIRED not in self._filter.states and is_expired(
            self.memories[id_], self._filter.now
        )

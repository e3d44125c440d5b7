"""Pairs of memories whose meanings are near each other, whoever they are: none is left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from bearinmind.curate.gathering import PAGE, Held
from bearinmind.protocols import SpaceState, Store
from bearinmind.types import Filter, MemoryId, Scope, Space

NEAREST = 10  # neighbours of each memory that are looked at


class Near(NamedTuple):
    """Two memories and how alike their meanings are."""

    one: Held
    other: Held
    cosine: float


class Meaning:
    """What the active vector space says of memories; nothing when there is none."""

    def __init__(self, store: Store, scope: Scope, now: datetime) -> None:
        self._store = store
        self._filter = Filter(scope=scope, now=now)
        self._space = _active(store)

    @property
    def is_there(self) -> bool:
        """Whether there is a vector space at all."""
        return self._space is not None

    def cosine(self, one: MemoryId, other: MemoryId) -> float | None:
        """How alike two memories are; None when one of them is not embedded."""
        if self._space is None:
            return None
        scope = self._filter.scope
        vector = self._store.vectors_of(scope, self._space, [one]).get(one)
        if vector is None:
            return None
        return self._store.cosines(self._filter, self._space, vector, [other]).get(other)

    def near(
        self, held: Mapping[MemoryId, Held], ids: Sequence[MemoryId], at_least: float
    ) -> Iterator[Near]:
        """The pairs that are so near, at least one of them among these; each pair once."""
        if self._space is None:
            return
        seen: set[frozenset[MemoryId]] = set()
        for some in _pages(ids):
            vectors = self._store.vectors_of(self._filter.scope, self._space, some)
            for id_, vector in vectors.items():
                found = self._store.nearest(self._filter, self._space, vector, NEAREST + 1)
                for near in found.nearest:
                    pair = frozenset({id_, near.id})
                    if near.cosine < at_least or near.id not in held or len(pair) == 1:
                        continue
                    if pair not in seen:
                        seen.add(pair)
                        yield Near(held[id_], held[near.id], near.cosine)

    def unembedded(self, ids: Sequence[MemoryId]) -> list[MemoryId]:
        """Those of these memories that have no vector; none when there is no space."""
        if self._space is None:
            return []
        missing: list[MemoryId] = []
        for some in _pages(ids):
            vectors = self._store.vectors_of(self._filter.scope, self._space, some)
            missing += [id_ for id_ in some if id_ not in vectors]
        return missing


def _pages(ids: Sequence[MemoryId]) -> Iterator[Sequence[MemoryId]]:
    return (ids[start : start + PAGE] for start in range(0, len(ids), PAGE))


def _active(store: Store) -> Space | None:
    if store.meaning_off() is not None:
        return None
    return next((each.space for each in store.spaces() if each.state is SpaceState.ACTIVE), None)

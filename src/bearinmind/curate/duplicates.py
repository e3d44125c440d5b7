"""Near-duplicates: which memory could be served in the place of which other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from bearinmind.curate.candidates import CONSOLIDATION, PAGE, Find, Held, hindrances
from bearinmind.curate.differences import Comparison, compare_read, key, may_be_same
from bearinmind.proposals import ProposalKind
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


Cosine = Callable[[MemoryId, MemoryId], float | None]


class Twins(NamedTuple):
    """Two memories that say the same, and the one that can be served for both."""

    keeper: Held
    other: Held
    comparison: Comparison
    cosine: float | None


def twins(
    held: Mapping[MemoryId, Held], new: Collection[MemoryId], cosine: Cosine, at_least: float
) -> Iterator[Twins]:
    """Every memory that another one says as well, with the best one to keep.

    Those of a pair have the same `key`, so that none is missed in a store of any size. When both
    are embedded they must also be near in meaning.
    """
    for group in _groups(held.values()):
        yield from _within(group, new, cosine, at_least)


def _groups(held: Iterable[Held]) -> Iterator[list[Held]]:
    """Memories with the same key, where there are several."""
    by_key: defaultdict[int, list[Held]] = defaultdict(list)
    for each in held:
        tokens = each.tokens
        if tokens:
            by_key[hash(key(tokens))].append(each)
    return (group for group in by_key.values() if len(group) > 1)


def _within(
    group: Sequence[Held], new: Collection[MemoryId], cosine: Cosine, at_least: float
) -> Iterator[Twins]:
    """The best memories keep their place; each other one goes to the first that can replace it."""
    keepers: list[Held] = []
    for each in sorted(group, key=_worth, reverse=True):
        for keeper in keepers:
            if each.memory.id not in new and keeper.memory.id not in new:
                continue
            comparison = takes_place(keeper, each)
            if comparison is None:
                continue
            near = cosine(keeper.memory.id, each.memory.id)
            if near is None or near >= at_least:
                yield Twins(keeper, each, comparison, near)
                break
        else:
            keepers.append(each)


def takes_place(keeper: Held, other: Held) -> Comparison | None:
    """How two memories compare if one can be served in place of the other; None if it cannot."""
    if hindrances(keeper, other):
        return None
    comparison = compare_read(keeper.tokens, other.tokens)
    return comparison if comparison.is_same and comparison.more >= 0 else None


def _worth(held: Held) -> tuple[int, int, float, str]:
    """The most complete, the most widely seen, the newest; the id so that it is always the same."""
    memory = held.memory
    return len(held.tokens), len(held.readers), memory.updated_at.timestamp(), memory.id


def supersede(found: Twins) -> Find:
    """That the one be served in place of the other."""
    more = ", and more" if found.comparison.more else ""
    return Find(
        kind=ProposalKind.SUPERSEDE,
        origin=CONSOLIDATION,
        memories=(found.keeper.memory, found.other.memory),
        reason=f"{found.keeper.memory.id} says the same as {found.other.memory.id}{more}",
        evidence=figures(found.comparison, found.cosine),
    )


def doubtful(near: Near) -> Find | None:
    """That somebody look at two memories that name the same things in other words."""
    comparison = compare_read(near.one.tokens, near.other.tokens)
    if comparison.is_same or not may_be_same(near.one.tokens, near.other.tokens):
        return None
    older, newer = sorted((near.one.memory, near.other.memory), key=lambda m: (m.created_at, m.id))
    return Find(
        kind=ProposalKind.REVIEW,
        origin=CONSOLIDATION,
        memories=(newer, older),
        reason="they may say the same: near in meaning, the same names and numbers",
        evidence=figures(comparison, near.cosine),
    )


def figures(comparison: Comparison, cosine: float | None) -> dict[str, float]:
    """What a comparison comes to, for whoever decides."""
    found = {"shared_words": round(comparison.shared, 3)}
    return found if cosine is None else found | {"cosine": round(cosine, 4)}

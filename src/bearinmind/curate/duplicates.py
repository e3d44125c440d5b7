"""Near-duplicates: which memory could be served in place of which other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from bearinmind.curate.candidates import CONSOLIDATION, PAGE, Candidate, Finding, obstacles
from bearinmind.curate.differences import Comparison, compare_read, key, may_be_same
from bearinmind.proposals import ProposalKind
from bearinmind.protocols import Store
from bearinmind.types import Filter, MemoryId, Scope

NEAREST = 10  # neighbours of each memory that are looked at


Cosine = Callable[[MemoryId, MemoryId], float | None]


class NearPair(NamedTuple):
    """Two memories and how alike their meanings are."""

    one: Candidate
    other: Candidate
    cosine: float


class Duplicate(NamedTuple):
    """Two memories that say the same, and the one that can be served for both."""

    keeper: Candidate
    other: Candidate
    comparison: Comparison
    cosine: float | None


class Similarity:
    """How alike memories are in the active vector space; unknown when there is none."""

    def __init__(self, store: Store, scope: Scope, now: datetime) -> None:
        self._store = store
        self._filter = Filter(scope=scope, now=now)
        self._space = store.active_space() if store.meaning_off() is None else None
        self.is_available = self._space is not None  #: whether there is an active vector space

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
        self, candidates: Mapping[MemoryId, Candidate], ids: Sequence[MemoryId], at_least: float
    ) -> Iterator[NearPair]:
        """The pairs with at least this cosine and one memory among `ids`, each pair once."""
        if self._space is None:
            return
        seen: set[frozenset[MemoryId]] = set()
        for page in pages(ids):
            vectors = self._store.vectors_of(self._filter.scope, self._space, page)
            for id_, vector in vectors.items():
                matches = self._store.nearest(self._filter, self._space, vector, NEAREST + 1)
                for match in matches.nearest:
                    pair = frozenset({id_, match.id})
                    if match.cosine < at_least or match.id not in candidates or len(pair) == 1:
                        continue
                    if pair not in seen:
                        seen.add(pair)
                        yield NearPair(candidates[id_], candidates[match.id], match.cosine)

    def unembedded(self, ids: Sequence[MemoryId]) -> list[MemoryId]:
        """Those of these memories that have no vector; none when there is no space."""
        if self._space is None:
            return []
        missing: list[MemoryId] = []
        for page in pages(ids):
            vectors = self._store.vectors_of(self._filter.scope, self._space, page)
            missing += [id_ for id_ in page if id_ not in vectors]
        return missing


def pages(ids: Sequence[MemoryId]) -> Iterator[Sequence[MemoryId]]:
    """The ids, as many at once as a store is asked about."""
    return (ids[start : start + PAGE] for start in range(0, len(ids), PAGE))


def duplicates(
    candidates: Mapping[MemoryId, Candidate],
    new: Collection[MemoryId],
    cosine: Cosine,
    at_least: float,
) -> Iterator[Duplicate]:
    """Every memory that another one says as well, with the best one to keep.

    The memories of a pair have the same `key`, so that none is missed in a store of any size. When
    both are embedded they must also be near in meaning.
    """
    by_key: defaultdict[int, list[Candidate]] = defaultdict(list)
    for each in candidates.values():
        if each.tokens:
            by_key[hash(key(each.tokens))].append(each)
    for group in by_key.values():
        if len(group) > 1:
            yield from _within(group, new, cosine, at_least)


def _within(
    group: Sequence[Candidate], new: Collection[MemoryId], cosine: Cosine, at_least: float
) -> Iterator[Duplicate]:
    """The best memories keep their place; each other one goes to the first that can replace it."""
    keepers: list[Candidate] = []
    for each in sorted(group, key=_keeper_order, reverse=True):
        for keeper in keepers:
            if each.memory.id not in new and keeper.memory.id not in new:
                continue
            comparison = compare_replaceable(keeper, each)
            if comparison is None:
                continue
            near = cosine(keeper.memory.id, each.memory.id)
            if near is None or near >= at_least:
                yield Duplicate(keeper, each, comparison, near)
                break
        else:
            keepers.append(each)


def compare_replaceable(keeper: Candidate, other: Candidate) -> Comparison | None:
    """How two memories compare if the keeper can replace the other; None if it cannot."""
    if obstacles(keeper, other):
        return None
    comparison = compare_read(keeper.tokens, other.tokens)
    return comparison if comparison.is_same and comparison.more >= 0 else None


def _keeper_order(candidate: Candidate) -> tuple[int, int, float, str]:
    """The most complete, the most widely seen, the newest; the id makes the order definite."""
    memory = candidate.memory
    return len(candidate.tokens), len(candidate.readers), memory.updated_at.timestamp(), memory.id


def supersede(pair: Duplicate) -> Finding:
    """The proposal that one memory be served in place of the other."""
    more = ", and more" if pair.comparison.more else ""
    return Finding(
        kind=ProposalKind.SUPERSEDE,
        origin=CONSOLIDATION,
        memories=(pair.keeper.memory, pair.other.memory),
        reason=f"{pair.keeper.memory.id} says the same as {pair.other.memory.id}{more}",
        evidence=evidence_of(pair.comparison, pair.cosine),
    )


def doubtful(near: NearPair) -> Finding | None:
    """The proposal that somebody look at two memories that name the same things in other words."""
    comparison = compare_read(near.one.tokens, near.other.tokens)
    if comparison.is_same or not may_be_same(near.one.tokens, near.other.tokens):
        return None
    older, newer = sorted((near.one.memory, near.other.memory), key=lambda m: (m.created_at, m.id))
    return Finding(
        kind=ProposalKind.REVIEW,
        origin=CONSOLIDATION,
        memories=(newer, older),
        reason="they may say the same: near in meaning, the same names and numbers",
        evidence=evidence_of(comparison, near.cosine),
    )


def evidence_of(comparison: Comparison, cosine: float | None) -> dict[str, float]:
    """The figures of a comparison, for the person who decides."""
    shared = {"shared_words": round(comparison.shared, 3)}
    return shared if cosine is None else shared | {"cosine": round(cosine, 4)}

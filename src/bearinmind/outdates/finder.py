"""Finds which memories are states of one thing: the few nearest, compared by the scorer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bearinmind.outdates.scorer import NO_COSINE, Score, model_weights, scorer
from bearinmind.outdates.verdicts import (
    AT_ONCE,
    KEEP,
    OFFER,
    because,
    begins,
    judgement_of,
    may_outdate,
)
from bearinmind.protocols import ReadPairs, Reads, Store
from bearinmind.text import analysis
from bearinmind.types import (
    Decider,
    Filter,
    Judgement,
    Link,
    LinkKind,
    MayReplace,
    Memory,
    MemoryId,
    Scope,
    State,
)

_NEAREST = 24  # memories by meaning ...
_BY_WORDS = 12  # ... and by words that one is compared with
_STANDS_OUT = 1.0  # deviations above the mean cosine of the store: in a small one all are near
_AT_ONCE = 6  # that it is compared with while somebody waits
_TERMS = 6  # the rarest terms of a text, by which it is searched
_LONGEST = 40  # terms of a text that are looked up for that
_MOST_READ = 8  # of the nearest by meaning ...
_MOST_READ_BY_WORDS = 2  # ... and of the others, that a model reads together with a memory
_MOST_LINKS = 6  # that are kept of one memory
MOST_OFFERED = 3


@dataclass(frozen=True, slots=True)
class Finder:
    """Compares a memory with those that may be states of the same thing."""

    store: Store
    read_pairs: ReadPairs | None = None  #: a model that reads both texts; None: features alone

    def links(
        self, scope: Scope, memory: Memory, now: datetime
    ) -> tuple[Sequence[Link], Sequence[Link]]:
        """The links that follow from a memory, and those of the scorer that no longer do."""
        here = self.store.links(scope, [memory.id])
        filter = Filter(scope=scope, now=now, states=frozenset({State.LIVE, State.EXPIRED}))
        cosines = self._nearest(filter, memory)
        near = self._by_words(filter, memory, _BY_WORDS)
        known = {(x.source, x.target): x for x in here if _is_scored(x)}
        # A neighbour may have found this memory without being found from here.
        others = [*cosines, *_ends(known.values())]
        near |= self.store.get_many(scope, [id_ for id_ in others if id_ not in near])
        settled = self._settled(scope, memory, here)
        candidates = [each for id_, each in near.items() if id_ not in settled]
        scored = [
            (newer, older, score)
            for newer, older, score in self._read(
                memory, candidates, cosines, _ends(known.values())
            )
            if score.probability >= KEEP
        ]
        scored.sort(key=lambda each: -each[2].probability)
        present = {(newer.id, older.id): score.probability for newer, older, score in scored}
        new = [_link(*each) for each in scored[:_MOST_LINKS]]
        ended = [
            replace(x, removed_at=now)
            for pair, x in known.items()
            if present.get(pair, 0.0) < (OFFER if judgement_of(x).probability >= OFFER else KEEP)
        ]
        return [link for link in new if (link.source, link.target) not in known], ended

    def offers(self, scope: Scope, memory: Memory, now: datetime) -> tuple[MayReplace, ...]:
        """The earlier memories that a new one may outdate, by their words alone."""
        near = self._by_words(Filter(scope=scope, now=now), memory, _AT_ONCE)
        candidates = [each for each in near.values() if each.id != memory.id]
        offers = [
            MayReplace(
                memory=older,
                newer=memory.id,
                probability=score.probability,
                because=because(score.evidence),
            )
            for newer, older, score in _scored(memory, candidates, {})
            if score.probability >= AT_ONCE and newer.id == memory.id
        ]
        return tuple(sorted(offers, key=lambda each: -each.probability)[:MOST_OFFERED])

    def _settled(self, scope: Scope, memory: Memory, here: Sequence[Link]) -> set[MemoryId]:
        """The memories that are not compared with one: it is known how they stand to each other.

        What was decided about a memory holds for what supersedes it.
        """
        replaced = [x.target for x in here if _supersedes(x) and x.source == memory.id]
        links = [*here, *(self.store.links(scope, replaced) if replaced else ())]
        settled = _ends(link for link in links if _settles(link))
        beyond = self.store.links(scope, [*settled]) if settled else ()
        return {*settled, memory.id, *(x.source for x in beyond if _supersedes(x))}

    def _read(
        self,
        memory: Memory,
        candidates: Sequence[Memory],
        cosines: Mapping[MemoryId, float],
        linked: Collection[MemoryId],
    ) -> Iterable[tuple[Memory, Memory, Score]]:
        """The pairs of a memory with their scores; a model reads the nearest, and those linked."""
        if self.read_pairs is None:
            return _scored(memory, candidates, cosines)
        score = scorer()
        possible = {x.id: states for x in candidates if (states := _states(memory, x))}
        near = sorted(possible.keys() & cosines.keys(), key=lambda id_: (-cosines[id_], id_))
        by_words = sorted(
            possible.keys() - cosines.keys(),
            key=lambda id_: (-score(*possible[id_], NO_COSINE).probability, id_),
        )
        first = {*near[:_MOST_READ], *by_words[:_MOST_READ_BY_WORDS], *linked}
        chosen = {id_: states for id_, states in possible.items() if id_ in first}
        texts = [(older.content, newer.content) for newer, older in chosen.values()]
        values = self.read_pairs(Reads.OUTDATES, texts)
        return [
            (
                *states,
                replace(
                    score(*states, cosines.get(id_, NO_COSINE)), probability=model_weights()(value)
                ),
            )
            for (id_, states), value in zip(chosen.items(), values, strict=True)
        ]

    def _nearest(self, filter: Filter, memory: Memory) -> dict[MemoryId, float]:
        space = self.store.active_space()
        vectors = self.store.vectors_of(filter.scope, space, [memory.id]) if space else {}
        if space is None or memory.id not in vectors:
            return {}
        answer = self.store.nearest(filter, space, vectors[memory.id], _NEAREST)
        least = answer.mean + _STANDS_OUT * answer.deviation
        return {near.id: near.cosine for near in answer.nearest if near.cosine >= least}

    def _by_words(self, filter: Filter, memory: Memory, limit: int) -> dict[MemoryId, Memory]:
        """The memories that share the rarest terms of one."""
        terms = [*dict.fromkeys(analysis.index(memory.content).terms)][:_LONGEST]
        frequency = self.store.lexical_statistics(filter.scope, terms).frequency
        shared = [term for term in terms if frequency.get(term, 0) > 1]
        rarest = sorted(shared, key=lambda term: frequency[term])[:_TERMS]
        if not rarest:
            return {}
        matches = self.store.lexical_matches(filter, rarest, every=False, limit=limit + 1)
        return {match.id: match.load() for match in matches}


def _states(memory: Memory, other: Memory) -> tuple[Memory, Memory] | None:
    """Two memories that may be states of one thing, the newer first; None if they cannot be."""
    older, newer = sorted((memory, other), key=begins)
    return (newer, older) if may_outdate(newer, older) else None


def _scored(
    memory: Memory, candidates: Iterable[Memory], cosines: Mapping[MemoryId, float]
) -> Iterable[tuple[Memory, Memory, Score]]:
    """Each pair that may be two states, the newer first, with its score."""
    score = scorer()
    for other in candidates:
        if states := _states(memory, other):
            yield *states, score(*states, cosines.get(other.id, NO_COSINE))


def _link(newer: Memory, older: Memory, score: Score) -> Link:
    return Link(
        source=newer.id,
        target=older.id,
        kind=LinkKind.OUTDATES,
        created_at=max(newer.updated_at, older.updated_at),  # the same on every replica
        judgement=Judgement(
            probability=score.probability, by=Decider.SCORER, evidence=score.evidence
        ),
    )


def _is_scored(link: Link) -> bool:
    """Whether the scorer made a link, and may end it."""
    return link.kind is LinkKind.OUTDATES and judgement_of(link).by is Decider.SCORER


def _settles(link: Link) -> bool:
    """Whether a link leaves nothing to find between its two memories."""
    if link.kind is LinkKind.OUTDATES:
        return not _is_scored(link)
    return link.kind in (LinkKind.SUPERSEDES, LinkKind.RESOLVED_BY)


def _supersedes(link: Link) -> bool:
    return link.kind is LinkKind.SUPERSEDES


def _ends(links: Iterable[Link]) -> set[MemoryId]:
    return {end for link in links for end in (link.source, link.target)}

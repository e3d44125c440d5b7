"""Which memories are outdated: what the links between them say, and how such links are found.

The verdicts are pure functions over links. The finder compares a memory with the few nearest; what
comes of that is offered to whoever stores it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from bearinmind.protocols import Page, ReadPairs, Reads, Store
from bearinmind.text import analysis
from bearinmind.trace import OnDemand
from bearinmind.types import (
    AlreadyKnown,
    Decider,
    Filter,
    Judgement,
    Link,
    LinkKind,
    MayReplace,
    Memory,
    MemoryId,
    Outcome,
    Outdated,
    Resolution,
    Scope,
    State,
    Trust,
)

if TYPE_CHECKING:
    from bearinmind.outdates.scorer import Score

MARK = 0.92  #: from this probability on a memory is marked outdated, and grouped
AT_ONCE = 0.09  #: from this one on it is asked which holds, while a memory is stored ...
OFFER = 0.06  #: ... and from this one on later, once both were compared in the background
KEEP = 0.02  #: from this one on a link is kept; below `OFFER` it only helps to order answers

_MOST_ASKED = 240  # characters of a question: the model was trained with short ones
_SEPARATOR = "[SEP]"  # between two texts, in the words of the model

REPLACING = frozenset({LinkKind.OUTDATES, LinkKind.SUPERSEDES})  #: kinds of links

CLAIM = "it is trusted more: a person decides whether it is replaced"  #: why it is offered

_DECIDERS = [*Decider]
_TRUST = [Trust.EXTERNAL, Trust.AGENT, Trust.USER]
_BY_A_PERSON = Judgement(probability=1.0, by=Decider.PERSON)


def with_question(text: str, older: str, newer: str) -> tuple[str, str]:
    """A pair for `ReadPairs`: whether the newer memory answers a question better than the older."""
    return f"{text[:_MOST_ASKED]} {_SEPARATOR} {older}", newer


def judgement_of(link: Link) -> Judgement:
    """Why a link holds; one without a judgement is a person's."""
    return link.judgement or _BY_A_PERSON


def is_decided(link: Link) -> bool:
    """Whether an agent or a person decided, and nobody needs to be asked again."""
    return judgement_of(link).by in (Decider.AGENT, Decider.PERSON)


def says(link: Link, id: MemoryId) -> Resolution | None:
    """What a link says of the memory at one of its ends, if it says which of the two holds."""
    if link.kind is LinkKind.SUPERSEDES:
        return Resolution.MERGE
    if link.kind is not LinkKind.OUTDATES:
        return None
    if judgement_of(link).probability == 0.0:
        return Resolution.BOTH
    return Resolution.NEWER if link.source == id else Resolution.OLDER


def contradict(one: Link, other: Link) -> bool:
    """Whether two decisions of equals about two memories cannot both hold."""
    judged = judgement_of(one), judgement_of(other)
    newer = [x.source if judgement_of(x).probability else None for x in (one, other)]
    return is_decided(one) and judged[0].by is judged[1].by and newer[0] != newer[1]


def because(evidence: Sequence[str]) -> str:
    """Why it is asked which of two memories holds, in a few words."""
    return evidence[0] if evidence else "it may state the same thing"


def in_words(link: Link) -> str:
    """What stands between the two memories of a link when it is read."""
    probability = judgement_of(link).probability
    if probability >= MARK:
        return link.kind.value
    return "may outdate" if probability else "holds beside"


def least(*trusts: Trust) -> Trust:
    """The lowest of some trust classes."""
    return min(trusts, key=_TRUST.index)


def is_less(one: Trust, other: Trust) -> bool:
    """Whether a trust class is lower than another."""
    return _TRUST.index(one) < _TRUST.index(other)


def is_less_trusted(newer: Memory, older: Memory) -> bool:
    """Whether a memory is of a lower trust class than another, so that it cannot replace it.

    The stores have the same rule in SQL, as `may_replace`.
    """
    return is_less(newer.provenance.trust, older.provenance.trust)


def begins(memory: Memory) -> tuple[datetime, MemoryId]:
    """From when a memory holds, as far as it is known; equal times break on the id."""
    return memory.valid_from or memory.created_at, memory.id


def may_outdate(newer: Memory, older: Memory) -> bool:
    """Whether one memory can outdate another at all, whatever they say.

    Of two that were imported with one date neither is the newer.
    """
    (began, _), (began_earlier, _) = begins(newer), begins(older)
    projects = {newer.provenance.project, older.provenance.project} - {None}
    hidden = any(x.sensitive or x.deleted_at is not None for x in (newer, older))
    return (
        began > began_earlier
        and not hidden
        and len(projects) <= 1
        and not is_less_trusted(newer, older)
    )


def is_trusted(link: Link, memories: Mapping[MemoryId, Memory]) -> bool:
    """Whether the newer memory may replace the older, by its trust or by a person's word.

    Otherwise the link is a claim: it changes nothing until a person decides.
    """
    # What supersedes may be trusted less since: a person who said so all the same is named.
    judgement = link.judgement if link.kind is LinkKind.SUPERSEDES else judgement_of(link)
    by_person = judgement is not None and judgement.by is Decider.PERSON
    return by_person or not is_less_trusted(memories[link.source], memories[link.target])


def prevailing_of_pairs(links: Iterable[Link]) -> list[Link]:
    """Of all links between the same two memories, in either direction, the one that prevails."""
    of_pair: dict[frozenset[MemoryId], Link] = {}
    for link in sorted(links, key=_weight):
        of_pair[frozenset((link.source, link.target))] = link
    return [*of_pair.values()]


def prevailing(
    links: Iterable[Link], memories: Mapping[MemoryId, Memory], least: float = MARK
) -> dict[MemoryId, Link]:
    """For each outdated memory the link from its next state; chains are not followed.

    `memories` are those that the reader may see: a link to another one counts for nothing, nor
    does one from a deleted or a sensitive memory. No memory comes to outdate itself: of the links
    that would close a circle the weakest is left out.
    """
    valid = [x for x in links if x.source in memories and x.target in memories]
    counting = [x for x in valid if is_trusted(x, memories) or not _says_outdated(x, least)]
    above: dict[MemoryId, list[Link]] = {}
    for link in sorted(prevailing_of_pairs(counting), key=_weight, reverse=True):
        source = memories[link.source]
        is_served = source.deleted_at is None and not source.sensitive
        if is_served and _says_outdated(link, least) and not _reaches(above, link):
            above.setdefault(link.target, []).append(link)
    return {
        id_: min(each, key=lambda x: (memories[x.source].created_at, x.source))
        for id_, each in above.items()
    }


def outdated(
    links: Iterable[Link], memories: Mapping[MemoryId, Memory], least: float = MARK
) -> dict[MemoryId, Outdated]:
    """For each outdated memory, by which one it is outdated and since when; see `prevailing`."""
    result = {}
    for id_, link in prevailing(links, memories, least).items():
        judgement = judgement_of(link)
        result[id_] = Outdated(
            by=link.source,
            until=memories[link.source].created_at,
            probability=judgement.probability,
            decided_by=judgement.by,
        )
    return result


def is_bridged(steps: Mapping[MemoryId, Link], newer: MemoryId, older: MemoryId) -> bool:
    """Whether a memory is outdated by way of others between; `steps` are those of `prevailing`."""
    step, first = steps.get(older), True
    while step is not None and step.source != newer:
        step, first = steps.get(step.source), False
    return step is not None and not first


def _weight(link: Link) -> tuple[object, ...]:
    """What prevails: the later decider, then the later link; equal ones break on the ids."""
    by = _DECIDERS.index(judgement_of(link).by)
    return by, link.created_at, link.kind, link.source, link.target


def _says_outdated(link: Link, least: float) -> bool:
    return judgement_of(link).probability >= least


def _reaches(above: Mapping[MemoryId, list[Link]], link: Link) -> bool:
    """Whether the target of a link already outdates its source, directly or by way of others."""
    frontier, seen = [link.source], {link.source}
    while frontier:
        for newer in above.get(frontier.pop(), ()):
            if newer.source not in seen:
                seen.add(newer.source)
                frontier.append(newer.source)
    return link.target in seen


# ---- the finder --------------------------------------------------------------------------------

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
        from bearinmind.outdates.scorer import NO_COSINE, model_weights, scorer  # noqa: PLC0415

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
    from bearinmind.outdates.scorer import NO_COSINE, scorer  # noqa: PLC0415  its patterns take long

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


# ---- what is offered while a memory is stored ----------------------------------------------------

_RECENT = 20  # memories of a session about which something may have been found since


@dataclass(frozen=True, slots=True)
class Offers:
    """What a memory may replace, as whoever stores it is asked."""

    store: Store
    scope: Scope
    clock: Callable[[], datetime]
    #: Pairs that this process has asked about.
    asked: set[tuple[MemoryId, MemoryId]] = field(default_factory=set)

    def added_to(self, outcome: Outcome, replaced: Sequence[Memory]) -> Outcome:
        """The outcome of a store with what the new memory may replace, if nobody said it already.

        It is looked for when it is first read: an acknowledgement does not wait for it. What is
        trusted more than the new memory is not replaced: a person decides in the inbox.
        """
        memory = outcome.memory
        if isinstance(outcome, AlreadyKnown) or memory.sensitive or memory.deleted_at is not None:
            return outcome
        return replace(outcome, may_replace=OnDemand(lambda: self._of(memory, replaced)))

    def _of(self, memory: Memory, replaced: Sequence[Memory]) -> Sequence[MayReplace]:
        """What a memory may replace, and what was found since about others of its session."""
        now, session = self.clock(), memory.provenance.session
        offers = [
            MayReplace(memory=old, newer=memory.id, probability=OFFER, because=CLAIM)
            for old in replaced
            if is_less_trusted(memory, old)
        ]
        if not replaced:
            found = Finder(self.store).offers(self.scope, memory, now)
            offers += [x for x in found if x.memory.content != memory.content]
        earlier = [memory]
        if session is not None:
            filter = Filter(scope=self.scope, now=now, session=session)
            earlier = self.store.browse(filter, Page(limit=_RECENT))
        known = {(offer.newer, offer.memory.id) for offer in offers} | self.asked
        offers += [x for x in self.inferred(earlier) if (x.newer, x.memory.id) not in known]
        self.asked.update((offer.newer, offer.memory.id) for offer in offers[:MOST_OFFERED])
        return offers[:MOST_OFFERED]

    def inferred(self, memories: Sequence[Memory]) -> Iterator[MayReplace]:
        """What the background work found that these memories may replace, the likeliest first."""
        own = {each.id for each in memories}
        links = self.store.links(self.scope, [*own])
        asked = [
            (link, judgement)
            for link in prevailing_of_pairs(x for x in links if x.kind is LinkKind.OUTDATES)
            if link.source in own and not is_decided(link)
            if (judgement := judgement_of(link)).probability >= OFFER
        ]
        held = self.store.get_many(self.scope, [link.target for link, _ in asked]) if asked else {}
        for link, judgement in sorted(asked, key=lambda each: -each[1].probability):
            older = held.get(link.target)
            if older and older.deleted_at is None and not older.sensitive:
                yield MayReplace(
                    memory=older,
                    newer=link.source,
                    probability=judgement.probability,
                    because=because(judgement.evidence),
                )

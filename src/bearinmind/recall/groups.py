"""States of one thing: the current one first, the earlier ones under it. Pure.

Links say how probable it is that one memory outdates another; the query says whether that matters
here: both must answer it, and a question about the past gets first what was so then. Of two
memories that may be states of one thing a model that reads them with the question says which comes
first; where there is none, their scores and words do.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

from bearinmind.outdates.verdicts import (
    MARK,
    OFFER,
    begins,
    is_decided,
    is_trusted,
    judgement_of,
    may_outdate,
    outdated,
    prevailing,
    prevailing_of_pairs,
)
from bearinmind.text import analysis
from bearinmind.trace import Asks, Dropped, Judged, QuestionTime, Span
from bearinmind.types import (
    EarlierState,
    Group,
    Link,
    Memory,
    MemoryId,
    Outdated,
)

LONGEST = 450  #: characters that a model reads of a text: about what it was trained with
DEPTH = 20  #: the best candidates whose states are looked at
_FIRST = 3  # a memory that does not stand among these answers something else ...
ORDERED = 7  #: ... and only these are put in order ...
_ORDERED_BY_WORDS = 4  # ... these where no model reads
_PER_SCORE = 2.5  # log odds that a score lower by a factor e must outweigh (docs/adr/0065)
_LIKELY = 0.05  # probability of a link from which on its pair is read with the question ...
_MOST_FAR = 2  # ... of those with a newer memory further down so many (docs/adr/0062) ...
_SURE = 2.2  # ... and the log odds that put that one first
_MOST_LONG = 3  # pairs with a long memory, compared as a whole, that are read without a link ...
_BOTH_ANSWER = 2  # ... and so are the first, if both answer ... (docs/adr/0073)
_ANSWER = 1.0  # ... with these log odds ...
_SURE_APART = 1.0  # ... and the log odds that put the newer one of either first
_LEAST_PROBABLE = 0.0094  # what a pair without a link counts as, by words alone
_CERTAIN = 0.999  # no probability counts as more, not even what somebody has decided
_LOWEST_RATIO = math.exp(-2)  # of two scores; below it the distance says no more
_LEAST_OTHER = 0.5  # of a score: in a small store no third candidate comes near
_DAY = 86_400.0  # seconds
LEAST_DAYS = 1.0  #: between two memories that no link connects
_ANSWERS = 0.6  # of the other's score: from there on both memories answer the query
_MOST_MISSED = 0.25  # of the query's words that the other has, by their weight ...
_MOST_LOST = 0.5  # ... and of two that are only put in order: a name that one lacks decides
_BEFORE = 1 + 1e-6  # what a score is multiplied with to come before another
_PASSES = 5  # longer chains than that are not followed
CURRENT, EARLIER = "current", "earlier"  #: factors of a candidate that comes before another

NO_EARLIER: Mapping[MemoryId, tuple[EarlierState, ...]] = {}


class Question(NamedTuple):
    """What a query asks for."""

    asks: Asks
    weights: Mapping[str, float]  #: of its terms that any memory has: the rare ones weigh more
    span: Span | None = None  #: the time that it names

    @classmethod
    def of(cls, time: QuestionTime, frequency: Mapping[str, int], among: int) -> Question:
        """The question with terms that occur so often in so many memories."""
        weights = {term: math.log(1 + among / (1 + times)) for term, times in frequency.items()}
        return cls(time.asks, weights, time.span)

    def is_before(self, memory: Memory) -> bool:
        """Whether the past is asked for, and the memory had not begun when the named time did."""
        start = self.span.start if self.span else None
        return self.asks is Asks.THEN and (start is None or begins(memory)[0] > start)

    def missed(self, memory: Memory, other: Memory) -> float:
        """The share of its words that the other memory has and this one has not."""
        lost = _terms(other) - _terms(memory)
        whole = math.fsum(self.weights.values())
        return math.fsum(w for term, w in self.weights.items() if term in lost) / (whole or 1.0)


def _terms(memory: Memory) -> set[str]:
    return {*analysis.index(" ".join((memory.content, *memory.tags))).terms}


class Arranged(NamedTuple):
    """The candidates with their states put in order."""

    judged: list[Judged]
    earlier: Mapping[MemoryId, tuple[EarlierState, ...]] = NO_EARLIER  #: by what outdates them
    outdated: Mapping[MemoryId, Outdated] = {}  #: those that stand by themselves
    before: Sequence[tuple[MemoryId, MemoryId]] = ()  #: which state comes before which

    def left_out(self, dropped: Iterable[Dropped]) -> Iterator[Dropped]:
        """What was left out, each with the states that would be shown under it."""
        for each in dropped:
            states = self.earlier.get(each.id, ())
            yield from (each, *(Dropped(state.memory.id, each.reason) for state in states))

    def behind(self, id_: MemoryId) -> list[MemoryId]:
        """A memory and the states that it was put before, and those before which they were put."""
        states = [id_]
        for state in states:  # grows meanwhile
            states += [x for first, x in self.before if first == state and x not in states]
        return states


def that_matter(links: Sequence[Link], judged: Iterable[Judged]) -> list[Link]:
    """The links that `arrange` goes by: a pair that is not marked orders candidates alone."""
    candidates = {each.id for each in judged}
    marked = {frozenset((x.source, x.target)) for x in links if judgement_of(x).probability >= MARK}
    return [
        link
        for link in links
        if candidates >= {link.source, link.target}
        or frozenset((link.source, link.target)) in marked
    ]


def arrange(
    judged: list[Judged],
    links: Iterable[Link],
    memories: Mapping[MemoryId, Memory],
    question: Question,
    group: Group,
    preferences: Preferences | None = None,
    admitted: Collection[MemoryId] | None = None,
) -> Arranged:
    """Put the states of one thing in the order that the query asks for.

    `preferences` are those of the pairs of `to_be_read`; None where words alone found the links.
    `admitted` may be hits by the filter, None: all; what it keeps out is attached at most.
    """
    links = [x for x in links if x.source in memories and x.target in memories]
    past = question.asks is Asks.THEN
    if any(each.reranked is not None for each in judged):
        pairs = []  # who reranks has seen both texts; its order is not that of the scores
    elif preferences is None:
        pairs = [*_word_orders(judged, links, memories, question)]
    else:
        pairs = [*_read_orders(judged, links, memories, question, preferences)]
    ordered = _ordered(judged, pairs, EARLIER if past else CURRENT) if pairs else judged
    if not links:
        return Arranged(ordered, before=pairs)
    marked = outdated(links, memories, MARK)
    if past:
        return Arranged(ordered, outdated=marked, before=pairs)
    together = _Together(judged, memories, question)
    grouped = {
        id_: link
        for id_, link in prevailing(links, memories, MARK).items()
        if is_decided(link) or together.answer(link)
    }
    may_be_hits = memories if admitted is None else admitted
    current = {id_: _head(id_, grouped, may_be_hits) for id_ in marked}
    if group is Group.OFF:
        before = [(current[x.id], x.id) for x in ordered if current.get(x.id, x.id) != x.id]
        apart = _behind_current(ordered, current, _BEFORE)
        return Arranged(apart, outdated=marked, before=[*pairs, *before])
    return _grouped(ordered, marked, current, memories)._replace(before=pairs)


#: How probable it is that the newer of two memories answers the question better
Preferences = Mapping[frozenset[MemoryId], float]


def to_be_read(
    judged: Sequence[Judged],
    links: Sequence[Link],
    memories: Mapping[MemoryId, Memory],
    question: Question,
    odds: Mapping[MemoryId, float],
) -> list[tuple[Memory, Memory]]:
    """The pairs, the older first, of which only a look at the question tells what comes first.

    They may be two states of one thing, and one of them does not stand where its time says. `odds`
    are those of `second_look.read_first`.
    """
    if question.asks is Asks.THEN:
        return []
    likely = [x for x in _linked(judged, links, memories) if x.probability >= _LIKELY]
    behind = [x for x in likely if x.is_behind and not x.is_far and x.probability < MARK]
    below = [x for x in likely if x.from_below]
    below.sort(key=lambda x: (-x.probability, x.newer.id, x.older.id))
    apart = [*_unlinked(judged, links, memories)]
    long = [x for x in apart if max(len(memories[y.id].content) for y in x[:2]) > LONGEST]
    first = {each.id for each in judged[:_BOTH_ANSWER] if odds.get(each.id, 0.0) > _ANSWER}
    both = [x for x in apart if {x.older.id, x.newer.id} <= first and x not in long]
    chosen = [*behind, *below[:_MOST_FAR], *long[:_MOST_LONG], *both]
    return [(memories[x.older.id], memories[x.newer.id]) for x in chosen]


class _Linked(NamedTuple):
    """Two candidates that may be states of one thing."""

    newer: Judged
    older: Judged
    probability: float  #: that the one outdates the other
    is_behind: bool  #: the newer one has the lower place ...
    is_far: bool  #: ... or one of them a place below the best ...
    from_below: bool  #: ... while the older one is among them


def _linked(
    judged: Sequence[Judged], links: Iterable[Link], memories: Mapping[MemoryId, Memory]
) -> Iterator[_Linked]:
    """The candidates that a link connects, once for each pair."""
    order = [each for each in judged[:DEPTH] if each.score > 0]
    place = {each.id: number for number, each in enumerate(order)}
    for link in prevailing_of_pairs(links):
        if place.keys() >= {link.source, link.target} and _current(link, memories):
            newer, older = place[link.source], place[link.target]
            yield _Linked(
                order[newer],
                order[older],
                judgement_of(link).probability,
                is_behind=newer > older,
                is_far=max(newer, older) >= ORDERED,
                from_below=older < ORDERED <= newer,
            )


def _unlinked(
    judged: Sequence[Judged], links: Iterable[Link], memories: Mapping[MemoryId, Memory]
) -> Iterator[_Linked]:
    """The best candidates that no link connects, the newer below the older."""
    known = {frozenset((link.source, link.target)) for link in links}
    for one, other in combinations([x for x in judged[:ORDERED] if x.score > 0], 2):
        older, newer = memories[one.id], memories[other.id]
        days = (newer.created_at - older.created_at).total_seconds() / _DAY
        if {one.id, other.id} not in known and days >= LEAST_DAYS and may_outdate(newer, older):
            yield _Linked(other, one, 0.0, is_behind=True, is_far=False, from_below=False)


def _read_orders(
    judged: Sequence[Judged],
    links: Sequence[Link],
    memories: Mapping[MemoryId, Memory],
    question: Question,
    preferences: Preferences,
) -> Iterator[tuple[MemoryId, MemoryId]]:
    """Which candidates precede which, where a model reads: linked pairs, and what was read besides.

    A marked pair that is already in order is named as well, so that no other pair undoes it. Of
    several states that come before the same one the newest is the first.
    """
    lifted: dict[MemoryId, list[MemoryId]] = {}
    for pair in (*_linked(judged, links, memories), *_unlinked(judged, links, memories)):
        newer, older = pair.newer.id, pair.older.id
        if question.asks is Asks.THEN:
            if pair.probability >= MARK and not pair.is_far:
                yield (older, newer) if question.is_before(memories[newer]) else (newer, older)
        elif _is_current_first(pair, preferences.get(frozenset((newer, older)), 0.0)):
            yield newer, older
            if pair.is_behind and pair.probability >= _LIKELY:
                lifted.setdefault(older, []).append(newer)
    for sources in lifted.values():
        states = sorted(sources, key=lambda id_: begins(memories[id_]))
        yield from ((newer, older) for older, newer in pairwise(states))


def _is_current_first(pair: _Linked, preference: float) -> bool:
    """Whether the newer memory comes first: it is marked, or the question prefers it enough.

    Turns of a dialogue are often taken for two states; one that scores far lower is seldom meant.
    """
    if pair.probability >= MARK and not pair.from_below:
        return True
    ratio = min(pair.newer.score / pair.older.score, 1.0)
    lower = 0.0 if pair.is_far else -_PER_SCORE * math.log(ratio)
    sure = _SURE if pair.is_far else 0.0 if pair.probability else _SURE_APART
    return log_odds(preference) > lower + sure


def log_odds(probability: float) -> float:
    """The logarithm of the odds, none of them certain."""
    likely = min(max(probability, 1 - _CERTAIN), _CERTAIN)
    return math.log(likely / (1 - likely))


# ---- where words alone found the links -----------------------------------------------------------


class OrderWeights(NamedTuple):
    """What speaks for putting a memory before another that has the higher score (docs/adr/0047)."""

    base: float
    probability: float  #: that the one outdates the other, as log odds
    score: float  #: of the lower in that of the higher
    other: float  #: score of the best candidate that is no state of either in that of the lower
    days: float  #: between the two
    states: float  #: how many other candidates seem to be states of one of the two

    def odds(self, evidence: Sequence[float]) -> float:
        """The log odds, from a number for each weight but the base."""
        return self.base + math.fsum(w * x for w, x in zip(self[1:], evidence, strict=True))


ORDER_BY_WORDS = OrderWeights(
    base=0.1814, probability=0.3866, score=1.8048, other=-1.7436, days=0.2606, states=-0.5832
)


def _word_orders(
    judged: Sequence[Judged],
    links: Sequence[Link],
    memories: Mapping[MemoryId, Memory],
    question: Question,
) -> Iterator[tuple[MemoryId, MemoryId]]:
    """The pairs of the best candidates of which the lower is to precede the higher.

    A marked pair is named first and is not weighed, unless the question is about the past.
    """
    least_sure = math.inf if question.asks is Asks.THEN else MARK
    for linked in _linked(judged, links, memories) if links else ():
        if linked.probability >= least_sure:
            yield linked.newer.id, linked.older.id
    judgements = prevailing_of_pairs(links) if links else ()
    of_pair = {frozenset((x.source, x.target)): x for x in judgements}
    probabilities = {pair: judgement_of(link).probability for pair, link in of_pair.items()}
    for higher, lower in combinations(judged[:_ORDERED_BY_WORDS], 2):
        one, other = memories[higher.id], memories[lower.id]
        link = of_pair.get(frozenset((one.id, other.id)))
        current = _current(link, memories) if link else _newer(one, other)
        if lower.score <= 0 or current is None:
            continue
        if link and judgement_of(link).probability >= least_sure:
            continue
        if (current == lower.id) is question.is_before(memories[current]):
            continue
        days = abs((one.created_at - other.created_at).total_seconds()) / _DAY
        if (link is None and days < LEAST_DAYS) or question.missed(other, one) > _MOST_LOST:
            continue
        if ORDER_BY_WORDS.odds(order_evidence(judged, lower, higher, probabilities, days)) > 0:
            yield lower.id, higher.id


def order_evidence(
    judged: Sequence[Judged],
    lower: Judged,
    higher: Judged,
    probabilities: Mapping[frozenset[MemoryId], float],
    days: float,
) -> tuple[float, ...]:
    """What the weights of the order are multiplied with."""
    pair = frozenset((lower.id, higher.id))
    states = {
        each.id
        for each in judged[:_ORDERED_BY_WORDS]
        if each.id not in pair
        and any(probabilities.get(frozenset((each.id, end)), 0.0) >= OFFER for end in pair)
    }
    other = next((x.score for x in judged if x.id not in pair | states), 0.0)
    probable = min(max(probabilities.get(pair, 0.0), _LEAST_PROBABLE), _CERTAIN)
    return (
        math.log(probable / (1 - probable)),
        math.log(max(lower.score / higher.score, _LOWEST_RATIO)),
        math.log(max(other / lower.score, _LEAST_OTHER)),
        math.log1p(days),
        float(len(states)),
    )


def _newer(one: Memory, other: Memory) -> MemoryId | None:
    """Which of two memories states the present if they state the same thing; None if neither."""
    older, newer = sorted((one, other), key=begins)
    return newer.id if may_outdate(newer, older) else None


# ---- what both go by -----------------------------------------------------------------------------


def _current(link: Link, memories: Mapping[MemoryId, Memory]) -> MemoryId | None:
    """Which memory of a link states the present; None if both hold, or if that is only claimed."""
    holds_beside = not judgement_of(link).probability
    return None if holds_beside or not is_trusted(link, memories) else link.source


class _Together:
    """Which memories answer the query together."""

    def __init__(
        self, judged: Sequence[Judged], memories: Mapping[MemoryId, Memory], question: Question
    ) -> None:
        self._scores = {each.id: each.score for each in judged}
        self._first = {each.id for each in judged[:_FIRST]}
        self._memories = memories
        self._question = question

    def answer(self, link: Link) -> bool:
        """Whether both memories of a link answer the query about equally well."""
        scores = [self._scores.get(end, 0.0) for end in (link.source, link.target)]
        if min(scores) <= 0 or min(scores) < _ANSWERS * max(scores):
            return False
        ends = (link.source, link.target) if scores[0] < scores[1] else (link.target, link.source)
        behind, ahead = (self._memories[end] for end in ends)
        return behind.id in self._first and self._question.missed(behind, ahead) <= _MOST_MISSED


def _ordered(
    judged: list[Judged], pairs: Sequence[tuple[MemoryId, MemoryId]], factor: str
) -> list[Judged]:
    """The candidates, each lifted before those that it is to precede."""
    score = {each.id: each.score for each in judged}
    for _ in range(_PASSES):
        behind = [pair for pair in pairs if score[pair[0]] <= score[pair[1]]]
        if not behind:
            break
        for first, second in behind:
            score[first] = max(score[first], score[second] * _BEFORE)
    lifted = [_lifted(each, score[each.id], factor) for each in judged]
    return sorted(lifted, key=lambda each: (-each.score, each.id))


def _lifted(candidate: Judged, score: float, factor: str) -> Judged:
    if score == candidate.score:
        return candidate
    lift = candidate.factors.get(factor, 1.0) * score / candidate.score
    factors = {**candidate.factors, factor: lift}
    return candidate._replace(score=score, factors=factors)


def _behind_current(
    ordered: list[Judged], current: Mapping[MemoryId, MemoryId], lift: float = 1.0
) -> list[Judged]:
    """The candidates, each behind the current one, which comes in where it is no candidate."""
    kept: dict[MemoryId, Judged] = {}
    by_id = {each.id: each for each in ordered}
    for candidate in ordered:
        head = current.get(candidate.id, candidate.id)
        if head not in kept:
            own = by_id.get(head)
            if own is None or own.score <= 0:  # no factor lifts a score of nothing
                own = candidate._replace(id=head)
            least = candidate.score * (1.0 if head == candidate.id else lift)
            kept[head] = _lifted(own, max(own.score, least), CURRENT)
        kept.setdefault(candidate.id, candidate)
    return [*kept.values()]


def _grouped(
    ordered: list[Judged],
    marked: Mapping[MemoryId, Outdated],
    current: Mapping[MemoryId, MemoryId],
    memories: Mapping[MemoryId, Memory],
) -> Arranged:
    """The candidates with the earlier states under the current one."""
    kept: list[Judged] = []
    earlier: dict[MemoryId, list[EarlierState]] = {}
    for candidate in _behind_current(ordered, current):
        head = current.get(candidate.id, candidate.id)
        if head == candidate.id:
            kept.append(candidate)
        else:
            state = EarlierState(memory=memories[candidate.id], outdated=marked[candidate.id])
            earlier.setdefault(head, []).append(state)
    latest_first = {
        head: tuple(sorted(states, key=lambda x: (x.memory.created_at, x.memory.id), reverse=True))
        for head, states in earlier.items()
    }
    alone = {id_: each for id_, each in marked.items() if current[id_] == id_}
    return Arranged(kept, latest_first, alone)


def _head(
    id_: MemoryId, grouped: Mapping[MemoryId, Link], admitted: Collection[MemoryId]
) -> MemoryId:
    """The latest state of what a memory states that may be a hit."""
    states = [id_]
    while id_ in grouped and grouped[id_].source not in states:
        id_ = grouped[id_].source
        states.append(id_)
    return next((each for each in reversed(states) if each in admitted), states[0])

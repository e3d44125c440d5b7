"""States of one thing: the current one first, the earlier ones under it. Pure.

Links say how probable it is that one memory outdates another; the query says whether that matters
here: both must answer it, and a question about the past gets the past first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from bearinmind.outdates.verdicts import (
    KEEP,
    MARK,
    is_decided,
    is_trusted,
    judgement_of,
    outdated,
    prevailing,
    prevailing_of_pairs,
)
from bearinmind.trace import Asks, Judged
from bearinmind.types import (
    EarlierState,
    Group,
    Link,
    Memory,
    MemoryId,
    Outdated,
)

DEPTH = 20  #: the best candidates whose states are looked at
_ANSWERS = 0.5  # of the other's score: from there on both memories answer the query
_BEFORE = 1 + 1e-6  # what a score is multiplied with to come before another
_PASSES = 5  # longer chains than that are not followed

NO_EARLIER: Mapping[MemoryId, tuple[EarlierState, ...]] = {}


class Arranged(NamedTuple):
    """The candidates with their states put in order."""

    judged: list[Judged]
    earlier: Mapping[MemoryId, tuple[EarlierState, ...]] = NO_EARLIER  #: by what outdates them
    outdated: Mapping[MemoryId, Outdated] = {}  #: those that stand by themselves


def arrange(
    judged: list[Judged],
    links: Iterable[Link],
    memories: Mapping[MemoryId, Memory],
    asks: Asks,
    group: Group,
) -> Arranged:
    """Put the states of one thing in the order that the query asks for."""
    links = [x for x in links if x.source in memories and x.target in memories]
    if not links:
        return Arranged(judged)
    past = asks is Asks.THEN
    ordered = _ordered(
        judged, [*_pairs(links, memories, past=past)], "earlier" if past else "current"
    )
    marked = outdated(links, memories, MARK)
    if past or group is Group.OFF:
        return Arranged(ordered, outdated=marked)
    return _grouped(ordered, judged, marked, prevailing(links, memories, MARK), memories)


def _pairs(
    links: Sequence[Link], memories: Mapping[MemoryId, Memory], *, past: bool
) -> Iterable[tuple[MemoryId, MemoryId]]:
    """Pairs of which the first is to come before the second."""
    for link in prevailing_of_pairs(links):
        if judgement_of(link).probability >= KEEP and is_trusted(link, memories):
            yield (link.target, link.source) if past else (link.source, link.target)


def _ordered(
    judged: list[Judged], pairs: Sequence[tuple[MemoryId, MemoryId]], factor: str
) -> list[Judged]:
    """The candidates, each lifted before those that it is to precede, if both answer the query."""
    before = {each.id: each.score for each in judged}
    score = dict(before)
    known = [
        (first, second)
        for first, second in pairs
        if before.get(first, 0.0) >= _ANSWERS * before.get(second, 0.0) > 0
    ]
    for _ in range(_PASSES):
        behind = [pair for pair in known if score[pair[0]] <= score[pair[1]]]
        if not behind:
            break
        for first, second in behind:
            score[first] = max(score[first], score[second] * _BEFORE)
    if score == before:
        return judged
    lifted = [_lifted(each, score[each.id], factor) for each in judged]
    return sorted(lifted, key=lambda each: (-each.score, each.id))


def _lifted(candidate: Judged, score: float, factor: str) -> Judged:
    if score == candidate.score:
        return candidate
    factors = {**candidate.factors, factor: score / candidate.score}
    return candidate._replace(score=score, factors=factors)


def _grouped(
    ordered: list[Judged],
    judged: Sequence[Judged],
    marked: Mapping[MemoryId, Outdated],
    deciding: Mapping[MemoryId, Link],
    memories: Mapping[MemoryId, Memory],
) -> Arranged:
    """The candidates with earlier states under the current one, where both answer the query."""
    scores = {each.id: each.score for each in judged}
    head_of: dict[MemoryId, MemoryId] = {}
    for id_ in marked:
        head, decided = _head(id_, marked, deciding)
        answers = scores.get(head, 0.0) >= _ANSWERS * scores.get(id_, 0.0)
        if id_ in scores and (decided or answers):
            head_of[id_] = head
    kept: dict[MemoryId, Judged] = {}
    for candidate in ordered:
        head = head_of.get(candidate.id, candidate.id)
        if head not in kept:
            own = next((each for each in ordered if each.id == head), candidate)
            kept[head] = _lifted(own, candidate.score, "current")._replace(id=head)
    earlier: dict[MemoryId, list[EarlierState]] = {}
    for id_, head in head_of.items():
        state = EarlierState(memory=memories[id_], outdated=marked[id_])
        earlier.setdefault(head, []).append(state)
    alone = {id_: each for id_, each in marked.items() if id_ not in head_of}
    latest_first = {
        head: tuple(sorted(states, key=lambda x: (x.memory.created_at, x.memory.id), reverse=True))
        for head, states in earlier.items()
    }
    return Arranged([*kept.values()], latest_first, alone)


def _head(
    id_: MemoryId, marked: Mapping[MemoryId, Outdated], deciding: Mapping[MemoryId, Link]
) -> tuple[MemoryId, bool]:
    """The current state of what a memory states, and whether somebody decided all steps to it."""
    decided, seen = True, {id_}
    while id_ in marked and marked[id_].by not in seen:
        decided = decided and is_decided(deciding[id_])
        id_ = marked[id_].by
        seen.add(id_)
    return id_, decided

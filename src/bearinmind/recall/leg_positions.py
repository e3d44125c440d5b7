"""Where each leg has a memory, however deep, and what it says about it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import NamedTuple

from bearinmind.protocols import Following, Leg
from bearinmind.recall import graph_paths
from bearinmind.recall.dense import CERTAIN, DEPTH, DenseLeg
from bearinmind.recall.graph_leg import GraphLeg
from bearinmind.recall.pipeline import LARGEST_POOL, follow, run
from bearinmind.text import analysis
from bearinmind.trace import Answer, LegReport, LegStanding
from bearinmind.types import Candidate, Memory, MemoryId, Placing, Query, Ranking, Step

_MOMENT = timedelta(microseconds=1)  # as finely as times are kept


def _asked(query: Query) -> Query:
    """What a leg looks at of a query."""
    return Query(text=query.text, filter=query.filter, expanded=query.expanded, pool=query.pool)


class AskedOnce:
    """A leg that keeps its answers, for recalls that are tried again and again.

    No leg looks at a limit or at a budget, so that these cost it nothing.
    """

    def __init__(self, leg: Leg) -> None:
        self._leg = leg.repeated() if isinstance(leg, DenseLeg) else leg
        self._answers: dict[Query, tuple[Ranking, LegReport]] = {}
        self.name = leg.name
        self.is_dense = isinstance(leg, DenseLeg)
        self.depth = DEPTH if self.is_dense else 1  #: how many times deeper than the pool it looks

    def __call__(self, query: Query) -> tuple[Ranking, LegReport]:
        """The leg's answer, or an empty one that says why."""
        asked = _asked(query)
        if asked not in self._answers:
            self._answers[asked] = run(self._leg, asked)
        return self._answers[asked]


class FollowedOnce:
    """The same for a leg that goes on from what the others found, which keep their answers too."""

    is_dense = False
    depth = 1

    def __init__(self, leg: Following) -> None:
        self.leg = leg
        self.name = leg.name
        self._answers: dict[Query, tuple[Ranking, LegReport]] = {}

    def __call__(
        self, query: Query, rankings: Sequence[Ranking], scores: Mapping[MemoryId, float]
    ) -> tuple[Ranking, LegReport]:
        """The leg's answer, or an empty one that says why."""
        asked = _asked(query)
        if asked not in self._answers:
            self._answers[asked] = follow(self.leg, query, rankings, scores)
        return self._answers[asked]


class Place(NamedTuple):
    """Where a leg has a memory when it looks as deep as it can."""

    leg: AskedOnce | FollowedOnce
    report: LegReport
    placing: Placing | None  #: None when it is not found
    pool: int  #: the smallest at which the leg proposes it
    path: tuple[Step, ...] = ()  #: how the concept graph leads to it, if it does

    @property
    def is_evident(self) -> bool:
        """Whether the leg has found it for a reason: the dense leg ranks just everything."""
        return self.placing is not None and (self.placing.evidence > 0 or not self.leg.is_dense)


def place(leg: AskedOnce, query: Query, memory: Memory) -> Place:
    """Where a leg has a memory."""
    ranking, report = leg(replace(query, pool=LARGEST_POOL))
    for rank, (id_, *found) in enumerate(ranking.candidates, start=1):
        if id_ == memory.id:
            return Place(leg, report, Placing(rank, *found), _pool(leg, query, memory, rank))
    return Place(leg, report, None, 0)


def followed(leg: FollowedOnce, answer: Answer, memory: Memory) -> Place:
    """Where a leg that goes on from the others' finds has a memory.

    It has no pool of its own: what it finds follows from theirs.
    """
    trace = answer.trace
    report = next(each for each in trace.legs if each.leg == leg.name)
    for id_, _, placings in trace.fused:
        if id_ == memory.id and leg.name in placings:
            pool = answer.query.pool
            return Place(leg, report, placings[leg.name], pool, trace.paths.get(id_, ()))
    return Place(leg, report, None, 0)


def _pool(leg: AskedOnce, query: Query, memory: Memory, rank: int) -> int:
    """The smallest pool at which a leg proposes a memory.

    Mostly that is its rank. A leg that looks deeper than the pool needs less; one that takes some
    way round when it is asked for fewer may need more.
    """

    def proposes(pool: int) -> bool:
        found: tuple[Candidate, ...] = leg(replace(query, pool=pool))[0].candidates
        return any(candidate.id == memory.id for candidate in found)

    guess = -(-rank // leg.depth)
    if proposes(guess) and not (guess > 1 and proposes(guess - 1)):
        return guess
    return 1 + bisect_left(range(1, LARGEST_POOL), x=True, key=proposes)


def standing(found: Place, query: Query, memory: Memory, answer: Answer) -> LegStanding:
    """The same for whoever asks why."""
    placing = found.placing
    return LegStanding(
        leg=found.leg.name,
        rank=placing.rank if placing else None,
        searched=found.report.found,
        note="; ".join(_notes(found, query, memory, answer)),
        score=placing.score if placing else None,
        confidence=placing.confidence if placing else None,
        evidence=placing.evidence if placing else None,
        path=found.path,
    )


def _notes(found: Place, query: Query, memory: Memory, answer: Answer) -> Iterator[str]:
    report, leg = found.report, found.leg
    if report.error:
        yield f"failed: {report.error}"
    elif report.off:
        yield f"off: {report.off}"
    elif isinstance(leg, FollowedOnce):
        if isinstance(leg.leg, GraphLeg):
            yield from graph_paths.notes(leg.leg, query.filter, memory, answer, report)
    elif not leg.is_dense:
        if leg.name == "lexical":
            yield from _shared_words(query, memory)
    elif found.placing is None:
        yield _without_vector(leg, report, query, memory)
    else:
        yield f"cosine {found.placing.score:.2f}, {_deviations(found.placing)}"
        last = answer.hits and min(answer.hits, key=lambda hit: hit.score).placings.get("dense")
        if last:
            yield f"the last that was given has {last.evidence * CERTAIN:.1f}"


def _shared_words(query: Query, memory: Memory) -> Iterator[str]:
    """Which words of the query the memory holds, and which it does not."""
    held = {*" ".join(analysis.entry(memory)[:5]).split()}
    asked = analysis.ask(query.text).terms
    shared = [term.surface for term in asked if term.term in held]
    lacking = [term.surface for term in asked if term.term not in held]
    yield f"holds {', '.join(shared) or 'none of the words'}"
    yield f"lacks {', '.join(lacking) or 'none'}"


def _deviations(placing: Placing) -> str:
    """How far a memory stands out, in the dense leg's own measure."""
    if not placing.evidence:
        return "not above the mean of all"
    return f"{placing.evidence * CERTAIN:.1f} deviations above the mean"


def _without_vector(leg: AskedOnce, report: LegReport, query: Query, memory: Memory) -> str:
    """Why the dense leg does not find a memory, however deep it looks."""
    if memory.sensitive:
        return "sensitive memories are never embedded"
    at_that_moment = replace(
        query.filter, created_from=memory.created_at, created_to=memory.created_at + _MOMENT
    )
    for candidate in leg(replace(query, filter=at_that_moment))[0].candidates:
        if candidate.id == memory.id:
            return f"cosine {candidate.score:.2f}, not among the {report.found:,} nearest"
    return "not embedded yet" if report.partial else "not embedded: see `bearinmind doctor`"

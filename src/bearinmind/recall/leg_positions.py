"""Where each leg places a memory, however deep, and how it explains that."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple

from bearinmind.protocols import Following, Leg
from bearinmind.recall import graph_leg
from bearinmind.recall.dense import CERTAIN, DEPTH, DenseLeg
from bearinmind.recall.graph_leg import GraphLeg
from bearinmind.recall.pipeline import LARGEST_POOL, run
from bearinmind.text import analysis
from bearinmind.trace import Answer, LegPosition, LegReport
from bearinmind.types import Candidate, Memory, Placing, Query, Ranking, Step

_MOMENT = timedelta(microseconds=1)  # as finely as times are kept


class CachedLeg:
    """A leg that keeps its answers, for recalls that are repeated with small changes.

    So does one that goes on from what others found: they keep their answers, too.
    """

    def __init__(self, leg: Leg | Following) -> None:
        self.is_dense = isinstance(leg, DenseLeg)
        self.leg = leg
        self.name = leg.name
        self.depth = DEPTH if self.is_dense else 1  #: how many times deeper than the pool it looks
        self._answers: dict[Query, tuple[Ranking, LegReport]] = {}
        self._failed: dict[str, tuple[Ranking, LegReport]] = {}  # by text

    def __call__(self, query: Query, *found: Any, **_: Any) -> tuple[Ranking, LegReport]:  # noqa: ANN401
        """The leg's answer, or an empty one that says why; a following leg gets what was found."""
        # No leg looks at a limit or at a budget.
        part = Query(text=query.text, filter=query.filter, expanded=query.expanded, pool=query.pool)
        if part not in self._answers:
            if part.text in self._failed:  # a call that takes ten seconds to fail is made once
                return self._failed[part.text]
            answer = self._answers[part] = run(self.leg, part, *found)
            if answer[1].error and self.is_dense:  # the text could not be embedded
                self._failed[part.text] = answer
        return self._answers[part]


class DeepPlacing(NamedTuple):
    """Where a leg places a memory when it looks as deep as it can."""

    leg: CachedLeg
    report: LegReport
    placing: Placing | None = None  #: None when it is not found
    pool: int = 0  #: the smallest at which the leg proposes it
    path: tuple[Step, ...] = ()  #: how the concept graph leads to it, if it does

    @property
    def is_evident(self) -> bool:
        """Whether the leg has found it for a reason: the dense leg ranks just everything."""
        return self.placing is not None and (self.placing.evidence > 0 or not self.leg.is_dense)


def deep_placing(leg: CachedLeg, query: Query, memory: Memory) -> DeepPlacing:
    """Where a leg places a memory when it looks as deep as it can."""
    ranking, report = leg(replace(query, pool=LARGEST_POOL))
    for rank, (id_, *scores) in enumerate(ranking.candidates, start=1):
        if id_ == memory.id:
            pool = _least_pool(leg, query, memory, rank)
            return DeepPlacing(leg, report, Placing(rank, *scores), pool)
    return DeepPlacing(leg, report)


def followed_placing(leg: CachedLeg, answer: Answer, memory: Memory) -> DeepPlacing:
    """Where a following leg places a memory; it has no pool of its own to look deeper in."""
    trace = answer.trace
    report = next(each for each in trace.legs if each.leg == leg.name)
    for id_, _, placings in trace.fused:
        if id_ == memory.id and leg.name in placings:
            path = trace.paths.get(id_, ())
            return DeepPlacing(leg, report, placings[leg.name], answer.query.pool, path)
    return DeepPlacing(leg, report)


def _least_pool(leg: CachedLeg, query: Query, memory: Memory, rank: int) -> int:
    """The smallest pool at which a leg proposes a memory.

    Mostly that is its rank. A leg that looks deeper than the pool needs less; one that searches
    another way when it is asked for fewer may need more.
    """

    def proposes(pool: int) -> bool:
        candidates: tuple[Candidate, ...] = leg(replace(query, pool=pool))[0].candidates
        return any(candidate.id == memory.id for candidate in candidates)

    guess = -(-rank // leg.depth)
    if proposes(guess) and not (guess > 1 and proposes(guess - 1)):
        return guess
    return 1 + bisect_left(range(1, LARGEST_POOL), x=True, key=proposes)


def leg_position(deep: DeepPlacing, query: Query, memory: Memory, answer: Answer) -> LegPosition:
    """The position of a memory in a leg, with the leg's own explanation."""
    placing = deep.placing
    return LegPosition(
        leg=deep.leg.name,
        rank=placing.rank if placing else None,
        searched=deep.report.found,
        note="; ".join(_notes(deep, query, memory, answer)),
        score=placing.score if placing else None,
        confidence=placing.confidence if placing else None,
        evidence=placing.evidence if placing else None,
        path=deep.path,
    )


def _notes(deep: DeepPlacing, query: Query, memory: Memory, answer: Answer) -> Iterator[str]:
    report, leg = deep.report, deep.leg
    if report.error:
        yield f"failed: {report.error}"
    elif report.off:
        yield f"off: {report.off}"
    elif isinstance(leg.leg, GraphLeg):
        yield from graph_leg.notes(leg.leg, query.filter, memory, answer, report)
    elif leg.name == "lexical":
        yield from _shared_words(query, memory)
    elif not leg.is_dense:
        return
    elif deep.placing is None:
        yield _without_vector(leg, report, query, memory)
    else:
        deviations = f"{deep.placing.evidence * CERTAIN:.1f} deviations above the mean"
        above = deviations if deep.placing.evidence else "not above the mean of all"
        yield f"cosine {deep.placing.score:.2f}, {above}"
        last = answer.hits and min(answer.hits, key=lambda hit: hit.score).placings.get("dense")
        if last:
            yield f"the last that was given has {last.evidence * CERTAIN:.1f}"


def _shared_words(query: Query, memory: Memory) -> Iterator[str]:
    """Which words of the query the memory holds, and which it does not."""
    held = {*" ".join(analysis.entry(memory)[:5]).split()}
    terms = analysis.ask(query.text).terms
    shared = [term.surface for term in terms if term.term in held]
    lacking = [term.surface for term in terms if term.term not in held]
    yield f"holds {', '.join(shared) or 'none of the words'}"
    yield f"lacks {', '.join(lacking) or 'none'}"


def _without_vector(leg: CachedLeg, report: LegReport, query: Query, memory: Memory) -> str:
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

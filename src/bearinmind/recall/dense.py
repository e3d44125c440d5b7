"""The dense leg: memories whose meaning is near the query's, judged against the mean of all."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from time import perf_counter

from bearinmind.protocols import Current, DenseAnswer, Meanings, Nearby, Unavailable
from bearinmind.trace import LegReport
from bearinmind.types import Candidate, MemoryId, Query, Ranking

#: The leg looks this many times deeper than the pool: what another leg found is seldom among the
#: nearest, and its meaning counts all the same (docs/adr/0015).
DEPTH = 4
#: A memory this many deviations above the mean of all is as good as certain (docs/adr/0064).
CERTAIN = 5.0
#: The deviation of few memories tells little: it is mixed with a usual one, which counts as this
#: many memories.
_USUAL_DEVIATION = 0.04
_USUAL_COUNT = 10
#: So many jobs of the queue are looked at to say what a leg cannot find yet.
LOOKED_AT = 1_000


@dataclass(frozen=True, slots=True)
class DenseLeg:
    """Exact or approximate nearest neighbours by cosine.

    A cosine means nothing by itself: one encoder's 0.8 is another's 0.3. A memory counts by how
    many deviations its cosine lies above the mean of all memories.
    """

    search: Meanings = field(repr=False)
    active: Callable[[], Current | Unavailable] = field(repr=False)
    name = "dense"  #: in traces

    def __call__(self, query: Query) -> tuple[Ranking, LegReport]:
        """The nearest memories; none, with the reason, when there is no semantic recall."""
        began = perf_counter()
        active = self.active()
        if isinstance(active, Unavailable):
            return _nothing(active, began)
        if not query.text.strip():
            return _nothing(Unavailable("the query is empty", expected=True), began)
        space, vector = active.space, active.embedder.embed_query(query.text)
        embedded = perf_counter()
        answer = self.search.nearest(query.filter, space, vector, DEPTH * query.pool)
        waiting = self.search.unembedded(query.filter.scope, space, LOOKED_AT)
        report = LegReport(
            leg=self.name,
            found=len(answer.nearest),
            milliseconds=(perf_counter() - began) * 1e3,
            detail={
                "model": space.model,
                "space": space.key,
                "searched": answer.searched,
                "how": answer.how,
                "mean": answer.mean,
                "deviation": answer.deviation,
                "embedding_ms": (embedded - began) * 1e3,
            },
            partial=waiting_memories(waiting, "embedded", LOOKED_AT),
            floor=answer.mean,
        )

        def judge(ids: Sequence[MemoryId]) -> dict[MemoryId, Candidate]:
            """These memories as candidates, judged against the same mean as the nearest."""
            cosines = self.search.cosines(query.filter, space, vector, ids)
            others = [Nearby(id_, cosine) for id_, cosine in cosines.items()]
            return {each.id: each for each in candidates(answer._replace(nearest=others))}

        ranking = Ranking(
            leg=self.name,
            candidates=tuple(candidates(answer)),
            floor=answer.mean,
            judge=judge,
            among=answer.population,
        )
        return ranking, report


def candidates(answer: DenseAnswer) -> list[Candidate]:
    """The nearest memories with confidence and evidence, best first."""
    count = answer.population
    # Among few memories none can lie many of their own deviations above the mean.
    variance = count * answer.deviation**2 + _USUAL_COUNT * _USUAL_DEVIATION**2
    scale = CERTAIN * (variance / (count + _USUAL_COUNT)) ** 0.5
    ids = [near.id for near in answer.nearest]
    cosines = [near.cosine for near in answer.nearest]
    above = [(cosine - answer.mean) / scale for cosine in cosines]
    evidence = [*map(max, repeat(0.0), above)]
    confidence = [*map(min, repeat(1.0), evidence)]
    return [*map(Candidate, ids, cosines, confidence, evidence)]


def waiting_memories(waiting: int, done: str, most: float = math.inf) -> str | None:
    """How many memories a leg cannot find yet; at `most` there may be more of them."""
    if not waiting:
        return None
    counted = "1 memory is" if waiting == 1 else f"{waiting:,} memories are"
    more = "at least " if waiting >= most else ""
    return f"{more}{counted} not {done} yet"


def _nothing(off: Unavailable, began: float) -> tuple[Ranking, LegReport]:
    report = LegReport(
        leg="dense",
        found=0,
        milliseconds=(perf_counter() - began) * 1e3,
        detail={"off": off.reason} if off.expected else {},
        error=None if off.expected else off.reason,
    )
    return Ranking(leg="dense", candidates=()), report


def pooled(answers: Sequence[DenseAnswer]) -> DenseAnswer:
    """Mean and deviation of several crowds as of one."""
    count = sum(answer.population for answer in answers)
    if not count:
        return answers[0]
    mean = math.fsum(answer.population * answer.mean for answer in answers) / count
    squares = math.fsum(
        answer.population * (answer.deviation**2 + (answer.mean - mean) ** 2) for answer in answers
    )
    return answers[0]._replace(mean=mean, deviation=math.sqrt(squares / count), population=count)

"""The read path: parse, legs, fuse, hydrate, adjust, select, attach links. It never writes."""

from __future__ import annotations

import logging
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple

from recollect.errors import RecollectError
from recollect.protocols import Fusion, Leg, Store
from recollect.recall.adjust import Adjustments
from recollect.recall.attach import NONE, attachments
from recollect.recall.parse import parse
from recollect.recall.select import Selection, present
from recollect.recall.standing import Standing
from recollect.recall.supersession import heads
from recollect.trace import BelowLimit, Dropped, Judged, LegReport, Recollection, Trace
from recollect.types import Fused, Hit, MemoryId, Query, Ranking, State

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """Finds the memories most relevant to a query, and says how."""

    store: Store
    legs: tuple[Leg, ...]
    fusion: Fusion
    adjustments: Adjustments
    selection: Selection
    executor: Executor = field(repr=False)

    def __call__(self, query: Query) -> Recollection:
        """The memories that matter, best first, with the trace of how they were found."""
        query = parse(query)
        watch = _Stopwatch()
        answers = self._ask(query)
        watch.lap("legs")
        rankings = [ranking for ranking, _ in answers]
        fused = self.fusion(rankings)
        watch.lap("fuse")
        choice = self._choose(query, rankings, fused)
        watch.lap("choose")
        hits = self._hits(query, choice)
        watch.lap("links")
        return Recollection(
            query=query,
            hits=tuple(hits),
            trace=Trace(
                legs=tuple(report for _, report in answers),
                fusion=repr(self.fusion),
                adjustments=repr(self.adjustments),
                selection=repr(self.selection),
                fused=tuple(fused),
                judged=tuple(choice.judged),
                dropped=tuple(choice.dropped),
                milliseconds=watch.stages,
            ),
        )

    def _ask(self, query: Query) -> list[tuple[Ranking, LegReport]]:
        """Every leg's answer; side by side when there is more than one."""
        if len(self.legs) == 1:
            return [_run(self.legs[0], query)]
        return [*self.executor.map(lambda leg: _run(leg, query), self.legs)]

    def _choose(self, query: Query, rankings: Sequence[Ranking], fused: Sequence[Fused]) -> _Choice:
        """Adjust and select among those candidates that may still come first.

        Nobody below them can, whatever is known about it; so it is not even read. Only when the
        selection leaves too few are the others considered too.
        """
        served = self._served(query, fused)
        depth = contenders(fused, query.limit, self.adjustments.spread(query))
        chained = {*served, *served.values()}
        below = [candidate for candidate in fused[depth:] if candidate.id not in chained]
        reach = [*fused[:depth], *(c for c in fused[depth:] if c.id in chained)]
        choice = self._choose_among(query, rankings, reach, served)
        if below and len(choice.chosen) < query.limit:
            return self._choose_among(query, rankings, fused, served)
        reason = BelowLimit(limit=query.limit)
        choice.dropped.extend([Dropped(candidate.id, reason) for candidate in below])
        return choice

    def _served(self, query: Query, fused: Sequence[Fused]) -> Mapping[MemoryId, MemoryId]:
        """The memory to serve for each superseded one, unless those themselves were asked for."""
        if not fused or State.SUPERSEDED in query.filter.states:
            return {}
        ids = [candidate.id for candidate in fused]
        return heads(self.store.superseding(query.filter.scope, ids, query.filter.as_of))

    def _choose_among(
        self,
        query: Query,
        rankings: Sequence[Ranking],
        fused: Sequence[Fused],
        served: Mapping[MemoryId, MemoryId],
    ) -> _Choice:
        standing = Standing(self.store, query.filter, rankings, fused, served)
        judged = self._judge(query, standing)
        chosen, dropped = self.selection(query, judged, standing.memories)
        return _Choice(judged, chosen, [*standing.dropped, *dropped], standing)

    def _judge(self, query: Query, standing: Standing) -> list[Judged]:
        """The candidates that may be served, adjusted, best first."""
        adjust, memories, now = self.adjustments, standing.memories, query.filter.now
        judged = []
        for id_, fused, placings in standing.kept:
            factors = adjust(query, memories[id_], now)
            score = fused * math.prod(factors.values())
            judged.append(Judged(id_, score, fused, placings, factors))
        judged.sort(key=lambda candidate: (-candidate.score, candidate.id))
        return judged

    def _hits(self, query: Query, choice: _Choice) -> list[Hit]:
        memories, replaced = choice.standing.memories, choice.standing.replaced
        chosen = present(choice.chosen, memories, query.sort_by)
        left = query.budget_bytes
        if left is not None:
            left -= sum(len(memories[candidate.id].content.encode()) for candidate in chosen)
        extra = attachments(self.store, query.filter, [c.id for c in chosen], left)
        hits = []
        for rank, candidate in enumerate(chosen, start=1):
            added = extra.get(candidate.id, NONE)
            hits.append(
                Hit(
                    memory=memories[candidate.id],
                    rank=rank,
                    score=candidate.score,
                    placings=candidate.placings,
                    factors=candidate.factors,
                    replaces=replaced.get(candidate.id, ()),
                    attached=added.attached,
                    pointers=added.pointers,
                )
            )
        return hits


class _Choice(NamedTuple):
    """What was chosen among the candidates, and why not the others."""

    judged: list[Judged]
    chosen: list[Judged]
    dropped: list[Dropped]
    standing: Standing


def contenders(fused: Sequence[Fused], limit: int, spread: float) -> int:
    """How many of the best fused candidates can be among the first `limit` after adjustment.

    `spread` is how much more one memory may be adjusted than another.
    """
    if len(fused) <= limit or spread == math.inf:
        return len(fused)
    least = fused[limit - 1].score / spread
    return bisect_right(fused, -least, lo=limit, key=lambda candidate: -candidate.score)


def _run(leg: Leg, query: Query) -> tuple[Ranking, LegReport]:
    """A leg's answer, or an empty one that says why: a failing leg costs its leg, no more."""
    began = perf_counter()
    try:
        return leg(query)
    except Exception as exc:
        known = isinstance(exc, RecollectError)
        logger.warning("leg failed", exc_info=not known, extra={"action": "leg", "leg": leg.name})
        error = (
            f"{exc.code}: {exc.message}" if isinstance(exc, RecollectError) else type(exc).__name__
        )
        elapsed = (perf_counter() - began) * 1e3
        report = LegReport(leg=leg.name, found=0, milliseconds=elapsed, error=error)
        return Ranking(leg=leg.name, candidates=()), report


class _Stopwatch:
    """Milliseconds by stage."""

    def __init__(self) -> None:
        self.stages: dict[str, float] = {}
        self._last = perf_counter()

    def lap(self, stage: str) -> None:
        now = perf_counter()
        self.stages[stage] = (now - self._last) * 1e3
        self._last = now

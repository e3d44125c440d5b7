"""The read path: parse, legs, fuse, hydrate, adjust, select, attach links. It never writes."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from time import perf_counter

from recollect.errors import RecollectError
from recollect.filters import admits, is_expired
from recollect.protocols import Fusion, Leg, Store
from recollect.recall.adjust import Adjustments
from recollect.recall.attach import NONE, attachments
from recollect.recall.parse import parse
from recollect.recall.select import Selection, present
from recollect.recall.supersession import heads
from recollect.trace import (
    Dropped,
    Expired,
    Gone,
    Judged,
    LegReport,
    Reason,
    Recollection,
    Superseded,
    Trace,
)
from recollect.types import Filter, Fused, Hit, MemoryId, Query, Ranking, State

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
        fused = self.fusion([ranking for ranking, _ in answers])
        watch.lap("fuse")
        standing = _Standing(self.store, query.filter, fused)
        watch.lap("hydrate")
        judged = self._judge(query, standing)
        chosen, dropped = self.selection(query, judged, standing.memories)
        watch.lap("select")
        hits = self._hits(query, present(chosen, standing.memories, query.sort_by), standing)
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
                judged=tuple(judged),
                dropped=(*standing.dropped, *dropped),
                milliseconds=watch.stages,
            ),
        )

    def _ask(self, query: Query) -> list[tuple[Ranking, LegReport]]:
        """Every leg's answer; side by side when there is more than one."""
        if len(self.legs) == 1:
            return [_run(self.legs[0], query)]
        return [*self.executor.map(lambda leg: _run(leg, query), self.legs)]

    def _judge(self, query: Query, standing: _Standing) -> list[Judged]:
        """The candidates that may be served, adjusted, best first."""
        judged = []
        for id_, fused, placings in standing.kept:
            factors = self.adjustments(query, standing.memories[id_], query.filter.now)
            judged.append(
                Judged(id_, fused * math.prod(factors.values()), fused, placings, factors)
            )
        judged.sort(key=lambda candidate: (-candidate.score, candidate.id))
        return judged

    def _hits(self, query: Query, chosen: Sequence[Judged], standing: _Standing) -> list[Hit]:
        memories = standing.memories
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
                    replaces=standing.replaced.get(candidate.id, ()),
                    attached=added.attached,
                    pointers=added.pointers,
                )
            )
        return hits


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


class _Standing:
    """Where the fused candidates stand: which may be served, in whose place, which are dropped."""

    def __init__(self, store: Store, filter: Filter, fused: Sequence[Fused]) -> None:
        self._filter = filter
        self.dropped: list[Dropped] = []
        self.replaced: dict[MemoryId, tuple[MemoryId, ...]] = {}
        ids = [candidate.id for candidate in fused]
        self.memories = store.get_many(filter.scope, ids, filter.as_of) if ids else {}
        served = self._served(store, ids)
        missing = [head for head in served.values() if head not in self.memories]
        if missing:
            self.memories |= store.get_many(filter.scope, missing, filter.as_of)
        self.kept = [*self._keep(fused, served)]

    def _served(self, store: Store, ids: list[MemoryId]) -> Mapping[MemoryId, MemoryId]:
        """The memory to serve for each superseded one, unless those themselves were asked for."""
        if not ids or State.SUPERSEDED in self._filter.states:
            return {}
        return heads(store.superseding(self._filter.scope, ids, self._filter.as_of))

    def _keep(self, fused: Sequence[Fused], served: Mapping[MemoryId, MemoryId]) -> list[Fused]:
        """Candidates under the id that is served, each once, at its best place, in order."""
        kept: dict[MemoryId, Fused] = {}
        for candidate in fused:
            head = served.get(candidate.id, candidate.id)
            reason = self._refusal(head)
            if head != candidate.id:
                self.dropped.append(
                    Dropped(candidate.id, Superseded(by=head, served=reason is None))
                )
                if reason is None:
                    self.replaced[head] = (*self.replaced.get(head, ()), candidate.id)
                    kept.setdefault(head, candidate._replace(id=head))
            elif reason is not None:
                self.dropped.append(Dropped(head, reason))
            elif head in kept:  # one of its predecessors ranked before it
                kept[head] = kept[head]._replace(placings=candidate.placings)
            else:
                kept[head] = candidate
        return [*kept.values()]

    def _refusal(self, id_: MemoryId) -> Reason | None:
        memory = self.memories.get(id_)
        if memory is None or memory.deleted_at is not None or not admits(self._filter, memory):
            return Gone()
        if is_expired(memory, self._filter.now) and State.EXPIRED not in self._filter.states:
            return Expired()
        return None


class _Stopwatch:
    """Milliseconds by stage."""

    def __init__(self) -> None:
        self.stages: dict[str, float] = {}
        self._last = perf_counter()

    def lap(self, stage: str) -> None:
        now = perf_counter()
        self.stages[stage] = (now - self._last) * 1e3
        self._last = now

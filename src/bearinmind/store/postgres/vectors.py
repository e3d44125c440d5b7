"""Search by meaning in a Postgres database: exactly, or by an HNSW index where that is faster.

Needs numpy, which is slow to import.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bearinmind.models import forks
from bearinmind.protocols import DenseAnswer, Nearby
from bearinmind.store import rows
from bearinmind.store.half_precision import (
    HALF,
    PLACES,
    Doubles,
    Halves,
    Singles,
    direction_of,
    directions_of,
    joined,
    unit,
)
from bearinmind.store.postgres.queries import REAL, Reals
from bearinmind.store.postgres.search_plan import (
    COSTS,
    Costs,
    SearchMethod,
    SearchPlan,
    SearchTask,
    VectorCounts,
    choose_plan,
)
from bearinmind.types import Filter, MemoryId, Scope, Space, UserId

if TYPE_CHECKING:
    from bearinmind.store.database import Row
    from bearinmind.store.postgres.pool import Pool

_HALFVEC_HEAD = 4  # bytes before the numbers: how many dimensions there are, and nothing


def to_halfvec(half: Halves) -> str:
    """A vector as a parameter: five digits say any number of half precision exactly."""
    return f"[{','.join(['%.5g' % number for number in half.tolist()])}]"  # noqa: UP031 (faster)


def from_halfvec(blobs: Sequence[bytes], dimensions: int) -> Halves:
    """The vectors that `halfvec_send` gave, a row for each."""
    shape = np.dtype([("head", f"V{_HALFVEC_HEAD}"), ("half", ">f2", (dimensions,))])
    vectors = np.frombuffer(joined(blobs, shape.itemsize), shape)
    return vectors["half"].astype(HALF)


def to_reals(values: Doubles) -> Reals:
    """Numbers as a parameter: the head of an array, then each behind its size."""
    head = np.array([1, 0, REAL, len(values), 1], ">i4")
    body = np.empty(len(values), [("size", ">i4"), ("value", ">f4")])
    body["size"], body["value"] = 4, values
    return Reals(head.tobytes() + body.tobytes())


SAMPLE_SIZE = 1_024  # vectors; their deviation is within 2 % of that of all
_SAMPLE_GROWTH = 0.02  # by such a share of the vectors, and another sample is taken
_HELD_BYTES = 64 * 2**20  # the least recently used owners make room
_FILTERS_REMEMBERED = 16
_ANY_TIME = datetime.max.replace(tzinfo=UTC)  # what a filter admits does not depend on its `now`

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Sample:
    """Some of an owner's vectors in a space.

    Chosen by a hash of their rows: every vector has the same chance, and a chosen one stays while
    others come.
    """

    vectors: int  #: how many the owner had when it was taken
    rows: NDArray[np.int64]
    current: Flags  #: which are of present versions
    directions: Singles
    _admitted: dict[Filter, Flags] = field(default_factory=dict)

    def cosines(self, query: Singles) -> Singles:
        """How near each of them is to a query."""
        # Not as a product: on a busy machine the BLAS takes many times as long to wake its threads.
        cosines: Singles = np.einsum("ij,j->i", self.directions, query)
        return cosines

    def spread(self, cosines: Singles) -> tuple[float, float]:
        """Mean and standard deviation of the cosines of present versions."""
        present = cosines[self.current]
        if not len(present):
            return 0.0, 0.0
        return float(present.mean(dtype=np.float64)), float(present.std(dtype=np.float64))

    def admitted(self, pool: Pool, filter: Filter) -> Flags:
        """Which of them a filter admits; the last few answers are remembered."""
        if filter.is_scope_alone:
            return self.current
        key = replace(filter, now=_ANY_TIME, states=frozenset())
        if key not in self._admitted:
            parameters = rows.from_filter(filter) | {"rows": self.rows.tolist()}
            admitted_rows = [row for [row] in pool.read("admitted_of", parameters)]
            while len(self._admitted) >= _FILTERS_REMEMBERED:
                self._admitted.pop(next(iter(self._admitted)), None)
            self._admitted[key] = np.isin(self.rows, admitted_rows)
        return self._admitted[key]

    def share(self, some: Flags) -> float:
        """Which share of all these are."""
        return float(some.mean()) if len(some) else 0.0

    def passed(self, cosines: Singles, admitted: Flags, vectors: int, limit: int) -> float:
        """How many of the owner's vectors are nearer than the admitted vector number `limit`."""
        each = vectors / max(1, len(self.rows))  # vectors that one of the sample stands for
        places = np.flatnonzero(admitted[np.argsort(-cosines, kind="stable")])
        wanted = math.ceil(limit / each)
        return float((places[wanted - 1] + 1) * each) if wanted <= len(places) else float(vectors)


class Samples:
    """Samples that are kept between searches, and taken again as their owners' vectors grow."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._held: dict[tuple[int, UserId], Sample] = {}
        self._lock = forks.Lock()

    def of(self, space: int, dimensions: int, owner: UserId, vectors: int) -> Sample:
        """A sample of the `vectors` vectors that an owner has in a space."""
        with self._lock:
            sample = self._held.pop((space, owner), None)
            if (
                sample is not None
                and abs(vectors - sample.vectors) <= _SAMPLE_GROWTH * sample.vectors
            ):
                self._held[space, owner] = sample  # the most recently used one
                return sample
        sample = self._take(space, dimensions, owner, vectors)
        with self._lock:
            self._held[space, owner] = sample
            held = self._held
            while len(held) > 1 and sum(x.directions.nbytes for x in held.values()) > _HELD_BYTES:
                del held[next(iter(held))]
        return sample

    def _take(self, space: int, dimensions: int, owner: UserId, vectors: int) -> Sample:
        parameters = {"owner": owner, "space": space, "size": SAMPLE_SIZE}
        records = self._pool.read("sample_vectors", parameters)
        halves = from_halfvec([vector for _, _, vector in records], dimensions)
        return Sample(
            vectors=vectors,
            rows=np.array([row for row, _, _ in records], np.int64),
            current=np.array([current for _, current, _ in records], np.bool_),
            directions=unit(halves.astype(np.float32)),
        )


_ROUNDING = 1e-6  # of a distance, beside what a query in half precision is off by
_MORE = 1.25  # times as many are taken from an index when there is a filter
_GIVEN_UP = 4  # times the expected vectors were passed: the index search is given up
_LEAST_GIVEN_UP = 20_000
_GROWN = 1.1  # times as many vectors as before: the plan is made again
_OWNERS_REMEMBERED = 4_096
_LONG = {"jit": "off"}  # to compile a search takes longer than nearly any search
#: The planner knows the space and the dimensions only in a plan of this query's own, and would
#: rather sort all vectors than trust an index.
_BY_INDEX = _LONG | {
    "plan_cache_mode": "force_custom_plan",
    "enable_sort": "off",
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.scan_mem_multiplier": "8",
}


@dataclass(frozen=True, slots=True)
class _VectorQuery:
    """A query over the vectors of one owner."""

    filter: Filter
    facts: VectorCounts
    direction: Doubles
    limit: int

    @property
    def parameters(self) -> dict[str, object]:
        return rows.from_filter(self.filter) | {
            "space": self.facts.space,
            "query": to_reals(self.direction),
            "limit": self.limit,
            "error": self._error,
        }

    @property
    def _error(self) -> float:
        """The error of two distances together: at most that of the query itself."""
        half = unit(self.direction.astype(HALF).astype(np.float64))
        return 2 * (float(np.linalg.norm(self.direction - half)) + _ROUNDING)

    @property
    def from_index(self) -> int:
        """How many are taken from an index: it misses more of what a filter leaves."""
        return self.limit if self.filter.is_scope_alone else round(_MORE * self.limit)

    @property
    def search(self) -> SearchTask:
        return SearchTask(
            facts=self.facts,
            dimensions=len(self.direction),
            limit=self.limit,
            filtered=not self.filter.is_scope_alone,
            pointless=not self.direction.any(),
        )


class VectorSearch:
    """Finds the nearest vectors of an owner by the method that is estimated to be fastest."""

    def __init__(self, pool: Pool, costs: Costs = COSTS) -> None:
        self._pool = pool
        self._costs = costs
        self._samples = Samples(pool)
        # Of owners with few vectors, by owner and space.
        self._few: dict[tuple[UserId, str], VectorCounts] = {}
        self._any_vectors = False  # were ever seen, so that there is a column to ask for

    def nearest(self, filter: Filter, space: Space, query: Singles, limit: int) -> DenseAnswer:
        direction = direction_of(query, space)
        if filter.reader is not None:
            return self._shared(filter, space, direction, limit)
        counts = self._few.pop((filter.scope.user, space.key), None)
        if counts is not None:
            answer = self._whole(
                _VectorQuery(filter, counts, direction, limit), str(SearchMethod.WHOLE), long=False
            )
            if 0 < answer.population <= _GROWN * counts.vectors:
                self._remember(filter.scope, space, counts)
                return answer
        counts = self._facts(filter.scope, space)
        if counts is None:
            return DenseAnswer([], 0, 0.0, 0.0, 0)
        request = _VectorQuery(filter, counts, direction, limit)
        if self._costs.is_short(counts.vectors, space.dimensions):
            self._remember(filter.scope, space, counts)
            return self._whole(request, str(SearchMethod.WHOLE), long=False)
        indexed = self._pool.read("vectors_indexed", {"space": counts.space})
        counts = counts._replace(indexed=indexed[0][0] if indexed else None)
        return self._sampled(replace(request, facts=counts))

    def _shared(self, filter: Filter, space: Space, direction: Doubles, limit: int) -> DenseAnswer:
        """Compare what is shared with the reader; mean and deviation come from that alone."""
        counts = self._facts(filter.scope, space)
        if counts is None:
            return DenseAnswer([], 0, 0.0, 0.0, 0)
        request = _VectorQuery(filter, counts, direction, limit)
        records = self._pool.read_with(_LONG, "nearest_shared", request.parameters)
        return _answer(records, request, str(SearchMethod.AMONG))

    def _remember(self, scope: Scope, space: Space, counts: VectorCounts) -> None:
        """Remember an owner with few vectors: comparing them all is always fastest."""
        self._few[scope.user, space.key] = counts
        while len(self._few) > _OWNERS_REMEMBERED:
            self._few.pop(next(iter(self._few)), None)

    def cosines(
        self, filter: Filter, space: Space, query: Singles, ids: Sequence[MemoryId]
    ) -> dict[MemoryId, float]:
        direction = direction_of(query, space)
        if not ids or not (self._any_vectors or self._facts(filter.scope, space)):
            return {}
        wanted = {"key": space.key, "ids": [*dict.fromkeys(ids)], "query": to_reals(direction)}
        records = self._pool.read("cosines_of", rows.from_filter(filter) | wanted)
        return dict(
            zip([id_ for id_, _ in records], _rounded([x for _, x in records]), strict=True)
        )

    def decode(self, vectors: Sequence[bytes], dimensions: int) -> Singles:
        return directions_of(from_halfvec(vectors, dimensions))

    def _facts(self, scope: Scope, space: Space) -> VectorCounts | None:
        """None when an owner has no vectors in a space."""
        known = self._pool.read("vector_facts", {"owner": scope.user, "key": space.key})
        counts = VectorCounts(*known[0]) if known else None
        if counts is None or not counts.vectors:
            return None
        self._any_vectors = True
        return counts

    def _whole(self, request: _VectorQuery, how: str, *, long: bool) -> DenseAnswer:
        """Compare all vectors of an owner; mean and deviation come from all of them."""
        alone = request.filter.is_scope_alone
        statement = "nearest_of_present" if alone else "nearest_of_admitted"
        if long:
            records = self._pool.read_with(_LONG, statement, request.parameters)
        else:
            records = self._pool.read(statement, request.parameters)
        return _answer(records, request, how)

    def _sampled(self, request: _VectorQuery) -> DenseAnswer:
        """Search by the fastest method; mean and deviation come from a sample."""
        owner, (space, vectors, _) = request.filter.scope.user, request.facts
        sample = self._samples.of(space, len(request.direction), owner, vectors)
        admitted = sample.admitted(self._pool, request.filter)
        cosines = sample.cosines(request.direction.astype(np.float32))
        searched = vectors * sample.share(admitted)
        passed = sample.passed(cosines, admitted, vectors, request.from_index)
        plan = choose_plan(self._costs, request.search, admitted=searched, passed=passed)
        if plan.way is SearchMethod.WHOLE:
            return self._whole(request, plan.how, long=True)
        records, counted, how = self._search(request, plan)
        mean, deviation = sample.spread(cosines)
        return DenseAnswer(
            nearest=_best(records, request),
            searched=round(searched) if counted is None else counted,
            mean=mean,
            deviation=deviation,
            population=round(vectors * sample.share(sample.current)),
            how=how,
        )

    def _search(self, request: _VectorQuery, plan: SearchPlan) -> tuple[list[Row], int | None, str]:
        """Rows that may be the best, how many are admitted if counted, and the method."""
        how = plan.how
        if plan.way is SearchMethod.INDEX:
            records = self._by_index(request, plan)
            if len(records) >= request.limit:
                return records, None, how
            how = f"{SearchMethod.AMONG}: the index gave {len(records):,}"
        among = self._pool.read_with(_LONG, "nearest_among", request.parameters)
        return among, among[0][0], how

    def _by_index(self, request: _VectorQuery, plan: SearchPlan) -> list[Row]:
        """The best that an index gives, in no order."""
        most = max(_LEAST_GIVEN_UP, round(_GIVEN_UP * plan.passed))
        settings = {"hnsw.ef_search": str(plan.ef), "hnsw.max_scan_tuples": str(most)}
        wanted = {
            "dimensions": len(request.direction),
            "half": to_halfvec(request.direction.astype(HALF)),
            "limit": request.from_index,
        }
        return self._pool.read_with(
            _BY_INDEX | settings, "nearest_by_index", request.parameters | wanted
        )


def _answer(records: Sequence[Row], request: _VectorQuery, how: str) -> DenseAnswer:
    """The answer from rows of the best; each begins with counts, mean and deviation."""
    searched, population, mean, deviation, *_ = records[0]
    nearest = _best(records, request)
    return DenseAnswer(nearest, searched, mean, deviation, population, how if population else "")


def _best(records: Sequence[Row], request: _VectorQuery) -> list[Nearby]:
    """The best of rows that end with an id and its cosine; a row without an id means no match."""
    known = [row for row in records if row[-2] is not None]
    if not known:
        return []
    *_, ids, cosines = zip(*known, strict=True)
    near = [*map(Nearby, ids, _rounded(cosines))]
    near.sort(key=itemgetter(0))
    near.sort(key=itemgetter(1), reverse=True)  # equal ones stay in the order of their ids
    return near[: request.limit]


def _rounded(cosines: Sequence[float]) -> list[float]:
    """Cosines rounded as in the other stores; one by one it takes ten times as long."""
    rounded: list[float] = np.round(np.array(cosines, np.float64), PLACES).tolist()
    return rounded

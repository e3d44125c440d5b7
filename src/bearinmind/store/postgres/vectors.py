"""Search by meaning in a Postgres database: exactly, or by an HNSW index where that is faster.

Needs numpy, which is slow to import.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from bearinmind.protocols import DenseAnswer, Nearby
from bearinmind.store import rows
from bearinmind.store.halves import (
    HALF,
    PLACES,
    Doubles,
    Singles,
    direction_of,
    directions_of,
    unit,
)
from bearinmind.store.postgres.costs import COSTS, Costs
from bearinmind.store.postgres.halfvec import reals, received, written
from bearinmind.store.postgres.samples import Samples
from bearinmind.store.postgres.ways import Choice, Facts, Search, Way, chosen
from bearinmind.types import Filter, MemoryId, Scope, Space, UserId

if TYPE_CHECKING:
    from bearinmind.store.database import Row
    from bearinmind.store.postgres.pool import Pool

_ROUNDING = 1e-6  # of a distance, beside what a query in half precision is off by
_MORE = 1.25  # so many times as many are taken from an index when there is a filter
_GIVEN_UP = 4  # an index search is, behind so many times as many vectors as it was to pass
_LEAST_GIVEN_UP = 20_000
_GROWN = 1.1  # times as many vectors as before, and it is asked anew how to search them
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
class _Asked:
    """What is asked, of whom."""

    filter: Filter
    facts: Facts
    direction: Doubles
    limit: int

    @property
    def parameters(self) -> dict[str, object]:
        return rows.from_filter(self.filter) | {
            "space": self.facts.space,
            "query": reals(self.direction),
            "limit": self.limit,
            "error": self._error,
        }

    @property
    def _error(self) -> float:
        """By how much two distances may be wrong together: no more than the query itself is."""
        half = unit(self.direction.astype(HALF).astype(np.float64))
        return 2 * (float(np.linalg.norm(self.direction - half)) + _ROUNDING)

    @property
    def from_index(self) -> int:
        """How many are taken from an index: it misses more of what a filter leaves."""
        return self.limit if self.filter.is_scope_alone else round(_MORE * self.limit)

    @property
    def search(self) -> Search:
        return Search(
            facts=self.facts,
            dimensions=len(self.direction),
            limit=self.limit,
            filtered=not self.filter.is_scope_alone,
            pointless=not self.direction.any(),
        )


class VectorSearch:
    """Finds the nearest vectors of an owner, each time by the way that is reckoned the fastest."""

    def __init__(self, pool: Pool, costs: Costs = COSTS) -> None:
        self._pool = pool
        self._costs = costs
        self._samples = Samples(pool)
        self._few: dict[tuple[UserId, str], Facts] = {}  # by owner and space, if they are few
        self._any_vectors = False  # were ever seen, so that there is a column to ask for

    def nearest(self, filter: Filter, space: Space, query: Singles, limit: int) -> DenseAnswer:
        """The admitted memories nearest to a query, by cosine."""
        direction = direction_of(query, space)
        if filter.reader is not None:
            return self._shared(filter, space, direction, limit)
        facts = self._few.pop((filter.scope.user, space.key), None)
        if facts is not None:
            answer = self._whole(
                _Asked(filter, facts, direction, limit), str(Way.WHOLE), long=False
            )
            if 0 < answer.population <= _GROWN * facts.vectors:
                self._remember(filter.scope, space, facts)
                return answer
        facts = self._facts(filter.scope, space)
        if facts is None:
            return DenseAnswer([], 0, 0.0, 0.0, 0)
        asked = _Asked(filter, facts, direction, limit)
        if self._costs.is_short(facts.vectors, space.dimensions):
            self._remember(filter.scope, space, facts)
            return self._whole(asked, str(Way.WHOLE), long=False)
        return self._sampled(replace(asked, facts=self._with_index(facts)))

    def _shared(self, filter: Filter, space: Space, direction: Doubles, limit: int) -> DenseAnswer:
        """Compare what is shared with the reader, and tell from nothing else how it lies."""
        facts = self._facts(filter.scope, space)
        if facts is None:
            return DenseAnswer([], 0, 0.0, 0.0, 0)
        asked = _Asked(filter, facts, direction, limit)
        found = self._pool.read_with(_LONG, "nearest_shared", asked.parameters)
        return _answer(found, asked, str(Way.AMONG))

    def _remember(self, scope: Scope, space: Space, facts: Facts) -> None:
        """Whose vectors are so few that nothing but to compare them all comes into question."""
        self._few[scope.user, space.key] = facts
        while len(self._few) > _OWNERS_REMEMBERED:
            self._few.pop(next(iter(self._few)), None)

    def cosines(
        self, filter: Filter, space: Space, query: Singles, ids: Sequence[MemoryId]
    ) -> dict[MemoryId, float]:
        """How near these memories are to a query, as far as they are admitted and embedded."""
        direction = direction_of(query, space)
        if not ids or not (self._any_vectors or self._facts(filter.scope, space)):
            return {}
        wanted = {"key": space.key, "ids": [*dict.fromkeys(ids)], "query": reals(direction)}
        found = self._pool.read("cosines_of", rows.from_filter(filter) | wanted)
        return dict(zip([id_ for id_, _ in found], _rounded([x for _, x in found]), strict=True))

    def present(
        self, scope: Scope, space: Space, ids: Sequence[MemoryId]
    ) -> dict[MemoryId, Singles]:
        """The vectors of the present versions of these memories, if the space is the active one."""
        asked = {"owner": scope.user, "key": space.key, "ids": [*dict.fromkeys(ids)]}
        found = self._pool.read("present_vectors", asked)
        halves = received([vector for _, vector in found], space.dimensions)
        return dict(zip((id_ for id_, _ in found), directions_of(halves), strict=True))

    def _facts(self, scope: Scope, space: Space) -> Facts | None:
        """None when an owner has no vectors in a space."""
        known = self._pool.read("vector_facts", {"owner": scope.user, "key": space.key})
        facts = Facts(*known[0]) if known else None
        if facts is None or not facts.vectors:
            return None
        self._any_vectors = True
        return facts

    def _with_index(self, facts: Facts) -> Facts:
        """The same, and how many vectors the index holds; asked only where one may be taken."""
        found = self._pool.read("vectors_indexed", {"space": facts.space})
        return facts._replace(indexed=found[0][0] if found else None)

    def _whole(self, asked: _Asked, how: str, *, long: bool) -> DenseAnswer:
        """Compare all vectors of an owner, and tell from all of them how they lie."""
        alone = asked.filter.is_scope_alone
        statement = "nearest_of_present" if alone else "nearest_of_admitted"
        if long:
            found = self._pool.read_with(_LONG, statement, asked.parameters)
        else:
            found = self._pool.read(statement, asked.parameters)
        return _answer(found, asked, how)

    def _sampled(self, asked: _Asked) -> DenseAnswer:
        """Search by the fastest way, and tell from a sample how all vectors of an owner lie."""
        owner, (space, vectors, _) = asked.filter.scope.user, asked.facts
        sample = self._samples.of(space, len(asked.direction), owner, vectors)
        admitted = sample.admitted(self._pool, asked.filter)
        cosines = sample.cosines(asked.direction.astype(np.float32))
        searched = vectors * sample.share(admitted)
        passed = sample.passed(cosines, admitted, vectors, asked.from_index)
        choice = chosen(self._costs, asked.search, admitted=searched, passed=passed)
        if choice.way is Way.WHOLE:
            return self._whole(asked, choice.how, long=True)
        found, counted, how = self._found(asked, choice)
        mean, deviation = sample.spread(cosines)
        return DenseAnswer(
            nearest=_best(found, asked),
            searched=round(searched) if counted is None else counted,
            mean=mean,
            deviation=deviation,
            population=round(vectors * sample.share(sample.current)),
            how=how,
        )

    def _found(self, asked: _Asked, choice: Choice) -> tuple[list[Row], int | None, str]:
        """What may be the best, how many are admitted if that was counted, and how it was found."""
        how = choice.how
        if choice.way is Way.INDEX:
            found = self._by_index(asked, choice)
            if len(found) >= asked.limit:
                return found, None, how
            how = f"{Way.AMONG}: the index gave {len(found):,}"
        among = self._pool.read_with(_LONG, "nearest_among", asked.parameters)
        return among, among[0][0], how

    def _by_index(self, asked: _Asked, choice: Choice) -> list[Row]:
        """The best that an index gives, in no order."""
        most = max(_LEAST_GIVEN_UP, round(_GIVEN_UP * choice.passed))
        settings = {"hnsw.ef_search": str(choice.ef), "hnsw.max_scan_tuples": str(most)}
        wanted = {
            "dimensions": len(asked.direction),
            "half": written(asked.direction.astype(HALF)),
            "limit": asked.from_index,
        }
        return self._pool.read_with(
            _BY_INDEX | settings, "nearest_by_index", asked.parameters | wanted
        )


def _answer(found: Sequence[Row], asked: _Asked, how: str) -> DenseAnswer:
    """From rows of the best, each behind what was searched and how all of it lies."""
    searched, population, mean, deviation, *_ = found[0]
    nearest = _best(found, asked)
    return DenseAnswer(nearest, searched, mean, deviation, population, how if population else "")


def _best(found: Sequence[Row], asked: _Asked) -> list[Nearby]:
    """The best of rows that end with an id and its cosine; without an id if nothing was found."""
    known = [row for row in found if row[-2] is not None]
    if not known:
        return []
    *_, ids, cosines = zip(*known, strict=True)
    near = [*map(Nearby, ids, _rounded(cosines))]
    near.sort(key=itemgetter(0))
    near.sort(key=itemgetter(1), reverse=True)  # equal ones stay in the order of their ids
    return near[: asked.limit]


def _rounded(cosines: Sequence[float]) -> list[float]:
    """As those of the other stores are; all at once, for one by one takes ten times as long."""
    rounded: list[float] = np.round(np.array(cosines, np.float64), PLACES).tolist()
    return rounded

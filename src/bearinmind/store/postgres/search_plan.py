"""Which method searches the vectors of an owner fastest, estimated from what each has to touch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

MOST_DIMENSIONS = 4_000  #: of a halfvec that can be indexed
_MOST_EF = 1_000  # as pgvector has it


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Costs in microseconds, as `benchmarks/postgres_vectors.py` measures them: docs/adr/0024.

    They decide by their ratios, so that a faster machine changes little.
    """

    vector: float = 0.5  #: to read a vector when all of an owner are read
    dimension: float = 0.0008  #: to compare one dimension of it
    memory: float = 0.4  #: to check a memory against a filter
    lookup: float = 2.5  #: to fetch the vector of one that it admits
    beginning: float = 500.0  #: of a search by an index
    visit: float = 15.0  #: to pass a vector on the way through an index
    visited_dimension: float = 0.0035  #: and to compare one dimension of it and of its neighbours
    short: float = 8_000.0  #: an exact search that takes no longer is always chosen
    #: Vectors of the owner that a search by an index may have to pass. Where it is more, a filter
    #: keeps out much or just what is near, and an index misses more than one of a hundred.
    astray: int = 2_000
    furthest: int = 20_000  #: that limit with the vectors of other owners counted
    least_ef: int = 400  #: with less, one of a hundred is missed among 100,000

    def whole(self, vectors: int, dimensions: int, *, filtered: bool) -> float:
        """The cost of comparing all vectors of an owner."""
        each = self.vector + self.dimension * dimensions + (self.memory if filtered else 0.0)
        return vectors * each

    def is_short(self, vectors: int, dimensions: int) -> bool:
        """Whether comparing all vectors of an owner is so fast that no other method can win."""
        return self.whole(vectors, dimensions, filtered=False) <= self.short

    def among(self, vectors: int, admitted: float) -> float:
        """The cost of finding what a filter admits, and comparing that alone."""
        return vectors * self.memory + admitted * self.lookup

    def index(self, passed: float, dimensions: int) -> float:
        """The cost of passing vectors of an index."""
        return self.beginning + passed * (self.visit + self.visited_dimension * dimensions)

    def ef(self, limit: int) -> int | None:
        """The `ef` of an index search; None when pgvector does not allow it."""
        ef = max(self.least_ef, 2 * limit)
        return ef if ef <= _MOST_EF else None

    def is_worth_an_index(self, most: int, vectors: int, dimensions: int) -> bool:
        """Whether an index makes the recalls of a space's largest owner faster."""
        if dimensions > MOST_DIMENSIONS or not most:
            return False
        passed = self.least_ef * vectors / most
        if passed > self.furthest or self.is_short(most, dimensions):
            return False
        return self.index(passed, dimensions) < self.whole(most, dimensions, filtered=False)


#: What ships.
COSTS = Costs()


class SearchMethod(StrEnum):
    """The methods of vector search."""

    WHOLE = "exact"  #: all of the owner's are compared
    AMONG = "exact over what the filter admits"
    INDEX = "HNSW"


class VectorCounts(NamedTuple):
    """What a database knows about an owner's vectors in a space without reading them."""

    space: int  #: its number
    vectors: int  #: of the owner, past versions counted
    indexed: int | None = None  #: vectors of all owners in the index; None when there is no index


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTask:
    """The properties of a search that decide the method."""

    facts: VectorCounts
    dimensions: int
    limit: int
    filtered: bool  #: whether the filter asks for more than a present version
    pointless: bool  #: the query is a zero vector


class SearchPlan(NamedTuple):
    """The chosen method, and its parameters."""

    way: SearchMethod
    how: str  #: for the trace
    ef: int = 0  #: how wide an index is searched
    passed: float = 0.0  #: the estimated number of vectors that the search passes


def choose_plan(costs: Costs, search: SearchTask, *, admitted: float, passed: float) -> SearchPlan:
    """The fastest method, when about so many vectors are admitted and passed."""
    vectors, indexed = search.facts.vectors, search.facts.indexed
    takes = {SearchMethod.WHOLE: costs.whole(vectors, search.dimensions, filtered=search.filtered)}
    if search.filtered:
        takes[SearchMethod.AMONG] = costs.among(vectors, admitted)
    ef = costs.ef(search.limit)
    # The vectors of other owners lie between those of this one.
    through = max(ef or 0.0, passed * max(1.0, (indexed or 0) / vectors))
    hindrance = _obstacle(costs, search, ef, passed, through)
    if not hindrance:
        takes[SearchMethod.INDEX] = costs.index(through, search.dimensions)
    method = min(takes, key=lambda each: takes[each])
    # Such as "HNSW with ef 400: about 9 ms, exact 97 ms".
    name = f"{method} with ef {ef}" if method is SearchMethod.INDEX else str(method)
    others = [f"{each} {_milliseconds(takes[each])}" for each in takes if each is not method]
    reasons = filter(None, [f"about {_milliseconds(takes[method])}", *others, hindrance])
    return SearchPlan(method, f"{name}: {', '.join(reasons)}", ef or 0, through)


def _obstacle(
    costs: Costs, search: SearchTask, ef: int | None, passed: float, through: float
) -> str:
    """Why the index cannot be used; empty when it can."""
    if search.dimensions > MOST_DIMENSIONS:
        return f"{search.dimensions:,} dimensions cannot be indexed"
    if search.facts.indexed is None:
        return "no index yet"
    if ef is None or search.pointless:
        return "too many are wanted for the index"
    if passed > costs.astray or through > costs.furthest:
        return f"the index would pass {through:,.0f}"
    return ""


def _milliseconds(microseconds: float) -> str:
    return f"{math.ceil(microseconds / 1e3):,} ms"

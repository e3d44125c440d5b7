"""What each way of searching an owner's vectors takes, reckoned from what it has to touch."""

from __future__ import annotations

from dataclasses import dataclass

MOST_DIMENSIONS = 4_000  #: of a halfvec that can be indexed
_MOST_EF = 1_000  # as pgvector has it


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Microseconds, as `benchmarks/postgres_vectors.py` measures them: docs/adr/0024.

    They decide by their ratios, so that a faster machine changes little.
    """

    vector: float = 0.5  #: to read a vector of an owner who is read from first to last
    dimension: float = 0.0008  #: to compare one dimension of it
    memory: float = 0.4  #: to ask a memory whether a filter admits it
    lookup: float = 2.5  #: to fetch the vector of one that it admits
    beginning: float = 500.0  #: of a search by an index
    visit: float = 15.0  #: to pass a vector on the way through an index
    visited_dimension: float = 0.0035  #: and to compare one dimension of it and of its neighbours
    short: float = 8_000.0  #: an exact search that takes no longer is not worth a thought
    #: Vectors of the owner that a search by an index may have to pass. Where it is more, a filter
    #: keeps out much or just what is near, and an index misses more than one of a hundred.
    astray: int = 2_000
    furthest: int = 20_000  #: the same with those of other owners, who are seldom in the way so
    least_ef: int = 400  #: with less, one of a hundred is missed among 100,000

    def whole(self, vectors: int, dimensions: int, *, filtered: bool) -> float:
        """To compare all vectors of an owner."""
        each = self.vector + self.dimension * dimensions + (self.memory if filtered else 0.0)
        return vectors * each

    def is_short(self, vectors: int, dimensions: int) -> bool:
        """Whether all vectors of an owner are compared before another way would have begun."""
        return self.whole(vectors, dimensions, filtered=False) <= self.short

    def among(self, vectors: int, admitted: float) -> float:
        """To find what a filter admits, and compare that alone."""
        return vectors * self.memory + admitted * self.lookup

    def index(self, passed: float, dimensions: int) -> float:
        """To pass so many vectors of an index."""
        return self.beginning + passed * (self.visit + self.visited_dimension * dimensions)

    def ef(self, limit: int) -> int | None:
        """How wide an index is searched for so many; None when it cannot be searched that wide."""
        ef = max(self.least_ef, 2 * limit)
        return ef if ef <= _MOST_EF else None

    def is_worth_an_index(self, most: int, vectors: int, dimensions: int) -> bool:
        """Whether the owner of most of a space's vectors would be answered faster by an index."""
        if dimensions > MOST_DIMENSIONS or not most:
            return False
        passed = self.least_ef * vectors / most
        if passed > self.furthest or self.is_short(most, dimensions):
            return False
        return self.index(passed, dimensions) < self.whole(most, dimensions, filtered=False)


#: What ships.
COSTS = Costs()

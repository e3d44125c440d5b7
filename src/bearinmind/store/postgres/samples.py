"""Fair samples of an owner's vectors: how far away they lie, and what a filter admits of them.

Needs numpy, which is slow to import.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bearinmind.store import rows
from bearinmind.store.halves import Singles, unit
from bearinmind.store.postgres.halfvec import received
from bearinmind.types import Filter, UserId

if TYPE_CHECKING:
    from bearinmind.store.postgres.pool import Pool

SIZE = 1_024  # the deviation of so many is within 2 % of that of all
_GROWN = 0.02  # by such a share of the vectors, and another sample is taken
_HELD_BYTES = 64 * 2**20  # the owners not asked for the longest make room
_FILTERS_REMEMBERED = 16
_ANY_TIME = datetime.max.replace(tzinfo=UTC)  # what a filter admits does not depend on its `now`

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Sample:
    """Some of an owner's vectors in a space.

    By a hash of their rows: every one has the same chance, and one that was chosen stays so while
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
        asked = replace(filter, now=_ANY_TIME, states=frozenset())
        if asked not in self._admitted:
            parameters = rows.from_filter(filter) | {"rows": self.rows.tolist()}
            found = [row for [row] in pool.read("admitted_of", parameters)]
            while len(self._admitted) >= _FILTERS_REMEMBERED:
                self._admitted.pop(next(iter(self._admitted)), None)
            self._admitted[asked] = np.isin(self.rows, found)
        return self._admitted[asked]

    def share(self, some: Flags) -> float:
        """Which share of all these are."""
        return float(some.mean()) if len(some) else 0.0

    def passed(self, cosines: Singles, admitted: Flags, vectors: int, limit: int) -> float:
        """How many of the owner's vectors are nearer than the last of so many admitted ones."""
        each = vectors / max(1, len(self.rows))  # so many does one of the sample stand for
        places = np.flatnonzero(admitted[np.argsort(-cosines, kind="stable")])
        wanted = math.ceil(limit / each)
        return float((places[wanted - 1] + 1) * each) if wanted <= len(places) else float(vectors)


class Samples:
    """The samples that were asked for, taken anew as their owners' vectors grow in number."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._held: dict[tuple[int, UserId], Sample] = {}
        self._lock = threading.Lock()

    def of(self, space: int, dimensions: int, owner: UserId, vectors: int) -> Sample:
        """A sample of an owner who has so many vectors in a space."""
        with self._lock:
            sample = self._held.pop((space, owner), None)
            if sample is not None and abs(vectors - sample.vectors) <= _GROWN * sample.vectors:
                self._held[space, owner] = sample  # as the last one that was asked for
                return sample
        sample = self._take(space, dimensions, owner, vectors)
        with self._lock:
            self._held[space, owner] = sample
            while len(self._held) > 1 and self._bytes() > _HELD_BYTES:
                del self._held[next(iter(self._held))]
        return sample

    def _bytes(self) -> int:
        return sum(sample.directions.nbytes for sample in self._held.values())

    def _take(self, space: int, dimensions: int, owner: UserId, vectors: int) -> Sample:
        asked = {"owner": owner, "space": space, "size": SIZE}
        found = self._pool.read("sample_vectors", asked)
        halves = received([vector for _, _, vector in found], dimensions)
        return Sample(
            vectors=vectors,
            rows=np.array([row for row, _, _ in found], np.int64),
            current=np.array([current for _, current, _ in found], np.bool_),
            directions=unit(halves.astype(np.float32)),
        )

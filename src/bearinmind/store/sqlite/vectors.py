"""Search by meaning in a SQLite file, over codes in memory that follow the file.

Needs numpy, which is slow to import.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from bearinmind.protocols import DenseAnswer, Nearby
from bearinmind.store import rows
from bearinmind.store.database import Database
from bearinmind.store.halves import (
    Doubles,
    Singles,
    direction_of,
    directions_of,
    exact_cosines,
    halves_in,
)
from bearinmind.store.sqlite.matrix import (
    BLOCK,
    Matrix,
    Positions,
    View,
    best,
    spread,
)
from bearinmind.types import Filter, MemoryId, Scope, Space, UserId

_HELD_BYTES = 512 * 2**20  # of vectors in memory; the owners not asked for the longest make room
_FILTERS_REMEMBERED = 16
_ANY_TIME = datetime.max.replace(tzinfo=UTC)  # what a filter admits does not depend on its `now`


class VectorSearch:
    """Finds the nearest vectors of an owner, and checks them against the file."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._held = _HeldVectors(database)
        self._remembered: dict[tuple[int, tuple[int, int], Filter], Positions] = {}
        self._lock = threading.Lock()

    def nearest(self, filter: Filter, space: Space, query: Singles, limit: int) -> DenseAnswer:
        """The admitted memories nearest to a query, by cosine."""
        direction = direction_of(query, space)
        number = self._number(space)
        if number is None:
            return DenseAnswer([], 0, 0.0, 0.0, 0)
        view = self._held.view(number, space.dimensions, filter.scope.user)
        cosines = view.cosines(direction.astype(np.float32))
        if filter.reader is None:
            mean, deviation = spread(cosines, view.departed)
            population = len(cosines) - len(view.departed)
            searched = self._leave_admitted(filter, number, view, cosines)
        else:  # what is not shared with a reader must not show in what all look like
            population = searched = self._leave_admitted(filter, number, view, cosines)
            mean, deviation = spread(cosines, np.flatnonzero(np.isneginf(cosines)))
        nearest = self._best(filter, view, cosines, direction, limit)
        how = "exact" if population else ""
        return DenseAnswer(nearest, searched, mean, deviation, population, how)

    def cosines(
        self, filter: Filter, space: Space, query: Singles, ids: Sequence[MemoryId]
    ) -> dict[MemoryId, float]:
        """How near these memories are to a query, as far as they are admitted and embedded."""
        direction = direction_of(query, space)
        wanted = {"space": self._number(space), "ids": [*dict.fromkeys(ids)]}
        found = self._database.read("vectors_of", rows.from_filter(filter) | wanted)
        if not found:
            return {}
        near, vectors = zip(*found, strict=True)
        return dict(zip(near, exact_cosines(vectors, direction), strict=True))

    def present(
        self, scope: Scope, space: Space, ids: Sequence[MemoryId]
    ) -> dict[MemoryId, Singles]:
        """The vectors of the present versions of these memories, if the space is the active one."""
        asked = {"owner": scope.user, "key": space.key, "ids": [*dict.fromkeys(ids)]}
        found = self._database.read("present_vectors", asked)
        halves = halves_in([vector for _, vector in found], space.dimensions)
        return dict(zip((id_ for id_, _ in found), directions_of(halves), strict=True))

    def _number(self, space: Space) -> int | None:
        """Under which number the file has a space."""
        known = self._database.read("space_number", {"key": space.key})
        return known[0][0] if known else None

    def _leave_admitted(self, filter: Filter, space: int, view: View, cosines: Singles) -> int:
        """Put all that the filter does not admit out of reach; how many it admits."""
        if filter.is_scope_alone:
            cosines[view.departed] = -float("inf")
            return len(cosines) - len(view.departed)
        admitted = self._admitted(filter, space, view)
        kept = cosines[admitted]
        cosines.fill(-float("inf"))
        cosines[admitted] = kept
        return len(admitted)

    def _admitted(self, filter: Filter, space: int, view: View) -> Positions:
        """The positions of the vectors that a filter admits.

        The last few answers are remembered: versions do not change, so as long as no vector comes
        or goes, neither do they. Not those for a reader: a share may end at any time.
        """
        if filter.reader is not None:
            return self._find_admitted(filter, space, view)
        asked = replace(filter, now=_ANY_TIME, states=frozenset())
        key = (space, view.state, asked)
        admitted = self._remembered.get(key)
        if admitted is None:
            admitted = self._find_admitted(filter, space, view)
            with self._lock:
                self._remembered[key] = admitted
                while len(self._remembered) > _FILTERS_REMEMBERED:
                    del self._remembered[next(iter(self._remembered))]
        return admitted

    def _find_admitted(self, filter: Filter, space: int, view: View) -> Positions:
        parameters = rows.from_filter(filter) | {"space": space}
        found = self._database.read("admitted_vectors", parameters)
        return view.find([seq for [seq] in found])

    def _best(
        self, filter: Filter, view: View, cosines: Singles, query: Doubles, limit: int
    ) -> list[Nearby]:
        """The best of those in reach, as far as the file still has them, scored exactly."""
        wanted = max(1, limit)
        while True:
            positions = best(cosines, wanted, view.error)
            found = self._present(filter, view.seqs[positions].tolist())
            gone = len(positions) - len(found)
            if gone <= wanted - limit or wanted >= len(cosines):
                break
            wanted += gone
        if not found:
            return []
        scores = exact_cosines([vector for _, vector in found], query)
        scored = [Nearby(id_, score) for (id_, _), score in zip(found, scores, strict=True)]
        scored.sort(key=lambda near: (-near.cosine, near.id))
        return scored[:limit]

    def _present(self, filter: Filter, seqs: list[int]) -> list[tuple[MemoryId, bytes]]:
        """Those of these vectors that are present at the filter's moment, with their memories."""
        return self._database.read("vectors_present", rows.from_place(filter) | {"seqs": seqs})


class _HeldVectors:
    """The vectors that were asked for, by space and owner, kept up with the file.

    Whatever any process writes is read once: a query asks only for what came or went since.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._matrices: dict[tuple[int, UserId], Matrix] = {}
        self._lock = threading.Lock()

    def view(self, space: int, dimensions: int, owner: UserId) -> View:
        """The vectors of an owner in a space, as they are in the file now."""
        matrix = self._matrix(space, dimensions, owner)
        with matrix.lock:
            self._follow(matrix, {"space": space, "owner": owner})
            return matrix.view()

    def _matrix(self, space: int, dimensions: int, owner: UserId) -> Matrix:
        with self._lock:
            matrix = self._matrices.pop((space, owner), None) or Matrix(dimensions)
            self._matrices[space, owner] = matrix  # as the last one that was asked for
            while len(self._matrices) > 1 and self._bytes() > _HELD_BYTES:
                del self._matrices[next(iter(self._matrices))]
        return matrix

    def _bytes(self) -> int:
        return sum(matrix.size for matrix in self._matrices.values())

    def _follow(self, matrix: Matrix, place: dict[str, object]) -> None:
        """Read what came and went. Departures first: what they name has then arrived already."""
        gone = self._database.read("departed", place | {"after": matrix.last_departure})
        while True:
            since = {"after": matrix.last_seq, "limit": BLOCK}
            arrivals = self._database.read("arrivals", place | since)
            if arrivals:
                matrix.extend(arrivals)
            if len(arrivals) < BLOCK:
                break
        if gone:
            matrix.depart(gone)

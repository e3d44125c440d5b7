"""Search by meaning in a SQLite file, over codes in memory that follow the file.

A vector is searched by its code: a step, and for each dimension a whole number of steps. That takes
a quarter of the memory of single precision, and reading less is faster, too. A code gives a cosine
to within `_ERROR` of its steps, so every vector that may be among the best is scored again exactly.

Needs numpy, which is slow to import.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from operator import neg
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bearinmind.models import forks
from bearinmind.protocols import DenseAnswer, Nearby
from bearinmind.store import rows
from bearinmind.store.database import Database
from bearinmind.store.half_precision import (
    HALF,
    Doubles,
    Halves,
    Singles,
    direction_of,
    directions_of,
    exact_cosines,
    halves_in,
    halves_of,
    joined,
    unit,
)
from bearinmind.types import Filter, MemoryId, Space, UserId

BLOCK = 4_096  # vectors that are allocated and read at once
#: Numbers that are multiplied at once: they stay in the processor's cache, and are too few for the
#: BLAS to wake its threads, which on a busy machine cost many times what they save.
_AT_ONCE = 98_304
#: Rounding errors are spread evenly over a step, so that the cosine of a vector is off by more than
#: two steps with a probability of 2 exp(-24).
_ERROR = 2.0
_MOST_STEPS = 127

Codes = NDArray[np.int8]
Positions = NDArray[np.int64]


def encode(vectors: Singles, count: int, dimensions: int) -> tuple[list[bytes], list[bytes]]:
    """The codes and the exact values of vectors, as they are kept."""
    halves = halves_of(vectors, count, dimensions)
    return [code.tobytes() for code in _codes(halves)], [half.tobytes() for half in halves]


def code_of(vector: bytes) -> bytes:
    """The code of a vector that is kept already, of its exact values."""
    [code] = _codes(np.frombuffer(vector, HALF)[np.newaxis])
    return bytes(code.tobytes())


def _codes(halves: Halves) -> NDArray[np.void]:
    exact = unit(halves.astype(np.float32))
    steps = np.abs(exact).max(axis=1, keepdims=True) / _MOST_STEPS
    codes = np.empty(len(exact), _code_type(exact.shape[1]))
    codes["step"] = steps[:, 0]
    codes["code"] = np.rint(np.divide(exact, steps, out=np.zeros_like(exact), where=steps > 0))
    return codes


def _code_type(dimensions: int) -> np.dtype[np.void]:
    return np.dtype([("step", "<f4"), ("code", "i1", (dimensions,))])


class View(NamedTuple):
    """The vectors that were there at a moment; what arrives later does not change it."""

    blocks: tuple[Codes, ...]
    steps: Singles
    seqs: Positions  #: ascending; a vector's position is its place in here
    departed: Positions  #: positions of vectors that are of no present version
    state: tuple[int, int]  #: equal for equal views

    def cosines(self, query: Singles) -> Singles:
        """How near each vector is, to within its one of `errors`."""
        cosines = np.zeros(len(self.seqs), np.float32)  # BLAS may multiply what is there by nothing
        for number, block in enumerate(self.blocks):
            _multiply(block, query, cosines[number * BLOCK : (number + 1) * BLOCK])
        np.multiply(cosines, self.steps, out=cosines)
        return cosines

    @property
    def errors(self) -> Singles:
        """By how much each cosine may be off."""
        return self.steps * np.float32(_ERROR)

    def find(self, seqs: Sequence[int]) -> Positions:
        """The positions of the vectors among these that are in the view, in ascending order."""
        wanted = np.sort(np.array(seqs, np.int64))
        places = np.searchsorted(self.seqs, wanted)
        inside = places < len(self.seqs)
        places, wanted = places[inside], wanted[inside]
        positions: Positions = places[self.seqs[places] == wanted]
        return positions


def _multiply(block: Codes, query: Singles, out: Singles) -> None:
    """The products of as many codes of a block as there is room for."""
    rows = max(1, _AT_ONCE // len(query))
    room = np.empty((rows, len(query)), np.float32)
    for start in range(0, len(out), rows):
        part = out[start : start + rows]
        some = room[: len(part)]
        np.copyto(some, block[start : start + len(part)])
        np.dot(some, query, out=part)


def spread(cosines: Singles, departed: Positions) -> tuple[float, float]:
    """Mean and standard deviation of the cosines of present versions."""
    present = np.delete(cosines, departed) if len(departed) else cosines
    if not len(present):
        return 0.0, 0.0
    return float(present.mean(dtype=np.float64)), float(present.std(dtype=np.float64))


def best(cosines: Singles, wanted: int, errors: Singles) -> Positions:
    """The positions of all that may be among the best `wanted`; minus infinity never is."""
    if wanted < len(cosines):
        place = len(cosines) - wanted
        least = np.partition(cosines - errors, place)[place]
        if np.isfinite(least):
            return np.flatnonzero(cosines + errors >= least)
    return np.flatnonzero(np.isfinite(cosines))


class Matrix:
    """Vectors that grow in number. Extended by one thread at a time, viewed by any."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self.lock = forks.Lock()  #: held while it is extended
        self.last_seq = 0
        self.last_departure = 0
        self._type = _code_type(dimensions)
        self._blocks: list[Codes] = []
        self._steps: Singles = np.empty(BLOCK, np.float32)
        self._seqs: Positions = np.empty(BLOCK, np.int64)
        self._departed: Positions = np.empty(0, np.int64)
        self._count = 0

    @property
    def size(self) -> int:
        """Bytes that the vectors take."""
        return self._count * self._type.itemsize

    def view(self) -> View:
        steps, seqs = self._steps[: self._count], self._seqs[: self._count]
        state = (self.last_seq, self.last_departure)
        return View((*self._blocks,), steps, seqs, self._departed, state)

    def extend(self, arrivals: Sequence[tuple[int, bytes]]) -> None:
        """Append vectors. Only places behind every view's end are written to."""
        seqs, blobs = zip(*arrivals, strict=True)
        arrived = np.frombuffer(joined(blobs, self._type.itemsize), self._type)
        self._make_room(len(seqs))
        self._seqs[self._count : self._count + len(seqs)] = seqs
        self._steps[self._count : self._count + len(seqs)] = arrived["step"]
        done = 0
        while done < len(arrived):
            number, at = divmod(self._count + done, BLOCK)
            some = arrived[done : done + BLOCK - at]
            self._blocks[number][at : at + len(some)] = some["code"]
            done += len(some)
        self._count += len(seqs)
        self.last_seq = seqs[-1]

    def depart(self, departures: Sequence[tuple[int, int]]) -> None:
        """Note which vectors are of no present version any more."""
        gone = self.view().find([seq for _, seq in departures])
        self._departed = np.union1d(self._departed, gone)
        self.last_departure = departures[-1][0]

    def _make_room(self, more: int) -> None:
        needed = self._count + more
        while len(self._blocks) * BLOCK < needed:
            self._blocks.append(np.empty((BLOCK, self.dimensions), np.int8))
        if needed > len(self._seqs):
            self._steps = np.concatenate([self._steps, np.empty(needed, np.float32)])
            self._seqs = np.concatenate([self._seqs, np.empty(needed, np.int64)])


_HELD_BYTES = 512 * 2**20  # of vectors in memory; the least recently used owners make room
_FILTERS_REMEMBERED = 16
_ANY_TIME = datetime.max.replace(tzinfo=UTC)  # what a filter admits does not depend on its `now`


class VectorSearch:
    """Finds the nearest vectors of an owner, and checks them against the file."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._held = _HeldVectors(database)
        self._remembered: dict[tuple[int, tuple[int, int], Filter], Positions] = {}
        self._lock = forks.Lock()

    def nearest(self, filter: Filter, space: Space, query: Singles, limit: int) -> DenseAnswer:
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
        else:  # what is not shared must not influence a reader's mean and deviation
            population = searched = self._leave_admitted(filter, number, view, cosines)
            mean, deviation = spread(cosines, np.flatnonzero(np.isneginf(cosines)))
        nearest = self._best(filter, view, cosines, direction, limit)
        how = "exact" if population else ""
        return DenseAnswer(nearest, searched, mean, deviation, population, how)

    def cosines(
        self, filter: Filter, space: Space, query: Singles, ids: Sequence[MemoryId]
    ) -> dict[MemoryId, float]:
        direction = direction_of(query, space)
        wanted = {"space": self._number(space), "ids": [*dict.fromkeys(ids)]}
        records = self._database.read("vectors_of", rows.from_filter(filter) | wanted)
        if not records:
            return {}
        near, vectors = zip(*records, strict=True)
        return dict(zip(near, exact_cosines(vectors, direction), strict=True))

    def decode(self, vectors: Sequence[bytes], dimensions: int) -> Singles:
        return directions_of(halves_in(vectors, dimensions))

    def _number(self, space: Space) -> int | None:
        """The number of a space in the file."""
        known = self._database.read("space_number", {"key": space.key})
        return known[0][0] if known else None

    def _leave_admitted(self, filter: Filter, space: int, view: View, cosines: Singles) -> int:
        """Set the cosines of what is not admitted to minus infinity; how many are admitted."""
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
        timeless = replace(filter, now=_ANY_TIME, states=frozenset())
        key = (space, view.state, timeless)
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
        records = self._database.read("admitted_vectors", parameters)
        return view.find([seq for [seq] in records])

    def _best(
        self, filter: Filter, view: View, cosines: Singles, query: Doubles, limit: int
    ) -> list[Nearby]:
        """The best vectors that the file still has, scored exactly."""
        wanted = max(1, limit)
        while True:
            positions = best(cosines, wanted, view.errors)
            place = rows.from_place(filter) | {"seqs": view.seqs[positions].tolist()}
            present: list[tuple[MemoryId, bytes]] = self._database.read("vectors_present", place)
            gone = len(positions) - len(present)
            if gone <= wanted - limit or wanted >= len(cosines):
                break
            wanted += gone
        if not present:
            return []
        ids, vectors = zip(*present, strict=True)
        nearest_first = sorted(zip(map(neg, exact_cosines(vectors, query)), ids, strict=True))
        return [Nearby(id_, -negative) for negative, id_ in nearest_first[:limit]]


class _HeldVectors:
    """The vectors in memory, by space and owner, kept up with the file.

    What any process writes is read once: a query reads only what came or went since.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._matrices: dict[tuple[int, UserId], Matrix] = {}
        self._lock = forks.Lock()

    def view(self, space: int, dimensions: int, owner: UserId) -> View:
        """The vectors of an owner in a space, as they are in the file now."""
        matrix = self._matrix(space, dimensions, owner)
        with matrix.lock:
            self._follow(matrix, {"space": space, "owner": owner})
            return matrix.view()

    def _matrix(self, space: int, dimensions: int, owner: UserId) -> Matrix:
        with self._lock:
            matrix = self._matrices.pop((space, owner), None) or Matrix(dimensions)
            self._matrices[space, owner] = matrix  # the most recently used one
            held = self._matrices
            while len(held) > 1 and sum(each.size for each in held.values()) > _HELD_BYTES:
                del held[next(iter(held))]
        return matrix

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

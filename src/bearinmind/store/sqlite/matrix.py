"""Vectors in memory, a byte for each dimension. Needs numpy, which is slow to import.

A vector is searched by its code: a step, and for each dimension a whole number of steps. That takes
a quarter of the memory of single precision, and reading less is faster, too. What a code says of a
cosine is known to within `_ERROR` steps, so whoever may be among the best is scored again exactly.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bearinmind.store.halves import HALF, Halves, Singles, halves_of, joined, unit

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


class _Block(NamedTuple):
    """Room for so many codes."""

    steps: Singles
    codes: Codes


class View(NamedTuple):
    """The vectors that were there at a moment; what arrives later does not change it."""

    blocks: tuple[_Block, ...]
    seqs: Positions  #: ascending; a vector's position is its place in here
    departed: Positions  #: positions of vectors that are of no present version
    coarsest: float  #: the greatest step
    state: tuple[int, int]  #: equal for views of the same vectors, the same of them departed

    def cosines(self, query: Singles) -> Singles:
        """How near each vector is, to within `error`."""
        cosines = np.empty(len(self.seqs), np.float32)
        for number, block in enumerate(self.blocks):
            _multiply(block, query, cosines[number * BLOCK : (number + 1) * BLOCK])
        return cosines

    @property
    def error(self) -> float:
        """By how much a cosine may be off."""
        return _ERROR * self.coarsest

    def find(self, seqs: Sequence[int]) -> Positions:
        """The positions of those of these vectors that are here, in ascending order."""
        wanted = np.sort(np.array(seqs, np.int64))
        found = np.searchsorted(self.seqs, wanted)
        inside = found < len(self.seqs)
        found, wanted = found[inside], wanted[inside]
        positions: Positions = found[self.seqs[found] == wanted]
        return positions


def _multiply(block: _Block, query: Singles, out: Singles) -> None:
    """The products of as many codes of a block as there is room for."""
    rows = max(1, _AT_ONCE // len(query))
    room = np.empty((rows, len(query)), np.float32)
    for start in range(0, len(out), rows):
        part = out[start : start + rows]
        some = room[: len(part)]
        np.copyto(some, block.codes[start : start + len(part)])
        np.dot(some, query, out=part)
    np.multiply(out, block.steps[: len(out)], out=out)


def spread(cosines: Singles, departed: Positions) -> tuple[float, float]:
    """Mean and standard deviation of the cosines of present versions."""
    present = np.delete(cosines, departed) if len(departed) else cosines
    if not len(present):
        return 0.0, 0.0
    return float(present.mean(dtype=np.float64)), float(present.std(dtype=np.float64))


def best(cosines: Singles, wanted: int, error: float) -> Positions:
    """The positions of all that may be among so many best; minus infinity never is."""
    if wanted < len(cosines):
        place = len(cosines) - wanted
        least = np.partition(cosines, place)[place]
        if np.isfinite(least):
            return np.flatnonzero(cosines >= least - 2 * error)
    return np.flatnonzero(np.isfinite(cosines))


class Matrix:
    """Vectors that grow in number. Extended by one thread at a time, viewed by any."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self.lock = threading.Lock()  #: held by whoever extends it
        self.last_seq = 0
        self.last_departure = 0
        self._type = _code_type(dimensions)
        self._blocks: list[_Block] = []
        self._seqs: Positions = np.empty(BLOCK, np.int64)
        self._departed: Positions = np.empty(0, np.int64)
        self._count = 0
        self._coarsest = 0.0

    @property
    def size(self) -> int:
        """Bytes that the vectors take."""
        return self._count * self._type.itemsize

    def view(self) -> View:
        """The vectors as they are now."""
        seqs = self._seqs[: self._count]
        state = (self.last_seq, self.last_departure)
        return View((*self._blocks,), seqs, self._departed, self._coarsest, state)

    def extend(self, arrivals: Sequence[tuple[int, bytes]]) -> None:
        """Append vectors. Only places behind every view's end are written to."""
        seqs, blobs = zip(*arrivals, strict=True)
        arrived = np.frombuffer(joined(blobs, self._type.itemsize), self._type)
        self._make_room(len(seqs))
        self._seqs[self._count : self._count + len(seqs)] = seqs
        done = 0
        while done < len(arrived):
            number, at = divmod(self._count + done, BLOCK)
            some = arrived[done : done + BLOCK - at]
            self._blocks[number].steps[at : at + len(some)] = some["step"]
            self._blocks[number].codes[at : at + len(some)] = some["code"]
            done += len(some)
        self._count += len(seqs)
        self._coarsest = max(self._coarsest, float(arrived["step"].max()))
        self.last_seq = seqs[-1]

    def depart(self, departures: Sequence[tuple[int, int]]) -> None:
        """Note which vectors are of no present version any more."""
        gone = self.view().find([seq for _, seq in departures])
        self._departed = np.union1d(self._departed, gone)
        self.last_departure = departures[-1][0]

    def _make_room(self, more: int) -> None:
        needed = self._count + more
        while len(self._blocks) * BLOCK < needed:
            steps = np.empty(BLOCK, np.float32)
            self._blocks.append(_Block(steps, np.empty((BLOCK, self.dimensions), np.int8)))
        if needed > len(self._seqs):
            self._seqs = np.concatenate([self._seqs, np.empty(needed, np.int64)])

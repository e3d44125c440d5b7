"""Is the difference real? Paired bootstrap, permutation test and Holm's correction, all seeded.

Queries are the units that are drawn: two runs answered the same ones, so their differences are
resampled as pairs. Few queries cannot tell anything, and are refused rather than guessed at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 10_000
SEED = 20_260_101
LEVEL = 0.95  #: of every interval
ALPHA = 0.05  #: the chance of any false alarm among all the comparisons made together
MINIMUM_QUERIES = 30
_CHUNK = 500  # resamples at a time: 500 of 6,000 queries are 24 MB

Floats = NDArray[np.float64]


class Verdict(StrEnum):
    """What a comparison may claim."""

    BETTER = "better"
    WORSE = "worse"
    CANNOT_TELL = "cannot tell"
    TOO_FEW = "too few queries"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How two runs differ in one metric over the same queries."""

    queries: int
    before: float
    after: float
    low: float  #: of the interval around after - before
    high: float
    p: float  #: of the permutation test, two-sided
    wins: int  #: queries on which the second run is ahead
    losses: int

    @property
    def mean(self) -> float:
        """How much the second run is ahead."""
        return self.after - self.before


def interval(values: Sequence[float], *, seed: int = SEED) -> tuple[float, float]:
    """The bootstrap interval of a mean."""
    return intervals({"": values}, seed=seed)[""] if values else (0.0, 0.0)


def intervals(
    columns: Mapping[str, Sequence[float]], *, seed: int = SEED
) -> dict[str, tuple[float, float]]:
    """The bootstrap interval of the mean of each column; all columns share the resamples."""
    table = np.array([*columns.values()], dtype=np.float64)
    if not table.size:
        return {}
    means = np.concatenate([counts @ table.T for counts in _resamples(table.shape[1], seed)])
    edges = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return {
        name: (float(low), float(high)) for name, low, high in zip(columns, *edges, strict=True)
    }


def difference(before: Sequence[float], after: Sequence[float], *, seed: int = SEED) -> Difference:
    """What the second run changes, query by query."""
    first, second = np.array(before, dtype=np.float64), np.array(after, dtype=np.float64)
    gaps = second - first
    low, high = interval(gaps.tolist(), seed=seed)
    return Difference(
        queries=len(gaps),
        before=float(first.mean()),
        after=float(second.mean()),
        low=low,
        high=high,
        p=permutation_p(gaps, seed=seed),
        wins=int((gaps > 0).sum()),
        losses=int((gaps < 0).sum()),
    )


def permutation_p(gaps: Floats, *, seed: int = SEED) -> float:
    """How often chance alone gives a mean difference this large: signs flipped at random."""
    moved = gaps[gaps != 0]  # a tie stays a tie whichever way it is flipped
    if not len(moved):
        return 1.0
    rng = np.random.default_rng(seed)
    observed = abs(moved.sum())
    reached = 0
    for begin in range(0, RESAMPLES, _CHUNK):
        size = min(_CHUNK, RESAMPLES - begin)
        signs = rng.integers(0, 2, size=(size, len(moved)), dtype=np.int8) * 2 - 1
        reached += int((np.abs(signs @ moved) >= observed - 1e-12).sum())
    return (reached + 1) / (RESAMPLES + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for being many (Holm 1979): together they err no more than one would."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    corrected = [0.0] * len(p_values)
    floor = 0.0
    for place, index in enumerate(order):
        floor = max(floor, min(1.0, p_values[index] * (len(p_values) - place)))
        corrected[index] = floor
    return corrected


def verdict(gap: Difference, corrected_p: float, minimum: int = MINIMUM_QUERIES) -> Verdict:
    """What may be said: both the interval and the corrected test must agree."""
    if gap.queries < minimum:
        return Verdict.TOO_FEW
    if corrected_p < ALPHA and gap.low > 0:
        return Verdict.BETTER
    if corrected_p < ALPHA and gap.high < 0:
        return Verdict.WORSE
    return Verdict.CANNOT_TELL


def _resamples(size: int, seed: int) -> Iterator[Floats]:
    """How often each query is drawn in each resample, as shares."""
    rng = np.random.default_rng(seed)
    for begin in range(0, RESAMPLES, _CHUNK):
        rows = min(_CHUNK, RESAMPLES - begin)
        drawn = rng.integers(0, size, size=(rows, size))
        flat = (drawn + np.arange(rows)[:, None] * size).ravel()
        yield np.bincount(flat, minlength=rows * size).reshape(rows, size) / size

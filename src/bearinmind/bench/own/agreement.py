"""How far a judge agrees with the user: Cohen's kappa, plain and weighted, with an interval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bearinmind.bench.inference import LEVEL, RESAMPLES, SEED
from bearinmind.bench.own.grades import Key
from bearinmind.bench.own.records import BEST

GRADES = BEST + 1
_AT_A_TIME = 500  # resamples: of 2,000 queries they are 8 MB

Floats = NDArray[np.float64]
Table = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kappa:
    """Agreement beyond chance: 1 is perfect, 0 is what guessing gives."""

    value: float | None  #: None when chance alone would agree every time
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """What the user and one judge made of the same pairs."""

    judge: str
    pairs: int
    same: int  #: pairs with the same grade
    table: Table  #: rows are the user's grades, columns the judge's
    kappa: Kappa
    weighted: Kappa  #: a grade next to the right one counts for more than a distant one


def agreement(judge: str, by_user: Mapping[Key, int], by_judge: Mapping[Key, int]) -> Agreement:
    """Compare two sets of grades where both have one.

    Resampled are the queries, not the pairs: pairs of one query are not independent.
    """
    both = [key for key in by_user if key in by_judge]
    tables: dict[str, Floats] = {}
    for key in both:
        table = tables.setdefault(key[0], np.zeros((GRADES, GRADES)))
        table[by_user[key], by_judge[key]] += 1
    each = np.array([*tables.values()]).reshape(-1, GRADES, GRADES)
    whole = each.sum(axis=0)
    plain = 1.0 - np.eye(GRADES)
    distance = np.abs(np.subtract.outer(np.arange(GRADES), np.arange(GRADES))) / BEST
    return Agreement(
        judge=judge,
        pairs=len(both),
        same=int(np.trace(whole)),
        table=tuple(tuple(int(count) for count in row) for row in whole),
        kappa=_with_interval(each, plain),
        weighted=_with_interval(each, distance),
    )


def _with_interval(each: Floats, weights: Floats) -> Kappa:
    if not len(each):
        return Kappa(value=None, low=None, high=None)
    values = np.concatenate([_kappas(tables, weights) for tables in _resampled(each)])
    defined = values[~np.isnan(values)]
    value = float(_kappas(each.sum(axis=0, keepdims=True), weights)[0])
    if np.isnan(value) or not len(defined):
        return Kappa(value=None, low=None, high=None)
    low, high = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Kappa(value=value, low=float(low), high=float(high))


def _resampled(each: Floats) -> Iterator[Floats]:
    """Tables as they would be, had other queries been drawn; a few at a time."""
    rng = np.random.default_rng(SEED)
    even = np.full(len(each), 1 / len(each))
    for _ in range(0, RESAMPLES, _AT_A_TIME):
        drawn = rng.multinomial(len(each), even, size=_AT_A_TIME).astype(np.float64)
        yield np.tensordot(drawn, each, axes=1)


def _kappas(tables: Floats, weights: Floats) -> Floats:
    """Of each table: 1 - observed / expected disagreement; NaN where none is expected."""
    totals = tables.sum(axis=(1, 2))
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    expected = np.einsum("ti,tj,ij->t", rows, columns, weights) / totals
    observed = np.einsum("tij,ij->t", tables, weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(expected > 0, 1.0 - observed / expected, np.nan)

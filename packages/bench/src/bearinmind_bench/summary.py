"""From the answers to single queries to what a run is worth."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from bearinmind.types import Verdict
from bearinmind_bench import inference, metrics
from bearinmind_bench.results import (
    Abstention,
    AbstentionPoint,
    Contribution,
    Latency,
    QueryRow,
    Verdicts,
)

OVERALL = "overall"
_FIRST_TEN = 10
_BINS = 10
_FLOORS = tuple(step / 20 for step in range(21))
#: Legs that go on from what the others found, which they make no less alone.
_FOLLOWING = frozenset({"graph"})
_ENOUGH_CHANCES = 30  # queries in which a leg alone found something, before its silence is told


def strata(rows: Iterable[QueryRow]) -> dict[str, list[QueryRow]]:
    """The answerable queries: all of them, then each stratum."""
    answerable = [row for row in rows if row.answerable]
    groups = {OVERALL: answerable}
    for name in dict.fromkeys(row.stratum for row in answerable):
        groups[name] = [row for row in answerable if row.stratum == name]
    return groups


def means(rows: Sequence[QueryRow]) -> dict[str, float]:
    """The number of queries and the mean of every metric."""
    return {"queries": len(rows), **metrics.mean([row.metrics for row in rows])}


def intervals(rows: Sequence[QueryRow]) -> dict[str, tuple[float, float]]:
    """The interval of every metric."""
    if not rows:
        return {}
    columns = metrics.by_metric([row.metrics for row in rows])
    found: dict[str, tuple[float, float]] = {}
    for size in dict.fromkeys(map(len, columns.values())):  # some metrics are of some queries only
        some = {name: values for name, values in columns.items() if len(values) == size}
        found |= inference.intervals(some)
    return found


def latency(rows: Sequence[QueryRow]) -> Latency:
    """How long a recall takes."""
    times = np.array([row.milliseconds for row in rows])
    p50, p90, p95, p99 = (float(np.percentile(times, p)) for p in (50, 90, 95, 99))
    return Latency(
        p50=p50, p90=p90, p95=p95, p99=p99, max=float(times.max()), mean=float(times.mean())
    )


def abstention(rows: Sequence[QueryRow]) -> Abstention | None:
    """How well a floor for confidence tells unanswerable queries from the others.

    Without a confidence for every query there is nothing to tell them apart by; the curve also
    needs confidences from 0 to 1, as the probabilities of the product are.
    """
    unanswerable = [row for row in rows if not row.answerable]
    known = [row for row in rows if row.answerable]
    if not unanswerable:
        return None
    confidences = [row.confidence for row in rows if row.confidence is not None]
    says = len(confidences) == len(rows)
    without = sorted(row.confidence or 0.0 for row in unanswerable)
    scaled = says and all(0 <= confidence <= 1 for confidence in confidences)
    return Abstention(
        queries=len(unanswerable),
        answered_now=sum(map(_is_answered, unanswerable)) / len(unanswerable),
        area=_area(without, known) if says and known else None,
        curve=tuple(_point(floor, without, known) for floor in _FLOORS) if scaled else (),
    )


def _is_answered(row: QueryRow) -> bool:
    return bool(row.ranked) if row.verdict is None else row.verdict != Verdict.NOTHING


def verdicts(rows: Sequence[QueryRow]) -> Verdicts | None:
    """Whether the verdicts are right, stratum by stratum; None when there are none."""
    if not rows or any(row.verdict is None for row in rows):
        return None
    answerable = strata(rows)
    overall = answerable[OVERALL]
    unanswerable = [row for row in rows if not row.answerable]
    without = {
        stratum: [row for row in unanswerable if row.stratum == stratum]
        for stratum in dict.fromkeys(row.stratum for row in unanswerable)
    }
    within = {name: [x for x in some if _first(x)] for name, some in answerable.items()}
    return Verdicts(
        nothing={
            name: _share(some, lambda row: not _is_answered(row)) for name, some in without.items()
        },
        areas={
            name: _area(sorted(row.confidence or 0.0 for row in some), overall)
            for name, some in without.items()
            if overall
        },
        kept={
            name: _share(some, lambda row: bool(_first(row) - row.folded))
            for name, some in within.items()
            if some
        },
        found={
            name: _share(some, lambda row: row.verdict == Verdict.FOUND)
            for name, some in within.items()
            if some
        },
        calibration_error=calibration_error(
            [
                (confidence, row.grades.get(id_, 0) > 0)
                for row in rows
                for id_, confidence in zip(row.ranked[:_FIRST_TEN], row.confidences, strict=False)
            ]
        ),
    )


def _first(row: QueryRow) -> set[str]:
    """The relevant memories among the first ten."""
    return row.relevant.keys() & {*row.ranked[:_FIRST_TEN]}


def _share(rows: Sequence[QueryRow], holds: Callable[[QueryRow], bool]) -> float:
    return sum(map(holds, rows)) / len(rows)


def calibration_error(hits: Sequence[tuple[float, bool]]) -> float:
    """The expected calibration error (Naeini et al. 2015) in bins of equal count.

    It is how far the mean probability of a bin is from the share of its hits that are relevant.
    """
    ordered = sorted(hits)
    bins = [part for part in np.array_split(np.array(ordered, dtype=float), _BINS) if len(part)]
    gaps = [len(part) * abs(float(part[:, 0].mean() - part[:, 1].mean())) for part in bins]
    return math.fsum(gaps) / len(ordered) if ordered else 0.0


def _area(without: Sequence[float], known: Sequence[QueryRow]) -> float:
    """The chance that an answerable query has a surer answer than an unanswerable one."""
    below = 0.0
    for row in known:
        confidence = row.confidence or 0.0
        lower = bisect.bisect_left(without, confidence)
        below += lower + (bisect.bisect_right(without, confidence) - lower) / 2
    return below / (len(without) * len(known))


def _point(floor: float, without: Sequence[float], known: Sequence[QueryRow]) -> AbstentionPoint:
    left = [_above(floor, row) for row in known]
    count = len(known) or 1
    return AbstentionPoint(
        floor=floor,
        abstained=bisect.bisect_left(without, floor) / len(without),
        silenced=sum(not ranked for ranked in left) / count,
        recall=sum(
            metrics.recall(ranked, row.relevant, _FIRST_TEN)
            for ranked, row in zip(left, known, strict=True)
        )
        / count,
    )


def _above(floor: float, row: QueryRow) -> list[str]:
    """What a floor leaves of an answer."""
    pairs = zip(row.ranked, row.confidences, strict=True)
    return [id_ for id_, confidence in pairs if confidence >= floor]


def contributions(
    rows: Sequence[QueryRow], leg_times: Mapping[str, Sequence[float]]
) -> dict[str, Contribution]:
    """What each leg brought to the answers."""
    legs = dict.fromkeys(leg for row in rows for leg in row.legs)
    return {leg: _contribution(leg, rows, leg_times.get(leg, ())) for leg in legs}


def _contribution(leg: str, rows: Sequence[QueryRow], times: Sequence[float]) -> Contribution:
    relevant_found = alone = first_ten = placed_alone = 0
    for row in rows:
        others = {id_ for other in row.legs.keys() - {leg} - _FOLLOWING for id_ in row.legs[other]}
        own = row.legs.get(leg, {}).keys()
        relevant = {id_ for id_ in own if row.grades.get(id_, 0) > 0}
        first = {*row.ranked[:_FIRST_TEN]}
        relevant_found += len(relevant)
        alone += len(relevant - others)
        first_ten += len(relevant & first)
        placed_alone += len((own & first) - others)
    return Contribution(
        found=relevant_found,
        alone=alone,
        first_ten=first_ten,
        placed_alone=placed_alone,
        milliseconds_p50=float(np.median(times)) if len(times) else 0.0,
    )


def silent_legs(legs: Mapping[str, Contribution]) -> list[str]:
    """Legs that found relevant memories nobody else did, and never got one into a first ten."""
    if len(legs) < 2:  # noqa: PLR2004  a single leg is the answer
        return []
    return [
        f"the {name} leg alone found {leg.alone} relevant memories, "
        "and none that it alone found reached a first ten: its weight may lock it out"
        for name, leg in legs.items()
        if leg.alone >= _ENOUGH_CHANCES and not leg.placed_alone
    ]

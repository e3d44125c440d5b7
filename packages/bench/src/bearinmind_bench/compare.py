"""Is one run better than another? Query by query, with intervals, and no more than can be said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from bearinmind.errors import IncomparableResults, InvalidData, TooFewQueries
from bearinmind_bench import inference
from bearinmind_bench.inference import Difference, Verdict
from bearinmind_bench.metrics import FAULTS, HEADLINE
from bearinmind_bench.results import QueryRow, Result
from bearinmind_bench.summary import OVERALL, strata


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What may be said about one metric in one stratum."""

    stratum: str
    metric: str
    difference: Difference
    corrected_p: float  #: corrected for the comparisons made together; the headline's stands alone
    verdict: Verdict

    def as_data(self) -> dict[str, Any]:
        """The comparison as plain data."""
        return {
            "stratum": self.stratum,
            "metric": self.metric,
            **asdict(self.difference),
            "difference": self.difference.mean,
            "corrected_p": self.corrected_p,
            "verdict": self.verdict,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs side by side."""

    rows: tuple[Compared, ...]
    minimum: int  #: queries below which nothing is concluded

    @property
    def headline(self) -> Compared:
        """The first metric over all queries: nDCG@10 unless others were asked for."""
        return self.rows[0]


def compare(
    before: Result,
    after: Result,
    metrics: Sequence[str] | None = None,
    minimum: int = inference.MINIMUM_QUERIES,
) -> Comparison:
    """What the second run changes.

    The headline was chosen before anybody looked, so it is one test and stands alone. All the
    other metrics and strata are corrected for being looked at together.

    Raises:
        IncomparableResults: they did not answer the same queries, or one broke its promises.
        InvalidData: there is no such metric.
        TooFewQueries: there are not enough queries to conclude anything.
    """
    _refuse_incomparable(before, after)
    first, second = strata(before.rows), strata(after.rows)
    count = len(first[OVERALL])
    if count < minimum:
        raise TooFewQueries(
            f"{count} answerable queries were measured; below {minimum} nothing is concluded"
        )
    chosen = _metrics(before, metrics)
    pairs = [
        (stratum, metric)
        for stratum in first
        for metric in chosen
        if _values(first[stratum], metric) and _values(second[stratum], metric)
    ]
    differences = [
        inference.difference(_values(first[stratum], metric), _values(second[stratum], metric))
        for stratum, metric in pairs
    ]
    corrected = [differences[0].p, *together(differences[1:], minimum)]
    return Comparison(
        minimum=minimum,
        rows=tuple(
            Compared(
                stratum=stratum,
                metric=metric,
                difference=item,
                corrected_p=p,
                verdict=_verdict(metric, item, p, minimum),
            )
            for (stratum, metric), item, p in zip(pairs, differences, corrected, strict=True)
        ),
    )


def _values(rows: Sequence[QueryRow], metric: str) -> list[float]:
    """A metric of the queries that have it."""
    return [row.metrics[metric] for row in rows if metric in row.metrics]


_OPPOSITE = {Verdict.BETTER: Verdict.WORSE, Verdict.WORSE: Verdict.BETTER}


def _verdict(metric: str, gap: Difference, corrected_p: float, minimum: int) -> Verdict:
    """What may be said of a metric; of a fault less is better."""
    verdict = inference.verdict(gap, corrected_p, minimum)
    return _OPPOSITE.get(verdict, verdict) if metric in FAULTS else verdict


def together(differences: Sequence[Difference], minimum: int) -> list[float]:
    """p-values corrected for each other."""
    enough = [item.queries >= minimum for item in differences]
    # What is too small to conclude from is no comparison, and costs the others nothing.
    tested = iter(inference.holm([f.p for f, ok in zip(differences, enough, strict=True) if ok]))
    return [next(tested) if ok else 1.0 for ok in enough]


def corrected(rows: Sequence[Compared], minimum: int = inference.MINIMUM_QUERIES) -> list[Compared]:
    """The same comparisons, corrected for being made together."""
    return [
        replace(item, corrected_p=p, verdict=_verdict(item.metric, item.difference, p, minimum))
        for item, p in zip(rows, inference.holm([f.difference.p for f in rows]), strict=True)
    ]


def _metrics(result: Result, names: Sequence[str] | None) -> list[str]:
    known = [name for name in result.overall if name != "queries"]
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise InvalidData(
            f"{unknown[0]!r} is not a metric of these results", hint=f"Use {', '.join(known)}."
        )
    if names:
        return [*names]
    return [HEADLINE, *(name for name in known if name != HEADLINE)]


def _refuse_incomparable(before: Result, after: Result) -> None:
    for name, result in (("first", before), ("second", after)):
        if result.faults:
            raise IncomparableResults(
                f"the {name} result broke a promise of the ranking: {result.faults[0]}",
                hint="Mend that first: its figures decide nothing.",
            )
    if before.manifest.fingerprint != after.manifest.fingerprint:
        raise IncomparableResults(
            f"the results are of different data: {_data(before)} and {_data(after)}"
        )
    if [row.query_id for row in before.rows] != [row.query_id for row in after.rows]:
        raise IncomparableResults(
            f"the results are of different queries: split {before.manifest.split} "
            f"({len(before.rows)}) and {after.manifest.split} ({len(after.rows)})"
        )


def _data(result: Result) -> str:
    return f"{result.manifest.data} ({result.manifest.fingerprint[:12]})"

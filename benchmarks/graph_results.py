"""What benchmarks/graph.py found, compared and kept: a small file that a page is made from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bearinmind_bench import compare, inference, runner
from bearinmind_bench.evaluation import EvaluationSet
from bearinmind_bench.inference import Difference
from bearinmind_bench.metrics import HEADLINE
from bearinmind_bench.results import QueryRow
from bearinmind_bench.summary import OVERALL, strata
from research.graph_shapes import SHIPPED, WITHOUT

#: What is compared, as far as a set has it.
METRICS = ("recall@5", "recall@10", HEADLINE, "answers@10")
CHOOSING = ("recall@5", HEADLINE, "answers@10")  #: of those, what shapes are chosen by
DEPTHS = (5, 10)
LEG = "graph"

_TOLD = ("created_at", "revision", "code", "versions", "platform", "fingerprint", "split")
_INNERMOST = re.compile(r"\{[^{}\[\]]*\}")  # an object that holds no other

Found = dict[str, Any]


class Asked(NamedTuple):
    """The answers of one arm."""

    rows: Sequence[QueryRow]
    milliseconds: Sequence[float]  #: of the graph leg, by query


# ---- comparing ---------------------------------------------------------------------------------


def described(data: EvaluationSet, split: str) -> Found:
    """Which queries were asked, and by which code."""
    told = runner.describe(
        data,
        split=split,
        store="sqlite",
        versions={},
        retriever=runner.PRODUCT,
        settings={},
        recipe={},
        models=(),
        adaptations=(),
    )
    return told.model_dump(include={*_TOLD})


def worth(without: Asked, shipped: Asked) -> Found:
    """What the graph changes, in every stratum and metric, and what it alone brings and costs."""
    differences = [*_differences(without.rows, shipped.rows)]
    before = strata(without.rows)
    return {
        "arms": {
            WITHOUT: _figures(without),
            SHIPPED: {**_figures(shipped), "against": {WITHOUT: differences}},
        },
        "brought": {
            name: {str(depth): _brought(before[name], rows, depth) for depth in DEPTHS}
            for name, rows in strata(shipped.rows).items()
        },
    }


def compared(
    arms: Mapping[str, Asked], bases: Sequence[str], own: Mapping[str, str] | None = None
) -> Found:
    """Every arm's figures, and how it differs from each base, and from one of its own if it has it.

    By stratum from recall without the graph alone, and in the headline: the file stays small.
    """
    found: Found = {}
    for name, asked in arms.items():
        beside = dict.fromkeys([*bases, *([own[name]] if own and name in own else ())])
        against = {
            base: [*_differences(arms[base].rows, asked.rows, CHOOSING, _by_stratum(base))]
            for base in beside
            if base in arms and base != name
        }
        alone = {str(depth): _alone(asked.rows, depth) for depth in DEPTHS}
        found[name] = {**_figures(asked, CHOOSING), "against": against, "alone": alone}
    return found


def _by_stratum(base: str) -> Sequence[str]:
    return (HEADLINE,) if base == WITHOUT else ()


def _figures(asked: Asked, metrics: Sequence[str] = METRICS) -> Found:
    """The means of every stratum, and how long the graph leg took."""
    groups = strata(asked.rows)
    p50, p95 = np.percentile(asked.milliseconds, [50, 95])
    return {
        "means": {
            name: {
                "queries": len(rows),
                **{metric: _mean(rows, metric) for metric in _known(metrics, rows)},
            }
            for name, rows in groups.items()
        },
        "milliseconds": {"p50": float(p50), "p95": float(p95)},
    }


def _known(metrics: Sequence[str], rows: Sequence[QueryRow]) -> list[str]:
    """Those of these metrics that a set has: not every one has grades."""
    return [metric for metric in metrics if metric in rows[0].metrics]


def _mean(rows: Sequence[QueryRow], metric: str) -> float:
    return float(np.mean([row.metrics[metric] for row in rows]))


def _differences(
    before: Sequence[QueryRow],
    after: Sequence[QueryRow],
    overall: Sequence[str] = METRICS,
    by_stratum: Sequence[str] = METRICS,
) -> Iterator[Found]:
    first, second = strata(before), strata(after)
    for stratum, rows in first.items():
        for metric in _known(overall if stratum == OVERALL else by_stratum, rows):
            found = _difference(rows, second[stratum], metric)
            yield {"stratum": stratum, "metric": metric, **_told(found)}


def _difference(before: Sequence[QueryRow], after: Sequence[QueryRow], metric: str) -> Difference:
    return inference.difference(
        [row.metrics[metric] for row in before], [row.metrics[metric] for row in after]
    )


def _told(found: Difference) -> Found:
    return {
        "queries": found.queries,
        "difference": found.mean,
        "low": found.low,
        "high": found.high,
        "p": found.p,
        "wins": found.wins,
        "losses": found.losses,
    }


def _alone(rows: Sequence[QueryRow], depth: int) -> Found:
    """How many memories among the first so many only the graph proposed."""
    relevant = others = 0
    for row in rows:
        elsewhere = {id_ for leg, ranks in row.legs.items() if leg != LEG for id_ in ranks}
        alone = {*row.ranked[:depth]} & row.legs.get(LEG, {}).keys() - elsewhere
        relevant += len(alone & row.relevant.keys())
        others += len(alone - row.relevant.keys())
    return {"relevant": relevant, "others": others}


def _brought(before: Sequence[QueryRow], after: Sequence[QueryRow], depth: int) -> Found:
    """The same, and how many relevant memories came to be among the first so many, or left."""
    gained = lost = 0
    for old, new in zip(before, after, strict=True):
        had = {*old.ranked[:depth]} & new.relevant.keys()
        has = {*new.ranked[:depth]} & new.relevant.keys()
        gained += len(has - had)
        lost += len(had - has)
    return {"alone": _alone(after, depth), "gained": gained, "lost": lost}


# ---- keeping -----------------------------------------------------------------------------------


def keep(path: Path, part: str, data: str, found: Found) -> None:
    """Put what was found into a file; everything of the same kind in it is corrected anew."""
    results: Found = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    results.setdefault(part, {})[data] = found
    for each in results.values():
        correct(each)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(_rounded(results), indent=1)
    path.write_text(_INNERMOST.sub(_on_one_line, text) + "\n", "utf-8")


def _on_one_line(found: re.Match[str]) -> str:
    return " ".join(found.group().split())


def correct(sets: Mapping[str, Found]) -> None:
    """Correct the p-values of all sets and arms of a part for being looked at together.

    A metric over all queries is one family, the same metric by stratum another.
    """
    families: dict[tuple[str, str, bool], list[Found]] = {}
    for found in sets.values():
        for arm in found["arms"].values():
            for base, rows in arm.get("against", {}).items():
                for row in rows:
                    family = (base, row["metric"], row["stratum"] == OVERALL)
                    families.setdefault(family, []).append(row)
    for rows in families.values():
        differences = [_difference_of(row) for row in rows]
        corrected = compare.together(differences, inference.MINIMUM_QUERIES)
        for row, difference, p in zip(rows, differences, corrected, strict=True):
            row["corrected_p"] = p
            row["verdict"] = str(inference.verdict(difference, p))


def _difference_of(row: Found) -> Difference:
    return Difference(
        queries=row["queries"],
        before=0.0,
        after=row["difference"],
        low=row["low"],
        high=row["high"],
        p=row["p"],
        wins=row["wins"],
        losses=row["losses"],
    )


def _rounded(value: Any) -> Any:  # noqa: ANN401  whatever JSON holds
    """The same with four digits after the point: nobody reads more."""
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return round(value, 4) if isinstance(value, float) else value

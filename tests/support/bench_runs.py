"""Results made by hand for the tests of the report: no store is filled and no model is asked."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

from bearinmind_bench import inference, metrics, summary
from bearinmind_bench.compare import Compared, Comparison
from bearinmind_bench.inference import Difference
from bearinmind_bench.results import Ingest, Manifest, QueryRow, Result, Sizes

STRATA = ("single fact", "multi-hop", "temporal", "preference")
LEGS = ("lexical", "dense")
_TOP_GRADE = 3
_DEPTH = 20

_MANIFEST: dict[str, Any] = {
    "created_at": "2026-03-01T12:00:00+00:00",
    "bearinmind": "0.1.0",
    "revision": "d8bb115aa01c",
    "code": "c0de" * 16,
    "versions": {"python": "3.11.2", "sqlite": "3.40.1", "numpy": "2.1.0"},
    "platform": "Linux x86_64",
    "data": "household",
    "fingerprint": "f1" * 32,
    "split": "all",
    "depth": _DEPTH,
    "store": "sqlite",
    "retriever": "bearinmind",
    "settings": {},
    "recipe": {"legs": "lexical, dense", "fusion": "Convex(weights={})"},
    "models": (),
    "seeds": {"bootstrap": 20_260_101, "resamples": 10_000},
}


def made_row(number: int, stratum: str = "single fact", skill: float = 1.0) -> QueryRow:
    """A query whose relevant memories are found the sooner, the greater the skill."""
    rng, luck = random.Random(f"query {number}"), random.Random(f"{number} {skill}")
    relevant = {f"m{number}-{n}": rng.choice((1, 2, 3)) for n in range(rng.choice((1, 1, 2, 3)))}
    places = {
        id_: rng.lognormvariate(0.3 - skill, 1.8) * luck.lognormvariate(0, 0.7) for id_ in relevant
    }
    fillers = {f"f{number}-{n}": n + 0.5 for n in range(40)}
    order = sorted([*places, *fillers], key=(places | fillers).__getitem__)
    ranked = tuple(order[:_DEPTH])
    found = {
        id_: rank for rank, id_ in enumerate(order, 1) if id_ in relevant and rank < len(order)
    }
    surest = min(1.0, max(0.0, rng.gauss(0.35 + 0.25 * skill, 0.18)))
    return QueryRow(
        query_id=f"q{number:04}",
        stratum=stratum,
        split="test",
        user="local",
        grades=relevant,
        ranked=ranked,
        legs={
            leg: {id_: rank for id_, rank in found.items() if luck.random() < 0.8} for leg in LEGS
        },
        confidence=surest,
        confidences=tuple(surest * 0.96**place for place in range(len(ranked))),
        milliseconds=luck.lognormvariate(1.1 - skill * 0.3, 0.5),
        metrics=metrics.score(ranked, relevant, _TOP_GRADE),
    )


def unanswerable_row(number: int) -> QueryRow:
    """A query that nothing in the corpus answers, and that gets an unsure answer all the same."""
    row = made_row(number, "no answer")
    unsure = min(1.0, max(0.0, random.Random(number).gauss(0.3, 0.17)))
    confidences = tuple(unsure * 0.96**place for place in range(len(row.ranked)))
    return row.model_copy(
        update={"grades": {}, "metrics": {}, "confidence": unsure, "confidences": confidences}
    )


def made_rows(
    queries: int = 60,
    skill: float = 1.0,
    strata: Sequence[str] = STRATA,
    unanswerable: int = 0,
) -> list[QueryRow]:
    """Queries of several strata, each half as frequent as the one before."""
    rng = random.Random("strata")
    weights = [1 / (place + 1) for place in range(len(strata))]
    drawn = rng.choices(strata, weights, k=queries)
    rows = [made_row(number, stratum, skill) for number, stratum in enumerate(drawn)]
    return rows + [unanswerable_row(queries + number) for number in range(unanswerable)]


def made_result(
    rows: Sequence[QueryRow] | None = None,
    manifest: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Result:
    """A run with these queries; whatever is not given has a plain value."""
    rows = tuple(made_rows() if rows is None else rows)
    groups = summary.strata(rows)
    whole: dict[str, Any] = {
        "manifest": Manifest(**(_MANIFEST | dict(manifest or {}))),
        "overall": summary.means(groups[summary.OVERALL]),
        "strata": {k: summary.means(v) for k, v in groups.items() if k != summary.OVERALL},
        "intervals": {name: _intervals(group) for name, group in groups.items()},
        "unanswerable": summary.abstention(rows),
        "latency": summary.latency(rows),
        "sizes": Sizes(
            memories=5_452,
            users=1,
            content_bytes=2_100_000,
            store_bytes=9_800_000,
            peak_memory_bytes=212_000_000,
        ),
        "ingest": Ingest(seconds=3.4, memories_per_second=1_603.0, merged=2, refused=0),
        "legs": summary.contributions(rows, {"lexical": [1.5], "dense": [4.25]}),
        "warnings": (),
        "rows": rows,
    }
    return Result(**(whole | fields))


def made_comparison(before: Result, after: Result) -> Comparison:
    """What `compare` says, from the normal distribution instead of from resamples: it is quick."""
    first, second = summary.strata(before.rows), summary.strata(after.rows)
    names = sorted(first[summary.OVERALL][0].metrics, key=lambda name: name != metrics.HEADLINE)
    rows = []
    for stratum, group in first.items():
        for name in names:
            pairs = zip(group, second[stratum], strict=True)
            found = _difference([(a.metrics[name], b.metrics[name]) for a, b in pairs])
            p = min(1.0, found.p * len(names) * len(first))
            said = inference.verdict(found, p)
            rows.append(
                Compared(
                    stratum=stratum, metric=name, difference=found, corrected_p=p, verdict=said
                )
            )
    return Comparison(rows=tuple(rows), minimum=inference.MINIMUM_QUERIES)


def _difference(pairs: Sequence[tuple[float, float]]) -> Difference:
    gaps = [after - before for before, after in pairs]
    low, high = _interval(gaps)
    mean, spread = math.fsum(gaps) / len(gaps), (high - low) / 3.92
    return Difference(
        queries=len(gaps),
        before=math.fsum(before for before, _ in pairs) / len(pairs),
        after=math.fsum(after for _, after in pairs) / len(pairs),
        low=low,
        high=high,
        p=math.erfc(abs(mean) / spread / math.sqrt(2)) if spread else 1.0,
        wins=sum(gap > 0 for gap in gaps),
        losses=sum(gap < 0 for gap in gaps),
    )


def _intervals(rows: Sequence[QueryRow]) -> dict[str, tuple[float, float]]:
    if not rows:
        return {}
    columns = {name: _interval([row.metrics[name] for row in rows]) for name in rows[0].metrics}
    return {name: (max(0.0, low), min(1.0, high)) for name, (low, high) in columns.items()}


def _interval(values: Sequence[float]) -> tuple[float, float]:
    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values)) / len(values)
    return mean - 1.96 * spread, mean + 1.96 * spread

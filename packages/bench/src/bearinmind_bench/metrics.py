"""What a ranking is worth: pure functions of the ranked ids and the grades of the relevant ones.

Gains are linear in the grade and the rankings are judged to a fixed depth, as trec_eval does it;
tests hold every metric here against trec_eval.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

#: How many memories are asked for; no metric looks deeper.
DEPTH = 20
RECALL_AT = (1, 5, 10, 20)
ALL_RELEVANT_AT = (5, 10)
ANSWERS_AT = (1, 5, 10)
NDCG_AT = 10
CURRENT_WITHIN = 10
STALE_AT = 5
#: The one figure to go by when there can be only one.
HEADLINE = "ndcg@10"

CURRENT_FIRST = "current_first"
STALE_ABOVE = "stale_above_current"
STALE_WITHOUT = f"stale_without_current@{STALE_AT}"
#: Metrics of which less is better.
FAULTS = frozenset({STALE_ABOVE, STALE_WITHOUT})

Grades = Mapping[str, int]


def score(
    ranked: Sequence[str], relevant: Grades, top_grade: int = 1, stale: Collection[str] = ()
) -> dict[str, float]:
    """Every metric of one answerable query.

    `answers@k` only where memories have grades, and those about the present state only where some
    memories state what held before.
    """
    metrics = {f"recall@{k}": recall(ranked, relevant, k) for k in RECALL_AT}
    metrics |= {f"all_relevant@{k}": all_relevant(ranked, relevant, k) for k in ALL_RELEVANT_AT}
    metrics[f"ndcg@{NDCG_AT}"] = ndcg(ranked, relevant, NDCG_AT)
    metrics["mrr"] = reciprocal_rank(ranked, relevant)
    metrics["map"] = average_precision(ranked, relevant)
    if top_grade > 1:
        metrics |= {f"answers@{k}": answers(ranked, relevant, k, top_grade) for k in ANSWERS_AT}
    if stale:
        metrics |= about_now(ranked, relevant, stale)
    return metrics


def names(top_grade: int = 1, *, stale: bool = False) -> tuple[str, ...]:
    """The metrics of a set, in the order in which they are shown."""
    return tuple(score([], {"": 1}, top_grade, ("earlier",) if stale else ()))


def recall(ranked: Sequence[str], relevant: Grades, k: int) -> float:
    """The share of the relevant memories that is among the first k."""
    return sum(id_ in relevant for id_ in ranked[:k]) / len(relevant)


def all_relevant(ranked: Sequence[str], relevant: Grades, k: int) -> float:
    """1 when every relevant memory is among the first k: what a multi-hop question needs."""
    return float(relevant.keys() <= {*ranked[:k]})


def ndcg(ranked: Sequence[str], relevant: Grades, k: int) -> float:
    """The discounted gain of the first k, as a share of the best that was possible."""
    ideal = _discounted(sorted(relevant.values(), reverse=True)[:k])
    return _discounted([relevant.get(id_, 0) for id_ in ranked[:k]]) / ideal


def reciprocal_rank(ranked: Sequence[str], relevant: Grades) -> float:
    """1 / rank of the first relevant memory."""
    return next((1 / rank for rank, id_ in enumerate(ranked, start=1) if id_ in relevant), 0.0)


def average_precision(ranked: Sequence[str], relevant: Grades) -> float:
    """The mean, over the relevant memories, of the precision at the rank of each."""
    hits = 0
    total = 0.0
    for rank, id_ in enumerate(ranked, start=1):
        if id_ in relevant:
            hits += 1
            total += hits / rank
    return total / len(relevant)


def answers(ranked: Sequence[str], relevant: Grades, k: int, top_grade: int) -> float:
    """1 when a memory of the best grade, one that answers by itself, is among the first k."""
    return float(any(relevant.get(id_, 0) >= top_grade for id_ in ranked[:k]))


def about_now(ranked: Sequence[str], relevant: Grades, stale: Collection[str]) -> dict[str, float]:
    """Whether what holds now stands before what held earlier.

    Where neither is shown, the current memory is not first and no stale one is above it.
    """
    current_place = _first_place(ranked[:CURRENT_WITHIN], relevant)
    stale_place = _first_place(ranked[:CURRENT_WITHIN], stale)
    return {
        CURRENT_FIRST: float(current_place < stale_place),
        STALE_ABOVE: float(stale_place < current_place),
        STALE_WITHOUT: float(stale_place <= STALE_AT < current_place),
    }


def _first_place(ranked: Sequence[str], wanted: Collection[str]) -> float:
    return next((place for place, id_ in enumerate(ranked, start=1) if id_ in wanted), math.inf)


def _discounted(gains: Sequence[int]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def mean(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean of each metric over the queries that have it."""
    return {name: math.fsum(values) / len(values) for name, values in by_metric(rows).items()}


def by_metric(rows: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    """The values of each metric, one for every query that has it."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row[name] for row in rows if name in row] for name in names}

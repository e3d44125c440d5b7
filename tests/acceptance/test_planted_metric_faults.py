"""Metrics that are off by one, planted: each must be contradicted by trec_eval, and by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from bearinmind_bench import metrics
from support.bench_sets import TREC_NAMES, Score, disagreements, judged_rankings

Grades = Mapping[str, int]


def without_the_first(ranked: Sequence[str], relevant: Grades) -> dict[str, float]:
    return metrics.score(ranked[1:], relevant)


def one_place_lower(ranked: Sequence[str], relevant: Grades) -> dict[str, float]:
    return metrics.score(["nobody", *ranked], relevant)


def replaced(**functions: Callable[..., float]) -> Score:
    """The metrics with other functions in their places."""
    changed: dict[str, Callable[..., float]] = {
        "recall": metrics.recall,
        "ndcg": metrics.ndcg,
        "mrr": metrics.reciprocal_rank,
        "map": metrics.average_precision,
    }
    changed.update(functions)

    def score(ranked: Sequence[str], relevant: Grades) -> dict[str, float]:
        found = {f"recall@{k}": changed["recall"](ranked, relevant, k) for k in metrics.RECALL_AT}
        found["ndcg@10"] = changed["ndcg"](ranked, relevant, 10)
        found["mrr"] = changed["mrr"](ranked, relevant)
        found["map"] = changed["map"](ranked, relevant)
        return found

    return score


def ranks_from_zero(ranked: Sequence[str], relevant: Grades) -> float:
    return next((1 / (rank + 2) for rank, id_ in enumerate(ranked) if id_ in relevant), 0.0)


def precision_from_zero(ranked: Sequence[str], relevant: Grades) -> float:
    found, total = 0, 0.0
    for rank, id_ in enumerate(ranked):
        if id_ in relevant:
            total += found / (rank + 1)
            found += 1
    return total / len(relevant)


def undiscounted_first(ranked: Sequence[str], relevant: Grades, k: int) -> float:
    """The discount begins one rank late, as with log2(rank) and a special case for the first."""
    gains = [relevant.get(id_, 0) for id_ in ranked[:k]]
    ideal = sorted(relevant.values(), reverse=True)[:k]
    late = [gains[0], *metrics_discounted(gains[1:])] if gains else []
    return sum(late) / sum([ideal[0], *metrics_discounted(ideal[1:])])


def metrics_discounted(gains: Sequence[int]) -> list[float]:
    return [metrics._discounted([0] * place + [gain]) for place, gain in enumerate(gains)]


MUTANTS: dict[str, tuple[Score, set[str]]] = {
    "the first is skipped": (without_the_first, {*TREC_NAMES}),
    "everything is one lower": (one_place_lower, {*TREC_NAMES}),
    "recall looks one deeper": (
        replaced(recall=lambda ranked, relevant, k: metrics.recall(ranked, relevant, k + 1)),
        {"recall@1", "recall@5", "recall@10"},
    ),
    "recall looks one less deep": (
        replaced(recall=lambda ranked, relevant, k: metrics.recall(ranked, relevant, k - 1)),
        {"recall@1", "recall@5", "recall@10", "recall@20"},
    ),
    "nDCG looks one deeper": (
        replaced(ndcg=lambda ranked, relevant, k: metrics.ndcg(ranked, relevant, k + 1)),
        {"ndcg@10"},
    ),
    "nDCG looks one less deep": (
        replaced(ndcg=lambda ranked, relevant, k: metrics.ndcg(ranked, relevant, k - 1)),
        {"ndcg@10"},
    ),
    "nDCG discounts one rank late": (replaced(ndcg=undiscounted_first), {"ndcg@10"}),
    "reciprocal ranks begin at two": (replaced(mrr=ranks_from_zero), {"mrr"}),
    "precision does not count the find itself": (replaced(map=precision_from_zero), {"map"}),
}


def found_by_the_cross_check(score: Score) -> set[str]:
    """The metrics that trec_eval contradicts; the cross-check of the unit tests, same function."""
    contradicted: set[str] = set()
    for ranked, relevant in judged_rankings(400):
        contradicted |= {*disagreements(score, ranked, relevant)}
    return contradicted


@pytest.mark.parametrize("name", MUTANTS)
def test_a_metric_that_is_off_by_one_is_contradicted_by_trec_eval(name: str) -> None:
    mutant, wrong = MUTANTS[name]
    assert found_by_the_cross_check(mutant) == wrong


def test_the_metrics_as_they_are_are_not() -> None:
    assert found_by_the_cross_check(metrics.score) == set()
    assert found_by_the_cross_check(replaced()) == set()

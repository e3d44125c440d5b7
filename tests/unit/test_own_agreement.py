from __future__ import annotations

import random

import pytest

from bearinmind_bench.own.judgements import Agreement, agreement

Key = tuple[str, str]


def of(pairs: list[tuple[int, int]]) -> Agreement:
    """Grades of the user and of the judge, each for a query of its own."""
    keys: list[Key] = [(f"q{i}", "m") for i in range(len(pairs))]
    user = {key: pair[0] for key, pair in zip(keys, pairs, strict=True)}
    judge = {key: pair[1] for key, pair in zip(keys, pairs, strict=True)}
    return agreement("judge", user, judge)


def by_hand(pairs: list[tuple[int, int]], weight: str) -> float:
    """Kappa by its definition, pair by pair."""

    def apart(a: int, b: int) -> float:
        return abs(a - b) / 3 if weight == "linear" else float(a != b)

    count = len(pairs)
    observed = sum(apart(a, b) for a, b in pairs) / count
    expected = sum(apart(a, b) for a, _ in pairs for _, b in pairs) / count**2
    return 1 - observed / expected


def test_kappa_is_that_of_the_textbook() -> None:
    pairs = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15

    found = of(pairs)

    assert found.kappa.value == pytest.approx(0.4)
    assert (found.pairs, found.same) == (50, 35)
    assert found.table[1] == (5, 20, 0, 0)


def test_both_kappas_are_those_of_the_definition() -> None:
    chance = random.Random(3)
    pairs = [(g, min(3, max(0, g + chance.choice([-1, 0, 0, 1])))) for g in [0, 1, 2, 3] * 15]

    found = of(pairs)

    assert found.kappa.value == pytest.approx(by_hand(pairs, "plain"))
    assert found.weighted.value == pytest.approx(by_hand(pairs, "linear"))
    assert found.kappa.value is not None
    assert found.weighted.value is not None
    assert found.weighted.value > found.kappa.value


def test_the_interval_holds_the_value_and_is_the_same_every_time() -> None:
    chance = random.Random(5)
    pairs = [(g, g if chance.random() < 0.7 else chance.randrange(4)) for g in [0, 1, 2, 3] * 20]

    first, second = of(pairs), of(pairs)

    assert first == second
    low, value, high = first.kappa.low, first.kappa.value, first.kappa.high
    assert low is not None
    assert value is not None
    assert high is not None
    assert low < value < high
    assert 0.1 < high - low < 0.5


def test_perfect_agreement_is_one() -> None:
    found = of([(0, 0), (1, 1), (2, 2), (3, 3)] * 5)

    assert found.kappa.value == found.weighted.value == 1.0
    assert found.kappa.high == 1.0


@pytest.mark.parametrize("pairs", [[], [(2, 2)] * 9])
def test_where_chance_always_agrees_there_is_no_kappa(pairs: list[tuple[int, int]]) -> None:
    found = of(pairs)

    assert found.kappa.value is None
    assert found.kappa.low is None


def test_only_pairs_that_both_graded_count() -> None:
    found = agreement("judge", {("q", "a"): 1, ("q", "b"): 2}, {("q", "b"): 2, ("q", "c"): 0})

    assert found.pairs == found.same == 1

"""Intervals, tests and corrections: against SciPy, by simulation and by hand."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bearinmind_bench import inference
from bearinmind_bench.inference import Difference, Verdict

RNG = np.random.default_rng


@pytest.fixture(scope="module")
def stats() -> Any:
    """SciPy's, which takes most of a second to import."""
    from scipy import stats  # type: ignore[import-untyped]  # noqa: PLC0415  every process collects

    return stats


def gaps_of(seed: int, size: int = 60, shift: float = 0.05) -> np.ndarray[tuple[int], np.dtype]:
    """Differences as metrics have them: many ties, few values."""
    rng = RNG(seed)
    moved = rng.choice([-0.5, -0.2, 0.2, 0.5], size=size) + shift
    return np.where(rng.random(size) < 0.5, 0.0, moved)


def found(queries: int = 100, low: float = 0.1, high: float = 0.2, p: float = 0.01) -> Difference:
    return Difference(
        queries=queries, before=0.0, after=0.15, low=low, high=high, p=p, wins=1, losses=0
    )


# ---- the interval ------------------------------------------------------------------------------


def test_an_interval_covers_the_true_mean_as_often_as_it_says() -> None:
    rng = RNG(1)
    samples = rng.beta(2, 1, size=(250, 50))  # a skewed share whose mean is 2/3
    covered = 0
    for sample in samples:
        low, high = inference.interval(sample.tolist())
        covered += low <= 2 / 3 <= high
    assert 0.91 <= covered / len(samples) <= 0.98


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_an_interval_is_that_of_scipy(seed: int, stats: Any) -> None:
    values = RNG(seed).random(80)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=10_000, method="percentile", random_state=RNG(seed)
    ).confidence_interval
    ours = inference.interval(values.tolist())
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.005)


def test_intervals_are_the_same_every_time_and_follow_the_seed() -> None:
    values = RNG(6).random(50).tolist()
    assert inference.interval(values) == inference.interval(values)
    assert inference.interval(values, seed=1) != inference.interval(values, seed=2)


def test_columns_have_the_intervals_that_they_have_alone() -> None:
    first, second = RNG(7).random(40).tolist(), RNG(8).random(40).tolist()
    both = inference.intervals({"a": first, "b": second})
    assert both["a"] == pytest.approx(inference.interval(first))
    assert both["b"] == pytest.approx(inference.interval(second))


def test_what_does_not_vary_has_no_width() -> None:
    assert inference.interval([0.25] * 40) == pytest.approx((0.25, 0.25))
    assert inference.interval([]) == (0.0, 0.0)
    assert inference.intervals({}) == {}


def test_more_queries_give_a_narrower_interval() -> None:
    values = RNG(9).random(1_000).tolist()
    few_low, few_high = inference.interval(values[:40])
    low, high = inference.interval(values)
    assert high - low < (few_high - few_low) / 3


# ---- the permutation test ----------------------------------------------------------------------


@pytest.mark.parametrize("seed", [11, 12, 13, 14])
@pytest.mark.parametrize("shift", [0.0, 0.1, 0.2])
def test_a_p_value_is_that_of_scipy(seed: int, shift: float, stats: Any) -> None:
    gaps = gaps_of(seed, shift=shift)
    theirs = stats.permutation_test(
        (gaps, np.zeros_like(gaps)),
        lambda a, b, axis: np.mean(a - b, axis=axis),
        permutation_type="samples",
        n_resamples=10_000,
        vectorized=True,
        rng=RNG(seed),
    ).pvalue
    # Two estimates of one chance: each is off by up to 4 times sqrt(p (1 - p) / 10,000).
    assert inference.permutation_p(gaps) == pytest.approx(theirs, abs=0.02)


def test_a_p_value_is_the_exact_one_when_all_signs_can_be_tried() -> None:
    gaps = np.array([0.3, 0.1, -0.2, 0.4, 0.25, 0.5, -0.05, 0.35])
    flips = [abs(np.dot(signs, gaps)) for signs in itertools.product([-1, 1], repeat=len(gaps))]
    exact = np.mean(np.array(flips) >= abs(gaps.sum()) - 1e-12)
    assert inference.permutation_p(gaps) == pytest.approx(exact, abs=0.01)


def test_without_a_difference_alarms_are_as_rare_as_they_say() -> None:
    alarms = sum(inference.permutation_p(gaps_of(seed, shift=0.0)) < 0.05 for seed in range(400))
    assert 0.02 <= alarms / 400 <= 0.09


def test_ties_tell_nothing() -> None:
    assert inference.permutation_p(np.zeros(100)) == 1.0
    gaps = gaps_of(15)
    padded = np.concatenate([gaps, np.zeros(500)])
    assert inference.permutation_p(padded) == inference.permutation_p(gaps)


def test_no_chance_is_said_to_be_zero() -> None:
    assert inference.permutation_p(np.full(200, 0.5)) == 1 / (inference.RESAMPLES + 1)


# ---- both together -----------------------------------------------------------------------------


@settings(max_examples=25)
@given(
    pairs=st.lists(
        st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0])),
        min_size=2,
        max_size=60,
    )
)
def test_the_other_way_round_is_the_mirror_image(pairs: list[tuple[float, float]]) -> None:
    before, after = [a for a, _ in pairs], [b for _, b in pairs]
    forth, back = inference.difference(before, after), inference.difference(after, before)
    assert forth.mean == -back.mean
    assert (forth.low, forth.high) == pytest.approx((-back.high, -back.low))
    assert forth.p == back.p
    assert (forth.wins, forth.losses) == (back.losses, back.wins)


def test_a_difference_says_what_changed() -> None:
    told = inference.difference([0.0, 1.0, 0.5, 0.5], [1.0, 0.5, 0.5, 1.0])
    assert (told.before, told.after, told.mean) == (0.5, 0.75, 0.25)
    assert (told.queries, told.wins, told.losses) == (4, 2, 1)
    assert told == inference.difference([0.0, 1.0, 0.5, 0.5], [1.0, 0.5, 0.5, 1.0])


# ---- Holm --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ([], []),
        ([0.02], [0.02]),
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),
        ([0.01, 0.02, 0.03, 0.04], [0.04, 0.06, 0.06, 0.06]),
        ([0.5, 0.9, 0.8], [1.0, 1.0, 1.0]),
        ([0.04, 0.001], [0.04, 0.002]),
        ([0.02, 0.02], [0.04, 0.04]),
    ],
)
def test_holm_by_hand(given_: list[float], expected: list[float]) -> None:
    assert inference.holm(given_) == pytest.approx(expected)


@given(given_=st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_never_makes_a_p_value_smaller_and_keeps_their_order(given_: list[float]) -> None:
    corrected = inference.holm(given_)
    assert all(p <= after <= 1 for p, after in zip(given_, corrected, strict=True))
    assert min(corrected) == pytest.approx(min(1.0, min(given_) * len(given_)))
    pairs = sorted(zip(given_, corrected, strict=True))
    assert [after for _, after in pairs] == sorted(corrected)


def test_twenty_comparisons_of_nothing_rarely_raise_any_alarm() -> None:
    rng = RNG(21)
    alarms = sum(min(inference.holm(rng.random(20).tolist())) < 0.05 for _ in range(1_000))
    assert alarms / 1_000 <= 0.07


# ---- the verdict -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("difference", "corrected_p", "verdict"),
    [
        (found(), 0.01, Verdict.BETTER),
        (found(low=-0.2, high=-0.1), 0.01, Verdict.WORSE),
        (found(), 0.05, Verdict.CANNOT_TELL),
        (found(low=-0.01), 0.01, Verdict.CANNOT_TELL),
        (found(low=0.0), 0.01, Verdict.CANNOT_TELL),
        (found(low=-0.2, high=0.0), 0.01, Verdict.CANNOT_TELL),
        (found(queries=29), 0.0001, Verdict.TOO_FEW),
        (found(queries=30), 0.0001, Verdict.BETTER),
    ],
)
def test_a_verdict_needs_the_interval_and_the_test_and_enough_queries(
    difference: Difference, corrected_p: float, verdict: Verdict
) -> None:
    assert inference.verdict(difference, corrected_p) is verdict

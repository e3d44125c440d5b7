"""Every metric against trec_eval, and by hand where trec_eval has none."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bearinmind_bench import metrics
from support.bench_sets import TREC_NAMES, disagreements, judged_rankings

IDS = [f"m{number}" for number in range(40)]
rankings = st.lists(st.sampled_from(IDS), unique=True, max_size=metrics.DEPTH)
#: At least one relevant memory; others may be judged and not relevant.
judgements = st.dictionaries(st.sampled_from(IDS), st.integers(0, 3), min_size=1).filter(
    lambda grades: any(grades.values())
)


@settings(max_examples=400)
@given(ranked=rankings, grades=judgements)
def test_every_metric_is_what_trec_eval_says(ranked: list[str], grades: dict[str, int]) -> None:
    assert disagreements(metrics.score, ranked, grades) == {}


def test_rankings_that_find_something_are_what_trec_eval_says_too() -> None:
    """Random ids seldom meet; these rankings hold relevant memories at every depth."""
    for ranked, grades in judged_rankings(400):
        assert disagreements(metrics.score, ranked, grades) == {}


@given(ranked=rankings, grades=judgements)
def test_every_metric_is_a_share(ranked: list[str], grades: dict[str, int]) -> None:
    relevant = {id_: grade for id_, grade in grades.items() if grade}
    for value in metrics.score(ranked, relevant, top_grade=3).values():
        assert 0.0 <= value <= 1.0 + 1e-12


@given(grades=st.dictionaries(st.sampled_from(IDS), st.integers(1, 3), min_size=1, max_size=10))
def test_the_best_possible_ranking_has_one_everywhere(grades: dict[str, int]) -> None:
    ranked = sorted(grades, key=lambda id_: -grades[id_])
    found = metrics.score(ranked, grades)
    assert found.pop("recall@1") == 1 / len(grades)
    if len(grades) > 5:
        assert found.pop("recall@5") == 5 / len(grades)
        assert found.pop("all_relevant@5") == 0.0
    assert {*found.values()} == {1.0}


def test_nothing_found_is_zero_everywhere() -> None:
    assert {*metrics.score([], {"a": 1}, 3).values()} == {0.0}
    assert {*metrics.score(["x", "y"], {"a": 1}, 3).values()} == {0.0}


def test_ndcg_by_hand() -> None:
    ranked, relevant = ["x", "a", "b"], {"a": 1, "b": 3}
    gained = 1 / math.log2(3) + 3 / math.log2(4)
    ideal = 3 / math.log2(2) + 1 / math.log2(3)
    assert metrics.ndcg(ranked, relevant, 10) == pytest.approx(gained / ideal)


@pytest.mark.parametrize(
    ("ranked", "five", "ten"),
    [
        (["a", "b"], 1.0, 1.0),
        (["b", "x", "y", "z", "a"], 1.0, 1.0),
        (["b", "x", "y", "z", "w", "a"], 0.0, 1.0),
        (["b", *"cdefghijk", "a"], 0.0, 0.0),
        (["a"], 0.0, 0.0),
        ([], 0.0, 0.0),
    ],
)
def test_all_relevant_wants_every_one_of_them_within_k(
    ranked: list[str], five: float, ten: float
) -> None:
    found = metrics.score(ranked, {"a": 1, "b": 2})
    assert (found["all_relevant@5"], found["all_relevant@10"]) == (five, ten)


def test_more_relevant_memories_than_places_cannot_all_be_there() -> None:
    relevant = dict.fromkeys("abcdef", 1)
    assert metrics.all_relevant([*"abcdef"], relevant, 5) == 0.0
    assert metrics.all_relevant([*"abcdef"], relevant, 6) == 1.0


@pytest.mark.parametrize(
    ("ranked", "expected"),
    [
        (["best"], (1.0, 1.0, 1.0)),
        (["good", "best"], (0.0, 1.0, 1.0)),
        (["good", *"abcd", "best"], (0.0, 0.0, 1.0)),
        (["good", *"abcdefghi", "best"], (0.0, 0.0, 0.0)),
        (["good"], (0.0, 0.0, 0.0)),
    ],
)
def test_an_answer_is_a_memory_of_the_best_grade(
    ranked: list[str], expected: tuple[float, ...]
) -> None:
    found = metrics.score(ranked, {"best": 3, "good": 2}, top_grade=3)
    assert tuple(found[f"answers@{k}"] for k in (1, 5, 10)) == expected


def test_without_grades_nothing_is_said_about_answers() -> None:
    assert not [name for name in metrics.names(1) if name.startswith("answers")]
    assert [name for name in metrics.names(2) if name.startswith("answers")]
    assert {*TREC_NAMES} <= {*metrics.names()}


def test_means_are_over_queries() -> None:
    rows = [metrics.score(["a"], {"a": 1}), metrics.score(["x", "a"], {"a": 1})]
    assert metrics.mean(rows)["mrr"] == 0.75
    assert metrics.mean([]) == {}


@pytest.mark.parametrize(
    ("ranked", "first", "above", "without"),
    [
        (["new", "old"], 1.0, 0.0, 0.0),
        (["old", "new"], 0.0, 1.0, 0.0),
        (["x", "new"], 1.0, 0.0, 0.0),  # no stale one is shown
        (["x", "old"], 0.0, 1.0, 1.0),
        (["old", *"abcd", "new"], 0.0, 1.0, 1.0),  # the current one stands sixth
        (["older", "new", "old"], 0.0, 1.0, 0.0),  # every stale one counts
        ([*"abcde", "old"], 0.0, 1.0, 0.0),
        ([*"abcde", "new"], 1.0, 0.0, 0.0),
        ([*"abcdefghij", "old"], 0.0, 0.0, 0.0),  # neither is among the first ten
        ([*"abcdefghij", "new"], 0.0, 0.0, 0.0),
        ([*"abcdefghi", "old", "new"], 0.0, 1.0, 0.0),
        ([], 0.0, 0.0, 0.0),
    ],
)
def test_what_holds_now_is_held_against_what_held_before(
    ranked: list[str], first: float, above: float, without: float
) -> None:
    scored = metrics.score(ranked, {"new": 3}, stale=("old", "older"))
    assert (
        scored["current_first"],
        scored["stale_above_current"],
        scored["stale_without_current@5"],
    ) == (first, above, without)


def test_the_best_placed_of_several_current_memories_counts() -> None:
    scored = metrics.about_now(["new", "old", "also new"], {"new": 3, "also new": 3}, ("old",))
    assert scored["current_first"] == 1.0


def test_a_question_without_earlier_states_says_nothing_about_now() -> None:
    assert "current_first" not in metrics.score(["a"], {"a": 1})
    assert "current_first" not in metrics.names()
    assert metrics.names(stale=True)[-3:] == (
        "current_first",
        "stale_above_current",
        "stale_without_current@5",
    )


def test_a_metric_is_the_mean_of_the_queries_that_have_it() -> None:
    rows = [
        metrics.score(["a"], {"a": 1}),
        metrics.score(["a", "b"], {"a": 1}, stale=("b",)),
        metrics.score(["b", "a"], {"a": 1}, stale=("b",)),
    ]
    means = metrics.mean(rows)
    assert means["current_first"] == 0.5
    assert means["mrr"] == pytest.approx(2.5 / 3)

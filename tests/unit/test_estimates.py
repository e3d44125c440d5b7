from __future__ import annotations

import pytest

from bearinmind.store.memories import Estimates, deciding


@pytest.fixture
def estimates() -> Estimates:
    """Of an index of 1,000 versions with 5,000 terms, in which 40 hold one word."""
    made = Estimates(most=3)
    made.refresh(1_000, 5_000)
    made.remember({"walrus": 40, "unicorn": 0})
    return made


def test_a_count_is_remembered_but_never_that_there_is_none(estimates: Estimates) -> None:
    assert estimates.known(["walrus", "unicorn", "seal"]) == {"walrus": 40}


@pytest.mark.parametrize(("total", "forgotten"), [(1_010, False), (990, False), (1_011, True)])
def test_counts_are_forgotten_once_the_index_has_changed_by_more_than_one_percent(
    estimates: Estimates, total: int, forgotten: bool
) -> None:
    assert estimates.refresh(total, 5_000) == forgotten
    assert estimates.known(["walrus"]) == ({} if forgotten else {"walrus": 40})


def test_slow_growth_adds_up(estimates: Estimates) -> None:
    assert [estimates.refresh(1_000 + more, 5_000) for more in (5, 10, 15, 20)] == [
        *(False, False),
        *(True, False),
    ]


def test_counts_are_forgotten_once_there_are_too_many(estimates: Estimates) -> None:
    estimates.remember({f"word{n}": 1 for n in range(3)})
    assert estimates.refresh(1_000, 5_000)
    assert estimates.known(["walrus", "word1"]) == {}


def test_statistics_say_how_much_the_index_holds_now(estimates: Estimates) -> None:
    estimates.refresh(1_001, 6_006)
    assert estimates.statistics({"walrus": 40}) == (1_001, 6.0, {"walrus": 40})
    assert Estimates(most=3).statistics({}) == (0, 0.0, {})


@pytest.mark.parametrize(
    ("matching", "chosen"),
    [
        ({"a": 5, "b": 3}, ["b", "a"]),
        ({"a": 300, "b": 10, "c": 45}, ["b", "c"]),  # the next would match more than both
        ({"a": 50, "b": 50, "c": 50, "d": 50, "e": 50}, ["a", "b", "c", "d"]),  # enough
        ({"a": 900, "b": 49}, ["b", "a"]),  # fewer than are wanted
        ({}, []),
    ],
)
def test_the_rarest_terms_decide(matching: dict[str, float], chosen: list[str]) -> None:
    assert deciding(matching, 50) == chosen

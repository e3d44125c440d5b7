"""Limits hold to the request, for each alone, in bounded memory and with many threads."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bearinmind.accounts.authenticator import RateLimit, RecentSet


class Ticks:
    """Seconds that go by when the test says so."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def ticks() -> Ticks:
    return Ticks()


def taken(limit: RateLimit, who: str, per_minute: int, attempts: int) -> int:
    return sum(limit.take(who, per_minute) == 0 for _ in range(attempts))


def test_so_many_are_let_through_at_once_and_no_more(ticks: Ticks) -> None:
    limit = RateLimit(ticks=ticks)
    assert taken(limit, "a", 10, 50) == 10


def test_who_waits_as_long_as_is_said_is_let_through(ticks: Ticks) -> None:
    limit = RateLimit(ticks=ticks)
    taken(limit, "a", 10, 10)
    waiting = limit.take("a", 10)
    assert waiting == pytest.approx(6)
    ticks.now += waiting * 0.99
    assert limit.take("a", 10) > 0
    ticks.now += waiting * 0.011
    assert limit.take("a", 10) == 0


def test_asking_in_vain_costs_nothing(ticks: Ticks) -> None:
    limit = RateLimit(ticks=ticks)
    taken(limit, "a", 10, 10_000)
    ticks.now += 6.001
    assert limit.take("a", 10) == 0


def test_a_long_rest_gives_a_minutes_worth_and_no_more(ticks: Ticks) -> None:
    limit = RateLimit(ticks=ticks)
    taken(limit, "a", 10, 10)
    ticks.now += 3_600
    assert taken(limit, "a", 10, 50) == 10


def test_one_does_not_wait_for_another(ticks: Ticks) -> None:
    limit = RateLimit(ticks=ticks)
    taken(limit, "a", 1, 5)
    assert limit.take("b", 1) == 0


def test_looking_counts_nothing(ticks: Ticks) -> None:
    limit = RateLimit(ticks=ticks)
    assert [limit.wait("a", 1) for _ in range(5)] == [0] * 5
    assert limit.take("a", 1) == 0
    assert limit.wait("a", 1) == pytest.approx(60)


@given(
    per_minute=st.integers(1, 1_000),
    pauses=st.lists(st.floats(0, 30), min_size=1, max_size=200),
)
def test_no_span_of_time_sees_more_than_a_minutes_worth_and_its_share(
    per_minute: int, pauses: list[float]
) -> None:
    ticks = Ticks()
    limit = RateLimit(ticks=ticks)
    begun, through = ticks.now, 0
    for pause in pauses:
        ticks.now += pause
        through += limit.take("a", per_minute) == 0
        most = per_minute + (ticks.now - begun) * per_minute / 60
        assert through <= math.ceil(most + 1e-6)


def test_memory_is_bounded_and_who_was_seen_last_is_remembered(ticks: Ticks) -> None:
    limit = RateLimit(ticks=ticks, most=100)
    limit.take("a", 1)
    for number in range(99):
        limit.take(number, 1)
    assert limit.take("a", 1) > 0  # seen again, so it is not the oldest now
    for number in range(99, 198):
        limit.take(number, 1)
    assert len(limit) == 100
    assert limit.take("a", 1) > 0


def test_threads_at_once_are_let_through_as_often_as_one(ticks: Ticks) -> None:
    limit = RateLimit(ticks=ticks)
    with ThreadPoolExecutor(8) as pool:
        counts = [*pool.map(lambda _: taken(limit, "a", 500, 500), range(8))]
    assert sum(counts) == 500


def test_what_was_seen_longest_ago_is_forgotten_first() -> None:
    seen = RecentSet(most=2)
    for what in ("a", "b", "a", "c"):
        seen.add(what)
    assert ["a" in seen, "b" in seen, "c" in seen] == [True, False, True]
    seen.discard("a")
    seen.discard("never there")
    assert "a" not in seen

"""Limits hold to the request, for each alone, in bounded memory and with many threads."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bearinmind.accounts.keys import RateLimit, RecentSet
from bearinmind.testing import FixedClock, TemporaryStore


@pytest.fixture
def store() -> Iterator[TemporaryStore]:
    with closing(TemporaryStore()) as made:
        yield made


@pytest.fixture
def limit(store: TemporaryStore, clock: FixedClock) -> RateLimit:
    return RateLimit(store, "requests", clock=clock)


def taken(limit: RateLimit, who: str, per_minute: int, attempts: int) -> int:
    return sum(limit.take(who, per_minute) == 0 for _ in range(attempts))


def test_so_many_are_let_through_at_once_and_no_more(limit: RateLimit) -> None:
    assert taken(limit, "a", 10, 50) == 10


def test_who_waits_as_long_as_is_said_is_let_through(limit: RateLimit, clock: FixedClock) -> None:
    taken(limit, "a", 10, 10)
    waiting = limit.take("a", 10)
    assert waiting == pytest.approx(6)
    clock.advance(seconds=waiting * 0.99)
    assert limit.take("a", 10) > 0
    clock.advance(seconds=waiting * 0.011)
    assert limit.take("a", 10) == 0


def test_asking_in_vain_costs_nothing(limit: RateLimit, clock: FixedClock) -> None:
    taken(limit, "a", 10, 10_000)
    clock.advance(seconds=6.001)
    assert limit.take("a", 10) == 0


def test_a_long_rest_gives_a_minutes_worth_and_no_more(limit: RateLimit, clock: FixedClock) -> None:
    taken(limit, "a", 10, 10)
    clock.advance(seconds=3_600)
    assert taken(limit, "a", 10, 50) == 10


def test_one_does_not_wait_for_another(limit: RateLimit) -> None:
    taken(limit, "a", 1, 5)
    assert limit.take("b", 1) == 0


def test_looking_counts_nothing(limit: RateLimit) -> None:
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
    clock = FixedClock()
    begun, through = clock(), 0
    with closing(TemporaryStore()) as store:
        limits = [RateLimit(store, "requests", clock=clock) for _ in range(2)]
        for number, pause in enumerate(pauses):
            clock.advance(seconds=pause)
            through += limits[number % 2].take("a", per_minute) == 0
            most = per_minute + (clock() - begun).total_seconds() * per_minute / 60
            assert through <= math.ceil(most + 1e-6)


def test_memory_is_bounded_and_who_is_forgotten_here_is_known_to_the_store(
    store: TemporaryStore, clock: FixedClock
) -> None:
    limit = RateLimit(store, "requests", clock=clock, most=100)
    for number in range(198):
        limit.take(str(number), 1)
    assert len(limit._portions) == 100
    assert limit.take("0", 1) > 0


def test_who_has_rested_is_forgotten(
    store: TemporaryStore, limit: RateLimit, clock: FixedClock
) -> None:
    for number in range(5):
        limit.take(str(number), 1)
    clock.advance(seconds=61)
    limit.take("another", 1)
    with closing(sqlite3.connect(store.path)) as connection:
        left = connection.execute("SELECT client FROM allowances").fetchall()
    assert left == [("requests another",)]


@pytest.mark.parametrize("per_minute", [1, 7, 59, 60, 500, 1_000, 20_000])
def test_two_processes_share_a_limit(
    store: TemporaryStore, clock: FixedClock, per_minute: int
) -> None:
    limits = [RateLimit(store, "requests", clock=clock) for _ in range(2)]
    through = 0
    for _ in range(per_minute):
        through += sum(limit.take("a", per_minute) == 0 for limit in limits)
    assert through == per_minute
    waits = [limit.take("a", per_minute) for limit in limits]
    assert all(0 < wait <= 60 / per_minute for wait in waits)
    clock.advance(seconds=60)
    assert limits[0].take("a", per_minute) == 0


def test_a_second_is_taken_at_once_and_what_is_left_of_it_is_lost(
    store: TemporaryStore, clock: FixedClock
) -> None:
    """A process that kept it would let more through later than the limit says."""
    one, other = (RateLimit(store, "requests", clock=clock) for _ in range(2))
    one.take("a", 600)
    assert store.take_allowance("requests a", clock(), 600, 1_000) == 590
    assert other.take("a", 600) > 0
    assert one.take("a", 600) == 0
    clock.advance(seconds=1)  # in which ten more come
    assert store.take_allowance("requests a", clock(), 600, 1_000) == 10
    assert one.take("a", 600) > 0


class CountingStore(TemporaryStore):
    """A store that counts how often it is asked about a limit."""

    asked = 0

    def take_allowance(self, client: str, now: datetime, per_minute: int, count: int) -> int:
        self.asked += 1
        return super().take_allowance(client, now, per_minute, count)

    def allowance_wait(self, client: str, now: datetime, per_minute: int) -> float:
        self.asked += 1
        return super().allowance_wait(client, now, per_minute)


def test_the_store_is_asked_once_for_a_second_and_not_about_who_waits(clock: FixedClock) -> None:
    with closing(CountingStore()) as store:
        limit = RateLimit(store, "requests", clock=clock)
        assert taken(limit, "a", 6_000, 100) == 100
        assert store.asked == 1
        assert taken(limit, "a", 6_000, 5_900) == 5_900
        assert store.asked == 60
        assert taken(limit, "a", 6_000, 1_000) == 0
        assert store.asked == 62


def test_a_clock_that_is_set_back_locks_nobody_out(limit: RateLimit, clock: FixedClock) -> None:
    taken(limit, "a", 10, 10)
    clock.advance(hours=-1)
    assert limit.take("a", 10) == 0


def test_limits_of_two_kinds_are_counted_apart(store: TemporaryStore, clock: FixedClock) -> None:
    assert RateLimit(store, "requests", clock=clock).take("a", 1) == 0
    assert RateLimit(store, "failures", clock=clock).take("a", 1) == 0


def test_threads_at_once_are_let_through_as_often_as_one(limit: RateLimit) -> None:
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

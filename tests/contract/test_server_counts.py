"""Every store keeps sessions of browsers and what servers count, for each user apart."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest

from bearinmind.errors import UserNotFound
from bearinmind.protocols import (
    AgentSession,
    BrowserSession,
    DeadJob,
    OwnerSize,
    OwnerUse,
    Step,
    Store,
    TrafficCount,
    TrafficKind,
    TrafficPoint,
    User,
    UserTraffic,
)
from bearinmind.types import Access, Memory, Provenance, Right, Scope, Share, UserId

ADA, BEA, NOBODY = UserId("ada"), UserId("bea"), UserId("")
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def known(store: Store, noon: datetime) -> Store:
    for name in (ADA, BEA):
        store.add_user(User(name, noon))
    return store


def session(name: bytes, noon: datetime, user: UserId = ADA, **fields: Any) -> BrowserSession:
    hash_ = name.ljust(32, b".")
    plain = BrowserSession(hash_, user, Access.WRITE, None, False, noon, noon + HOUR)
    return plain._replace(**fields)


# ---- sessions ----------------------------------------------------------------------------------


def test_a_session_is_kept_until_it_ends(known: Store, noon: datetime) -> None:
    one, link = session(b"one", noon), session(b"link", noon, BEA, is_link=True)
    assert known.add_session(one)
    assert known.add_session(link)
    assert known.session(one.hash) == one
    assert known.session(link.hash) == link
    assert known.end_session(one.hash)
    assert not known.end_session(one.hash)
    assert known.session(one.hash) is None


def test_a_link_gives_its_place_to_one_session(known: Store, noon: datetime) -> None:
    link = session(b"link", noon, is_link=True)
    known.add_session(link)
    first, second = session(b"first", noon), session(b"second", noon)
    assert known.add_session(first, instead_of=link.hash)
    assert not known.add_session(second, instead_of=link.hash)
    assert known.session(link.hash) is None
    assert known.session(second.hash) is None


def test_of_many_who_use_a_link_at_once_one_gets_a_session(known: Store, noon: datetime) -> None:
    link = session(b"link", noon, is_link=True)
    known.add_session(link)
    wanted = [session(f"s{number}".encode(), noon) for number in range(12)]
    with ThreadPoolExecutor(4) as pool:
        opened = [*pool.map(lambda each: known.add_session(each, instead_of=link.hash), wanted)]
    assert opened.count(True) == 1
    kept = [each for each in wanted if known.session(each.hash)]
    assert kept == [wanted[opened.index(True)]]


def test_expired_sessions_are_forgotten_when_another_is_kept(known: Store, noon: datetime) -> None:
    old = session(b"old", noon)
    known.add_session(old)
    known.add_session(session(b"new", noon + 2 * HOUR, expires_at=noon + 3 * HOUR))
    assert known.session(old.hash) is None


def test_a_session_needs_a_user_who_is_let_in(known: Store, noon: datetime) -> None:
    with pytest.raises(UserNotFound):
        known.add_session(session(b"one", noon, UserId("eve")))
    one = session(b"one", noon)
    known.add_session(one)
    known.set_disabled(ADA, noon)
    assert known.session(one.hash) is None


# ---- counts ------------------------------------------------------------------------------------


def test_counts_are_added_up_by_minute_and_by_hour_for_each_user(
    store: Store, noon: datetime
) -> None:
    for _ in range(2):  # two servers, or two batches of one
        store.count_traffic(
            [
                TrafficCount(ADA, TrafficKind.REQUESTS, noon, 3),
                TrafficCount(ADA, TrafficKind.RECALLS, noon, 1),
                TrafficCount(ADA, TrafficKind.REQUESTS, noon + MINUTE, 1),
                TrafficCount(BEA, TrafficKind.REQUESTS, noon, 5),
                TrafficCount(NOBODY, TrafficKind.ERRORS, noon, 1),
            ],
            noon,
        )
    assert store.traffic(Scope(user=ADA), Step.MINUTE, noon) == [
        TrafficPoint(noon, requests=6, recalls=2),
        TrafficPoint(noon + MINUTE, requests=2),
    ]
    assert store.traffic(Scope(user=ADA), Step.HOUR, noon) == [
        TrafficPoint(noon, requests=8, recalls=2)
    ]
    assert store.traffic(Scope(user=UserId("eve")), Step.HOUR, noon) == []
    assert store.whole_traffic(Step.HOUR, noon) == [
        TrafficPoint(noon, requests=18, recalls=2, errors=2)
    ]
    assert store.traffic_by_user(Step.HOUR, noon) == [
        UserTraffic(NOBODY, errors=2),
        UserTraffic(ADA, requests=8, recalls=2),
        UserTraffic(BEA, requests=10),
    ]


def test_minutes_are_kept_for_a_day_and_hours_for_90(store: Store, noon: datetime) -> None:
    scope = Scope(user=ADA)
    store.count_traffic([TrafficCount(ADA, TrafficKind.STORES, noon, 1)], noon)
    store.count_traffic([], noon + DAY + MINUTE)
    assert store.traffic(scope, Step.MINUTE, noon) == []
    assert store.traffic(scope, Step.HOUR, noon) == [TrafficPoint(noon, stores=1)]
    store.count_traffic([], noon + 90 * DAY + MINUTE)
    assert store.traffic(scope, Step.HOUR, noon) == []


# ---- what administrators see -------------------------------------------------------------------


def test_an_administrator_sees_sizes_shares_and_jobs_that_were_given_up(
    store: Store, scope: Scope, make: Callable[..., Memory], noon: datetime
) -> None:
    memory = make("walruses sing")
    store.put(scope, memory)
    share = Share(owner=scope.user, reader=BEA, right=Right.READ, memory=memory.id, created_at=noon)
    store.add_share(scope, share)
    assert store.all_shares(10) == [share]
    assert store.all_shares(10)[0].owner == scope.user
    assert store.sizes_by_owner(10) == [OwnerSize(scope.user, 1)]
    assert store.dead_jobs(10) == []
    jobs = store.claim(["compare"], 10, noon, noon + HOUR)
    store.give_back(jobs, "no room", noon, dead=True)
    [job] = store.dead_jobs(10)
    assert job == DeadJob("compare", "", scope.user, memory.id, job.attempts, "no room")


def test_a_server_measures_users_and_the_queue(
    store: Store, scope: Scope, make: Callable[..., Memory], noon: datetime
) -> None:
    assert (store.uses_by_owner(), store.queue_ends()) == ([], [])
    first, second = make("walruses sing"), make("größer")
    store.put(scope, first)
    [(_, oldest, _)] = store.queue_ends()
    store.put(scope, second)
    [ends] = store.queue_ends()

    assert store.uses_by_owner() == [OwnerUse(scope.user, 2, 13 + 8)]  # in UTF-8
    assert ends[:2] == ("compare", oldest)
    assert ends[2] > oldest
    assert store.replica_lag() is None
    jobs = store.claim(["compare"], 10, noon, noon + HOUR)
    store.give_back(jobs, "no room", noon, dead=True)
    assert store.queue_ends() == []


def test_memories_are_counted_by_day_and_by_session_of_their_agent(
    store: Store, scope: Scope, make: Callable[..., Memory], noon: datetime
) -> None:
    for text, later, category, session_ in (
        ("one", 0 * DAY, "facts", "s-1"),
        ("two", HOUR, "facts", "s-1"),
        ("three", 2 * DAY, "decisions", None),
        ("four", 3 * DAY, "facts", "s-2"),
    ):
        origin = Provenance(session=session_)
        memory = make(text, category=category, created_at=noon + later, provenance=origin)
        store.put(scope, memory)
    midnight = noon.replace(hour=0)
    assert store.density(scope, DAY) == [
        (midnight, "facts", 2),
        (midnight + 2 * DAY, "decisions", 1),
        (midnight + 3 * DAY, "facts", 1),
    ]
    assert store.density(Scope(user=BEA), DAY) == []
    assert store.agent_sessions(scope, 10) == [
        AgentSession("s-2", None, None, noon + 3 * DAY, noon + 3 * DAY, 1),
        AgentSession("s-1", None, None, noon, noon + HOUR, 2),
    ]

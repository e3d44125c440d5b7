"""A connection to Postgres is lost at the worst moments: nobody is told what is not so."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta

import psycopg
import pytest

from bearinmind.errors import IdTaken, StoreBusy, StoreUnavailable
from bearinmind.protocols import History
from bearinmind.store.postgres.pool import Pool
from bearinmind.store.postgres.store import PostgresStore
from bearinmind.types import Filter, Memory, Scope, Stored, UserId
from support.processes import wait_until
from support.tcp_proxy import Way, way_to

ADA = Scope(user=UserId("ada"))
Make = Callable[..., Memory]


@pytest.fixture
def url(migrated_database: Callable[[], str]) -> str:
    return migrated_database()


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    made = PostgresStore(url, busy_timeout=20, connections=4)
    yield made
    made.close()


@pytest.fixture
def admin(url: str) -> Iterator[psycopg.Connection]:
    """Somebody else, who may end the sessions of others."""
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def cut_store(url: str) -> Iterator[tuple[Way, PostgresStore]]:
    """A store whose connections go by a way that can be cut."""
    with way_to(url) as (way, by_it):
        made = PostgresStore(by_it, busy_timeout=20, connections=1)
        yield way, made
        made.close()


def _end_sessions(admin: psycopg.Connection, *, waiting: bool = False) -> None:
    """End every other session of this database, or those that wait for a lock."""
    ended = admin.execute(
        """
        SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND (wait_event_type = 'Lock' OR NOT %s)
        """,
        [waiting],
    ).fetchall()
    assert ended


def _is_waiting(admin: psycopg.Connection) -> bool:
    found = admin.execute(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() "
        "AND wait_event_type = 'Lock'"
    )
    return found.fetchone() is not None


# ---- lost between two calls, or before anything has happened ------------------------------------


def test_nobody_notices_that_all_connections_were_ended_between_two_calls(
    store: PostgresStore, admin: psycopg.Connection, make: Make
) -> None:
    with ThreadPoolExecutor(8) as threads:  # as many connections as may be
        [*threads.map(lambda n: store.put(ADA, make(f"memory {n}")), range(40))]
    for n in range(3):
        _end_sessions(admin)
        kept = make(f"after {n}")
        assert isinstance(store.put(ADA, kept), Stored)
        _end_sessions(admin)
        assert store.get(ADA, kept.id) == kept


def test_a_read_that_loses_its_connection_is_read_again(
    store: PostgresStore, admin: psycopg.Connection, url: str, make: Make, noon: datetime
) -> None:
    kept = make("walrus")
    store.put(ADA, kept)
    with psycopg.connect(url) as other, ThreadPoolExecutor(1) as thread:
        other.execute("LOCK TABLE memories")
        reading = thread.submit(store.get, ADA, kept.id)
        wait_until(lambda: _is_waiting(admin))
        _end_sessions(admin, waiting=True)
        wait_until(lambda: _is_waiting(admin))  # it asks again
        other.rollback()
        assert reading.result() == kept
    assert store.lexical_matches(Filter(scope=ADA, now=noon), ["walrus"], every=True, limit=1)


def test_whoever_waits_for_a_turn_and_loses_the_connection_waits_on_another_one(
    store: PostgresStore, admin: psycopg.Connection, make: Make
) -> None:
    mine, other = make("mine"), make("other")
    with ThreadPoolExecutor(1) as thread:
        with store._pool.writing(ADA.user):
            writing = thread.submit(store.put, ADA, mine)
            wait_until(lambda: _is_waiting(admin))
            _end_sessions(admin, waiting=True)
            wait_until(lambda: _is_waiting(admin))
        assert writing.result() == Stored(memory=mine)
    assert isinstance(store.put(ADA, other), Stored)


# ---- lost in the middle of a transaction, or at its end -----------------------------------------


def test_a_write_that_loses_its_connection_says_that_nothing_was_changed(
    store: PostgresStore, admin: psycopg.Connection, make: Make
) -> None:
    kept = make("kept")
    store.put(ADA, kept)

    def write() -> None:
        with store._pool.writing(ADA.user) as transaction:
            transaction.change("delete_memories", {"owner": ADA.user, "ids": [kept.id]})
            _end_sessions(admin)
            transaction.change("delete_links", {"owner": ADA.user, "ids": [kept.id]})

    with pytest.raises(StoreUnavailable, match="nothing was changed") as caught:
        write()
    assert "try again" in caught.value.hint
    assert store.get(ADA, kept.id) == kept


def test_a_memory_is_acknowledged_when_only_the_answer_was_lost(
    cut_store: tuple[Way, PostgresStore], make: Make
) -> None:
    way, store = cut_store
    first, second = make("first"), make("second")
    way.lose_answer.set()
    assert store.put(ADA, first) == Stored(memory=first)
    assert not way.lose_answer.is_set(), "it was lost"
    changed = replace(first, content="changed", version=2)
    way.lose_answer.set()
    store.replace(ADA, changed)
    way.lose_answer.set()
    assert store.put_many(ADA, [History(versions=(second,))]) == [Stored(memory=second)]
    assert not way.lose_answer.is_set()
    assert store.versions(ADA, first.id) == [first, changed]
    assert store.get(ADA, second.id) == second
    with pytest.raises(IdTaken):
        store.put(ADA, replace(first, content="another"))


def test_a_memory_that_never_arrived_is_not_acknowledged(
    cut_store: tuple[Way, PostgresStore], make: Make
) -> None:
    way, store = cut_store
    store._pool.close()  # on the next connection a commit is sent as it is, not prepared
    lost = make("lost")
    way.lose_request.set()
    with pytest.raises(StoreUnavailable, match="nothing was changed"):
        store.put(ADA, lost)
    assert store.get(ADA, lost.id) is None
    assert store.put(ADA, lost) == Stored(memory=lost)


def test_what_leaves_no_version_behind_says_that_it_is_not_known(
    cut_store: tuple[Way, PostgresStore], make: Make
) -> None:
    way, store = cut_store
    kept = make("kept")
    store.put(ADA, kept)
    way.lose_answer.set()
    with pytest.raises(StoreUnavailable, match="whether anything was changed is not known"):
        store.purge(ADA, [kept.id])
    assert store.get(ADA, kept.id) is None
    store.purge(ADA, [kept.id])  # trying again does no harm


# ---- waiting -----------------------------------------------------------------------------------


def test_more_threads_than_connections_take_turns(url: str, make: Make) -> None:
    store = PostgresStore(url, connections=2)
    start = threading.Barrier(12)

    def live(number: int) -> None:
        start.wait()
        for n in range(5):
            memory = make(f"thread {number} memory {n}", id=f"m{number}x{n}")
            scope = Scope(user=UserId(f"user {number % 3}"))
            store.put(scope, memory)
            assert store.get(scope, memory.id) is not None

    with ThreadPoolExecutor(12) as threads:
        [*threads.map(live, range(12))]
    store.close()


def test_whoever_gets_no_connection_is_told_who_has_them(url: str) -> None:
    pool = Pool(url, connections=1, patience=0.2)
    with pool.writing(ADA.user), ThreadPoolExecutor(1) as thread:
        waiting: Future[object] = thread.submit(pool.read, "spaces")
        with pytest.raises(StoreBusy, match=r"all 1 connections .* in use for 0\.2 s") as caught:
            waiting.result()
    assert "store_connections" in caught.value.hint
    pool.close()


def test_whoever_waits_too_long_for_a_turn_is_told_so(url: str, make: Make) -> None:
    store = PostgresStore(url, busy_timeout=0.2)
    with store._pool.writing(ADA.user), ThreadPoolExecutor(1) as thread:
        with pytest.raises(StoreBusy, match="lock timeout; nothing was changed"):
            thread.submit(store.put, ADA, make()).result()
        assert isinstance(
            thread.submit(store.put, Scope(user=UserId("eve")), make()).result(), Stored
        )
    store.close()


def test_of_two_that_wait_for_each_other_one_is_told_to_try_again(
    store: PostgresStore, make: Make, noon: datetime
) -> None:
    """Whatever Bear in Mind itself does locks in one order; others may write to the tables too."""
    eve = UserId("eve")
    start = threading.Barrier(2)

    def write(first: UserId, second: UserId) -> None:
        with store._pool.writing(first) as transaction:
            start.wait()
            transaction.rows("take_turn", {"owner": second, "count": 1})

    with ThreadPoolExecutor(2) as threads:
        both = [threads.submit(write, ADA.user, eve), threads.submit(write, eve, ADA.user)]
        [trouble] = [error for each in both if (error := each.exception()) is not None]
    assert isinstance(trouble, StoreBusy)
    assert "deadlock detected; nothing was changed" in trouble.message
    assert "Try again" in trouble.hint
    assert isinstance(store.put(ADA, make(created_at=noon - timedelta(days=1))), Stored)

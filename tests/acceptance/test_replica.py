"""A standby is read as long as it is recent enough, and the primary otherwise."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg import Connection

from bearinmind.store.postgres.connection_pool import Connections
from bearinmind.store.postgres.replica import Replica, Source
from support.patroni import Cluster, cluster
from support.processes import wait_until

STALENESS = 60.0  # seconds; a test that wants them to be over moves the clock


class Clock:
    """The time, so many seconds later."""

    later = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.later


@pytest.fixture(scope="module")
def pair() -> Iterator[Cluster]:
    """A leader and its standby, with a table of numbers."""
    with cluster(2) as started:
        with psycopg.connect(started.url()) as connection:
            connection.execute("CREATE TABLE numbers (number INTEGER)")
        yield started


@pytest.fixture
def primary(pair: Cluster) -> Iterator[Connections]:
    # On a busy machine a leader loses its lease now and then, and nobody takes writes for a while.
    wait_until(lambda: _takes_writes(pair.url()))
    connections = Connections(pair.url(), most=2, patience=60)
    yield connections
    connections.close()


def _takes_writes(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True


@pytest.fixture
def moving() -> Clock:
    return Clock()


@pytest.fixture
def replica(pair: Cluster, primary: Connections, moving: Clock) -> Iterator[Replica]:
    with _replica(pair.url(wanted="prefer-standby"), primary, clock=moving) as made:
        yield made


@contextmanager
def _replica(
    url: str,
    primary: Connections,
    staleness: float = STALENESS,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Replica]:
    made = Replica(url, primary, staleness=staleness, connections=2, clock=clock)
    yield made
    made.close()


def _add(primary: Connections, number: int) -> None:
    with primary.connection() as connection:
        connection.execute("INSERT INTO numbers VALUES (%s)", [number])


def _source(replica: Replica) -> Source:
    with replica.connection_for_reading() as reading:
        assert (reading.connection is not None) == (reading.source is Source.REPLICA)
    return reading.source


def _numbers(connection: Connection[Any]) -> int:
    """How many there are."""
    [[count]] = connection.execute("SELECT count(*) FROM numbers").fetchall()
    return int(count)


def _finds(replica: Replica, number: int) -> Source:
    """Where a number was read, and surely found."""
    with replica.connection_for_reading() as reading:
        if reading.connection is not None:
            found = reading.connection.execute("SELECT FROM numbers WHERE number = %s", [number])
            assert found.fetchone() is not None
    return reading.source


@contextmanager
def _stalled(pair: Cluster) -> Iterator[None]:
    """The standby receives everything and shows nothing new.

    The process that replays the log is stopped: Patroni ends a mere pause by itself.
    """
    node = pair.standby()
    with psycopg.connect(pair.administrator_url(node)) as connection:
        [[replaying]] = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE backend_type = 'startup'"
        ).fetchall()
    os.kill(replaying, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(replaying, signal.SIGCONT)


def test_reads_go_to_the_standby(pair: Cluster, replica: Replica) -> None:
    wait_until(lambda: _source(replica) is Source.REPLICA)
    with replica.connection_for_reading() as reading:
        assert reading.connection is not None
        [[standby]] = reading.connection.execute("SELECT pg_is_in_recovery()").fetchall()
    assert standby


def test_it_is_told_how_far_a_standby_may_be_behind(
    pair: Cluster, primary: Connections, replica: Replica, moving: Clock
) -> None:
    wait_until(lambda: replica.lag() < STALENESS)
    with _stalled(pair):
        _add(primary, 9_001)
        moving.later += 600
        assert 600 <= replica.lag() < float("inf")
    wait_until(lambda: replica.lag() < 600)
    with _replica("postgresql://ada@127.0.0.1:1/none", primary) as gone:
        assert gone.lag() == float("inf")


def test_a_standby_of_an_idle_primary_stays_in_use(replica: Replica, moving: Clock) -> None:
    wait_until(lambda: _source(replica) is Source.REPLICA)
    moving.later = STALENESS * 1.5
    # Even an idle primary writes to its log at times, which a standby shows a moment later.
    wait_until(lambda: _source(replica) is Source.REPLICA)


def test_every_read_after_a_write_has_it(replica: Replica, primary: Connections) -> None:
    sources = set()
    for number in range(900):
        _add(primary, number)
        replica.wrote()
        time.sleep(number / 10_000)  # a standby needs about a millisecond to show it, or many
        sources.add(_finds(replica, number))
        if number >= 100 and Source.REPLICA in sources:
            break
    assert Source.REPLICA in sources


def test_our_own_write_is_read_from_the_primary_until_the_standby_shows_it(
    pair: Cluster, primary: Connections
) -> None:
    with _replica(pair.url(wanted="standby"), primary, staleness=300) as replica:
        wait_until(lambda: _source(replica) is Source.REPLICA)
        with _stalled(pair):
            _add(primary, 1_000)
            assert _source(replica) is Source.REPLICA  # a stranger's write, not older than allowed
            replica.wrote()
            assert _source(replica) is Source.OWN_WRITES
        wait_until(lambda: _finds(replica, 1_000) is Source.REPLICA)


def test_a_standby_that_falls_behind_is_left_and_taken_up_again(
    pair: Cluster,
    replica: Replica,
    primary: Connections,
    moving: Clock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    wait_until(lambda: _source(replica) is Source.REPLICA)
    caplog.set_level(logging.INFO, "bearinmind.store.postgres.replica")
    with _stalled(pair):
        _add(primary, 2_000)
        moving.later = STALENESS + 1
        wait_until(lambda: _source(replica) is Source.BEHIND)
        assert replica.source is Source.BEHIND
    wait_until(lambda: _source(replica) is Source.REPLICA)
    _finds(replica, 2_000)
    said = [record.getMessage() for record in caplog.records if "read from" in record.message]
    assert said == ["recalls read from primary: the replica is behind", "recalls read from replica"]


@pytest.mark.parametrize(
    ("wanted", "source"),
    [("prefer-standby", Source.NO_STANDBY), ("standby", Source.UNREACHABLE)],
)
def test_without_a_standby_the_primary_is_read(
    pair: Cluster, primary: Connections, wanted: str, source: Source
) -> None:
    with _replica(pair.url(pair.leader(), wanted=wanted), primary) as replica:
        assert _source(replica) is source
        assert replica.answer(_numbers) is None


def test_while_there_is_no_leader_a_standby_answers_until_its_time_is_over(
    pair: Cluster, primary: Connections
) -> None:
    clock = Clock()
    with _replica(pair.url(wanted="standby"), primary, staleness=600, clock=clock) as replica:
        wait_until(lambda: _source(replica) is Source.REPLICA)
        leader = pair.kill_leader()
        try:
            clock.later = 500
            assert _source(replica) is Source.REPLICA
            clock.later = 601
            assert _source(replica) is Source.BEHIND
        finally:
            pair.start_node(leader)
            pair.wait_until_whole()


def test_a_standby_that_dies_while_it_is_read_is_left(
    pair: Cluster, replica: Replica, primary: Connections
) -> None:
    wait_until(lambda: replica.answer(_numbers) is not None)
    node = pair.standby()

    def read(connection: Connection[Any]) -> int:
        node.kill()
        return _numbers(connection)

    try:
        assert replica.answer(read) is None
        assert replica.source is Source.UNREACHABLE
    finally:
        pair.start_node(node)
        pair.wait_until_whole()
    wait_until(lambda: replica.answer(_numbers) is not None)

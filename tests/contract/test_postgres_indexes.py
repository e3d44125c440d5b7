"""The indexes of vector spaces are built when they are due, beside whoever reads and writes."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime

import numpy as np
import psycopg
import pytest

from bearinmind.errors import StoreFailure
from bearinmind.protocols import History
from bearinmind.store.postgres.indexes import SpaceIndex, VectorIndexes
from bearinmind.store.postgres.pool import Pool
from bearinmind.store.postgres.queries import SQL
from bearinmind.store.postgres.search_plan import Costs
from bearinmind.store.postgres.store import PostgresStore
from bearinmind.types import Filter, Memory, Scope, Space, UserId
from support.extractors import HOUR, Make

SPACE = Space(model="made-up", revision="1", dimensions=3)
OTHER = Space(model="made-up", revision="2", dimensions=3)
#: With these an owner of ten vectors is worth an index.
EAGER = Costs(short=9, vector=1, dimension=0, beginning=0, visit=0, visited_dimension=0)


@pytest.fixture
def url(migrated_database: Callable[[], str]) -> str:
    return migrated_database()


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    made = PostgresStore(url, connections=4)
    yield made
    made.close()


@pytest.fixture
def pool(store: PostgresStore) -> Pool:
    return store._pool


@pytest.fixture
def indexes(pool: Pool) -> VectorIndexes:
    return VectorIndexes(pool, EAGER)


@pytest.fixture
def fill(
    store: PostgresStore, make: Make, noon: datetime
) -> Callable[[int, Scope, Space], list[Memory]]:
    """Stores and embeds so many memories."""

    def fill_with(count: int, scope: Scope, space: Space = SPACE) -> list[Memory]:
        store.use_space(space)
        memories = [make(owner=scope.user) for _ in range(count)]
        store.put_many(scope, [History(versions=(memory,)) for memory in memories])
        jobs = store.claim(["embed"], 9_999, noon, noon + HOUR)
        jobs = [job for job in jobs if job.target == space.key]
        random = np.random.default_rng(count)
        store.finish_embedding(space, jobs, random.normal(size=(len(jobs), 3)).astype(np.float32))
        return memories

    return fill_with


Fill = Callable[..., list[Memory]]


@pytest.fixture
def waiting_build(
    url: str, pool: Pool, indexes: VectorIndexes
) -> Iterator[Callable[[SpaceIndex], list[object]]]:
    """Begins to build an index that has to wait for a writer; what comes of it is in the list."""
    writer = psycopg.connect(url)
    builders: list[threading.Thread] = []

    def begin(index: SpaceIndex) -> list[object]:
        writer.execute("UPDATE vectors SET space = space WHERE owner = 'ada'")
        outcome: list[object] = []

        def build() -> None:
            try:
                outcome.append(indexes.build(index))
            except StoreFailure as exc:
                outcome.append(exc)

        builders.append(threading.Thread(target=build))
        builders[-1].start()
        deadline = time.monotonic() + 60
        while indexes.progress() is None or indexes.known()[0].complete is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return outcome

    yield begin
    writer.close()
    for builder in builders:
        builder.join()


def test_an_index_is_due_from_the_size_at_which_it_is_faster(
    indexes: VectorIndexes, fill: Fill, scope: Scope
) -> None:
    fill(9, scope)
    assert indexes.due() == []
    fill(1, scope)
    [due] = indexes.due()
    assert (due.vectors, due.most, due.complete) == (10, 10, None)
    assert indexes.build_due() == [due]
    assert indexes.due() == []
    [built] = indexes.known()
    assert built.complete
    assert built.bytes > 0


def test_many_small_owners_are_not_worth_one(indexes: VectorIndexes, fill: Fill) -> None:
    for name in "abcd":
        fill(5, Scope(user=UserId(name)))
    assert [(each.vectors, each.most) for each in indexes.known()] == [(20, 5)]
    assert indexes.due() == []


def test_with_what_ships_nothing_small_is_due(pool: Pool, fill: Fill, scope: Scope) -> None:
    fill(50, scope)
    assert VectorIndexes(pool).due() == []


def test_writers_and_readers_do_not_wait_for_a_build(
    store: PostgresStore,
    indexes: VectorIndexes,
    waiting_build: Callable[[SpaceIndex], list[object]],
    fill: Fill,
    scope: Scope,
    everything: Filter,
) -> None:
    fill(20, scope)
    [index] = indexes.known()
    outcome = waiting_build(index)
    progress = indexes.progress()
    assert progress is not None
    assert progress.space == index.space
    more = fill(5, scope)
    near = store.nearest(everything, SPACE, np.ones(3, np.float32), 99)
    assert {memory.id for memory in more} < {found.id for found in near.nearest}
    assert outcome == [], "it waits for a writer all the time"


def test_only_one_builds_at_a_time(
    pool: Pool,
    indexes: VectorIndexes,
    waiting_build: Callable[[SpaceIndex], list[object]],
    fill: Fill,
    scope: Scope,
) -> None:
    fill(20, scope)
    [index] = indexes.known()
    waiting_build(index)
    assert not VectorIndexes(pool, EAGER).build(index)
    assert VectorIndexes(pool, EAGER).build_due() == []


def test_what_a_killed_process_began_is_left_to_the_server(
    url: str,
    pool: Pool,
    indexes: VectorIndexes,
    waiting_build: Callable[[SpaceIndex], list[object]],
    fill: Fill,
    scope: Scope,
) -> None:
    fill(20, scope)
    [index] = indexes.known()
    waiting_build(index)
    with psycopg.connect(url) as killer:  # of the connection that keeps others from building
        [lock] = re.findall(r"\d+", str(SQL["try_to_build"]))  # Citus has advisory locks of its own
        killer.execute(
            "SELECT pg_terminate_backend(l.pid) FROM pg_locks AS l"
            " JOIN pg_database AS d ON d.oid = l.database AND d.datname = current_database()"
            " WHERE l.locktype = 'advisory' AND l.objid = %s",
            [int(lock)],
        )
    assert not VectorIndexes(pool, EAGER).build(index)
    assert indexes.known()[0].complete is False


def test_a_build_that_was_killed_is_done_again(
    url: str,
    store: PostgresStore,
    indexes: VectorIndexes,
    waiting_build: Callable[[SpaceIndex], list[object]],
    fill: Fill,
    scope: Scope,
    everything: Filter,
) -> None:
    fill(20, scope)
    [index] = indexes.known()
    outcome = waiting_build(index)
    with psycopg.connect(url) as killer:
        killer.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_progress_create_index"
            " WHERE datname = current_database()"
        )
    while not outcome:
        time.sleep(0.01)
    assert isinstance(outcome[0], StoreFailure)
    [left] = indexes.known()
    assert left.complete is False
    assert len(store.nearest(everything, SPACE, np.ones(3, np.float32), 99).nearest) == 20
    assert indexes.due() == [left]


def test_what_a_killed_build_left_is_built_anew(
    url: str, indexes: VectorIndexes, fill: Fill, scope: Scope
) -> None:
    fill(20, scope)
    [index] = indexes.known()
    indexes.build(index)
    with psycopg.connect(url) as connection:
        connection.execute(
            "UPDATE pg_index SET indisvalid = FALSE"
            " WHERE indexrelid = ('vectors_of_space_' || %s)::regclass",
            [index.space],
        )
    [left] = indexes.build_due()
    assert left.complete is False
    assert [each.complete for each in indexes.known()] == [True]


def test_the_index_of_a_space_that_is_gone_goes_too(
    store: PostgresStore, pool: Pool, indexes: VectorIndexes, fill: Fill, scope: Scope
) -> None:
    fill(20, scope)
    store.use_space(OTHER)
    fill(1, scope, OTHER)
    assert len(indexes.build_due()) == 2
    assert store.activate_filled() or store.activate_filled()
    store.drop_retired()
    assert len(pool.read("indexes_of_spaces")) == 2
    assert indexes.build_due() == []
    assert len(pool.read("indexes_of_spaces")) == 1
    assert [each.complete for each in indexes.known()] == [True]

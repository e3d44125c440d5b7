"""Replicas and their server come out even, whatever happens to them; seeded, and played again.

`python benchmarks/sync/simulate.py --seed N --trace` shows one schedule. `make bench-sync` runs
20,000 of them, and 1,000 with a server on Postgres.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count

import pytest

from support.postgres_server import Databases
from support.simulator.checks import found_in
from support.simulator.crashes import Moment
from support.simulator.ledger import Broken
from support.simulator.planted_faults import FAULTS
from support.simulator.postgres import PostgresServer
from support.simulator.schedules import run
from support.simulator.stores import InFiles, Keeping
from support.simulator.world import World

SCHEDULES = int(os.environ.get("BEARINMIND_SYNC_SCHEDULES", "300"))
ONCE_FAILED = (1_851,)  # lost a secret that was purged elsewhere
CHUNKS = 20  # so that they spread over the processors
ON_POSTGRES = range(30)
#: By planted fault: the first schedule that catches it. It is run first, and then all of them.
CAUGHT_BY = {
    "a full resync deletes what was not sent": 30,
    "retries drop an operation after five tries": 10,
    "an orphan becomes a twin that is not sensitive": 4,
    "the server does not look at the base": 47,
    "the cursor is kept before its page is taken": 9,
    "what was sent is settled though it changed again": 143,
    "a stale change counts as taken": 4,
    "a new epoch is taken for the old one": 40,
    "of two judgements that of the server is kept": 23,
    "what is not shared any more stays on the machine": 9,
    "a conflict is decided on one machine alone": 56,
}


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_whatever_happens_all_machines_come_to_the_same_and_nothing_is_lost(chunk: int) -> None:
    for seed in range(chunk, SCHEDULES, CHUNKS):
        run(seed)


@pytest.mark.parametrize("seed", ONCE_FAILED)
def test_what_once_failed_holds(seed: int) -> None:
    run(seed)


@pytest.fixture
def postgres_server(postgres: Databases) -> Iterator[PostgresServer]:
    """A server on Postgres; in the end no table of it holds a secret in clear."""
    server = PostgresServer(postgres)
    try:
        yield server
        server.check()
    finally:
        server.close()


def test_the_same_holds_where_the_server_is_on_postgres(postgres_server: PostgresServer) -> None:
    for seed in ON_POSTGRES:
        run(seed, postgres_server.world)


@pytest.fixture(params=["sqlite", "postgres"])
def keeping(request: pytest.FixtureRequest) -> Iterator[Keeping]:
    """Where a server and its replicas are kept."""
    if request.param == "sqlite":
        made: Keeping = InFiles()
    else:
        made = request.getfixturevalue("postgres_server").world(1)
    yield made
    made.close()


def test_a_push_is_taken_whole_or_not_at_all_at_whichever_statement_the_server_dies(
    keeping: Keeping,
) -> None:
    world = World(1, keeping)
    [machine, *_], scope = world.machines, world.ledger.scope
    machine.sync()  # the feed is open from here on: a push is one write

    def on_server() -> dict[str, object]:
        return found_in(world.office.store.store, world.boundary.vault, scope).told

    for statements in count():
        before = on_server()
        machine.begin()
        world.office.store.die(0, Moment.INSIDE, statements)
        assert "the server died" in str(machine.sync().push_error)
        after = on_server()
        if after != before:  # it died behind the last statement
            break
        assert machine.sync().error is None
    assert statements > 5
    machine.sync()
    assert on_server() == after == found_in(machine.store.store, world.boundary.vault, scope).told


def _run_all(first: int) -> None:
    for seed in (first, *range(SCHEDULES)):
        run(seed)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_caught(fault: str) -> None:
    with FAULTS[fault](), pytest.raises(Broken, match=r"simulate\.py --seed"):
        _run_all(CAUGHT_BY.get(fault, 0))

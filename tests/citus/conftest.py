"""A store that is spread over a real cluster, whose workers can be killed: `make test-citus`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest

from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.store.postgres.store import PostgresStore
from support.citus_cluster import URL, ClusterDatabases, Node, run

collect_ignore_glob = [] if URL else ["test_*.py"]


@pytest.fixture(scope="session")
def _spread() -> Iterator[str]:
    """The name of a spread database, to be copied."""
    databases = ClusterDatabases()
    made = databases.migrated()
    yield urlsplit(made).path.strip("/")
    databases.drop(made)


@pytest.fixture
def url(_spread: str) -> Iterator[str]:
    databases = ClusterDatabases()
    made = databases.fresh(_spread)
    yield made
    databases.drop(made)


@pytest.fixture
def open_as(url: str) -> Iterator[Callable[[str], Mind]]:
    """Opens the store as a user."""
    opened: list[Mind] = []

    def open_(user: str) -> Mind:
        settings = Settings.model_validate({"embedder": "hash", "user": user})
        opened.append(Mind(PostgresStore(url), settings))
        return opened[-1]

    yield open_
    for memory in opened:
        memory.close()


@pytest.fixture
def users(url: str) -> dict[int, list[str]]:
    """Some users, by the number of the worker that has their memories."""
    names = [f"user{number}" for number in range(16)]
    place = (
        "SELECT shouldhaveshards::int + nodeport - (SELECT min(nodeport) FROM pg_dist_node) - 1"
        " FROM citus_shards JOIN pg_dist_node USING (nodename, nodeport)"
        " WHERE table_name = 'memories'::regclass"
        " AND shardid = get_shard_id_for_distribution_column('memories', '{}'::text)"
    )
    found: dict[int, list[str]] = {}
    for name in names:
        [[number]] = run(url, place.format(name))
        found.setdefault(number, []).append(name)
    return found


@pytest.fixture
def second_worker_is_dead() -> Iterator[Callable[[], None]]:
    """Kills the second worker when it is called; it is back for the next test."""
    worker = Node(2)
    yield worker.kill
    worker.start()

"""Behind PgBouncer in transaction mode, many clients share few connections to the server."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import psycopg
import pytest

from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.store.postgres.store import PostgresStore
from support.pgbouncer import SERVER_CONNECTIONS, Bouncer, bouncer

CLIENTS = 6
ROUNDS = 10  # more than enough for a driver to prepare what is asked again and again


@pytest.fixture
def bounced(postgres_url: str) -> Iterator[Bouncer]:
    """A PgBouncer before a fresh database."""
    with bouncer(postgres_url) as started:
        yield started


def _memory(url: str, user: str) -> Mind:
    settings = Settings.model_validate({"user": user, "embedder": "hash"})
    return Mind(PostgresStore(url, connections=2), settings)


def _remember(memory: Mind) -> None:
    """Everything that a client does: store, change, link, embed, recall."""
    for number in range(ROUNDS):
        first = memory.store(f"the lamp l{number}x is in the hall", tags=["lamps"]).memory
        second = memory.store(f"the key k{number}x is in the drawer").memory
        memory.update(first.id, importance=0.9)
        memory.link(second.id, "see-also", first.id)
        [hit, *_] = memory.recall(f"where is the lamp l{number}x?").hits
        assert hit.memory.id == first.id
    memory.work.run()
    assert len(memory.list(limit=99)) == 2 * ROUNDS


def test_clients_take_turns_on_few_connections(bounced: Bouncer, postgres_url: str) -> None:
    with ExitStack() as opened:
        users = [f"user{number}" for number in range(CLIENTS)]
        memories = [opened.enter_context(_memory(bounced.url, user)) for user in users]
        with ThreadPoolExecutor(CLIENTS) as threads:
            list(threads.map(_remember, memories))
        with psycopg.connect(postgres_url) as connection:
            others = connection.execute(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                " AND backend_type = 'client backend'"  # not one that vacuums
            ).fetchall()
        assert others == [(SERVER_CONNECTIONS,)]


def test_clients_connect_again_when_it_was_restarted(bounced: Bouncer) -> None:
    with _memory(bounced.url, "ana") as memory:
        kept = memory.store("the lamp is in the hall").memory
        bounced.kill()
        bounced.start()
        assert [hit.memory.id for hit in memory.recall("lamp").hits] == [kept.id]
        memory.store("the key is in the drawer")

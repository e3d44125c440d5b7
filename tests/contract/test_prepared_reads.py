"""Reading a Postgres store by prepared statements, which are gone when least expected."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator

import psycopg
import pytest

from bearinmind.errors import StoreFailure
from bearinmind.store.database import NOTHING, Parameters, Row
from bearinmind.store.postgres.pool import Pool
from bearinmind.store.postgres.queries import SQL
from bearinmind.store.postgres.store import PostgresStore
from bearinmind.types import Memory, Scope, UserId
from support.processes import wait_until

ADA = Scope(user=UserId("ada"))
Make = Callable[..., Memory]
OFTEN = 4  # times, and a statement is prepared
READ: list[tuple[str, Parameters]] = [
    ("is_unfinished", NOTHING),
    ("has_links", {"owner": "ada"}),
    ("index_facts", {"owner": "ada", "lexemes": ['wal"rus', "back\\slash"]}),
    ("read_so_far", {"owner": "ada", "jobs": 5}),
    ("get_many", {"owner": "ada", "ids": ["m1"], "moment": 2**63 - 2}),
]


@pytest.fixture
def url(migrated_database: Callable[[], str]) -> str:
    return migrated_database()


@pytest.fixture
def store(url: str, make: Make) -> Iterator[PostgresStore]:
    """A store with a memory, on one connection."""
    made = PostgresStore(url, connections=1)
    made.put(ADA, make(id="m1", tags=("a", "b")))
    yield made
    made.close()


@pytest.fixture
def pool(url: str, store: PostgresStore) -> Iterator[Pool]:
    """One connection to that store."""
    assert store.resolve(ADA, "m1")
    made = Pool(url, connections=1)
    yield made
    made.close()


def _by_cursor(pool: Pool, statement: str, parameters: Parameters) -> list[Row]:
    with pool.connections.connection() as connection:
        return connection.execute(SQL[statement], parameters or None, binary=True).fetchall()


def _prepared(pool: Pool) -> list[str]:
    """What the one connection has prepared by itself."""
    with pool.connections.connection() as connection:
        found = connection.execute("SELECT name FROM pg_prepared_statements").fetchall()
    return [name for [name] in found if name.startswith("bearinmind_")]


@pytest.mark.parametrize(("statement", "parameters"), READ, ids=[name for name, _ in READ])
def test_rows_are_those_of_a_cursor_before_and_after_a_statement_is_prepared(
    pool: Pool, statement: str, parameters: Parameters
) -> None:
    expected = _by_cursor(pool, statement, parameters)
    assert [pool.read(statement, parameters) for _ in range(OFTEN)] == [expected] * OFTEN
    assert len(_prepared(pool)) == 1


def test_what_is_read_once_is_not_prepared(pool: Pool) -> None:
    pool.read("has_links", {"owner": "ada"})
    assert _prepared(pool) == []


def test_parameters_of_other_types_are_read_by_a_statement_of_their_own(pool: Pool) -> None:
    nobody = {"owner": "ada", "limit": 5, "containing": None}
    for _ in range(OFTEN):
        assert pool.read("hubs", nobody) == []
        assert pool.read("hubs", nobody | {"containing": "wal"}) == []


def test_reads_go_on_when_what_was_prepared_is_gone(pool: Pool) -> None:
    asked = {"owner": "ada"}
    before = [pool.read("has_links", asked) for _ in range(OFTEN)]
    with pool.connections.connection() as connection:
        connection.execute("DEALLOCATE ALL")
    assert [pool.read("has_links", asked) for _ in range(OFTEN)] == before
    assert len(_prepared(pool)) == 1


def test_reads_go_on_after_a_write_that_came_to_nothing(store: PostgresStore, make: Make) -> None:
    class Stopped(Exception):
        """Whatever keeps a write from its end."""

    def fail() -> None:
        with store._pool.writing(ADA.user) as transaction:
            transaction.rows("has_links", {"owner": "ada"})
            raise Stopped

    for number in range(2 * OFTEN):
        with pytest.raises(Stopped):
            fail()
        assert [*store.get_many(ADA, [make(id="m1").id])] == ["m1"], number
        assert not store.has_links(ADA)


def test_an_error_of_the_server_is_told_and_the_connection_is_of_use(pool: Pool) -> None:
    wrong = {"owner": "ada", "jobs": "many"}
    for _ in range(OFTEN):
        with pytest.raises(StoreFailure, match="many"):
            pool.read("read_so_far", wrong)
        assert len(pool.read("has_links", {"owner": "ada"})) == 0


def test_who_waits_for_an_answer_can_be_interrupted(pool: Pool, url: str) -> None:
    asked = {"owner": "ada", "ids": ["m1"], "moment": 2**63 - 2}
    for _ in range(OFTEN):
        pool.read("get_many", asked)
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with psycopg.connect(url) as other, psycopg.connect(url, autocommit=True) as onlooker:
            other.execute("LOCK TABLE memories IN ACCESS EXCLUSIVE MODE")

            def interrupt() -> None:
                waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                waiting += " AND datname = current_database()"
                wait_until(lambda: onlooker.execute(waiting).fetchone() is not None)
                os.kill(os.getpid(), signal.SIGINT)

            thread = threading.Thread(target=interrupt)
            thread.start()
            with pytest.raises(KeyboardInterrupt):
                pool.read("get_many", asked)
            thread.join()
    finally:
        signal.signal(signal.SIGINT, usual)
    assert len(pool.read("get_many", asked)) == 1

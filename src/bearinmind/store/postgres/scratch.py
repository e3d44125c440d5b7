"""A database for a while: made on a server beside the others, and dropped again."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors as said
from psycopg import sql
from psycopg.conninfo import make_conninfo

from bearinmind.errors import StoreUnavailable
from bearinmind.statements import statements_of
from bearinmind.store import queries
from bearinmind.store.postgres.connecting import complete, place_of
from bearinmind.store.postgres.failures import first_line, translated

_STATEMENTS = statements_of(queries.read("postgres", "scratch.sql"))
_PREFIX = "bearinmind_scratch_"  # by which an operator knows what a killed process left behind


@contextmanager
def scratch_database(url: str) -> Iterator[str]:
    """How to connect to a new, empty database on the server of another one, which is not touched.

    Raises:
        StoreUnavailable: the server cannot be reached, or the role may not make databases.
    """
    name = f"{_PREFIX}{secrets.token_hex(8)}"
    try:
        _run(url, "create_scratch", name)
    except (said.InsufficientPrivilege, psycopg.OperationalError) as exc:
        raise StoreUnavailable(
            f"no database can be made beside {place_of(url)}: {first_line(exc)}",
            hint="Check the URL, and that its role may make databases (ALTER ROLE ... CREATEDB).",
        ) from exc
    try:
        yield make_conninfo(url, dbname=name)
    finally:
        with translated(place_of(url)):
            _run(url, "drop_scratch", name)


def _run(url: str, statement: str, name: str) -> None:
    with psycopg.connect(complete(url), autocommit=True) as connection:
        connection.execute(sql.SQL(_STATEMENTS[statement]).format(database=sql.Identifier(name)))

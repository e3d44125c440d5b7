"""A Postgres database for the time of a run, on a server that has others too."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files

import psycopg
from psycopg import errors as pg_errors
from psycopg import sql
from psycopg.conninfo import make_conninfo

from bearinmind.errors import StoreUnavailable
from bearinmind.store.postgres.connection_pool import (
    complete_url,
    first_line,
    place_of,
    translated,
)
from bearinmind.text.sql_statements import statements_of

_SQL = statements_of(
    files("bearinmind_bench").joinpath("sql", "scratch.sql").read_text(encoding="utf-8")
)
_PREFIX = "bearinmind_scratch_"  # marks what a killed process left behind


@contextmanager
def scratch_database(url: str) -> Iterator[str]:
    """The URL of a new, empty database on the server of another one; dropped in the end."""
    name = f"{_PREFIX}{secrets.token_hex(8)}"
    try:
        _run(url, "create_scratch", name)
    except (pg_errors.InsufficientPrivilege, psycopg.OperationalError) as exc:
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
    with psycopg.connect(complete_url(url), autocommit=True) as connection:
        connection.execute(sql.SQL(_SQL[statement]).format(database=sql.Identifier(name)))

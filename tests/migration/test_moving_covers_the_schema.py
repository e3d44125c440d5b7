"""No column is forgotten when a store is moved, whatever a later migration adds."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import psycopg

from bearinmind.store.sqlite import SqliteStore
from bearinmind.store.transfer import TABLES

#: What a store works out for itself from what is moved.
DERIVED = {
    "sqlite": {
        "vectors": {"seq", "code"},
        "exact_vectors": {"seq"},
        "index_facts": {"only_row", "analysis"},
        "tenants": {"owner", "versions", "terms"},
        "departures": {"number", "space", "owner", "seq"},
        "sqlite_sequence": {"name", "seq"},
    },
    "postgres": {
        "indexed": {"mark"},
        "tenants": {"owner", "numbers", "versions", "terms"},
        "embedded": {"owner", "space", "vectors"},
        "store_facts": {"only_row", "schema", "steps", "analysis"},
    },
}
#: Whoever is signed in signs in again: the store is reached at another address. What was asked in
#: the last minute is not counted on.
NOT_MOVED = ("sessions", "allowances")
#: Where the columns of a table stand in a store, if not in the table of that name.
ELSEWHERE = {"standing": "concepts", "exact_vectors": "vectors"}


def moved() -> dict[str, set[str]]:
    """The columns that are moved, by table."""
    columns: dict[str, set[str]] = defaultdict(set)
    for table in TABLES:
        columns[ELSEWHERE.get(table.name, table.name)] |= {*table.columns}
    return columns


def forgotten(dialect: str, columns: set[tuple[str, str]]) -> set[str]:
    """The columns of a database that are neither moved nor derived."""
    known = moved()
    return {
        f"{table}.{column}"
        for table, column in columns
        if table not in NOT_MOVED
        and column not in known[ELSEWHERE.get(table, table)]
        and column not in DERIVED[dialect].get(table, ())
    }


def test_every_column_of_a_file_is_moved(path: Path) -> None:
    SqliteStore(path).close()
    connection = sqlite3.connect(path)
    found = connection.execute(
        "SELECT t.name, c.name FROM pragma_table_list AS t, pragma_table_info(t.name) AS c"
        " WHERE t.schema = 'main' AND t.type = 'table' AND t.name <> 'sqlite_schema'"
    )
    assert forgotten("sqlite", {*found}) == set()
    connection.close()


def test_every_column_of_a_database_is_moved(migrated_database: Callable[[], str]) -> None:
    with psycopg.connect(migrated_database()) as connection:
        found = connection.execute(
            "SELECT table_name, column_name FROM information_schema.columns"
            " WHERE table_schema = current_schema()"
        ).fetchall()
    assert forgotten("postgres", {(table, column) for table, column in found}) == set()

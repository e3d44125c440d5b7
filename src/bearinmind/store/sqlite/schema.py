"""Brings a SQLite file to the present schema, and refuses one that is not ours to touch."""

from __future__ import annotations

import re
import sqlite3
from importlib.resources import files

from bearinmind import analysis, errors
from bearinmind.store import database

#: "RCLT": tells a Bear in Mind store from any other SQLite file.
APPLICATION_ID = 0x52434C54
#: "RCLM": a store that is being moved into; no release takes it for one that is whole.
UNFINISHED_ID = 0x52434C4D

# One statement, so that it sees one state of a file that another process is just creating.
_IDENTITY = """
    SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
    FROM pragma_application_id, pragma_user_version
"""

_NAME = re.compile(r"(\d{4})_\w+\.sql")


def migrations() -> dict[int, str]:
    """The file names of all migrations by number."""
    folder = files("bearinmind.store").joinpath("sql", "sqlite", "migrations")
    names = [entry.name for entry in folder.iterdir()]
    numbered = {int(match[1]): match[0] for match in map(_NAME.fullmatch, names) if match}
    return dict(sorted(numbered.items()))


#: The schema version that this code reads and writes.
SCHEMA_VERSION = max(migrations())


def is_current(connection: sqlite3.Connection, path: str, *, unfinished: bool = False) -> bool:
    """Whether the file has the present schema; it may be unfinished for who would finish it.

    Raises:
        StoreTooNew: it was written by a newer release.
        StoreUnfinished: it is being moved into.
        StoreDamaged: it is a database of some other program.
    """
    application, version, objects = connection.execute(_IDENTITY).fetchone()
    if application == UNFINISHED_ID:
        if not unfinished:
            raise errors.StoreUnfinished(f"{path!r} holds an unfinished move")
    elif application != APPLICATION_ID and (objects or application):
        raise errors.StoreDamaged(f"{path!r} is an SQLite database, but not a Bear in Mind store")
    if version > SCHEMA_VERSION:
        raise errors.StoreTooNew(
            f"{path!r} has schema {version}; this version of Bear in Mind reads up to {SCHEMA_VERSION}"
        )
    return bool(version == SCHEMA_VERSION)


def apply(connection: sqlite3.Connection) -> None:
    """Create or migrate the schema, inside the caller's transaction."""
    [version] = connection.execute("PRAGMA user_version").fetchone()
    if version == 0:
        _run(connection, database.read_sql("sqlite", "schema.sql"))
        connection.execute(
            "INSERT INTO index_facts VALUES (1, ?, 0, 0)", (analysis.ANALYSIS_VERSION,)
        )
    else:
        for number, name in migrations().items():
            if number > version:
                _run(connection, database.read_sql("sqlite", f"migrations/{name}"))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _run(connection: sqlite3.Connection, script: str) -> None:
    """Run a script statement by statement: `executescript` would end the transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""

"""Brings a SQLite file to the present schema, and refuses a file that is not ours."""

from __future__ import annotations

import re
import sqlite3
from importlib.resources import files

from bearinmind import errors
from bearinmind.store.database import read_sql
from bearinmind.text import analysis
from bearinmind.text.sql_statements import statements_of

#: "BEAR": tells a Bear in Mind store from any other SQLite file.
APPLICATION_ID = 0x42454152
#: "BEAM": a store that is being moved into. No release opens it as a complete store.
UNFINISHED_ID = 0x4245414D
FIRST_VERSION = 1  #: the schema that was published first; the first migration has the number 2
#: Migrations of files that were made by an earlier schema.sql, such as 0002_add_a_column.sql.
MIGRATIONS = files("bearinmind.store").joinpath("sql", "sqlite", "migrations")

_NAME = re.compile(r"(\d{4})_\w+\.sql")
_SQL = statements_of(read_sql("sqlite", "identity.sql"))


def migration_files() -> dict[int, str]:
    """The file names of all migrations by number."""
    names = [entry.name for entry in MIGRATIONS.iterdir()] if MIGRATIONS.is_dir() else []
    numbered = {int(match[1]): match[0] for match in map(_NAME.fullmatch, names) if match}
    return dict(sorted(numbered.items()))


#: The schema version that this code reads and writes: that of schema.sql.
SCHEMA_VERSION = max([FIRST_VERSION, *migration_files()])


def is_current(connection: sqlite3.Connection, path: str, *, unfinished: bool = False) -> bool:
    """Whether a file has the present schema; raises for one that this release must not open.

    With `unfinished` it may be the target of a move.
    """
    application, version, objects = connection.execute(_SQL["identity"]).fetchone()
    if application == UNFINISHED_ID:
        if not unfinished:
            raise errors.StoreUnfinished(f"{path!r} holds an unfinished move")
    elif application != APPLICATION_ID and (objects or application):
        raise errors.StoreDamaged(
            f"{path!r} is an SQLite database, but not a Bear in Mind store",
            hint="Check the path, or choose another file with --store.",
        )
    if version > SCHEMA_VERSION:
        raise errors.StoreTooNew(
            f"{path!r} has schema {version}; "
            f"this version of Bear in Mind reads up to {SCHEMA_VERSION}"
        )
    return bool(version == SCHEMA_VERSION)


def apply(connection: sqlite3.Connection) -> None:
    """Create or migrate the schema, inside the caller's transaction."""
    [version] = connection.execute("PRAGMA user_version").fetchone()
    if version == 0:
        _run(connection, read_sql("sqlite", "schema.sql"))
        connection.execute(_SQL["begin_index"], {"analysis": analysis.ANALYSIS_VERSION})
    else:
        for number, name in migration_files().items():
            if number > version:
                _run(connection, MIGRATIONS.joinpath(name).read_text(encoding="utf-8"))
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

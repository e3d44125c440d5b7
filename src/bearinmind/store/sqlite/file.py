"""One SQLite file: reading it, and writing it in transactions."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bearinmind.analysis import Entry
from bearinmind.store.database import NOTHING, Parameters, Row, Steps, form_of
from bearinmind.store.queries import load
from bearinmind.store.sqlite import migrate
from bearinmind.store.sqlite.connections import Connections, translated
from bearinmind.types import Space, UserId

if TYPE_CHECKING:
    from bearinmind.protocols import Vectors

#: The statements of the SQLite store.
SQL = load("sqlite")


class SqliteFile:
    """Satisfies `bearinmind.store.database.Database`."""

    steps = Steps(
        keep_vector=("keep_code", "keep_vector"),
        copy_vector=("copy_code", "copy_vector"),
        drop_space=("drop_space", "drop_vectors", "drop_departures"),
        closed=(),  # the schema's triggers see to the queue
        indexed=(),  # the schema's triggers count
        forgotten=("optimise_index",),
    )

    def __init__(
        self,
        path: Path,
        *,
        busy_timeout: float = 60.0,
        create: bool = True,
        unfinished: bool = False,
    ) -> None:
        self.path = path
        self.connections = Connections(
            path,
            lambda connection: migrate.is_present(connection, str(path), unfinished=unfinished),
            busy_timeout=busy_timeout,
            create=create,
        )

    def close(self) -> None:
        """Close every connection of every thread."""
        self.connections.close()

    def read(self, statement: str, parameters: Parameters = NOTHING) -> list[Row]:
        """All rows of a statement that changes nothing."""
        return self.connections.read(SQL[form_of(statement, parameters)], encoded(parameters))

    @contextmanager
    def writing(self, *_owners: UserId, alone: bool = False) -> Iterator[SqliteTransaction]:
        """A write transaction; writers of one file always take turns."""
        del alone
        with self.transaction() as connection:
            yield SqliteTransaction(connection)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """One write transaction. IMMEDIATE takes the turn at once: it cannot be lost later."""
        connection = self.connections.get()
        with translated(self.path):
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            try:
                connection.execute("COMMIT")
            except sqlite3.Error:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def entry_parameters(self, owner: UserId, entry: Entry) -> Parameters:
        """The parameters of `insert_indexed` that say what a version is found by."""
        del owner
        return entry._asdict()

    def vector_parameters(self, space: Space, vectors: Vectors, count: int) -> list[Parameters]:
        """For each of so many vectors of a space its code, and itself."""
        from bearinmind.store.sqlite import matrix  # noqa: PLC0415 (numpy is slow to import)

        kept = zip(*matrix.encode(vectors, count, space.dimensions), strict=True)
        return [{"code": code, "vector": vector} for code, vector in kept]


class SqliteTransaction:
    """Satisfies `bearinmind.store.database.Transaction`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, statement: str, parameters: Parameters = NOTHING) -> list[Row]:
        """All rows of a statement."""
        return self._run(statement, parameters).fetchall()

    def row(self, statement: str, parameters: Parameters = NOTHING) -> Row | None:
        """The first row of a statement, if there is any."""
        found: Row | None = self._run(statement, parameters).fetchone()
        return found

    def rows_of_each(self, statement: str, each: Sequence[Parameters]) -> list[list[Row]]:
        """All rows of a statement for each of these parameters, in their order."""
        return [self.rows(statement, parameters) for parameters in each]

    def change(self, statement: str, parameters: Parameters = NOTHING) -> int:
        """Run a statement that writes; how many rows it changed."""
        return self._run(statement, parameters).rowcount

    def change_each(self, statement: str, each: Sequence[Parameters]) -> int:
        """The same for each of these parameters; how many rows were changed in all."""
        return self._connection.executemany(SQL[statement], [*map(encoded, each)]).rowcount

    def insert(self, statement: str, each: Sequence[Parameters]) -> None:
        """Add rows that are known to be new."""
        self._connection.executemany(SQL[statement], [*map(encoded, each)])

    def numbers(self, owner: UserId, count: int) -> Sequence[int | None]:
        """None: SQLite numbers its rows itself."""
        del owner
        return [None] * count

    def _run(self, statement: str, parameters: Parameters) -> sqlite3.Cursor:
        return self._connection.execute(SQL[form_of(statement, parameters)], encoded(parameters))


def encoded(parameters: Parameters) -> dict[str, Any]:
    """Parameters as SQLite takes them: a list is its JSON."""
    return {
        name: json.dumps(value, ensure_ascii=False) if type(value) is list else value
        for name, value in parameters.items()
    }

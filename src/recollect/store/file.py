"""One SQLite file: reading it, and writing it in transactions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from recollect.store import migrate
from recollect.store.connections import Connections, translated
from recollect.store.queries import SQLITE as SQL


class SqliteFile:
    """What every part of the store stands on."""

    def __init__(self, path: Path, *, busy_timeout: float = 60.0, create: bool = True) -> None:
        self.path = path
        self._connections = Connections(
            path,
            lambda connection: migrate.is_present(connection, str(path)),
            busy_timeout=busy_timeout,
            create=create,
        )

    def close(self) -> None:
        """Close every connection of every thread."""
        self._connections.close()

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        """One write transaction. IMMEDIATE takes the turn at once: it cannot be lost later."""
        connection = self._connections.get()
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

    def _read(
        self, statement: str, parameters: Mapping[str, Any] | Sequence[Any] = ()
    ) -> list[tuple[Any, ...]]:
        return self._connections.read(SQL[statement], parameters)

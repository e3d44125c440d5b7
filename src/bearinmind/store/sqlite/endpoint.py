"""A SQLite file at one end of a move."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bearinmind.store.database import Parameters, Row
from bearinmind.store.sqlite.file import SQL, SqliteFile, translated
from bearinmind.store.sqlite.store import SqliteStore
from bearinmind.store.transfer import Table, TransferSteps

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

#: How columns whose values SQLite encodes are decoded, by table and column.
_READ: Mapping[str, Mapping[str, Callable[[Any], Any]]] = {
    "memories": {"tags": json.loads, "keywords": json.loads, "sensitive": bool},
    "extractors": {"in_use": bool},
    "relations": {"decided": bool, "founded": bool},
    "evidence": {"given": bool},
    "shares": {"can_write": bool},
}


class SqliteEndpoint:
    """Satisfies `bearinmind.store.transfer.Endpoint`."""

    steps = TransferSteps(
        beginning=("clear_spaces", "clear_extractors", "clear_departures", "mark_unfinished"),
        settling=(),  # the schema's triggers have counted
        ending=("mark_finished",),
        taking={"indexed": ("insert_indexed",), "vectors": ("take_vectors", "take_exact_vectors")},
    )
    numbers_by_owner = False

    def __init__(self, path: Path, *, busy_timeout: float) -> None:
        self._path = path
        self._busy_timeout = busy_timeout
        self.database = self._open()

    def _open(self) -> SqliteFile:
        return SqliteFile(
            self._path, busy_timeout=self._busy_timeout, create=False, unfinished=True
        )

    @property
    def place(self) -> str:
        return repr(str(self._path))

    @contextmanager
    def snapshot(self) -> Iterator[SqliteSnapshot]:
        """The file as it is now: in WAL mode a reader sees no later write."""
        connection = self.database.connections.get()
        with translated(self._path):
            connection.execute("BEGIN")
            try:
                yield SqliteSnapshot(connection)
            finally:
                connection.execute("ROLLBACK")

    def vector_parameters(self, vector: bytes) -> Parameters:
        from bearinmind.store.sqlite.vectors import code_of  # noqa: PLC0415 (numpy is slow to import)

        return {"code": code_of(vector), "vector": vector}

    def is_there(self) -> bool:
        return self._path.exists() and self._path.stat().st_size > 0

    def refuse_vectors(self) -> None:
        """A file can always keep vectors."""

    def rest(self) -> None:
        """A file needs no upkeep."""

    def discard(self) -> None:
        """Replace the file by an empty store."""
        self.database.close()
        with translated(self._path):
            for part in ("", "-wal", "-shm"):
                self._path.with_name(f"{self._path.name}{part}").unlink(missing_ok=True)
        SqliteStore(self._path, busy_timeout=self._busy_timeout).close()
        self.database = self._open()

    def close(self) -> None:
        self.database.close()


class SqliteSnapshot:
    """Satisfies `bearinmind.store.transfer.Snapshot`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def read(self, statement: str) -> list[Row]:
        return self._connection.execute(SQL[statement]).fetchall()

    def pages(self, table: Table, after: Parameters, size: int) -> Iterator[list[Row]]:
        converted = _READ.get(table.name, {})
        places = {table.columns.index(name): convert for name, convert in converted.items()}
        cursor = self._connection.execute(SQL[f"give_{table.name}"], dict(after))
        while page := cursor.fetchmany(size):
            yield [_converted(row, places) for row in page] if places else page


def _converted(row: Row, places: Mapping[int, Callable[[Any], Any]]) -> Row:
    values = [*row]
    for place, convert in places.items():
        values[place] = convert(values[place])
    return tuple(values)

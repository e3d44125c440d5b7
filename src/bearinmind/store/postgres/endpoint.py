"""A Postgres database at one end of a move."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bearinmind import errors
from bearinmind.store.database import Parameters, Row
from bearinmind.store.postgres.capabilities import inspect_database, why_meaning_is_off
from bearinmind.store.postgres.connection_pool import translated
from bearinmind.store.postgres.pool import Pool
from bearinmind.store.postgres.queries import SQL
from bearinmind.store.transfer import VECTORS, Table, TransferSteps

if TYPE_CHECKING:
    from psycopg import Connection

_CONNECTIONS = 2  # a move does one thing after the other
_HEAD = 4  # bytes of a vector before its numbers


class PostgresEndpoint:
    """Satisfies `bearinmind.store.transfer.Endpoint`."""

    steps = TransferSteps(
        beginning=("clear",),
        settling=(
            "settle_tenants",
            "settle_embedded",
            "settle_spaces",
            "settle_extractors",
            "settle_work",
        ),
        ending=(),
        taking={"indexed": ("insert_indexed",)},
    )
    numbers_by_owner = True

    def __init__(self, url: str, *, busy_timeout: float) -> None:
        self.database = Pool(url, busy_timeout=busy_timeout, connections=_CONNECTIONS)

    @property
    def place(self) -> str:
        return self.database.place

    @contextmanager
    def snapshot(self) -> Iterator[PostgresSnapshot]:
        """The database as it is now, on a connection of its own."""
        with translated(self.place), self.database.connections.alone() as connection:
            connection.execute(SQL["begin_snapshot"])
            never = {"name": "idle_in_transaction_session_timeout", "value": "0"}
            connection.execute(SQL["set_for_transaction"], never)
            yield PostgresSnapshot(
                connection, has_vectors=inspect_database(self.database).keeps_vectors
            )

    def vector_parameters(self, vector: bytes) -> Parameters:
        import numpy as np  # noqa: PLC0415 (slow to import)

        from bearinmind.store.half_precision import HALF  # noqa: PLC0415 (needs numpy)
        from bearinmind.store.postgres.vectors import to_halfvec  # noqa: PLC0415 (numpy is slow to import)

        return {"vector": to_halfvec(np.frombuffer(vector, HALF))}

    def is_there(self) -> bool:
        """Whether the database has our tables."""
        return inspect_database(self.database).is_store

    def refuse_vectors(self) -> None:
        """Without the extension there is no column for them."""
        off = why_meaning_is_off(inspect_database(self.database))
        if off is not None:
            message = f"{self.place} cannot keep the vectors that are to be moved: {off.reason}"
            raise errors.StoreUnavailable(message, hint=off.hint)

    def rest(self) -> None:
        """Let the planner know what has come."""
        self.database.alone(SQL["analyse"])

    def discard(self) -> None:
        with self.database.writing(alone=True) as transaction:
            transaction.change("clear")
            transaction.change("end_move")

    def close(self) -> None:
        self.database.close()


class PostgresSnapshot:
    """Satisfies `bearinmind.store.transfer.Snapshot`."""

    def __init__(self, connection: Connection[Any], *, has_vectors: bool) -> None:
        self._connection = connection
        self._has_vectors = has_vectors

    def read(self, statement: str) -> list[Row]:
        return self._connection.execute(SQL[statement]).fetchall()

    def pages(self, table: Table, after: Parameters, size: int) -> Iterator[list[Row]]:
        """The rows of a table after a key, by a cursor: the server sends no more than is asked."""
        if table is VECTORS and not self._has_vectors:
            return
        with self._connection.cursor(f"give_{table.name}") as cursor:
            cursor.execute(SQL[f"give_{table.name}"], after, binary=True)
            while page := cursor.fetchmany(size):
                yield [_with_vector(row) for row in page] if table is VECTORS else page


def _with_vector(row: Row) -> Row:
    from bearinmind.store.postgres.vectors import from_halfvec  # noqa: PLC0415 (numpy is slow)

    *place, sent = row
    [vector] = from_halfvec([sent], (len(sent) - _HEAD) // 2)
    return (*place, vector.tobytes())

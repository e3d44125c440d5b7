"""Reads by statements that a connection has prepared, without the ceremony of a cursor.

A recall reads a dozen times, and nearly always by statements that it has sent before. For each of
them psycopg makes a cursor with adapters and generators of its own, which takes several times as
long as to send the parameters and to make rows of the answer (docs/adr/0036).
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from psycopg import Connection, errors
from psycopg.adapt import Transformer
from psycopg.generators import execute
from psycopg.pq import ExecStatus, Format
from psycopg.rows import TupleRow

from bearinmind.store.postgres.statements import Numbered, numbered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg.abc import Buffer
    from psycopg.pq.abc import PGresult

    from bearinmind.store.database import Parameters, Row

#: A statement is prepared for the types that its parameters have.
_Form = tuple[str, tuple[int, ...]]


class StoreConnection(Connection[TupleRow]):
    """A connection that remembers what it has prepared."""

    reads: PreparedReads


class PreparedReads:
    """What one connection reads, by statements of which it prepares those that come back."""

    def __init__(self, connection: Connection[Any], *, prepares: bool) -> None:
        self._connection = connection
        self._transformer = Transformer.from_context(connection)
        self._prepares = prepares
        self._seen: set[_Form] = set()
        self._names: dict[_Form, bytes] = {}
        self._numbers = count(1)

    def rows(self, statement: str, parameters: Parameters) -> list[Row]:
        """All rows of a statement that is sent outside of any transaction."""
        asked = numbered(statement)
        transformer = self._transformer
        values = transformer.dump_sequence([parameters[x] for x in asked.names], asked.formats)
        types, formats = transformer.types or (), transformer.formats
        if self._is_prepared((statement, types), asked):
            try:
                result = self._by_name((statement, types), values, formats)
            except errors.InvalidSqlStatementName:  # a rollback makes psycopg forget them all
                self._names.clear()
                result = self._as_text(asked, values, types, formats)
        else:
            result = self._as_text(asked, values, types, formats)
        return self._made(result)

    def _is_prepared(self, form: _Form, asked: Numbered) -> bool:
        """Whether a statement has a name by now: it is given one when it comes back."""
        if form in self._names:
            return True
        if not self._prepares or form not in self._seen:
            self._seen.add(form)
            return False
        name = f"bearinmind_{next(self._numbers)}".encode()
        self._connection.pgconn.send_prepare(name, asked.text, form[1])
        self._result()
        self._names[form] = name
        return True

    def _by_name(
        self, form: _Form, values: Sequence[Buffer | None], formats: Sequence[Format] | None
    ) -> PGresult:
        name = self._names[form]
        self._connection.pgconn.send_query_prepared(name, values, formats, Format.BINARY)
        return self._result()

    def _as_text(
        self,
        asked: Numbered,
        values: Sequence[Buffer | None],
        types: tuple[int, ...],
        formats: Sequence[Format] | None,
    ) -> PGresult:
        send = self._connection.pgconn.send_query_params
        send(asked.text, values, types, formats, Format.BINARY)
        return self._result()

    def _result(self) -> PGresult:
        """What the server says. Whoever waits for it can be interrupted."""
        results: Sequence[PGresult] = self._connection.wait(execute(self._connection.pgconn))
        [result] = results
        if result.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
            raise errors.error_from_result(result, encoding="utf-8")
        return result

    def _made(self, result: PGresult) -> list[Row]:
        transformer = self._transformer
        transformer.set_pgresult(result)
        rows: list[Row] = transformer.load_rows(0, result.ntuples, tuple)
        transformer.set_pgresult(None)  # of which only the rows are kept
        return rows

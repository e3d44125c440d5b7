"""The statements of the Postgres store as psycopg takes them, and how they are sent.

A recall reads a dozen times, and nearly always by statements that it has sent before. For each of
them psycopg makes a cursor with adapters and generators of its own, which takes several times as
long as to send the parameters and to make rows of the answer (docs/adr/0036). So a connection
prepares the statements that come back, and reads them without a cursor.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any, LiteralString, NamedTuple

from psycopg import Connection, errors, sql
from psycopg.adapt import Dumper, PyFormat, Transformer
from psycopg.generators import execute
from psycopg.postgres import types
from psycopg.pq import ExecStatus, Format
from psycopg.rows import TupleRow

from bearinmind.store.database import load_statements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg.abc import Buffer
    from psycopg.pq.abc import PGresult

    from bearinmind.store.database import Parameters, Row

# `:name`, but neither a cast (`::text`) nor the end of a slice.
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")
_INSERT = re.compile(r"^INSERT INTO (\w+) \(([^()]+)\)\s*VALUES \(([^()]+)\)", re.ASCII)


def psycopg_form(statement: LiteralString) -> LiteralString:
    """A statement with `%(name)s` for each `:name`."""
    doubled = statement.replace("%", "%%")
    return _PARAMETER.sub(r"%(\1)s", doubled)


_STATEMENTS = load_statements("postgres")

#: The statements by name.
SQL = {name: psycopg_form(statement) for name, statement in _STATEMENTS.items()}


class Numbered(NamedTuple):
    """A statement as the server takes it: with `$1` for its first parameter."""

    text: bytes
    names: tuple[str, ...]  #: of its parameters, in the order of their numbers
    formats: tuple[PyFormat, ...]  #: in which each may be sent: whichever suits it


@cache
def numbered(name: str) -> Numbered:
    """A statement by its name."""
    statement = _STATEMENTS[name]
    names = tuple(dict.fromkeys(_PARAMETER.findall(statement)))
    numbers = {each: number for number, each in enumerate(names, start=1)}
    text = _PARAMETER.sub(lambda match: f"${numbers[match[1]]}", statement)
    return Numbered(text.encode(), names, (PyFormat.AUTO,) * len(names))


class CopyForm(NamedTuple):
    """How the rows of an INSERT are copied in."""

    statement: LiteralString
    parameters: tuple[str, ...]  #: in the order of its columns


@lru_cache(maxsize=64)
def copy_form(name: str) -> CopyForm:
    """The COPY that does for many rows what a plain INSERT does for one."""
    match = _INSERT.match(_STATEMENTS[name])
    if match is None:
        raise ValueError(f"{name} is no plain INSERT")
    table, columns, values = match.groups()
    parameters = tuple(value.strip().removeprefix(":") for value in values.split(","))
    return CopyForm(f"COPY {table} ({columns}) FROM STDIN", parameters)


def set_everywhere(connection: Connection[Any], settings: Mapping[str, str]) -> None:
    """Let settings hold until the transaction ends, on every machine that takes part in it.

    Citus passes on what `SET LOCAL` says, once it was told to, and not what `set_config` does.
    """
    statement = sql.SQL(SQL["hold_everywhere"])
    for name, value in {"citus.propagate_set_commands": "local", **settings}.items():
        connection.execute(
            statement.format(name=sql.Identifier(*name.split(".")), value=sql.Literal(value))
        )


REAL = types["float4"].oid


class Reals(bytes):
    """A `real[]` as it is sent."""


class RealsDumper(Dumper):
    """Sends `Reals` unchanged."""

    format = Format.BINARY
    oid = types["float4"].array_oid

    def dump(self, obj: Reals) -> bytes:
        return obj


class PlainListDumper(Dumper):
    """Sends a list of texts, of numbers or of bytes; the statement says its type."""

    format = Format.TEXT

    def dump(self, obj: list[str] | list[int] | list[float] | list[bytes]) -> bytes:
        return f"{{{','.join([_array_element(each) for each in obj])}}}".encode()


def _array_element(each: str | float | bytes) -> str:
    if isinstance(each, bytes):
        return f'"\\\\x{each.hex()}"'
    if not isinstance(each, str):
        return repr(each)
    escaped = each.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


#: A statement is prepared for the types that its parameters have.
_Form = tuple[str, tuple[int, ...]]


class StoreConnection(Connection[TupleRow]):
    """A connection that remembers what it has prepared."""

    reads: PreparedReads


class PreparedReads:
    """The reads of one connection; it prepares the statements that come back."""

    def __init__(self, connection: Connection[Any], *, prepares: bool) -> None:
        self._connection = connection
        self._transformer = Transformer.from_context(connection)
        self._prepares = prepares
        self._seen: set[_Form] = set()
        self._names: dict[_Form, bytes] = {}
        self._numbers = count(1)

    def rows(self, statement: str, parameters: Parameters) -> list[Row]:
        """All rows of a statement that is sent outside of any transaction."""
        query = numbered(statement)
        transformer = self._transformer
        values = transformer.dump_sequence([parameters[x] for x in query.names], query.formats)
        types, formats = transformer.types or (), transformer.formats
        if self._is_prepared((statement, types), query):
            try:
                name = self._names[statement, types]
                pgconn = self._connection.pgconn
                pgconn.send_query_prepared(name, values, formats, Format.BINARY)
                result = self._result()
            except errors.InvalidSqlStatementName:  # a rollback makes psycopg forget them all
                self._names.clear()
                result = self._as_text(query, values, types, formats)
        else:
            result = self._as_text(query, values, types, formats)
        transformer.set_pgresult(result)
        rows: list[Row] = transformer.load_rows(0, result.ntuples, tuple)
        transformer.set_pgresult(None)  # of which only the rows are kept
        return rows

    def _is_prepared(self, form: _Form, query: Numbered) -> bool:
        """Whether a statement is prepared; it is when it comes back."""
        if form in self._names:
            return True
        if not self._prepares or form not in self._seen:
            self._seen.add(form)
            return False
        name = f"bearinmind_{next(self._numbers)}".encode()
        self._connection.pgconn.send_prepare(name, query.text, form[1])
        self._result()
        self._names[form] = name
        return True

    def _as_text(
        self,
        query: Numbered,
        values: Sequence[Buffer | None],
        types: tuple[int, ...],
        formats: Sequence[Format] | None,
    ) -> PGresult:
        send = self._connection.pgconn.send_query_params
        send(query.text, values, types, formats, Format.BINARY)
        return self._result()

    def _result(self) -> PGresult:
        """The server's answer. Waiting for it can be interrupted."""
        results: Sequence[PGresult] = self._connection.wait(execute(self._connection.pgconn))
        [result] = results
        if result.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
            raise errors.error_from_result(result, encoding="utf-8")
        return result

"""The statements of the Postgres store, as psycopg takes them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import LiteralString, NamedTuple

from recollect.store.queries import load

# `:name`, but neither a cast (`::text`) nor the end of a slice.
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")
_INSERT = re.compile(r"INSERT INTO (\w+) \(([^()]+)\)\s*VALUES \(([^()]+)\)", re.ASCII)


def _prepared(statement: LiteralString) -> LiteralString:
    doubled = statement.replace("%", "%%")
    return _PARAMETER.sub(r"%(\1)s", doubled)


#: The statements by name.
SQL = {name: _prepared(statement) for name, statement in load("postgres").items()}


class Copying(NamedTuple):
    """How the rows of an INSERT are copied in."""

    statement: LiteralString
    parameters: tuple[str, ...]  #: in the order of its columns


@lru_cache(maxsize=64)
def copying(name: str) -> Copying:
    """The COPY that does for many rows what a plain INSERT does for one."""
    found = _INSERT.match(load("postgres")[name])
    if found is None:
        raise ValueError(f"{name} is no plain INSERT")
    table, columns, values = found.groups()
    parameters = tuple(value.strip().removeprefix(":") for value in values.split(","))
    return Copying(f"COPY {table} ({columns}) FROM STDIN", parameters)

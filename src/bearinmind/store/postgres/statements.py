"""The statements of the Postgres store, as psycopg takes them."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import LiteralString, NamedTuple

from psycopg.adapt import PyFormat

from bearinmind.store.queries import load

# `:name`, but neither a cast (`::text`) nor the end of a slice.
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")
_INSERT = re.compile(r"INSERT INTO (\w+) \(([^()]+)\)\s*VALUES \(([^()]+)\)", re.ASCII)


def _prepared(statement: LiteralString) -> LiteralString:
    doubled = statement.replace("%", "%%")
    return _PARAMETER.sub(r"%(\1)s", doubled)


_STATEMENTS = load("postgres")

#: The statements by name.
SQL = {name: _prepared(statement) for name, statement in _STATEMENTS.items()}


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
    text = _PARAMETER.sub(lambda found: f"${numbers[found[1]]}", statement)
    return Numbered(text.encode(), names, (PyFormat.AUTO,) * len(names))


class Copying(NamedTuple):
    """How the rows of an INSERT are copied in."""

    statement: LiteralString
    parameters: tuple[str, ...]  #: in the order of its columns


@lru_cache(maxsize=64)
def copying(name: str) -> Copying:
    """The COPY that does for many rows what a plain INSERT does for one."""
    found = _INSERT.match(_STATEMENTS[name])
    if found is None:
        raise ValueError(f"{name} is no plain INSERT")
    table, columns, values = found.groups()
    parameters = tuple(value.strip().removeprefix(":") for value in values.split(","))
    return Copying(f"COPY {table} ({columns}) FROM STDIN", parameters)

"""Writes down what recalls send to the server, as scripts for pgbench."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np

from bearinmind.store.database import NOTHING, Parameters, Row, load_statements
from bearinmind.store.postgres.pool import Pool
from bearinmind.store.postgres.queries import PlainListDumper, Reals
from bearinmind.store.postgres.store import PostgresStore
from postgres.tenants import ASKED, Given, asked_owner, open_tenant

#: Statements in the order in which they were sent: settings, the name, its parameters.
Sent = list[tuple[Mapping[str, str], str, Parameters]]
_COMMENT = re.compile(r"--[^\n]*")
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")
_ARRAY_HEAD = 20  # bytes of an array before its first element
_STATEMENTS = load_statements("postgres")


class Scripts(NamedTuple):
    """What pgbench sends: files, and the values of the variables in them."""

    files: list[Path]
    values: dict[str, str]


@contextmanager
def recording() -> Iterator[Sent]:
    """Notes what is read by anybody."""
    sent: Sent = []
    read, read_with = Pool.read, Pool.read_with

    def noted(pool: Pool, statement: str, parameters: Parameters = NOTHING) -> list[Row]:
        sent.append(({}, statement, parameters))
        return read(pool, statement, parameters)

    def noted_with(
        pool: Pool, settings: Mapping[str, str], statement: str, parameters: Parameters = NOTHING
    ) -> list[Row]:
        sent.append((settings, statement, parameters))
        return read_with(pool, settings, statement, parameters)

    with patch.object(Pool, "read", noted), patch.object(Pool, "read_with", noted_with):
        yield sent


def recorded_scripts(folder: Path, url: str, given: Given) -> Scripts:
    """A script for each question: what a recall sends once it has answered a few before."""
    store = PostgresStore(url)
    scripts = Scripts([], {})
    tenants = [open_tenant(store, asked_owner(number), given) for number in range(ASKED)]
    with recording() as sent:
        for place, text in enumerate(given.texts):
            tenants[place % ASKED].recall(text)
            sent.clear()
            tenants[place % ASKED].recall(text)
            script = folder / f"{place}.sql"
            script.write_text("".join(_lines(f"q{place}", sent, scripts.values)), encoding="utf-8")
            script.chmod(0o644)
            scripts.files.append(script)
    store.close()
    return scripts


def _lines(question: str, sent: Sent, values: dict[str, str]) -> Iterator[str]:
    for place, (settings, name, parameters) in enumerate(sent):
        if settings:
            raise SystemExit(f"{name} has settings of its own, which no script can send")
        text = " ".join(_COMMENT.sub("", _STATEMENTS[name]).split("\n"))
        yield _with_variables(text, f"{question}_{place}", parameters, values) + ";\n"


def _with_variables(
    statement: str, prefix: str, parameters: Parameters, values: dict[str, str]
) -> str:
    """A statement whose parameters are variables of pgbench, which sends them as parameters too.

    There are none that are NULL, and the numbers of a vector, which are sent in the server's own
    form, would have to be read from a text each time: both stand in the statement itself.
    """

    def variable(found: re.Match[str]) -> str:
        value = parameters[found[1]]
        if value is None:
            return "NULL"
        if isinstance(value, Reals):
            return f"'{_numbers(value)}'"
        name = f"{prefix}_{found[1]}"
        values[name] = _text(value)
        return f":{name}"

    return _PARAMETER.sub(variable, statement)


def _text(value: object) -> str:
    if isinstance(value, list):
        return bytes(PlainListDumper(list).dump(value)).decode()
    return str(value)


def _numbers(value: Reals) -> str:
    pairs = np.frombuffer(value[_ARRAY_HEAD:], [("size", ">i4"), ("value", ">f4")])
    return f"{{{','.join(map(repr, pairs['value'].tolist()))}}}"

"""Writes down what recalls send to the server, as scripts for pgbench."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, LiteralString
from unittest.mock import patch

import numpy as np
import psycopg

from postgres.tenants import ASKED, Given, asked_owner, open_tenant
from recollect.store.database import NOTHING, Parameters, Row
from recollect.store.postgres.dumpers import Reals
from recollect.store.postgres.pool import Pool
from recollect.store.postgres.statements import SQL
from recollect.store.postgres.store import PostgresStore

#: Statements in the order in which they were sent: settings, the name, its parameters.
Sent = list[tuple[Mapping[str, str], str, Parameters]]
_COMMENT = re.compile(r"--[^\n]*")
_QUOTED = re.compile(r"'[^']*'")
_ARRAY_HEAD = 20  # bytes of an array before its first element


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


def recorded_scripts(folder: Path, url: str, given: Given) -> list[Path]:
    """A script for each question: what a recall sends once it has answered a few before."""
    store = PostgresStore(url)
    scripts = []
    tenants = [open_tenant(store, asked_owner(number), given) for number in range(ASKED)]
    with psycopg.connect(url) as connection, recording() as sent:
        cursor = psycopg.ClientCursor(connection)
        for place, text in enumerate(given.texts):
            tenants[place % ASKED].recall(text)
            sent.clear()
            tenants[place % ASKED].recall(text)
            script = folder / f"{place}.sql"
            script.write_text("".join(_lines(cursor, sent)), encoding="utf-8")
            script.chmod(0o644)
            scripts.append(script)
    store.close()
    return scripts


def _lines(cursor: psycopg.ClientCursor[Any], sent: Sent) -> Iterator[str]:
    for settings, name, parameters in sent:
        statement = _literal(cursor, SQL[name], parameters)
        if not settings:
            yield f"{statement};\n"
            continue
        values = [{"name": name, "value": value} for name, value in settings.items()]
        said = "".join(f"{_literal(cursor, SQL['set_for_transaction'], x)};\n" for x in values)
        yield f"BEGIN;\n{said}{statement};\nCOMMIT;\n"


def _literal(
    cursor: psycopg.ClientCursor[Any], statement: LiteralString, parameters: Parameters
) -> str:
    """A statement with its values, on one line, as pgbench wants it."""
    written = {name: _readable(value) for name, value in parameters.items()}
    text = cursor.mogrify(_COMMENT.sub("", statement), written)
    text = _QUOTED.sub(lambda quoted: _without_colons(quoted[0]), text)
    return " ".join(text.split("\n"))


def _without_colons(quoted: str) -> str:
    """A text in quotes; pgbench would take what follows a colon for a variable."""
    if ":" not in quoted:
        return quoted
    return "E" + quoted.replace("\\", "\\\\").replace(":", "\\x3a")


def _readable(value: object) -> object:
    """A parameter as a literal can say it; what is sent as the server has it, as a list."""
    if not isinstance(value, Reals):
        return value
    return np.frombuffer(value[_ARRAY_HEAD:], [("size", ">i4"), ("value", ">f4")])["value"].tolist()

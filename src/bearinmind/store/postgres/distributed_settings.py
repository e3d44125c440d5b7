"""Settings that hold on the other machines of a Citus cluster too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psycopg import Connection, sql

from bearinmind.store.postgres.statements import SQL


def hold_everywhere(connection: Connection[Any], settings: Mapping[str, str]) -> None:
    """Let settings hold until the transaction ends, on every machine that takes part in it.

    Citus passes on what `SET LOCAL` says, once it was told to, and not what `set_config` does.
    """
    statement = sql.SQL(SQL["hold_everywhere"])
    for name, value in {"citus.propagate_set_commands": "local", **settings}.items():
        connection.execute(
            statement.format(name=sql.Identifier(*name.split(".")), value=sql.Literal(value))
        )

"""Loads the statements of a store from its .sql files."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import LiteralString

from bearinmind.statements import statements_of

#: The files of each dialect that hold statements; each may use the fragments of those before it.
FILES = {
    "sqlite": (
        "queries.sql",
        "graph.sql",
        "sharing.sql",
        "accounts.sql",
        "syncing.sql",
        "inbox.sql",
        "moving.sql",
    ),
    "postgres": (
        "queries.sql",
        "graph.sql",
        "lexicon.sql",
        "vectors.sql",
        "sharing.sql",
        "accounts.sql",
        "syncing.sql",
        "inbox.sql",
        "migrate.sql",
        "status.sql",
        "distribute.sql",
        "moving.sql",
    ),
}


def read(dialect: str, name: str) -> LiteralString:
    """The text of one .sql file. It ships with the package, so it is as literal as code."""
    path = files("bearinmind.store").joinpath("sql", dialect, name)
    return path.read_text(encoding="utf-8")


def load(dialect: str) -> Mapping[str, LiteralString]:
    """The named statements of a dialect."""
    return statements_of(*(read(dialect, name) for name in FILES[dialect]))

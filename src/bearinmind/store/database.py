"""What both dialects share: what the logic of a store needs of a database, and its statements.

Statements have names: each dialect has them all, under the same names and with the same
parameters: in .sql files of its own, or in those in `common` where both say the same. A list
among the parameters is a list to the statement too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any, LiteralString, NamedTuple, Protocol

from bearinmind.errors import StoreUnavailable
from bearinmind.protocols import Finding
from bearinmind.text.analysis import Entry
from bearinmind.text.sql_statements import statements_of
from bearinmind.types import Memory, Space, UserId

if TYPE_CHECKING:
    from bearinmind.protocols import Vectors

Row = tuple[Any, ...]
Parameters = Mapping[str, Any]
NOTHING: Parameters = {}


class Transaction(Protocol):
    """A write transaction: everything is committed durably, or nothing."""

    def rows(self, statement: str, parameters: Parameters = NOTHING) -> list[Row]:
        """All rows of a statement."""

    def row(self, statement: str, parameters: Parameters = NOTHING) -> Row | None:
        """The first row of a statement, if there is any."""

    def rows_of_each(self, statement: str, each: Sequence[Parameters]) -> list[list[Row]]:
        """All rows of a statement for each of these parameters, in their order."""

    def change(self, statement: str, parameters: Parameters = NOTHING) -> int:
        """Run a statement that writes; how many rows it changed."""

    def change_each(self, statement: str, each: Sequence[Parameters]) -> int:
        """Run a statement for each of these parameters; how many rows were changed in all."""

    def insert(self, statement: str, each: Sequence[Parameters]) -> None:
        """Add rows that are known to be new, as fast as possible; all with the same names."""

    def numbers(self, owner: UserId, count: int) -> Sequence[int | None]:
        """`count` rising numbers that the owner has not used yet.

        None where the database numbers rows itself.
        """


class Version(NamedTuple):
    """A version of a memory, and the row that it has."""

    row: int
    memory: Memory
    past: bool = False  #: it is not the present one


class Steps(NamedTuple):
    """Steps for which a dialect runs its own list of statements, in order."""

    keep_vector: tuple[str, ...]  #: keep the vector of a job; the first counts those that are new
    copy_vector: tuple[str, ...]  #: give a version the vector of another one
    drop_space: tuple[str, ...]
    closed: tuple[str, ...]  #: after a version was ended
    unembedded: tuple[str, ...]  #: after missing jobs of embedding were queued
    indexed: tuple[str, ...]  #: after `versions` versions with `terms` terms were indexed
    forgotten: tuple[str, ...]  #: after versions left the index, so that no term stays behind
    vectors_erased: tuple[str, ...]  #: after all vectors of an owner were removed


class Database(Protocol):
    """A database of one dialect."""

    @property
    def steps(self) -> Steps:
        """The steps that differ between dialects."""

    def read(self, statement: str, parameters: Parameters = NOTHING) -> list[Row]:
        """All rows of a statement that changes nothing."""

    def writing(self, *owners: UserId, alone: bool = False) -> AbstractContextManager[Transaction]:
        """A write transaction. Other writers for one of these owners wait for its end.

        With `alone` the writers for every owner wait.
        """

    def entry_parameters(self, owner: UserId, entry: Entry) -> Parameters:
        """The parameters of `insert_indexed` for the terms of a version."""

    def vector_parameters(self, space: Space, vectors: Vectors, count: int) -> list[Parameters]:
        """The parameters of `keep_vector` for each of `count` vectors of a space."""


SQL_FOLDER = files("bearinmind.store").joinpath("sql")
_STATEMENT_FILES = {
    "sqlite": (
        *("queries", "graph", "sharing", "accounts", "erase", "server"),
        *("sync", "proposals", "transfer"),
    ),
    "postgres": (
        *("queries", "graph", "lexicon", "vectors", "sharing", "accounts", "erase", "server"),
        *("sync", "proposals", "migrate", "status", "distribute", "transfer"),
    ),
}
#: The files of each dialect that hold statements; each may use the fragments of those before it.
SQL_FILES = {
    dialect: tuple(f"{name}.sql" for name in names) for dialect, names in _STATEMENT_FILES.items()
}


def read_sql(dialect: str, name: str) -> LiteralString:
    """The text of a dialect's .sql file and, behind it, of what both dialects say alike.

    It ships with the package, so it is as literal as code.
    """
    own, common = SQL_FOLDER.joinpath(dialect, name), SQL_FOLDER.joinpath("common", name)
    return own.read_text("utf-8") + (common.read_text("utf-8") if common.is_file() else "")


_MIGRATION = re.compile(r"(\d{4})_\w+\.sql")


def migration_files(folder: Traversable) -> dict[int, str]:
    """The file names of all migrations by number; schema.sql was first published as number 1."""
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    numbered = {int(match[1]): match[0] for match in map(_MIGRATION.fullmatch, names) if match}
    return dict(sorted(numbered.items()))


def load_statements(dialect: str) -> Mapping[str, LiteralString]:
    """The named statements of a dialect."""
    return statements_of(*(read_sql(dialect, name) for name in SQL_FILES[dialect]))


#: Counts that must be zero: the finding, the statement, and what it counts.
_COUNTED = (
    ("index", "count_unindexed", "versions missing from the index"),
    ("links", "count_dangling", "links without a memory at one end"),
    ("versions", "count_presents", "memories without one present version"),
    ("vectors", "count_stray", "vectors without their memory, their space or their values"),
    ("meaning", "count_unembedded", "memories that will never be found by meaning"),
    ("graph", "count_graph_faults", "parts of the graph that are wrong"),
    ("concepts", "count_unread", "memories that will never be read for concepts"),
)


def integrity_findings(database: Database, *, partly: bool = False) -> list[Finding]:
    """The findings of the checks that every store has; `partly`: of those that can be made now."""
    findings = []
    for name, statement, what in _COUNTED:
        try:
            [[count]] = database.read(statement)
        except StoreUnavailable as exc:
            if not partly:
                raise
            findings.append(Finding(name=name, good=False, detail=f"not known: {exc.message}"))
        else:
            findings.append(Finding(name=name, good=count == 0, detail=f"{count} {what}"))
    [[dead, error]] = database.read("count_dead")
    detail = f"{dead} jobs given up" + (f": {error}" if error else "")
    return [*findings, Finding(name="work", good=dead == 0, detail=detail)]

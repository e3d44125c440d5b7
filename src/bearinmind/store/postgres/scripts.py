"""Reads the migrations of the Postgres schema, statement by statement."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import LiteralString

FOLDER = files("bearinmind.store").joinpath("sql", "postgres", "migrations")
#: The line that lets a migration be done step by step instead of at once or not at all.
STEP_BY_STEP = "-- outside a transaction"

_NAME = re.compile(r"(\d{4})_\w+\.sql")
# What may hold a semicolon that ends nothing, and the one that does.
_PIECE = re.compile(
    r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"[^\"]*\"|\$(\w*)\$.*?\$\1\$|(?P<end>;)", re.DOTALL
)
_COMMENT = re.compile(r"--[^\n]*")
_CONCURRENTLY = re.compile(r"\s*(?:CREATE|DROP|REINDEX)\b[^;]*\bCONCURRENTLY\b", re.IGNORECASE)
_BUILD = re.compile(
    r"\s*CREATE\s+(?:UNIQUE\s+)?INDEX\s+CONCURRENTLY\s+(?:IF\s+NOT\s+EXISTS\s+)?(\w+)\s+ON",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a migration, without comments."""

    text: LiteralString

    @property
    def stands_alone(self) -> bool:
        """Whether Postgres runs it outside of transactions only."""
        return _CONCURRENTLY.match(self.text) is not None

    @property
    def index(self) -> str | None:
        """The name of the index that it builds while others read and write."""
        found = _BUILD.match(self.text)
        return found[1] if found else None

    def __str__(self) -> str:
        return " ".join(self.text.split())


@dataclass(frozen=True, slots=True)
class Migration:
    """How a schema becomes the next one."""

    number: int
    name: str
    statements: tuple[Statement, ...]
    step_by_step: bool  #: else it is done at once or not at all


def numbered(folder: Traversable = FOLDER) -> dict[int, str]:
    """The file names of all migrations by number."""
    names = [entry.name for entry in folder.iterdir()]
    found = {int(match[1]): match[0] for match in map(_NAME.fullmatch, names) if match}
    return dict(sorted(found.items()))


def read(number: int, folder: Traversable = FOLDER) -> Migration:
    """A migration.

    Raises:
        ValueError: it has a statement that no transaction can hold, and does not say so.
    """
    name = numbered(folder)[number]
    text = folder.joinpath(name).read_text(encoding="utf-8")
    statements = tuple(statements_in(text))
    step_by_step = STEP_BY_STEP in text.splitlines()
    if not step_by_step and any(each.stands_alone for each in statements):
        raise ValueError(f"{name} needs the line {STEP_BY_STEP!r}")
    return Migration(number, name.removesuffix(".sql"), statements, step_by_step)


def statements_in(text: str) -> Iterator[Statement]:
    """The statements of a script, which ships with the package and is as literal as code."""
    begin = 0
    for piece in _PIECE.finditer(text):
        if piece["end"]:
            yield from _statement(text[begin : piece.start()])
            begin = piece.end()
    yield from _statement(text[begin:])


def _statement(text: str) -> Iterator[Statement]:
    bare = _PIECE.sub(lambda piece: _without_comment(piece[0]), text).strip()
    if bare:
        yield Statement(bare)


def _without_comment(piece: str) -> str:
    return "" if _COMMENT.fullmatch(piece) else piece

"""The relations of a SQLite file and the versions that say so.

Everything here runs inside a transaction of the caller.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from recollect.concepts import ConceptName, Statement
from recollect.store import rows
from recollect.store.queries import SQLITE as SQL
from recollect.types import UserId


class Source(NamedTuple):
    """Where a statement comes from, and for how long it is made."""

    owner: UserId
    origin: str
    since: int
    until: int = rows.NOT_YET
    row: int | None = None  #: the version that says so; None when it stands by itself
    given: bool = False  #: by somebody, rather than read in the version


class Stated(NamedTuple):
    """What became of a statement."""

    relation: int
    is_new: bool


def relates_two(statement: Statement) -> bool:
    """Whether it relates one concept to another by something."""
    source, target = statement.source.name, statement.target.name
    return bool(source and target and statement.type) and source != target


def state(
    connection: sqlite3.Connection,
    statement: Statement,
    numbers: Mapping[ConceptName, int],
    source: Source,
) -> Stated:
    """Keep what is stated between concepts that are known under these numbers."""
    said = {
        "source": numbers[statement.source.name],
        "type": statement.type,
        "target": numbers[statement.target.name],
        "weight": min(max(statement.weight, 0.0), 1.0),
        "valid_from": rows.from_time(statement.valid_from),
        "valid_to": rows.from_time(statement.valid_to),
    }
    return _keep(connection, said, source)


def _keep(connection: sqlite3.Connection, said: Mapping[str, Any], source: Source) -> Stated:
    """A relation that was stated before gains evidence; else it is new."""
    relation = {**said, **source._asdict(), "founded": source.row is not None}
    before = connection.execute(SQL["stated_before"], relation).fetchone()
    if before is None:
        [[number]] = connection.execute(SQL["insert_relation"], relation).fetchall()
    else:
        number, decided = before
        if not decided:
            connection.execute(SQL["extend_relation"], {**relation, "number": number})
    if source.row is not None:
        connection.execute(SQL["keep_evidence"], {**relation, "number": number})
    return Stated(number, before is None)


def take_over(connection: sqlite3.Connection, row: int, before: int) -> None:
    """Let a version say what another one does, from when it was written."""
    connection.execute(SQL["copy_evidence"], {"row": row, "before": before})
    connection.execute(SQL["extend_relations_of"], {"row": row})


def end_others(
    connection: sqlite3.Connection, row: int, stated: Iterable[int], at: int
) -> set[int]:
    """From a moment on a version states these relations alone; which others it stated before."""
    parameters = {"row": row, "stated": json.dumps([*stated]), "at": at}
    return {number for [number] in connection.execute(SQL["end_evidence"], parameters).fetchall()}


def settle(connection: sqlite3.Connection, relations: Iterable[int]) -> None:
    """Let these relations be believed as long as their evidence says so."""
    numbers = json.dumps(sorted(relations))
    connection.execute(SQL["settle_relations"], {"relations": numbers})


def forget_rows(connection: sqlite3.Connection, of: Sequence[int]) -> set[int]:
    """Remove what these versions are evidence for; the ends of the relations that go with it."""
    versions = {"rows": json.dumps(of)}
    touched = {number for [number] in connection.execute(SQL["relations_of_rows"], versions)}
    if not touched:
        return set()
    connection.execute(SQL["forget_evidence"], versions)
    candidates = {"relations": json.dumps(sorted(touched))}
    unfounded = connection.execute(SQL["ends_of_unfounded"], candidates).fetchall()
    gone = {number for number, _, _ in unfounded}
    connection.execute(SQL["remove_relations"], {"relations": json.dumps(sorted(gone))})
    settle(connection, touched - gone)
    return {end for _, *ends in unfounded for end in ends}


def retract(connection: sqlite3.Connection, owner: UserId, number: int, at: int) -> bool:
    """Stop believing a relation on purpose; False when it is not believed."""
    place = {"number": number, "owner": owner, "at": at}
    return connection.execute(SQL["retract_relation"], place).rowcount == 1


def keep_ended(
    connection: sqlite3.Connection, owner: UserId, number: int, valid_to: int, at: int
) -> None:
    """Keep a relation anew that holds until a moment, with the evidence that it has now."""
    names = ("source", "type", "target", "weight", "valid_from", "origin", "founded")
    [found] = connection.execute(SQL["relation"], (number,)).fetchall()
    said = {**dict(zip(names, found, strict=True)), "valid_to": valid_to}
    source = Source(owner, origin=said["origin"], since=at, given=True)
    if not said["founded"]:
        _keep(connection, said, source)
    for [row] in connection.execute(SQL["present_evidence"], (number,)).fetchall():
        _keep(connection, said, source._replace(row=row))

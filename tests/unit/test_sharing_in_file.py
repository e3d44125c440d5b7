"""A file finds what is shared by its indexes, however much its owner holds."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bearinmind.store import rows
from bearinmind.store.sqlite import SqliteStore
from bearinmind.store.sqlite.file import SQL
from bearinmind.types import Filter, Scope, UserId

AS_BOB = Filter(
    scope=Scope(user=UserId("ada")), reader=UserId("bob"), now=datetime(2026, 3, 1, tzinfo=UTC)
)
NAMED = json.dumps(["m1", "m2"])

#: What is looked up by names, by which parameters.
LOOKED_UP: dict[str, dict[str, object]] = {
    "shared_memories": {"ids": NAMED},
    "shared_rights": {"ids": NAMED},
    "writable_version": {"id": "m1"},
    "shared_concepts": {"names": NAMED},
    "mentions_in": {"ids": NAMED},
    "vectors_of": {"ids": NAMED, "space": 1},
    "vectors_present": {"seqs": "[1, 2]"},
}


@pytest.fixture
def connection(path: Path) -> Iterator[sqlite3.Connection]:
    SqliteStore(path).close()
    with closing(sqlite3.connect(path)) as opened:
        yield opened


def plan(connection: sqlite3.Connection, statement: str, **named: object) -> list[str]:
    asked = rows.from_filter(AS_BOB) | named
    found = connection.execute(f"EXPLAIN QUERY PLAN {SQL[f'{statement}@shared']}", asked)
    # Newer releases of SQLite see that an index has all that is asked for.
    return [str(step).replace("COVERING INDEX", "INDEX") for *_, step in found]


def test_who_shares_is_found_by_an_index_from_one_to_the_next(
    connection: sqlite3.Connection,
) -> None:
    steps = plan(connection, "sharers")
    assert "SEARCH s USING INDEX shares_by_reader (reader=?)" in steps
    assert "SEARCH s USING INDEX shares_by_reader (reader=? AND owner>?)" in steps
    assert {step for step in steps if "SCAN" in step} == {"SCAN sharer"}


@pytest.mark.parametrize("statement", LOOKED_UP)
def test_what_is_named_is_looked_up(connection: sqlite3.Connection, statement: str) -> None:
    steps = plan(connection, statement, **LOOKED_UP[statement])
    tables = ("m", "s", "n", "c", "v", "e", "l", "newer", "member", "found")
    assert not [step for step in steps if step.removeprefix("SCAN ") in tables], steps
    assert not [step for step in steps if step.endswith("memories_by_time (owner=?)")], steps

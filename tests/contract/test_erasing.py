"""Of a user who is erased nothing is left in any table, and everybody else keeps what they have."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from bearinmind.changes import ShareState, memory_subject, share_subject
from bearinmind.protocols import AuditEntry, BrowserSession, History, Page, Received, Store
from bearinmind.store.database import load_statements
from bearinmind.store.postgres.store import PostgresStore
from bearinmind.store.sqlite import SqliteStore
from bearinmind.types import Access, Filter, Memory, Right, Scope, Share, copy_name
from support.full_store import EVERY_STATE, LATER, NOON, OWNERS, Life, everything

ADA, EVE = (scope.user for scope in OWNERS[:2])
#: What says whose a row is.
NAMING = {"owner", "user_name", "reader"}

Tables = dict[str, list[dict[str, Any]]]
Dump = Callable[[], Tables]


def of_file(path: Path) -> Tables:
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        return {
            name: [dict(row) for row in connection.execute(f"SELECT * FROM {name}")]
            for [name] in names
        }


def of_database(url: str) -> Tables:
    listed = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    with psycopg.connect(url, row_factory=psycopg.rows.dict_row) as connection:
        names = [row["tablename"] for row in connection.execute(listed)]
        return {
            name: connection.execute(
                sql.SQL("SELECT * FROM {}").format(sql.Identifier(name))
            ).fetchall()
            for name in names
        }


@pytest.fixture(params=["sqlite", "postgres"])
def filled(
    request: pytest.FixtureRequest, path: Path, migrated_database: Callable[[], str]
) -> Iterator[tuple[Store, Dump]]:
    """A store of each kind that holds whatever a store can, and a way to see all of its rows."""
    store: Store
    if request.param == "sqlite":
        store, dump = SqliteStore(path), lambda: of_file(path)
    else:
        url = migrated_database()
        store, dump = PostgresStore(url, connections=2), lambda: of_database(url)
    Life(store, 3)()
    entangle(store, LATER)
    yield store, dump
    store.close()


def entangle(store: Store, now: datetime) -> None:
    """Let Ada's name be in what others have, wherever it can be."""
    eve = Scope(user=EVE)
    session = BrowserSession(b"s" * 32, ADA, Access.READ, "k0", False, NOON, LATER)
    store.add_session(session)
    [own] = store.browse(Filter(scope=eve, now=now, states=EVERY_STATE), Page(limit=1))
    share = Share(owner=EVE, reader=ADA, right=Right.READ, memory=own.id, created_at=now)
    store.add_share(eve, share)
    for agent, key, detail in (
        (ADA, "k0", "k9 admin"),
        (None, "k0", f"by {ADA}"),
        (None, None, f"tag red, with {ADA}, to read"),
        (None, None, "with adalbert, to read"),
    ):
        store.note(AuditEntry(now, EVE, "share", None, None, agent, key, detail))
    theirs = store.browse(Filter(scope=OWNERS[0], now=now, states=EVERY_STATE), Page(limit=99))
    mine = next(each for each in theirs if not each.sensitive and each.deleted_at is None)
    mirror = Scope(user=copy_name(ADA, EVE))
    store.receive(mirror, [Received(memory_subject(mine.id), _copy(mine), 0)])
    shown = Share(owner=mirror.user, reader=EVE, right=Right.READ, memory=mine.id, created_at=now)
    store.receive(mirror, [Received(share_subject(EVE, mine.id, None), ShareState(shown), 0)])


def _copy(memory: Memory) -> History:
    return History(versions=(replace(memory, version=7),))


def names_ada(value: object) -> bool:
    return "ada" in str(value).replace("adalbert", "")


def test_nothing_of_an_erased_user_is_left_in_any_table(filled: tuple[Store, Dump]) -> None:
    store, dump = filled
    before = dump()
    mine = {row["id"] for row in before["memories"] if names_ada(row["owner"])}
    assert mine

    store.erase_user(ADA, "erased-1")

    after = dump()
    for table, rows in after.items():
        for row in rows:
            assert not any(map(names_ada, row.values())), (table, row)
            assert row.get("id") not in mine, (table, row)
    assert not any(store.held_by(ADA).values())
    details = {row["detail"] for row in after["audit"]}
    assert {"by erased-1", "tag red, with erased-1, to read", "with adalbert, to read"} <= details
    assert "k0" not in {row["key"] for row in after["audit"]}


def test_everybody_else_keeps_what_they_have(filled: tuple[Store, Dump]) -> None:
    store, _ = filled
    before = {scope.user: kept(everything(store)[scope.user]) for scope in OWNERS[1:]}

    store.erase_user(ADA, "erased-1")

    after = everything(store)
    assert {name: kept(after[name]) for name in before} == before
    assert [each for each in store.check() if not each.good and each.name != "work"] == []
    assert [user.name for user in store.users()] == sorted(scope.user for scope in OWNERS[1:])


def kept(answers: dict[str, Any]) -> dict[str, Any]:
    """What a store answers to somebody who shares nothing with Ada any more."""
    words = ("memories", "oldest", "versions", "links", "secrets", "words", "near", "mentions")
    more = ("relations", "hubs", "merges", "graph", "traffic", "terms", "conflicts", "proposals")
    return {name: value for name, value in answers.items() if name.startswith(words + more)}


def test_every_table_that_says_whose_a_row_is_is_erased(filled: tuple[Store, Dump]) -> None:
    """A table that a later migration adds is not forgotten."""
    store, dump = filled
    dialect = "sqlite" if isinstance(store, SqliteStore) else "postgres"
    erasing = "\n".join(
        text for name, text in load_statements(dialect).items() if name.startswith("erase_")
    )
    for table, rows in dump().items():
        # What clients may do is forgotten within a minute.
        allowed = table.startswith(("lexicon", "allowances"))
        assert rows or allowed, f"{table} is empty: nothing is proven of it"
        if rows and NAMING & {*rows[0]}:
            assert f"DELETE FROM {table} " in erasing, table

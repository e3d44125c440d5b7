"""Among a thousand owners a list is read by the indexes that begin with the owner."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime

import psycopg
import pytest

from bearinmind.protocols import Page
from bearinmind.recall.history import listing
from bearinmind.store import rows
from bearinmind.store.postgres.queries import SQL
from bearinmind.store.postgres.store import PostgresStore
from bearinmind.store.rows import form_of
from bearinmind.types import Filter, Scope, UserId
from support.extractors import HOUR

EACH = 10
_PARAMETER = re.compile(r"%\((\w+)\)s")
READER = UserId("user1")
_MEMORIES = """
INSERT INTO memories (
    owner, row, id, version, content, content_hash, category, tags, keywords, importance, sensitive,
    created_at, updated_at, trust
)
SELECT 'user' || u, n, 'm' || u || '_' || n, 1, repeat('walrus ', 20),
    sha256((u || '-' || n)::bytea), 'facts',
    ARRAY[CASE WHEN n % 5 = 0 THEN 'team' ELSE 'other' END], '{}', 0.5, FALSE,
    n * 1000000 + u, n, 'agent'
FROM generate_series(1, 1000) AS u, generate_series(1, 10) AS n
"""
_SHARES = """
INSERT INTO shares (owner, number, reader, memory, tag, can_write, created_at)
SELECT 'user' || u, 900, 'user' || (CASE WHEN u < 5 THEN 1 ELSE u + 1 END),
    CASE WHEN u % 2 = 0 THEN 'm' || u || '_3' END, CASE WHEN u % 2 = 1 THEN 'team' END, FALSE, 0
FROM generate_series(2, 500) AS u
"""


@pytest.fixture
def url(migrated_database: Callable[[], str]) -> str:
    made = migrated_database()
    with psycopg.connect(made, autocommit=True) as connection:
        for statement in (_MEMORIES, _SHARES, "ANALYZE"):
            connection.execute(statement)
    return made


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(url, connections=2)
    yield opened
    opened.close()


@pytest.fixture
def own(noon: datetime) -> Filter:
    return Filter(scope=Scope(user=READER), now=noon + HOUR)


def plan(url: str, statement: str, filter: Filter) -> str:
    """How a statement is carried out when one plan has to do for every owner."""
    text = SQL[form_of(statement, rows.from_filter(filter))]
    names = [*dict.fromkeys(_PARAMETER.findall(text))]
    numbered = _PARAMETER.sub(lambda found: f"${names.index(found[1]) + 1}", text)
    with psycopg.connect(url) as connection:
        found = connection.execute(b"EXPLAIN (GENERIC_PLAN) " + numbered.encode()).fetchall()
    return "\n".join(line for (line,) in found)


shows_plans = pytest.mark.skipif(
    bool(os.environ.get("CITUS_URL")), reason="Citus shows no plan that does for every owner"
)


@shows_plans
def test_own_memories_are_listed_by_the_index_of_owner_and_time(url: str, own: Filter) -> None:
    assert "using memories_by_time" in plan(url, "list_newest", own)
    assert "using memories_by_time" in plan(url, "list_oldest", own)


@shows_plans
def test_what_an_owner_shares_is_listed_without_a_look_at_everybody(url: str, own: Filter) -> None:
    as_reader = replace(own, scope=Scope(user=UserId("user3")), reader=READER)
    for statement in ("list_newest", "list_oldest", "count_admitted"):
        for filter_ in (own, as_reader):
            assert "Seq Scan on memories" not in plan(url, statement, filter_)


def test_the_list_of_one_among_many_has_what_few_share(store: PostgresStore, own: Filter) -> None:
    page = Page(limit=99)
    assert {memory.owner for memory in listing(store, own).browse(page)} == {
        *("user1", "user2", "user3", "user4")
    }
    assert listing(store, own).counts() == [EACH, 1, 2, 1]
    alone = replace(own, scope=Scope(user=UserId("user700")))
    assert listing(store, alone).views == (alone,)
    assert len(listing(store, alone).browse(page)) == EACH

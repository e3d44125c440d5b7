"""Without pgvector a store opens all the same, and says what it lacks until that has come."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace

import numpy as np
import psycopg
import pytest
from psycopg import conninfo

from bearinmind.app import Mind
from bearinmind.changes import Taken, digest, memory_subject
from bearinmind.config import Settings
from bearinmind.errors import StoreUnavailable
from bearinmind.protocols import Gone, History, Received
from bearinmind.store.postgres.capabilities import (
    DatabaseInfo,
    can_begin_vectors,
    check_server,
    why_meaning_is_off,
)
from bearinmind.store.postgres.store import PostgresStore
from bearinmind.types import Memory, Scope, Space, UserId
from support.postgres_server import Databases

GOOD = DatabaseInfo(
    version_number=180_006,
    version="18.6",
    database="team",
    role="bob",
    schema_name="public",
    owner="ada",
    is_store=True,
    tables=20,
    follows=False,
    may_create_extensions=True,
    may_change_vectors=True,
    vector="0.8.6",
    vector_schema="public",
    vector_offered=None,
    vector_found=True,
    keeps_vectors=True,
)
LACKING = GOOD._replace(vector=None, vector_schema=None, vector_found=False, keeps_vectors=False)

# ---- what follows from what was found ----------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "reason", "remedy"),
    [
        (LACKING, "the server does not have pgvector", "postgresql-18-pgvector"),
        (LACKING._replace(vector_offered="0.7.4"), "offers pgvector 0.7.4", "0.8 or newer"),
        (
            LACKING._replace(vector_offered="0.8.0", may_create_extensions=False),
            "the role 'bob' may not create it",
            "Have a superuser run in 'team': CREATE EXTENSION vector;",
        ),
        (
            LACKING._replace(vector_offered="0.8.0"),
            "not have pgvector yet",
            "bearinmind db migrate",
        ),
        (GOOD._replace(vector="0.7.4"), "pgvector 0.7.4", "ALTER EXTENSION vector UPDATE"),
        (
            GOOD._replace(vector_schema="extensions", vector_found=False),
            "in the schema 'extensions'",
            "SET search_path = public, extensions",
        ),
        (GOOD._replace(keeps_vectors=False), "its column", "bearinmind db migrate"),
    ],
)
def test_what_is_missing_is_told_with_what_to_do(
    found: DatabaseInfo, reason: str, remedy: str
) -> None:
    off = why_meaning_is_off(found)

    assert off is not None
    assert reason in off.reason
    assert remedy in off.hint
    assert not off.expected


@pytest.mark.parametrize("version", ["0.8.0", "0.8.6", "0.10", "1.0.0"])
def test_recent_versions_are_good(version: str) -> None:
    assert why_meaning_is_off(GOOD._replace(vector=version)) is None


@pytest.mark.parametrize(
    ("found", "can"),
    [
        (GOOD, False),
        (LACKING, False),
        (LACKING._replace(vector_offered="0.8.0"), True),
        (LACKING._replace(vector_offered="0.7.4"), False),
        (LACKING._replace(vector_offered="0.8.0", may_create_extensions=False), False),
        (LACKING._replace(vector_offered="0.8.0", may_change_vectors=False), False),
        (GOOD._replace(keeps_vectors=False), True),
        (GOOD._replace(keeps_vectors=False, follows=True), False),
    ],
)
def test_vectors_are_begun_where_they_can_be(found: DatabaseInfo, can: bool) -> None:
    assert can_begin_vectors(found) is can


def test_a_server_that_is_too_old_is_refused_with_its_version() -> None:
    check_server(GOOD._replace(version_number=150_000), "here")
    with pytest.raises(StoreUnavailable, match=r"Postgres 14\.9; Bear in Mind needs 15"):
        check_server(GOOD._replace(version_number=140_009, version="14.9"), "here")


# ---- a real database without it ----------------------------------------------------------------


@pytest.fixture
def url(postgres: Databases, postgres_url: str) -> Iterator[str]:
    """A database without pgvector, for a role that may not create it."""
    role = f"test_nobody_{os.getpid()}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
        connection.execute(f"GRANT CREATE ON SCHEMA public TO {role}")
    parts = conninfo.conninfo_to_dict(postgres_url) | {"user": role, "password": "x"}
    parts.pop("passfile", None)
    yield conninfo.make_conninfo("", **parts)
    postgres.drop(postgres_url)
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(f"DROP ROLE {role}")


@pytest.fixture
def open_memory(url: str) -> Iterator[Callable[[], Mind]]:
    opened: list[Mind] = []

    def open_() -> Mind:
        settings = Settings.model_validate({"embedder": "hash", "extractor": "rules"})
        opened.append(Mind(PostgresStore(url), settings))
        return opened[-1]

    yield open_
    for memory in opened:
        memory.close()


def test_memories_are_found_by_words_and_the_answer_says_what_is_off(
    open_memory: Callable[[], Mind],
) -> None:
    memory = open_memory()
    walrus = memory.store("Gannet draws the labels of walruses").memory

    answer = memory.recall("which labels?")

    assert [hit.memory.id for hit in answer.hits] == [walrus.id]
    [dense] = [leg for leg in answer.trace.legs if leg.leg == "dense"]
    assert dense.error is not None
    assert "does not have pgvector" in dense.error
    assert all(finding.good for finding in memory.check())


def test_what_is_to_be_embedded_waits_and_other_work_is_done(
    open_memory: Callable[[], Mind],
) -> None:
    memory = open_memory()
    memory.store("Gannet draws the labels")
    memory.store("Puffin prints them")

    status = memory.work.wait()

    assert (status.to_embed, status.to_read, status.next_due) == (2, 0, None)
    assert status.meaning_off is not None
    assert memory.graph.counts().concepts > 0


def test_vectors_come_once_the_extension_has(
    open_memory: Callable[[], Mind], postgres_url: str
) -> None:
    memory = open_memory()
    puffin = memory.store("Puffin prints them").memory
    memory.update(puffin.id, content="Puffin prints the labels")
    memory.work.wait()
    with psycopg.connect(postgres_url, autocommit=True) as superuser:
        superuser.execute("CREATE EXTENSION vector")
    off = memory.work.status().meaning_off
    assert off is not None
    assert "bearinmind db migrate" in off.hint

    open_memory()  # a later opening adds the column, and whoever is open already notices

    assert memory.work.wait().to_embed == 0
    answer = memory.recall("who prints labels")
    assert {leg.leg: leg.error for leg in answer.trace.legs}["dense"] is None
    assert all(finding.good for finding in memory.check())


def test_a_space_can_be_dropped_without_any_vectors(url: str) -> None:
    with closing(PostgresStore(url)) as store:
        assert store.drop_retired() == 0
        assert not store.activate_filled()


def test_changes_are_taken_in_without_any_vectors(url: str, make: Callable[..., Memory]) -> None:
    ada, space = Scope(user=UserId("ada")), Space(model="made up", revision="1", dimensions=2)
    one = make("heron")
    other = replace(one, content="grey heron")
    with closing(PostgresStore(url)) as store:
        store.use_space(space)
        store.open_feed(ada, "epoch")
        store.put(ada, one)
        carried = {one.id: (digest(one), np.ones(2, np.float32))}
        assert store.carry_vectors(ada, space, carried) == 0
        assert store.vectors_of(ada, space, [one.id]) == {}
        received = Received(memory_subject(one.id), History(versions=(other,)), 1)
        assert store.receive(ada, [received]) == [Taken(2)]
        assert store.versions(ada, one.id) == [other]
        assert store.receive(ada, [received._replace(state=Gone(()), expected=2)]) == [Taken(3)]
        assert all(finding.good for finding in store.check())

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
import typer.main
from psycopg import conninfo

from bearinmind.store.postgres.indexes import VectorIndexes
from bearinmind.store.postgres.pool import Pool
from bearinmind.store.postgres.schema import SCHEMA_VERSION
from bearinmind.surfaces.cli import app, db
from support.postgres_server import Databases

Run = Callable[..., Any]
COMMANDS = ["status", "migrate", "index", "distribute", "start", "stop"]
GROUP: Any = typer.main.get_command(app)


@pytest.fixture(autouse=True)
def hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An embedder that needs no model."""
    monkeypatch.setenv("BEARINMIND_EMBEDDER", "hash")


@pytest.fixture
def store(migrated_database: Callable[[], str]) -> str:
    """The name of a store on Postgres."""
    return migrated_database()


@pytest.fixture
def without_pgvector(postgres: Databases, postgres_url: str) -> Iterator[str]:
    """The name of a store whose role may not create extensions."""
    role = f"test_plain_{os.getpid()}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'geheim'")
        connection.execute(f"GRANT CREATE ON SCHEMA public TO {role}")
    said = conninfo.conninfo_to_dict(postgres_url)
    yield (
        f"postgresql://{role}:geheim@/{said['dbname']}?host={str(said['host']).replace('/', '%2F')}"
        f"&port={said['port']}"
    )
    postgres.drop(postgres_url)
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(f"DROP ROLE {role}")


# ---- all of them -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(run: Run, name: str) -> None:
    command = GROUP.commands["db"].commands[name]

    assert [*GROUP.commands["db"].commands] == COMMANDS
    assert any("--json" in param.opts for param in command.params)
    assert "Example:" in run("db", name, "--help").out
    assert "..." not in run("db", "--help").out.partition("Commands:")[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_has_no_database_to_look_after(run: Run, place: Path, name: str) -> None:
    ran = run("db", name, "--json")

    assert ran.code == 2
    assert f"{str(place)!r} is a file" in ran.error["message"]
    assert "postgresql://" in ran.error["hint"]
    assert not place.exists()


@pytest.mark.parametrize("name", ["start", "stop"])
def test_a_server_of_others_is_neither_started_nor_stopped(run: Run, name: str) -> None:
    ran = run("db", name, store="postgresql://ada:geheim@db.example.org/team")

    assert ran.code == 2
    assert "'postgresql://ada@db.example.org/team'" in ran.err
    assert "geheim" not in ran.err


def test_a_server_that_is_not_there_is_told_without_the_password(run: Run) -> None:
    ran = run("db", "status", store="postgresql://ada:geheim@127.0.0.1:1/team")

    assert ran.code == 5
    assert "cannot be reached" in ran.err
    assert "geheim" not in ran.err


# ---- status ------------------------------------------------------------------------------------


def test_status_says_what_there_is_and_what_it_takes(run: Run, store: str) -> None:
    for text in ("walruses sing", "seals listen", "gulls cry"):
        assert run("store", text, store=store).code == 0
    run("--user", "bob", "store", "another one", store=store)
    run("work", store=store)

    answer = run("db", "status", "--json", store=store).json
    shown = run("db", "status", store=store)

    assert answer["server"] is None
    database = answer["database"]
    assert int(database["server"].partition(".")[0]) >= 15
    assert database["extensions"]["vector"] >= "0.8"
    assert (database["present"], database["store"]["schema"]) == (SCHEMA_VERSION, SCHEMA_VERSION)
    assert (database["store"]["tenants"], database["store"]["versions"]) == (2, 4)
    assert {table["name"] for table in database["store"]["tables"]} >= {"memories", "vectors"}
    assert [each["vectors"] for each in database["store"]["indexes"]] == [4]
    assert database["store"]["queue"] == []
    assert database["connections"] >= 1
    assert database["meaning_off"] is None
    for text in ("Postgres ", "vector 0.", "4 versions", "memories", "empty", "none"):
        assert text in shown.out


def test_status_changes_nothing(run: Run, postgres_url: str) -> None:
    shown = run("db", "status", store=postgres_url)

    assert shown.code == 0
    assert "none yet. `bearinmind db migrate`" in shown.out
    with psycopg.connect(postgres_url) as connection:
        found = connection.execute("SELECT to_regclass('store_facts')").fetchall()
    assert found == [(None,)]


def test_status_tells_the_tables_of_another_program(run: Run, postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE customers (name text)")

    assert "1 table of some other program" in run("db", "status", store=postgres_url).out
    assert run("db", "migrate", store=postgres_url).code == 5


def test_status_says_whether_the_replica_answers(
    run: Run, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BEARINMIND_REPLICA", store)

    shown = run("db", "status", "--json", store=store).json["database"]["replica"]
    assert shown.endswith("primary: the replica is none"), "it is the primary itself"


# ---- migrate, index, distribute ----------------------------------------------------------------


def test_migrate_makes_the_tables_and_then_finds_nothing_missing(
    run: Run, postgres_url: str
) -> None:
    first = run("db", "migrate", store=postgres_url)

    assert f"Made the tables, with schema {SCHEMA_VERSION}." in first.out
    assert "creating the schema" in first.err
    again = run("db", "migrate", "--json", store=postgres_url).json
    assert (again["before"], again["schema"]) == (SCHEMA_VERSION, SCHEMA_VERSION)
    assert (again["applied"], again["meaning_off"]) == ([], None)
    assert "Nothing is missing" in run("db", "migrate", store=postgres_url).out


def test_index_builds_nothing_for_few_memories(run: Run, store: str) -> None:
    run("store", "walruses sing", "--wait", store=store)

    answer = run("db", "index", "--json", store=store).json
    assert (answer["built"], answer["being_built_by_others"]) == ([], 0)
    assert [index["vectors"] for index in answer["indexes"]] == [1]
    assert "No index is due." in run("db", "index", store=store).out


def test_an_index_is_built_and_shown(run: Run, store: str) -> None:
    run("store", "walruses sing", "--wait", store=store)
    with closing(Pool(store)) as pool:
        indexes = VectorIndexes(pool)
        [space] = indexes.known()
        assert db._built(indexes, space), "so few are never due by themselves"

    [index] = run("db", "status", "--json", store=store).json["database"]["store"]["indexes"]
    assert index["complete"]
    assert "MiB" in run("db", "index", store=store).out


def test_distribute_says_what_is_missing(run: Run, store: str) -> None:
    ran = run("db", "distribute", store=store)

    assert ran.code == 2
    assert "does not have the extension citus" in ran.err
    assert "shared_preload_libraries" in ran.err


# ---- without pgvector --------------------------------------------------------------------------


def test_every_surface_says_that_meaning_is_off_and_why(run: Run, without_pgvector: str) -> None:
    store = without_pgvector
    stored = run("store", "walruses sing at dawn", "--wait", store=store)
    assert stored.code == 0
    reason = "does not have pgvector, and the role"
    assert reason in stored.err

    shown = run("recall", "walruses", "--trace", store=store)
    assert "walruses sing at dawn" in shown.out
    for ran in (
        shown,
        run("recall", "walruses", store=store),
        run("stats", store=store),
        run("work", store=store),
        run("work", "--status", store=store),
        run("db", "status", store=store),
        run("db", "migrate", store=store),
    ):
        assert ran.code == 0
        assert reason in ran.out + ran.err
    assert reason in run("stats", "--json", store=store).json["meaning_off"]
    doctor = run("doctor", store=store)
    assert doctor.code == 5
    assert "CREATE EXTENSION vector" in doctor.out
    assert "geheim" not in doctor.out


# ---- the embedded server -----------------------------------------------------------------------


def test_the_embedded_server_is_started_looked_at_and_stopped(run: Run, tmp_path: Path) -> None:
    store = f"postgres:{tmp_path / 'server'}"
    assert "not installed" in run("db", "status", store=store).out
    try:
        started = run("db", "start", "--json", store=store).json
        assert started["running"]
        both = run("db", "status", "--json", store=store).json
        assert both["server"]["pid"] == started["pid"]
        assert both["database"]["store"] is None
        assert f"running (pid {started['pid']})" in run("db", "status", store=store).out
    finally:
        stopped = run("db", "stop", "--json", store=store).json
    assert (stopped["running"], stopped["pid"]) == (False, None)
    assert "not running" in run("db", "status", store=store).out
    assert run("db", "stop", store=store).code == 0

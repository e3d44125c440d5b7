"""Databases of earlier schemas come to the present one; those that are not ours are left alone."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.store import database
from bearinmind.store.database import migration_files
from bearinmind.store.postgres import schema
from bearinmind.store.postgres.pool import Pool
from bearinmind.store.postgres.schema import SCHEMA_VERSION
from bearinmind.store.postgres.store import PostgresStore
from bearinmind.text import analysis
from support.old_stores import held_by, live_and_other_memories
from support.postgres_server import Databases

CATALOG = {
    "columns": """
        SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
        a.attidentity, a.attstorage, a.attcollation::regcollation::text,
        pg_get_expr(d.adbin, d.adrelid)
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
        LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND NOT a.attisdropped
        ORDER BY 1, 2
    """,
    "constraints": """
        SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2
    """,
    "indexes": "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
    "options": """
        SELECT relname, reloptions FROM pg_class
        WHERE relnamespace = 'public'::regnamespace ORDER BY 1
    """,
}


def catalog(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """Everything that makes up the schema of a database."""
    with psycopg.connect(url) as connection:
        return {what: connection.execute(query).fetchall() for what, query in CATALOG.items()}


def run(url: str, *statements: str) -> list[tuple[Any, ...]]:
    """Run statements, each in a transaction of its own; the rows of the last one."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


@pytest.fixture
def bring_up() -> Iterator[Callable[..., schema.Opened]]:
    """Brings a database up to date, perhaps with more migrations than there are."""
    pools: list[Pool] = []

    def bring(url: str, folder: Path | None = None, **more: Any) -> schema.Opened:
        pools.append(Pool(url))
        given = {"patience": 10.0} | ({"folder": folder} if folder else {}) | more
        return schema.bring_up(pools[-1], **given)

    yield bring
    for pool in pools:
        pool.close()


@pytest.fixture
def more(tmp_path: Path) -> Callable[..., Path]:
    """A folder of migrations behind the present one."""

    def write(*texts: str) -> Path:
        folder = tmp_path / "migrations"
        folder.mkdir(exist_ok=True)
        for number, text in enumerate(texts, SCHEMA_VERSION + 1):
            (folder / f"{number:04}_for_a_test.sql").write_text(text)
        return folder

    return write


# ---- the schema --------------------------------------------------------------------------------


def first_schema() -> str:
    """The schema of version 1: schema.sql, until a migration changes that file.

    The first migration puts schema.sql as it was before into `first_schema_postgres.sql` here.
    """
    if not migration_files(schema.MIGRATIONS):
        return database.read_sql("postgres", "schema.sql")
    return Path(__file__).with_name("first_schema_postgres.sql").read_text("utf-8")


def test_the_schema_and_the_migrations_make_the_same_database(postgres: Databases) -> None:
    made, migrated = postgres.fresh(), postgres.fresh()
    run(made, database.read_sql("postgres", "schema.sql"))
    run(migrated, first_schema())
    for number in migration_files(schema.MIGRATIONS):
        run(migrated, *(str(each.text) for each in schema.read_migration(number).statements))

    assert catalog(made) == catalog(migrated)
    assert len(catalog(made)["columns"]) > 50
    postgres.drop(made)
    postgres.drop(migrated)


def test_a_database_of_the_first_schema_keeps_everything_and_has_its_live_memories_compared(
    migrated_database: Callable[[], str],
) -> None:
    url = migrated_database()
    with Mind(PostgresStore(url)) as memory:
        live, ids = live_and_other_memories(memory)
        before = held_by(memory, ids)
    run(
        url,
        "DELETE FROM work WHERE kind = 'compare'",
        "ALTER TABLE links DROP COLUMN judgement",
        "DROP TABLE sessions, traffic, allowances",
        "UPDATE store_facts SET schema = 1",
    )
    with Mind(PostgresStore(url)) as memory:
        assert held_by(memory, ids) == before
        assert all(finding.good for finding in memory.check())
    assert run(url, "SELECT schema, steps FROM store_facts") == [(SCHEMA_VERSION, 0)]
    compared = "SELECT m.id FROM work w JOIN memories m USING (owner, row) WHERE kind = 'compare'"
    assert sorted(id_ for [id_] in run(url, compared)) == live


def test_a_new_database_has_the_schema_that_readers_see(
    postgres: Databases, postgres_url: str
) -> None:
    PostgresStore(postgres_url).close()

    expected = postgres.fresh()
    run(
        expected, *(database.read_sql("postgres", f"{n}.sql") for n in ("schema", "schema_vectors"))
    )
    assert catalog(postgres_url) == catalog(expected)
    assert run(postgres_url, "SELECT schema, steps, analysis FROM store_facts") == [
        (SCHEMA_VERSION, 0, analysis.ANALYSIS_VERSION)
    ]
    postgres.drop(expected)


def test_migrations_are_numbered_without_gaps_behind_the_first_schema() -> None:
    files = [*migration_files(schema.MIGRATIONS).values()]
    assert all(re.fullmatch(r"\d{4}_[a-z0-9]+(_[a-z0-9]+)*\.sql", name) for name in files)
    assert [int(name[:4]) for name in files] == [*range(2, len(files) + 2)]
    assert len(files) + 1 == SCHEMA_VERSION


def test_the_owner_comes_first_in_every_key_of_a_table_that_has_one(
    migrated_database: Callable[[], str],
) -> None:
    """What is spread over machines by its owner can be unique only within an owner."""
    keys = run(
        migrated_database(),
        """
        SELECT i.indexrelid::regclass::text, array_agg(a.attname::text ORDER BY a.attnum)
        FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indexrelid
        WHERE i.indisunique AND EXISTS (
            SELECT FROM pg_attribute o WHERE o.attrelid = i.indrelid AND o.attname = 'owner'
        ) AND i.indrelid::regclass::text NOT LIKE 'pg_%' GROUP BY 1
        """,
    )
    assert len(keys) > 12
    assert [name for name, columns in keys if columns[0] != "owner"] == []


def test_a_present_database_is_only_read(migrated_database: Callable[[], str]) -> None:
    url = migrated_database()
    with psycopg.connect(url, autocommit=True) as other:
        name = sql.Identifier(other.info.dbname)
        other.execute(
            sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = on").format(name)
        )

    with Mind(PostgresStore(url)) as memory:
        assert memory.recall("walrus").hits == ()
        with pytest.raises(errors.StoreReadOnly):
            memory.store("walrus")


# ---- what is not ours --------------------------------------------------------------------------


def test_a_database_of_a_newer_release_is_refused_and_not_touched(
    migrated_database: Callable[[], str],
) -> None:
    url = migrated_database()
    run(url, f"UPDATE store_facts SET schema = {SCHEMA_VERSION + 1}", "DROP INDEX links_by_target")
    before = catalog(url)

    with pytest.raises(errors.StoreTooNew, match=f"schema {SCHEMA_VERSION + 1}") as caught:
        PostgresStore(url)
    assert "the database was not touched" in caught.value.hint
    assert catalog(url) == before


@pytest.mark.parametrize(
    "theirs", ["CREATE TABLE customers (name text)", "CREATE TABLE store_facts (motto text)"]
)
def test_a_database_of_another_program_is_refused_and_not_touched(
    postgres_url: str, theirs: str
) -> None:
    run(postgres_url, theirs)
    before = catalog(postgres_url)

    with pytest.raises(errors.StoreDamaged, match="not a Bear in Mind store") as caught:
        PostgresStore(postgres_url)
    assert "a database of its own" in caught.value.hint
    assert catalog(postgres_url) == before


def test_what_extensions_bring_along_is_no_other_program(postgres_url: str) -> None:
    run(postgres_url, "CREATE EXTENSION pg_stat_statements")  # it has views

    PostgresStore(postgres_url).close()


def test_a_store_may_have_a_schema_of_its_own_beside_others(postgres_url: str) -> None:
    run(postgres_url, "CREATE TABLE customers (name text)", "CREATE SCHEMA memories")
    url = f"{postgres_url}&options=-csearch_path%3Dmemories,public"

    with Mind(PostgresStore(url)) as memory:
        memory.store("walrus")
        assert len(memory.recall("walrus").hits) == 1
    [[tables]] = run(postgres_url, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
    assert tables == 1


# ---- migrating ---------------------------------------------------------------------------------


def test_what_is_missing_is_applied_once_and_in_order(
    migrated_database: Callable[[], str],
    bring_up: Callable[..., schema.Opened],
    more: Callable[..., Path],
) -> None:
    url = migrated_database()
    folder = more(
        "ALTER TABLE memories ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm; even'; -- why; not",
        "ALTER TABLE memories ADD CHECK (mood <> '');\nCREATE TABLE moods (mood TEXT PRIMARY KEY);",
    )
    reported: list[str] = []

    opened = bring_up(url, folder, report=reported.append)

    assert (opened.before, opened.schema) == (SCHEMA_VERSION, SCHEMA_VERSION + 2)
    assert opened.applied == [f"{SCHEMA_VERSION + n:04}_for_a_test" for n in (1, 2)]
    assert [line.partition(":")[0] for line in reported] == opened.applied
    assert run(url, "SELECT schema FROM store_facts") == [(SCHEMA_VERSION + 2,)]
    assert bring_up(url, folder).applied == []


def test_a_migration_is_done_whole_or_not_at_all(
    migrated_database: Callable[[], str],
    bring_up: Callable[..., schema.Opened],
    more: Callable[..., Path],
) -> None:
    url = migrated_database()
    before = catalog(url)
    folder = more("CREATE TABLE moods (mood TEXT);\nSELECT 1 / 0;")

    with pytest.raises(errors.StoreFailure, match="division by zero"):
        bring_up(url, folder)

    assert catalog(url) == before
    assert run(url, "SELECT schema FROM store_facts") == [(SCHEMA_VERSION,)]


def test_a_script_that_no_transaction_can_hold_must_say_so(more: Callable[..., Path]) -> None:
    build = "CREATE INDEX CONCURRENTLY by_mood ON memories (owner, mood);"

    with pytest.raises(ValueError, match="outside a transaction"):
        schema.read_migration(SCHEMA_VERSION + 1, more(build))
    read = schema.read_migration(SCHEMA_VERSION + 1, more(f"-- outside a transaction\n{build}"))
    assert [each.index for each in read.statements] == ["by_mood"]


def test_semicolons_that_end_nothing_split_nothing() -> None:
    script = """
    SELECT ';', "a;b" -- not; this
    /* nor; this */ FROM t;
    DO $do$ BEGIN PERFORM 1; END $do$;
    SELECT $$;$$;
    """
    assert [str(each) for each in schema.split_statements(script)] == [
        """SELECT ';', "a;b" /* nor; this */ FROM t""",
        "DO $do$ BEGIN PERFORM 1; END $do$",
        "SELECT $$;$$",
    ]


# ---- roles -------------------------------------------------------------------------------------


@pytest.fixture
def role(postgres: Databases) -> Iterator[str]:
    """A role that may connect and nothing else."""
    name = f"test_role_{os.getpid()}"
    run(
        postgres.url,
        f"DROP ROLE IF EXISTS {name}",
        f"CREATE ROLE {name} LOGIN PASSWORD 'pass;word'",
    )
    yield name
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(f"DROP ROLE IF EXISTS {name}")


def as_role(url: str, role: str) -> str:
    """The URL of the same database for a role."""
    parts = psycopg.conninfo.conninfo_to_dict(url) | {"user": role, "password": "pass;word"}
    parts.pop("passfile", None)
    return psycopg.conninfo.make_conninfo("", **parts)


def test_a_role_that_may_not_migrate_is_told_who_may(
    migrated_database: Callable[[], str],
    bring_up: Callable[..., schema.Opened],
    more: Callable[..., Path],
    role: str,
    postgres: Databases,
) -> None:
    url = migrated_database()
    run(url, f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}")
    folder = more("ALTER TABLE memories ADD COLUMN mood TEXT;")

    assert bring_up(as_role(url, role)).applied == [], "what is present needs no rights"
    with pytest.raises(errors.StoreReadOnly, match=f"needs {SCHEMA_VERSION + 1}.*{role}") as caught:
        bring_up(as_role(url, role), folder)

    assert "bearinmind db migrate" in caught.value.hint
    assert f"GRANT bearinmind TO {role};" in caught.value.hint
    assert "pass;word" not in caught.value.message + caught.value.hint
    bring_up(url, folder)
    assert bring_up(as_role(url, role), folder).schema == SCHEMA_VERSION + 1
    postgres.drop(url)


def test_a_role_that_may_only_change_rows_has_all_that_a_store_needs(
    migrated_database: Callable[[], str], role: str, postgres: Databases
) -> None:
    url = migrated_database()
    run(url, f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}")
    settings = Settings.model_validate({"embedder": "hash"})
    with Mind(PostgresStore(as_role(url, role)), settings) as memory:
        walrus = memory.store("Wally the walrus sings", tags=["arctic"]).memory
        memory.update(walrus.id, content="Wally the walrus sings at dawn")
        assert memory.work.wait().waiting == 0
        assert [hit.memory.id for hit in memory.recall("who sings?").hits] == [walrus.id]
        memory.delete(walrus.id)
        memory.purge(memory.plan_purge([walrus.id]))
        assert all(finding.good for finding in memory.check())
    postgres.drop(url)


def test_a_role_that_may_not_create_tables_is_told_what_to_grant(
    postgres_url: str, bring_up: Callable[..., schema.Opened], role: str, postgres: Databases
) -> None:
    with pytest.raises(errors.StoreReadOnly, match="has no tables yet") as caught:
        bring_up(as_role(postgres_url, role))
    assert f"GRANT CREATE ON SCHEMA public TO {role}" in caught.value.hint

    run(postgres_url, f"GRANT CREATE ON SCHEMA public TO {role}")
    with closing(PostgresStore(as_role(postgres_url, role))) as store:
        assert store.spaces() == []
    postgres.drop(postgres_url)

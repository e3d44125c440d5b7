"""Tables are spread over machines by the rules of Citus, as a stand-in for it checks them.

The stand-in is an extension of that name with functions of the same names. They move nothing, and
refuse what Citus refuses.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from recollect import errors
from recollect.app import Recollect
from recollect.config import Settings
from recollect.store.postgres import distribute
from recollect.store.postgres.pool import Pool
from recollect.store.postgres.store import PostgresStore
from servers import own, private_folder

CONTROL = "comment = 'a stand-in'\ndefault_version = '13.0'\nrelocatable = true\n"
STAND_IN = """
CREATE TABLE pg_dist_partition (logicalrelid regclass PRIMARY KEY, partmethod "char", place text);
CREATE TABLE emptied (name regclass);

CREATE FUNCTION create_distributed_table(
    table_name regclass, distribution_column text, distribution_type text DEFAULT 'hash',
    colocate_with text DEFAULT 'default', shard_count int DEFAULT NULL
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = table_name) THEN
        RAISE 'table "%" is already distributed', table_name;
    ELSIF EXISTS (
        SELECT FROM pg_index i WHERE i.indrelid = table_name AND i.indisunique AND NOT EXISTS (
            SELECT FROM pg_attribute a WHERE a.attrelid = i.indexrelid
            AND a.attname = distribution_column
        )
    ) THEN
        RAISE 'cannot create constraint on "%": no distribution column in it', table_name;
    ELSIF EXISTS (
        SELECT FROM pg_constraint WHERE contype = 'f' AND conrelid <> confrelid
        AND table_name IN (conrelid, confrelid)
    ) THEN
        RAISE 'cannot create foreign key constraint: relations are not colocated';
    ELSIF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = table_name AND NOT tgisinternal) THEN
        RAISE 'cannot distribute relation "%" because it has triggers', table_name;
    ELSIF EXISTS (SELECT FROM pg_attribute WHERE attrelid = table_name AND attidentity <> '') THEN
        RAISE 'cannot complete operation on a table with identity column';
    ELSIF colocate_with <> 'none' AND NOT EXISTS (
        SELECT FROM pg_dist_partition WHERE logicalrelid = colocate_with::regclass
    ) THEN
        RAISE 'relation "%" is not distributed', colocate_with;
    ELSIF current_setting('citus.multi_shard_modify_mode') <> 'sequential' THEN
        RAISE 'there was a parallel operation on a distributed table in the transaction';
    END IF;
    INSERT INTO pg_dist_partition VALUES (table_name, 'h', colocate_with);
END $$;

CREATE FUNCTION create_reference_table(table_name regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM pg_constraint WHERE contype = 'f' AND conrelid = table_name) THEN
        RAISE 'a reference table can refer to reference tables alone';
    END IF;
    INSERT INTO pg_dist_partition VALUES (table_name, 'n', '');
END $$;

CREATE FUNCTION truncate_local_data_after_distributing_table(function_name regclass)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM pg_constraint WHERE contype = 'f' AND confrelid = function_name
        AND conrelid NOT IN (SELECT logicalrelid FROM pg_dist_partition)
    ) THEN
        RAISE 'cannot truncate a table referenced in a foreign key constraint by a local table';
    END IF;
    INSERT INTO emptied VALUES (function_name);
END $$;
"""
TABLES = """
SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
AND relname NOT IN ('pg_dist_partition', 'emptied')
"""
ACCOUNTS = {"users", "keys", "uses"}  # refer to each other, and stay on one machine together
LOCAL = {"retired_keys", "store_facts", "work"} | ACCOUNTS


def ask(url: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(query)
        return cursor.fetchall() if cursor.description else []


def references(url: str) -> list[tuple[Any, ...]]:
    """Every foreign key: where, to where, and the columns."""
    return ask(
        url,
        "SELECT conrelid::regclass::text, confrelid::regclass::text, pg_get_constraintdef(oid)"
        " FROM pg_constraint WHERE contype = 'f' ORDER BY 1, 3",
    )


@pytest.fixture
def url(migrated_database: Callable[[], str]) -> str:
    return migrated_database()


@pytest.fixture
def citus(url: str) -> Iterator[None]:
    """The database has the stand-in."""
    folder = private_folder()
    extensions = folder / "extension"
    extensions.mkdir()
    for name, text in {"citus.control": CONTROL, "citus--13.0.sql": STAND_IN}.items():
        (extensions / name).write_text(text)
    for path in (extensions, *extensions.iterdir()):
        own(path)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"SET extension_control_path = '{folder}'")
        connection.execute("CREATE EXTENSION citus")
    yield
    shutil.rmtree(folder)


@pytest.fixture
def spread(url: str) -> Iterator[Callable[[], distribute.Distribution]]:
    with closing(Pool(url)) as pool:
        yield lambda: distribute.distribute(pool, patience=5, told=lambda _: None)


def test_every_table_of_memories_is_spread_by_its_owner_and_kept_together(
    url: str, citus: None, spread: Callable[[], distribute.Distribution]
) -> None:
    before = references(url)

    done = spread()

    assert done.spread[0] == "tenants"
    assert done.copied == ["extractors", "spaces"]
    [*kept] = ask(url, "SELECT logicalrelid::text, partmethod, place FROM pg_dist_partition")
    assert {place for name, how, place in kept if how == "h" and name != "tenants"} == {"tenants"}
    everything = {name for [name] in ask(url, TABLES)}
    assert everything - {name for name, _, _ in kept} == LOCAL
    assert references(url) == before
    assert {name for [name] in ask(url, "SELECT name::text FROM emptied")} == everything - LOCAL


def test_foreign_keys_stay_within_an_owner_or_on_one_machine(url: str) -> None:
    found = [each for each in references(url) if not {*each[:2]} <= ACCOUNTS]

    assert len(found) > 8
    for source, target, definition in found:
        assert definition.startswith("FOREIGN KEY (owner, "), source
        assert f"REFERENCES {target}(owner, " in definition
        assert not {source, target} & {*LOCAL, *distribute.COPIED}


def test_what_is_spread_already_stays_as_it_is(
    url: str, citus: None, spread: Callable[[], distribute.Distribution]
) -> None:
    first = spread()
    ask(url, "CREATE TABLE moods (owner text, mood text, PRIMARY KEY (owner, mood))")

    again = spread()

    assert (list(again.spread), list(again.copied)) == (["moods"], [])
    assert {*first.spread, *first.copied} == {*again.before}
    assert spread().spread == []


def test_when_one_table_cannot_be_spread_none_is(
    url: str, citus: None, spread: Callable[[], distribute.Distribution]
) -> None:
    ask(url, "CREATE TABLE zoo (owner text, animal text UNIQUE)")
    before = references(url)

    with pytest.raises(errors.StoreFailure, match="no distribution column"):
        spread()

    assert ask(url, "SELECT count(*) FROM pg_dist_partition") == [(0,)]
    assert references(url) == before


def test_a_store_goes_on_after_it(
    url: str, citus: None, spread: Callable[[], distribute.Distribution]
) -> None:
    settings = Settings.model_validate({"embedder": "hash"})
    with Recollect(PostgresStore(url), settings) as memory:
        walrus = memory.store("walruses sing").memory
        spread()
        memory.update(walrus.id, content="walruses sing at dawn")
        memory.wait_for_work()
        assert [hit.memory.id for hit in memory.recall("walrus").hits] == [walrus.id]
    PostgresStore(url).close()


def test_without_citus_it_is_told_what_to_install(
    spread: Callable[[], distribute.Distribution],
) -> None:
    with pytest.raises(errors.InvalidInput, match="does not have the extension citus") as caught:
        spread()
    assert "shared_preload_libraries" in caught.value.hint


def test_the_names_of_tables_that_stay_are_those_of_tables(url: str) -> None:
    for name in (*distribute.LOCAL, *distribute.COPIED, distribute.FIRST):
        assert ask(url, f"SELECT to_regclass('{name}') IS NOT NULL") == [(True,)]

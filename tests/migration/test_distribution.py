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

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.store.postgres import upkeep
from bearinmind.store.postgres.pool import Pool
from bearinmind.store.postgres.store import PostgresStore
from bearinmind.types import UserId
from support.processes import own, private_folder

CONTROL = "comment = 'a stand-in'\ndefault_version = '13.0'\nrelocatable = true\n"
STAND_IN = """
CREATE TABLE pg_dist_partition (logicalrelid regclass PRIMARY KEY, partmethod "char", place text);
CREATE TABLE pg_dist_node (
    nodeid int, groupid int, nodename text, nodeport int, noderole text DEFAULT 'primary',
    isactive bool DEFAULT TRUE, shouldhaveshards bool, vector text
);
INSERT INTO pg_dist_node (nodeid, groupid, nodename, nodeport, shouldhaveshards, vector)
VALUES (1, 0, 'coordinator', 5432, FALSE, '0.8.1'), (2, 1, 'one', 5432, TRUE, '0.8.1'),
(3, 2, 'two', 5432, TRUE, '0.8.1');
CREATE TABLE emptied (name regclass);

-- Whatever is asked: the version of pgvector that a worker offers; none answers without one.
CREATE FUNCTION run_command_on_workers(
    command text, parallel bool DEFAULT TRUE,
    OUT nodename text, OUT nodeport int, OUT success bool, OUT result text
) RETURNS SETOF record LANGUAGE sql AS $$
    SELECT nodename, nodeport, vector IS NOT NULL, coalesce(vector, 'failed to connect to it')
    FROM pg_dist_node WHERE groupid > 0
$$;

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
    ELSIF colocate_with <> 'none' AND (
        SELECT count(DISTINCT (atttypid, attcollation)) FROM pg_attribute
        WHERE attrelid IN (table_name, colocate_with::regclass) AND attname = distribution_column
    ) <> 1 THEN
        RAISE 'cannot colocate %: distribution columns differ', table_name;
    ELSIF current_setting('citus.multi_shard_modify_mode') <> 'sequential' THEN
        RAISE 'there was a parallel operation on a distributed table in the transaction';
    END IF;
    INSERT INTO pg_dist_partition VALUES (table_name, 'h', colocate_with);
END $$;

CREATE FUNCTION create_reference_table(table_name regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM pg_constraint WHERE contype = 'f' AND conrelid = table_name) THEN
        RAISE 'a reference table can refer to reference tables alone';
    ELSIF EXISTS (
        SELECT FROM pg_attribute WHERE attrelid = table_name AND attidentity <> ''
        AND atttypid <> 'bigint'::regtype
    ) THEN
        RAISE 'cannot complete operation on % with smallint/int identity column', table_name;
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
AND relname NOT IN ('pg_dist_partition', 'pg_dist_node', 'emptied')
"""
# refer to each other, and stay on one machine together
ACCOUNTS = {"users", "keys", "uses", "sessions", "allowances"}
LOCAL = {"retired_keys", "shares", "store_facts", "traffic", "work"} | ACCOUNTS


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
def spread(url: str) -> Iterator[Callable[[], upkeep.Distribution]]:
    with closing(Pool(url)) as pool:
        yield lambda: upkeep.distribute(pool, patience=5, report=lambda _: None)


def test_every_table_of_memories_is_spread_by_its_owner_and_kept_together(
    url: str, citus: None, spread: Callable[[], upkeep.Distribution]
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


def test_what_the_coordinator_had_is_removed_even_if_that_is_interrupted(
    url: str, citus: None, spread: Callable[[], upkeep.Distribution]
) -> None:
    with Mind(PostgresStore(url), Settings.model_validate({"embedder": "hash"})) as memory:
        memory.store("walruses sing")
    emptying = "FUNCTION truncate_local_data_after_distributing_table"
    ask(url, f"ALTER {emptying} RENAME TO gone")
    with pytest.raises(errors.StoreFailure, match="does not exist"):
        spread()
    ask(url, f"ALTER FUNCTION gone RENAME TO {emptying.split()[1]}")

    again = spread()

    assert again.spread == again.copied == []
    assert {"memories", "tenants", "indexed"} <= {*again.emptied}
    assert not {*again.emptied} & LOCAL
    assert {name for [name] in ask(url, "SELECT name::text FROM emptied")} == {*again.emptied}


@pytest.mark.parametrize(
    ("change", "said", "remedy"),
    [
        ("DELETE FROM pg_dist_node WHERE groupid = 0", "the coordinator is not", "citus_set_coor"),
        ("UPDATE pg_dist_node SET shouldhaveshards = FALSE", "no machine may hold", "add_node"),
        ("UPDATE pg_dist_node SET vector = ''", "one:5432 offers no pgvector", "Install pgvector"),
        ("UPDATE pg_dist_node SET vector = '0.7.4'", "two:5432 offers pgvector 0.7.4", "0.8 or"),
        ("UPDATE pg_dist_node SET vector = NULL", "one:5432 does not answer: failed", "connect"),
        ("UPDATE pg_extension SET extversion = '11.3-1' WHERE extname = 'citus'", "11.3", "newer"),
    ],
)
def test_a_cluster_that_is_not_ready_is_told_what_it_lacks_and_left_as_it_is(
    url: str,
    citus: None,
    spread: Callable[[], upkeep.Distribution],
    change: str,
    said: str,
    remedy: str,
) -> None:
    ask(url, change)

    with pytest.raises(errors.InvalidInput, match=said) as caught:
        spread()

    assert remedy in caught.value.hint
    assert ask(url, "SELECT count(*) FROM pg_dist_partition") == [(0,)]


def test_settings_hold_for_a_statement_and_a_lock_is_not_waited_for_longer_on_a_spread_store(
    url: str, citus: None
) -> None:
    owner = UserId("ada")
    with closing(PostgresStore(url, busy_timeout=0.2)) as store:
        pool = store._pool
        assert pool.is_spread
        [[_, memory, _]] = pool.read_with({"maintenance_work_mem": "77MB"}, "building_memory")
        assert memory == 77 * 1024 * 1024
        with pool.writing(owner), pytest.raises(errors.StoreBusy), pool.writing(owner):
            pass


def test_foreign_keys_stay_within_an_owner_or_on_one_machine(url: str) -> None:
    found = [each for each in references(url) if not {*each[:2]} <= ACCOUNTS]

    assert len(found) > 8
    for source, target, definition in found:
        assert definition.startswith("FOREIGN KEY (owner, "), source
        assert f"REFERENCES {target}(owner, " in definition
        assert not {source, target} & {*LOCAL, *upkeep.COPIED}


def test_what_is_spread_already_stays_as_it_is(
    url: str, citus: None, spread: Callable[[], upkeep.Distribution]
) -> None:
    first = spread()
    ask(url, 'CREATE TABLE moods (owner text COLLATE "C" PRIMARY KEY, mood text)')

    again = spread()

    assert (list(again.spread), list(again.copied)) == (["moods"], [])
    assert {*first.spread, *first.copied} == {*again.before}
    assert spread().spread == []


def test_when_one_table_cannot_be_spread_none_is(
    url: str, citus: None, spread: Callable[[], upkeep.Distribution]
) -> None:
    ask(url, "CREATE TABLE zoo (owner text, animal text UNIQUE)")
    before = references(url)

    with pytest.raises(errors.StoreFailure, match="no distribution column"):
        spread()

    assert ask(url, "SELECT count(*) FROM pg_dist_partition") == [(0,)]
    assert references(url) == before


def test_a_store_goes_on_after_it(
    url: str, citus: None, spread: Callable[[], upkeep.Distribution]
) -> None:
    settings = Settings.model_validate({"embedder": "hash"})
    with Mind(PostgresStore(url), settings) as memory:
        walrus = memory.store("walruses sing").memory
        spread()
        memory.update(walrus.id, content="walruses sing at dawn")
        memory.work.wait()
        assert [hit.memory.id for hit in memory.recall("walrus").hits] == [walrus.id]
    PostgresStore(url).close()


def test_jobs_that_a_coordinator_lost_are_queued_again(
    url: str, citus: None, spread: Callable[[], upkeep.Distribution]
) -> None:
    settings = Settings.model_validate({"embedder": "hash"})
    with Mind(PostgresStore(url), settings) as memory:
        memory.store("walruses sing")
        memory.work.wait()
        memory.store("seals clap")
        assert spread().queued == 0
        lost = ask(url, "WITH lost AS (DELETE FROM work RETURNING kind) SELECT kind FROM lost")

        assert spread().queued == len(lost) > 0
        memory.work.wait()
        assert spread().queued == 0
        assert memory.recall("seal").hits
        assert [each for each in memory.check() if not each.good] == []


def test_without_citus_it_is_told_what_to_install(
    spread: Callable[[], upkeep.Distribution],
) -> None:
    with pytest.raises(errors.InvalidInput, match="does not have the extension citus") as caught:
        spread()
    assert "shared_preload_libraries" in caught.value.hint


def test_the_names_of_tables_that_stay_are_those_of_tables(url: str) -> None:
    for name in (*upkeep.LOCAL, *upkeep.COPIED, upkeep.FIRST):
        assert ask(url, f"SELECT to_regclass('{name}') IS NOT NULL") == [(True,)]

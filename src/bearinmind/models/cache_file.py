"""A cache in a private SQLite file that many processes may share.

It can be deleted at any time. A broken file costs the cache, and is no error.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import LiteralString, Self

from bearinmind.models import forks

_BUSY_SECONDS = 5.0  # another process writes for milliseconds
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_PASSING = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The tables and statements of a cache.

    The statements are `hurry` (less safety, more speed), `version` and `mark` (read and set the
    version of the tables), `find`, `keep`, `size` (the bytes in use) and `evict` (the oldest).
    """

    what: str  #: in the plural, for messages
    statements: Mapping[str, LiteralString]
    version: int  #: tables of another one are made anew
    making: Sequence[str]  #: names of the statements that make the tables


class CacheFile:
    """Values by key. Any number of threads and processes may use it at the same time.

    A damaged file is replaced; in a file that cannot be used nothing is found and nothing kept.
    Both are logged, and `trouble` tells it.
    """

    def __init__(self, file: Path, layout: Layout, *, most_bytes: int) -> None:
        self.trouble: str | None = None  #: what was wrong with the file
        self._file = file
        self._layout = layout
        self._most_bytes = most_bytes
        self._lock = forks.Lock()
        self._connection: sqlite3.Connection | None = None
        self._usable = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            self._disconnect()

    def find(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The values of those keys that are known."""
        sql = self._layout.statements
        values: dict[bytes, bytes] = {}
        with self.using() as connection:
            if connection is not None:
                for key in keys:
                    row = connection.execute(sql["find"], {"key": key}).fetchone()
                    if row is not None:
                        values[key] = row[0]
        return values

    def keep(self, values: Mapping[bytes, bytes]) -> None:
        """Keep values by their keys; the oldest make room for them."""
        sql = self._layout.statements
        rows = [{"key": key, "value": value} for key, value in values.items()]
        with self.using() as connection:
            if connection is None:
                return
            with connection:  # one transaction
                connection.executemany(sql["keep"], rows)
                while connection.execute(sql["size"]).fetchone()[0] > self._most_bytes:
                    if not connection.execute(sql["evict"]).rowcount:
                        break

    @contextmanager
    def using(self) -> Iterator[sqlite3.Connection | None]:
        """The connection; None when the file cannot be used. Errors of SQLite end here."""
        with self._lock:
            try:
                yield self._opened()
            except sqlite3.DatabaseError as exc:
                self._disconnect()
                removed = exc.sqlite_errorcode in _DAMAGED and self._remove(exc)
                if not removed and exc.sqlite_errorcode not in _PASSING:
                    self._give_up(exc)

    def _opened(self) -> sqlite3.Connection | None:
        if self._connection is None and self._usable:
            try:
                self._connection = _open(self._file, self._layout)
            except sqlite3.DatabaseError as exc:
                if exc.sqlite_errorcode not in _DAMAGED or not self._remove(exc):
                    raise
                self._connection = _open(self._file, self._layout)
            except OSError as exc:
                self._give_up(exc)
        return self._connection

    def _remove(self, exc: Exception) -> bool:
        """Remove a damaged file; the next use makes a new one."""
        self.trouble = f"{str(self._file)!r} was damaged ({exc}); a new cache is begun"
        _log.warning("%s", self.trouble)
        try:
            self._file.unlink(missing_ok=True)
        except OSError:
            return False
        return True

    def _give_up(self, exc: Exception) -> None:
        """Go on without the cache."""
        self._usable = False
        what = self._layout.what
        self.trouble = f"{what} are not cached: {str(self._file)!r} cannot be used ({exc})"
        _log.warning("%s", self.trouble)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def _open(file: Path, layout: Layout) -> sqlite3.Connection:
    file.parent.mkdir(parents=True, exist_ok=True)
    # The values tell something about the texts, so only the user may read them.
    os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
    connection = sqlite3.connect(file, timeout=_BUSY_SECONDS, check_same_thread=False)
    try:
        connection.execute(layout.statements["hurry"])
        if _version(connection, layout) != layout.version:
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                if _version(connection, layout) != layout.version:  # no other process was faster
                    for name in (*layout.making, "mark"):
                        connection.execute(layout.statements[name])
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _version(connection: sqlite3.Connection, layout: Layout) -> int:
    return int(connection.execute(layout.statements["version"]).fetchone()[0])

"""A private SQLite file of things that can be made again, which many processes may share.

It can be deleted at any time. Whatever is wrong with it costs the cache, never what is cached.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import LiteralString

_BUSY_SECONDS = 5.0  # another process writes for milliseconds
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_PASSING = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What a file holds.

    Among the statements are the pragmas `hurry` (less safety, more speed), `version` and `mark`
    (that of the tables); and `find`, `keep`, `size` and `evict`: a value by its key, one more of
    them, the bytes in use, and no longer the oldest.
    """

    what: str  #: in the plural, for messages
    statements: Mapping[str, LiteralString]
    version: int  #: tables of another one are made anew
    making: Sequence[str]  #: names of the statements that make the tables


class CacheFile:
    """The file. Any number of threads and processes may use it at the same time.

    When it is damaged a new one is begun; when it cannot be used at all, nothing is found in it and
    nothing kept. Either is told to the log, and `trouble` says it.
    """

    def __init__(self, file: Path, layout: Layout, *, most_bytes: int) -> None:
        self.trouble: str | None = None  #: what was wrong with the file
        self._file = file
        self._layout = layout
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._usable = True

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._let_go()

    def find(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The values of those keys that are known."""
        sql = self._layout.statements
        found: dict[bytes, bytes] = {}
        with self.using() as connection:
            if connection is not None:
                for key in keys:
                    row = connection.execute(sql["find"], {"key": key}).fetchone()
                    if row is not None:
                        found[key] = row[0]
        return found

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
        """The connection; None when the file cannot be used. What goes wrong ends here."""
        with self._lock:
            try:
                yield self._opened()
            except sqlite3.DatabaseError as exc:
                self._let_go()
                anew = exc.sqlite_errorcode in _DAMAGED and self._begin_anew(exc)
                if not anew and exc.sqlite_errorcode not in _PASSING:
                    self._give_up(exc)

    def _opened(self) -> sqlite3.Connection | None:
        if self._connection is None and self._usable:
            try:
                self._connection = _open(self._file, self._layout)
            except sqlite3.DatabaseError as exc:
                if exc.sqlite_errorcode not in _DAMAGED or not self._begin_anew(exc):
                    raise
                self._connection = _open(self._file, self._layout)
            except OSError as exc:
                self._give_up(exc)
        return self._connection

    def _begin_anew(self, exc: Exception) -> bool:
        """Remove a damaged file; the next use makes a new one."""
        self.trouble = f"{str(self._file)!r} was damaged ({exc}); a new cache is begun"
        _log.warning("%s", self.trouble)
        try:
            self._file.unlink(missing_ok=True)
        except OSError:
            return False
        return True

    def _give_up(self, exc: Exception) -> None:
        """Go on without; what would be cached is made all the same."""
        self._usable = False
        what = self._layout.what
        self.trouble = f"{what} are not cached: {str(self._file)!r} cannot be used ({exc})"
        _log.warning("%s", self.trouble)

    def _let_go(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def _open(file: Path, layout: Layout) -> sqlite3.Connection:
    file.parent.mkdir(parents=True, exist_ok=True)
    # What is kept tells something about the texts: nobody else's business.
    os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
    connection = sqlite3.connect(file, timeout=_BUSY_SECONDS, check_same_thread=False)
    try:
        connection.execute(layout.statements["hurry"])
        if _version(connection, layout) != layout.version:
            _create(connection, layout)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _create(connection: sqlite3.Connection, layout: Layout) -> None:
    """Make the tables, unless another process was faster."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        if _version(connection, layout) != layout.version:
            for name in (*layout.making, "mark"):
                connection.execute(layout.statements[name])


def _version(connection: sqlite3.Connection, layout: Layout) -> int:
    return int(connection.execute(layout.statements["version"]).fetchone()[0])

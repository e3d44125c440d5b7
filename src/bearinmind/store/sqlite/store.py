"""The embedded store: one SQLite file that many processes share."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from bearinmind.protocols import Finding, LexicalMatch, LexicalStatistics, StoreFacts
from bearinmind.store import database, rows, versions
from bearinmind.store.access import AccessInDatabase
from bearinmind.store.database import Owned
from bearinmind.store.graph import GraphInDatabase
from bearinmind.store.memories import MemoriesInDatabase
from bearinmind.store.queues import QueuesInDatabase
from bearinmind.store.server import ServerInDatabase
from bearinmind.store.spaces import SpacesInDatabase
from bearinmind.store.sqlite import schema
from bearinmind.store.sqlite.file import SQL, SqliteFile, translated
from bearinmind.store.sqlite.lexicon import Lexicon
from bearinmind.store.sync_apply import SyncInDatabase
from bearinmind.text import analysis
from bearinmind.types import Filter, Scope

if TYPE_CHECKING:
    from bearinmind.store.sqlite.vectors import VectorSearch

_REINDEX_BATCH = 500  # rows held in memory while the index is made again


class SqliteStore(
    MemoriesInDatabase,
    SpacesInDatabase,
    QueuesInDatabase,
    AccessInDatabase,
    ServerInDatabase,
    GraphInDatabase,
    SyncInDatabase,
):
    """Memories in one file, in WAL mode: readers never wait, writers take turns."""

    def __init__(self, path: Path, *, busy_timeout: float = 60.0, create: bool = True) -> None:
        self._file = SqliteFile(path, busy_timeout=busy_timeout, create=create)
        super().__init__(self._file)
        self.path = path
        self._connections = self._file.connections
        self._lexicon = Lexicon(self._file)
        self._open()

    def __repr__(self) -> str:
        return f"SqliteStore({str(self.path)!r})"

    def _open(self) -> None:
        connection = self._connections.get()
        with translated(self.path):
            if not schema.is_current(connection, str(self.path)):
                with self._file.transaction() as connection:
                    # Another process may have done it while this one waited for its turn.
                    if not schema.is_current(connection, str(self.path)):
                        schema.apply(connection)
            [made_by] = connection.execute(SQL["index_analysis"]).fetchone()
        if made_by != analysis.ANALYSIS_VERSION and not self._connections.read_only:
            self.reindex()

    def close(self) -> None:
        self._file.close()

    @cached_property
    def _vectors(self) -> VectorSearch:
        from bearinmind.store.sqlite.vectors import VectorSearch  # noqa: PLC0415 (numpy loads slowly)

        return VectorSearch(self._file)

    def lexical_statistics(self, scope: Scope, terms: Sequence[str]) -> LexicalStatistics:
        return self._lexicon.statistics(scope, terms)

    def lexical_matches(
        self, filter: Filter, terms: Sequence[str], *, every: bool, limit: int
    ) -> list[LexicalMatch]:
        return self._lexicon.matches(filter, terms, every=every, limit=limit)

    def scrub(self) -> bool:
        """Empty the write-ahead log; False when another process that is reading prevents it."""
        connection = self._connections.get()
        with translated(self.path):
            [busy, *_] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy

    def reindex(self) -> None:
        """Make the whole index again with the present analysis; all or nothing."""
        with self._file.writing() as transaction:
            transaction.change("forget_index")
            after = 0
            while batch := transaction.rows("unindexed", {"after": after, "limit": _REINDEX_BATCH}):
                for row, *columns in batch:
                    owned = Owned(transaction, columns[1])  # of a copy not the memory's owner
                    versions.index_versions(self._file, owned, {row: rows.to_memory(columns)})
                after = batch[-1][0]
            transaction.change("mark_index", {"analysis": analysis.ANALYSIS_VERSION})

    def for_recall(self) -> Self:
        """This store: there is no copy of a file."""
        return self

    def facts(self) -> StoreFacts:
        """How large the file is with its log; SQLite is a part of this process."""
        parts = (self.path.with_name(f"{self.path.name}{part}") for part in ("", "-wal", "-shm"))
        size = sum(file.stat().st_size for file in parts if file.exists())
        return StoreFacts(size, {})

    def replica_lag(self) -> float | None:
        """None: there is no copy of a file."""
        return None

    def check(self) -> list[Finding]:
        with translated(self.path):
            connection = self._connections.get()
            integrity = [row[0] for row in connection.execute("PRAGMA integrity_check(5)")]
            [journal] = connection.execute("PRAGMA journal_mode").fetchone()
            return [
                Finding(name="file", good=integrity == ["ok"], detail="; ".join(integrity)),
                Finding(name="journal", good=journal == "wal", detail=f"{journal} mode"),
                _lexicon_finding(connection, read_only=self._connections.read_only),
                *database.integrity_findings(self._file),
            ]


def _lexicon_finding(connection: sqlite3.Connection, *, read_only: bool) -> Finding:
    """Whether FTS5's index agrees with the terms it was made from."""
    if read_only:  # FTS5 takes the command as an INSERT
        return Finding(name="lexicon", good=True, detail="not checked: the file is read-only")
    try:
        connection.execute(SQL["check_index"])
    except sqlite3.DatabaseError as exc:
        return Finding(name="lexicon", good=False, detail=str(exc))
    return Finding(name="lexicon", good=True, detail="agrees with the terms")

"""The embedded store: one SQLite file that many processes share, and its lexical index."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import cached_property, lru_cache
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Self

from bearinmind.protocols import Finding, LexicalMatch, LexicalStatistics, StoreFacts
from bearinmind.store import database, rows, writes
from bearinmind.store.access import AccessInDatabase
from bearinmind.store.database import Database, Row
from bearinmind.store.graph import GraphInDatabase
from bearinmind.store.memories import Estimates, MemoriesInDatabase, deciding
from bearinmind.store.queues import QueuesInDatabase
from bearinmind.store.rows import Owned
from bearinmind.store.spaces import SpacesInDatabase
from bearinmind.store.sqlite.file import SQL, SqliteFile, apply_schema, is_current, translated
from bearinmind.store.sync_changes import SyncInDatabase
from bearinmind.text import analysis
from bearinmind.types import Filter, Scope, UserId

if TYPE_CHECKING:
    from bearinmind.store.sqlite.vectors import VectorSearch

_MOST_OF_THE_FILE = 0.5  # the share of a file from which looking ahead pays
_SPARE = 4  # matches looked at beyond the expected ones
_TERMS_REMEMBERED = 20_000  # frequencies kept between recalls, about 2 MB
_OWNERS_REMEMBERED = 128
_TERMS_OF_OWNER = 4_000  # frequencies kept of each owner, at most 0.4 MB
_BY_SCORE = itemgetter(25, 26)


class Lexicon:
    """Searches the index by the terms that decide the answer."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counts = _Counts(database)
        self._owned = lru_cache(_OWNERS_REMEMBERED)(lambda _owner: Estimates(most=_TERMS_OF_OWNER))

    def statistics(self, scope: Scope, terms: Sequence[str]) -> LexicalStatistics:
        """How frequent the terms are among all versions of the owner's memories.

        FTS5 counts for all owners at once, which is fast, and right where there is one owner. Where
        there are several, it would tell one owner what the memories of the others say.
        """
        parameters = {"owner": scope.user}
        [[versions, length, *owned]] = self._database.read("owned_facts", parameters)
        if versions == owned[0]:
            return self._counts.statistics(terms, versions, length)
        estimates = self._owned(scope.user)
        estimates.refresh(*owned)
        frequency = estimates.frequency(
            terms,
            lambda some: dict(
                self._database.read("owned_frequencies", {**parameters, "terms": some})
            ),
        )
        return estimates.statistics(frequency)

    def matches(
        self, filter: Filter, terms: Sequence[str], *, every: bool, limit: int
    ) -> list[LexicalMatch]:
        """The best `limit` matches of every, or any, of the terms, by BM25.

        Ranking costs FTS5 ten times as much as matching, and the common terms of a question match
        most of what it ranks without deciding who is best. So any-of searches go by the rarest
        terms that match enough memories; a memory that holds only the others is left out.
        """
        if not every and filter.is_scope_alone:
            share = self._counts.share(filter.scope)
            frequency = self._counts.frequency(terms)
            rarest = deciding({term: n * share for term, n in frequency.items()}, limit)
            if len(rarest) < len(terms):
                matches = self._best(filter, rarest, " OR ", limit)
                if len(matches) == limit:
                    return matches
        return self._best(filter, terms, " AND " if every else " OR ", limit)

    def _best(
        self, filter: Filter, terms: Sequence[str], joint: str, limit: int
    ) -> list[LexicalMatch]:
        """The best matches, checked against the filter.

        Checking every match would cost as much again as finding it. So where the scope holds most
        of the file and nothing else is asked, the best of the whole index are taken, a few more
        than needed, and only those are checked. When that leaves too few, all are.
        """
        parameters = rows.from_filter(filter) | {
            "match": joint.join(f'"{term}"' for term in terms),
            "limit": limit,
        }
        ahead = self._look_ahead(filter, limit)
        if ahead:
            records = self._database.read("matches_ahead", parameters | {"ahead": ahead})
            matches = [row for row in records if row[-1]]
            if len(matches) >= limit or len(records) < ahead:
                return _to_matches(matches)[:limit]
        return _to_matches(self._database.read("matches", parameters))

    def _look_ahead(self, filter: Filter, limit: int) -> int:
        """How many matches of the whole index to take so that enough are admitted; 0 for all."""
        if not filter.is_scope_alone:
            return 0
        share = self._counts.share(filter.scope)
        return int(limit / share) + _SPARE if share >= _MOST_OF_THE_FILE else 0


class _Counts:
    """The counts of the whole index, remembered while they are nearly right."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._estimates = Estimates(most=_TERMS_REMEMBERED)
        self._owned: dict[UserId, int] = {}

    def statistics(self, terms: Sequence[str], versions: int, length: int) -> LexicalStatistics:
        """How frequent the terms are, in an index of `versions` versions with `length` terms."""
        self._take_in(versions, length)
        return self._estimates.statistics(self.frequency(terms))

    def frequency(self, terms: Sequence[str]) -> dict[str, int]:
        """In how many versions each term occurs."""
        return self._estimates.frequency(
            terms, lambda some: dict(self._database.read("frequencies", {"terms": some}))
        )

    def share(self, scope: Scope) -> float:
        owned = self._owned.get(scope.user)
        if owned is None:
            [facts] = self._database.read("index_facts")
            self._take_in(*facts)
            [[owned]] = self._database.read("count_owned", {"owner": scope.user})
            self._owned[scope.user] = owned
        return owned / self._estimates.total if self._estimates.total else 0.0

    def _take_in(self, versions: int, length: int) -> None:
        if self._estimates.refresh(versions, length):
            self._owned = {}


def _to_matches(records: list[Row]) -> list[LexicalMatch]:
    """Rows of `matches` as values, best first; equal scores by age in the file."""
    records.sort(key=_BY_SCORE)
    return [*map(rows.to_lexical_match, records)]


def is_up_to_date(file: SqliteFile) -> bool:
    """Whether a file has the present schema and index: opening it as a store changes nothing."""
    connection = file.connections.get()
    with translated(file.path):
        if not is_current(connection, str(file.path)):
            return False
        [made_by] = connection.execute(SQL["index_analysis"]).fetchone()
    return bool(made_by == analysis.ANALYSIS_VERSION)


_REINDEX_BATCH = 500  # rows held in memory while the index is made again


class SqliteStore(
    MemoriesInDatabase,
    SpacesInDatabase,
    QueuesInDatabase,
    AccessInDatabase,
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
            if not is_current(connection, str(self.path)):
                with self._file.transaction() as connection:
                    # Another process may have done it while this one waited for its turn.
                    if not is_current(connection, str(self.path)):
                        apply_schema(connection)
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
                    writes.index_versions(self._file, owned, {row: rows.to_memory(columns)})
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
            return [
                Finding(name="file", good=integrity == ["ok"], detail="; ".join(integrity)),
                _journal_finding(connection, read_only=self._connections.read_only),
                _lexicon_finding(connection, read_only=self._connections.read_only),
                *database.integrity_findings(self._file),
            ]


_NOT_CHECKED = "not checked: the file is read-only"


def _journal_finding(connection: sqlite3.Connection, *, read_only: bool) -> Finding:
    """Whether readers and a writer can share the file."""
    if read_only:  # a file that nobody writes is opened without a log, whatever its mode is
        return Finding(name="journal", good=True, detail=_NOT_CHECKED)
    [journal] = connection.execute("PRAGMA journal_mode").fetchone()
    return Finding(name="journal", good=journal == "wal", detail=f"{journal} mode")


def _lexicon_finding(connection: sqlite3.Connection, *, read_only: bool) -> Finding:
    """Whether FTS5's index agrees with the terms it was made from."""
    if read_only:  # FTS5 takes the command as an INSERT
        return Finding(name="lexicon", good=True, detail=_NOT_CHECKED)
    try:
        connection.execute(SQL["check_index"])
    except sqlite3.DatabaseError as exc:
        return Finding(name="lexicon", good=False, detail=str(exc))
    return Finding(name="lexicon", good=True, detail="agrees with the terms")

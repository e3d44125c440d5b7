"""The embedded store: one SQLite file that many processes share."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Container, Sequence
from datetime import datetime
from pathlib import Path

from recollect import analysis, errors
from recollect.filters import says_more
from recollect.protocols import (
    Finding,
    History,
    LexicalMatch,
    LexicalStatistics,
    Page,
    Sealed,
    Statistics,
)
from recollect.store import checking, linking, mentions, migrate, rows, secrets, spaces
from recollect.store.connections import translated
from recollect.store.graph import GraphInFile
from recollect.store.lexicon import Lexicon
from recollect.store.linking import LinksInFile
from recollect.store.queries import SQLITE as SQL
from recollect.store.queue import WorkInFile
from recollect.store.secrets import SecretsInFile
from recollect.store.spaces import SpacesInFile
from recollect.types import (
    AlreadyKnown,
    Filter,
    Link,
    Memory,
    MemoryId,
    Outcome,
    Scope,
    State,
    Stored,
)

_REINDEX_BATCH = 500  # rows held in memory while the index is made anew


class SqliteStore(LinksInFile, SpacesInFile, WorkInFile, SecretsInFile, GraphInFile):
    """Memories in one file, in WAL mode: readers never wait, writers take turns."""

    def __init__(self, path: Path, *, busy_timeout: float = 60.0, create: bool = True) -> None:
        super().__init__(path, busy_timeout=busy_timeout, create=create)
        self._lexicon = Lexicon(self._connections)
        self._open()

    def __repr__(self) -> str:
        return f"SqliteStore({str(self.path)!r})"

    # ---- opening -------------------------------------------------------------------------------

    def _open(self) -> None:
        connection = self._connections.get()
        with translated(self.path):
            if not migrate.is_present(connection, str(self.path)):
                with self._write() as connection:
                    # Another process may have done it while this one waited for its turn.
                    if not migrate.is_present(connection, str(self.path)):
                        migrate.apply(connection)
            [made_by] = connection.execute("SELECT analysis FROM index_facts").fetchone()
        if made_by != analysis.ANALYSIS_VERSION and not self._connections.read_only:
            self.reindex()

    # ---- writing -------------------------------------------------------------------------------

    def put(
        self,
        scope: Scope,
        memory: Memory,
        links: Sequence[Link] = (),
        sealed: Sequence[Sealed] = (),
    ) -> Outcome:
        """Keep a new memory with its links, unless a live one has the same content."""
        with self._write() as connection:
            known = _known(connection, scope, memory, sealed)
            if known is not None:
                return AlreadyKnown(memory=known)
            if _present_version(connection, scope, memory.id) is not None:
                raise errors.IdTaken(f"a memory with the id {memory.id!r} exists already")
            _insert(connection, scope, memory, sealed=sealed)
            secrets.keep(connection, sealed)
            for link in links:
                linking.insert(connection, scope, link)
        return Stored(memory=memory)

    def put_many(
        self, scope: Scope, histories: Sequence[History], siblings: Container[MemoryId] = ()
    ) -> list[Outcome | None]:
        """Keep many in one transaction; None where that id is stored already, in any state."""
        outcomes: list[Outcome | None] = []
        with self._write() as connection:
            for history in histories:
                present = history.versions[-1]
                if _present_version(connection, scope, present.id) is not None:
                    outcomes.append(None)
                    continue
                sealed = history.sealed
                known = None if present.deleted_at else _known(connection, scope, present, sealed)
                if known is not None and known.id not in siblings:
                    outcomes.append(AlreadyKnown(memory=known))
                    continue
                ends = [later.updated_at for later in history.versions[1:]]
                for memory, end in zip(history.versions, [*ends, None], strict=True):
                    _insert(connection, scope, memory, end, sealed)
                secrets.keep(connection, sealed)
                outcomes.append(Stored(memory=present))
        return outcomes

    def replace(
        self,
        scope: Scope,
        memory: Memory,
        links: Sequence[Link] = (),
        sealed: Sequence[Sealed] = (),
        concealed: Sequence[Memory] = (),
    ) -> None:
        """Make `memory` the present version of its id, and keep these links with it."""
        with self._write() as connection:
            present = self.get(scope, memory.id)
            before = present.version if present else None
            if present is None or before != memory.version - 1:
                raise errors.VersionConflict(
                    f"version {memory.version} of {memory.id} cannot follow version {before}"
                )
            says_other = says_more(present, memory) or bool(sealed)
            known = _known(connection, scope, memory, sealed) if says_other else None
            if known is not None:
                raise errors.DuplicateContent(f"memory {known.id} already says exactly this")
            connection.execute(
                SQL["close_version"],
                {
                    "owner": scope.user,
                    "id": memory.id,
                    "version": present.version,
                    "replaced_at": rows.from_time(memory.updated_at),
                },
            )
            secrets.conceal(connection, scope, concealed, sealed)
            _insert(connection, scope, memory, sealed=sealed)
            secrets.keep(connection, sealed)
            for link in links:
                linking.insert(connection, scope, link)

    def purge(self, scope: Scope, ids: Sequence[MemoryId]) -> bool:
        """Remove these memories, their versions and their links for good.

        The text is overwritten in the file and in the index. The write-ahead log is emptied too;
        False when another process that is just reading keeps it from being so.
        """
        parameters = {"owner": scope.user, "ids": json.dumps(ids)}
        with self._write() as connection:
            spaces.forget(connection, scope, ids)
            mentions.forget(connection, scope, ids)
            secrets.forget(connection, scope, ids)
            for statement in ("delete_links", "delete_indexed", "delete_memories"):
                connection.execute(SQL[statement], parameters)
            connection.execute(SQL["optimise_index"])
        return self.scrub()

    def reindex(self) -> None:
        """Make the whole index anew with the present analysis; all or nothing."""
        with self._write() as connection:
            connection.execute(SQL["forget_index"])
            after = 0
            while True:
                batch = connection.execute(
                    SQL["unindexed"], {"after": after, "limit": _REINDEX_BATCH}
                ).fetchall()
                if not batch:
                    break
                for row, *columns in batch:
                    _index(connection, row, rows.to_memory(columns))
                after = batch[-1][0]
            connection.execute(SQL["mark_index"], {"analysis": analysis.ANALYSIS_VERSION})

    # ---- reading -------------------------------------------------------------------------------

    def get(self, scope: Scope, id: MemoryId, as_of: datetime | None = None) -> Memory | None:
        """The version of a memory that was the present one at a moment, deleted or not."""
        return self.get_many(scope, [id], as_of).get(id)

    def get_many(
        self, scope: Scope, ids: Sequence[MemoryId], as_of: datetime | None = None
    ) -> dict[MemoryId, Memory]:
        """The same for many."""
        found = self._read(
            "get_many",
            {"owner": scope.user, "ids": json.dumps(ids), "moment": rows.moment(as_of)},
        )
        return {row[0]: rows.to_memory(row) for row in found}

    def resolve(self, scope: Scope, prefix: str, limit: int = 5) -> list[MemoryId]:
        """The ids that begin so, in order."""
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        found = self._read(
            "resolve", {"owner": scope.user, "prefix": prefix, "end": end, "limit": limit}
        )
        return [row[0] for row in found]

    def versions(self, scope: Scope, id: MemoryId) -> list[Memory]:
        """Every version of a memory, oldest first."""
        return [*map(rows.to_memory, self._read("versions", {"owner": scope.user, "id": id}))]

    def browse(self, filter: Filter, page: Page) -> list[Memory]:
        """The memories that a filter admits, by creation time and then id."""
        beginning = rows.NOT_YET if page.newest_first else -rows.NOT_YET
        time, after_id = page.after or (None, MemoryId(""))
        parameters = rows.from_filter(filter) | {
            "states": json.dumps(sorted(filter.states)),
            "limit": page.limit,
            "after_time": beginning if time is None else rows.from_time(time),
            "after_id": after_id,
        }
        statement = "list_newest" if page.newest_first else "list_oldest"
        return [*map(rows.to_memory, self._read(statement, parameters))]

    def statistics(self, scope: Scope, now: datetime) -> Statistics:
        """Counts of what a scope holds."""
        parameters = {
            "owner": scope.user,
            "now": rows.from_time(now),
            "moment": rows.moment(None),
            "limit": 20,
        }
        states = {state: row for state, *row in self._read("count_states", parameters)}
        counts = {state: states.get(state, (0,))[0] for state in State}
        held = [row for state, row in states.items() if state != State.DELETED]
        return Statistics(
            live=counts[State.LIVE],
            superseded=counts[State.SUPERSEDED],
            expired=counts[State.EXPIRED],
            deleted=counts[State.DELETED],
            earlier_versions=self._read("count_earlier", parameters)[0][0],
            links=self._read("count_links", parameters)[0][0],
            categories=dict(self._read("count_categories", parameters)),
            tags=dict(self._read("count_tags", parameters)),
            oldest=rows.to_time(min(row[1] for row in held)) if held else None,
            newest=rows.to_time(max(row[2] for row in held)) if held else None,
        )

    # ---- lexical search ------------------------------------------------------------------------

    def lexical_statistics(self, terms: Sequence[str]) -> LexicalStatistics:
        """How frequent the terms are in the whole index."""
        return self._lexicon.statistics(terms)

    def lexical_matches(
        self, filter: Filter, terms: Sequence[str], *, every: bool, limit: int
    ) -> list[LexicalMatch]:
        """The best `limit` admitted memories that hold every, or any, of the terms, by BM25."""
        return self._lexicon.matches(filter, terms, every=every, limit=limit)

    # ---- upkeep --------------------------------------------------------------------------------

    def check(self) -> list[Finding]:
        """Look for damage; changes nothing."""
        with translated(self.path):
            return checking.findings(self._connections.get(), read_only=self._connections.read_only)


# What follows runs inside a transaction of the caller.


def _insert(
    connection: sqlite3.Connection,
    scope: Scope,
    memory: Memory,
    replaced_at: datetime | None = None,
    sealed: Sequence[Sealed] = (),
) -> None:
    known_by = secrets.content_hash(connection, scope, memory, sealed)
    parameters = rows.from_memory(scope, memory, replaced_at) | {"content_hash": known_by}
    row = connection.execute(SQL["insert_memory"], parameters).lastrowid
    if memory.deleted_at is None and row is not None:
        _index(connection, row, memory)
        spaces.belong(connection, scope, row, memory)
        mentions.belong(connection, scope, row, memory)


def _index(connection: sqlite3.Connection, row: int, memory: Memory) -> None:
    connection.execute(SQL["insert_indexed"], (row, *analysis.entry(memory)))


def _known(
    connection: sqlite3.Connection, scope: Scope, memory: Memory, sealed: Sequence[Sealed]
) -> Memory | None:
    known_by = secrets.content_hash(connection, scope, memory, sealed)
    row = connection.execute(
        SQL["known"], {"owner": scope.user, "id": memory.id, "content_hash": known_by}
    ).fetchone()
    return rows.to_memory(row) if row else None


def _present_version(
    connection: sqlite3.Connection,
    scope: Scope,
    id: MemoryId,
) -> int | None:
    row = connection.execute(SQL["present_version"], {"owner": scope.user, "id": id}).fetchone()
    return row[0] if row else None

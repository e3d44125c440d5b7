"""The embedded store: one SQLite file that many processes share."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from recollect import analysis, errors
from recollect.filters import says_more
from recollect.protocols import (
    Finding,
    History,
    LexicalMatch,
    LexicalStatistics,
    Page,
    Statistics,
)
from recollect.store import migrate, rows
from recollect.store.connections import Connections, translated
from recollect.store.lexicon import Lexicon
from recollect.store.queries import SQLITE as SQL
from recollect.types import (
    AlreadyKnown,
    Filter,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Outcome,
    Scope,
    State,
    Stored,
)

_REINDEX_BATCH = 500  # rows held in memory while the index is made anew


class SqliteStore:
    """Memories in one file, in WAL mode: readers never wait, writers take turns."""

    def __init__(self, path: Path, *, busy_timeout: float = 60.0, create: bool = True) -> None:
        self.path = path
        self._connections = Connections(
            path,
            lambda connection: migrate.is_present(connection, str(path)),
            busy_timeout=busy_timeout,
            create=create,
        )
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

    def close(self) -> None:
        """Close every connection of every thread."""
        self._connections.close()

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        """One write transaction. IMMEDIATE takes the turn at once: it cannot be lost later."""
        connection = self._connections.get()
        with translated(self.path):
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            try:
                connection.execute("COMMIT")
            except sqlite3.Error:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _read(self, statement: str, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        return self._connections.read(SQL[statement], parameters)

    # ---- writing -------------------------------------------------------------------------------

    def put(self, scope: Scope, memory: Memory, links: Sequence[Link] = ()) -> Outcome:
        """Keep a new memory with its links, unless a live one has the same content."""
        with self._write() as connection:
            known = _known(connection, scope, memory)
            if known is not None:
                return AlreadyKnown(memory=known)
            if _present_version(connection, scope, memory.id) is not None:
                raise errors.IdTaken(f"a memory with the id {memory.id!r} exists already")
            _insert(connection, scope, memory)
            for link in links:
                _add_link(connection, scope, link)
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
                known = None if present.deleted_at else _known(connection, scope, present)
                if known is not None and known.id not in siblings:
                    outcomes.append(AlreadyKnown(memory=known))
                    continue
                for memory, later in zip(
                    history.versions, [*history.versions[1:], None], strict=True
                ):
                    _insert(connection, scope, memory, later.updated_at if later else None)
                outcomes.append(Stored(memory=present))
        return outcomes

    def replace(self, scope: Scope, memory: Memory, links: Sequence[Link] = ()) -> None:
        """Make `memory` the present version of its id, and keep these links with it."""
        with self._write() as connection:
            present = self.get(scope, memory.id)
            before = present.version if present else None
            if present is None or before != memory.version - 1:
                raise errors.VersionConflict(
                    f"version {memory.version} of {memory.id} cannot follow version {before}"
                )
            known = _known(connection, scope, memory) if says_more(present, memory) else None
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
            _insert(connection, scope, memory)
            for link in links:
                _add_link(connection, scope, link)

    def purge(self, scope: Scope, ids: Sequence[MemoryId]) -> bool:
        """Remove these memories, their versions and their links for good.

        The text is overwritten in the file and in the index. The write-ahead log is emptied too;
        False when another process that is just reading keeps it from being so.
        """
        parameters = {"owner": scope.user, "ids": json.dumps(ids)}
        with self._write() as connection:
            for statement in ("delete_links", "delete_indexed", "delete_memories"):
                connection.execute(SQL[statement], parameters)
            connection.execute(SQL["optimise_index"])
        with translated(self.path):
            [busy, *_] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy

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

    # ---- links ---------------------------------------------------------------------------------

    def add_link(self, scope: Scope, link: Link) -> None:
        """Keep a link; duplicates and supersede cycles are refused."""
        with self._write() as connection:
            _add_link(connection, scope, link)

    def remove_link(self, scope: Scope, link: Link) -> bool:
        """Close a link at `link.removed_at`; False when there is none to close."""
        with self._write() as connection:
            return bool(
                connection.execute(SQL["remove_link"], rows.from_link(scope, link)).rowcount
            )

    def has_links(self, scope: Scope) -> bool:
        """Whether a scope has any link, past or present."""
        return bool(self._read("has_links", {"owner": scope.user}))

    def links(
        self, scope: Scope, ids: Sequence[MemoryId], as_of: datetime | None = None
    ) -> list[Link]:
        """The links that begin or end at these memories, oldest first."""
        return self._links("links_of", scope, ids, as_of)

    def superseding(
        self, scope: Scope, ids: Sequence[MemoryId], as_of: datetime | None = None
    ) -> list[Link]:
        """The supersedes links above these memories, as far as their chains go."""
        return self._links("superseding", scope, ids, as_of)

    def _links(
        self, statement: str, scope: Scope, ids: Sequence[MemoryId], as_of: datetime | None
    ) -> list[Link]:
        found = self._read(
            statement, {"owner": scope.user, "ids": json.dumps(ids), "moment": rows.moment(as_of)}
        )
        return [*map(rows.to_link, found)]

    def all_links(self, scope: Scope) -> Iterator[Link]:
        """Every link ever made in a scope, removed ones too."""
        return map(rows.to_link, self._read("all_links", {"owner": scope.user}))

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
        connection = self._connections.get()
        with translated(self.path):
            integrity = [row[0] for row in connection.execute("PRAGMA integrity_check(5)")]
            counts = {
                name: connection.execute(SQL[name]).fetchone()[0]
                for name in ("count_unindexed", "count_dangling", "count_presents")
            }
            [journal] = connection.execute("PRAGMA journal_mode").fetchone()
        return [
            Finding(name="file", good=integrity == ["ok"], detail="; ".join(integrity)),
            Finding(name="journal", good=journal == "wal", detail=f"{journal} mode"),
            self._check_lexicon(connection),
            _counted("index", counts["count_unindexed"], "versions missing from the index"),
            _counted("links", counts["count_dangling"], "links without a memory at one end"),
            _counted("versions", counts["count_presents"], "memories without one present version"),
        ]

    def _check_lexicon(self, connection: sqlite3.Connection) -> Finding:
        """Whether FTS5's index agrees with the terms it was made from."""
        if self._connections.read_only:  # FTS5 takes the command as an INSERT
            return Finding(name="lexicon", good=True, detail="not checked: the file is read-only")
        try:
            connection.execute(SQL["check_index"])
        except sqlite3.DatabaseError as exc:
            return Finding(name="lexicon", good=False, detail=str(exc))
        return Finding(name="lexicon", good=True, detail="agrees with the terms")


def _counted(name: str, count: int, what: str) -> Finding:
    return Finding(name=name, good=count == 0, detail=f"{count} {what}")


# What follows runs inside a transaction of the caller.


def _insert(
    connection: sqlite3.Connection,
    scope: Scope,
    memory: Memory,
    replaced_at: datetime | None = None,
) -> None:
    parameters = rows.from_memory(scope, memory, replaced_at)
    row = connection.execute(SQL["insert_memory"], parameters).lastrowid
    if memory.deleted_at is None and row is not None:
        _index(connection, row, memory)


def _index(connection: sqlite3.Connection, row: int, memory: Memory) -> None:
    connection.execute(SQL["insert_indexed"], (row, *analysis.entry(memory)))


def _known(connection: sqlite3.Connection, scope: Scope, memory: Memory) -> Memory | None:
    row = connection.execute(
        SQL["known"],
        {
            "owner": scope.user,
            "id": memory.id,
            "content_hash": analysis.fingerprint(memory.content),
        },
    ).fetchone()
    return rows.to_memory(row) if row else None


def _present_version(
    connection: sqlite3.Connection,
    scope: Scope,
    id: MemoryId,
) -> int | None:
    row = connection.execute(SQL["present_version"], {"owner": scope.user, "id": id}).fetchone()
    return row[0] if row else None


def _add_link(connection: sqlite3.Connection, scope: Scope, link: Link) -> None:
    parameters = rows.from_link(scope, link)
    if link.kind is LinkKind.SUPERSEDES and link.removed_at is None:
        reverse = parameters | {"source": link.target, "target": link.source}
        if connection.execute(SQL["supersedes_already"], reverse).fetchone():
            raise errors.SupersedeCycle(
                f"{link.target} already supersedes {link.source}, directly or by way of others"
            )
    try:
        connection.execute(SQL["insert_link"], parameters)
    except sqlite3.IntegrityError as exc:
        raise errors.DuplicateLink(
            f"{link.source} {link.kind} {link.target} is there already"
        ) from exc

"""The shared store: a Postgres database that many users and machines share."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from bearinmind import errors
from bearinmind.protocols import (
    Finding,
    Job,
    LexicalMatch,
    LexicalStatistics,
    ReadSoFar,
    StoreFacts,
    Unavailable,
)
from bearinmind.store import database, rows, writes
from bearinmind.store.access import AccessInDatabase
from bearinmind.store.database import Row
from bearinmind.store.graph import GraphInDatabase
from bearinmind.store.memories import MemoriesInDatabase
from bearinmind.store.postgres import schema
from bearinmind.store.postgres.capabilities import inspect_database, why_meaning_is_off
from bearinmind.store.postgres.lexicon import Lexicon
from bearinmind.store.postgres.pool import Pool
from bearinmind.store.queues import QueuesInDatabase
from bearinmind.store.rows import Owned
from bearinmind.store.spaces import SpacesInDatabase
from bearinmind.store.sync_changes import SyncInDatabase
from bearinmind.text import analysis
from bearinmind.types import Filter, Scope, Space

if TYPE_CHECKING:
    from bearinmind.store.postgres.vectors import VectorSearch

_REINDEX_BATCH = 500  # versions that are analysed in one transaction
_EMBED = "embed"
_KINDS = (_EMBED, "extract", "compare")  # of work


class PostgresStore(
    MemoriesInDatabase,
    SpacesInDatabase,
    QueuesInDatabase,
    AccessInDatabase,
    GraphInDatabase,
    SyncInDatabase,
):
    """Memories in a database: writers of one user take turns, others do not wait for them."""

    def __init__(self, url: str, *, busy_timeout: float = 60.0, connections: int = 16) -> None:
        pool = Pool(url, busy_timeout=busy_timeout, connections=connections)
        super().__init__(pool)
        self._stand_on(pool)
        self._connections = connections
        try:
            self._meaning_off = self._open(busy_timeout)
        except BaseException:
            pool.close()
            raise

    def _stand_on(self, pool: Pool) -> None:
        self._database = self._pool = pool
        self._lexicon = Lexicon(pool)
        self._recalled: PostgresStore = self

    def __repr__(self) -> str:
        return f"PostgresStore({self._pool.place})"

    def _open(self, patience: float) -> Unavailable | None:
        """Bring the schema and the index up to date; why there is no semantic recall, if so."""
        opened = schema.bring_up(self._pool, patience=patience)
        self._pool.is_spread = opened.has_citus
        if self._pool.read("is_unfinished")[0][0]:
            raise errors.StoreUnfinished(f"{self._pool.place} holds an unfinished move")
        if opened.analysis != analysis.ANALYSIS_VERSION:
            self.reindex()
        return opened.meaning_off

    def follow(self, url: str, *, staleness: float) -> None:
        """Let recalls read from a standby while it is at most `staleness` seconds behind."""
        from bearinmind.store.postgres.replica import Replica  # noqa: PLC0415 (most have none)

        primary, connections = self._pool.connections, self._connections
        replica = Replica(url, primary, staleness=staleness, connections=connections)
        self._recalled = copy(self)
        self._recalled._stand_on(self._pool.followed_by(replica))  # noqa: SLF001 (its own kind)

    def for_recall(self) -> PostgresStore:
        """The store that recalls read: from a standby when one is recent enough."""
        return self._recalled

    def close(self) -> None:
        self._pool.close()

    @cached_property
    def _vectors(self) -> VectorSearch:
        from bearinmind.store.postgres.vectors import VectorSearch  # noqa: PLC0415 (numpy is slow)

        return VectorSearch(self._pool)

    def lexical_statistics(self, scope: Scope, terms: Sequence[str]) -> LexicalStatistics:
        return self._lexicon.statistics(scope, terms)

    def lexical_matches(
        self, filter: Filter, terms: Sequence[str], *, every: bool, limit: int
    ) -> list[LexicalMatch]:
        return self._lexicon.matches(filter, terms, every=every, limit=limit)

    def meaning_off(self) -> Unavailable | None:
        """Why the database cannot keep vectors; looked at again until it can."""
        if self._meaning_off is not None:
            self._meaning_off = why_meaning_is_off(inspect_database(self._pool))
        return self._meaning_off

    def index_spaces(self) -> int:
        """Build the HNSW indexes that are due, except those that another process builds."""
        from bearinmind.store.postgres.indexes import VectorIndexes  # noqa: PLC0415 (for workers)

        return 0 if self.meaning_off() else len(VectorIndexes(self._pool).build_due())

    def claim(self, kinds: Sequence[str], limit: int, now: datetime, until: datetime) -> list[Job]:
        """Take the oldest jobs that are due; those to embed wait until vectors can be kept."""
        return super().claim(self._possible(kinds), limit, now, until)

    def next_due(self, now: datetime, kinds: Sequence[str] | None = None) -> datetime | None:
        if kinds is None and self.meaning_off() is None:
            return super().next_due(now)
        return super().next_due(now, self._possible(_KINDS if kinds is None else kinds))

    def _possible(self, kinds: Sequence[str]) -> list[str]:
        """The kinds of work among these whose results the database can keep."""
        return [kind for kind in kinds if kind != _EMBED or self.meaning_off() is None]

    def unembedded(self, scope: Scope, space: Space, jobs: int) -> int:
        if not self._pool.is_spread:
            return super().unembedded(scope, space, jobs)
        return self._queued(scope, _EMBED, space.key, jobs)

    def read_so_far(self, scope: Scope, jobs: int) -> ReadSoFar:
        if not self._pool.is_spread:
            return super().read_so_far(scope, jobs)
        has_concepts = bool(self._read(scope, "has_concepts"))
        return ReadSoFar(has_concepts, self._queued(scope, "extract", "", jobs))

    def _queued(self, scope: Scope, kind: str, target: str, jobs: int) -> int:
        """The present versions that wait; the queue is asked first, since it is mostly empty."""
        queued = self._read(scope, "queued_rows", kind=kind, target=target, jobs=jobs)
        if not queued:
            return 0
        [[count]] = self._read(scope, "count_present", rows=[row for [row] in queued])
        return int(count)

    @property
    def may_lose_jobs(self) -> bool:
        return self._pool.is_spread

    def _jobs(self, taken: Sequence[Row]) -> list[Row]:
        """Of a spread store read owner by owner: one machine that is away holds up no other."""
        if not self._pool.is_spread:
            return super()._jobs(taken)
        jobs: list[tuple[int, Row]] = []
        for owner in dict.fromkeys(owner for owner, *_ in taken):
            own = [job for job in taken if job[0] == owner]
            place = {"owner": owner, "rows": [*{row for *_, row in own}]}
            try:
                known = {row: version for row, *version in self._pool.read("versions_in", place)}
            except errors.StoreUnavailable:
                numbers = {"owner": owner, "numbers": [number for _, number, *_ in own]}
                with self._pool.writing() as transaction:
                    transaction.change("postpone", numbers)
                continue
            jobs += [
                (turn, (number, kind, target, attempts, *known[row]))
                for _, number, kind, target, attempts, turn, row in own
                if row in known
            ]
            gone = [row for row in place["rows"] if row not in known]
            if gone:  # purged when the coordinator crashed
                with self._pool.writing() as transaction:
                    transaction.change("forget_jobs", {"owner": owner, "rows": gone})
        return [job for _, job in sorted(jobs, key=lambda each: (each[0], each[1][0]))]

    def _vectors_by_space(self) -> dict[str, int]:
        """Of a spread store, those of the machines that answer."""
        try:
            return super()._vectors_by_space()
        except errors.StoreUnavailable:
            if not self._pool.is_spread:
                raise
            return dict(self._pool.read("vectors_that_answer"))

    def scrub(self) -> bool:
        """False: the server decides when it overwrites what was removed."""
        return False

    def reindex(self) -> None:
        """Make the whole index again with the present analysis, an owner's versions at a time.

        A recall meanwhile finds what is indexed already. When it is interrupted, it begins
        again the next time; only time is lost.
        """
        after = {"owner": "", "row": 0}
        while batch := self._pool.read("unindexed", after | {"limit": _REINDEX_BATCH}):
            for owner in dict.fromkeys(owner for owner, _ in batch):
                own = [row for whose, row in batch if whose == owner]
                with self._pool.writing(owner) as transaction:
                    owned = Owned(transaction, owner)
                    owned.change_each("forget_entry", [{"row": row} for row in own])
                    # Read when it is this one's turn: a version may have been concealed meanwhile.
                    records = owned.rows("unindexed_of", {"rows": own})
                    memories = {row: rows.to_memory(columns) for row, *columns in records}
                    writes.index_versions(self._pool, owned, memories)
            after = {"owner": batch[-1][0], "row": batch[-1][1]}
        with self._pool.writing(alone=True) as transaction:
            transaction.change("mark_index", {"analysis": analysis.ANALYSIS_VERSION})

    def facts(self) -> StoreFacts:
        """How large the database is, and which server and extension there are."""
        [[postgres, pgvector, size]] = self._pool.read("facts")
        extension = {"pgvector": pgvector} if pgvector else {}
        return StoreFacts(size, {"postgres": postgres, **extension})

    def replica_lag(self) -> float | None:
        return self._pool.replica_lag()

    def check(self) -> list[Finding]:
        return database.integrity_findings(self._pool, partly=self._pool.is_spread)

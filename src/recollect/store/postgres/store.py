"""The shared store: a Postgres database that many users and machines share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from recollect import analysis
from recollect.protocols import Finding, LexicalMatch, LexicalStatistics
from recollect.store import checking, indexing, rows
from recollect.store.database import Owned
from recollect.store.graph import GraphInDatabase
from recollect.store.linking import LinksInDatabase
from recollect.store.memories import MemoriesInDatabase
from recollect.store.postgres import migrate
from recollect.store.postgres.lexicon import Lexicon
from recollect.store.postgres.pool import Pool
from recollect.store.queue import WorkInDatabase
from recollect.store.secrets import SecretsInDatabase
from recollect.store.spaces import SpacesInDatabase
from recollect.types import Filter, Scope

if TYPE_CHECKING:
    from recollect.store.postgres.vectors import VectorSearch

_REINDEX_BATCH = 500  # versions that are analysed in one transaction


class PostgresStore(
    MemoriesInDatabase,
    LinksInDatabase,
    SpacesInDatabase,
    WorkInDatabase,
    SecretsInDatabase,
    GraphInDatabase,
):
    """Memories in a database: writers of one user take turns, others do not wait for them."""

    def __init__(self, url: str, *, busy_timeout: float = 60.0, connections: int = 16) -> None:
        self._pool = Pool(url, busy_timeout=busy_timeout, connections=connections)
        super().__init__(self._pool)
        self._lexicon = Lexicon(self._pool)
        self._open()

    def __repr__(self) -> str:
        return f"PostgresStore({self._pool.place})"

    def _open(self) -> None:
        with self._pool.connections.alone() as connection:
            migrate.apply(connection)
        [[made_by]] = self._pool.read("analysis")
        if made_by != analysis.ANALYSIS_VERSION:
            self.reindex()

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()

    @cached_property
    def _vectors(self) -> VectorSearch:
        from recollect.store.postgres.vectors import VectorSearch  # noqa: PLC0415 (numpy is slow)

        return VectorSearch(self._pool)

    def lexical_statistics(self, scope: Scope, terms: Sequence[str]) -> LexicalStatistics:
        """How frequent the terms are among what the scope holds."""
        return self._lexicon.statistics(scope, terms)

    def lexical_matches(
        self, filter: Filter, terms: Sequence[str], *, every: bool, limit: int
    ) -> list[LexicalMatch]:
        """The best `limit` admitted memories that hold every, or any, of the terms, by BM25."""
        return self._lexicon.matches(filter, terms, every=every, limit=limit)

    def scrub(self) -> bool:
        """False: when the server overwrites what was removed is its own affair."""
        return False

    def reindex(self) -> None:
        """Make the whole index anew with the present analysis, an owner's versions at a time.

        Whoever recalls meanwhile finds what is made already. When it is interrupted, it begins
        anew the next time: nothing is lost by that but time.
        """
        after = {"owner": "", "row": 0}
        while batch := self._pool.read("unindexed", after | {"limit": _REINDEX_BATCH}):
            found = [(owner, row, rows.to_memory(columns)) for owner, row, *columns in batch]
            for owner in dict.fromkeys(owner for owner, _, _ in found):
                own = {row: memory for whose, row, memory in found if whose == owner}
                with self._pool.writing(owner) as transaction:
                    owned = Owned(transaction, owner)
                    owned.change_each("forget_entry", [{"row": row} for row in own])
                    indexing.insert(self._pool, owned, own)
            after = {"owner": found[-1][0], "row": found[-1][1]}
        with self._pool.writing(alone=True) as transaction:
            transaction.change("mark_index", {"analysis": analysis.ANALYSIS_VERSION})

    def check(self) -> list[Finding]:
        """Look for damage; changes nothing."""
        return checking.findings(self._pool)

"""The lexical index of a Postgres store: how frequent an owner's terms are, and what holds them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from functools import lru_cache

from bearinmind.protocols import LexicalMatch, LexicalStatistics
from bearinmind.store import memories, rows
from bearinmind.store.database import Database, Parameters
from bearinmind.store.memories import Estimates, deciding
from bearinmind.types import Filter, Scope, UserId

_MARK_BYTES = 3  # owners with the same mark cost each other a little time, nothing else
_OWNERS_REMEMBERED = 128
_TERMS_REMEMBERED = 4_000  # of each owner, at most 0.4 MB
_FURTHER = (1, 8)  # for how many times the limit to look before every term is searched
_LEAST_INFORMATION = 1e-6  # of a term that most memories hold; as in SQLite


class Lexicon:
    """Searches an owner's part of the index, at the price of what decides the answer."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._estimates = lru_cache(_OWNERS_REMEMBERED)(
            lambda _owner: Estimates(most=_TERMS_REMEMBERED)
        )

    def statistics(self, scope: Scope, terms: Sequence[str]) -> LexicalStatistics:
        estimates = self._estimates(scope.user)
        known = estimates.known(terms)
        counted, forgotten = self._count(estimates, scope, [x for x in terms if x not in known])
        if forgotten and known:
            known, _ = self._count(estimates, scope, [*known])
        frequency = known | counted
        return estimates.statistics({term: frequency[term] for term in terms})

    def _count(
        self, estimates: Estimates, scope: Scope, terms: Sequence[str]
    ) -> tuple[dict[str, int], bool]:
        """How frequent terms are now, and whether what was counted before is to be forgotten."""
        parameters = {"owner": scope.user, "lexemes": _lexemes(scope, terms)}
        records = self._database.read("index_facts", parameters)
        total, length, counts = records[0] if records else (0, 0, [0] * len(terms))
        forgotten = estimates.refresh(total, length)
        counted = dict(zip(terms, counts, strict=True))
        estimates.remember(counted)
        return counted, forgotten

    def matches(
        self, filter: Filter, terms: Sequence[str], *, every: bool, limit: int
    ) -> list[LexicalMatch]:
        """The best `limit` admitted memories that hold every, or any, of the terms, by BM25.

        Whatever holds a term that is searched has to be read and scored, and hardly any of what
        holds a common one is among the best. So any-of searches go by the rarest terms that match
        enough memories; a memory that holds only the others is left out.
        """
        statistics = self._statistics_at_hand(filter, terms)
        parameters = rows.from_filter(filter) | _asked(terms, statistics) | {"limit": limit}
        if every:
            return self._best("matches_every", filter.scope, terms, parameters)
        for further in _FURTHER:
            rarest = deciding(statistics.frequency, limit * further)
            if len(rarest) == len(terms):
                break
            matches = self._best("matches_any", filter.scope, rarest, parameters)
            if len(matches) == limit:
                return matches
        return self._best("matches_any", filter.scope, terms, parameters)

    def _statistics_at_hand(self, filter: Filter, terms: Sequence[str]) -> LexicalStatistics:
        """The statistics of the terms: remembered, or counted now."""
        if filter.reader is not None:  # whom the owner's statistics must not serve
            return memories.visible_statistics(self._database, filter, terms)
        estimates = self._estimates(filter.scope.user)
        known = estimates.known(terms)
        if len(known) < len(terms):
            return self.statistics(filter.scope, terms)
        return estimates.statistics(known)

    def _best(
        self, statement: str, scope: Scope, terms: Iterable[str], parameters: Parameters
    ) -> list[LexicalMatch]:
        records = self._database.read(statement, {**parameters, "lexemes": _lexemes(scope, terms)})
        return [*map(rows.to_lexical_match, records)]


@lru_cache(maxsize=1_024)
def mark(owner: UserId) -> str:
    """The prefix of an owner's terms in the index, which keeps owners apart."""
    return hashlib.blake2b(owner.encode(), digest_size=_MARK_BYTES).hexdigest()


def _lexemes(scope: Scope, terms: Iterable[str]) -> list[str]:
    marked = mark(scope.user)
    return [marked + term for term in terms]


def _asked(terms: Sequence[str], statistics: LexicalStatistics) -> dict[str, object]:
    """What the `score` fragment needs to know about the terms."""
    padded = [f" {term} " for term in terms]
    return {
        "padded": padded,
        "octets": [len(text.encode()) for text in padded],
        "information": [_information(statistics.frequency[x], statistics.total) for x in terms],
        "average": statistics.average_length + 1,  # the category is a term, too
    }


def _information(frequency: int, total: int) -> float:
    """Inverse document frequency as SQLite's bm25() has it."""
    odds = (total - frequency + 0.5) / (frequency + 0.5)
    return max(math.log(odds), _LEAST_INFORMATION) if odds > 0 else _LEAST_INFORMATION

"""The lexical index of a SQLite file: how frequent terms are, and which memories hold them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from operator import itemgetter

from bearinmind.protocols import LexicalMatch, LexicalStatistics
from bearinmind.store import rows
from bearinmind.store.database import Database, Row
from bearinmind.store.estimates import Estimates, deciding
from bearinmind.types import Filter, Scope, UserId

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
        self._owned = lru_cache(_OWNERS_REMEMBERED)(partial(_OwnedCounts, database))

    def statistics(self, scope: Scope, terms: Sequence[str]) -> LexicalStatistics:
        """How frequent the terms are among all versions of the owner's memories.

        FTS5 counts for all owners at once, which is fast, and right where there is one owner. Where
        there are several, it would tell one owner what the memories of the others say.
        """
        parameters = {"owner": scope.user}
        [[versions, length, *owned]] = self._database.read("owned_facts", parameters)
        if versions == owned[0]:
            return self._counts.statistics(terms, versions, length)
        return self._owned(scope.user).statistics(terms, *owned)

    def matches(
        self, filter: Filter, terms: Sequence[str], *, every: bool, limit: int
    ) -> list[LexicalMatch]:
        """The best `limit` matches of every, or any, of the terms, by BM25.

        Ranking costs FTS5 ten times as much as matching, and the common terms of a question match
        most of what it ranks without deciding who is best. So any-of searches go by the rarest
        terms that match enough memories; a memory that holds only the others is left out.
        """
        if not every and filter.is_scope_alone:
            rarest = self._deciding(filter.scope, terms, limit)
            if len(rarest) < len(terms):
                matches = self._best(filter, rarest, " OR ", limit)
                if len(matches) == limit:
                    return matches
        return self._best(filter, terms, " AND " if every else " OR ", limit)

    def _deciding(self, scope: Scope, terms: Sequence[str], limit: int) -> list[str]:
        """The rarest terms that match enough of the scope's memories."""
        share = self._counts.share(scope)
        matching = {term: count * share for term, count in self._counts.frequency(terms).items()}
        return deciding(matching, limit)

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
        known = self._estimates.known(terms)
        unknown = [term for term in terms if term not in known]
        if unknown:
            counted: dict[str, int] = dict(self._database.read("frequencies", {"terms": unknown}))
            self._estimates.remember(counted)
            known |= counted
        return {term: known.get(term, 0) for term in terms}

    def share(self, scope: Scope) -> float:
        """The share of the index that a scope holds."""
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


class _OwnedCounts:
    """The counts of one owner of a file that has several."""

    def __init__(self, database: Database, owner: UserId) -> None:
        self._database = database
        self._owner = owner
        self._estimates = Estimates(most=_TERMS_OF_OWNER)

    def statistics(self, terms: Sequence[str], versions: int, length: int) -> LexicalStatistics:
        self._estimates.refresh(versions, length)
        known = self._estimates.known(terms)
        parameters = {"owner": self._owner, "terms": [term for term in terms if term not in known]}
        counted: dict[str, int] = dict(self._database.read("owned_frequencies", parameters))
        self._estimates.remember(counted)
        frequency = known | counted
        return self._estimates.statistics({term: frequency[term] for term in terms})


def _to_matches(records: list[Row]) -> list[LexicalMatch]:
    """Rows of `matches` as values, best first; equal scores by age in the file."""
    records.sort(key=_BY_SCORE)
    return [*map(rows.to_lexical_match, records)]

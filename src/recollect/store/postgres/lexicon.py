"""Stand-in by the lead until brief B's module replaces it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial
from typing import Any

from recollect.analysis import Entry
from recollect.protocols import LexicalMatch, LexicalStatistics
from recollect.store import rows
from recollect.types import Filter, Scope, UserId


def mark(owner: UserId) -> str:
    return hashlib.blake2b(owner.encode(), digest_size=3).hexdigest()


def lexemes(owner: UserId, entry: Entry) -> list[str]:
    terms = {t for line in entry[:5] for t in line.split()}
    return sorted(mark(owner) + t for t in terms)


class Lexicon:
    def __init__(self, pool: Any) -> None:
        self._pool = pool

    def statistics(self, scope: Scope, terms: Sequence[str]) -> LexicalStatistics:
        found = self._pool.read("tenant_facts", {"owner": scope.user})
        versions, length = found[0] if found else (0, 0)
        m = mark(scope.user)
        counts = dict(self._pool.read("frequencies", {"owner": scope.user, "terms": [m + t for t in terms]}))
        return LexicalStatistics(versions, length / versions if versions else 0.0, {t: counts.get(m + t, 0) for t in terms})

    def matches(self, filter: Filter, terms: Sequence[str], *, every: bool, limit: int) -> list[LexicalMatch]:
        m = mark(filter.scope.user)
        found = self._pool.read("matches_every" if every else "matches_any", rows.from_filter(filter) | {"terms": [m + t for t in terms], "limit": limit})
        return [LexicalMatch._make((r[0], r[2], *r[19:25], partial(rows.to_memory, r))) for r in found]

"""Baselines on SQLite's own full-text index, FTS5."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from bearinmind.bench import statements
from bearinmind.bench.baselines.ranking import POOL, Ranked, best_first
from bearinmind.bench.evaluation import Record

_SQL = statements.load("fts5.sql")
_WORD = re.compile(r"[^\W_]+")

_BM25_SHARE = 0.7
_IMPORTANCE_SHARE = 0.3
_USUAL_IMPORTANCE = 0.5  # of a memory that does not say


class Fts5Porter:
    """FTS5 with its Porter stemmer over the content: any word may match, in the order of BM25."""

    tokenizer: ClassVar[str] = "porter"
    fields: ClassVar[frozenset[str]] = frozenset({"content"})

    def __init__(self, corpus: Sequence[Record], *, others: Sequence[Record] = ()) -> None:
        self._own = len(corpus)
        self._connection = sqlite3.connect(":memory:")
        self._connection.execute(_SQL[self.tokenizer])
        self._connection.executemany(_SQL["add"], (self._row(r) for r in (*corpus, *others)))
        self._connection.commit()

    def retrieve(self, query: str, k: int) -> Sequence[Ranked]:
        """The best k memories."""
        return self._match(" OR ", query, k)

    def facts(self) -> dict[str, Any]:
        """What it takes up."""
        [size] = self._connection.execute(_SQL["size"]).fetchone()
        return {"store_bytes": size}

    def close(self) -> None:
        """Let go of the index."""
        self._connection.close()

    def _row(self, record: Record) -> Mapping[str, str]:
        row = {
            "content": record["content"],
            "tags": _listed(record.get("tags")),
            "keywords": _listed(record.get("expanded_keywords")),
            "category": record.get("category") or "",
        }
        shown = {name: text if name in self.fields else "" for name, text in row.items()}
        return {"id": record["id"], **shown}

    def _match(self, operator: str, query: str, pool: int) -> list[Ranked]:
        words = dict.fromkeys(word.lower() for word in _WORD.findall(query))
        if not words:
            return []
        asked = operator.join(f'"{word}"' for word in words)
        return self._connection.execute(
            _SQL["match"], {"words": asked, "own": self._own, "pool": pool}
        ).fetchall()


class Fts5AndOr(Fts5Porter):
    """FTS5 with its default tokenizer over the content.

    Memories with every word of the query come first; where they are fewer than k, memories with
    any of its words follow.
    """

    tokenizer: ClassVar[str] = "unicode61"

    def retrieve(self, query: str, k: int) -> Sequence[Ranked]:
        """The best k memories."""
        return self._candidates(query, k, pool=k)[:k]

    def _candidates(self, query: str, k: int, pool: int) -> list[Ranked]:
        found = self._match(" AND ", query, pool)
        if len(found) >= k:
            return found
        known = {id_ for id_, _ in found}
        filling = self._match(" OR ", query, pool)
        return [*found, *(candidate for candidate in filling if candidate[0] not in known)][:pool]


class EarlierLexical(Fts5AndOr):
    """The lexical path of the earlier system.

    FTS5 with its default tokenizer over content, tags, keywords and category. Memories with every
    word of the query are candidates; where they are fewer than k, memories with any of its words
    are too, up to 50 in all. The score is 0.7 BM25 + 0.3 importance, where BM25 is divided by that
    of the best candidate: importance runs from 0 to 1, and so must what it is added to.
    """

    fields: ClassVar[frozenset[str]] = frozenset({"content", "tags", "keywords", "category"})

    def __init__(self, corpus: Sequence[Record], *, others: Sequence[Record] = ()) -> None:
        super().__init__(corpus, others=others)
        self._importance = {record["id"]: _importance(record) for record in corpus}

    def retrieve(self, query: str, k: int) -> Sequence[Ranked]:
        """The best k memories."""
        candidates = self._candidates(query, k, pool=max(k, POOL))
        best = max((score for _, score in candidates), default=1.0)
        blended = (
            (id_, _BM25_SHARE * score / best + _IMPORTANCE_SHARE * self._importance[id_])
            for id_, score in candidates
        )
        return best_first(blended, k)


def _listed(value: object) -> str:
    """Tags or keywords as text, whether they were given as text or as a list."""
    if isinstance(value, str):
        return value
    return ", ".join(str(part) for part in value) if isinstance(value, Sequence) else ""


def _importance(record: Record) -> float:
    given = record.get("importance")
    return _USUAL_IMPORTANCE if given is None else float(given)

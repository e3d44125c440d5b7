"""Baselines that only our own measurements use: the lexical path of the earlier system.

bearinmind bench run --retriever research.baselines:EarlierLexical     with PYTHONPATH=benchmarks
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from bearinmind_bench.baselines import (
    POOL,
    Baseline,
    Bm25Library,
    Fts5AndOr,
    Ranked,
    ReciprocalRankFusion,
    best_first,
)
from bearinmind_bench.evaluation import Record

_BM25_SHARE = 0.7
_IMPORTANCE_SHARE = 0.3
_USUAL_IMPORTANCE = 0.5  # of a memory that does not say


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


class EarlierAsItWas(EarlierLexical):
    """The lexical path of the earlier system to the letter.

    Memories with every word of the query; only where there is none, memories with any of its words.
    The score is 0.7 BM25 + 0.3 importance with BM25 as FTS5 gives it, which has no upper bound and
    is next to nothing in a store of few memories.
    """

    def retrieve(self, query: str, k: int) -> Sequence[Ranked]:
        """The best k memories."""
        found = self._match(" AND ", query, self._own) or self._match(" OR ", query, self._own)
        blended = (
            (id_, _BM25_SHARE * score + _IMPORTANCE_SHARE * self._importance[id_])
            for id_, score in found
        )
        return best_first(blended, k)


class EarlierReference(EarlierLexical):
    """What the earlier system was measured against: any word, `ORDER BY bm25(), importance`."""

    def retrieve(self, query: str, k: int) -> Sequence[Ranked]:
        """The best k memories."""
        found = self._match(" OR ", query, self._own)
        found.sort(key=lambda each: (-each[1], -self._importance[each[0]], each[0]))
        return found[:k]


class LexicalFusion(ReciprocalRankFusion):
    """Reciprocal rank fusion (k = 60) of the best 50 of the earlier system and of bm25s."""

    legs: ClassVar[Mapping[str, type[Baseline]]] = {
        "bm25s": Bm25Library,
        "earlier": EarlierLexical,
    }


def _importance(record: Record) -> float:
    given = record.get("importance")
    return _USUAL_IMPORTANCE if given is None else float(given)

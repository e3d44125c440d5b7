"""A baseline on a maintained library for BM25."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import Stemmer

from bearinmind.bench.baselines.ranking import Ranked, best_first
from bearinmind.bench.evaluation import Record
from bearinmind.errors import MissingExtra


class Bm25Library:
    """Lucene's BM25 as the library bm25s has it, over the content: stemmed, without stop words."""

    def __init__(self, corpus: Sequence[Record], *, others: Sequence[Record] = ()) -> None:
        try:
            import bm25s  # noqa: PLC0415  optional
        except ImportError as exc:
            raise MissingExtra("the baseline bm25s needs the package bm25s") from exc
        self._library = bm25s
        self._stemmer = Stemmer.Stemmer("english")
        self._ids = [record["id"] for record in corpus]
        terms = self._terms([record["content"] for record in (*corpus, *others)])
        self._known = {term for of_memory in terms for term in of_memory}
        self._index = bm25s.BM25(method="lucene")
        if self._known:  # the library cannot index nothing
            self._index.index(terms, show_progress=False)

    def retrieve(self, query: str, k: int) -> Sequence[Ranked]:
        """The best k memories; none that shares no term with the query."""
        [terms] = self._terms([query])
        asked = [term for term in terms if term in self._known]
        if not asked:
            return []
        # The library's own top k leaves open which of two equal scores comes first.
        scores = self._index.get_scores(asked)[: len(self._ids)]
        matching = np.flatnonzero(scores)
        return best_first(((self._ids[i], float(scores[i])) for i in matching), k)

    def facts(self) -> dict[str, Any]:
        """What it takes up."""
        held = self._index.scores if self._known else {}
        return {
            "store_bytes": sum(part.nbytes for part in held.values() if hasattr(part, "nbytes"))
        }

    def close(self) -> None:
        """There is nothing to let go of."""

    def _terms(self, texts: list[str]) -> list[list[str]]:
        terms: list[list[str]] = self._library.tokenize(
            texts, stopwords="en", stemmer=self._stemmer, return_ids=False, show_progress=False
        )
        return terms

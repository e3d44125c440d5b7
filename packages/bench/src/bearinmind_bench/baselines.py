"""Retrievers to compare with: FTS5 alone, the library bm25s, exact cosine, rank fusion."""

from __future__ import annotations

import heapq
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar, LiteralString, Protocol

import numpy as np
import Stemmer

from bearinmind.models.caches import CachedEmbedder
from bearinmind.models.local import LocalEmbedder
from bearinmind.recall.scores import ReciprocalRank
from bearinmind.text.sql_statements import statements_of
from bearinmind.types import Candidate, MemoryId, Ranking
from bearinmind_bench.corpus import cache_of_runs
from bearinmind_bench.evaluation import Record


def load(name: str) -> Mapping[str, LiteralString]:
    """The statements of one file, by name."""
    return statements_of(
        files("bearinmind_bench").joinpath("sql", name).read_text(encoding="utf-8")
    )


#: How deep a baseline looks that puts candidates in a new order.
POOL = 50

#: The id of a memory and its score.
Ranked = tuple[str, float]


class Baseline(Protocol):
    """A retriever that scores, says what it takes up and can be closed.

    `others` are the memories of all other users. They count in the statistics of words, as they do
    where many users share one index, and are never given back.
    """

    def __init__(self, corpus: Sequence[Record], *, others: Sequence[Record] = ()) -> None: ...

    def retrieve(self, query: str, k: int) -> Sequence[Ranked]:
        """The best k memories, best first; equal scores break on the id."""

    def facts(self) -> dict[str, Any]:
        """`store_bytes`, and `models` where any took part."""

    def close(self) -> None:
        """Let go of what it holds."""


def best_first(scored: Iterable[Ranked], k: int) -> list[Ranked]:
    """The k memories with the highest scores; equal scores break on the id."""
    return heapq.nsmallest(k, scored, key=lambda ranked: (-ranked[1], ranked[0]))


class ExactCosine:
    """The exact cosine between the sentence embeddings of the query and of every content.

    Embeddings of contents are kept for the next run; a query is embedded each time it is asked, so
    that the latency is what it would be for a user.
    """

    def __init__(self, corpus: Sequence[Record], *, others: Sequence[Record] = ()) -> None:
        self._embedder = _minilm()
        self._ids = [record["id"] for record in corpus]
        self._everyone = len(corpus) + len(others)  # no need to read the others: only to say a size
        with cache_of_runs() as kept:
            cached = CachedEmbedder(self._embedder, kept)
            self._vectors = cached.embed_memories([x["content"] for x in corpus])

    def retrieve(self, query: str, k: int) -> Sequence[Ranked]:
        """The best k memories."""
        cosines = self._vectors @ self._embedder.embed_query(query)
        near = np.arange(len(cosines))
        if k < len(cosines):  # only what reaches the k-th best need be sorted
            near = np.flatnonzero(cosines >= np.partition(cosines, -k)[-k])
        return best_first(((self._ids[i], float(cosines[i])) for i in near), k)

    def facts(self) -> dict[str, Any]:
        """Which model it is, and what the vectors of everyone take up."""
        size = self._everyone * self._vectors.shape[1] * self._vectors.itemsize
        space = self._embedder.space
        return {"models": [f"{space.model} {space.revision}"], "store_bytes": size}

    def close(self) -> None:
        """The model stays loaded for the next user."""


@cache
def _minilm() -> LocalEmbedder:
    """One for all users of a run: loading it takes longer than a query."""
    return LocalEmbedder("minilm")


_SQL = load("fts5.sql")
_WORD = re.compile(r"[^\W_]+")


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
        expression = operator.join(f'"{word}"' for word in words)
        return self._connection.execute(
            _SQL["match"], {"words": expression, "own": self._own, "pool": pool}
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
        exact = self._match(" AND ", query, pool)
        if len(exact) >= k:
            return exact
        known = {id_ for id_, _ in exact}
        filling = self._match(" OR ", query, pool)
        return [*exact, *(candidate for candidate in filling if candidate[0] not in known)][:pool]


def _listed(value: object) -> str:
    """Tags or keywords as text, whether they were given as text or as a list."""
    if isinstance(value, str):
        return value
    return ", ".join(str(part) for part in value) if isinstance(value, Sequence) else ""


class Bm25Library:
    """Lucene's BM25 as the library bm25s has it, over the content: stemmed, without stop words."""

    def __init__(self, corpus: Sequence[Record], *, others: Sequence[Record] = ()) -> None:
        import bm25s  # noqa: PLC0415  takes longer to load than all the rest of a run's start

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
        known = [term for term in terms if term in self._known]
        if not known:
            return []
        # The library's own top k leaves open which of two equal scores comes first.
        scores = self._index.get_scores(known)[: len(self._ids)]
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


_UNSAID = 0.0  # the baselines do not say how sure they are, and this fusion does not ask


class ReciprocalRankFusion:
    """Reciprocal rank fusion (k = 60) of the best 50 of FTS5 with Porter and of the cosine."""

    # What may be missing comes first, so that nothing has been opened when it is.
    legs: ClassVar[Mapping[str, type[Baseline]]] = {
        "cosine": ExactCosine,
        "fts5-porter": Fts5Porter,
    }

    def __init__(self, corpus: Sequence[Record], *, others: Sequence[Record] = ()) -> None:
        self._legs = {name: leg(corpus, others=others) for name, leg in self.legs.items()}
        self._fusion = ReciprocalRank()

    def retrieve(self, query: str, k: int) -> Sequence[Ranked]:
        """The best k memories."""
        pool = max(k, POOL)
        fused = self._fusion(
            [_ranking(name, leg.retrieve(query, pool)) for name, leg in self._legs.items()]
        )
        return [(candidate.id, candidate.score) for candidate in fused[:k]]

    def facts(self) -> dict[str, Any]:
        """Which models took part, and what both take up."""
        facts = [leg.facts() for leg in self._legs.values()]
        return {
            "models": [model for of_leg in facts for model in of_leg.get("models", ())],
            "store_bytes": sum(of_leg["store_bytes"] for of_leg in facts),
        }

    def close(self) -> None:
        """Let go of both."""
        for leg in self._legs.values():
            leg.close()


def _ranking(leg: str, ranked: Sequence[Ranked]) -> Ranking:
    return Ranking(
        leg=leg,
        candidates=tuple(Candidate(MemoryId(id_), score, _UNSAID) for id_, score in ranked),
    )


BASELINES: Mapping[str, type[Baseline]] = {
    "fts5-and-or": Fts5AndOr,
    "fts5-porter": Fts5Porter,
    "bm25s": Bm25Library,
    "cosine": ExactCosine,
    "rrf": ReciprocalRankFusion,
}

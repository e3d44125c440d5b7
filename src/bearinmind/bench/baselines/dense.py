"""A baseline on sentence embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from bearinmind.bench.baselines.ranking import Ranked, best_first
from bearinmind.bench.embedding import kept
from bearinmind.bench.evaluation import Record
from bearinmind.embed.local import LocalEmbedder


class ExactCosine:
    """The exact cosine between the sentence embeddings of the query and of every content.

    Embeddings of contents are kept for the next run; a query is embedded each time it is asked, so
    that the latency is what it would be for a user.
    """

    def __init__(self, corpus: Sequence[Record], *, others: Sequence[Record] = ()) -> None:
        self._embedder = _minilm()
        self._ids = [record["id"] for record in corpus]
        self._everyone = len(corpus) + len(others)  # no need to read the others: only to say a size
        self._vectors = kept(self._embedder).embed_memories([x["content"] for x in corpus])

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
    return LocalEmbedder.open("minilm")

"""Baselines that fuse two others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from bearinmind.bench.baselines.dense import ExactCosine
from bearinmind.bench.baselines.fts import EarlierLexical, Fts5Porter
from bearinmind.bench.baselines.library import Bm25Library
from bearinmind.bench.baselines.ranking import POOL, Baseline, Ranked
from bearinmind.bench.evaluation import Record
from bearinmind.recall.fusion import ReciprocalRank
from bearinmind.types import Candidate, MemoryId, Ranking

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


class LexicalFusion(ReciprocalRankFusion):
    """Reciprocal rank fusion (k = 60) of the best 50 of the earlier system and of bm25s."""

    legs: ClassVar[Mapping[str, type[Baseline]]] = {
        "bm25s": Bm25Library,
        "earlier": EarlierLexical,
    }


def _ranking(leg: str, ranked: Sequence[Ranked]) -> Ranking:
    return Ranking(
        leg=leg,
        candidates=tuple(Candidate(MemoryId(id_), score, _UNSAID) for id_, score in ranked),
    )

"""Fusion: the rankings of the legs become one. Pure functions over frozen values.

Every candidate of every leg competes in one pool. Sums use `math.fsum`, because plain addition
depends on the order of the legs, and equal scores break on the id.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from recollect.types import Candidate, Fused, MemoryId, Placing, Ranking


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvexCombination:
    """The weighted mean of the legs' scores, each divided by its leg's best (Bruch et al. 2023).

    Zero is the theoretical minimum of every leg, so a leg's scores keep their proportions: a memory
    half as good as the best counts half. With one leg the order is that leg's order.
    """

    weights: Mapping[str, float] = field(default_factory=dict)  #: by leg; 1 when not named

    def __call__(self, rankings: Sequence[Ranking]) -> list[Fused]:
        """Every candidate of every leg, best first."""
        total = math.fsum(self.weights.get(ranking.leg, 1.0) for ranking in rankings) or 1.0
        shares = {
            ranking.leg: self.weights.get(ranking.leg, 1.0) / total / _best(ranking.candidates)
            for ranking in rankings
        }
        return _merge(rankings, lambda leg, placing: shares[leg] * max(0.0, placing.score))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReciprocalRank:
    """Weighted reciprocal rank fusion, sum of w / (k + rank) (Cormack et al. 2009).

    The field's default and our baseline. It throws away how sure each leg is.
    """

    k: int = 60
    weights: Mapping[str, float] = field(default_factory=dict)  #: by leg; 1 when not named

    def __call__(self, rankings: Sequence[Ranking]) -> list[Fused]:
        """Every candidate of every leg, best first."""
        return _merge(
            rankings,
            lambda leg, placing: self.weights.get(leg, 1.0) / (self.k + placing.rank),
        )


def _best(candidates: Sequence[Candidate]) -> float:
    return max((candidate.score for candidate in candidates), default=0.0) or 1.0


def _merge(
    rankings: Iterable[Ranking], contribution: Callable[[str, Placing], float]
) -> list[Fused]:
    placings: dict[MemoryId, dict[str, Placing]] = {}
    for ranking in rankings:
        leg = ranking.leg
        for rank, (id_, score, confidence) in enumerate(ranking.candidates, start=1):
            placings.setdefault(id_, {})[leg] = Placing(rank, score, confidence)
    fused = [
        Fused(id_, math.fsum([contribution(leg, p) for leg, p in by_leg.items()]), by_leg)
        for id_, by_leg in placings.items()
    ]
    fused.sort(key=lambda f: (-f.score, f.id))
    return fused

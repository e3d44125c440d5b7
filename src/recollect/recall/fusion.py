"""Fusion: the rankings of the legs become one. Pure functions over frozen values.

Every candidate of every leg competes in one pool. Sums use `math.fsum`, because plain addition
depends on the order of the legs, and equal scores break on the id.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from recollect.types import Fused, MemoryId, Placing, Ranking

_HARDLY = 1e-9  # at its floor a leg says nothing any more but the order


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """The weighted sum of what each leg says its finds are worth in this very query.

    A leg judges its own evidence: the lexical leg by how much of the query's information a memory
    covers, the dense leg by how far a memory stands out from all others. Where a leg has little
    to say it adds little, whatever its ranking looks like; where two agree they add up. A leg that
    answers alone keeps its order. After Bruch et al. 2023, who find that scores carry what ranks
    lose, and Manmatha et al. 2001, who make them comparable by their distributions: docs/adr/0015.
    """

    weights: Mapping[str, float] = field(default_factory=dict)  #: by leg; 1 when not named

    def __call__(self, rankings: Sequence[Ranking]) -> list[Fused]:
        """Every candidate of every leg, best first."""
        # What follows from the others' finds does not make one of them less alone.
        speaking = [x for x in rankings if x.candidates and not x.follows]
        alone = len(speaking) == 1
        return _merge(
            rankings,
            [self._worth(each, alone=alone and not each.follows) for each in rankings],
        )

    def _worth(self, ranking: Ranking, *, alone: bool) -> list[float]:
        weight = self.weights.get(ranking.leg, 1.0)
        evidence = [candidate.evidence for candidate in ranking.candidates]
        if alone:
            return _proportions(ranking, weight * (max(evidence, default=0.0) or 1.0))
        return [weight * each for each in evidence]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvexCombination:
    """The weighted sum of the legs' scores, each as a share of its leg's best (Bruch et al. 2023).

    A leg's scores count from its floor, which takes the place of a theoretical minimum: a memory
    half as far above it as the best counts half. With one leg the order is that leg's order.
    """

    weights: Mapping[str, float] = field(default_factory=dict)  #: by leg; 1 when not named

    def __call__(self, rankings: Sequence[Ranking]) -> list[Fused]:
        """Every candidate of every leg, best first."""
        return _merge(
            rankings,
            [_proportions(ranking, self.weights.get(ranking.leg, 1.0)) for ranking in rankings],
        )


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
            [
                [
                    self.weights.get(ranking.leg, 1.0) / (self.k + rank)
                    for rank in range(1, len(ranking.candidates) + 1)
                ]
                for ranking in rankings
            ],
        )


def _proportions(ranking: Ranking, weight: float) -> list[float]:
    """How far each candidate is above the floor, as a share of the best, times the leg's weight."""
    above = [candidate.score - ranking.floor for candidate in ranking.candidates]
    best = max(above, default=0.0)
    if best <= 0.0:
        best = 1.0
    return [
        weight * (each / best if each > 0.0 else _HARDLY / rank)
        for rank, each in enumerate(above, start=1)
    ]


def _merge(rankings: Sequence[Ranking], contributions: Sequence[Sequence[float]]) -> list[Fused]:
    """Add up what each leg contributes to each of its candidates."""
    placings: dict[MemoryId, dict[str, Placing]] = {}
    shares: dict[MemoryId, list[float]] = {}
    for ranking, given in zip(rankings, contributions, strict=True):
        leg = ranking.leg
        for rank, ((id_, *found), share) in enumerate(
            zip(ranking.candidates, given, strict=True), start=1
        ):
            placing = Placing(rank, *found)
            if id_ in placings:
                placings[id_][leg] = placing
                shares[id_].append(share)
            else:
                placings[id_] = {leg: placing}
                shares[id_] = [share]
    fused = [
        Fused(id_, math.fsum(share) if len(share) > 1 else share[0], by_leg)
        for (id_, by_leg), share in zip(placings.items(), shares.values(), strict=True)
    ]
    fused.sort(key=lambda candidate: (-candidate.score, candidate.id))
    return fused

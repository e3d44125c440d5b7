"""Fusion: the rankings of the legs become one. Pure functions over frozen values.

Every candidate of every leg competes in one pool. Sums use `math.fsum`, because plain addition
depends on the order of the legs, and equal scores break on the id.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import overload

from bearinmind.types import Fused, MemoryId, Placing, Ranking

_HARDLY = 1e-9  # at its floor a leg contributes the order and nothing else


class Merged(Sequence[Fused]):
    """Every candidate of every leg, best first; each is made on first use.

    Of some hundreds a recall reads a few dozen; only a reader of the trace needs all of them.
    """

    def __init__(self, rankings: Sequence[Ranking], scores: Mapping[MemoryId, float]) -> None:
        self._scores = scores
        self._made: dict[MemoryId, Fused] = {}
        self._order = sorted(sorted(scores), key=scores.__getitem__, reverse=True)  # equal: by id
        self._legs = [
            (
                ranking.leg,
                ranking.candidates,
                {candidate.id: place for place, candidate in enumerate(ranking.candidates)},
            )
            for ranking in rankings
        ]

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[Fused]:
        return map(self._fused, self._order)

    @overload
    def __getitem__(self, place: int) -> Fused: ...

    @overload
    def __getitem__(self, place: slice) -> list[Fused]: ...

    def __getitem__(self, place: int | slice) -> Fused | list[Fused]:
        """A candidate, or several, with where every leg placed it."""
        if isinstance(place, slice):
            return [*map(self._fused, self._order[place])]
        return self._fused(self._order[place])

    def _fused(self, id_: MemoryId) -> Fused:
        made = self._made.get(id_)
        if made is None:
            placings = {}
            for leg, candidates, places in self._legs:
                place = places.get(id_)
                if place is not None:
                    _, score, confidence, evidence = candidates[place]
                    placings[leg] = Placing(place + 1, score, confidence, evidence)
            made = self._made[id_] = Fused(id_, self._scores[id_], placings)
        return made


class _Sum:
    """A fusion that adds up what each leg contributes to each of its candidates."""

    __slots__ = ()

    def __call__(self, rankings: Sequence[Ranking]) -> Merged:
        """Every candidate of every leg, best first."""
        return Merged(rankings, self.scores(rankings))

    def scores(self, rankings: Sequence[Ranking]) -> dict[MemoryId, float]:
        """The score of every candidate of every leg, in no order."""
        scores: dict[MemoryId, float] = {}
        several: dict[MemoryId, list[float]] = {}
        for ranking, contributions in zip(rankings, self._contributions(rankings), strict=True):
            ids = [candidate.id for candidate in ranking.candidates]
            for id_, share in zip(ids, contributions, strict=True):
                if id_ in scores:
                    several.setdefault(id_, [scores[id_]]).append(share)
                else:
                    scores[id_] = share
        for id_, shares in several.items():
            scores[id_] = math.fsum(shares)
        return scores

    def _contributions(self, rankings: Sequence[Ranking]) -> Sequence[Sequence[float]]:
        """For every ranking what it contributes to each of its candidates."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated(_Sum):
    """The weighted sum of the evidence that each leg gives its candidates.

    A leg judges its own evidence: the lexical leg by the share of the query's information in a
    memory, the dense leg by the distance above the mean of all. A leg with little evidence adds
    little; two that agree add up; one that answers alone keeps its order. After Bruch et al. 2023,
    who find that scores carry what ranks lose, and Manmatha et al. 2001, who make them comparable
    by their distributions: docs/adr/0015.
    """

    weights: Mapping[str, float] = field(default_factory=dict)  #: by leg; 1 when not named

    def _contributions(self, rankings: Sequence[Ranking]) -> list[list[float]]:
        # A following leg only goes on from another, which still answers alone.
        alone = sum(bool(x.candidates) and not x.follows for x in rankings) == 1
        return [self._worth(each, alone=alone and not each.follows) for each in rankings]

    def _worth(self, ranking: Ranking, *, alone: bool) -> list[float]:
        weight = self.weights.get(ranking.leg, 1.0)
        evidence = [candidate.evidence for candidate in ranking.candidates]
        if alone:
            return _proportions(ranking, weight * (max(evidence, default=0.0) or 1.0))
        return [weight * each for each in evidence]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvexCombination(_Sum):
    """The weighted sum of the legs' scores, each as a share of its leg's best (Bruch et al. 2023).

    A leg's scores count from its floor, which takes the place of a theoretical minimum: a memory
    half as far above it as the best counts half. With one leg the order is that leg's order.
    """

    weights: Mapping[str, float] = field(default_factory=dict)  #: by leg; 1 when not named

    def _contributions(self, rankings: Sequence[Ranking]) -> list[list[float]]:
        return [_proportions(ranking, self.weights.get(ranking.leg, 1.0)) for ranking in rankings]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReciprocalRank(_Sum):
    """Weighted reciprocal rank fusion, sum of w / (k + rank) (Cormack et al. 2009).

    The field's default and our baseline. It throws away how sure each leg is.
    """

    k: int = 60
    weights: Mapping[str, float] = field(default_factory=dict)  #: by leg; 1 when not named

    def _contributions(self, rankings: Sequence[Ranking]) -> list[list[float]]:
        return [
            [
                self.weights.get(ranking.leg, 1.0) / (self.k + rank)
                for rank in range(1, len(ranking.candidates) + 1)
            ]
            for ranking in rankings
        ]


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

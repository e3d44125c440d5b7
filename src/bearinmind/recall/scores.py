"""Scores: the rankings of the legs become one (fusion), and factors change it (adjustment). Pure.

Every candidate of every leg competes in one pool. Sums use `math.fsum`, because plain addition
depends on the order of the legs, and equal scores break on the id. The factors do not depend on
how well the query matches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import overload

from bearinmind.errors import InvalidQuery
from bearinmind.text.analysis import fold
from bearinmind.trace import Span
from bearinmind.types import Fused, Memory, MemoryId, Placing, Query, Ranking, Trust

_HARDLY = 1e-9  # at its floor a leg contributes the order and nothing else
_DAY = 86_400.0
_MONTH = timedelta(days=31)  # a longer span says less about a memory that is from it
_TOLD_LATER = timedelta(days=7)  # what happened is often stored some days later


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


# ---- adjustment ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjustments:
    """How much each thing counts; its repr is the recipe that a trace shows.

    What is on by default does nothing until somebody gives memories an importance, or names a time
    in a question. The others stay off until the benchmark shows that they help.
    """

    importance: float = 0.3  #: a memory of importance 0 keeps 1 - this of its score
    exact: float = 0.0  #: added when the memory holds the query word for word
    focus: float = 0.2  #: added when the memory has a tag or category in the query's focus
    time: float = 2.0  #: added when the memory is from the time that the question names
    #: By category: tau of exp(-age/tau).
    decay_days: Mapping[str, float] = field(default_factory=dict)
    trust: Mapping[Trust, float] = field(default_factory=dict)  #: factor by trust class

    def most(self, query: Query, span: Span | None = None) -> float:
        """The largest product that the factors of a memory can have."""
        if query.boost:
            return math.inf  # nothing is known of somebody's own function
        most = 1 + self.exact
        if span:
            most *= 1 + self.time * most_share_of_time(span)
        if query.focus:
            most *= 1 + self.focus
        return most * max(1.0, *self.trust.values(), 1.0)

    def __call__(
        self, query: Query, memory: Memory, now: datetime, span: Span | None = None
    ) -> dict[str, float]:
        """The factors that apply to a memory, by name; the span is the time that is asked about."""
        factors: dict[str, float] = {}
        if self.importance:  # a prior that no query changes (Kraaij et al. 2002)
            factors["importance"] = 1 - self.importance + self.importance * memory.importance
        if self.exact and fold(query.text).strip() in fold(memory.content):
            factors["exact"] = 1 + self.exact
        if query.focus and not {memory.category, *memory.tags}.isdisjoint(query.focus):
            factors["focus"] = 1 + self.focus
        if self.time and span and (share := share_of_time(memory, span)):
            factors["time"] = 1 + self.time * share
        if self.decay_days and memory.category in self.decay_days:
            factors["decay"] = decay(memory, self.decay_days[memory.category], now)
        if self.trust and memory.provenance.trust in self.trust:
            factors["trust"] = self.trust[memory.provenance.trust]
        if query.boost:
            factors["boost"] = boost(memory, query.boost)
        return factors


def boost(memory: Memory, function: Callable[[Memory], float]) -> float:
    """The factor that the caller's own function gives a memory."""
    factor = function(memory)
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 < factor < math.inf:
        raise InvalidQuery(
            f"boost gave {factor!r} for the memory {memory.id}; it must be a number above 0",
            hint="Give 1 for a memory that is to stay as it is.",
        )
    return float(factor)


def share_of_time(memory: Memory, span: Span) -> float:
    """How much a memory is from a span: 1 within it, half in the week after, less if it is long."""
    start, end = span
    if start is None:
        return 0.0
    share = most_share_of_time(span)
    if _is_within(memory, start, end):
        return share
    return share / 2 if end <= memory.created_at < end + _TOLD_LATER else 0.0


def most_share_of_time(span: Span) -> float:
    """The share of a memory within a span; none if it is open: nearly all are "before 2024"."""
    return _MONTH / max(_MONTH, span.end - span.start) if span.start else 0.0


def _is_within(memory: Memory, start: datetime, end: datetime) -> bool:
    """Whether a memory holds at some moment of a span, or was stored then if it has no validity."""
    if memory.valid_from is None and memory.valid_to is None:
        return start <= memory.created_at < end
    begins = memory.valid_from or memory.created_at
    return begins < end and (memory.valid_to is None or memory.valid_to > start)


def decay(memory: Memory, tau: float, now: datetime) -> float:
    """exp(-age / tau): after tau days 1/e is left (Li & Croft 2003, time-based language models)."""
    age = max(0.0, (now - memory.created_at).total_seconds() / _DAY)
    return math.exp(-age / tau)

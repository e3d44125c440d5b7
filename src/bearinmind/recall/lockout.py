"""Structural lock-outs: memories that cannot reach an answer with these settings, for any query.

An earlier system weighted one leg at 0.35 in rank fusion: its best score, 0.35/61, lay below the
worst of the others, 1/110, so the leg never mattered and nobody noticed. With a decay of seven days
a perfect match of last week lost to the worst of today. Here the real fusion is probed, with
made-up rankings that favour what is probed as much as possible.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from bearinmind.protocols import Fusion
from bearinmind.recall.pipeline import Recall
from bearinmind.recall.scores import Adjustments
from bearinmind.trace import Answer
from bearinmind.types import Candidate, MemoryId, Ranking

#: A memory must still be found after so many days.
YEAR = 365.0

_PROBE = MemoryId("")  # equal scores break on the id: it comes first
_BEST = Candidate(_PROBE, 1.0, 1.0, 1.0)
#: How the scores of others may fall off with their rank, the most favourable first.
_SHAPES: tuple[Callable[[int], float], ...] = (lambda rank: 0.5**rank, lambda rank: 1 / rank)


def warnings(recall: Recall, limit: int) -> dict[str, str]:
    """By leg or setting: what it locks out of every answer of `limit` memories."""
    silent = _silent(recall)
    return {
        **locked_out(recall.fusion, silent, limit),
        **adjusted_out(recall.fusion, silent, limit, recall.adjustments),
    }


def noted(recall: Recall, answer: Answer) -> Answer:
    """The answer with what the weights and the boost of its own query lock out in its trace."""
    query = answer.query
    found = [*warnings(recall, query.limit).values()]
    factors = [each.factors["boost"] for each in answer.trace.judged if "boost" in each.factors]
    least = _least_share(recall.fusion, _silent(recall), query.limit)
    if factors and min(factors) / max(factors) < least:
        found.append(
            f"boost locks out: the best possible memory with the factor {min(factors):g} ranks "
            f"below the weakest of {query.limit} with {max(factors):g}; at least "
            f"{_rounded_up(least * max(factors)):g} lets it in"
        )
    return replace(answer, trace=replace(answer.trace, locked_out=tuple(found)))


def locked_out(fusion: Fusion, silent: Sequence[Ranking], limit: int) -> dict[str, str]:
    """By leg: why the surest memory that it alone finds cannot be among the first `limit`."""
    return {
        each.leg: (
            f"the {each.leg} leg is locked out: the best memory that it alone finds "
            f"cannot reach the first {limit} beside the other legs ({fusion!r})"
        )
        for each in silent
        if len(silent) > 1
        and not any(_reaches(fusion, each, silent, limit, shape) for shape in _SHAPES)
    }


def adjusted_out(
    fusion: Fusion, silent: Sequence[Ranking], limit: int, adjustments: Adjustments
) -> dict[str, str]:
    """By setting: which memories it pushes out of every answer, however well they fit."""
    least = _least_share(fusion, silent, limit)
    return dict(
        [
            *_faded(adjustments, least, limit),
            *_mistrusted(adjustments, least, limit),
            *_unimportant(adjustments, least, limit),
        ]
    )


def _faded(adjustments: Adjustments, least: float, limit: int) -> Iterator[tuple[str, str]]:
    """Categories whose memories are lost with age."""
    for category, tau in adjustments.decay_days.items():
        name, days = f"decay_days.{category}", tau * math.log(1 / least)
        if days < YEAR:
            enough = math.ceil(YEAR / math.log(1 / least))
            warning = (
                f"{name} = {tau:g} locks out by age: after {days:.0f} days the best possible "
                f"memory of {category} ranks below the weakest of {limit} new ones; "
                f"a decay of {enough} days or more keeps it for a year"
            )
            yield name, warning


def _mistrusted(adjustments: Adjustments, least: float, limit: int) -> Iterator[tuple[str, str]]:
    """Trust classes whose memories are always lost."""
    highest = max(1.0, *adjustments.trust.values(), 1.0)
    for trust, factor in adjustments.trust.items():
        if factor / highest < least:
            name, enough = f"trust_factors.{trust}", _rounded_up(least * highest)
            warning = (
                f"{name} = {factor:g} locks out: the best possible {trust} memory ranks below the "
                f"weakest of {limit} others; {enough:g} or more lets it in"
            )
            yield name, warning


def _unimportant(adjustments: Adjustments, least: float, limit: int) -> Iterator[tuple[str, str]]:
    """Memories without importance that are always lost."""
    if 1 - adjustments.importance < least:
        most = math.floor((1 - least) * 100) / 100
        warning = (
            f"importance_weight = {adjustments.importance:g} locks out: the best possible memory "
            f"of importance 0 ranks below the weakest of {limit} important ones; "
            f"{most:g} or less lets it in"
        )
        yield "importance_weight", warning


def _rounded_up(number: float) -> float:
    return math.ceil(number * 100) / 100


def _silent(recall: Recall) -> list[Ranking]:
    """The answers of legs that find nothing."""
    return [
        *(Ranking(leg=leg.name, candidates=()) for leg in recall.legs),
        *(Ranking(leg=leg.name, candidates=(), follows=True) for leg in recall.following),
    ]


def _reaches(
    fusion: Fusion,
    probed: Ranking,
    silent: Sequence[Ranking],
    limit: int,
    shape: Callable[[int], float],
) -> bool:
    """Whether the one find of a leg is admitted when every other leg fills an answer."""
    rankings = [
        replace(each, candidates=(_BEST,) if each is probed else _others(each.leg, limit, shape))
        for each in silent
    ]
    return _PROBE in [fused.id for fused in fusion(rankings)[:limit]]


def _least_share(fusion: Fusion, silent: Sequence[Ranking], limit: int) -> float:
    """The share of the best possible score that reaches the first `limit`.

    The best possible memory is the first of every leg, with full confidence. The others are each
    found by one leg alone, and weak, but enough to fill the answer.
    """
    shares = []
    for shape in _SHAPES:
        rankings = [
            replace(each, candidates=(_BEST, *_others(each.leg, limit, shape))) for each in silent
        ]
        best, *others = fusion(rankings)
        shares.append(others[limit - 1].score / best.score)
    return min(shares)


def _others(leg: str, limit: int, shape: Callable[[int], float]) -> tuple[Candidate, ...]:
    """Candidates of a leg that no other leg has, weaker with each rank."""
    return tuple(
        Candidate(MemoryId(f"{leg}-{rank:06}"), shape(rank), shape(rank), shape(rank))
        for rank in range(1, limit + 1)
    )

"""Structural lock-outs: a leg whose finds cannot reach an answer, whatever is asked.

An earlier system weighted one leg at 0.35 in rank fusion: its best score, 0.35/61, lay below the
worst of the others, 1/110, so the leg could never matter and nobody noticed. Here fusion is probed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from recollect.protocols import Fusion, Leg
from recollect.types import Candidate, MemoryId, Ranking

_PROBE = MemoryId("probe")
#: How the scores of the other legs may fall off with their rank, the kindest first.
_SHAPES: tuple[Callable[[int], float], ...] = (lambda rank: 0.5**rank, lambda rank: 1 / rank)


def locked_out(fusion: Fusion, legs: Sequence[Leg], limit: int) -> dict[str, str]:
    """By leg: why the surest memory that it alone finds cannot be among the first `limit`."""
    names = [leg.name for leg in legs]
    return {
        name: (
            f"the {name} leg is locked out: the best memory that it alone finds "
            f"cannot reach the first {limit} beside the other legs ({fusion!r})"
        )
        for name in names
        if len(names) > 1
        and not any(_reaches(fusion, name, names, limit, shape) for shape in _SHAPES)
    }


def _reaches(
    fusion: Fusion, name: str, names: Sequence[str], limit: int, shape: Callable[[int], float]
) -> bool:
    """Whether the one find of a leg is admitted when every other leg fills an answer."""
    rankings = [
        Ranking(leg=name, candidates=(Candidate(_PROBE, 1.0, 1.0),))
        if other == name
        else Ranking(
            leg=other,
            candidates=tuple(
                Candidate(MemoryId(f"{other}-{rank:06}"), shape(rank), shape(rank))
                for rank in range(1, limit + 1)
            ),
        )
        for other in names
    ]
    return _PROBE in [fused.id for fused in fusion(rankings)[:limit]]

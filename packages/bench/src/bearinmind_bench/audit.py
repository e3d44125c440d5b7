"""Holds every measured answer against what the product says of its ranking.

A benchmark that only looks at scores cannot tell a good ranking from one that is good by accident.
These are the promises of the read path, stated a second time and on purpose independently of the
code that keeps them: a factor applied twice, a shuffled answer or an invented memory is named.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import pairwise

from bearinmind.config import Settings
from bearinmind.recall.scores import share_of_time
from bearinmind.recall.second_look import ANSWERS
from bearinmind.trace import Answer
from bearinmind.types import Fused, Hit, Placing

_CLOSE = 1e-9
_LIFTS = ("current", "earlier")  # before another state of the same thing
_FOLLOWING = frozenset({"graph"})  # legs that go on from what the others found


def faults(answer: Answer, settings: Settings) -> Iterator[str]:
    """Every promise that an answer breaks."""
    yield from _order(answer)
    yield from _rerank(answer, settings)
    yield from _provenance(answer)
    yield from _fusion(answer, settings)
    yield from _scores(answer, settings)


def _order(answer: Answer) -> Iterator[str]:
    ids = [hit.memory.id for hit in answer.hits]
    if len({memory.id for memory in answer.displayed}) < len(answer.displayed):
        yield "a memory stands in an answer twice"
    if _rises(hit.score for hit in _before_rerank(answer)):
        yield "an answer is not in the order of its scores"
    if [hit.rank for hit in answer.hits] != [*range(1, len(ids) + 1)]:
        yield "ranks do not count from 1"
    if len(ids) > answer.query.limit:
        yield "an answer is longer than its limit"


def _before_rerank(answer: Answer) -> list[Hit]:
    """The hits as they would stand without a reranker: by score, whatever it thinks of them."""
    places = {item.id: place for place, item in enumerate(answer.trace.judged, start=1)}

    def place(hit: Hit) -> int:
        return hit.reranked.before if hit.reranked else places.get(hit.memory.id, 0)

    return sorted(answer.hits, key=place) if answer.trace.rerank else [*answer.hits]


def _rerank(answer: Answer, settings: Settings) -> Iterator[str]:
    moved = [(hit, hit.reranked) for hit in answer.hits if hit.reranked]
    if any(hit.memory.sensitive for hit, _ in moved):
        yield "a sensitive memory was sent to the reranker"
    if any(max(place.before, place.after) > settings.rerank_depth for _, place in moved):
        yield "a memory was reranked that stands deeper than rerank_depth"
    if _rises(place.blend for _, place in moved) or _rises(-place.after for _, place in moved):
        yield "an answer is not in the order of its rerank"
    if answer.trace.rerank:
        ids = {hit.memory.id for hit in answer.hits}
        order = [item.id for item in answer.trace.judged if item.id in ids]
        if order != [hit.memory.id for hit in answer.hits]:
            yield "an answer is not in the order that was selected from"
        taken = [item.reranked for item in answer.trace.judged if item.reranked]
        if {place.before for place in taken} != {place.after for place in taken}:
            yield "a rerank lost or invented a place"


def _rises(numbers: Iterable[float]) -> bool:
    return any(after > before + _CLOSE for before, after in pairwise(numbers))


def _provenance(answer: Answer) -> Iterator[str]:
    for memory in answer.displayed:
        if memory.owner != answer.query.filter.scope.user:
            yield "an answer holds a memory of another user"
    for hit in answer.hits:
        if not hit.placings:
            yield "an answer holds a memory that no leg found"
        if not _is_way(hit) or bool(hit.path) != bool(hit.placings.keys() & _FOLLOWING):
            yield "an answer does not say how the graph led to a memory"


def _is_way(hit: Hit) -> bool:
    """Whether each step begins where the last one ended, and the last one ends at the memory."""
    ends = [step.target for step in hit.path]
    begins = [step.source for step in hit.path[1:]]
    return not ends or (begins == ends[:-1] and ends[-1] in (hit.memory.id, *hit.replaces))


def _fusion(answer: Answer, settings: Settings) -> Iterator[str]:
    """What a memory's places in the legs come to, and nothing besides."""
    best = _best(answer.trace.fused)
    floors = {leg.leg: leg.floor for leg in answer.trace.legs}
    speaking = best.keys() - _FOLLOWING
    alone = speaking if len(speaking) == 1 else frozenset()
    for candidate in answer.trace.fused:
        parts = [
            settings.leg_weights.get(leg, 1.0)
            * _worth(placing, best[leg], floors[leg], settings, alone=leg in alone)
            for leg, placing in candidate.placings.items()
        ]
        if not math.isclose(candidate.score, math.fsum(parts), rel_tol=_CLOSE, abs_tol=_CLOSE):
            yield "a fused score is not the weighted sum of what its legs say"
            return


def _best(fused: Iterable[Fused]) -> dict[str, Placing]:
    """By leg: the highest score and the most evidence that it gave to any memory."""
    by_leg: dict[str, list[Placing]] = {}
    for candidate in fused:
        for leg, placing in candidate.placings.items():
            by_leg.setdefault(leg, []).append(placing)
    best = {}
    for leg, placings in by_leg.items():
        _, scores, confidences, evidence = zip(*placings, strict=True)
        best[leg] = Placing(1, max(scores), max(0.0, *confidences), max(0.0, *evidence))
    return best


def _worth(
    placing: Placing, best: Placing, floor: float, settings: Settings, *, alone: bool
) -> float:
    """What a place in a leg adds, before the leg's weight."""
    match settings.fusion:
        case "rrf":
            return 1 / (settings.rrf_k + placing.rank)
        case "convex":
            return _share(placing, best, floor)
        case "calibrated":  # a leg that answers alone keeps its order
            if alone:
                return _share(placing, best, floor) * (best.evidence or 1.0)
            return placing.evidence


def _share(placing: Placing, best: Placing, floor: float) -> float:
    """How far a score is above the floor of its leg, as a share of the best."""
    above = best.score - floor
    return max(0.0, placing.score - floor) / (above if above > 0 else 1.0)


def _scores(answer: Answer, settings: Settings) -> Iterator[str]:
    fused = {candidate.id: candidate.score for candidate in answer.trace.fused}
    for hit in answer.hits:
        sources = [
            fused[id_]
            for id_ in (hit.memory.id, *hit.replaces, *(x.memory.id for x in hit.earlier))
            if id_ in fused
        ]
        product = math.prod(hit.factors.values())
        if not any(math.isclose(hit.score, s * product, rel_tol=_CLOSE) for s in sources):
            yield "a score is not its fused score times its factors, each applied once"
        weight = settings.importance_weight
        expected = 1 - weight + weight * hit.memory.importance
        if not math.isclose(hit.factors.get("importance", 1.0), expected, rel_tol=_CLOSE):
            yield "the importance prior is not 1 - weight + weight x importance"
        yield from _other_factors(hit, answer, settings)


def _other_factors(hit: Hit, answer: Answer, settings: Settings) -> Iterator[str]:
    memory = hit.memory
    tau = settings.decay_days.get(memory.category, math.inf)
    age = max(0.0, (answer.query.filter.now - memory.created_at) / timedelta(days=1))
    span = answer.trace.time.span
    allowed = {
        "exact": 1 + settings.exact_bonus,
        "focus": 1 + settings.focus_bonus,
        "time": 1 + settings.time_bonus * (share_of_time(memory, span) if span else 0.0),
        "decay": math.exp(-age / tau),
        "trust": settings.trust_factors.get(memory.provenance.trust, 1.0),
    }
    lifted = [hit.factors.get(name, 1.0) for name in _LIFTS]
    if min(lifted) < 1.0:
        yield "a state of a thing was lowered rather than another one lifted"
    read = {ANSWERS} if answer.trace.read else set()  # a second look gave it another place
    for name in hit.factors.keys() - {"importance", *_LIFTS, *read}:
        if name not in allowed:
            yield f"a score has the factor {name!r}, which no setting gives"
        elif not math.isclose(hit.factors[name], allowed[name], rel_tol=_CLOSE):
            yield f"the factor {name!r} is not what the settings say"

"""Why-not: where an expected memory stood, what kept it out, and what would have let it in.

Every remedy is tried before it is named: the recall is run again with the change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from recollect import analysis
from recollect.filters import is_expired, refusals
from recollect.recall.parse import LARGEST_LIMIT, LARGEST_POOL
from recollect.recall.pipeline import Recall
from recollect.trace import (
    BelowLimit,
    LegStanding,
    OverBudget,
    Reason,
    Recollection,
    SaysTheSame,
    Superseded,
    TooUncertain,
    WhyNot,
)
from recollect.types import Memory, MemoryId, Query, State

_SHOWN_WORDS = 5


def why_not(recall: Recall, query: Query, memory: Memory) -> WhyNot:
    """Why a memory is not in the answer to a query."""
    answer = recall(query)
    query = answer.query
    for hit in answer.hits:
        if hit.memory.id == memory.id:
            return WhyNot(
                id=memory.id, rank=hit.rank, reason=f"it was recalled, at rank {hit.rank}"
            )
    kept_out = _by_state(recall, query, memory) or _by_filter(query, memory)
    if kept_out is not None:
        return kept_out
    standings = _standings(recall, query, memory)
    for id_, reason in answer.trace.dropped:
        if id_ == memory.id:
            remedy = _remedy_for(recall, query, memory, reason, answer)
            return WhyNot(
                id=memory.id, rank=None, reason=str(reason), standings=standings, remedy=remedy
            )
    return _beyond_the_pool(recall, query, memory, standings)


def _by_state(recall: Recall, query: Query, memory: Memory) -> WhyNot | None:
    """The memory is not one that recall looks at."""
    then = recall.store.get(query.filter.scope, memory.id, query.filter.as_of)
    if then is None:
        moment = query.filter.as_of or query.filter.now
        reason = f"it did not exist on {moment:%Y-%m-%d %H:%M}"
        return WhyNot(id=memory.id, rank=None, reason=reason, remedy="ask as of a later moment")
    if then.deleted_at is not None:
        remedy = f"restore it: recollect restore {memory.id}"
        return WhyNot(id=memory.id, rank=None, reason="it is deleted", remedy=remedy)
    if is_expired(then, query.filter.now) and State.EXPIRED not in query.filter.states:
        reason = "the moment lies outside its valid-from / valid-to span"
        remedy = "ask with --state expired, or as of a moment inside its span"
        return WhyNot(id=memory.id, rank=None, reason=reason, remedy=remedy)
    return None


def _by_filter(query: Query, memory: Memory) -> WhyNot | None:
    """The filter of the query excludes the memory."""
    conditions = refusals(query.filter, memory)
    if not conditions:
        return None
    names = " and ".join(conditions)
    return WhyNot(
        id=memory.id,
        rank=None,
        reason=f"the filter excludes it by {names}",
        remedy=f"ask without {names}",
    )


def _standings(recall: Recall, query: Query, memory: Memory) -> tuple[LegStanding, ...]:
    """Where each leg places the memory when it looks as deep as it can."""
    deep = replace(query, pool=LARGEST_POOL)
    standings = []
    for leg in recall.legs:
        ranking, _ = leg(deep)
        ids = [candidate.id for candidate in ranking.candidates]
        rank = ids.index(memory.id) + 1 if memory.id in ids else None
        note = _shared_words(query, memory) if leg.name == "lexical" else ""
        standings.append(LegStanding(leg=leg.name, rank=rank, searched=len(ids), note=note))
    return tuple(standings)


def _shared_words(query: Query, memory: Memory) -> str:
    """Which words of the query the memory holds, and which it does not."""
    held = {*" ".join(analysis.entry(memory)[:5]).split()}
    asked = analysis.ask(query.text).terms
    shared = [term.surface for term in asked if term.term in held]
    lacking = [term.surface for term in asked if term.term not in held]
    return f"holds {', '.join(shared) or 'none of the words'}; lacks {', '.join(lacking) or 'none'}"


def _remedy_for(
    recall: Recall, query: Query, memory: Memory, reason: Reason, answer: Recollection
) -> str:
    """The smallest change that admits a memory which a stage dropped."""
    match reason:
        case BelowLimit():
            return _widen(recall, query, memory, pool=query.pool)
        case OverBudget(size=size):
            spent = sum(len(hit.memory.content.encode()) for hit in answer.hits)
            return f"a budget of {spent + size} bytes"
        case SaysTheSame(by=twin):
            return f"nothing: {twin} says the same and was considered first"
        case TooUncertain(confidence=confidence):
            return f"a least confidence of {confidence:.2f} or lower"
        case Superseded(by=newer, served=True):
            return f"nothing: {newer} is served in its place; --state superseded shows both"
        case Superseded(by=newer):
            return f"ask with --state superseded, or with a filter that admits {newer}"
        case _:
            return "ask again"


def _beyond_the_pool(
    recall: Recall, query: Query, memory: Memory, standings: tuple[LegStanding, ...]
) -> WhyNot:
    """No leg proposed the memory."""
    ranks = [standing.rank for standing in standings if standing.rank is not None]
    if ranks:
        best = min(ranks)
        return WhyNot(
            id=memory.id,
            rank=None,
            reason=f"its best place in a leg is {best}, beyond the pool of {query.pool}",
            standings=standings,
            remedy=_widen(recall, query, memory, pool=best),
        )
    words = [*dict.fromkeys(analysis.index(memory.content).terms)]
    frequency = recall.store.lexical_statistics(words).frequency
    rarest = sorted(words, key=lambda word: (frequency[word], word))[:_SHOWN_WORDS]
    return WhyNot(
        id=memory.id,
        rank=None,
        reason="no leg connects it with the query",
        standings=standings,
        remedy=f"ask with a word it holds ({', '.join(rarest)}), or give it keywords",
    )


def _widen(recall: Recall, query: Query, memory: Memory, pool: int) -> str:
    """The pool and limit that admit a memory, found by recalling so."""
    wide = recall(replace(query, pool=pool, limit=min(LARGEST_LIMIT, max(pool, query.limit))))
    places: Mapping[MemoryId, int] = {hit.memory.id: hit.rank for hit in wide.hits}
    if memory.id not in places:
        return f"none found by a pool of {pool} and a limit of {wide.query.limit}"
    changes = []
    if pool > query.pool:
        changes.append(f"a pool of {pool}")
    if places[memory.id] > query.limit:
        changes.append(f"a limit of {places[memory.id]}")
    return " and ".join(changes)

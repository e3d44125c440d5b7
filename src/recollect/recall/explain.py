"""Why-not: where an expected memory stood, what kept it out, and what would have let it in.

Every remedy is tried before it is named. The search for it begins with everything loosened that
could stand in the way, then takes back each loosening that turns out not to be needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypedDict

from recollect import analysis
from recollect.filters import is_expired, refusals
from recollect.recall.attach import one_line
from recollect.recall.parse import LARGEST_LIMIT, LARGEST_POOL
from recollect.recall.pipeline import Recall
from recollect.trace import LegStanding, Recollection, WhyNot
from recollect.types import Hit, Memory, Query, SortBy, State

_SHOWN_WORDS = 5


def why_not(recall: Recall, query: Query, memory: Memory) -> WhyNot:
    """Why a memory is not in the answer to a query."""
    answer = recall(query)
    hit = _hit(answer, memory)
    if hit is not None:
        return WhyNot(id=memory.id, rank=hit.rank, reason=f"it was recalled, at rank {hit.rank}")
    query = answer.query
    then = recall.store.get(query.filter.scope, memory.id, query.filter.as_of)
    return _by_state(query, memory, then) or _by_recall(recall, query, then or memory, answer)


def _by_state(query: Query, memory: Memory, then: Memory | None) -> WhyNot | None:
    """The memory is not one that the query may find at all."""
    if then is None:
        moment = query.filter.as_of or query.filter.now
        reason = f"it did not exist on {moment:%Y-%m-%d %H:%M}"
        return WhyNot(id=memory.id, rank=None, reason=reason, remedy="ask as of a later moment")
    if then.deleted_at is not None:
        remedy = f"restore it: recollect restore {memory.id}"
        return WhyNot(id=memory.id, rank=None, reason="it is deleted", remedy=remedy)
    conditions = refusals(query.filter, then)
    if conditions:
        names = " and ".join(conditions)
        reason = f"the filter excludes it by {names}"
        return WhyNot(id=memory.id, rank=None, reason=reason, remedy=f"ask without {names}")
    return None


def _by_recall(recall: Recall, query: Query, memory: Memory, answer: Recollection) -> WhyNot:
    """A stage of the recall left the memory out."""
    standings = _standings(recall, query, memory)
    reasons = [str(reason) for id_, reason in answer.trace.dropped if id_ == memory.id]
    ranks = [standing.rank for standing in standings if standing.rank is not None]
    if reasons:
        reason = reasons[0]
    elif ranks:
        reason = f"its best place in a leg is {min(ranks)}, beyond the pool of {query.pool}"
    elif is_expired(memory, query.filter.now):
        reason = "the moment lies outside its valid-from / valid-to span"
    else:
        reason = "no leg connects it with the query"
    if ranks:
        remedy = _Remedy(recall, query, memory).search()
    else:
        remedy = _words_of(recall, memory)
        if recall.store.superseding(query.filter.scope, [memory.id], query.filter.as_of):
            remedy = f"ask for superseded memories too, and {remedy}"
    return WhyNot(id=memory.id, rank=None, reason=reason, standings=standings, remedy=remedy)


def _hit(answer: Recollection, memory: Memory) -> Hit | None:
    return next((hit for hit in answer.hits if hit.memory.id == memory.id), None)


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


def _words_of(recall: Recall, memory: Memory) -> str:
    """Advice for a memory that shares nothing with the query: its rarest words."""
    spelling = {
        term.term: term.surface
        for word in memory.content.split()
        for term in analysis.ask(word).terms
        if term.surface not in analysis.FUNCTION_WORDS and term.surface in word.lower()
    }
    if not spelling:
        return f"give it keywords: {one_line(memory.content)!r} has no words to be found by"
    frequency = recall.store.lexical_statistics([*spelling]).frequency
    rarest = sorted(spelling, key=lambda term: (frequency[term], term))[:_SHOWN_WORDS]
    words = ", ".join(spelling[term] for term in rarest)
    return f"ask with a word it holds ({words}), or give it keywords"


class _Changes(TypedDict, total=False):
    """What is loosened about a query; a name that is missing stays as it was."""

    states: frozenset[State]
    least_confidence: float
    pool: int
    budget_bytes: int | None
    limit: int


@dataclass(frozen=True, slots=True)
class _Remedy:
    """The smallest change that admits a memory, found by trying."""

    recall: Recall
    query: Query
    memory: Memory

    def search(self) -> str:
        """The change in words."""
        changes = self._everything()
        rank = self._rank(changes)
        if rank is None:
            return "none that a query could make: another memory is served in its place"
        changes["limit"] = max(rank, self.query.limit)
        if self.query.budget_bytes is not None:
            changes["budget_bytes"] = self._needed_bytes(changes)
        for name in _Changes.__annotations__:
            fewer = changes.copy()
            fewer.pop(name, None)  # type: ignore[misc] # the names are those of the annotations
            if self._rank(fewer) is not None:
                changes = fewer
        return " and ".join(_in_words(changes))

    def _everything(self) -> _Changes:
        """Whatever could stand in the way, out of the way."""
        deep = replace(self.query, pool=LARGEST_POOL)
        found = [
            (rank, candidate.confidence)
            for leg in self.recall.legs
            for rank, candidate in enumerate(leg(deep)[0].candidates, start=1)
            if candidate.id == self.memory.id
        ]
        states = self.query.filter.states | {State.SUPERSEDED}
        if is_expired(self.memory, self.query.filter.now):
            states |= {State.EXPIRED}
        pool = max(self.query.pool, min(rank for rank, _ in found))
        return {
            "states": states,
            # Rounded down, so that the number shown lets it in.
            "least_confidence": math.floor(max(c for _, c in found) * 100) / 100,
            "pool": pool,
            "budget_bytes": None,
            "limit": min(pool, LARGEST_LIMIT),
        }

    def _ask(self, changes: _Changes) -> Recollection:
        """The answer to the query with these changes, by relevance."""
        query, selection = self.query, self.recall.selection
        changed = replace(
            query,
            sort_by=SortBy.RELEVANCE,
            filter=replace(query.filter, states=changes.get("states", query.filter.states)),
            pool=changes.get("pool", query.pool),
            limit=changes.get("limit", query.limit),
            budget_bytes=changes.get("budget_bytes", query.budget_bytes),
        )
        floor = changes.get("least_confidence", selection.least_confidence)
        recall = replace(self.recall, selection=replace(selection, least_confidence=floor))
        return recall(changed)

    def _rank(self, changes: _Changes) -> int | None:
        hit = _hit(self._ask(changes), self.memory)
        return hit.rank if hit else None

    def _needed_bytes(self, changes: _Changes) -> int:
        hits = self._ask(changes).hits
        rank = next(hit.rank for hit in hits if hit.memory.id == self.memory.id)
        return sum(len(hit.memory.content.encode()) for hit in hits[:rank])


def _in_words(changes: _Changes) -> Iterator[str]:
    if "states" in changes:
        yield f"ask for the states {', '.join(sorted(changes['states']))}"
    if "least_confidence" in changes:
        yield f"a least confidence of {changes['least_confidence']:.2f} or lower"
    if "pool" in changes:
        yield f"a pool of {changes['pool']}"
    if "budget_bytes" in changes:
        yield f"a budget of {changes['budget_bytes']} bytes"
    if "limit" in changes:
        yield f"a limit of {changes['limit']}"
